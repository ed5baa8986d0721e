"""Masks of people for pages: ranges of frames across blocks, whose they are now, and who may ask for what."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.test import Client

from ml.formats import coco_rle
from ml.formats.errors import FormatError
from tests.webapp.runs import make_filmed_video, write_run_folder
from webapp.jobs import broker
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.studio.run_masks import bring_masks
from webapp.tracks import acceptance, masking, services
from webapp.tracks.masks import BLOCK, masks_between, write_blocks
from webapp.tracks.models import Person, Run

FRAMES = 1500
SIZE = (36, 64)
ABOUT = {
    "v": 1, "size": list(SIZE), "masker": {"name": "person-masks", "version": "1", "weights": {}, "settings": {}},
    "counts": {"frames": 300, "masks": 600, "persons": 2, "without": 0}, "seconds": {"masks": 1.0}, "notes": [],
}  # fmt: skip
"""Tracks 0 and 1 on every fifth frame."""


@pytest.fixture
def video(people: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    """Four people in one shot; masks of two of them, whose track says in which row of the picture they lie."""
    monkeypatch.setattr(broker, "send", lambda **_: True)
    made = make_filmed_video(people.one, FRAMES)
    manifest = write_run_folder(tmp_path / "run", frames=FRAMES)
    about: dict[str, Any] = {"job": None, "profile": "embedded", "origin": "perception"}
    run = services.add_run(run_id=uuid.uuid4(), video=made, manifest=manifest, folder=tmp_path / "run", **about)
    assert acceptance.settle(run=run, user=None)
    return Video.objects.select_related("run").get(id=made.id)


def counts_of(track: int) -> bytes:
    mask = np.zeros(SIZE, bool)
    mask[10 * track : 10 * track + 5, :7] = True
    return coco_rle.encode(mask)


def give_masks(video: Video, tmp_path: Path) -> Video:
    frame, track = (a.ravel() for a in np.meshgrid(np.arange(0, FRAMES, 5), [1, 0], indexing="ij"))
    counts = [counts_of(t) for t in track.tolist()]
    folder = tmp_path / "blocks"
    folder.mkdir()
    write_blocks(
        folder, frame=frame, track=track, score=np.full(len(frame), 0.8, np.float32),
        box=coco_rle.boxes(counts, SIZE), counts=counts,
    )  # fmt: skip
    assert video.run is not None
    storage.put_folder(folder, video.run.folder)
    assert masking.settle(video=video, run_id=video.run.id, about=ABOUT) == ABOUT["counts"]
    return Video.objects.select_related("run").get(id=video.id)


def test_a_range_is_put_together_from_its_blocks(video: Video, tmp_path: Path) -> None:
    video = give_masks(video, tmp_path)
    found = masks_between(video, BLOCK - 7, BLOCK + 9)
    assert found["frame"] == [505, 505, 510, 510, 515, 515, 520, 520]
    assert found["track"] == [0, 1] * 4 and found["size"] == list(SIZE)
    assert found["counts"] == [counts_of(t).decode() for t in found["track"]]
    assert found["box"][1] == pytest.approx([0, 10 / 36, 7 / 64, 15 / 36], abs=1e-4)
    first, second = Person.objects.filter(video=video).order_by("number")[:2]
    assert found["person"] == [str(first.id), str(second.id)] * 4
    assert found["made"] == {"name": "person-masks 1", "frames": 300, "masks": 600}
    assert set(masks_between(video, 0, None)["frame"]) == set(range(0, BLOCK, 5))
    assert masks_between(video, BLOCK, BLOCK + 1)["frame"] == []


def test_whose_a_mask_is_follows_the_edits(video: Video, tmp_path: Path) -> None:
    """The second person is merged into the first: both masks are the first one's."""
    video = give_masks(video, tmp_path)
    first, second = Person.objects.filter(video=video).order_by("number")[:2]
    Person.objects.filter(id=second.id).update(merged_into=first)
    assert set(masks_between(video, 0, 10)["person"]) == {str(first.id)}
    assert video.run is not None
    video.run.tracklets.filter(track=0).update(end=5)  # nobody's from there on
    assert masks_between(video, 0, 10)["track"] == [0, 1, 1]


