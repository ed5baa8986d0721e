"""Pages about one question: writing and editing it, giving one's word for its key, deciding a dispute, its clip."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from ml.questions.draft import Draft
from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.access import check, project_for
from webapp.accounts.models import User
from webapp.accounts.pages import page
from webapp.bench import answering, clips, forms, queries, services, wording
from webapp.bench.access import question_for
from webapp.bench.models import Clip, Question
from webapp.lib.errors import Refused, Stale
from webapp.library import media
from webapp.library.models import Project, Video
from webapp.tracks.models import Person

STALE = "Somebody else changed this question in the meantime. Your text is below; theirs is on the question's page."
PICKER = 50

# ---------------------------------------------------------------------------------------------------------------------
# Writing


def numbers_of(video: Video) -> dict[str, int]:
    """Person id -> number, of everybody in the video who is not merged into somebody."""
    rows = Person.objects.filter(video=video, merged_into=None).order_by("number")
    return {str(id): number for id, number in rows.values_list("id", "number")}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """A question by hand: first its video, then the form."""
    project = project_for(request.user, slug, "question")
    video = _video(project, request.GET.get("video", ""))
    if video is None:
        return _pick_video(request, project)
    numbers = numbers_of(video)
    initial = {"start": request.GET.get("start", 0), "end": request.GET.get("end", video.frames - 1)}
    form = forms.QuestionForm(request.POST or None, video=video, numbers=numbers, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            made = _create(form, video, cast(User, request.user))
            return _kept(request, made)
        except Refused as refused:
            form.say(refused)
    return _form_page(request, form, project=project, video=video)


def _video(project: Project, word: str) -> Video | None:
    try:
        return Video.objects.filter(project=project, state=Video.State.READY, id=UUID(word)).first()
    except ValueError:
        return None


def _pick_video(request: HttpRequest, project: Project) -> HttpResponse:
    text = request.GET.get("q", "").replace("\x00", "").strip()[:100]
    found = Video.objects.filter(project=project, state=Video.State.READY).order_by("name", "id")
    videos = found.filter(name__icontains=text) if text else found
    return page(request, "bench/question_video.html", {"videos": videos[:PICKER], "text": text}, project=project)


def _create(form: forms.QuestionForm, video: Video, user: User) -> Question:
    wanted = form.fields_wanted()
    difficulty = CATEGORIES[wanted["category"]].difficulty
    draft = Draft(**wanted, proof=None, difficulty=difficulty, template="")  # type: ignore[arg-type]
    made = services.create_questions(video=video, drafts=[draft], user=user, origin=Question.Origin.HUMAN)
    if not made:
        raise Refused("This video has the same question already, or its quota is full.")
    return made[0]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, question_id: UUID) -> HttpResponse:
    question, _ = question_for(request.user, question_id, "question")
    user = cast(User, request.user)
    services.reveal(questions=[question], user=user)
    numbers = numbers_of(question.video)
    if request.method != "POST":
        return _form_page(request, forms.QuestionForm.of(question, numbers=numbers), question=question)
    form = forms.QuestionForm(request.POST, video=question.video, numbers=numbers)
    stale = ""
    if form.is_valid():
        try:
            fields = _changed(question, form, request.POST.get("proof") == "drop")
            version = _whole(request.POST.get("version", ""))
            done = services.edit_question(question_id=question.id, user=user, version=version, fields=fields)
            return _kept(request, done)
        except Refused as refused:
            form.say(refused)
        except Stale:
            stale = STALE
    return _form_page(request, form, question=question, stale=stale)


def _changed(question: Question, form: forms.QuestionForm, drop: bool) -> dict[str, Any]:
    """The fields that differ from what is stored."""
    wanted = form.fields_wanted(question) | ({"proof": None} if drop else {})
    return {name: value for name, value in wanted.items() if getattr(question, name) != value}


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _kept(request: HttpRequest, question: Question) -> HttpResponse:
    """Say what was kept, sign it where that was asked for, and go to the question."""
    messages.success(request, f"Question {question.number} is kept, as version {question.version}.")
    if request.POST.get("sign"):
        _sign(request, question.id, question.version)
    return redirect(f"{reverse('workspace', args=[question.video_id])}?question={question.id}")


def _sign(request: HttpRequest, id: UUID, version: int) -> None:
    try:
        services.sign_question(question_id=id, user=cast(User, request.user), version=version)
        messages.success(request, "You gave your word for its key.")
    except Refused as refused:
        messages.error(request, refused.sentence)
    except Stale:
        messages.error(request, "It was not signed: somebody changed it in the meantime. Look at it again.")


def _form_page(
    request: HttpRequest,
    form: forms.QuestionForm,
    *,
    project: Project | None = None,
    video: Video | None = None,
    question: Question | None = None,
    **more: Any,
) -> HttpResponse:
    if question is not None:
        project, video = question.project, question.video
    assert project is not None and video is not None
    context = {
        "form": form,
        "question": question,
        "video": video,
        "persons": sorted(form.numbers.values()),
        "next_version": question.version + 1 if question else 1,
        "sentence": queries.whole(question, cast(User, request.user))["sentence"] if question else "",
        "keep_proof": request.POST.get("proof", "keep") == "keep",
        "sign": request.POST.get("sign"),
        "clock": _clock_of(video, form),
        "new_id": uuid4(),
    }
    failed = bool(form.errors or more.get("stale"))
    return page(request, "bench/question_form.html", context | more, project=project, status=422 if failed else 200)


def _clock_of(video: Video, form: forms.QuestionForm) -> dict[str, float]:
    """Seconds of the frames that the texts name, for the preview."""
    frames = {int(word) for word in forms.FRAME_WORDS.findall(str(form["text"].value() or ""))}
    if not frames:
        return {}
    clock = wording.clock_from(wording.seconds_of(video))
    return {str(frame): round(clock(frame), 3) for frame in frames if frame <= video.frames}


# ---------------------------------------------------------------------------------------------------------------------
# The clip


@login_required
@require_safe
def clip(request: HttpRequest, clip_id: UUID) -> HttpResponseBase:
    """The cut clip; it never changes under its id, and it tells nothing of a key."""
    found = Clip.objects.select_related("video").filter(id=clip_id).first()
    if found is None:
        raise Http404("There is no such page, or it is not yours to see.")
    check(request.user, found.video.project_id, "view")
    if not found.ready:
        raise Http404("This clip is not cut yet.")
    name = f"{found.folder}/clip.mp4"
    return media.serve(request, name, "video/mp4", cache=media.PRIVATE_YEAR, cap=media.OPEN_RANGE)


# ---------------------------------------------------------------------------------------------------------------------
# Deciding


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
    return found.filter(number__gt=_whole(after)).first() or found.first()


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
        return _form_page(request, forms.QuestionForm.of(question, numbers=numbers), question=question, **again)
    form = forms.QuestionForm(request.POST, video=question.video, numbers=numbers)
    if form.is_valid():
        try:
            fields = _changed(question, form, request.POST.get("proof") == "drop")
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
    return _form_page(request, form, question=question, **again)
