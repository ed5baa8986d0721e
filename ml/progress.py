"""How long work in `ml` reports how far it is, and how it is asked to stop.

A progress function is called as `progress("faces", 0.42)`: the stage's name and the share of it that is done, 0 to 1.
It is called often (at least once per second of work) and may raise to stop: `Cancelled` when somebody asked for it.
Whoever calls it leaves nothing half-written: results go to a temporary name and are renamed when complete.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]


class Cancelled(Exception):
    """Somebody asked the running work to stop."""


def silent(stage: str, share: float) -> None:
    """Report nothing."""
