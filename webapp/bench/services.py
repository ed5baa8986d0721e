"""Writes of questions: settings, drafts, edits, signatures, opening, discarding, and who saw a key.

Answers, leases and adjudications are written in `answering`, proofs in `proving`, jobs are asked for in `requests`.
Every function is one transaction and takes keywords only; who may call it is checked before (`webapp.bench.access`).
Raises Refused (a sentence and a field) or Stale (edited meanwhile).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from webapp.accounts.models import User
from webapp.bench.models import Bench, Question
from webapp.library.models import Project, Video


def bench_of(project: Project) -> Bench:
    """The project's settings, made at the first use."""
    raise NotImplementedError


def configure(*, project: Project, user: User, changes: Mapping[str, Any]) -> Bench:
    """Change settings: raters, rendering, blur_faces, pad_before_s, pad_after_s, quotas. Raises Refused.

    Higher quotas let questions of the reserve in.
    """
    raise NotImplementedError


def create_questions(
    *,
    video: Video,
    drafts: Sequence[Any],
    user: User | None,
    origin: str = Question.Origin.TEMPLATE,
    provenance: Mapping[str, Any] | None = None,
) -> list[Question]:
    """Questions from `ml.questions.draft.Draft`s, numbered once; those the video has already, or that no quota has room
    for, are left out. Option ids are given anew by position (a, b, c, ...), in the text of proofs too.

    `user` made them and is counted as having seen their keys.
    """
    raise NotImplementedError


def edit_question(
    *, question_id: UUID, user: User, version: int, fields: Mapping[str, Any], reason: str = ""
) -> Question:
    """Change text, options, key, proof, reasoning, kind, category, start or end of a question.

    It gets a new version, goes back to draft and to a new round; a signature is void. A proof that is kept must still
    fit options and key (`proof: None` takes it away). Raises Refused, Stale; a released question is never edited.
    """
    raise NotImplementedError


def sign_question(*, question_id: UUID, user: User, version: int) -> Question:
    """Give one's word for the key of a draft that has no proof: the item is marked free-form. Raises Refused, Stale."""
    raise NotImplementedError


@dataclass
class Opened:
    """What became of questions to open: those opened, and [number, sentence] for each that was not."""

    opened: list[UUID] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


def open_questions(*, project: Project, user: User, ids: Sequence[UUID]) -> Opened:
    """Hand drafts to the raters: those whose proof stands now or that are signed, and that a quota has room for."""
    raise NotImplementedError


def discard_questions(*, project: Project, user: User, ids: Sequence[UUID], reason: str = "") -> int:
    """Reject questions nobody decided on; how many. Their places are free, leases end."""
    raise NotImplementedError


def reveal(*, questions: Sequence[Question], user: User) -> None:
    """Note that somebody saw the keys: they never answer these; a lease they hold ends. Call before showing one."""
    raise NotImplementedError
