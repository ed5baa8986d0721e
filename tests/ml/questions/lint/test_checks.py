"""Single checks, by hand: the two faulty showcase items, visibility, fixes, what the tables say, clocks."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.formats.grasp_items import parse_item
from ml.questions.lint import options, people, shape, tables, times, words
from ml.questions.lint.findings import CODES, Finding
from ml.questions.lint.one import One, World, one_of
from ml.questions.lint.run import lint, lint_file
from tests.ml.questions.lint.clean import Made
from tests.ml.questions.lint.conftest import run, tables_of

ITEM: dict[str, Any] = {
    "clip_file": "v_qa0001.mp4",
    "clip_duration": 5.5,
    "clip_offset": 5.5,
    "video_name": "v",
    "qa": {
        "question": "How long do Person 1 and Person 2 keep eye contact?",
        "options": ["A) 1.0 seconds", "B) 2.0 seconds", "C) 3.5 seconds", "D) 5.0 seconds"],
        "answer": "B",
        "answer_text": "2.0 seconds",
        "category": "T3",
        "difficulty": "medium",
        "format": "mcq",
        "reasoning": "From 1.5 s to 3.5 s they look at each other.",
        "source_event_ids": [4000],
        "time_range": [7.0, 9.0],
        "video_id": "v",
        "dataset": "werewolf",
    },
}


def one(scheme: Any = "data", **changes: Any) -> One:
    tree = copy.deepcopy(ITEM)
    for name, value in changes.items():
        (tree if name in tree else tree["qa"])[name] = value
    return one_of(0, parse_item(tree), scheme)


def said(item: One, **world: Any) -> dict[str, Finding]:
    report = lint([item], World(scheme="data", **world))
    return {finding.code: finding for finding in report.findings if finding.item == 0}


def test_the_item_itself_is_clean() -> None:
    assert said(one()) == {}


# ------------------------------------------------------------------------- the two faulty items of the project page


def test_the_showcase_item_with_four_zero_durations() -> None:
    found = said(one(options=[f"{letter}) 0.0 seconds" for letter in "ABCD"], answer="A", answer_text="0.0 seconds"))
    assert {"duplicate_options", "duration_not_positive"} <= set(found)
    assert found["duplicate_options"].severity == "error"


def test_the_showcase_item_whose_answer_names_another_person() -> None:
    item = one(
        question="Whose gaze does Person 1 follow at 2.0 s?",
        options=["A) Person 2", "B) Person 3", "C) Person 4", "D) No one"],
        answer="B",
        answer_text="Person 5",
        category="T1",
        difficulty="easy",
    )
    found = said(item)
    assert set(found) == {"answer_text_mismatch"}
    assert found["answer_text_mismatch"].sentence == (
        "The answer text says “Person 5”, naming other persons; the keyed option B says “Person 3”."
    )


# ------------------------------------------------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("stated", "fits"),
    [
        ("2.0 seconds", True), ("B) 2.0 seconds", True), ("2 s", True), ("2.0 Seconds.", True), ("about 2.0 s", True),
        ("3.5 seconds", False), ("A) 1.0 seconds", False), ("Person 2", False), ("not 2.0 seconds", False), ("", True),
    ],
)  # fmt: skip
def test_an_answer_text_may_be_a_paraphrase_of_its_option_only(stated: str, fits: bool) -> None:
    codes = {finding.code for finding in shape.check(one(answer_text=stated), World(scheme="data"))}
    assert ("answer_text_mismatch" not in codes) == fits


@pytest.mark.parametrize(
    ("a", "b", "same", "near"),
    [
        ("Person 1", "Person 1.", True, False),
        ("Person 1 and Person 2", "Persons 2 and 1", True, False),
        ("Person 1, then Person 2", "Person 2, then Person 1", False, False),
        ("Person 1", "Person 2", False, False),
        ("The red cup", "A red cup", True, False),
        ("The red cup", "The red cups", False, True),
        ("The red cup", "The blue cup", False, False),
        ("Eye contact", "No eye contact", False, False),
        ("Before the pointing", "After the pointing", False, False),
        ("Eye contact", "It is eye contact", False, True),
        ("Joint attention", "Joint atention", False, True),
        ("2.0 s", "2 seconds", True, False),
        ("2.0 s", "2.1 s", False, False),
        ("Person 1 looks at Person 2", "Person 2 looks at Person 1", False, False),
        ("Pointing, then giving", "Giving, then pointing", False, False),
    ],
)  # fmt: skip
def test_what_two_options_say(a: str, b: str, same: bool, near: bool) -> None:
    for left, right in ((a, b), (b, a)):
        assert words.same(left, right) == same
        assert (not words.same(left, right) and words.nearly_same(left, right)) == near


def test_durations_nobody_can_tell_apart() -> None:
    found = list(options.check(one(options=["A) 1.0 s", "B) 1.2 s", "C) 1.5 s", "D) 3.0 s"]), World()))
    assert [finding.code for finding in found] == ["options_too_close"]


# ------------------------------------------------------------------------------------------------------------ clocks


def test_the_time_range_may_be_on_either_clock() -> None:
    for fits in ([7.0, 9.0], [1.5, 3.5], [5.5, 11.0], [0.0, 5.5]):
        assert not list(times.check(one(time_range=fits), World()))
    for outside in ([0.5, 9.0], [12.0, 13.0], [10.0, 12.0]):
        assert [f.code for f in times.check(one(time_range=outside), World())] == ["time_outside_clip"]


def test_source_time_in_the_reasoning_is_shifted_by_the_fix() -> None:
    item = one(
        question="How long do they keep eye contact from 1.5 s on?", reasoning="They meet eyes from 7.0 s to 9.0 s."
    )
    finding = said(item)["source_time_in_reasoning"]
    assert finding.fix is not None
    assert (finding.fix.field, finding.fix.value) == ("qa.reasoning", "They meet eyes from 1.5 to 3.5 s.")
    fixed = one(question=item.item.question, reasoning=finding.fix.value)
    assert "source_time_in_reasoning" not in said(fixed)


def test_a_clip_that_overlaps_its_source_clock_is_told_apart_by_the_question() -> None:
    """Offset 1.0, so source times lie inside the clip: only the question's own times tell the clocks apart."""
    shared = {"clip_offset": 1.0, "clip_duration": 10.0, "time_range": [2.5, 4.5]}
    asked = "What do Person 1 and Person 2 do with their gaze from 1.5 s to 3.5 s?"
    wrong = one(**shared, question=asked, reasoning="From 2.5 s to 4.5 s they look at each other.")
    right = one(**shared, question=asked, reasoning="From 1.5 s to 3.5 s they look at each other.")
    assert "source_time_in_reasoning" in {f.code for f in times.check(wrong, World())}
    assert not list(times.check(right, World()))


