"""Says of each option of an item whether it is true.

A question is read into an `Ask`: what to look at in a world, and how an option is held against it. Who-questions are
answered by everybody of whom it holds, so an option is true when it names all of them and nobody else; questions for a
kind likewise. Order is held against all pairs of things meant: true of all, false of all, or undecided (None).
Things that happen in a window are those that happen in it at least in part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.reading import NotUnderstood
from tests.oracle.world import World

Verdict = bool | None


@dataclass(frozen=True)
class Item:
    """A printed item: what a rater sees, and where its clip starts in the scene, in seconds."""

    category: str
    question: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Ask:
    """`look` finds the answer in a world; `holds(option, answer, options)` is the verdict on one option."""

    look: Callable[[World], Any]
    holds: Callable[[str, Any, Sequence[str]], Verdict]


def read(item: Item, world: World) -> Ask:
    """What the item asks. Raises NotUnderstood unless exactly one reading of its category fits."""
    from tests.oracle.questions import READERS

    if item.category not in READERS:
        raise NotUnderstood(f"No such category: {item.category}")
    found = [ask for reader in READERS[item.category] if (ask := reader(item.question, world)) is not None]
    if len(found) != 1:
        raise NotUnderstood(f"{len(found)} readings of {item.category}: {item.question}")
    return found[0]


def verdicts(item: Item, ask: Ask, world: World) -> list[Verdict]:
    """True, False or None (undecided) for every option in turn."""
    answer = ask.look(world)
    return [ask.holds(option, answer, item.options) for option in item.options]
