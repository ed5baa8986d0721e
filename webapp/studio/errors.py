"""What a command tells its user when it cannot go on: one sentence and an exit code."""

from __future__ import annotations

BAD_INPUT = 2
NO_WEIGHTS = 3
INTERRUPTED = 130


class StudioError(Exception):
    """One plain sentence for the user; `code` is the exit code of the command."""

    def __init__(self, sentence: str, code: int = BAD_INPUT) -> None:
        super().__init__(sentence)
        self.code = code