def test_lengths_are_no_moments() -> None:
    item = one(question="Who looks first within 8 seconds of the start?", reasoning="It takes 40 seconds.")
    assert not [f for f in times.check(item, World()) if f.code.startswith(("time_outside", "source_time"))]


# ------------------------------------------------------------------------------------------------------------- people


def gaze_file(seen: dict[int, list[float]]) -> dict[str, Any]:
    moments = sorted({second for seconds in seen.values() for second in seconds})
    return {
        "video_path": "v.mp4", "video_fps": 25, "sample_fps": 2, "total_frames": 1000, "processed_frames": len(moments),
        "persons_summary": {},
        "frames": [
            {"frame_idx": round(second * 25), "timestamp": second, "persons": [
                {"person_id": person, "body_bbox": None, "face_bbox": None, "head_bbox": None, "gaze_point": None,
                 "inout": None, "face_detected": None} for person, seconds in seen.items() if second in seconds]}
            for second in moments
        ],
    }  # fmt: skip


def test_persons_the_gaze_file_does_not_know_or_never_shows_in_the_clip(tmp_path: Path) -> None:
    path = tmp_path / "v_sam3rf.json"
    path.write_text(json.dumps(gaze_file({1: [6.0, 8.0], 2: [1.0, 2.0, 20.0], 3: [7.0]})))
    known = tables.read([path])
    found = {f.code: f for f in people.check(one(options=["A) Person 7", "B) Person 3"]), World(tables=known))}
    assert set(found) == {"person_unknown", "person_not_visible"}
    assert found["person_not_visible"].sentence.startswith("Person 2 is named, but never in the picture")
    assert found["person_unknown"].sentence.startswith("Person 7 is named")


def test_an_events_file_that_says_how_many_frames_the_video_has(tmp_path: Path) -> None:
    """As the studio exports it; `frames` is a list in gaze files only."""
    event = {
        "event_id": 1, "event_type": "mutual_gaze", "start_frame": 150, "end_frame": 200, "start_time": 6.0,
        "end_time": 8.0, "persons_involved": [1, 2], "confidence": 1.0, "details": {},
    }  # fmt: skip
    tree = {
        "video_path": "v.mp4", "video_fps": 25.0, "sample_fps": 5.0, "num_events": 1,
        "event_counts": {"mutual_gaze": 1}, "frames": 1600, "events": [event],
    }  # fmt: skip
    path = tmp_path / "v_events.json"
    path.write_text(json.dumps(tree))
    table = tables.read([path]).by_name["v"]
    assert [(one.type, one.roles) for one in table.events] == [
        ("mutual_gaze", (("1", "member"), ("2", "member"))),
    ]


