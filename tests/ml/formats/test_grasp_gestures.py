"""The GRASP gestures file: reading, the sentence for each fault, and equality after writing."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.formats.grasp_gestures import GesturesFile, build, parse
from tests.ml.formats.mutations import mutated


def sample() -> dict[str, Any]:
    return {
        "video_path": "clip.mp4",
        "classifier_version": "v2",
        "num_events_validated": 3,
        "events_confirmed": 2,
        "events_rejected": 1,
        "num_gestures_detected": 2,
        "gesture_counts": {"pointing": 1, "giving": 1},
        "event_validations": [{"event_id": 4000, "verdict": "confirmed"}],
        "gestures": [
            {
                "gesture_type": "pointing",
                "initiator_id": 1,
                "start_time": 2.0,
                "end_time": 3.5,
                "target_type": "person",
                "target_person_id": 0,
                "target_description": "the person on the left",
                "confidence": 0.95,
            },
            {
                "gesture_type": "giving",
                "initiator_id": 0,
                "start_time": 4.0,
                "end_time": 4.0,
                "target_type": "object",
                "target_person_id": None,
                "target_description": "a cup",
                "confidence": 0.9,
                "start_frame": 120,
                "end_frame": 121,
                "initiator_box": [0.1, 0.2, 0.3, 0.9],
            },
        ],
    }


def test_writing_and_reading_again_changes_nothing() -> None:
    gestures = parse(json.dumps(sample() | {"rounds": 2}))
    assert parse(json.dumps(build(gestures))) == gestures
    tree = build(gestures)
    assert tree["gestures"] == sample()["gestures"]  # nothing added, nothing lost
    assert tree["gesture_counts"] == {"pointing": 1, "showing": 0, "giving": 1, "reaching": 0}
    assert tree["rounds"] == 2 and tree["event_validations"] == sample()["event_validations"]
    assert [gesture.persons for gesture in gestures.gestures] == [(1, 0), (0,)]


def test_a_list_of_gestures_is_enough() -> None:
    tree = sample()
    assert parse(json.dumps({"video_path": "a", "gestures": tree["gestures"]})).counts()["giving"] == 1
    assert parse('{"video_path": "a", "gestures": []}') == GesturesFile("a", [])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.pop("gestures"), "The field gestures is missing."),
        (lambda t: t.update(num_gestures_detected=3), "num_gestures_detected: the head says 3, the list holds 2."),
        (lambda t: t["gesture_counts"].update(pointing=2), "gesture_counts.pointing: the head says 2, the list holds"),
        (
            lambda t: t["gestures"][0].update(gesture_type="waving"),
            "gestures[0].gesture_type: expected one of pointing",
        ),
        (lambda t: t["gestures"][0].update(target_type="wall"), "gestures[0].target_type: expected one of person,"),
        (lambda t: t["gestures"][0].update(end_time=1), "gestures[0].end_time: 1 lies before start_time 2."),
        (
            lambda t: t["gestures"][0].update(target_person_id=1),
            "gestures[0].target_person_id: the initiator, person 1",
        ),
        (lambda t: t["gestures"][0].update(initiator_id="P1"), "gestures[0].initiator_id: expected a whole number"),
        (lambda t: t["gestures"][0].update(confidence=2), "gestures[0].confidence: expected a number from 0 to 1"),
        (lambda t: t["gestures"][1].pop("end_frame"), "gestures[1]: start_frame and end_frame go together"),
        (lambda t: t["gestures"][1].update(end_frame=3), "gestures[1].end_frame: 3 lies before start_frame 120."),
        (lambda t: t["event_validations"].append(1), "event_validations[1]: expected an object, found 1."),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_place(change: Any, sentence: str) -> None:
    tree = sample()
    change(tree)
    with pytest.raises(FormatError) as caught:
        parse(json.dumps(tree))
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_file_is_read_or_refused_with_a_sentence(seed: int) -> None:
    data = mutated(sample(), random.Random(seed))
    try:
        gestures = parse(data)
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
    else:
        assert parse(json.dumps(build(gestures), allow_nan=False)) == gestures
