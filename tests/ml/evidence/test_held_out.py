"""The rules held against rationales whose labeller had the guide (`docs/claims.md`) and had not seen the rules.

The file is never tuned on: a change of the rules that loses here is looked at, not answered by new labels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ml.evidence.package import Claim
from ml.evidence.summarisers import registry
from ml.evidence.vocabulary import EMBEDDED
from tests.figures import Record

HELD_OUT = json.loads(Path(__file__).with_name("held_out.json").read_text())


@pytest.mark.parametrize("author", ["another author's", "the guide's author's"])
def test_claims_persons_and_times_of_held_out_rationales(author: str, figure: Record) -> None:
    rules = registry.load("rules")
    rows = [row for row in HELD_OUT if row["set"] == author]
    exact = wanted = persons = times = 0
    for row in rows:
        package = rules.summarise(row["text"], duration_s=row["duration_s"], vocabulary=EMBEDDED)
        found = {claim.span: claim for claim in package.claims}
        labels = {tuple(label["span"]): label for label in row["claims"]}
        exact += found.keys() == labels.keys()
        wanted += len(labels)
        for span in found.keys() & labels.keys():
            persons += sorted(found[span].persons) == sorted(labels[span]["persons"])
            times += same_time(found[span], labels[span])
        text = row["text"]
        for claim in package.claims:  # none invented
            assert text[slice(*claim.span)] == claim.text
            assert all(str(person) in claim.text for person in claim.persons), claim
    for what, share, least in (
        ("rationales with every claim span exact", exact / len(rows), 0.9),
        ("claims with persons exact", persons / wanted, 0.95),
        ("claims with times exact", times / wanted, 0.95),
    ):
        figure(f"{author} held-out {what}", share, budget=least, at_least=True)
        assert share >= least, what
    assert len(rows) == 20


def same_time(claim: Claim, label: dict[str, Any]) -> bool:
    if label["time"] is None or claim.time.start_s is None or claim.time.end_s is None:
        return label["time"] is None and claim.time.start_s is None and claim.time.basis == label["basis"]
    close = abs(claim.time.start_s - label["time"][0]) + abs(claim.time.end_s - label["time"][1]) < 1e-6
    return close and claim.time.basis == label["basis"]
