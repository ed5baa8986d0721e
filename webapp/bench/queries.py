"""Reads of the bench, blind where they must be.

Two forms of a question: `blind` (no key, values, proof, trace, round, answers; disputed looks like answering) and
`whole`. Whoever gets a whole one is noted as having seen the key (`services.reveal`). Lists hold no key for anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webapp.accounts.models import User
from webapp.bench.models import Lease, Question
from webapp.library.models import Project

PAGE_SIZE = 50


@dataclass(frozen=True)
class Wanted:
    """What the address of a question list asks for; unknown values count as not given."""

    text: str = ""
    state: str = ""
    category: str = ""
    difficulty: str = ""
    kind: str = ""
    video: str = ""
    stale: bool = False
    after: int = 0  # the number this page starts after
    before: int = 0  # or ends before

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Wanted:
        raise NotImplementedError


@dataclass
class Page:
    """Some questions in order of their numbers, as `row`s, with the numbers of the pages beside them (0: none)."""

    rows: list[dict[str, Any]]
    wanted: Wanted
    count: int
    earlier: int = 0
    later: int = 0
    more_than_counted: bool = False
    questions: list[Question] = field(default_factory=list)


def question_page(project: Project, user: User, wanted: Wanted, size: int = PAGE_SIZE) -> Page:
    """One page of the list, a fixed number of queries. Rows: {"id", "number", "category", "difficulty", "kind",
    "text" (rendered, in video seconds), "state", "stale", "free_form", "video", "video_name", "answers" (how many, for
    reviewers of decided or disputed ones; else null), "mine": "answered" | "leased" | "seen" | ""}.
    """
    raise NotImplementedError


def sees_key(question: Question, user: User, role: str) -> bool:
    """Whether this person may have the whole question shown: it is decided, or they are reviewer or above."""
    raise NotImplementedError


def blind(question: Question, user: User) -> dict[str, Any]:
    """A question without anything that tells its key: id, number, category, difficulty, kind, text, options [{"id",
    "text"}] (in the reader's leased order where they have one), video, clip, start, end, state, stale.
    """
    raise NotImplementedError


def whole(question: Question, user: User) -> dict[str, Any]:
    """Everything: `blind` plus key, option values, proof, sentence, marks (spans of the events used, for the timeline),
    reasoning, origin, provenance, signed_by, round, version, stale_why, answers of decided rounds, adjudications.
    """
    raise NotImplementedError


def task(lease: Lease) -> dict[str, Any]:
    """What a rater gets: {"question": blind, "until", "left": seconds}. Times in the text are the clip's."""
    raise NotImplementedError


def dashboard(project: Project, user: User, role: str) -> dict[str, Any]:
    """Counts by state and category, the settings, quotas with what is missing, agreement; blind for whoever may answer.

    {"states": {state: n}, "categories": [{"slug", "words", "group", "accepted", "open", "draft"}], "quotas": [{...quota,
    "accepted", "missing"}], "agreement": {...}, "stale": n, "waiting": n questions with a free place for this person}
    """
    raise NotImplementedError
