from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from webapp.bench.requests import request_generation
from webapp.library.models import Project, Video
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.lookup import find_video
from webapp.studio.output import write_json


class Command(StudioCommand):
    help = "Make questions from the confirmed events of videos, as the bench page does."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("video", nargs="*", help="Id, sha256, file or name of an imported video.")
        parser.add_argument("--project", help="Every video of this project; with videos, look for them there only.")
        parser.add_argument(
            "--category", action="append", default=[], metavar="SLUG", help="Only this one; repeatable."
        )
        parser.add_argument("--most", type=int, metavar="N", help="At most so many of each video.")
        parser.add_argument("--seed", type=int, default=0, help="The same seed gives the same questions (default: 0).")
        parser.add_argument("--json", metavar="FILE", help="Write the counts; - is the screen.")

    def work(self, **options: Any) -> int:
        wanted = {"categories": options["category"], "most": options["most"], "seed": options["seed"]}
        results = []
        with studio(self.data, "questions", ("cpu",)) as look_after:
            for project, video in _places(options):
                job = request_generation(project=project, user=None, video=video, **wanted)
                counts = follow(job.id, self.screen, look_after).result
                name = video.name if video else project.name
                self.screen.print(
                    f"{name}: {counts['questions']} new questions of {counts['drafts']} that can be asked."
                )
                results.append({"project": project.slug, "video": str(video.id) if video else None, **counts})
        if options["json"]:
            write_json(options["json"], results, several=len(results) > 1)
        return 0


def _places(options: dict[str, Any]) -> list[tuple[Project, Video | None]]:
    """Raises StudioError or Refused when it is not said where, or not known."""
    if options["video"]:
        videos = [find_video(word, options["project"]) for word in options["video"]]
        return [(video.project, video) for video in videos]
    if not options["project"]:
        raise StudioError("Say which: a video, or --project NAME.")
    project = Project.objects.filter(slug=options["project"]).first()
    if project is None:
        raise StudioError(f"There is no project {options['project']!r}.")
    return [(project, None)]
