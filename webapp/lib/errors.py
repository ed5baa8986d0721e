"""What services refuse, in words the person who asked can use."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The request makes no sense as it stands: one sentence, and the field it is about. Answered with 422."""

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.sentence, self.field = sentence, field


class Stale(Exception):
    """The edit was made from another version than the one stored. Answered with 409 and both versions."""

    def __init__(self, *, kind: str, id: str, base: int | None, theirs: dict[str, Any] | None) -> None:
        super().__init__(f"{kind} {id} has changed since version {base}")
        self.kind, self.id, self.base, self.theirs = kind, id, base, theirs
