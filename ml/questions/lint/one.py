"""An item as the checks see it, and everything they may consult."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from ml.formats import grasp_codes
from ml.formats.errors import FormatError
from ml.formats.grasp_items import Item
from ml.questions.taxonomy import CATEGORIES, Scheme
from ml.text import answers, persons, times

if TYPE_CHECKING:
    from ml.questions.lint.recordings import Seen
    from ml.questions.lint.tables import Tables

LETTERS = answers.LETTERS


@dataclass
class One:
    """One item. `at`: its position; `slugs`: the categories it may be (one where the scheme is known)."""

    at: int
    item: Item
    slugs: frozenset[str]
    truths: list[bool | None] | None = None  # of the options, where a proof gives them
    broken: str = ""  # why its proof does not stand
    kind: str = "single"  # as a question of the studio: single, yes_no, multiple, number, open
    held: bool = False  # a proof was run on the events, and the key stands
    options_wanted: int | None = None  # how many options it should have, where that is not the set's number

    @cached_property
    def words(self) -> list[str]:
        """The options without their letters."""
        return [answers.split_option(option)[1] for option in self.item.options]

    @cached_property
    def prefixes(self) -> list[str | None]:
        return [answers.split_option(option)[0] for option in self.item.options]

    @cached_property
    def key(self) -> int | None:
        """Position of the keyed option; None where the answer is no letter of one."""
        answer = (self.item.answer or "").strip()
        if self.item.open_ended or len(answer) != 1:
            return None
        position = ord(answer) - ord("A")
        return position if 0 <= position < len(self.item.options) else None

    @cached_property
    def slug(self) -> str | None:
        """The category, where there is only one it can be."""
        return next(iter(self.slugs)) if len(self.slugs) == 1 else None

    @cached_property
    def persons(self) -> frozenset[int]:
        """Persons named in the question."""
        return persons.named(self.item.question)

    @cached_property
    def everybody(self) -> frozenset[int]:
        """Persons named in question, options or answer text."""
        parts = [*self.words, self.item.answer_text or ""]
        return self.persons.union(*(persons.named(part) for part in parts))

    @cached_property
    def times(self) -> list[times.Mention]:
        """Times named in the question."""
        return times.mentions(self.item.question)

    @cached_property
    def span(self) -> tuple[float, float] | None:
        """The clip in source seconds, where the item says it."""
        item = self.item
        if item.clip_duration is None or item.clip_offset is None:
            return None
        return item.clip_offset, item.clip_offset + item.clip_duration

    @property
    def offset(self) -> float:
        return self.item.clip_offset or 0.0

    def extra(self, *names: str) -> Any:
        """The first of these additional fields that the item has."""
        for name in names:
            for where in (self.item.extra, self.item.qa_extra):
                if where.get(name) is not None:
                    return where[name]
        return None


class Asker(Protocol):
    """A configured model that answers questions it sees no video of."""

    name: str

    def letter(self, question: str, options: Sequence[str]) -> str | None: ...


class Embedder(Protocol):
    """A configured model that turns texts into unit vectors, float32[n, d]."""

    name: str

    def vectors(self, texts: Sequence[str]) -> Any: ...


@dataclass
class World:
    """What the checks may consult besides the items; what is missing is said as a note, never guessed."""

    scheme: Scheme | None = None
    tables: Tables | None = None
    train: Sequence[Seen] | None = None
    embedder: Embedder | None = None
    asker: Asker | None = None
    ask_most: int = 100  # items the model is asked about
    option_count: int = 4
    of_project: bool = False  # the items are questions of a project, whose proofs run on its own events
    notes: list[str] = field(default_factory=list)
    hashes: Mapping[int, Sequence[int]] = field(default_factory=dict)  # picture hashes by position


def slugs_of(item: Item, scheme: Scheme | None) -> frozenset[str]:
    """Every category the item's code may stand for; empty where it is none."""
    code = (item.category or "").strip()
    if code in CATEGORIES:
        return frozenset({code})
    if scheme is None:
        return frozenset(grasp_codes.meanings(code).values())
    try:
        return frozenset({grasp_codes.slug_of(code, scheme)})
    except FormatError:
        return frozenset()


def one_of(at: int, item: Item, scheme: Scheme | None) -> One:
    return One(at, item, slugs_of(item, scheme or item.scheme))
