from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ml.formats.errors import FormatError
from webapp.lib.errors import Refused
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import BAD_INPUT, StudioError
from webapp.studio.lookup import find_video
from webapp.studio.output import write_json


class Command(StudioCommand):
    help = "Bring GRASP gestures files (JSON) into a video, as proposals that wait for somebody's word."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", nargs="+", type=Path, help="Gestures files.")
        parser.add_argument("--video", required=True, help="Id, sha256, file or name of the video they are of.")
        parser.add_argument("--project", help="Look for the video in this project only.")
        parser.add_argument("--json", metavar="FILE", help="Write what was done; - is the screen.")

    def work(self, **options: Any) -> int:
        from webapp.exchange import grasp_gestures

        results, worst = [], 0
        with studio(self.data, "import-gestures"):
            video = find_video(options["video"], options["project"])
            for path in options["file"]:
                try:
                    if not path.is_file():
                        raise StudioError(f"There is no file {path}.")
                    done = grasp_gestures.import_file(path=path, video=video, user=None)
                except (StudioError, Refused, FormatError) as error:
                    self.screen.print(str(error) if str(path) in str(error) else f"{path}: {error}", style="red")
                    results.append({"path": str(path), "error": str(error)})
                    worst = BAD_INPUT
                    continue
                results.append({"path": str(path), "video": str(video.id), **asdict(done)})
                self.screen.print(
                    f"{path}: {done.gestures} gestures; {done.added} added, {done.changed} changed, {done.removed} "
                    f"removed, {done.known} that people spoke of already, {done.trimmed} trimmed at a cut"
                )
        if options["json"]:
            write_json(options["json"], results, several=len(options["file"]) > 1)
        return worst