def test_strangers_are_found_in_twenty_items(clean: list[Made]) -> None:
    made = [one.copy() for one in clean[:40] if "Person" in one.qa["question"]][:25]
    known = tables_of(made)
    rng = random.Random(4)
    for item in made:
        table = known.of(parse_item(item.tree))
        assert table is not None
        for number in range(9):
            table.seen[number] = tables.np.arange(0.0, 400.0, 0.5)
            table.persons.add(number)
        number = rng.randrange(20, 60)
        item.qa["question"] = item.qa["question"].replace("Person ", f"Person {number} and Person ", 1)
    ones = [one_of(at, parse_item(item.tree), "data") for at, item in enumerate(made)]
    report = lint(ones, World(scheme="data", tables=known))
    assert {f.item for f in report.findings if f.code == "person_unknown"} == set(range(25))


# -------------------------------------------------------------------------------------------------------------- facts


def test_low_confidence_events_neither_contradict_nor_second_a_key(clean: list[Made]) -> None:
    made = [one.copy() for one in clean if one.qa["category"] == "T1"][:5]
    for item in made:
        unsure = item.events[0] | {"event_id": item.events[0]["event_id"] + 50, "confidence": 0.5}
        wrong = [int(o[-1]) for o in item.qa["options"] if o[-1] not in item.qa["answer_text"]]
        unsure["persons_involved"] = [item.events[0]["persons_involved"][0], wrong[0]]
        item.events.append(unsure)
    assert not [f for f in run(made).findings if f.severity == "error"]
    for item in made:
        item.events = item.events[::-1][:1]  # only the unsure one is left: nothing bears the key out
        item.qa["source_event_ids"] = []
    assert {f.code for f in run(made).findings if f.severity == "error"} == {"key_contradicted"}


def test_a_broken_proof_is_told_in_twenty_items(clean: list[Made]) -> None:
    ones = [one_of(at, parse_item(item.tree), "data") for at, item in enumerate(clean[:25])]
    for item in ones:
        item.broken = "The key, a, is false."
    report = lint(ones, World(scheme="data"))
    assert {f.item for f in report.findings if f.code == "proof_broken"} == set(range(25))
    ones[0].truths = [False] * 4
    assert "key_contradicted" in {f.code for f in lint(ones[:1], World()).findings}


# ----------------------------------------------------------------------------------------------------------- findings


def test_every_code_has_one_severity_and_a_sentence_and_only_known_ones_are_used() -> None:
    for code in CODES.values():
        assert code.severity in ("error", "warning", "note")
        assert code.words.endswith(".") and code.family
    with pytest.raises(ValueError, match="no code"):
        Finding("nonsense", "Nonsense.")


def test_a_finding_as_json() -> None:
    item = one(difficulty="easy")
    (finding,) = shape.check(item, World(scheme="data"))
    assert finding.tree() == {
        "code": "difficulty_mismatch", "severity": "warning", "item": 0,
        "sentence": "The difficulty is “easy”, but T3 is medium.",
        "fix": {"field": "qa.difficulty", "value": "medium"},
    }  # fmt: skip
    assert "fix" not in Finding("not_run", "Not run.").tree()


def test_the_report_counts_and_says_whether_a_release_may_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps([ITEM, ITEM | {"qa": ITEM["qa"] | {"answer": "E"}}, 7]))
    report = lint_file(path, World(scheme="data"))
    tree = report.tree()
    assert (report.items, report.exit_code, tree["releasable"]) == (3, 1, False)
    assert tree["errors"] == sum(f["severity"] == "error" for f in tree["findings"])
    assert [f["item"] for f in tree["findings"] if f["code"] in ("malformed_item", "answer_letter")] == [1, 2]
    path.write_text(json.dumps([ITEM]))
    assert lint_file(path, World(scheme="data")).exit_code == 0
    path.write_text("[]")
    with pytest.raises(FormatError, match="no item that can be read"):
        lint_file(path, World())


def test_figure_codes_are_read_as_figure_codes() -> None:
    assert one(scheme="figure", category="T5").slug == "temporal_gaze"
    assert one(scheme=None, category="T5").slugs == {"gaze_following", "temporal_gaze"}
    assert one(scheme=None, category="temporal_gaze").slug == "temporal_gaze"
    assert one(scheme="data", category="J2").slug == "eye_contact_in_interaction"
    assert one(scheme="page", category="J2").slug == "eye_contact_in_interaction"
    assert one(scheme="figure", category="J2").slug == "gaze_response_to_gesture"
