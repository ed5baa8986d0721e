from __future__ import annotations

import shutil
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ml.formats import frontmatter
from ml.formats.errors import FormatError
from webapp.library.models import Project
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.output import check_new_folder, write_json

if TYPE_CHECKING:
    from webapp.runs.models import DatasetSnapshot, TrainingRun


class Command(StudioCommand):
    help = "Train a model on a snapshot of a project, and wait for it; or write the run as a folder for a cluster."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="Slug of the project.")
        parser.add_argument(
            "--snapshot", type=int, metavar="NUMBER", help="Snapshot to train on (default: the newest)."
        )
        parser.add_argument("--model", default="", metavar="NAME", help="Start model, by the name of its folder.")
        parser.add_argument("--parent", type=int, metavar="NUMBER", help="Start from the final model of this run.")
        parser.add_argument("--stage", choices=("sft", "grpo"), default="grpo", help="Default: grpo.")
        parser.add_argument("--preset", default="tiny-cpu", help="Settings to begin with (default: tiny-cpu).")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="One setting that differs; repeatable."
        )
        parser.add_argument("--name", default="", help="What the run is called.")
        parser.add_argument("--export", type=Path, metavar="DIR", help="Write the run to a new folder instead.")
        parser.add_argument("--json", metavar="FILE", help="Write what came of it; - is the screen.")

    def work(self, **options: Any) -> int:
        if options["export"]:
            check_new_folder(options["export"].absolute())
        with studio(self.data, "train", ("cpu", "train")) as look_after:
            project = Project.objects.filter(slug=options["project"]).first()
            if project is None:
                raise StudioError(f"There is no project {options['project']!r}.")
            run = self.draft(project, options, look_after)
            if options["export"]:
                self.export(run, options["export"].absolute())
            else:
                run = self.train(run, look_after)
            found = told(run)
        if options["json"]:
            write_json(options["json"], [found], several=False)
        return 0

    def draft(self, project: Project, options: dict[str, Any], look_after: Callable[[], None]) -> TrainingRun:
        """The run as a draft after its preflight, whose sentences are printed."""
        from webapp.runs import services
        from webapp.runs.models import TrainingRun

        parent = None
        if options["parent"] is not None:
            parent = TrainingRun.objects.filter(project=project, number=options["parent"]).first()
            if parent is None:
                raise StudioError(f"{project.name} has no run {options['parent']}.")
        run = services.create_run(
            project=project,
            user=None,
            stage=options["stage"],
            snapshot=snapshot_of(project, options["snapshot"]),
            preset=options["preset"],
            base_model=options["model"],
            parent=parent,
            overrides=settings_of(options["set"]),
            name=options["name"],
        )
        follow(run.preflight["job"], self.screen, look_after)
        run.refresh_from_db()
        for style, name in ((None, "sentences"), ("yellow", "warnings"), ("red", "errors")):
            for sentence in run.preflight.get(name, []):
                self.screen.print(sentence, style=style)
        return run

    def train(self, run: TrainingRun, look_after: Callable[[], None]) -> TrainingRun:
        from webapp.runs import services

        started = services.start(run=run, user=None, version=run.version)
        assert started.job is not None
        self.screen.print(f"Run {run.number}: {run.name}. Ctrl-C ends it at once, back at its last checkpoint.")
        follow(started.job.id, self.screen, look_after)
        run.refresh_from_db()
        self.screen.print(f"Run {run.number} is {run.state} at step {run.step} of {run.max_steps}.")
        return run

    def export(self, run: TrainingRun, out: Path) -> None:
        """Write the run as a cluster takes it."""
        from webapp.runs import exporting

        part = out.with_name(f".{out.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        try:
            top = exporting.write_folder(exporting.for_cluster(run), part)
            if out.exists():
                out.rmdir()
            top.replace(out)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        self.screen.print(f"Run {run.number} is in {out}; README.txt says how it is trained and brought back.")


def snapshot_of(project: Project, number: int | None) -> DatasetSnapshot:
    """The snapshot with this number, else the newest that is ready. Raises StudioError."""
    from webapp.runs.models import DatasetSnapshot

    rows = DatasetSnapshot.objects.filter(project=project)
    rows = (
        rows.filter(state=DatasetSnapshot.State.READY, withdrawn=False)
        if number is None
        else rows.filter(number=number)
    )
    found = rows.order_by("-number").first()
    if found is None:
        which = "snapshot that is ready; `manage.py snapshot` makes one" if number is None else f"snapshot {number}"
        raise StudioError(f"{project.name} has no {which}.")
    return found


def settings_of(words: list[str]) -> dict[str, Any]:
    """Setting -> value of NAME=VALUE words. Raises StudioError."""
    found = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise StudioError(f"--set takes NAME=VALUE, such as train.seed=3, not {word!r}.")
        try:
            found[name.strip()] = frontmatter.load(text)
        except FormatError as error:
            raise StudioError(f"The value of {name.strip()} cannot be read: {error}") from error
    return found


def told(run: TrainingRun) -> dict[str, Any]:
    from webapp.runs import queries

    row = queries.run_row(run, "admin")
    names = (
        "number",
        "name",
        "stage",
        "state",
        "sentence",
        "step",
        "max_steps",
        "attempt",
        "snapshot",
        "model",
        "preset",
    )
    last = {name: row[name] for name in queries.LAST}
    return {"project": run.project.slug, "run": str(run.id)} | {name: row[name] for name in names} | last
