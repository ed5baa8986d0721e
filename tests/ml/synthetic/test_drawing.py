"""The drawn scene: what is drawn is what is true, and its files say the same."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np
import pytest

from ml.formats import grasp_events, grasp_gaze, grasp_gestures
from ml.social.event import GESTURES, TYPES
from ml.synthetic import draw, files
from ml.synthetic.motion import Motion, move, rest
from ml.synthetic.script import Stage
from ml.synthetic.table_talk import HEIGHT, WIDTH, Scene, _Writer, table_talk
from ml.synthetic.truth import happenings


@pytest.fixture(scope="module")
def scene() -> Scene:
    return table_talk()


@pytest.fixture(scope="module")
def motion(scene: Scene) -> Motion:
    return move(scene)


def test_every_event_and_gesture_type_is_in_the_scene(scene: Scene) -> None:
    found = [event.type for event in happenings(scene.truth)]
    assert set(found) == {*TYPES, *GESTURES}
    assert scene.truth.frames == 1600


def test_a_scene_that_asks_too_much_of_somebody_is_refused() -> None:
    play = _Writer(Stage(np.arange(251) / 25, ["a", "b", "c"], [1, 2, 3]), {})
    play.do("meet", (0, 1), 1.0, 3.0)
    with pytest.raises(ValueError, match="meet .* at 2 s"):
        play.do("meet", (1, 2), 2.0, 4.0)


def test_eyes_are_on_their_target_from_a_tenth_of_a_second_after_the_look_begins(scene: Scene, motion: Motion) -> None:
    truth = scene.truth
    for person in range(truth.persons):
        look = truth.look[:, person]
        settled = np.ones(truth.frames, bool)
        for edge in (np.flatnonzero(np.diff(look)) + 1).tolist():
            settled[max(0, edge - 3) : edge + 4] = False
        for frame in np.flatnonzero(settled & (look >= 0) & (look < truth.persons)).tolist():
            away = np.linalg.norm(motion.eyes[frame, person] - motion.head[frame, look[frame]])
            assert away < 1, (person, frame)


def test_hands_rest_unless_they_gesture_and_things_change_hands(scene: Scene, motion: Motion) -> None:
    truth = scene.truth
    busy = truth.hand >= 0
    for person in range(truth.persons):
        near = np.convolve(busy[:, person], np.ones(23), "same") > 0
        for side in (0, 1):
            assert np.allclose(motion.hands[~near, person, side], rest(person, side))
    assert (motion.holder >= 0).any(axis=0).all()
    jumps = np.linalg.norm(np.diff(motion.props, axis=0), axis=2)
    assert jumps.max() < 60  # pixels a frame: nothing is teleported


def test_pictures_change_where_somebody_moves_and_nowhere_else(scene: Scene, motion: Motion) -> None:
    first, *_, later = (image.copy() for _, image in zip(range(30), draw.pictures(scene, motion), strict=False))
    assert first.shape == (HEIGHT, WIDTH, 3) and first.dtype == np.uint8
    changed = np.any(first != later, axis=2)
    assert changed.any()
    assert not changed[:50].any() and not changed[650:].any()  # the wall above everybody, the table before them


def test_the_files_are_read_back_as_they_were_written(scene: Scene, motion: Motion) -> None:
    gaze = files.gaze_file(scene, motion, "a.mp4")
    assert grasp_gaze.parse(json.dumps(grasp_gaze.build(gaze))) == gaze
    events = files.events_file(scene, "a.mp4")
    assert grasp_events.parse(json.dumps(grasp_events.build(events))) == events
    gestures = files.gestures_file(scene, "a.mp4")
    assert grasp_gestures.parse(json.dumps(grasp_gestures.build(gestures))) == gestures
    assert len(events.events) + len(gestures.gestures) == len(happenings(scene.truth))


def test_gaze_of_the_file_falls_on_the_face_that_is_looked_at(scene: Scene, motion: Motion) -> None:
    """2.0-5.2 s: persons 1 and 2 look at each other (columns 0 and 1)."""
    gaze = files.gaze_file(scene, motion, "a.mp4")
    rows = gaze.row_sample == 15  # 3.0 s
    face, point = gaze.face[rows], gaze.gaze[rows]
    for a, b in ((0, 1), (1, 0)):
        assert (face[b, :2] < point[a]).all() and (point[a] < face[b, 2:]).all()


def test_the_video_comes_last_and_has_every_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(scene: Scene, motion: Motion) -> object:
        return (image for _, image in zip(range(10), pictures(scene, motion), strict=False))

    pictures = draw.pictures
    monkeypatch.setattr(draw, "pictures", few)
    shares: list[float] = []
    video = draw.make(tmp_path / "talk", lambda stage, share: shares.append(share))
    assert sorted(path.name for path in video.parent.iterdir()) == [
        "table-talk.mp4", "table-talk_events.json", "table-talk_gaze.json", "table-talk_gestures.json",
    ]  # fmt: skip
    with av.open(str(video)) as container:
        times = [frame.time for frame in container.decode(video=0)]
    assert times == pytest.approx(np.arange(10) / 25)
    assert shares == sorted(shares) and len(shares) == 10
