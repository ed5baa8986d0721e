from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from webapp.studio.command import StudioCommand
from webapp.studio.running import run_studio


class Command(StudioCommand):
    help = "Start the studio of a data folder and keep it up until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--port", type=int, help="Port on 127.0.0.1 (default: the first free one from 8420).")

    def work(self, **options: Any) -> int:
        with run_studio(self.data, "up", options["port"], self.screen) as studio:
            studio.greet()
            studio.stay()
        return 0
