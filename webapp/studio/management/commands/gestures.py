from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from webapp.events.gesturing import DETECTORS, request_gestures
from webapp.events.models import Event
from webapp.jobs.models import Job
from webapp.library.models import Video
from webapp.library.services import Refused
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.lookup import find_video
from webapp.studio.output import write_json


class Command(StudioCommand):
    help = "Look for gestures in videos whose people are known (run perceive first)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("video", nargs="+", help="Id, sha256, file or name of an imported video.")
        parser.add_argument("--project", help="Look for the video in this project only.")
        parser.add_argument("--detector", default="rules", help=f"One of {', '.join(DETECTORS)} (default: rules).")
        parser.add_argument("--json", metavar="FILE", help="Write the figures; - is the screen.")

    def work(self, **options: Any) -> int:
        results, worst = [], 0
        with studio(self.data, "gestures", ("gpu",)) as look_after:
            for word in options["video"]:
                try:
                    video = find_video(word, options["project"])
                    found = outcome(video, find(video, options["detector"], self.screen, look_after))
                    results.append(found)
                    show(found, self.screen)
                except (StudioError, Refused) as error:
                    self.screen.print(f"{word}: {error}", style="red")
                    results.append({"video": word, "error": str(error)})
                    worst = max(worst, getattr(error, "code", 2))
        if options["json"]:
            write_json(options["json"], results, several=len(options["video"]) > 1)
        return worst


def find(video: Video, detector: str, screen: Console, look_after: Callable[[], None]) -> Job:
    """Look for gestures and wait for it. Raises StudioError or Refused."""
    return follow(request_gestures(video=video, user=None, detector=detector).id, screen, look_after)


def outcome(video: Video, job: Job) -> dict[str, Any]:
    """The keys of `--json`: gestures by type (rejected ones left out), what changed, `seconds` (of the processor, or of
    waiting for a model) by stage, and what was spent."""
    found = Event.objects.filter(video=video, set__kind__in=["proposal", "working"], modality="gesture")
    types = found.exclude(status="rejected").values_list("type", flat=True)
    detector = job.result["detector"]
    return {
        "video": str(video.id),
        "detector": f"{detector['name']} {detector['version']}",
        "gestures": dict(sorted(Counter(types).items())),
        **{name: job.result[name] for name in ("counts", "notes", "peak_rss_mb")},
        **{name: dict(sorted(job.result[name].items())) for name in ("seconds", "spent")},
        "realtime_factor": round(video.duration_s / sum(wall), 3) if (wall := [s for _, s in job.stages]) else None,
    }


def show(found: dict[str, Any], screen: Console) -> None:
    """The outcome as lines and a table."""
    told = ", ".join(f"{count} {word}" for word, count in found["counts"].items() if count) or "nothing new"
    screen.print(f"{sum(found['gestures'].values())} gestures by {found['detector']}: {told}")
    times = Table("stage", "seconds", title="Cost", title_justify="left")
    for stage, seconds in found["seconds"].items():
        times.add_row(stage, f"{seconds:.1f}")
    screen.print(times)
    for note in found["notes"]:
        screen.print(note)
