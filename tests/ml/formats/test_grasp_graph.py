"""The GRASP graph file: reading, the sentence for each fault, and equality after writing."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.formats.grasp_graph import build, parse
from tests.ml.formats.mutations import mutated


def sample() -> dict[str, Any]:
    return {
        "video_name": "clip",
        "num_events_raw": 4,
        "num_events_filtered": 3,
        "num_gaze": 2,
        "num_gesture": 1,
        "num_cross_modal_pairs": 2,
        "events": [
            {
                "source": "gaze",
                "type": "gaze_following",
                "start_time": 1.0,
                "end_time": 2.0,
                "confidence": 0.9,
                "description": "Person 2 follows the gaze of Person 0.",
                "persons_involved": [0, 2],
                "leader_id": 0,
                "follower_id": 2,
                "start_frame": 30,
            },
            {
                "source": "gesture",
                "type": "pointing",
                "start_time": 1.5,
                "end_time": 2.5,
                "confidence": 0.9,
                "description": "Person 1 points at Person 0.",
                "initiator_id": 1,
                "target_person_id": 0,
                "target_type": "person",
                "target_description": "",
            },
            {
                "source": "gaze",
                "type": "mutual_gaze",
                "start_time": 4.0,
                "end_time": 4.0,
                "confidence": 1.0,
                "description": "",
                "persons_involved": [0, 1],
            },
        ],
        "cross_modal_pairs": [
            {"gaze_idx": 0, "gesture_idx": 1, "relation": "overlap", "seconds": 0.5},
            {"gaze_idx": 2, "gesture_idx": 1, "relation": "adjacent", "gap": 1.5},
        ],
    }


def test_writing_and_reading_again_changes_nothing() -> None:
    graph = parse(json.dumps(sample() | {"preset": "strict"}))
    assert build(graph) == sample() | {"preset": "strict"}
    assert parse(json.dumps(build(graph))) == graph


def test_the_names_of_the_other_files_are_read_for_the_type() -> None:
    tree = sample()
    for event, key in zip(tree["events"], ("event_type", "gesture_type", "event_type"), strict=True):
        event[key] = event.pop("type")
    assert parse(json.dumps(tree)) == parse(json.dumps(sample()))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.pop("events"), "The field events is missing."),
        (lambda t: t.update(num_gaze=1), "num_gaze: the head says 1, the lists hold 2."),
        (lambda t: t.update(num_events_raw=2), "num_events_raw: 2 is less than the 3 events listed."),
        (lambda t: t["events"][0].update(source="sound"), "events[0].source: expected gaze or gesture, found"),
        (lambda t: t["events"][0].update(type="pointing"), "events[0].type: expected one of sudden_gaze_shift"),
        (lambda t: t["events"][0].update(leader_id=5), "events[0].leader_id: person 5 is not among persons_involved."),
        (lambda t: t["events"][0].update(follower_id=0), "events[0].follower_id: person 0 cannot lead and follow."),
        (lambda t: t["events"][0].update(persons_involved=[]), "events[0].persons_involved: expected at least one"),
        (lambda t: t["events"][1].update(target_person_id=1), "events[1].target_person_id: the initiator, person 1"),
        (lambda t: t["events"][2].update(end_time=3), "events[2].end_time: 3 lies before start_time 4."),
        (
            lambda t: t["cross_modal_pairs"][0].update(gaze_idx=1),
            "cross_modal_pairs[0].gaze_idx: event 1 is a gesture event, not gaze.",
        ),
        (
            lambda t: t["cross_modal_pairs"][1].update(gaze_idx=9),
            "cross_modal_pairs[1].gaze_idx: there is no event 9, the list holds 3.",
        ),
        (
            lambda t: t["cross_modal_pairs"][1].update(relation="near"),
            "cross_modal_pairs[1].relation: expected overlap or adjacent, found",
        ),
        (lambda t: t["cross_modal_pairs"][1].pop("gap"), "cross_modal_pairs[1]: the field seconds is missing."),
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
        graph = parse(data)
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
    else:
        assert parse(json.dumps(build(graph), allow_nan=False)) == graph
