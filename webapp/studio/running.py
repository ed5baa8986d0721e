"""`manage.py up` and `manage.py demo`: the whole studio, from the lock to the login link."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

from webapp.studio import early, people
from webapp.studio.attach import deaf, orderly_signals
from webapp.studio.errors import StudioError
from webapp.studio.launcher import Studio
from webapp.studio.lock import Lock


class Running(Studio):
    """A studio with pages and all workers."""

    screen: Console

    def greet(self, after: str = "") -> None:
        """Print the address and a one-time login link of the first site admin, which leads to the page `after`."""
        admin = people.site_admin()
        link = people.login_address(self.address, admin, after=after)
        self.screen.print(Text.assemble("Sightline is up at ", (self.address, "bold"), f"  (data: {self.data})"))
        self.screen.print(Text.assemble(f"Log in as {admin.username}, once, within an hour: ", (link, "bold")))

    def stay(self) -> None:
        """Look after the children until Ctrl-C or SIGTERM."""
        with suppress(KeyboardInterrupt):
            self.screen.print("Ctrl-C stops it.")
            self.watch_until(lambda: False)
        self.screen.print("Stopping.")


@contextmanager
def run_studio(data: Path, what: str, port: int | None, screen: Console) -> Iterator[Running]:
    """The studio of a data folder, up and answering; stopped in order afterwards. Raises StudioError."""
    begun = early.take()
    lock = begun.lock if begun else Lock(data)
    if begun is None and not lock.take(what):
        note = lock.read()
        where = f" at {note['address']}" if note.get("address") else ""
        holder = f"`{note.get('what', 'a command')}` (process {note.get('pid', 'unknown')})"
        raise StudioError(f"The data folder {data} is in use: {holder} runs on it{where}.")
    studio = Running(data, lock, what, begun)
    studio.screen = screen
    try:
        with orderly_signals():
            studio.start_web(port)  # loads its code while the database starts
            studio.start_services()
            for sentence in studio.doubts():
                screen.print(sentence, style="yellow")
            studio.wait_for_web()
            studio.start_workers()
            studio.start_reaper()
            studio.ready = True
            studio.tell()
            yield studio
    finally:
        with deaf():
            studio.stop()
            lock.free()
