"""Every rule of docs/verdicts.md with numbers worked out by hand, and what holds of all verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ml.evidence.grounding.protocol import Masks
from ml.evidence.grounding.windows import queries_of
from ml.evidence.package import Claim, ClaimTime, Phrase, Statement
from ml.evidence.scope import Scope, scope
from ml.evidence.statements import Truth
from ml.evidence.verdicts import AGREES, NAMES, NEGATED, Verdict, combined
from ml.questions.facts import Covered, Event
from tests.ml.evidence.kit import (
    AT_2,
    GRID,
    INSIDE,
    OUTSIDE,
    claim,
    gesture,
    judged,
    looks,
    looks_at,
    masks,
    negated,
    truth,
)

CUP = claim(phrase="cup", time=AT_2)
ALIGNED = claim(phrase="cup", time=AT_2, basis="aligned")
POINTS = Statement("gesture", ("pointing",), (("initiator", 1), ("target", 2)))
POINTING = claim("Person 1 points at Person 2", "gesture", persons=(1, 2), statement=POINTS, time=AT_2)
LOOKING = claim("Person 1 looks at Person 2", "gaze", persons=(1, 2), statement=looks_at(1, 2), time=AT_2)
THERE = claim("Person 1 is visible", "person", persons=(1,), time=AT_2)
WEARS = claim("Person 1 has a cup", "person", persons=(1,), phrase="cup", time=AT_2)
NO_FACTS = truth(visible=None)
HALF = (Covered("gesture", 0, 25),)
CASES: dict[str, tuple[str, Callable[[], Verdict], dict[str, object]]] = {
    "failed": ("error", lambda: judged(CUP, masks(), status={"phrase-1": "error"}), {}),
    "outside_clip": ("wrong_time", lambda: judged(claim(phrase="cup", time=(12.0, 13.0)), masks()), {}),
    "unseen": ("not_groundable", lambda: judged(claim("she sighs", "audio", groundable=False)), {}),
    "unknown_person": ("ambiguous", lambda: judged(THERE, masks(), persons={2: 2}), {}),
    "stated": (
        "supported",
        lambda: judged(POINTING, known=truth([gesture("pointing", 35, 50, 1, 2)])),  # 3.5 s is within 1 s of 3 s
        {"events": ["e1"], "basis": "marked"},
    ),
    # 0.5 s of the 3 s from 1 to 4 s, and 0.2 of the 1 s from 2 to 3 s: a fifth
    "stated_briefly": (
        "weak",
        lambda: judged(
            LOOKING, known=truth(gaze=looks((10, 28, 1, -1, True), (28, 33, 1, 2, True), (33, 40, 1, -1, True)))
        ),
        {"at_s": 0.5, "known_s": 3.0, "share": 0.2, "basis": "marked"},
    ),
    "stated_partly": (
        "weak",
        lambda: judged(
            replace(POINTING, phrases=(Phrase("cup", "cup"),)),
            masks(),
            known=truth([gesture("pointing", 20, 30, 1, 2)]),
        ),
        {},
    ),
    "stated_of_another": (
        "wrong_person",
        lambda: judged(POINTING, known=truth([gesture("pointing", 20, 30, 2, 1)])),
        {"instead_roles": [["initiator", 2], ["target", 1]]},
    ),
    "stated_elsewhere": ("wrong_time", lambda: judged(POINTING, known=truth([gesture("pointing", 70, 80, 1, 2)])), {}),
    "stated_false": ("contradicted", lambda: judged(POINTING, known=truth([])), {"exact": False, "moved": False}),
    "estimated_false": (
        "unsupported",
        lambda: judged(LOOKING, known=truth(gaze=looks((10, 40, 1, -1, False)))),
        {"known_share": 1.0, "human_share": 0.0},
    ),
    # the event begins at frame 42, two frames after the padded span: within a step of five
    "boundary": (
        "ambiguous",
        lambda: judged(POINTING, known=truth([gesture("pointing", 42, 50, 1, 2)])),
        {"exact": False, "moved": None},
    ),
    "no_coverage": ("ambiguous", lambda: judged(POINTING, known=truth([], coverage=HALF)), {"exact": None}),
    "person_elsewhere": ("wrong_time", lambda: judged(replace(THERE, persons=(3,)), masks()), {"padded": [10, 40]}),
    "person_nowhere": (
        "unsupported",
        lambda: judged(replace(THERE, persons=(3,)), masks(), known=truth(visible={3: ()})),
        {},
    ),
    "refused": ("not_groundable", lambda: judged(CUP, masks(), status={"phrase-1": "skipped"}), {}),
    "vocabulary": ("not_in_vocabulary", lambda: judged(CUP, masks(), status={"phrase-1": "not_in_vocabulary"}), {}),
    "category_only": (
        "weak",
        lambda: judged(
            claim(phrase="cup of despair", time=AT_2),
            masks(("category-1", 1, [10], -1, 0.9)),
            status={"phrase-1": "not_in_vocabulary"},
        ),
        {},
    ),
    "no_frames": ("ambiguous", lambda: judged(CUP, masks(), looked=OUTSIDE), {"frames_in": 0, "frames_out": 6}),
    "found_elsewhere": (
        "wrong_time",
        lambda: judged(CUP, masks(("phrase-1", 1, [0, 5], -1, 0.9))),
        {"any_in": 0, "share_out": 0.3333},
    ),
    "missing": (
        "unsupported",
        lambda: judged(CUP, masks(("phrase-1", 1, [0], -1, 0.9))),
        {"any_in": 0, "share_out": 0.1667},
    ),
    "on_another": (
        "wrong_person",
        lambda: judged(WEARS, masks(("phrase-1", 1, INSIDE, 2, 0.9))),
        {"persons": [2], "share_in": 1.0},
    ),
    "bearer_unchecked": ("weak", lambda: judged(WEARS, masks(("phrase-1", 1, INSIDE, -1, 0.9))), {"persons": [-1]}),
    "found_rarely": (
        "weak",
        lambda: judged(CUP, masks(("phrase-1", 1, [10], -1, 0.9))),
        {"any_in": 1, "share_in": 0.1667},
    ),
    # two cups on three of the six frames that have one
    "candidates": (
        "ambiguous",
        lambda: judged(CUP, masks(("phrase-1", 1, INSIDE, -1, 0.9), ("phrase-1", 2, INSIDE[:3], -1, 0.9))),
        {"several": 0.5, "together": 2, "objects": 2},
    ),
    "attribute_unchecked": (
        "weak",
        lambda: judged(claim(phrase="red cup", time=AT_2), masks(("phrase-1", 1, INSIDE, -1, 0.9))),
        {},
    ),
    # two of six frames are a third
    "found": (
        "supported",
        lambda: judged(CUP, masks(("phrase-1", 1, INSIDE[:2], -1, 0.5))),
        {"share_in": 0.3333, "frames_in": 6, "frames_out": 6, "strong_in": 2},
    ),
    "partly_checked": (
        "weak",
        lambda: judged(
            replace(CUP, phrases=(Phrase("cup", "cup"), Phrase("aura", "aura"))),
            masks(("phrase-1", 1, INSIDE, -1, 0.9)),
            status={"phrase-2": "not_in_vocabulary"},
        ),
        {},
    ),
    "mask_only": (
        "not_groundable",
        lambda: judged(
            claim("Person 1 lifts a cup", "action", persons=(1,), phrase="cup", time=AT_2),
            masks(("phrase-1", 1, INSIDE, 1, 0.9)),
        ),
        {},
    ),
    "person_rarely": (
        "weak",
        lambda: judged(THERE, masks(("person-1", 0, [10], 1, 0.9))),
        {"any_in": 1, "share_in": 0.1667},
    ),
    "presence_only": (
        "weak",
        lambda: judged(replace(THERE, text="Person 1 is tall"), masks(("person-1", 0, INSIDE, 1, 0.9))),
        {"share_in": 1.0},
    ),
    "person_there": ("supported", lambda: judged(THERE, masks(("person-1", 0, INSIDE, 1, 0.9))), {"share_in": 1.0}),
    "none_found": (
        "supported",
        lambda: judged(negated(replace(CUP, phrases=(Phrase("cup", "cup"), Phrase("dog", "dog")))), masks()),
        {},
    ),
    "several_denied": (
        "ambiguous",
        lambda: judged(
            negated(replace(CUP, phrases=(Phrase("cup", "cup"), Phrase("dog", "dog")))),
            masks(("phrase-1", 1, INSIDE, -1, 0.9)),
        ),
        {},
    ),
}


def flat(numbers: object) -> dict[str, object]:
    """All numbers of a verdict by name, those of inner objects last."""
    found: dict[str, object] = {}
    if isinstance(numbers, dict):
        for name, value in numbers.items():
            if name not in ("rules", "instead", "elsewhere"):
                found = {name: value, **flat(value), **found} if isinstance(value, dict) else {**found, name: value}
    return found


@pytest.mark.parametrize("rule", CASES)
def test_each_rule_gives_its_verdict_and_its_numbers(rule: str) -> None:
    name, make, numbers = CASES[rule]
    verdict = make()
    assert (verdict.name, verdict.rule) == (name, rule), verdict.sentence
    assert verdict.sentence.endswith(".") and len(verdict.sentence) < 200
    got = flat(verdict.numbers)
    assert {key: got.get(key) for key in numbers} == numbers


def test_the_documents_rows_are_the_rules() -> None:
    text = (Path(__file__).parents[3] / "docs/verdicts.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    named = {word for row in rows for word in re.findall(r"`(\w+)`", row.split("|")[1])}
    named |= set(re.findall(r"`(partly_checked|none_found|several_denied)`", text))
    assert named - set(NAMES) == set(CASES)
    for rule, (name, _, _) in CASES.items():
        row = next((row for row in rows if f"`{rule}`" in row.split("|")[1]), None)
        if row is not None and row.split("|")[3].strip():
            assert row.split("|")[3].strip() == name


def test_denying_turns_only_what_is_true_or_false_around() -> None:
    expected = {"supported": "contradicted", "weak": "ambiguous", "contradicted": "supported"}
    assert expected | dict.fromkeys(("unsupported", "wrong_person", "wrong_time"), "supported") == NEGATED


@pytest.mark.parametrize(
    ("one", "found", "known", "name", "rule"),
    [
        (CUP, masks(("phrase-1", 1, INSIDE, -1, 0.9)), truth(), "contradicted", "not_found"),
        (CUP, masks(), truth(), "supported", "not_missing"),
        (CUP, masks(("phrase-1", 1, [10], -1, 0.9)), truth(), "ambiguous", "not_found_rarely"),
        (THERE, masks(("person-1", 0, INSIDE, 1, 0.9)), truth(), "contradicted", "not_person_there"),
        (replace(THERE, persons=(3,), text="Person 3 is not in the picture"), masks(), truth(), "supported",
         "not_person_elsewhere"),
        # said not to have a cup, but not there at all
        (replace(WEARS, persons=(3,)), masks(), truth(), "wrong_time", "person_elsewhere"),
        (WEARS, masks(("phrase-1", 1, INSIDE, 2, 0.9)), truth(), "supported", "not_on_another"),
        (POINTING, None, truth([gesture("pointing", 20, 30, 1, 2)]), "contradicted", "not_stated"),
        (POINTING, None, truth([]), "supported", "not_stated_false"),
        (POINTING, None, truth([gesture("pointing", 20, 30, 2, 1)]), "supported", "not_stated_of_another"),
        (POINTING, None, truth([], coverage=HALF), "ambiguous", "no_coverage"),
    ],
)  # fmt: skip
def test_denials(one: Claim, found: Masks | None, known: Truth, name: str, rule: str) -> None:
    verdict = judged(negated(one), found, known=known)
    assert (verdict.name, verdict.rule) == (name, rule)
    assert rule.startswith("not_") == verdict.sentence.startswith("The claim denies this: ")


def test_an_aligned_time_is_not_held_against_a_claim() -> None:
    elsewhere = masks(("phrase-1", 1, OUTSIDE, -1, 0.9))
    assert judged(CUP, elsewhere).name == "wrong_time"
    verdict = judged(ALIGNED, elsewhere)
    assert (verdict.name, verdict.rule) == ("ambiguous", "aligned_found_elsewhere")
    assert "aligned, not stated" in verdict.sentence


def test_a_claim_without_a_time_counts_over_the_whole_clip_and_says_so() -> None:
    """20 frames are looked at in the clip: six of them are 30 %, five are not."""
    timeless = replace(CUP, time=ClaimTime())
    for count, name in ((6, "supported"), (5, "weak")):
        verdict = judged(timeless, masks(("phrase-1", 1, GRID[:count].tolist(), -1, 0.9)))
        assert (verdict.name, verdict.numbers["timed"], verdict.numbers["frames_in"]) == (name, False, 20)
        found = f"“cup” was found on {count} of 20 frames ({5 * count} %)"
        assert verdict.sentence.startswith(f"{found} looked at in the whole clip (the claim names no time)")
    nowhere = judged(timeless, masks()).sentence
    assert nowhere == "“cup” was found on none of the 20 frames looked at in the whole clip (the claim names no time)."
    assert "claimed time" not in judged(timeless, masks(), looked=()).sentence


def test_the_lower_score_of_detection_and_tracker_counts() -> None:
    row = ("phrase-1", 1, INSIDE, -1, 0.9)
    assert judged(CUP, masks(row, tracker=0.5)).name == "supported"
    verdict = judged(CUP, masks(row, tracker=0.4))
    assert (verdict.name, verdict.rule) == ("weak", "found_rarely")
    assert verdict.numbers["queries"]["phrase-1"]["any_in"] == 6


def test_words_the_grounder_could_check_do_not_weaken_a_claim() -> None:
    red = claim(phrase="red cup", time=AT_2)
    found = masks(("phrase-1", 1, INSIDE, -1, 0.9))
    assert judged(red, found, checked={"phrase-1": ("red",)}).name == "supported"
    assert judged(red, found).sentence.endswith("Of “red cup” – looked for: cup; not checked: red.")
    assert judged(red, masks()).name == "unsupported"  # no cup at all is no red cup either


HATTED = Phrase("woman in green hat", "woman", ("green hat",), singular=True)
SCOPE = "Of “woman in green hat” – looked for: person; not checked: woman, green hat."


@pytest.mark.parametrize(
    ("rows", "text", "type", "name", "rule"),
    [
        (
            (("phrase-1", k, INSIDE, k, 0.9) for k in range(1, 6)),
            "it is there",
            "object",
            "weak",
            "attribute_unchecked",
        ),
        ((("phrase-1", 1, INSIDE[:1], 1, 0.9),), "it is there", "object", "weak", "found_rarely"),
        ((("phrase-1", 1, OUTSIDE, 1, 0.9),), "it is there", "object", "unsupported", "missing"),
        ((("phrase-1", 1, INSIDE, 1, 0.9),), "she stands up", "action", "not_groundable", "mask_only"),
        ((("phrase-1", 1, INSIDE, 2, 0.9),), "Person 1 has it", "person", "weak", "attribute_unchecked"),
    ],
)
def test_nothing_is_told_of_words_that_were_not_looked_for(
    rows: tuple[tuple[str, int, tuple[int, ...], int, float], ...], text: str, type: str, name: str, rule: str
) -> None:
    """Five people at once are no five women in green hats; a person elsewhere is no woman in a green hat elsewhere."""
    one = claim(text, type, phrases=(HATTED,), time=AT_2, persons=(1,) if type == "person" else ())
    verdict = judged(one, masks(*rows))
    assert (verdict.name, verdict.rule) == (name, rule)
    assert verdict.sentence.endswith(SCOPE) and "“woman in green hat” was" not in verdict.sentence
    asked = verdict.numbers["queries"]["phrase-1"]
    assert (asked["looked_for"], asked["unchecked"]) == ("person", ["woman", "green hat"])
    checked = judged(one, masks(), checked={"phrase-1": ("woman", "in", "green", "hat")})
    assert "looked for" not in checked.sentence and checked.numbers["queries"]["phrase-1"]["unchecked"] == []


def test_what_was_not_looked_for_at_all_is_said_of_an_action() -> None:
    one = claim("he bows", "action", phrases=(Phrase("red fez", "fez"),), time=AT_2)
    verdict = judged(one, masks(), status={"phrase-1": "not_in_vocabulary", "category-1": "not_in_vocabulary"})
    assert verdict.rule == "mask_only" and verdict.sentence.endswith("“red fez” was not looked for.")


def test_the_share_that_the_rule_used_is_told_with_its_counts() -> None:
    """Person 1 on all six frames in the span and on five of the six around it."""
    sentence = judged(THERE, masks(("person-1", 0, (*INSIDE, *OUTSIDE[:5]), 1, 0.9))).sentence
    assert sentence == "In the picture on 6 of 6 frames (100 %) looked at in the claimed time, on 5 of 6 outside."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("人物3看着门", "in Chinese only where both are named by tag"),
        ("She looks at the door", "only where both are named by tag"),
        ("Человек смотрит на дверь", "Statements of this language are not read"),
    ],
)
def test_a_look_without_a_statement_says_what_is_read(text: str, said: str) -> None:
    verdict = judged(claim(text, "gaze", phrase="cup", time=AT_2), masks(("phrase-1", 1, INSIDE, -1, 0.9)))
    assert verdict.rule == "mask_only" and said in verdict.sentence


@pytest.mark.parametrize(
    ("phrase", "checked", "looked_for", "unchecked"),
    [
        ("left man", ("left",), "left person", ("man",)),
        ("tall man in a red, striped shirt", (), "person", ("tall man", "red striped shirt")),
        ("cup", (), "cup", ()),
        ("woman's cup", (), "cup", ("woman's",)),
        ("woman's red cup", ("red", "cup"), "woman's red cup", ()),
    ],
)
def test_the_scope_of_a_phrase(
    phrase: str, checked: tuple[str, ...], looked_for: str, unchecked: tuple[str, ...]
) -> None:
    assert scope(phrase, checked) == Scope(looked_for, unchecked)


def test_a_phrase_on_the_tagged_person_is_theirs_whoever_else_has_one() -> None:
    both = masks(("phrase-1", 1, INSIDE, 1, 0.9), ("phrase-1", 2, INSIDE, 2, 0.9))
    assert judged(WEARS, both).name == "supported"
    assert judged(WEARS, both, persons={1: 2}).name == "supported"
    only = masks(("phrase-1", 2, INSIDE, 2, 0.9))
    assert judged(WEARS, only, persons={1: 2}).name == "supported"  # tag 1 is printed on person 2
    assert judged(WEARS, only).sentence == "“cup” was found on Person 2, not on Person 1."


def test_an_unknown_person_is_named() -> None:
    sentence = judged(replace(THERE, persons=(1, 7, 9)), masks(), persons={1: 1}).sentence
    assert sentence == "Person 7, Person 9 are not among the tags of this clip."


def test_actions_fall_only_when_what_they_name_is_not_there() -> None:
    lifts = claim("Person 1 lifts a cup", "action", persons=(1,), phrase="cup", time=AT_2)
    assert judged(lifts, masks()).rule == "missing"
    assert judged(lifts, masks(("phrase-1", 1, OUTSIDE, -1, 0.9))).name == "wrong_time"
    assert judged(replace(lifts, persons=(3,)), masks()).rule == "person_elsewhere"
    assert judged(negated(lifts), masks()).rule == "mask_only"


def test_without_tracks_the_persons_masks_tell_who_is_there() -> None:
    assert judged(THERE, masks(("person-1", 0, INSIDE, 1, 0.9)), known=NO_FACTS).name == "supported"
    assert judged(THERE, masks(("person-1", 0, OUTSIDE, 1, 0.9)), known=NO_FACTS).rule == "person_elsewhere"
    assert judged(THERE, masks(), known=NO_FACTS).rule == "person_nowhere"


def test_several_phrases_stand_or_fall_together() -> None:
    by_name = {name: Verdict(name, "rule", name) for name in NAMES}
    good, weak = by_name["supported"], by_name["weak"]
    assert combined([good, good]).name == "supported"
    assert combined([good, weak]).name == "weak"
    assert combined([by_name["not_in_vocabulary"], by_name["not_groundable"]]).name == "not_in_vocabulary"
    assert combined([by_name["not_in_vocabulary"], good]).rule == "partly_checked"
    for name in ("unsupported", "wrong_person", "wrong_time", "error", "ambiguous"):
        assert combined([good, by_name["not_in_vocabulary"], by_name[name]]).name == name
    assert combined([by_name["unsupported"], by_name["error"]]).name == "error"


def test_every_verdict_maps_to_what_a_human_says() -> None:
    assert set(AGREES) == set(NAMES)
    assert AGREES["error"] is None
    assert {n for n in NAMES if AGREES[n] == "contradicted"} == {
        "contradicted", "unsupported", "wrong_person", "wrong_time",
    }  # fmt: skip
    assert {n for n in NAMES if AGREES[n] == "supported"} == {"supported"}


# ---------------------------------------------------------------------------------------------------------------------
# Properties


def scattered(rng: np.random.Generator, frames: tuple[int, ...]) -> list[tuple[str, int, list[int], int, float]]:
    count = int(rng.integers(1, 4))
    return [
        (
            "phrase-1",
            int(rng.integers(1, 9)) * 10 + k,
            sorted(rng.choice(frames, int(rng.integers(1, len(frames) + 1)), replace=False).tolist()),
            int(rng.choice([-1, 1, 2])),
            float(rng.choice([0.3, 0.6, 0.9])),
        )
        for k in range(count)
    ]


SOME = [CUP, WEARS, ALIGNED, replace(CUP, phrases=(Phrase("cup", "cup", singular=False),)), negated(CUP)]


@pytest.mark.parametrize("seed", range(60))
def test_masks_outside_of_the_span_never_bear_a_claim_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = SOME[seed % len(SOME)]
    within, around = scattered(rng, INSIDE) if seed % 3 else [], scattered(rng, OUTSIDE)
    before, after = judged(one, masks(*within)), judged(one, masks(*within, *around))
    if before.name != "supported":
        assert after.name != "supported"
    if within:  # with something in the span, nothing outside matters
        assert (after.name, after.rule) == (before.name, before.rule)


@pytest.mark.parametrize("seed", range(30))
def test_ids_of_objects_and_the_order_of_rows_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [*scattered(rng, INSIDE), *scattered(rng, OUTSIDE)]
    rows = [(q, 100 + k, f, p, s) for k, (q, _, f, p, s) in enumerate(rows)]
    ids = rng.permutation(len(rows))
    renamed = [(q, int(i), f, p, s) for (q, _, f, p, s), i in zip(rows, ids, strict=True)]
    one = SOME[seed % len(SOME)]
    assert judged(one, masks(*rows)) == judged(one, masks(*renamed))


@pytest.mark.parametrize("seed", range(30))
def test_renaming_persons_everywhere_changes_nothing_but_names(seed: int) -> None:
    """Tags stay; the numbers behind them, the tracks and the masks are permuted."""
    rng = np.random.default_rng(seed)
    new = dict(zip((1, 2, 3), (int(n) + 10 for n in rng.permutation(3)), strict=True))
    rows = scattered(rng, INSIDE)
    moved = [(q, o, f, new.get(p, p), s) for q, o, f, p, s in rows]
    visible = truth().visible
    assert visible is not None
    other = truth(visible={new[n]: spans for n, spans in visible.items()})
    one = [WEARS, CUP][seed % 2]
    before = judged(one, masks(*rows), persons={1: 1, 2: 2, 3: 3})
    after = judged(one, masks(*moved), persons=new, known=other)
    assert (before.name, before.rule, before.sentence) == (after.name, after.rule, after.sentence)


@pytest.mark.parametrize("one", [*SOME, THERE, replace(CUP, type="action")])
def test_an_error_where_the_verdict_rests_on_it_never_becomes_a_verdict_on_the_claim(one: Claim) -> None:
    for query in queries_of(one):
        for found in (masks(), masks((query.id, 1, OUTSIDE, -1, 0.9))):
            verdict = judged(one, found, status={query.id: "error"}, known=truth([], visible=None))
            assert verdict.name == "error"


def test_an_error_that_decides_nothing_changes_nothing() -> None:
    """A control; a person whom the tracks know; a person in a statement, which marked events decide."""
    controlled = replace(CUP, phrases=(replace(CUP.phrases[0], negative="giraffe"),))
    there = masks(("phrase-1", 1, INSIDE, -1, 0.9))
    assert judged(controlled, there, status={"negative-1": "error"}).name == "supported"
    assert judged(WEARS, masks(("phrase-1", 1, INSIDE, 1, 0.9)), status={"person-1": "error"}).name == "supported"
    marked = truth([gesture("pointing", 20, 30, 1, 2)], visible=None)
    assert judged(POINTING, masks(), status={"person-1": "error"}, known=marked).name == "supported"
    assert judged(THERE, masks(), status={"person-1": "error"}).rule == "person_there"  # by the tracks


def test_gaze_events_are_read_with_their_members() -> None:
    mutual = Event("m", "gaze", "mutual_gaze", 20, 40, (("a", "member"), ("b", "member")))
    both = claim("1 and 2", "gaze", persons=(1, 2), time=AT_2,
                 statement=Statement("gaze", ("mutual_gaze",), (("member", 1), ("member", 2))))  # fmt: skip
    assert judged(both, known=truth([mutual])).rule == "stated"
    assert judged(LOOKING, known=truth([mutual])).rule == "stated"  # who looks into somebody's eyes looks at them
    assert judged(LOOKING, known=truth([])).rule == "no_coverage"  # no mutual gaze does not mean no look


def test_a_thing_beside_somebody_need_not_lie_on_them() -> None:
    beside = claim("A cup is behind Person 1", "person", persons=(1,), phrase="cup", time=AT_2)
    assert judged(beside, masks(("phrase-1", 1, INSIDE, 2, 0.9))).name == "supported"
    given = replace(beside, phrases=(replace(beside.phrases[0], person=1),))
    assert judged(given, masks(("phrase-1", 1, INSIDE, 2, 0.9))).name == "wrong_person"
