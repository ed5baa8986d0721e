from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

from webapp.studio.command import StudioCommand


class Command(StudioCommand):
    help = "Check a grounder with its weights on the demo clip. Exit code 0 passed, 1 not passed, 2, 3 no weights."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("backend", help="sam3, sam3-official or embedded.")
        parser.add_argument("--weights", metavar="DIR", help="Folder of the weights (default: as configured).")
        parser.add_argument("--json", metavar="FILE", help="Write the result there, too.")

    def work(self, **options: Any) -> int:
        # a process of its own: what runs models is never loaded here
        words = [word for name in ("weights", "json") if options[name] for word in (f"--{name}", options[name])]
        command = [sys.executable, "-m", "ml.evidence.grounding.verify", options["backend"], *words]
        return subprocess.run(command).returncode
