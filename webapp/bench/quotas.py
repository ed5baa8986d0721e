"""Quotas: at most so many questions of a category, source, difficulty and letter; what is left blank is any.

A question counts for every quota it fits. Source is the video's source recording. What is accepted counts for good;
what is with the raters, disputed or a draft holds a place as long as it is on its way, depending on who asks:
acceptance sees accepted ones only, opening also open ones, generation also drafts.

Letters are given when a release is cut, each as often as any other (`freezing.give_letters`), whatever place a key had
before. So a quota of a letter keeps nothing out before; it is held against the newest release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Sum, Value

from ml.questions.taxonomy import CATEGORIES
from webapp.bench.models import Bench, Question, QuestionCount, Release
from webapp.lib.errors import Refused

State = Question.State
ACCEPTED = (State.ACCEPTED,)
OPEN = (*ACCEPTED, State.ANSWERING, State.DISPUTED)
PLANNED = (*OPEN, State.DRAFT)
RELEASED = "released"  # what a tally of released items has for a state
PARTS = ("category", "source", "difficulty", "letter")
DIFFICULTIES = ("easy", "medium", "hard")
MOST_QUOTAS = 1000

Kind = tuple[str, str, str, str]  # category, source, difficulty, letter


def check_quotas(quotas: Any) -> list[dict[str, Any]]:
    """The quotas in their stored form. Raises Refused."""
    if not isinstance(quotas, list) or len(quotas) > MOST_QUOTAS or not all(isinstance(q, dict) for q in quotas):
        raise Refused(f"'quotas' must be a list of at most {MOST_QUOTAS} quotas.", "quotas")
    return [_checked(quota) for quota in quotas]


def _checked(quota: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(quota) - {*PARTS, "most"})
    if unknown:
        raise Refused(f"A quota has no field {unknown[0]!r}.", "quotas")
    parts = {name: quota.get(name) or "" for name in PARTS}
    if not all(isinstance(value, str) and len(value) <= 255 and "\x00" not in value for value in parts.values()):
        raise Refused("The parts of a quota are words.", "quotas")
    if parts["category"] and parts["category"] not in CATEGORIES:
        raise Refused(f"There is no category {parts['category']!r}.", "quotas")
    if parts["difficulty"] and parts["difficulty"] not in DIFFICULTIES:
        raise Refused(f"There is no difficulty {parts['difficulty']!r}.", "quotas")
    if parts["letter"] and not (len(parts["letter"]) == 1 and "A" <= parts["letter"] <= "Z"):
        raise Refused("The letter of a quota is one of A to Z.", "quotas")
    most = quota.get("most")
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= 10**6:
        raise Refused("'most' of a quota must be a number of questions.", "quotas")
    return {**parts, "most": most}


def kind_of(question: Question, source: str) -> Kind:
    return question.category, source, question.difficulty, question.letter


def fits(quota: Mapping[str, Any], kind: Kind) -> bool:
    return all(not quota[name] or quota[name] == value for name, value in zip(PARTS, kind, strict=True))


@dataclass
class Room:
    """How many more of each kind the quotas let in."""

    quotas: Sequence[Mapping[str, Any]]
    left: list[int]

    @classmethod
    def of(cls, bench: Bench, states: Iterable[str]) -> Room:
        """What is left beside the questions in these states; one query, none without quotas."""
        quotas = [quota for quota in bench.quotas if not quota["letter"]]
        if not quotas:
            return cls([], [])
        tally = Tally.of(bench, states)
        return cls(quotas, [quota["most"] - tally.count(quota, states) for quota in quotas])

    def has(self, kind: Kind) -> bool:
        return self.full(kind) is None

    def full(self, kind: Kind) -> Mapping[str, Any] | None:
        """The first quota of this kind that is full."""
        pairs = zip(self.quotas, self.left, strict=True)
        return next((quota for quota, left in pairs if left <= 0 and fits(quota, kind)), None)

    def take(self, kind: Kind) -> bool:
        """Take a place in every quota of this kind; False, and nothing taken, when one is full."""
        if not self.has(kind):
            return False
        for place, quota in enumerate(self.quotas):
            self.left[place] -= fits(quota, kind)
        return True


@dataclass
class Tally:
    """Questions counted by state and kind: (state, kind, how many)."""

    rows: list[tuple[str, Kind, int]]

    @classmethod
    def of(cls, bench: Bench, states: Iterable[str] | None = None) -> Tally:
        """Of these states, or of all. One query of what the database counts as questions change; only where a quota
        names a source, of the questions themselves, since a source is the video's.
        """
        columns = ("state", "category", "difficulty", "letter")
        if any(quota["source"] for quota in bench.quotas):
            questions = Question.objects.filter(project=bench.project_id)
            counted: Any = questions.values_list(*columns, F("video__source_recording")).annotate(total=Count("*"))
        else:
            counts = QuestionCount.objects.filter(project_id=bench.project_id)
            counted = counts.values_list(*columns, Value("")).annotate(total=Sum("n")).filter(total__gt=0)
        if states is not None:
            counted = counted.filter(state__in=list(states))
        return cls([(state, (slug, where, hard, letter), n) for state, slug, hard, letter, where, n in counted])

    def count(self, quota: Mapping[str, Any], states: Iterable[str]) -> int:
        """How many in these states fit a quota."""
        wanted = set(states)
        return sum(n for state, kind, n in self.rows if state in wanted and fits(quota, kind))


def released_letters(bench: Bench) -> Tally:
    """The items of the newest release with one right option, by kind; two queries."""
    last = Release.objects.filter(project=bench.project_id).order_by("-number").first()
    if last is None:
        return Tally([])
    found = last.items.filter(retired=None, item__kind="single").values_list(
        "item__category", "item__video__recording", "item__difficulty", "item__answer"
    )
    counted = found.annotate(n=Count("*")).order_by()
    return Tally([(RELEASED, (slug, where, hard, letter), n) for slug, where, hard, letter, n in counted])


def words_of(quota: Mapping[str, Any]) -> str:
    """A quota as a phrase: "at most 40 of Mutual gaze, medium, letter B"."""
    parts = [
        CATEGORIES[quota["category"]].words if quota["category"] else "",
        f"from {quota['source']}" if quota["source"] else "",
        quota["difficulty"],
        f"released letter {quota['letter']}" if quota["letter"] else "",
    ]
    return f"at most {quota['most']} of " + (", ".join(part for part in parts if part) or "all")


def table(bench: Bench, tally: Tally | None = None) -> list[dict[str, Any]]:
    """Each quota with how many are accepted, how many are on their way, and how many are missing. A letter's are those
    that the newest release has; what is on its way has none (`open` is null then).
    """
    if not bench.quotas:
        return []
    tally = tally or Tally.of(bench)
    released = released_letters(bench) if any(quota["letter"] for quota in bench.quotas) else None
    rows = []
    for quota in bench.quotas:
        there = released.count(quota, [RELEASED]) if released and quota["letter"] else tally.count(quota, ACCEPTED)
        coming = None if quota["letter"] else tally.count(quota, (State.ANSWERING, State.DISPUTED))
        told = {"words": words_of(quota), "accepted": there, "open": coming}
        rows.append({**quota, **told, "missing": max(0, quota["most"] - there)})
    return rows
