"""Which letter the key gets: balanced over all items and within each category."""

from __future__ import annotations

from collections import Counter
from random import Random

LETTERS = "ABCD"


class Letters:
    """Counts of keys by (category, letter); hand the same one to every call to keep the whole set balanced."""

    def __init__(self, counts: Counter[tuple[str, str]] | None = None) -> None:
        self.counts = Counter(counts or {})

    def draw(self, category: str, rng: Random, count: int = 4) -> int:
        """The position for the next key of the category among `count` options: the one least used, then by chance."""
        letters = LETTERS[:count]
        overall = {letter: sum(n for (_, used), n in self.counts.items() if used == letter) for letter in letters}
        chance = {letter: rng.random() for letter in letters}
        letter = min(letters, key=lambda one: (self.counts[category, one], overall[one], chance[one]))
        self.counts[category, letter] += 1
        return letters.index(letter)
