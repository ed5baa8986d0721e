"""Rollouts: the answers a run gave in training, side by side, each with what every reward gave it and why.

They show keys, so they are for reviewers and above; who opens one counts as having seen its question's key.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.models import User
from webapp.accounts.pages import page
from webapp.bench import services as bench
from webapp.bench.charts import bar
from webapp.runs import explaining, queries
from webapp.runs.access import run_by_number
from webapp.runs.models import Rollout, SnapshotItem
from webapp.runs.recording import OVERLONG, weights_of
from webapp.runs.views import head, whole

SORT_WORDS = {"disagreement": "Most disputed first", "step": "Newest step first"}


@login_required
@require_safe
def rollouts(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The list: a question for each step it was asked at, with what its answers were worth."""
    found, role = run_by_number(request.user, slug, number, "review")
    wanted = Wanted(request)
    rows, count = queries.rollout_page(found, wanted.category, wanted.sort, wanted.page)
    weights = weights_of(found)
    context = head(request, found, role, "rollouts") | {
        "rollouts": [summary(one, weights) for one in rows],
        "count": count,
        "wanted": wanted,
        "categories": [(slug_, words(slug_), n) for slug_, n in queries.rollout_categories(found)],
        "sorts": SORT_WORDS.items(),
        "earlier": wanted.address(page=wanted.page - 1) if wanted.page > 1 else "",
        "later": wanted.address(page=wanted.page + 1) if wanted.page * queries.PAGE < count else "",
    }
    return page(request, "runs/rollouts.html", context, project=found.project)


class Wanted:
    """What the address asks for; anything else is as if it were not there."""

    def __init__(self, request: HttpRequest) -> None:
        given = request.GET
        self.category = given.get("category", "")[:40].replace("\0", "")
        self.sort = given.get("sort", "") if given.get("sort") in queries.SORTS else "disagreement"
        self.page = max(1, int(given["page"])) if whole(given.get("page", "")) and len(given["page"]) < 7 else 1

    def address(self, **changes: Any) -> str:
        told = {"category": self.category, "sort": self.sort, "page": self.page} | changes
        return "?" + urlencode({name: value for name, value in told.items() if value not in ("", 1)})


def words(category: str) -> str:
    return CATEGORIES[category].words if category in CATEGORIES else category.replace("_", " ") or "no category"


def summary(rollout: Rollout, weights: dict[str, float]) -> dict[str, Any]:
    """A rollout in the list: its answers' totals as bars, from the best down."""
    totals = [explaining.total(one.get("rewards") or {}, weights) for one in rollout.completions]
    there = sorted((value for value in totals if value is not None), reverse=True)
    most = sum(weight for name, weight in weights.items() if weight > 0 and name != OVERLONG) or 1.0
    return {
        "id": rollout.id,
        "step": rollout.step,
        "question": rollout.question,
        "category": words(rollout.category),
        "mean": fmean(there) if there else None,
        "disagreement": rollout.disagreement,
        "bars": [bar([("reward", value / most)], words=f"{value:.2f}") for value in there],
        "k": len(rollout.completions),
    }


@login_required
@require_safe
def rollout(request: HttpRequest, slug: str, number: int, rollout_id: int) -> HttpResponse:
    """The answers to one question at one step, side by side."""
    found, role = run_by_number(request.user, slug, number, "review")
    if rollout_id >= 2**63:
        raise Http404("There is no such rollout.")
    one = Rollout.objects.filter(run=found, id=rollout_id).first()
    if one is None:
        raise Http404("There is no such rollout: the run may have gone back to an earlier checkpoint since.")
    wanted = Wanted(request)
    weights = weights_of(found)
    before, after = neighbours(one, wanted)
    items = SnapshotItem.objects.select_related("question", "video")
    item = items.filter(snapshot=found.snapshot_id, item_hash=one.item_hash).first()
    if item is not None and item.question_id:
        bench.saw(user=cast(User, request.user), ids=[item.question_id])
    context = head(request, found, role, "rollouts") | {
        "rollout": one,
        "category": words(one.category),
        "answers": explaining.answers(tree_of(one), one.completions, weights),
        "options": [(letter(place), text, letter(place) in keys(one.answer)) for place, text in enumerate(one.options)],
        "events": list(explaining.events(one.row)),
        "visible": one.row.get("visible_persons"),
        "item": item,
        "legend": explaining.WORDS.items(),
        "before": before,
        "after": after,
        "wanted": wanted,
        "weights": weights,
    }
    return page(request, "runs/rollout.html", context, project=found.project)


def neighbours(one: Rollout, wanted: Wanted) -> tuple[int | None, int | None]:
    """The rollouts beside this one in the order asked for: two queries."""
    rows = Rollout.objects.filter(run=one.run_id)
    if wanted.category:
        rows = rows.filter(category=wanted.category)
    name = "disagreement" if wanted.sort == "disagreement" else "step"
    value = getattr(one, name)
    higher = rows.filter(**{f"{name}__gt": value}) | rows.filter(**{name: value}, id__lt=one.id)
    lower = rows.filter(**{f"{name}__lt": value}) | rows.filter(**{name: value}, id__gt=one.id)
    before = higher.order_by(name, "-id").values_list("id", flat=True).first()
    after = lower.order_by(f"-{name}", "id").values_list("id", flat=True).first()
    return before, after


def tree_of(one: Rollout) -> dict[str, Any]:
    """What rewards need of the item; {} where it was erased."""
    if not one.row:
        return {}
    return one.row | {"question": one.question, "options": one.options, "answer": one.answer or None}


def letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def keys(answer: str) -> set[str]:
    """The letters of an answer such as "B" or "A,C"."""
    return {part.strip() for part in answer.split(",")}
