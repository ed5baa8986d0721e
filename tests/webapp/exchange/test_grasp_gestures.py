"""Gestures files into a video and out of it, and the graph and events files beside them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx
import numpy as np
import pytest

from ml.formats import grasp_events, grasp_gestures, grasp_graph
from ml.formats.errors import FormatError
from tests.webapp.factories import edit, make_person, make_proposal, make_video
from webapp.exchange.grasp_export import Export
from webapp.exchange.grasp_gestures import import_file, within_shot
from webapp.lib.errors import Refused
from webapp.library.models import Blob


@pytest.fixture
def scene(people: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """600 frames, 25 a second up to frame 100 and 50 from there on, from media second 3; cuts at 250 and 400."""
    blob = Blob.objects.create(sha256="cd" * 32, bytes=1, suffix=".mp4", ready=True)
    video = make_video(people.one, frames=600, shots=(0, 250, 400), blob=blob)
    seconds = 3 + np.concatenate([np.arange(100) / 25, 4 + np.arange(501) / 50])
    for module in ("grasp_gestures", "grasp_export"):
        monkeypatch.setattr(f"webapp.exchange.{module}.frame_seconds", lambda _: seconds)
    return SimpleNamespace(video=video, who=[make_person(video) for _ in range(3)], user=people.alice)


def gesture(start: float, end: float, **more: Any) -> dict[str, Any]:
    values = {"gesture_type": "pointing", "initiator_id": 0, "start_time": start, "end_time": end,
              "target_type": "person", "target_person_id": 1, "target_description": "", "confidence": 0.9}  # fmt: skip
    return values | more


def write(folder: Path, *gestures: dict[str, Any], **head: Any) -> Path:
    path = folder / "gestures.json"
    path.write_text(json.dumps({"video_path": "clip.mp4", "classifier_version": "v2", "gestures": gestures} | head))
    return path


def found(video: Any) -> list[tuple[str, int, int, str, str, list[tuple[int, str]]]]:
    rows = video.events.filter(modality="gesture").order_by("start", "type").prefetch_related("participations__person")
    return [
        (e.type, e.start, e.end, e.origin, e.status, sorted((p.person.number, p.role) for p in e.participations.all()))
        for e in rows
    ]


# ---------------------------------------------------------------------------------------------------------------------
# In


def test_gestures_become_proposals_on_frames(scene: SimpleNamespace, tmp_path: Path) -> None:
    # 2.0 s is frame 50 of 25 a second; 4.5 s is 0.5 s behind frame 100, at 50 a second frame 125
    path = write(tmp_path, gesture(2.0, 4.5), gesture(1.01, 1.01, gesture_type="reaching", target_person_id=None,
                                                      target_type="object", target_description="a cup"))  # fmt: skip
    done = import_file(path=path, video=scene.video, user=scene.user)
    assert (done.gestures, done.added, done.known, done.trimmed) == (2, 2, 0, 0)
    assert found(scene.video) == [
        ("reaching", 25, 26, "imported", "proposed", [(0, "initiator")]),  # no length: the frame that is shown then
        ("pointing", 50, 125, "imported", "proposed", [(0, "initiator"), (1, "target")]),
    ]
    reaching = scene.video.events.get(type="reaching")
    assert reaching.details == {"target_kind": "object", "target_description": "a cup"}
    assert reaching.set.kind == "proposal" and reaching.machine["detector"] == "gestures-file"
    scene.video.refresh_from_db()
    assert (scene.video.revision, scene.video.proposed_count) == (1, 2)


def test_the_same_file_again_changes_nothing(scene: SimpleNamespace, tmp_path: Path) -> None:
    path = write(tmp_path, gesture(1, 2), gesture(5, 6))
    import_file(path=path, video=scene.video, user=None)
    ids = set(scene.video.events.values_list("id", flat=True))
    again = import_file(path=path, video=scene.video, user=None)
    assert (again.added, again.changed, again.removed) == (0, 0, 0)
    assert set(scene.video.events.values_list("id", flat=True)) == ids
    scene.video.refresh_from_db()
    assert scene.video.revision == 1


def test_another_file_replaces_what_nobody_touched(scene: SimpleNamespace, tmp_path: Path) -> None:
    import_file(path=write(tmp_path, gesture(1, 2), gesture(5, 6)), video=scene.video, user=None)
    done = import_file(path=write(tmp_path, gesture(1, 2.1), gesture(7, 8)), video=scene.video, user=None)
    assert (done.added, done.changed, done.removed) == (1, 1, 1)
    assert [(start, end) for _, start, end, *_ in found(scene.video)] == [(25, 53), (250, 300)]


def test_what_people_said_stands(scene: SimpleNamespace, tmp_path: Path) -> None:
    path = write(tmp_path, gesture(1, 2), gesture(2.2, 3.2, gesture_type="giving"))
    import_file(path=path, video=scene.video, user=None)
    pointing, giving = (scene.video.events.get(type=t) for t in ("pointing", "giving"))
    edit(scene.video, scene.user, "event.update", pointing.id, pointing.version, status="rejected")
    edit(scene.video, scene.user, "event.update", giving.id, giving.version, status="confirmed", start=57)
    rule = make_proposal(scene.video, "mutual_gaze", 10, 20, [(p, "member") for p in scene.who[:2]])
    done = import_file(path=path, video=scene.video, user=None)
    assert (done.added, done.known) == (0, 2)
    assert [(t, start, status) for t, start, _, _, status, _ in found(scene.video)] == [
        ("pointing", 25, "rejected"), ("giving", 57, "confirmed"),
    ]  # fmt: skip
    assert scene.video.events.filter(id=rule.id).exists()  # gaze is none of its business


def test_a_gesture_keeps_the_shot_that_holds_most_of_it(scene: SimpleNamespace, tmp_path: Path) -> None:
    # frames 200 to 300 over the cut at 250 (6 s to 8 s): half and half, so the first; 240 to 420 has all of [250, 400)
    path = write(tmp_path, gesture(6, 8), gesture(6.8, 10.4, gesture_type="showing"))
    done = import_file(path=path, video=scene.video, user=None)
    assert done.trimmed == 2
    assert [(start, end) for _, start, end, *_ in found(scene.video)] == [(200, 250), (250, 400)]
    assert scene.video.events.get(type="showing").details["file_span"] == [240, 420]
    assert within_shot((0, 600), [0, 250, 400], 600) == (0, 250)
    assert within_shot((399, 400), [0, 250, 400], 600) == (399, 400)
    assert within_shot((5, 9), [], 600) == (5, 9)


def test_frames_count_only_for_the_very_same_media(scene: SimpleNamespace, tmp_path: Path) -> None:
    one = gesture(1, 2, start_frame=77, end_frame=88)
    import_file(path=write(tmp_path, one, media_sha256="cd" * 32), video=scene.video, user=None)
    assert [(start, end) for _, start, end, *_ in found(scene.video)] == [(77, 88)]
    import_file(path=write(tmp_path, one, media_sha256="ee" * 32), video=scene.video, user=None)
    assert [(start, end) for _, start, end, *_ in found(scene.video)] == [(25, 50)]


def test_somebody_merged_is_the_other_one(scene: SimpleNamespace, tmp_path: Path) -> None:
    scene.who[2].merged_into = scene.who[1]
    scene.who[2].save()
    import_file(path=write(tmp_path, gesture(1, 2, target_person_id=2)), video=scene.video, user=None)
    assert found(scene.video)[0][5] == [(0, "initiator"), (1, "target")]
    both = write(tmp_path, gesture(1, 2, initiator_id=1, target_person_id=2))
    with pytest.raises(Refused, match=r"gestures\[0\]: Person 1 and Person 2 were merged into one"):
        import_file(path=both, video=scene.video, user=None)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (gesture(1, 2, initiator_id=7), r"gestures\[1\]: there is no Person 7 in 'clip.mp4'"),
        (gesture(100, 101), r"gestures\[1\] starts at 100 s, but the video lasts 14 s"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(
    scene: SimpleNamespace, tmp_path: Path, bad: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        import_file(path=write(tmp_path, gesture(1, 2), bad), video=scene.video, user=None)
    assert not scene.video.events.exists()
    path = tmp_path / "bad.json"
    path.write_text("{")
    with pytest.raises(FormatError, match="line 1, column 2"):
        import_file(path=path, video=scene.video, user=None)


# ---------------------------------------------------------------------------------------------------------------------
# Out


@pytest.fixture
def full(scene: SimpleNamespace, tmp_path: Path) -> SimpleNamespace:
    """Two gestures, mutual gaze of 0 and 1, and 2 who follows the gaze of 1; the giving is confirmed."""
    path = write(tmp_path, gesture(2, 3), gesture(6, 7, gesture_type="giving", target_person_id=None,
                                                  target_type="object", target_description="a cup"))  # fmt: skip
    import_file(path=path, video=scene.video, user=None)
    giving = scene.video.events.get(type="giving")
    edit(scene.video, scene.user, "event.update", giving.id, giving.version, status="confirmed")
    make_proposal(scene.video, "mutual_gaze", 60, 90, [(p, "member") for p in scene.who[:2]])
    make_proposal(scene.video, "gaze_following", 100, 150, [(scene.who[2], "follower"), (scene.who[1], "leader")])
    scene.video.refresh_from_db()
    return scene


def out(full: SimpleNamespace, folder: Path, format: str, **options: Any) -> bytes:
    path = folder / f"out.{format}"
    Export(full.video, **options).write(format, path)
    return path.read_bytes()


def test_events_and_gestures_read_back_in_frames_and_seconds(full: SimpleNamespace, tmp_path: Path) -> None:
    events = grasp_events.parse(out(full, tmp_path, "grasp-events"))
    assert [(e.event_id, e.start_frame, e.end_frame, e.start_time, e.end_time) for e in events.events] == [
        (4000, 60, 90, 2.4, 3.6), (2000, 100, 150, 4.0, 5.0),
    ]  # fmt: skip
    assert events.events[1].persons_involved == (1, 2)
    assert (events.events[1].details["leader_id"], events.events[1].details["follower_id"]) == (1, 2)
    assert events.extra["media_sha256"] == "cd" * 32 and events.extra["frames"] == 600
    assert events.video_fps == round(600 / 14, 6)
    data = out(full, tmp_path, "grasp-gestures")
    gestures = grasp_gestures.parse(data)
    assert [(g.gesture_type, g.start_frame, g.end_frame, g.start_time) for g in gestures.gestures] == [
        ("pointing", 50, 75, 2.0), ("giving", 200, 250, 6.0),
    ]  # fmt: skip
    assert [g.extra["status"] for g in gestures.gestures] == ["proposed", "confirmed"]
    assert gestures.gestures[1].target_description == "a cup"
    confirmed = grasp_gestures.parse(out(full, tmp_path, "grasp-gestures", confirmed=True))
    assert [g.gesture_type for g in confirmed.gestures] == ["giving"]


def test_an_export_comes_back_in_as_it_was(full: SimpleNamespace, tmp_path: Path) -> None:
    before = found(full.video)
    path = tmp_path / "again.json"
    path.write_bytes(out(full, tmp_path, "grasp-gestures"))
    full.video.events.filter(type="pointing").delete()
    done = import_file(path=path, video=full.video, user=None)
    assert (done.added, done.known) == (1, 1)
    assert found(full.video) == before


def test_the_graph_reads_back_with_its_links(full: SimpleNamespace, tmp_path: Path) -> None:
    graph = grasp_graph.parse(out(full, tmp_path, "grasp-graph"))
    types = [event.type for event in graph.events]
    assert types == ["pointing", "mutual_gaze", "gaze_following", "giving"]
    assert [(types[p.gaze_idx], types[p.gesture_idx], p.relation, p.seconds) for p in graph.pairs] == [
        ("mutual_gaze", "pointing", "overlap", 0.6), ("mutual_gaze", "giving", "adjacent", 2.4),
        ("gaze_following", "pointing", "adjacent", 1.0),
    ]  # fmt: skip
    assert graph.events[0].description == "Person 0 points at Person 1."
    assert graph.extra["media_sha256"] == "cd" * 32
    compat = grasp_graph.parse(out(full, tmp_path, "grasp-graph", preset="grasp-compat"))
    assert len(compat.pairs) == 4  # the released rule needs no shared person
    read = networkx.read_graphml(io.BytesIO(out(full, tmp_path, "graphml")), force_multigraph=True)
    kinds = [data["kind"] for _, _, data in read.edges(data=True)]
    assert (kinds.count("overlaps"), kinds.count("adjacent"), kinds.count("participates")) == (1, 2, 7)
    assert "person 0" in read and read.number_of_nodes() == 3 + 4


def test_events_that_a_merge_collapsed_are_left_out_and_counted(full: SimpleNamespace, tmp_path: Path) -> None:
    full.who[1].merged_into = full.who[0]
    full.who[1].save()
    events = grasp_events.parse(out(full, tmp_path, "grasp-events"))
    assert [e.event_type for e in events.events] == ["gaze_following"] and events.events[0].persons_involved == (0, 2)
    assert events.extra["left_out"] == 2  # the mutual gaze and the pointing of 0 and 1
    assert len(grasp_gestures.parse(out(full, tmp_path, "grasp-gestures")).gestures) == 1


def test_a_file_appears_whole_or_not_at_all(full: SimpleNamespace, tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError):
        broken.setattr("webapp.exchange.grasp_export.graph_event", lambda *_: 1 / 0)
        Export(full.video).write("grasp-events", folder / "out.json")
    assert list(folder.iterdir()) == []
    with pytest.raises(Refused, match="There is no format"):
        Export(full.video).write("csv", folder / "out.csv")
    (folder / ".out.json.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device.*out.json") as caught:
        Export(full.video).write("grasp-events", folder / "out.json")
    assert caught.value.filename == str(folder / "out.json") and list(folder.iterdir()) == []
