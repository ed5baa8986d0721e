from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from rich.console import Console

from webapp.jobs.models import Job
from webapp.library.models import Video
from webapp.library.services import Refused
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.lookup import find_video
from webapp.studio.output import write_json
from webapp.tracks.masking import request_masks


class Command(StudioCommand):
    help = "Make masks of the people in videos whose people are known (run perceive first). Masks are approximate."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("video", nargs="+", help="Id, sha256, file or name of an imported video.")
        parser.add_argument("--project", help="Look for the video in this project only.")
        parser.add_argument("--json", metavar="FILE", help="Write the figures; - is the screen.")

    def work(self, **options: Any) -> int:
        results, worst = [], 0
        with studio(self.data, "masks", ("gpu",)) as look_after:
            for word in options["video"]:
                try:
                    video = find_video(word, options["project"])
                    found = outcome(video, make(video, self.screen, look_after))
                    results.append(found)
                    show(found, self.screen)
                except (StudioError, Refused) as error:
                    self.screen.print(f"{word}: {error}", style="red")
                    results.append({"video": word, "error": str(error)})
                    worst = max(worst, getattr(error, "code", 2))
        if options["json"]:
            write_json(options["json"], results, several=len(options["video"]) > 1)
        return worst


def make(video: Video, screen: Console, look_after: Callable[[], None]) -> Job:
    """Make masks and wait for it. Raises StudioError or Refused."""
    return follow(request_masks(video=video, user=None).id, screen, look_after)


def outcome(video: Video, job: Job) -> dict[str, Any]:
    """The keys of `--json`: counts of frames, masks and persons, `seconds` of the processor."""
    masker = job.result["masker"]
    return {
        "video": str(video.id),
        "masker": f"{masker['name']} {masker['version']}",
        **{name: job.result[name] for name in ("counts", "seconds", "notes", "peak_rss_mb")},
        "realtime_factor": round(video.duration_s / sum(wall), 3) if (wall := [s for _, s in job.stages]) else None,
    }


def show(found: dict[str, Any], screen: Console) -> None:
    """The outcome as lines."""
    counts = found["counts"]
    screen.print(f"{counts['masks']} masks on {counts['frames']} frames by {found['masker']} (approximate)")
    screen.print(f"{found['seconds']['masks']:.1f} s of the processor, {found['realtime_factor']} x real time")
    for note in found["notes"]:
        screen.print(note)
