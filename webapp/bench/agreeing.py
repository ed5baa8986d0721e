"""How far the blind answers of a project agree, computed in a worker and kept with the bench.

Every complete round counts, whatever came of it: leaving out what is disputed would make raters look better than they
are. Answers in words are left out. What somebody said is the letter of the option as stored (several letters for
several options), or the number; "cannot tell", "two are right" and "bad clip" are categories of their own.

Kept as {"v": 1, "at": ISO time, "answers", "units", "videos", "replicates", "level", "seed", "rows": [{"category": slug
or "" for all, "units", "videos", "specials": {special: n}, "raw" | "cohen" | "fleiss" | "alpha": {"value", "low",
"high"}}]}; a measure that is not defined has null.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from ml.progress import Progress
from ml.questions.taxonomy import CATEGORIES
from ml.statistics.agreement import LEVEL, MEASURES, REPLICATES, Unit, estimate
from webapp.bench.models import Answer, Bench, Question
from webapp.library.models import Project

SEED = 0
LEAST_UNITS = 5  # rounds below which no figure is told, on pages and cards alike
SIMULATED = "(simulated)"  # the end of the name of a rater who is no person
TOO_FEW = "not enough answers"


@dataclass(frozen=True)
class Agreement:
    """What was found, and the number of answers it was made from."""

    answers: int
    content: dict[str, Any]


@dataclass(frozen=True)
class Said:
    """One unit of agreement with its category and the special answers in it."""

    category: str
    unit: Unit
    specials: Counter[str]


def compute(project: Project, progress: Progress) -> Agreement:
    """Agreement over all and by category. Takes seconds to minutes: workers only."""
    said = _said(project)
    rows = []
    slugs = ["", *(slug for slug in CATEGORIES if any(each.category == slug for each in said))]
    for done, slug in enumerate(slugs):
        progress("agreement", done / len(slugs))
        rows.append(_row(slug, [each for each in said if slug in ("", each.category)]))
    progress("agreement", 1.0)
    units = [each.unit for each in said]
    content = {
        "v": 1,
        "at": timezone.now().isoformat(timespec="seconds"),
        "answers": sum(len(unit.answers) for unit in units),
        "units": len(units),
        "videos": len({unit.cluster for unit in units}),
        "replicates": REPLICATES,
        "level": LEVEL,
        "seed": SEED,
        "rows": rows,
    }
    return Agreement(Answer.objects.filter(question__project=project).count(), content)


def keep(*, project: Project, found: Agreement) -> None:
    """Store it. Call inside `atomic`."""
    with transaction.atomic():
        bench = Bench.objects.select_for_update().get(project=project)
        bench.agreement, bench.agreement_at = found.content, found.answers
        bench.save(update_fields=["agreement", "agreement_at"])


def simulated(project: Project) -> bool:
    """Whether raters who say in their name that they are simulated, as the demo's do, answered questions here."""
    return Answer.objects.filter(question__project=project, user__display_name__endswith=SIMULATED).exists()


def _row(slug: str, said: Sequence[Said]) -> dict[str, Any]:
    units = [each.unit for each in said]
    specials: Counter[str] = sum((each.specials for each in said), Counter())
    found = estimate(units, replicates=REPLICATES, seed=SEED)
    return {
        "category": slug,
        "units": len(units),
        "videos": len({unit.cluster for unit in units}),
        "specials": dict(specials),
        **{name: asdict(found[name]) for name in MEASURES},
    }


def _said(project: Project) -> list[Said]:
    """Units of all complete rounds with two answers or more, in the order of numbers."""
    over = Q(round__lt=F("question__round")) | ~Q(question__state=Question.State.ANSWERING)
    found = Answer.objects.filter(over, question__project=project).exclude(question__kind="open")
    rounds: dict[tuple[UUID, int], list[Answer]] = defaultdict(list)
    for answer in found.select_related("question").order_by("question__number", "round", "created"):
        rounds[answer.question_id, answer.round].append(answer)
    return [_unit(answers) for answers in rounds.values() if len(answers) > 1]


def _unit(answers: Sequence[Answer]) -> Said:
    question = answers[0].question
    letters = dict(zip((o["id"] for o in question.options), ascii_uppercase, strict=False))
    said = tuple((answer.user_id or f"left-{answer.id}", _word(answer, letters)) for answer in answers)
    return Said(question.category, Unit(question.video_id, said), Counter(a.special for a in answers if a.special))


def _word(answer: Answer, letters: dict[str, str]) -> str:
    return answer.special or " ".join(_words(answer.chosen, letters))


def _words(chosen: Iterable[Any], letters: dict[str, str]) -> list[str]:
    """An option an edit has taken away since keeps its id: it is still one thing that was said."""
    return sorted(letters.get(pick, pick) if isinstance(pick, str) else f"{pick:g}" for pick in chosen)
