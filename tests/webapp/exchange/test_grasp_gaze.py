"""GRASP gaze files as runs, with and without pictures."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ml.formats.errors import FormatError
from tests.webapp.runs import make_filmed_video
from webapp.events.models import Event
from webapp.exchange.grasp_gaze import import_file
from webapp.lib.errors import Refused
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks.models import Person, Run

pytestmark = pytest.mark.django_db


def gaze_file(path: Path, *, seconds: int = 8, rate: int = 2, fps: int = 30, **head: Any) -> Path:
    """Persons 4 and 9 look into each other's faces from 2 s to 6 s, past each other else."""
    left, right = [0.1, 0.2, 0.2, 0.4], [0.7, 0.2, 0.8, 0.4]

    def person(id: int, box: list[float], other: list[float], mutual: bool) -> dict[str, Any]:
        aim = [(other[0] + other[2]) / 2, (other[1] + other[3]) / 2] if mutual else [0.5, 0.95]
        return {
            "person_id": id,
            "body_bbox": box,
            "face_bbox": box,
            "gaze_point": aim,
            "inout": True,
            "face_detected": True,
        }

    frames = [
        {
            "frame_idx": k * fps // rate,
            "timestamp": k / rate,
            "persons": [
                person(4, left, right, 2 <= k / rate < 6),
                person(9, right, left, 2 <= k / rate < 6),
            ],
        }
        for k in range(seconds * rate)
    ]
    whole = {
        "video_path": "../../etc/clips/ep1.mp4", "video_fps": fps, "sample_fps": rate, "total_frames": seconds * fps,
        "processed_frames": len(frames), "persons_summary": {}, "frames": frames,
    }  # fmt: skip
    path.write_text(json.dumps(whole | head))
    return path


def test_a_file_alone_makes_a_video_without_pictures(people: SimpleNamespace, tmp_path: Path) -> None:
    run = import_file(path=gaze_file(tmp_path / "ep1.json"), project=people.one, user=people.cora)
    video = Video.objects.select_related("run", "blob").get()
    assert (video.name, video.has_pixels, video.frames, video.state) == ("ep1.mp4", False, 240, "ready")
    assert run.state == "accepted" and video.run_id == run.id
    assert [p.number for p in Person.objects.all()] == [4, 9]  # as the file calls them
    # 30 frames a second: frame k at k / 30 s, and the end of the last one at 8 s
    assert np.allclose(frame_seconds(video), np.arange(241) / 30)
    (event,) = Event.objects.filter(type="mutual_gaze")
    assert (event.start, event.status) == (60, "proposed")
    assert 6 * 30 - 15 <= event.end <= 6 * 30


def test_the_same_file_again_is_the_same_run(people: SimpleNamespace, tmp_path: Path) -> None:
    path = gaze_file(tmp_path / "ep1.json")
    first = import_file(path=path, project=people.one, user=people.cora)
    again = import_file(path=path, project=people.one, user=people.cora)
    assert (again.id, Run.objects.count(), Video.objects.count()) == (first.id, 1, 1)


def test_a_file_for_a_video_with_pictures_uses_its_frame_times(people: SimpleNamespace, tmp_path: Path) -> None:
    video = make_filmed_video(people.one, frames=250)
    run = import_file(path=gaze_file(tmp_path / "a.json"), project=people.one, user=people.cora, video=video)
    assert run.video_id == video.id and Video.objects.count() == 1
    assert Event.objects.filter(type="mutual_gaze").exists()


def test_a_longer_file_than_the_video_is_refused(people: SimpleNamespace, tmp_path: Path) -> None:
    video = make_filmed_video(people.one, frames=100)
    with pytest.raises(Refused, match="frame_idx 225 lies outside"):
        import_file(path=gaze_file(tmp_path / "a.json"), project=people.one, user=people.cora, video=video)
    assert not Run.objects.exists()


def test_persons_keep_who_they_are_across_the_files_shots(people: SimpleNamespace, tmp_path: Path) -> None:
    path = gaze_file(tmp_path / "a.json", shots=[[0, 120], [120, 240]])
    run = import_file(path=path, project=people.one, user=people.cora)
    assert Video.objects.get().shots == [0, 120]
    assert (run.tracklets.count(), Person.objects.count()) == (4, 2)
    spans = Event.objects.filter(type="mutual_gaze").values_list("start", "end")
    assert all(not (start < 120 < end) for start, end in spans) and len(spans) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"frames": 3}'])
def test_a_broken_file_is_refused_and_leaves_nothing(people: SimpleNamespace, tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(FormatError):
        import_file(path=path, project=people.one, user=people.cora)
    assert not Video.objects.exists() and not Run.objects.exists()


def test_a_file_without_frames_is_refused(people: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no frame"):
        import_file(path=gaze_file(tmp_path / "a.json", frames=[]), project=people.one, user=people.cora)
