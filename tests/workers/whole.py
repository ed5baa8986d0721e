"""What a video became, without times and random ids, and whether anything is left over or doubled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings

from webapp.events.models import Derivation, Event
from webapp.lib import storage
from webapp.library.models import Blob, Video
from webapp.tracks.models import IdentityProposal, Run, Tracklet

VARYING = ("seconds", "processor_seconds", "peak_rss_mb", "notes")  # of run.json


def imported(video: Video) -> dict[str, Any]:
    """The rows and files of an import."""
    video.refresh_from_db()
    assert video.blob is not None
    return {
        "video": (video.state, video.error, video.frames, video.width, video.height, video.duration_s, video.has_audio),
        "warnings": video.warnings,
        "facts": video.blob.facts,
        "files": contents(video.blob.folder),
        "counts": (Video.objects.count(), Blob.objects.count()),
    }


def perceived(video: Video) -> dict[str, Any]:
    """The rows and files of an accepted perception run. Events are told by what they say, not by their ids."""
    video.refresh_from_db()
    run = Run.objects.get(video=video)
    files = contents(run.folder)
    manifest = json.loads(files.pop("run.json"))
    assert manifest == run.manifest
    for key in VARYING:
        manifest.pop(key)
    return {
        "files": files,
        "manifest": manifest,
        "run": (run.state, video.run_id == run.id, video.shots, video.person_count, run.report["conflicts"]),
        "persons": sorted(video.persons.values_list("number", "name", "version")),
        "tracklets": sorted(Tracklet.objects.filter(run=run).values_list("track", "start", "end", "person__number")),
        "identity": sorted(
            IdentityProposal.objects.filter(video=video).values_list(
                "first__number", "second__number", "similarity", "state"
            )
        ),
        "derivations": [d.applied is not None for d in Derivation.objects.filter(video=video)],
        "edits": sorted(video.edits.values_list("kind", "revision")),
        "revision": video.revision,
        "events": events(video),
    }


def events(video: Video) -> list[tuple[Any, ...]]:
    found = Event.objects.filter(video=video).select_related("set").prefetch_related("participations__person")
    return sorted(
        (e.type, e.start, e.end, tuple(sorted((p.person.number, p.role) for p in e.participations.all())),
         e.confidence, e.set.kind, e.status, e.version)
        for e in found
    )  # fmt: skip


def contents(name: str) -> dict[str, bytes]:
    """Every stored file below a name, hidden ones too."""
    folder = storage.local_path(name)
    assert folder is not None
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def leftovers() -> list[str]:
    """Files and folders that no row speaks of: in the store, and scratch folders of jobs."""
    found = [str(p) for p in (Path(settings.DATA) / "work").glob("*")]
    blobs, runs = storage.local_path("blobs"), storage.local_path("runs")
    assert blobs is not None and runs is not None
    found += [str(p) for p in blobs.glob("*") if not Blob.objects.filter(sha256=p.name).exists()]
    found += [str(p) for p in runs.glob("*") if not Run.objects.filter(id=p.name).exists()]
    found += [str(p) for top in (blobs, runs) for p in top.rglob("*") if p.name.startswith(".") or "part" in p.suffix]
    return found


def perception_processes() -> Iterator[psutil.Process]:
    """Living processes of perception pools whose data folder is that of these tests."""
    for process in psutil.process_iter():
        try:
            line = process.cmdline()
            if "ml.perception.worker" in line and process.environ().get("SIGHTLINE_DATA") == str(settings.DATA):
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
