"""What must be balanced over many items, so that nothing but the video tells the key: letters, kinds, and "no one".

The key's letter is the least used of its category. An absence ("No one", "No gesture") is the key of a fifth of the
items of a template that knows one, and a wrong option of three quarters of the others: so where it is offered, it is
right in one of four. A kind of event or an order is the key of a template at most a quarter more often than its share;
yes and no are evenly so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random
from typing import Any

from ml.questions.grammar import KNOWN_TYPES, ORDERS

LETTERS = "ABCD"
OFFERED = 0.75  # share of items with another key in which the absence is an option
AHEAD = 2  # items by which a kind may run ahead while there are few


class Letters:
    """Counts of keys by (category, letter), and by what they say; give the same one to every call that fills a set."""

    def __init__(self, counts: Counter[tuple[str, str]] | None = None) -> None:
        self.counts = Counter(counts or {})
        self.said: defaultdict[str, Counter[str | None]] = defaultdict(Counter)  # by template

    def draw(self, category: str, rng: Random, count: int = 4) -> int:
        """The position for the next key of the category among `count` options: the one least used, then by chance."""
        letters = LETTERS[:count]
        overall = {letter: sum(n for (_, used), n in self.counts.items() if used == letter) for letter in letters}
        chance = {letter: rng.random() for letter in letters}
        letter = min(letters, key=lambda one: (self.counts[category, one], overall[one], chance[one]))
        self.counts[category, letter] += 1
        return letters.index(letter)

    def allows(self, template: str, value: Any, among: int, rng: Random) -> bool:
        """Whether the template's next key may say this, being one of so many that it could."""
        said = self.said[template]
        total = said.total()
        if value is None:
            return 4 * said[None] < total - said[None] or (not said[None] and rng.random() < 0.25)
        share = (1.25 if among > 2 else 1.0) / among
        return _kind(value) == "" or said[_kind(value)] <= AHEAD + share * total

    def took(self, template: str, value: Any) -> None:
        """A draft of the template was made, with this key."""
        self.said[template][None if value is None else _kind(value)] += 1


def _kind(value: Any) -> str:
    """The value, where it is one that must not be told from its frequency; persons and durations are not."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) and value in (*KNOWN_TYPES, *ORDERS) else ""
