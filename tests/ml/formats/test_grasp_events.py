"""The GRASP events file: reading, identifiers, the sentence for each fault, and equality after writing."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.formats.grasp_events import EventRecord, EventsFile, build, identifiers, parse
from tests.ml.formats.mutations import mutated


def sample() -> dict[str, Any]:
    return {
        "video_path": "a.mp4",
        "video_fps": 30.0,
        "sample_fps": 2.0,
        "num_events": 2,
        "event_counts": {"mutual_gaze": 1, "attention_capture": 1, "gaze_following": 0},
        "events": [
            {
                "event_id": 4000,
                "event_type": "mutual_gaze",
                "start_time": 1.0,
                "end_time": 2.5,
                "start_frame": 30,
                "end_frame": 75,
                "confidence": 0.9,
                "persons_involved": [0, 2],
                "details": {"duration": 1.5, "num_frames": 4},
            },
            {
                "event_id": 3000,
                "event_type": "attention_capture",
                "start_time": 3.0,
                "end_time": 3.0,
                "start_frame": 90,
                "end_frame": 90,
                "confidence": 1.0,
                "persons_involved": [0, 1, 2],
                "details": {},
            },
        ],
    }


def test_writing_and_reading_again_changes_nothing() -> None:
    events = parse(json.dumps(sample() | {"preset": "strict"}))
    assert events.extra == {"preset": "strict"}
    assert parse(json.dumps(build(events))) == events
    assert build(events)["num_events"] == 2
    assert build(events)["event_counts"]["attention_capture"] == 1
    assert events.events[1].start_time == events.events[1].end_time  # zero length stays


def test_identifiers_count_within_the_range_of_their_type() -> None:
    types = [
        "mutual_gaze",
        "sudden_gaze_shift",
        "mutual_gaze",
        "joint_attention",
        "gaze_following",
        "attention_capture",
    ]
    assert identifiers(types) == [4000, 0, 4001, 1000, 2000, 3000]


def test_identifiers_stay_unique_when_a_range_is_full() -> None:
    numbers = identifiers(["sudden_gaze_shift"] * 2500 + ["mutual_gaze"] * 1001 + ["joint_attention"] * 5)
    assert len(set(numbers)) == len(numbers)
    # 0-999 as released, then the free blocks: 5000-5999 and 6000-6499 for shifts, 7000 for the 1,001st mutual gaze.
    assert numbers[:2500] == [*range(1000), *range(5000, 6500)]
    assert numbers[2500:3501] == [*range(4000, 5000), 7000]
    assert numbers[-5:] == [*range(1000, 1005)]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.pop("events"), "The field events is missing."),
        (lambda t: t.update(num_events=3), "num_events: the head says 3, the list holds 2."),
        (
            lambda t: t["event_counts"].update(mutual_gaze=2),
            "event_counts.mutual_gaze: the head says 2, the list holds 1.",
        ),
        (lambda t: t["events"][0].pop("start_frame"), "events[0]: the field start_frame is missing."),
        (
            lambda t: t["events"][0].update(event_type="stare"),
            "events[0].event_type: expected one of sudden_gaze_shift, joint_attention,",
        ),
        (lambda t: t["events"][0].update(end_time=0.5), "events[0].end_time: 0.5 lies before start_time 1."),
        (lambda t: t["events"][1].update(end_frame=89), "events[1].end_frame: 89 lies before start_frame 90."),
        (lambda t: t["events"][1].update(confidence=1.2), "events[1].confidence: expected a number from 0 to 1"),
        (
            lambda t: t["events"][0].update(persons_involved=[1]),
            "events[0].persons_involved: mutual_gaze needs at least 2 persons.",
        ),
        (
            lambda t: t["events"][0].update(persons_involved=[1, 1]),
            "events[0].persons_involved: a person is listed twice.",
        ),
        (lambda t: t["events"][1].update(event_id=4000), "events[1].event_id: 4000 is also the id of events[0]."),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_place(change: Any, sentence: str) -> None:
    tree = sample()
    change(tree)
    with pytest.raises(FormatError) as caught:
        parse(json.dumps(tree))
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("seed", range(300))
def test_a_damaged_file_is_read_or_refused_with_a_sentence(seed: int) -> None:
    data = mutated(sample(), random.Random(seed))
    try:
        events = parse(data)
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
    else:
        assert parse(json.dumps(build(events), allow_nan=False)) == events


def test_an_empty_file_can_be_written() -> None:
    empty = EventsFile("a.mp4", 25.0, 2.0, [])
    assert parse(json.dumps(build(empty))) == empty


def test_a_record_is_comparable() -> None:
    record = EventRecord(0, "sudden_gaze_shift", 0.0, 1.0, 0, 25, 0.5, (3,), {"a": 1})
    file = EventsFile("a.mp4", 25.0, 2.0, [record])
    assert parse(json.dumps(build(file))).events == [record]
