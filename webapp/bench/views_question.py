"""Pages about one question: writing and editing it, giving one's word for its key, deciding a dispute, its clip."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from ml.questions.draft import Draft
from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.access import check, project_for
from webapp.accounts.models import User
from webapp.accounts.pages import page
from webapp.bench import forms, queries, services, wording
from webapp.bench.access import question_for
from webapp.bench.models import Clip, Question
from webapp.lib.errors import Refused, Stale
from webapp.library import media
from webapp.library.models import Project, Video
from webapp.runs.queries import runs_that_saw
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
    return form_page(request, form, project=project, video=video)


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
        return form_page(request, forms.QuestionForm.of(question, numbers=numbers), question=question)
    form = forms.QuestionForm(request.POST, video=question.video, numbers=numbers)
    stale = ""
    if form.is_valid():
        try:
            fields = changed_fields(question, form, request.POST.get("proof") == "drop")
            version = whole_number(request.POST.get("version", ""))
            done = services.edit_question(question_id=question.id, user=user, version=version, fields=fields)
            return _kept(request, done)
        except Refused as refused:
            form.say(refused)
        except Stale:
            stale = STALE
    return form_page(request, form, question=question, stale=stale)


def changed_fields(question: Question, form: forms.QuestionForm, drop: bool) -> dict[str, Any]:
    """The fields that differ from what is stored."""
    wanted = form.fields_wanted(question) | ({"proof": None} if drop else {})
    return {name: value for name, value in wanted.items() if getattr(question, name) != value}


def whole_number(text: str) -> int:
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


def form_page(
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
        "seen_by": runs_that_saw(question) if question else [],
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
