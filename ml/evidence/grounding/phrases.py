"""What the two packages that run SAM 3 share as grounders: everything but the engine.

A phrase goes to the model as it is written, never shortened to its category; one the model would cut off is refused
before. Persons are asked for as "people" and told apart by who is where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ml.evidence.grounding.engine import Engine
from ml.evidence.grounding.linking import link
from ml.evidence.grounding.protocol import Footage, Grounded, Masks, Query, Share, Status, Window
from ml.evidence.grounding.search import LONGEST, Search
from ml.evidence.grounding.stitching import LENGTH, OVERLAP, SAME_IOU
from ml.evidence.package import MOST_TOKENS
from ml.evidence.vocabulary import words
from ml.media import masks as packed

PEOPLE = "people"  # what persons are asked for by, as in GRASP


class PhraseGrounder:
    """A grounder for any short noun phrase; subclasses say how the engine is made."""

    name: ClassVar[str]
    version: ClassVar[str]
    length, overlap = LENGTH, OVERLAP

    def __init__(self, weights: Path | None = None) -> None:
        self.weights = weights

    def make_engine(self) -> Engine:
        raise NotImplementedError

    @cached_property
    def engine(self) -> Engine:
        """Loaded when it is first needed."""
        return self.make_engine()

    def hashes(self) -> dict[str, str]:
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Name, version, sha256 by weights file, and all numbers; see `Grounder`."""
        chunks = {"length": self.length, "overlap": self.overlap, "same_iou": SAME_IOU}
        return {
            "name": self.name,
            "version": self.version,
            "weights": self.hashes(),
            "settings": {**self.engine.settings(), "chunks": chunks, "longest": LONGEST, "people": PEOPLE},
        }

    def knows(self, phrase: str) -> bool:
        return bool(phrase.strip())

    def refuses(self, phrase: str) -> str:
        count = self.engine.tokens(phrase)
        if count <= MOST_TOKENS:
            return ""
        return (
            f'"{phrase[:80]}{"…" if len(phrase) > 80 else ""}" has {count} tokens for SAM 3, which takes {MOST_TOKENS} '
            "at most: it would be cut off."
        )

    def ground(self, footage: Footage, queries: Sequence[Query], window: Window, *, progress: Share) -> Grounded:
        """See `Grounder`; all phrases go through the frames together, see `search`."""
        search = Search(self.engine, footage, self.length, self.overlap)
        refused = {q.id: self._refusal(q, footage) for q in queries}
        wanted = {q.id: PEOPLE if q.role == "person" else q.text.strip() for q in queries if not refused[q.id]}
        found = search.find(list(wanted.values()), window.frame, progress)
        found = replace(found, person=link(found, footage.people, footage.index, person_masks(footage, window)))
        grounded = Grounded(packed.empty(search.size), {}, seconds=search.seconds, notes=search.notes)
        grounded.looked = np.array(sorted(search.looked), np.int64)
        rows = []
        for query in queries:
            mine = select(found, query, wanted.get(query.id))
            sentence = refused[query.id] or search.errors.get(wanted.get(query.id, ""), "")
            status: Status = "ok" if len(mine.frame) else "empty"
            if sentence:
                status = "skipped" if query.role != "person" and refused[query.id] else "error"
                grounded.sentence[query.id] = sentence
            grounded.status[query.id] = status
            grounded.attributes_checked[query.id] = tuple(words(query.text))  # the model has read all of them
            rows.append(mine)
        grounded.masks = packed.joined([grounded.masks, *rows])
        return grounded

    def _refusal(self, query: Query, footage: Footage) -> str:
        if query.role == "person":
            return "" if footage.people is not None else "Nobody has said who is where in this video."
        return self.refuses(query.text) if self.knows(query.text) else "There is no phrase to look for."


def select(found: Masks, query: Query, phrase: str | None) -> Masks:
    """The rows of a query under its id."""
    mine = found.query == phrase if phrase is not None else np.zeros(len(found.frame), bool)
    if query.role == "person":
        mine &= found.person == query.person
    rows = packed.picked(found, mine)
    return replace(rows, query=np.full(len(rows.frame), query.id))


def person_masks(footage: Footage, window: Window) -> Masks | None:
    """The accepted masks of persons on the window's frames, where there are any."""
    if footage.person_masks is None or not len(window.frame):
        return None
    return packed.read(footage.person_masks, frames=window.frame)
