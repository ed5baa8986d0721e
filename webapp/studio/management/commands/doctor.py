from __future__ import annotations

from typing import Any

from webapp.studio.command import StudioCommand
from webapp.studio.doctor import examine
from webapp.studio.lock import Lock


class Command(StudioCommand):
    help = "Say what is missing here, in sentences. Exit code 0, 2, or 3 when only model weights are missing."

    def work(self, **options: Any) -> int:
        findings = examine(self.data)
        note = Lock(self.data).read()
        for finding in findings:
            mark, style = ("- ", "red") if finding.code else ("  ", "")
            self.screen.print(mark + finding.sentence, style=style)
        if note.get("address"):
            self.screen.print(f"  A studio runs on this folder at {note['address']} (process {note['pid']}).")
        codes = {finding.code for finding in findings} - {0}
        if not codes:
            self.screen.print("Nothing is missing.", style="green")
        return min(codes, default=0)
