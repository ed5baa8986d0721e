from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from webapp.studio import people
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.lock import Lock


class Command(StudioCommand):
    help = "Print a link that logs somebody in once (default: the first site admin). Links given before stop working."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--user", metavar="NAME", help="Who it is for.")
        parser.add_argument("--hours", type=int, default=1, help="How long it can be used (default 1).")

    def work(self, **options: Any) -> int:
        if not 1 <= options["hours"] <= 72:
            raise StudioError("A login link lives between 1 and 72 hours.")
        with studio(self.data, "login-link", begins=True):
            address = Lock(self.data).read().get("address", "")
            link = people.login_address(address, people.person(options["user"]), options["hours"])
        self.stdout.write(link)
        if not address:
            self.screen.print("No studio runs on this data folder now: put the address of the next one before it.")
        return 0
