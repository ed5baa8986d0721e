from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.lookup import find_video
from webapp.studio.output import check_target, write_json

FORMATS = ("grasp-events", "grasp-gestures", "grasp-graph", "graphml")


class Command(StudioCommand):
    help = "Write the events, gestures or social graph of a video to a file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("video", help="Id, sha256, file or name of an imported video.")
        parser.add_argument("--project", help="Look for the video in this project only.")
        parser.add_argument("--format", required=True, choices=FORMATS)
        parser.add_argument("--out", required=True, metavar="FILE")
        parser.add_argument("--confirmed", action="store_true", help="Only what people confirmed.")
        parser.add_argument(
            "--preset",
            choices=("strict", "grasp-compat"),
            default="strict",
            help="Links of the graph (default: strict).",
        )
        parser.add_argument("--json", metavar="FILE", help="Write what was done; - is the screen.")

    def work(self, **options: Any) -> int:
        from webapp.exchange.grasp_export import Export

        if options["out"] == "-":
            raise StudioError("--out is a file; the screen takes what --json says.")
        check_target(options["out"])
        out = Path(options["out"])
        with studio(self.data, "export"):
            video = find_video(options["video"], options["project"])
            export = Export(video, confirmed=options["confirmed"], preset=options["preset"])
            count = export.write(options["format"], out)
        self.screen.print(f"{count} event{'' if count == 1 else 's'} of {video.name} written to {out}")
        if options["json"]:
            done = {"video": str(video.id), "format": options["format"], "events": count, "out": str(out)}
            write_json(options["json"], [done], several=False)
        return 0
