"""The leased queue and what comes of answers: each item goes to exactly `raters` people per round.

A lease is a place; it is free again after `LEASE` unless answered. Places are handed out one request after another per
project (an advisory lock held for milliseconds), so fifty at once never share the last place nor miss a free one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from webapp.accounts.models import User
from webapp.bench.models import Adjudication, Answer, Lease, Question
from webapp.library.models import Project

LEASE = timedelta(minutes=20)


def next_item(*, project: Project, user: User) -> Lease | None:
    """The question this person answers next: the one they hold already, else the first with a free place they may have.

    None when nothing is left for them. Never one whose key they saw, that they made, or answered in any round.
    """
    raise NotImplementedError


def give_back(*, question_id: UUID, user: User) -> None:
    """Let go of a lease without an answer; the place is free at once."""
    raise NotImplementedError


def answer(
    *,
    question_id: UUID,
    user: User,
    id: UUID,
    chosen: Sequence[Any] = (),
    special: str = "",
    seconds: float | None = None,
) -> Answer:
    """Answer the question one holds a lease for. The same id again is the same answer.

    `chosen`: option ids, or [number], or [text]; or `special`: cannot_tell, two_right, bad_clip. `seconds`: since it was
    shown, as the page measured; at most the time since it was handed out. The last answer of a round decides: accepted
    when all agree with the key, else disputed. Raises Refused.
    """
    raise NotImplementedError


def adjudicate(
    *,
    question_id: UUID,
    user: User,
    id: UUID,
    verdict: str,
    reason: str,
    fields: Mapping[str, Any] | None = None,
) -> Adjudication:
    """The word of a third person on a disputed question: accept, edit (with `fields` of `edit_question`; goes round
    again) or reject. Not by somebody who answered it; a reason is required; idempotent by id. Raises Refused.
    """
    raise NotImplementedError


def may_adjudicate(question: Question, user: User) -> bool:
    """Whether this person is a third one: they answered the question in no round."""
    raise NotImplementedError
