"""Endpoints of the bench: the whole of it, lists, one question, the queue, answers, adjudication, work to ask for.

Blind by default: a question comes whole only to whoever saw its key already; `reveal` gives it and notes that.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404
from ninja import Router, Schema
from pydantic import Field

from webapp.accounts.access import project_for, require, role_in, video_for
from webapp.accounts.permissions import Role
from webapp.bench import answering, clips, listing, queries, requests, services, writing
from webapp.bench.access import may_see_keys, question_for
from webapp.bench.models import Question
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.lib.http import UserRequest
from webapp.library.models import Project

router = Router()


class SettingsIn(Schema):
    """Only what is given changes."""

    raters: int | None = None
    rendering: str | None = None
    blur_faces: bool | None = None
    pad_before_s: float | None = None
    pad_after_s: float | None = None
    quotas: list[dict[str, Any]] | None = None


class IdsIn(Schema):
    ids: list[UUID] = Field(default=[], max_length=services.MOST_AT_ONCE)
    reason: str = Field(default="", max_length=500)


class EditIn(Schema):
    version: int
    fields: dict[str, Any] = {}
    reason: str = Field(default="", max_length=500)


class VersionIn(Schema):
    version: int


class AnswerIn(Schema):
    id: UUID
    chosen: list[Any] = Field(default=[], max_length=30)
    special: str = Field(default="", max_length=20)
    seconds: float | None = None


class VerdictIn(Schema):
    id: UUID
    verdict: str = Field(max_length=20)
    reason: str = Field(max_length=4000)
    fields: dict[str, Any] | None = None


class WriteIn(Schema):
    video: UUID | None = None


class GenerateIn(Schema):
    video: UUID | None = None
    categories: list[str] = Field(default=[], max_length=100)
    most: int | None = None
    seed: int = 0


# ---------------------------------------------------------------------------------------------------------------------
# The bench


@router.get("/projects/{slug:slug}/bench")
def get_bench(request: UserRequest, slug: str) -> dict[str, Any]:
    project, role = _project(request, slug)
    return queries.dashboard(project, request.user, role)


@router.patch("/projects/{slug:slug}/bench")
def patch_bench(request: UserRequest, slug: str, wanted: SettingsIn) -> dict[str, Any]:
    project = project_for(request.user, slug, "question")
    changes = wanted.dict(exclude_unset=True)
    return queries.settings_row(services.configure(project=project, user=request.user, changes=changes))


@router.get("/projects/{slug:slug}/questions")
def list_questions(request: UserRequest, slug: str) -> dict[str, Any]:
    """The list of the bench page: q, state, category, difficulty, origin, source, stale, sort, after, before."""
    project, role = _project(request, slug)
    blind = not may_see_keys(role)
    page = listing.question_page(project, listing.Wanted.read(request.GET, blind=blind), blind=blind)
    return {
        "questions": listing.rows_of(page, request.user, blind=blind),
        "count": min(page.count, listing.COUNT_LIMIT),
        "more_than_counted": page.more_than_counted,
        "before": page.earlier,
        "after": page.later,
    }


@router.post("/projects/{slug:slug}/questions/open")
def open_questions(request: UserRequest, slug: str, wanted: IdsIn) -> dict[str, Any]:
    project = project_for(request.user, slug, "question")
    done = services.open_questions(project=project, user=request.user, ids=wanted.ids)
    return {"opened": [str(id) for id in done.opened], "refused": [list(pair) for pair in done.refused]}


@router.post("/projects/{slug:slug}/questions/discard")
def discard_questions(request: UserRequest, slug: str, wanted: IdsIn) -> dict[str, Any]:
    project = project_for(request.user, slug, "question")
    count = services.discard_questions(project=project, user=request.user, ids=wanted.ids, reason=wanted.reason)
    return {"discarded": count}


def _project(request: UserRequest, slug: str) -> tuple[Project, Role]:
    project = project_for(request.user, slug, "view")
    return project, role_in(request.user, project.id) or "viewer"


# ---------------------------------------------------------------------------------------------------------------------
# One question


@router.get("/videos/{uuid:video_id}/questions")
def questions_of_video(request: UserRequest, video_id: UUID) -> list[dict[str, Any]]:
    """The questions about a video, for its workspace: where they are and what is asked, without keys."""
    video = video_for(request.user, video_id, "view")
    return queries.of_video(video, role_in(request.user, video.project_id) or "viewer")


@router.get("/questions/{uuid:question_id}")
def get_question(request: UserRequest, question_id: UUID) -> dict[str, Any]:
    question, role = question_for(request.user, question_id, "view")
    return _shown(request, question, role)


@router.post("/questions/{uuid:question_id}/reveal")
def reveal(request: UserRequest, question_id: UUID) -> dict[str, Any]:
    """The question with its key. Whoever asks is never handed it to answer."""
    question, role = question_for(request.user, question_id, "view")
    if not queries.sees_key(question, role):
        require(role, "review")
    services.reveal(questions=[question], user=request.user)
    return _shown(request, question, role)


def _shown(request: UserRequest, question: Question, role: Role) -> dict[str, Any]:
    """Whole for whoever may see the key and is noted as having seen it, else blind."""
    standing = queries.standing(question, request.user, role)
    if standing["may_see_key"] and standing["key_seen"]:
        return queries.whole(question, request.user) | standing
    return queries.blind(question, request.user) | standing


@router.patch("/questions/{uuid:question_id}")
def edit_question(request: UserRequest, question_id: UUID, wanted: EditIn) -> dict[str, Any]:
    question, role = question_for(request.user, question_id, "question")
    edited = services.edit_question(
        question_id=question.id, user=request.user, version=wanted.version, fields=wanted.fields, reason=wanted.reason
    )
    return _shown(request, edited, role)


@router.post("/questions/{uuid:question_id}/sign")
def sign_question(request: UserRequest, question_id: UUID, wanted: VersionIn) -> dict[str, Any]:
    question, role = question_for(request.user, question_id, "question")
    signed = services.sign_question(question_id=question.id, user=request.user, version=wanted.version)
    return _shown(request, signed, role)


# ---------------------------------------------------------------------------------------------------------------------
# Answers

NONE_OPEN = "No question is open for answers now."
NONE_FOR_YOU = (
    "Every open question is answered, in other hands just now, or not for you: those you made or whose key you saw."
)


@router.post("/projects/{slug:slug}/bench/next")
def post_next(request: UserRequest, slug: str) -> dict[str, Any]:
    """A question to answer, leased for a while: {"question", "until", "left_s", "waiting"}; or {"question": null,
    "why"}. Asked again before it is answered, it is the same one.
    """
    project = project_for(request.user, slug, "annotate")
    lease = answering.next_item(project=project, user=request.user)
    if lease is None:
        some = Question.objects.filter(project=project, state=Question.State.ANSWERING).exists()
        return {"question": None, "why": NONE_FOR_YOU if some else NONE_OPEN}
    trouble = _have_clip(lease.question, services.bench_of(project))
    found = queries.task(lease) | {"waiting": answering.waiting(project=project, user=request.user)}
    if trouble:
        found["question"]["clip"] = {"ready": False, "error": trouble}
    return found


def _have_clip(question: Question, bench: Any) -> str:
    """See that the clip is there or being cut; a sentence where there can be none."""
    try:
        clips.ensure_clip(question=question, bench=bench)
    except Refused as refused:
        return refused.sentence
    return ""


@router.post("/questions/{uuid:question_id}/answer")
def post_answer(request: UserRequest, question_id: UUID, wanted: AnswerIn) -> dict[str, Any]:
    """Nothing of the answer's effect is told: not whether it is right, nor what others said."""
    question, _ = question_for(request.user, question_id, "annotate")
    kept = answering.answer(
        question_id=question.id,
        user=request.user,
        id=wanted.id,
        chosen=wanted.chosen,
        special=wanted.special,
        seconds=wanted.seconds,
    )
    return {"id": str(kept.id), "seconds": round(kept.seconds, 1)}


