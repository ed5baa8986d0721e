from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from rich.console import Console

from webapp.library.models import Video
from webapp.library.services import Refused
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.lookup import find_video
from webapp.studio.output import write_json
from webapp.studio.report import report, show
from webapp.tracks.models import Run
from webapp.tracks.services import request_perception


class Command(StudioCommand):
    help = "Run perception on imported videos."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("video", nargs="+", help="Id, sha256, file or name of an imported video.")
        parser.add_argument("--project", help="Look for the video in this project only.")
        parser.add_argument("--profile", default="embedded", help="Perception profile (default: embedded).")
        parser.add_argument("--rate", type=float, default=2.0, help="Gaze samples per second (default: 2).")
        parser.add_argument("--json", metavar="FILE", help="Write the figures; - is the screen.")

    def work(self, **options: Any) -> int:
        results, worst = [], 0
        with studio(self.data, "perceive", ("gpu",)) as look_after:
            for word in options["video"]:
                try:
                    video = find_video(word, options["project"])
                    run = perceive_one(video, options["profile"], options["rate"], self.screen, look_after)
                    results.append(report(run))
                    show(results[-1], self.screen)
                    if run.state == Run.State.LAYER:
                        self.screen.print("People have edited this video: the new run waits for somebody to accept it.")
                except (StudioError, Refused) as error:
                    self.screen.print(f"{word}: {error}", style="red")
                    results.append({"video": word, "error": str(error)})
                    worst = max(worst, getattr(error, "code", 2))
        if options["json"]:
            write_json(options["json"], results, several=len(options["video"]) > 1)
        return worst


def perceive_one(video: Video, profile: str, rate: float, screen: Console, look_after: Callable[[], None]) -> Run:
    """Run perception and wait for it. Raises StudioError or Refused."""
    job = follow(request_perception(video=video, user=None, profile=profile, rate=rate).id, screen, look_after)
    return Run.objects.select_related("video", "job").get(id=job.result["run"])
