"""Writes of runs and of the persons and tracklets that come with them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pghistory
from django.db import transaction

from webapp.accounts.models import User
from webapp.events import ledger, rows
from webapp.events.services import Change
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import IdentityProposal, Person, Run, Tracklet

PROFILES = ("embedded", "gpu")
ABANDONED_S = 3600  # seconds after which files without a row are nobody's


@dataclass
class Plan:
    """What acceptance of a run would write.

    `tracklets`: (track, start, end, person key, cut by hand), where a key is an existing person's id or "new-0",
    "new-1", ... in the order of their numbers. `identity`: (key, key, similarity) of persons to ask about; tracks whose
    faces are alike enough share a key already.
    """

    tracklets: list[tuple[int, int, int, str, bool]]
    identity: list[tuple[str, str, float]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # what an imported file calls new persons
    conflicts: list[dict[str, Any]] = field(default_factory=list)


def request_perception(
    *, video: Video, user: User | None, profile: str = "embedded", rate: float = 2.0, tracking_rate: float | None = None
) -> Job:
    """Queue a perception run. One at a time for a video."""
    if profile not in PROFILES:
        raise Refused(f"There is no perception profile {profile!r} here; there is: {', '.join(PROFILES)}.", "profile")
    if not 0.1 <= rate <= 120:
        raise Refused("The sampling rate must lie between 0.1 and 120 per second.", "rate")
    if video.state != Video.State.READY or not video.has_pixels:
        raise Refused("Perception needs a video whose import is done.", "video")
    parameters: dict[str, Any] = {"profile": profile, "rate": rate, "tracking_rate": tracking_rate}
    with transaction.atomic():
        Video.objects.select_for_update(no_key=True).get(id=video.id)  # of two requests the second sees the first
        live = Job.objects.filter(video=video, kind="perceive", state__in=[Job.State.QUEUED, Job.State.RUNNING])
        waiting = live.first()
        if waiting is None:
            return jobs.create(
                project=video.project,
                kind="perceive",
                queue="gpu",
                video=video,
                parameters=parameters | {"run": str(uuid.uuid4())},
                user=user,
            )
    if any(waiting.parameters.get(name) != value for name, value in parameters.items()):
        raise Refused("Perception is under way for this video with other settings; cancel that or wait.", "video")
    return waiting


def add_run(
    *,
    run_id: UUID,
    video: Video,
    job: Job | None,
    profile: str,
    origin: str,
    manifest: dict[str, Any],
    folder: Path | None,
) -> Run:
    """Store a finished run folder as a layer. The same run id again is the same run (a job that starts over).

    Without `folder` the files are below `runs/<run_id>` already.
    """
    if folder is not None:
        storage.put_folder(folder, f"runs/{run_id}")
    run, _ = Run.objects.update_or_create(
        id=run_id,
        defaults={"video": video, "job": job, "profile": profile, "origin": origin, "manifest": manifest},
    )
    return run


def erase_unregistered() -> None:
    """Erase runs on this machine that killed jobs began to store and nobody finishes; young ones may still be."""
    found, limit = storage.local_path("runs"), time.time() - ABANDONED_S
    names = {folder.name for folder in found.glob("*") if folder.stat().st_mtime < limit} if found else set()
    waiting = Job.objects.filter(state__in=jobs.LIVE, parameters__run__in=list(names))
    names -= set(waiting.values_list("parameters__run", flat=True))
    names -= {str(run_id) for run_id in Run.objects.filter(id__in=names).values_list("id", flat=True)}
    for name in names:
        storage.delete_tree(f"runs/{name}")


def save_report(*, run: Run, plan: Plan, revision: int) -> None:
    """Keep what acceptance would do, as of a revision of the video."""
    run.report = {
        "revision": revision,
        "tracklets": [list(t) for t in plan.tracklets],
        "identity": [list(i) for i in plan.identity],
        "numbers": plan.numbers,
        "conflicts": plan.conflicts,
    }
    run.save(update_fields=["report"])


def accept_run(*, run: Run, user: User | None, people: Mapping[str, UUID] | None = None) -> Run:
    """Make a layer the video's run by its report: tracklets, new persons, identity proposals. Nothing human goes away.

    `people`: ids for the report's new persons by their keys, where they are chosen already.
    Raises Refused when the video was edited since the report was made.
    """
    with transaction.atomic(), pghistory.context(user=user.pk if user else None, why="run.accept", run=str(run.id)):
        video = Video.objects.select_for_update(no_key=True).get(id=run.video_id)
        run.refresh_from_db()
        if run.state == Run.State.ACCEPTED:
            return run
        if run.report.get("revision") != video.revision:
            raise Refused("The video was edited since this run was compared with it; compare again.", "run")
        changes = _write_plan(video, run, people or {})
        Run.objects.filter(video=video, state=Run.State.ACCEPTED).update(state=Run.State.REPLACED)
        run.state = Run.State.ACCEPTED
        run.save(update_fields=["state"])
        video.run = run
        video.shots = [shot["start"] for shot in run.manifest["shots"]]
        video.person_count = Person.objects.filter(video=video, merged_into=None).count()
        video.save(update_fields=["run", "shots", "person_count"])
        ledger.record(video=video, user=user, id=uuid.uuid4(), kind="run.accept", changes=changes)
        return run


def _write_plan(video: Video, run: Run, ids: Mapping[str, UUID]) -> list[Change]:
    report = run.report
    wanted = report.get("numbers", {})
    keys = {t[3] for t in report["tracklets"] if t[3].startswith("new-")}
    known = {str(p.id): p for p in Person.objects.filter(video=video)}
    people = dict(known)
    for key in sorted(keys, key=lambda k: (wanted.get(k, 0), int(k[4:]))):
        # a number that was ever given, even to somebody who is gone, is not given again
        number = max(video.next_person, wanted.get(key, 0))
        people[key] = Person(id=ids.get(key) or uuid.uuid4(), video=video, number=number)
        video.next_person = number + 1
    fresh = [people[key] for key in keys]
    Person.objects.bulk_create(fresh)
    video.save(update_fields=["next_person"])
    Tracklet.objects.bulk_create(
        Tracklet(run=run, track=track, start=start, end=end, person=people[key], human=human)
        for track, start, end, key, human in report["tracklets"]
    )
    _write_identity(video, report["identity"], people)
    return [("person", str(p.id), None, rows.person_row(p)) for p in fresh]


def _write_identity(video: Video, pairs: list[list[Any]], people: dict[str, Person]) -> None:
    """Keep what was asked or decided before; add what is new."""
    wanted = []
    for first, second, similarity in pairs:
        low, high = sorted((people[first], people[second]), key=lambda p: p.number)
        if low.id != high.id:
            wanted.append(IdentityProposal(video=video, first=low, second=high, similarity=similarity))
    IdentityProposal.objects.bulk_create(wanted, ignore_conflicts=True)


def request_acceptance(*, run: Run, user: User) -> Job:
    """Queue the acceptance of a layer: compare again if needed, switch, derive events.

    Asked again while that job waits or runs, the answer is the same job.
    """
    if run.state != Run.State.LAYER:
        raise Refused("Only a run that waits can be accepted.", "run")
    with transaction.atomic():
        video = Video.objects.select_for_update(no_key=True).get(id=run.video_id)
        under_way = Job.objects.filter(video=video, kind="accept", parameters__run=str(run.id), state__in=jobs.LIVE)
        return under_way.first() or jobs.create(
            project=run.video.project,
            kind="accept",
            queue="cpu",
            video=video,
            parameters={"run": str(run.id)},
            user=user,
        )


def discard_run(*, run: Run) -> None:
    """Remove a layer nobody accepted, with its files; an acceptance that waits is cancelled."""
    with transaction.atomic():
        Video.objects.select_for_update(no_key=True).get(id=run.video_id)
        row = Run.objects.select_for_update().filter(id=run.id).first()
        if row is None or row.state != Run.State.LAYER:
            raise Refused("Only a run that waits can be discarded.", "run")
        accepting = Job.objects.filter(video=row.video, kind="accept", parameters__run=str(row.id))
        if accepting.filter(state=Job.State.RUNNING).exists():
            raise Refused("This run is being accepted.", "run")
        for job in accepting.filter(state=Job.State.QUEUED):
            jobs.cancel(job=job, user=None)
        folder = row.folder
        row.delete()
        transaction.on_commit(lambda: storage.delete_tree(folder))