@router.post("/questions/{uuid:question_id}/give-back", response={204: None})
def give_back(request: UserRequest, question_id: UUID) -> Any:
    question, _ = question_for(request.user, question_id, "annotate")
    answering.give_back(question_id=question.id, user=request.user)
    return 204, None


@router.post("/questions/{uuid:question_id}/adjudicate")
def post_verdict(request: UserRequest, question_id: UUID, wanted: VerdictIn) -> dict[str, Any]:
    question, role = question_for(request.user, question_id, "review")
    said = answering.adjudicate(
        question_id=question.id,
        user=request.user,
        id=wanted.id,
        verdict=wanted.verdict,
        reason=wanted.reason,
        fields=wanted.fields,
    )
    after, _ = question_for(request.user, question_id, "review")
    return {"id": str(said.id), "question": _shown(request, after, role)}


# ---------------------------------------------------------------------------------------------------------------------
# Work


@router.post("/projects/{slug:slug}/bench/generate")
def post_generate(request: UserRequest, slug: str, wanted: GenerateIn) -> dict[str, Any]:
    project = project_for(request.user, slug, "question")
    video = None
    if wanted.video is not None:
        video = video_for(request.user, wanted.video, "question")
        if video.project_id != project.id:
            raise Http404("This video is not in that project.")
    job = requests.request_generation(
        project=project,
        user=request.user,
        video=video,
        categories=wanted.categories,
        most=wanted.most,
        seed=wanted.seed,
    )
    return _told(job)


@router.post("/projects/{slug:slug}/bench/write")
def post_write(request: UserRequest, slug: str, wanted: WriteIn) -> dict[str, Any]:
    """Have a model write questions, at the cost of the configured endpoint."""
    project = project_for(request.user, slug, "question")
    video = None
    if wanted.video is not None:
        video = video_for(request.user, wanted.video, "question")
        if video.project_id != project.id:
            raise Http404("This video is not in that project.")
    return _told(writing.request_writing(project=project, user=request.user, video=video))


@router.post("/projects/{slug:slug}/bench/prove")
def post_prove(request: UserRequest, slug: str) -> dict[str, Any]:
    project = project_for(request.user, slug, "question")
    return _told(requests.request_proofs_of_project(project=project, user=request.user))


@router.post("/projects/{slug:slug}/bench/agreement")
def post_agreement(request: UserRequest, slug: str) -> dict[str, Any]:
    project = project_for(request.user, slug, "question")
    return _told(requests.request_agreement(project=project, user=request.user))


def _told(job: Job) -> dict[str, Any]:
    return {"job": str(job.id)}