def test_spans_that_are_none_are_refused_and_no_masks_are_no_masks(video: Video, tmp_path: Path) -> None:
    assert masks_between(video, 0, 100) | {"person": 0} == {
        "size": None, "made": None, "run": None, "frame": [], "track": [], "score": [], "box": [], "counts": [],
        "person": 0,
    }  # fmt: skip
    for start, end in ((-1, 5), (5, 5), (7, 3), (0, FRAMES + 1), (FRAMES, None)):
        with pytest.raises(Refused, match="are no span of this video, which has 1500"):
            masks_between(video, start, end)
    video.frames = 100_000
    with pytest.raises(Refused, match="At most 4096 frames at once; these are 5000"):
        masks_between(video, 0, 5000)


def test_masks_are_asked_for_once_and_only_where_somebody_is_known(video: Video) -> None:
    job = masking.request_masks(video=video, user=None)
    assert masking.request_masks(video=video, user=None).id == job.id
    assert (job.kind, job.queue, Job.objects.filter(kind="masks").count()) == ("masks", "gpu", 1)
    video.run = None
    with pytest.raises(Refused, match="no accepted run"):
        masking.request_masks(video=video, user=None)
    video.has_pixels = False
    with pytest.raises(Refused, match="a video with pictures"):
        masking.request_masks(video=video, user=None)


def test_masks_of_a_run_that_was_replaced_are_not_noted(video: Video) -> None:
    run = Run.objects.create(video=video, profile="embedded")
    with pytest.raises(masking.Outdated):
        masking.settle(video=video, run_id=run.id, about=ABOUT)
    run.refresh_from_db()
    assert run.masks == {}


def test_the_api_answers_members_and_the_bundle_says_that_there_are_masks(
    video: Video,
    client: Client,
    people: SimpleNamespace,
    tmp_path: Path,
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    client.force_login(people.vera)
    address = f"/api/v1/videos/{video.id}/masks"
    assert json.loads(client.get(f"/api/v1/videos/{video.id}/bundle").content)["run"]["masks"] is None
    give_masks(video, tmp_path)
    with django_assert_max_num_queries(8):
        answer = client.get(address, {"start": 0, "end": 20})
    assert answer.status_code == 200 and answer.json()["frame"] == [0, 0, 5, 5, 10, 10, 15, 15]
    assert client.get(address, {"start": 9, "end": 2}).status_code == 422
    assert client.get(address, {"start": "x"}).status_code == 422
    assert json.loads(client.get(f"/api/v1/videos/{video.id}/bundle").content)["run"]["masks"]["masks"] == 600


# ---------------------------------------------------------------------------------------------------------------------
# With a run folder


def run_folder(folder: Path, *, track: int = 1, frame: int = 10, size: tuple[int, int] = SIZE) -> Path:
    """What `python -m ml.perception.run --masks` leaves beside a run's own files: one mask."""
    from ml.media import masks as packed

    folder.mkdir(exist_ok=True)
    counts = [packed.of_box((0.1, 0.2, 0.5, 0.9), size)]
    one = np.array([1.0], np.float32)
    packed.write(
        folder / "masks.parquet",
        packed.Masks(
            size, np.array(["person"]), np.array([track]), np.array([frame]), np.array([track]), one, one,
            packed.boxes(counts, size), packed.area(counts, size), np.array(["mask"]), counts,
        ),
        {},
    )  # fmt: skip
    (folder / "masks.json").write_text(json.dumps(ABOUT))
    return folder


def test_masks_of_a_run_folder_come_with_it(video: Video, tmp_path: Path) -> None:
    assert video.run is not None
    bring_masks(tmp_path / "run", video.run)  # has none
    bring_masks(run_folder(tmp_path / "with"), video.run)
    found = masks_between(Video.objects.select_related("run").get(id=video.id), 0, 100)
    assert (found["frame"], found["track"]) == ([10], [1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"track": 77}, "track 77 is not in run.json"),
        ({"frame": FRAMES}, "a mask on frame 1500, after the video's end"),
        ({"size": (72, 128)}, "pictures of another size than masks.json says"),
        ({"about": "{}"}, "does not say how its masks were made"),
        ({"about": json.dumps(ABOUT | {"size": ["36", 64]})}, "is not what a run writes"),
        ({"masks": b"PAR1"}, "it is no masks file"),
    ],
)
def test_masks_that_do_not_fit_are_refused_and_leave_nothing(
    video: Video, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    folder = run_folder(tmp_path / "with", **{k: v for k, v in change.items() if k not in ("about", "masks")})
    if "about" in change:
        (folder / "masks.json").write_text(change["about"])
    if "masks" in change:
        (folder / "masks.parquet").write_bytes(change["masks"])
    assert video.run is not None
    with pytest.raises(FormatError, match=words):
        bring_masks(folder, video.run)
    video.run.refresh_from_db()
    assert video.run.masks == {}
