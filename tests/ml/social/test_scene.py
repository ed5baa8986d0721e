"""Scenes from stored samples: who is who, cuts, what a sample speaks for, and corrections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ml.social.event import JOINT, MUTUAL
from ml.social.events import detect, detect_samples
from ml.social.scene import CAMERA, NONE, OFF, PERSON, SCENE, Correction, Scene, hold, kind_codes, tracklet_of
from tests.ml.social.scenes import of_type
from tests.ml.social.test_display import look, table

SECONDS = np.arange(301) / 30
BOTH = np.array([[1, 0, 300, 10], [2, 0, 300, 20]])


def two(frames: range, **more: Any) -> list[dict[str, Any]]:
    """Track 1 on the left looks at track 2 on the right, which looks back."""
    left = {"face_x1": 0.1, "face_y1": 0.4, "face_x2": 0.3, "face_y2": 0.6}
    right = {"face_x1": 0.7, "face_y1": 0.4, "face_x2": 0.9, "face_y2": 0.6}
    sure = {"confidence": 0.8, "inframe": 0.9}
    return [
        row
        for frame in frames
        for row in (
            look(frame, 1, "person", 0.8, target_track=2, **left, **sure, **more),
            look(frame, 2, "person", 0.2, target_track=1, **right, **sure, **more),
        )
    ]


def scene_of(rows: list[dict[str, Any]], person_of: NDArray[Any] = BOTH, **more: Any) -> Scene:
    return Scene.from_samples(columns(rows), person_of=person_of, seconds=SECONDS, aspect=16 / 9, **more)


def columns(rows: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    whole = table(rows)
    whole["target_object"] = np.array([row.get("target_object", "") for row in rows], dtype=object)
    return whole


def test_rows_become_persons_and_targets() -> None:
    scene = scene_of(two(range(0, 60, 15)))
    assert scene.frames.tolist() == [0, 15, 30, 45] and scene.persons.tolist() == [10, 20]
    assert scene.times.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert scene.kind.tolist() == [[PERSON, PERSON]] * 4 and scene.target.tolist() == [[20, 10]] * 4
    assert scene.gaze[0].tolist() == pytest.approx(np.array([[0.8, 0.5], [0.2, 0.5]]))
    assert scene.ends.tolist() == [15, 30, 45, 60]


def test_only_sampled_rows_count() -> None:
    rows = two(range(0, 60, 15)) + [look(7, 1, sampled=False)]
    assert scene_of(rows).frames.tolist() == [0, 15, 30, 45]


def test_a_track_may_change_hands_and_rows_outside_tracklets_are_left_out() -> None:
    person_of = np.array([[1, 0, 30, 10], [1, 30, 45, 30], [2, 0, 300, 20]])
    scene = scene_of(two(range(0, 60, 15)), person_of)
    assert scene.persons.tolist() == [10, 20, 30]
    assert scene.present.tolist() == [
        [True, True, False],
        [True, True, False],
        [False, True, True],
        [False, True, False],
    ]
    # Who looks at track 1 looks at whoever it is on that frame, and at nobody known when it is nobody.
    assert scene.target[:, 1].tolist() == [10, 10, 30, -1]


def test_of_two_rows_for_one_person_the_one_with_a_face_wins() -> None:
    merged = np.array([[1, 0, 300, 10], [2, 0, 300, 10]])
    rows = [look(0, 1, x=0.1, confidence=0.2), look(0, 2, x=0.9, confidence=0.9)]
    assert scene_of(rows, merged).gaze[0, 0, 0] == pytest.approx(0.9)
    rows[1]["face_x1"] = np.nan
    assert scene_of(rows, merged).gaze[0, 0, 0] == pytest.approx(0.1)


def test_a_person_target_without_a_point_points_at_the_face() -> None:
    rows = two(range(0, 60, 15))
    for row in rows:
        row["gaze_x"] = row["gaze_y"] = np.nan
    assert scene_of(rows).gaze[0].tolist() == pytest.approx(np.array([[0.8, 0.5], [0.2, 0.5]]))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="samples.target_kind: 'floor' is not one of person, object"):
        kind_codes(np.array(["person", "floor"], dtype=object))
    assert kind_codes(np.array(["", "person", "unusable"], dtype=object)).tolist() == [0, 1, 6]


def test_tracklets_are_half_open() -> None:
    person_of = np.array([[5, 10, 20, 1], [5, 20, 30, 2], [7, 0, 5, 3]])
    tracks, frames = np.array([5, 5, 5, 5, 7, 7, 6, -1]), np.array([9, 10, 20, 30, 4, 5, 12, 3])
    assert tracklet_of(person_of, tracks, frames).tolist() == [-1, 0, 1, -1, 2, -1, -1, -1]


def test_a_sample_speaks_up_to_the_next_the_cut_or_one_step() -> None:
    frames, shots = np.array([0, 15, 30, 75, 90, 100, 115]), np.array([0, 0, 0, 0, 0, 1, 1], dtype=np.int32)
    bounds = np.array([97] * 5 + [130] * 2)
    ends, end_times = hold(frames, frames / 30, shots, bounds=bounds, seconds=SECONDS)
    # After 30 nobody was sampled for 1.5 s: one step (15 frames). 90 is cut off at 97, 115 goes on to 130.
    assert ends.tolist() == [15, 30, 45, 90, 97, 115, 130]
    assert end_times == pytest.approx(ends / 30)
    assert hold(frames, frames / 30, shots)[0].tolist() == [15, 30, 45, 90, 100, 115, 130]


def test_wrong_shapes_and_unordered_times_are_refused() -> None:
    scene = scene_of(two(range(0, 60, 15)))
    with pytest.raises(ValueError, match=r"scene.gaze: expected shape \(4, 2, 2\), found \(4, 2, 3\)"):
        Scene(**{**vars(scene), "gaze": np.zeros((4, 2, 3))})
    with pytest.raises(ValueError, match="must grow from sample to sample"):
        Scene(**{**vars(scene), "frames": scene.frames[::-1]})
    with pytest.raises(ValueError, match="scene.aspect"):
        Scene(**{**vars(scene), "aspect": 0.0})


def test_a_correction_overrules_its_span_only() -> None:
    rows = two(range(0, 300, 15))
    (whole,) = of_type(detect(scene_of(rows)), MUTUAL)
    assert (whole.start, whole.end) == (0, 300)
    scene = scene_of(rows, corrections=[Correction(10, 90, 150, OFF)])
    assert scene.kind[:, 0].tolist() == [PERSON] * 6 + [OFF] * 4 + [PERSON] * 10
    assert scene.human[:, 0].sum() == 4 and not scene.human[:, 1].any()
    assert [(event.start, event.end) for event in of_type(detect(scene), MUTUAL)] == [(0, 90), (150, 300)]


def test_a_correction_to_a_person_follows_that_persons_face() -> None:
    rows = two(range(0, 300, 15))
    for row in rows:
        if row["track"] == 2:
            row["face_x1"], row["face_x2"] = (value + row["frame"] / 3000 for value in (row["face_x1"], row["face_x2"]))
            row["target_kind"], row["gaze_x"] = "", np.nan
    corrections = [Correction(10, 0, 300, PERSON, target_person=20), Correction(20, 0, 150, PERSON, target_person=10)]
    scene = scene_of(rows, corrections=corrections)
    assert scene.gaze[:, 0, 0] == pytest.approx(0.8 + scene.frames / 3000, abs=1e-6)
    assert scene.confidence[:, 0].tolist() == [1.0] * 20
    (event,) = of_type(detect(scene), MUTUAL)
    assert (event.start, event.end, event.confidence) == (0, 150, 1.0)


def test_a_human_is_believed_even_without_a_face() -> None:
    rows = two(range(0, 300, 15))
    for row in rows:
        if row["track"] == 2:
            row |= dict.fromkeys(("face_x1", "face_y1", "face_x2", "face_y2"), np.nan)
    assert not of_type(detect(scene_of(rows)), MUTUAL)
    corrections = [Correction(20, 0, 300, PERSON, target_person=10), Correction(10, 0, 300, PERSON, target_person=20)]
    assert of_type(detect(scene_of(rows, corrections=corrections)), MUTUAL)


def test_a_corrected_point_makes_joint_attention() -> None:
    rows = two(range(0, 300, 15))
    corrections = [Correction(10, 60, 150, SCENE, 0.5, 0.9), Correction(20, 60, 150, SCENE, 0.55, 0.9)]
    (event,) = of_type(detect(scene_of(rows, corrections=corrections)), JOINT)
    assert (event.start, event.end) == (60, 150)


def test_later_corrections_replace_earlier_ones_and_strangers_are_ignored() -> None:
    rows = two(range(0, 300, 15))
    corrections = [Correction(10, 0, 300, OFF), Correction(10, 0, 150, CAMERA), Correction(99, 0, 300, OFF)]
    scene = scene_of(rows, corrections=corrections)
    column = int(scene.column_of(np.array(10)))
    assert scene.kind[:, column].tolist() == [CAMERA] * 10 + [OFF] * 10


@pytest.mark.parametrize("preset", ["strict", "grasp-compat"])
def test_shots_one_by_one_give_the_same_events(preset: str) -> None:
    rows = two(range(0, 150, 15)) + two(range(150, 300, 15), shot=1)
    arguments: dict[str, Any] = {
        "person_of": BOTH,
        "seconds": SECONDS,
        "aspect": 1.5,
        "corrections": [Correction(10, 45, 60, OFF), Correction(20, 240, 400, CAMERA)],
        "shot_ends": [150, 300],
    }
    scene = Scene.from_samples(columns(rows), **arguments)
    events = detect(scene, preset)
    assert events and all(event.end <= 150 or event.start >= 150 for event in events)
    assert detect_samples(columns(rows), **arguments, preset=preset) == events
    assert [len(part.frames) for part in scene.split()] == [10, 10]


def test_each_shot_holds_only_its_own_persons() -> None:
    rows = [look(0, 1), look(15, 1), look(150, 2, shot=1)]
    parts = list(Scene.each_shot(columns(rows), person_of=BOTH, seconds=SECONDS, aspect=1.0))
    assert [part.persons.tolist() for part in parts] == [[10], [20]]


def test_nothing_gives_nothing() -> None:
    empty = {name: values[:0] for name, values in columns(two(range(0, 15, 15))).items()}
    for preset in ("strict", "grasp-compat"):
        assert detect(Scene.from_samples(empty, person_of=BOTH, seconds=SECONDS, aspect=1.0), preset) == []
        assert detect_samples(empty, person_of=BOTH, seconds=SECONDS, aspect=1.0, preset=preset) == []
        lonely = scene_of([look(0, 1)])
        assert lonely.kind.tolist() == [[SCENE]] and detect(lonely, preset) == []
    assert NONE == 0


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(ValueError, match="Preset 'loose' is not known; choose one of grasp-compat, strict"):
        detect(scene_of(two(range(0, 60, 15))), "loose")
