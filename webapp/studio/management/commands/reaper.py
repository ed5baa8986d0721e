from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from webapp.studio.attach import orderly_signals
from webapp.studio.command import StudioCommand
from webapp.studio.launcher import REAP_S, reap


class Command(StudioCommand):
    help = "Queue the jobs of dead workers again, for ever. `up` does this itself; other set-ups run it once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--once", action="store_true", help="One round, then exit.")

    def work(self, **options: Any) -> int:
        with orderly_signals():
            well = reap()
            while not options["once"]:
                time.sleep(REAP_S)
                reap()
        return 0 if well else 2
