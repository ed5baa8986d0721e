from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.output import write_json


class Command(StudioCommand):
    help = "List every backend: version, licence, whether its weights are here, what was verified."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--json", metavar="FILE", help="Write the list; - is the screen.")

    def work(self, **options: Any) -> int:
        # a process of its own: what runs models is never loaded here
        words = ["--json"] if options["json"] else []
        done = subprocess.run([sys.executable, "-m", "ml.backends", *words], capture_output=True, text=True)
        if done.returncode:
            raise StudioError(f"The backends cannot be listed: {' '.join(done.stderr.split())[-300:]}")
        if options["json"]:
            write_json(options["json"], [{"backends": json.loads(done.stdout)}], several=False)
        else:
            self.stdout.write(done.stdout)
        return 0
