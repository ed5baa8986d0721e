from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from webapp.bench.models import Release
from webapp.library.models import Project
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.output import check_new_folder, write_json


class Command(StudioCommand):
    help = "Cut a release of a project's accepted questions and write it to a folder; or write one that is there."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="Slug of the project.")
        parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="New folder for the release.")
        parser.add_argument("--number", type=int, help="Write this release again instead of cutting one.")
        parser.add_argument("--notes", default="", help="What changed and why, for whoever uses it.")
        parser.add_argument(
            "--names", action="store_true", help="Name raters in the provenance (pseudonyms otherwise)."
        )
        parser.add_argument(
            "--splits",
            default="test=1",
            metavar="NAME=SHARE,..",
            help="Splits by source recording, such as test=8,validation=2 (default: all of it is test).",
        )
        parser.add_argument("--no-clips", action="store_true", help="Write everything but the clips.")
        parser.add_argument("--json", metavar="FILE", help="Write what was released; - is the screen.")

    def work(self, **options: Any) -> int:
        from webapp.exchange import release_folder

        out: Path = options["out"].absolute()
        check_new_folder(out)
        with studio(self.data, "release", ("cpu",)) as look_after:
            project = Project.objects.filter(slug=options["project"]).first()
            if project is None:
                raise StudioError(f"There is no project {options['project']!r}.")
            release, new = self.find(project, options, look_after)
            content = release_folder.content_of(release)
            out.parent.mkdir(parents=True, exist_ok=True)
            paths = release_folder.write_folder(content, out, clips=not options["no_clips"])
            facts = {"project": project.slug, "number": release.number, "sha256": release.sha256, "new": new}
            counts = {
                "items": len(content.entries),
                "withdrawn": len(content.withdrawn),
                "retired": len(content.retired),
            }
        word = "Release" if new else "Nothing changed since release" if options["number"] is None else "Release"
        self.screen.print(f"{word} {release.number}: {counts['items']} items, {len(paths)} files in {out}")
        if options["json"]:
            write_json(
                options["json"], [facts | counts | {"out": str(out), "lint": release.facts["lint"]}], several=False
            )
        return 0

    def find(self, project: Project, options: dict[str, Any], look_after: Callable[[], None]) -> tuple[Release, bool]:
        """The release to write, and whether it was just cut."""
        from webapp.bench import releases

        if options["number"] is not None:
            found = Release.objects.filter(project=project, number=options["number"]).first()
            if found is None:
                raise StudioError(f"{project.name} has no release {options['number']}.")
            return found, False
        job = releases.cut(
            project=project,
            user=None,
            notes=options["notes"],
            names=options["names"],
            shares=shares_of(options["splits"]),
            or_last=True,
        )
        result = follow(job.id, self.screen, look_after).result
        return Release.objects.get(id=result["release"]), bool(result["new"])


def shares_of(text: str) -> dict[str, float]:
    """Split name -> share from NAME=SHARE,.. Raises StudioError."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if name in found:
            raise StudioError(f"--splits names {name!r} twice.")
        try:
            found[name] = float(share or 1)
        except ValueError:
            raise StudioError(f"--splits takes NAME=SHARE,.. such as test=8,validation=2, not {part!r}.") from None
    return found
