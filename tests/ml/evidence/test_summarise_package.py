"""The package as JSON: strict reading that names the place, and the check against the text."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ml.evidence import package as packages
from ml.evidence.package import Package
from ml.evidence.summarisers import registry
from ml.evidence.vocabulary import EMBEDDED
from ml.formats.errors import FormatError

TEXT = "At 3.0 s, Person 1 turns to a red cup and looks at Person 2. The man in a blue shirt smiles."
MADE: Package = registry.load("rules").summarise(TEXT, vocabulary=EMBEDDED)


def test_a_package_survives_its_json() -> None:
    import json

    assert packages.parse(json.loads(json.dumps(packages.to_json(MADE)))) == MADE
    packages.check(MADE, TEXT)


def test_of_a_reply_300_claims_are_kept_and_the_rest_is_counted() -> None:
    text = " ".join(f"Person {n} waves." for n in range(1, 14_001))
    found = registry.load("rules").summarise(text)
    assert (len(found.claims), found.dropped) == (300, 13_700) and found.claims[-1].text == "Person 300 waves"
    assert packages.parse(packages.to_json(found)) == found
    whole = registry.load("rules").summarise(" ".join(f"Person {n} waves." for n in range(1, 301)))
    assert (len(whole.claims), whole.dropped) == (300, 0)
    assert packages.beyond([0, 13_700, 2]) == [
        "Of a reply the first 300 claims are looked at: 13,702 claims of 2 replies were left out."
    ]
    assert packages.beyond([0, 0]) == []
    tree = packages.to_json(MADE)
    del tree["dropped"]  # as it was stored before there was a limit
    assert packages.parse(tree) == MADE


def claim(tree: dict[str, Any], at: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = tree["claims"][at]
    return found


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda t: t.pop("claims"), "the field claims is missing"),
        (lambda t: t.update(more=1), "more: there is no such field"),
        (lambda t: t.update(v=2), "v: expected version 1"),
        (lambda t: t.update(claims={}), "claims: expected a list"),
        (lambda t: t.update(language="fr"), "language: expected one of en, zh, other"),
        (lambda t: t.update(rationale_sha256="abc"), "rationale_sha256: expected 64 hexadecimal digits"),
        (lambda t: t.update(repairs=[1]), "repairs[0]: expected a string"),
        (lambda t: t.update(summariser=[]), "summariser: expected an object"),
        (lambda t: claim(t).update(id="c7"), "claims[0].id: expected c1"),
        (lambda t: claim(t, 1).update(span=[5]), "claims[1].span: expected two numbers"),
        (lambda t: claim(t).update(span=[9, 9]), "claims[0].span[1]"),
        (lambda t: claim(t).update(text="other"), "claims[0].text: it has 5 characters"),
        (lambda t: claim(t).update(type="mood"), "claims[0].type: expected one of gaze"),
        (lambda t: claim(t).update(persons=[1, 1]), "claims[0].persons: expected every person once"),
        (lambda t: claim(t).update(persons=[-1]), "claims[0].persons[0]"),
        (lambda t: claim(t).update(groundable="yes"), "claims[0].groundable: expected true or false"),
        (lambda t: claim(t).update(why_not="so"), "claims[0].why_not"),
        (lambda t: claim(t)["time"].update(end_s=1.0), "claims[0].time.end_s: expected a number of at least 3"),
        (lambda t: claim(t)["time"].update(basis="unknown"), "claims[0].time: expected no seconds"),
        (lambda t: claim(t)["time"].update(start_s=None), "claims[0].time.start_s: expected a number"),
        (lambda t: claim(t)["phrases"][0].update(text="a b c d e f g"), "phrases[0].text: expected one to 6 words"),
        (lambda t: claim(t)["phrases"][0].pop("head"), "head is missing"),
        (lambda t: claim(t, 1)["statement"].update(modality="sound"), "claims[1].statement.modality"),
        (lambda t: claim(t, 1)["statement"].update(types=["pointing"]), "claims[1].statement.types[0]"),
        (lambda t: claim(t, 1)["statement"]["roles"][0].update(role="king"), "claims[1].statement.roles[0].role"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(spoil: Callable[[dict[str, Any]], Any], says: str) -> None:
    tree = copy.deepcopy(packages.to_json(MADE))
    spoil(tree)
    with pytest.raises(FormatError, match=re.escape(says)):
        packages.parse(tree)


@pytest.mark.parametrize("tree", [None, 3, "x", [], {}])
def test_what_is_no_package_at_all(tree: Any) -> None:
    with pytest.raises(FormatError):
        packages.parse(tree)


def test_a_package_is_held_against_its_text() -> None:
    with pytest.raises(FormatError, match="made of another text"):
        packages.check(MADE, TEXT + " ")
    first, second, third = MADE.claims
    swapped = replace(MADE, claims=(second, first, third))
    with pytest.raises(FormatError, match=re.escape("claims[1].span: expected a span of the text from")):
        packages.check(swapped, TEXT)
    renamed = replace(MADE, claims=(replace(first, text="B" + first.text[1:]), second, third))
    with pytest.raises(FormatError, match=re.escape("claims[0].text: the text has other words")):
        packages.check(renamed, TEXT)
    beyond = replace(first.phrases[0], span=(0, 900))
    with pytest.raises(FormatError, match=re.escape("claims[0].phrases[0].span")):
        packages.check(replace(MADE, claims=(replace(first, phrases=(beyond,)), second, third)), TEXT)
