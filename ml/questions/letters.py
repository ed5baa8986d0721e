"""What must be balanced over many items, so that nothing but the video tells the key: letters, and "no one".

The key's letter is the least used of its category. An absence ("No one", "No gesture") is the key of a fifth of the
items of a template that knows one, and a wrong option of three quarters of the others: so where it is offered, it is
right in one of four.
"""

from __future__ import annotations

from collections import Counter
from random import Random

LETTERS = "ABCD"
OFFERED = 0.75  # share of items with another key in which the absence is an option


class Letters:
    """Counts of keys by (category, letter), and of keyed absences; hand the same one to every call that fills a set."""

    def __init__(self, counts: Counter[tuple[str, str]] | None = None) -> None:
        self.counts = Counter(counts or {})
        self.absent: Counter[tuple[str, bool]] = Counter()  # (template, whether its key is an absence)

    def draw(self, category: str, rng: Random, count: int = 4) -> int:
        """The position for the next key of the category among `count` options: the one least used, then by chance."""
        letters = LETTERS[:count]
        overall = {letter: sum(n for (_, used), n in self.counts.items() if used == letter) for letter in letters}
        chance = {letter: rng.random() for letter in letters}
        letter = min(letters, key=lambda one: (self.counts[category, one], overall[one], chance[one]))
        self.counts[category, letter] += 1
        return letters.index(letter)

    def may_be_absent(self, template: str, rng: Random) -> bool:
        """Whether the template's next key may be an absence."""
        absent, present = self.absent[template, True], self.absent[template, False]
        return 4 * absent < present or (not absent and rng.random() < 0.25)

    def took(self, template: str, absent: bool) -> None:
        """A draft of the template was made."""
        self.absent[template, absent] += 1
