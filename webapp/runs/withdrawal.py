"""What goes with a video that is withdrawn or deleted: its rows in snapshots, its clips, and every rollout about it.

Snapshots, the runs made with them, runs that began with these runs' models, their checkpoints and evaluations are
flagged: what a model learned cannot be taken out of its weights. A run that is training on the video is ended at once.
Files lie outside the store and are erased once the transaction is committed; the studio's start does it again where
that was cut short.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Video
from webapp.runs import folders
from webapp.runs.models import Checkpoint, DatasetSnapshot, Evaluation, Rollout, SnapshotItem, TrainingRun

log = logging.getLogger(__name__)

FORGOTTEN = "The reason was erased with a video that was withdrawn or deleted."


def scrub(video: Video) -> list[str]:
    """Scrub what training has of a video that is about to be erased; its row is locked. No folder of the store."""
    items = SnapshotItem.objects.filter(video=video)
    snapshots = set(items.values_list("snapshot", flat=True))
    if not snapshots:
        return []
    _end_jobs(snapshots)
    list(DatasetSnapshot.objects.select_for_update().filter(id__in=snapshots).order_by("id").values_list("id"))
    hashes = list(items.values_list("item_hash", flat=True))
    for snapshot in DatasetSnapshot.objects.filter(id__in=snapshots):
        _forget_names(snapshot, video)
    items.update(row={}, withdrawn=True)
    DatasetSnapshot.objects.filter(id__in=snapshots).update(withdrawn=True)
    runs = _descended(snapshots)
    list(TrainingRun.objects.select_for_update().filter(id__in=runs).order_by("id").values_list("id"))
    TrainingRun.objects.filter(id__in=runs).update(withdrawn=True, version=F("version") + 1)
    direct = TrainingRun.objects.filter(snapshot__in=snapshots)
    # a training process may quote what it reads, and a preflight repeats what leaks
    direct.update(log="", preflight={"state": "failed", "error": "A video of its snapshot was withdrawn or deleted."})
    _forget_words(direct)
    Rollout.objects.filter(run__in=direct, item_hash__in=hashes).delete()
    Checkpoint.objects.filter(run__in=runs).update(withdrawn=True)
    Evaluation.objects.filter(run__in=runs).update(withdrawn=True)
    transaction.on_commit(lambda: erase(snapshots))
    return []


def _forget_names(snapshot: DatasetSnapshot, video: Video) -> None:
    """Take the names of the video and of its recording, where no other video is of that, out of what is told of the
    snapshot: lists of recordings, and sentences of leaks that say them."""
    its, others = snapshot.items.filter(video=video), snapshot.items.exclude(video=video)
    recordings = set(its.values_list("row__recording", flat=True)) - set(
        others.values_list("row__recording", flat=True)
    )
    names = {str(name) for name in recordings | {video.name} if name}
    facts = snapshot.facts
    for split, known in facts.get("recordings", {}).items():
        facts["recordings"][split] = [name for name in known if name not in names]
    facts["leaks"] = [told for told in facts.get("leaks", []) if not any(f"“{name}”" in told for name in names)]
    snapshot.save(update_fields=["facts"])


def _forget_words(runs: QuerySet[TrainingRun]) -> None:
    """Take the words of these runs' jobs away: a log or an error may quote a row."""
    ids = [str(id) for id in runs.values_list("id", flat=True)]
    about = Job.objects.filter(kind__in=("train", "preflight"), parameters__run__in=ids)
    about.update(log="")
    about.exclude(error="").update(error=FORGOTTEN)


def _end_jobs(snapshots: set[UUID]) -> None:
    """End the jobs that read these snapshots. Jobs are locked before snapshots and runs."""
    rows = TrainingRun.objects.filter(snapshot__in=snapshots, job__state__in=jobs.LIVE)
    ids = {*rows.values_list("job", flat=True)}
    for job in Job.objects.filter(id__in=ids).order_by("id"):
        try:
            jobs.cancel(job=job, user=None)
        except jobs.JobError:  # over by now
            continue


def _descended(snapshots: set[UUID]) -> set[UUID]:
    """Runs on these snapshots, and all that began with the weights of one of them."""
    found: set[UUID] = set()
    fresh = set(TrainingRun.objects.filter(snapshot__in=snapshots).values_list("id", flat=True))
    while fresh:
        found |= fresh
        fresh = set(TrainingRun.objects.filter(parent__in=fresh).values_list("id", flat=True)) - found
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Files


def erase(snapshots: Iterable[UUID]) -> None:
    """Erase the files' part of what is withdrawn in these snapshots: rows, clips, and rollouts of the runs on them."""
    for snapshot in DatasetSnapshot.objects.filter(id__in=list(snapshots)):
        gone = set(snapshot.items.filter(withdrawn=True).values_list("item_hash", flat=True))
        try:
            erase_rows(folders.snapshot(snapshot.id), gone)
            erase_names(folders.snapshot(snapshot.id), snapshot.facts)
            for run in snapshot.runs.values_list("id", flat=True):
                erase_rollouts(folders.run(run), gone)
        except OSError:
            log.exception("Files of %s could not be erased; the next start of the studio tries again.", snapshot)


def erase_rows(folder: Path, gone: set[str]) -> None:
    """Rewrite rows.jsonl of a snapshot without these rows, and remove the clips that no row needs any more."""
    rows = folder / "rows.jsonl"
    if not rows.exists():
        return
    folders.drop_lines(rows, gone, "id")
    needed = set(folders.values_of(rows, "clip", "file"))
    for clip in (folder / "clips").glob("*"):
        if f"clips/{clip.name}" not in needed:
            clip.unlink()


def erase_names(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write snapshot.json as the database tells it now."""
    if (folder / "snapshot.json").exists():
        folders.write(folder / "snapshot.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def erase_rollouts(folder: Path, gone: set[str]) -> None:
    """Of a run: its rollouts about these rows, frames it decoded, and the log, which may quote rows."""
    folders.drop_lines(folder / "rollouts.jsonl", gone, "row")
    folders.remove(folder / "frames")
    (folder / "log.txt").unlink(missing_ok=True)


def sweep() -> None:
    """Remove folders that no row speaks of, and what a withdrawal cut short left. While no worker runs."""
    for kind, table in (("snapshots", DatasetSnapshot), ("runs", TrainingRun), ("evaluations", Evaluation)):
        place = Path(settings.DATA) / kind
        names = {folder.name: folder for folder in place.glob("*-*-*-*-*")} if place.is_dir() else {}
        known = {str(id) for id in table.objects.filter(id__in=names).values_list("id", flat=True)}
        for name in names.keys() - known:
            folders.remove(names[name])
    erase(DatasetSnapshot.objects.filter(withdrawn=True).values_list("id", flat=True))
