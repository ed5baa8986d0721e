"""A run folder made elsewhere comes in once, and a folder that is not as it should be is refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ml.formats.errors import FormatError
from tests.webapp.runs import make_filmed_video, write_run_folder
from webapp.events.models import Event
from webapp.exchange.run_folder import import_folder
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from webapp.tracks.models import Run

FRAMES = 1500
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture
def video(db: None) -> Video:
    return make_filmed_video(Project.objects.create(slug="one", name="One"), FRAMES)


@pytest.fixture
def folder(tmp_path: Path, video: Video) -> Path:
    write_run_folder(tmp_path, frames=FRAMES)
    rewrite(tmp_path, lambda m: m.update(video={"sha256": video.blob_id, "frames": FRAMES}, parameters={}))
    return tmp_path


def rewrite(folder: Path, change: Change) -> None:
    path = folder / "run.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def test_it_becomes_the_accepted_run_with_persons_and_events(folder: Path, video: Video) -> None:
    (folder / "notes.html").write_text("<script>")
    run = import_folder(folder=folder, user=None)
    video.refresh_from_db()
    assert (run.state, run.origin, video.run_id) == (Run.State.ACCEPTED, "folder", run.id)
    assert video.persons.count() == 4
    assert Event.objects.filter(video=video, type="mutual_gaze").exists()
    stored = storage.local_path(run.folder)
    assert stored is not None
    assert {p.name for p in stored.iterdir()} == {"run.json", "samples.parquet", "tracks.bin", "ribbon.bin"}


def test_the_same_folder_again_is_the_same_run(folder: Path, video: Video) -> None:
    first = import_folder(folder=folder, user=None)
    events = Event.objects.count()
    assert import_folder(folder=folder, user=None).id == first.id
    assert (Run.objects.count(), Event.objects.count()) == (1, events)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("tracks"), "no key 'tracks'"),
        (lambda m: m.update(v=2), "version 2"),
        (lambda m: m["shots"][0].update(end=1400), "do not cover the 1500 frames"),
        (lambda m: m["shots"][0].pop("faces"), "not as a run writes them"),
        (lambda m: m["tracks"].append(m["tracks"][0]), "listed twice"),
        (lambda m: m["tracks"][1].update(end=2000), "track 1 does not lie within its shot"),
        (lambda m: m["tracks"].pop(), "track 3 is not in run.json"),
        (lambda m: m.update(identity=[{"a": 0, "b": 9, "similarity": 0.9, "band": "same"}]), "not there"),
    ],
)
def test_a_manifest_that_does_not_hold_together_is_refused(folder: Path, change: Change, words: str) -> None:
    rewrite(folder, change)
    with pytest.raises(FormatError, match=words):
        import_folder(folder=folder, user=None)
    assert Run.objects.count() == 0


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("frame", lambda old: np.full(len(old), 7, np.int32), "not sorted"),
        ("frame", lambda old: old.to_numpy() + 10, "not sorted by frame and track within the video.s 1500 frames"),
        ("gaze_x", lambda old: pa.array(["0.5"] * len(old)), "column gaze_x has type string"),
        ("confidence", lambda old: pa.nulls(len(old), pa.float32()), "column confidence has type float or empty"),
    ],
)
def test_samples_that_do_not_fit_are_refused(folder: Path, column: str, values: Any, words: str) -> None:
    path = folder / "samples.parquet"
    table = pq.read_table(path)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, pa.array(values(table[column]))), path)
    with pytest.raises(FormatError, match=words):
        import_folder(folder=folder, user=None)


def test_files_that_are_missing_or_broken_are_named(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(FormatError, match="no run folder: it has no run.json"):
        import_folder(folder=tmp_path_factory.mktemp("empty"), user=None)
    (folder / "samples.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(FormatError, match="cannot be read as samples"):
        import_folder(folder=folder, user=None)
    (folder / "samples.parquet").unlink()
    with pytest.raises(FormatError, match="has no samples.parquet"):
        import_folder(folder=folder, user=None)
    (folder / "run.json").write_text("{")
    with pytest.raises(FormatError, match="is not JSON"):
        import_folder(folder=folder, user=None)


def test_the_video_must_be_here_once_and_have_these_frames(folder: Path, video: Video) -> None:
    twin = Video.objects.create(
        project=Project.objects.create(slug="two", name="Two"), blob=video.blob, name="twin", state="ready",
        frames=FRAMES, width=1280, height=720,
    )  # fmt: skip
    with pytest.raises(Refused, match="more than one project"):
        import_folder(folder=folder, user=None)
    assert import_folder(folder=folder, user=None, project=video.project).video_id == video.id
    twin.delete()
    rewrite(folder, lambda m: m["video"].update(sha256="ff" * 32))
    with pytest.raises(Refused, match="is not here; import the file first"):
        import_folder(folder=folder, user=None)
