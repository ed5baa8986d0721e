"""What a grounder really looked for when it was asked for a phrase: all of it, or only the kind of thing.

A backend says which words beyond the kind it could check (`Grounded.attributes_checked`); every other word of the
phrase was not looked for, and nothing that is told of the phrase may sound as if it had been.

Light on purpose: pages import this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ml.evidence.vocabulary import EMBEDDED, words

_OWNED = re.compile(r"(?P<whose>.*(?:['\u2019]s|s['\u2019]))\s+(?P<thing>\S.*)", re.DOTALL)


@dataclass(frozen=True)
class Scope:
    """`looked_for`: in words. `unchecked`: the rest of the phrase, words that follow one another together; empty where
    the whole phrase was looked for."""

    looked_for: str
    unchecked: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.unchecked

    def __str__(self) -> str:
        """ "looked for: person; not checked: woman, green hat"."""
        rest = f"; not checked: {', '.join(self.unchecked)}" if self.unchecked else ""
        return f"looked for: {self.looked_for}{rest}"


def scope(phrase: str, checked: Iterable[str]) -> Scope:
    """Of a phrase that was looked for. `checked`: its words beyond the kind that the grounder could check."""
    known = set(checked)
    owner = _OWNED.match(phrase.strip())
    if owner is not None and not set(words(phrase)) <= known:  # whose it is only a model that read all of it knows
        rest = scope(owner["thing"], known)
        return Scope(rest.looked_for, (owner["whose"], *rest.unchecked))
    left = {word for word in EMBEDDED.beyond(phrase) if word not in known}
    if not left:
        return Scope(phrase)
    groups: list[list[str]] = []
    follows = False
    for word in words(phrase):
        if word in left:
            left.discard(word)  # said once, though it may stand there twice
            if follows:
                groups[-1].append(word)
            else:
                groups.append([word])
            follows = True
        else:
            follows = False
    kind = EMBEDDED.category(phrase)
    if kind is None:  # on no list: which of its words made it found, nobody says
        return Scope(phrase, tuple(" ".join(group) for group in groups))
    said = dict.fromkeys(word for word in EMBEDDED.beyond(phrase) if word in known)
    return Scope(" ".join((*said, kind)), tuple(" ".join(group) for group in groups))
