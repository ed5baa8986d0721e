"""The GRASP gaze file: reading, the sentence for each fault, and equality after writing."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest

from ml.formats.errors import FormatError
from ml.formats.grasp_gaze import GazeFile, build, parse
from tests.ml.formats.mutations import mutated


def person(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "person_id": number,
        "body_bbox": [0.1, 0.1, 0.4, 0.9],
        "face_bbox": [0.2, 0.2, 0.3, 0.4],
        "head_bbox": None,
        "gaze_point": [0.5, 0.25],
        "inout": True,
        "face_detected": True,
    } | fields


def sample() -> dict[str, Any]:
    return {
        "video_path": "clips/a.mp4",
        "video_fps": 29.97,
        "sample_fps": 2,
        "total_frames": 90,
        "processed_frames": 3,
        "persons_summary": {"0": {"person_id": 0, "track_length": 3, "face_detection_pct": 66.7}},
        "frames": [
            {"frame_idx": 0, "timestamp": 0.0, "persons": [person(0), person(4, inout=False)]},
            {"frame_idx": 15, "timestamp": 0.5, "persons": []},
            {"frame_idx": 30, "timestamp": 1.0, "persons": [person(0, gaze_point=None, inout=None, face_bbox=None)]},
        ],
    }


def reading(tree: Any) -> GazeFile:
    return parse(json.dumps(tree))


def test_it_reads_columns() -> None:
    gaze = reading(sample())
    assert gaze.frames.tolist() == [0, 15, 30] and gaze.times.tolist() == [0.0, 0.5, 1.0]
    assert gaze.row_sample.tolist() == [0, 0, 2] and gaze.row_person.tolist() == [0, 4, 0]
    assert gaze.gaze[0].tolist() == [0.5, 0.25] and np.isnan(gaze.gaze[2]).all()
    assert gaze.inout[:2].tolist() == [1.0, 0.0] and math.isnan(gaze.inout[2])
    assert gaze.face[1].tolist() == [0.2, 0.2, 0.3, 0.4] and np.isnan(gaze.head).all()


def test_writing_and_reading_again_changes_nothing() -> None:
    gaze = reading(sample() | {"width": 1920, "height": 1080, "shots": [[0, 20], [20, 90]], "tool": {"v": [1, None]}})
    again = parse(json.dumps(build(gaze)))
    assert again == gaze
    assert build(again) == build(gaze)
    assert again != reading(sample())


def test_a_missing_number_may_be_written_as_nan() -> None:
    text = json.dumps(sample()).replace("[0.5, 0.25]", "[NaN, NaN]", 1)
    assert np.isnan(parse(text).gaze[0]).all()


def test_unknown_fields_of_the_head_are_kept() -> None:
    assert reading(sample() | {"note": "ours"}).extra == {"note": "ours"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.pop("frames"), "The field frames is missing."),
        (lambda t: t.pop("video_path"), "The field video_path is missing."),
        (lambda t: t.update(video_fps=0), "video_fps: expected a rate above 0, found 0."),
        (lambda t: t.update(sample_fps=True), "sample_fps: expected a number, found true."),
        (lambda t: t.update(frames={}), "frames: expected a list, found {}."),
        (lambda t: t["frames"].insert(1, 7), "frames[1]: expected an object, found 7."),
        (lambda t: t["frames"][1].pop("timestamp"), "frames[1]: the field timestamp is missing."),
        (lambda t: t["frames"][1].update(timestamp=0.0), "frames[1].timestamp: 0 does not come after 0, the one"),
        (lambda t: t["frames"][2].update(frame_idx=15), "frames[2].frame_idx: 15 does not come after 15, the frame"),
        (lambda t: t["frames"][0].update(frame_idx=1.5), "frames[0].frame_idx: expected a whole number, found 1.5."),
        (lambda t: t["frames"][0].update(frame_idx=-1), "frames[0].frame_idx: expected a whole number from 0 to"),
        (
            lambda t: t["frames"][0]["persons"].append(person(4)),
            "frames[0].persons[2].person_id: person 4 is listed twice in this frame.",
        ),
        (
            lambda t: t["frames"][2]["persons"][0].update(face_bbox=[0.1, 0.2, 0.3]),
            "frames[2].persons[0].face_bbox: expected 4 numbers, found [0.1, 0.2, 0.3].",
        ),
        (
            lambda t: t["frames"][2]["persons"][0].update(face_bbox=[0.5, 0.2, 0.3, 0.4]),
            "frames[2].persons[0].face_bbox: the right or lower edge lies before the left or upper one",
        ),
        (
            lambda t: t["frames"][0]["persons"][0].update(face_bbox=[100, 200, 300, 400]),
            "frames[0].persons[0].face_bbox: [100, 200, 300, 400] is not normalised by the picture's width and height.",
        ),
        (
            lambda t: t["frames"][0]["persons"][0].update(gaze_point=[0.5, "x"]),
            'frames[0].persons[0].gaze_point[1]: expected a number, found "x".',
        ),
        (
            lambda t: t["frames"][0]["persons"][0].update(inout=2),
            "frames[0].persons[0].inout: expected a number from 0 to 1, found 2.",
        ),
        (lambda t: t.update(width=640), "height: width and height come together or not at all."),
        (
            lambda t: t.update(shots=[[0, 20], [10, 30]]),
            "shots[1]: the shot starts at 10, before the previous one ends (20).",
        ),
        (lambda t: t.update(shots=[[5, 5]]), "shots[0]: the shot ends at 5, not after its start 5."),
        (lambda t: t.update(extra=[1e999]), "extra[0]: expected a finite number"),
        (lambda t: t.update({"a\nb": 1e999}), '["a\\nb"]: expected a finite number'),
    ],
)  # fmt: skip
def test_a_fault_is_one_sentence_that_names_the_place(change: Any, sentence: str) -> None:
    tree = sample()
    change(tree)
    text = json.dumps(tree).replace("Infinity", "1e999")
    with pytest.raises(FormatError) as caught:
        parse(text)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "line 1, column 1: not valid JSON"),
        (b"[1, 2", "line 1, column 6: not valid JSON"),
        (b"[]", "the file: expected an object, found []."),
        (b'{"a": "\xff"}', "The file is not UTF-8 text: byte 7 cannot be read."),
        (b"[" * 100_000, "The file is nested too deeply"),
        (b"1" * 5000, "The file holds a number that is too long"),
    ],
)
def test_what_is_no_json_is_named(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse(data)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("seed", range(300))
def test_a_damaged_file_is_read_or_refused_with_a_sentence(seed: int) -> None:
    data = mutated(sample() | {"width": 4, "height": 3, "shots": [[0, 90]]}, random.Random(seed))
    try:
        gaze = parse(data)
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
        assert len(str(error)) < 300
    else:
        assert parse(json.dumps(build(gaze), allow_nan=False)) == gaze
