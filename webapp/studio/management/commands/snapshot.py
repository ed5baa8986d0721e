from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from webapp.bench.models import Release
from webapp.library.models import Project
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.output import write_json


class Command(StudioCommand):
    help = "Make a dataset snapshot of a project's releases, or of its accepted questions, to train on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="Slug of the project.")
        parser.add_argument(
            "--release", type=int, action="append", default=[], metavar="NUMBER",
            help="A release to take the items of; may be given several times (default: the newest).",
        )  # fmt: skip
        parser.add_argument("--questions", action="store_true", help="Take the accepted questions as they are now.")
        parser.add_argument("--name", default="", help="What it is called.")
        parser.add_argument("--validation-share", type=float, default=0.1, help="Share that validates (default: 0.1).")
        parser.add_argument("--seed", type=int, default=0, help="Draws the recordings that validate.")
        parser.add_argument("--json", metavar="FILE", help="Write what it holds; - is the screen.")

    def work(self, **options: Any) -> int:
        from webapp.runs import services
        from webapp.runs.models import DatasetSnapshot

        with studio(self.data, "snapshot", ("cpu",)) as look_after:
            project = Project.objects.filter(slug=options["project"]).first()
            if project is None:
                raise StudioError(f"There is no project {options['project']!r}.")
            made = services.create_snapshot(
                project=project,
                user=None,
                releases=self.releases(project, options),
                questions=options["questions"],
                name=options["name"],
                validation_share=options["validation_share"],
                seed=options["seed"],
            )
            assert made.job is not None
            follow(made.job.id, self.screen, look_after)
            found = DatasetSnapshot.objects.get(id=made.id)
        counts = found.facts["counts"]
        self.screen.print(
            f"Snapshot {found.number}: {counts['train']['items']} items to train on, "
            f"{counts['validation']['items']} to validate"
        )
        for sentence in found.facts["leaks"]:
            self.screen.print(sentence, style="yellow")
        if options["json"]:
            about = {"project": project.slug, "number": found.number}
            write_json(options["json"], [about | found.facts], several=False)
        return 0

    def releases(self, project: Project, options: dict[str, Any]) -> list[Release]:
        """The releases that are named; the newest where nothing is."""
        found = Release.objects.filter(project=project).order_by("number")
        if not options["release"]:
            newest = found.last()
            if newest is None and not options["questions"]:
                raise StudioError(f"{project.name} has no release; cut one, or give --questions.")
            return [newest] if newest is not None and not options["questions"] else []
        chosen = list(found.filter(number__in=options["release"]))
        missing = set(options["release"]) - {release.number for release in chosen}
        if missing:
            raise StudioError(f"{project.name} has no release {min(missing)}.")
        return chosen
