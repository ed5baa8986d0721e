"""Deciding disputes: one disputed question after another, for a third person, with the clip and what was answered."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from webapp.accounts.access import project_for
from webapp.accounts.models import User
from webapp.accounts.pages import page
from webapp.bench import answering, clips, forms, queries, services
from webapp.bench.models import Question
from webapp.bench.views_question import changed_fields, form_page, numbers_of, whole_number
from webapp.lib.errors import Refused
from webapp.library.models import Project


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def adjudicate(request: HttpRequest, slug: str) -> HttpResponse:
    """Disputed questions one after another, for a third person."""
    project = project_for(request.user, slug, "review")
    user = cast(User, request.user)
    if request.method == "POST":
        return _decide(request, project, user)
    question = _to_decide(project, user, request.GET.get("question", ""), request.GET.get("after", ""))
    if question is None:
        return page(request, "bench/adjudicate.html", {"empty": _nothing(project)}, project=project)
    return _judge_page(request, question, forms.VerdictForm())


def _disputed(project: Project, user: User) -> QuerySet[Question]:
    """What this person may decide: disputed, and never answered by them."""
    found = Question.objects.filter(project=project, state=Question.State.DISPUTED)
    return found.exclude(answers__user=user).select_related("project", "video", "clip").order_by("number")


def _to_decide(project: Project, user: User, wanted: str, after: str) -> Question | None:
    """The question asked for, else the next one after a number, else the first."""
    found = _disputed(project, user)
    if wanted:
        try:
            return found.filter(id=UUID(wanted)).first()
        except ValueError:
            return None
    return found.filter(number__gt=whole_number(after)).first() or found.first()


def _nothing(project: Project) -> dict[str, str]:
    left = Question.objects.filter(project=project, state=Question.State.DISPUTED).count()
    if not left:
        return {
            "title": "Nothing is disputed",
            "sentence": "Questions come here when blind answers differ from the key.",
        }
    sentence = "What is disputed was answered by you, or is not disputed any more: a third person decides."
    return {"title": "Nothing for you to decide", "sentence": sentence}


def _judge_page(request: HttpRequest, question: Question, form: forms.VerdictForm, reason: str = "") -> HttpResponse:
    user = cast(User, request.user)
    services.reveal(questions=[question], user=user)
    trouble = ""
    try:
        clips.ensure_clip(question=question, bench=services.bench_of(question.project), user=user)
    except Refused as refused:
        trouble = refused.sentence
    item = queries.whole(question, user)
    data = {
        "clip": item["clip"],
        "error": trouble or (item["clip"] or {}).get("error", ""),
        "question": f"/api/v1/questions/{question.id}",
        "sprite": static("icons/sprite.svg"),
    }
    now = [_told(answer, item) for answer in item["answers"] if answer["round"] == question.round]
    context = {
        "item": item | {"answers_now": now, "options": _with_raters(item, now), "key_words": _key_words(item)},
        "answers_title": _finding(now),
        "clip": data,
        "form": form,
        "reason": reason,
        "left": _disputed(question.project, user).count(),
        "new_id": uuid4(),
    }
    return page(request, "bench/adjudicate.html", context, project=question.project, status=422 if form.errors else 200)


SPECIALS = {"cannot_tell": "Cannot tell", "two_right": "Two are right", "bad_clip": "The clip is bad"}


def _told(answer: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """An answer of this round in words."""
    texts = {option["id"]: option["text"] for option in item["options"]}
    words = SPECIALS.get(answer["special"]) or ", ".join(str(texts.get(one, one)) for one in answer["chosen"])
    right = not answer["special"] and sorted(map(str, answer["chosen"])) == sorted(map(str, item["key"]))
    return answer | {"words": words, "right": right}


def _with_raters(item: dict[str, Any], answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        option
        | {
            "key": option["id"] in item["key"],
            "chosen_by": [answer["user"] for answer in answers if option["id"] in answer["chosen"]],
        }
        for option in item["options"]
    ]


def _key_words(item: dict[str, Any]) -> str:
    return ", ".join(str(one) for one in item["key"])


def _finding(answers: list[dict[str, Any]]) -> str:
    """What the answers say of the key, as a heading."""
    right = sum(answer["right"] for answer in answers)
    if any(answer["special"] for answer in answers) and not right:
        return "Nobody could give the key"
    return f"{right} of {len(answers)} gave the key"


def _decide(request: HttpRequest, project: Project, user: User) -> HttpResponse:
    form = forms.VerdictForm(request.POST)
    question = _to_decide(project, user, request.POST.get("question", "") or "-", "")
    if question is None:
        messages.error(request, "This question is decided already, or not yours to decide. Here is the next one.")
        return redirect("adjudicate", project.slug)
    reason = request.POST.get("reason", "")[:4000]
    if not form.is_valid():
        return _judge_page(request, question, form, reason)
    said = form.cleaned_data
    if said["verdict"] == "edit":
        return _edit_verdict(request, question, user, said)
    try:
        answering.adjudicate(
            question_id=question.id, user=user, id=said["id"], verdict=said["verdict"], reason=said["reason"]
        )
    except Refused as refused:
        form.add_error(refused.field if refused.field in form.fields else None, refused.sentence)
        return _judge_page(request, question, form, reason)
    done = "accepted" if said["verdict"] == "accept" else "rejected"
    messages.success(request, f"Question {question.number} is {done}.")
    return redirect(f"{reverse('adjudicate', args=[project.slug])}?after={question.number}")


def _edit_verdict(request: HttpRequest, question: Question, user: User, said: dict[str, Any]) -> HttpResponse:
    """First the form of the question, then, when that comes back, the verdict with what it changed."""
    numbers = numbers_of(question.video)
    again: dict[str, Any] = {"verdict": said, "cancel": f"?question={question.id}"}
    if "text" not in request.POST:
        return form_page(request, forms.QuestionForm.of(question, numbers=numbers), question=question, **again)
    form = forms.QuestionForm(request.POST, video=question.video, numbers=numbers)
    if form.is_valid():
        try:
            fields = changed_fields(question, form, request.POST.get("proof") == "drop")
            if not fields:
                raise Refused("Nothing is changed yet. Accept or reject the question instead, or change it.")
            answering.adjudicate(
                question_id=question.id, user=user, id=said["id"], verdict="edit", reason=said["reason"], fields=fields
            )
            question.refresh_from_db()
            where = "goes round again" if question.state == Question.State.ANSWERING else "waits as a draft"
            messages.success(request, f"Question {question.number} is edited and {where}.")
            return redirect(f"{reverse('adjudicate', args=[question.project.slug])}?after={question.number}")
        except Refused as refused:
            form.say(refused)
    return form_page(request, form, question=question, **again)
