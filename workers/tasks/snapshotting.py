"""Building a dataset snapshot: items of releases and accepted questions, split, checked for leaks, with their clips.

It is built beside the job and moved to its place as a whole, before its rows are written: a crash leaves no half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from celery import Task

from ml.formats.hashing import digest
from webapp.bench import freezing, releases
from webapp.bench.models import Release
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.runs import folders, recording
from webapp.runs.models import DatasetSnapshot
from webapp.runs.recording import Origin
from workers.attempt import Attempt, run

if TYPE_CHECKING:
    from ml.training.rows import TrainingRow

RETIRED, WITHDRAWN = "retired since it was released", "withdrawn since it was released"


@app.task(name="sightline.snapshot", bind=True)
def make_snapshot(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    from ml.training import snapshot as building
    from ml.training.rows import build_row, stream

    wanted = DatasetSnapshot.objects.select_related("project").filter(id=attempt.job.parameters["snapshot"]).first()
    if wanted is None:
        raise Refused("This snapshot was deleted meanwhile.", "snapshot")
    attempt.progress("gather", 0.0)
    recording.begin_snapshot(snapshot_id=wanted.id)
    gathered = Gathered()
    for release in chosen(wanted):
        gathered.add_release(release)
    if wanted.sources.get("questions"):
        gathered.add_questions(wanted, attempt)
    out = attempt.folder / "snapshot"
    folders.remove(out)  # of an attempt that was killed
    with Clips(gathered.recipes) as clips:
        facts = building.build(
            gathered.rows,
            clips.path,
            out,
            name=wanted.name,
            validation_share=wanted.validation_share,
            seed=wanted.seed,
            created_from=gathered.made_of,
            left_out=gathered.left_out,
            progress=attempt.progress,
        )
    rows = [build_row(row) for row in stream(out)]
    target = folders.snapshot(wanted.id)
    attempt.progress("store", 0.0)
    folders.remove(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    out.replace(target)

    def hold() -> None:
        recording.hold_videos(ids={gathered.origins[row["id"]].video for row in rows})

    def ending() -> None:
        recording.keep_snapshot(snapshot_id=wanted.id, facts=facts, rows=rows, origins=gathered.origins)

    attempt.finish({"snapshot": wanted.number, "hash": facts["hash"], "counts": facts["counts"]}, hold, ending)


def chosen(wanted: DatasetSnapshot) -> list[Release]:
    """The releases it is made of, oldest first."""
    ids = wanted.sources.get("releases", [])
    found = list(Release.objects.filter(project=wanted.project, id__in=ids).order_by("number"))
    if len(found) < len(ids):
        raise Refused("A release of this snapshot is gone.", "releases")
    return found


class Gathered:
    """Rows with where each is from, which clip it needs, and what was left out."""

    def __init__(self) -> None:
        self.rows: list[TrainingRow] = []
        self.origins: dict[str, Origin] = {}
        self.recipes: dict[str, str] = {}  # sha256 of a clip -> its folder's name
        self.made_of: list[dict[str, Any]] = []
        self.left_out: Counter[str] = Counter()

    def add_release(self, release: Release) -> None:
        for one in release.items.order_by("position").iterator():
            if releases.is_gone(one):
                self.left_out[WITHDRAWN] += 1
            elif one.retired is not None:
                self.left_out[RETIRED] += 1
            else:
                self.add(one.item, one.sha256, release, one.split)
        project = release.project.slug
        self.made_of.append({"release": {"project": project, "number": release.number, "hash": release.sha256}})

    def add_questions(self, wanted: DatasetSnapshot, attempt: Attempt) -> None:
        """The accepted questions as the next release would have them."""
        project = wanted.project
        found = list(releases.releasable(project))
        if not found:
            return
        last = Release.objects.filter(project=project).order_by("-number").first()
        earlier = last.items.exclude(question=None) if last else []
        kept = {
            (one.question_id, one.question_version): one.item
            for one in earlier
            if one.question_id and not releases.is_gone(one)
        }
        items = freezing.freeze(project, found, kept, progress=lambda share: attempt.progress("gather", share))
        for item in items:
            self.add(item, digest(item), None, None)
        self.made_of.append({"project": project.slug, "items": len(items)})
        self.left_out.update({f"accepted, but {why}": n for why, n in releases.left_out(project).items() if n})

    def add(self, item: Mapping[str, Any], sha256: str, release: Release | None, split: str | None) -> None:
        from ml.training.sources import row_of

        row = row_of(item, sha256=sha256, release=release.number if release else None, release_split=split)
        told = item["provenance"]
        self.rows.append(row)
        self.recipes[row.clip.sha256] = item["clip"]["recipe"]
        origin = Origin(UUID(told["question"]), told["version"], UUID(told["video"]), release.id if release else None)
        self.origins.setdefault(sha256, origin)


class Clips:
    """The stored clips as files, one after another: from an object store each is there until the next is asked for."""

    def __init__(self, recipes: Mapping[str, str]) -> None:
        self.recipes = recipes
        self._open = ExitStack()

    def __enter__(self) -> Clips:
        return self

    def __exit__(self, *_: Any) -> None:
        self._open.close()

    def path(self, sha256: str) -> Path:
        self._open.close()
        return self._open.enter_context(storage.local(f"clips/{self.recipes[sha256]}/clip.mp4"))


def tidy(job: Job | None, folder: Path) -> None:
    """Of a snapshot that did not come to be nothing is left."""
    if job is not None and not is_made(job.parameters["snapshot"]):
        folders.remove(folders.snapshot(job.parameters["snapshot"]))


def is_made(id: str) -> bool:
    return DatasetSnapshot.objects.filter(id=id, state=DatasetSnapshot.State.READY).exists()
