"""A video of a real file with a run of two people in it, as imports and perception leave it."""

from __future__ import annotations

import json
from pathlib import Path

from ml.media.importer import prepare
from ml.progress import silent
from tests import clips
from tests.webapp.factories import make_person, make_tracklet
from tests.webapp.runs import write_run_folder
from webapp.lib import storage
from webapp.library.models import Blob, Project, Video
from webapp.tracks.models import Run

KIND, FRAMES = "variable", 162


def source(folder: Path) -> tuple[clips.Clip, Path]:
    """A clip whose rate varies, and the folder of its import."""
    clip = clips.make(KIND, folder)
    prepare(clip.path, folder / "made", silent)
    return clip, folder / "made"


def make(project: Project, clip: clips.Clip, made: Path, scratch: Path) -> Video:
    """Persons 0 and 1, who were looked for on every fifth frame."""
    facts = json.loads((made / "import.json").read_text())
    blob = Blob.objects.create(sha256=facts["sha256"], bytes=1, suffix=".mp4", ready=True, facts=facts)
    storage.put(clip.path, blob.original)
    storage.put(made / "frames.npz", f"{blob.folder}/frames.npz")
    video = Video.objects.create(
        project=project, blob=blob, name="a.mp4", state="ready", frames=FRAMES, width=320, height=180, shots=[0]
    )
    manifest = write_run_folder(scratch / "run", people=2, frames=FRAMES)
    seen_by = Run.objects.create(video=video, profile="embedded", manifest=manifest, state="accepted")
    storage.put_folder(scratch / "run", seen_by.folder)
    for track in range(2):
        make_tracklet(seen_by, make_person(video), track, 0, FRAMES)
    video.run = seen_by
    video.save()
    return video
