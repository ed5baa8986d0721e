"""Reads of single questions and of the whole bench, blind where they must be.

Two forms of a question: `blind` (no key, values, proof, trace, round, answers; disputed looks like answering) and
`whole`. Whoever gets a whole one is noted as having seen the key (`services.reveal`). Lists (`listing`) hold no key for
anybody. Until a question is decided, nothing here tells a possible rater what others said of it.
"""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.access import role_in
from webapp.accounts.models import User
from webapp.accounts.permissions import Role
from webapp.bench import answering, clips, quotas, services, wording
from webapp.bench.access import may_see_keys
from webapp.bench.models import OVER, Adjudication, Answer, Lease, Question
from webapp.events.models import Event
from webapp.library.models import Project, Video

State = Question.State
DECIDED = (State.ACCEPTED, State.RESERVE, State.REJECTED, State.RETIRED)
OPEN = (State.ANSWERING, State.DISPUTED)
MOST_OF_VIDEO = 1000


def sees_key(question: Question, role: Role) -> bool:
    """Whether this role may have the whole question shown: it is decided, or they are reviewer or above."""
    return question.state in DECIDED or may_see_keys(role)


def public_state(question: Question, role: Role) -> str:
    """The state as this role may know it: that the raters disagree is for reviewers."""
    return State.ANSWERING if question.state == State.DISPUTED and not may_see_keys(role) else question.state


# ---------------------------------------------------------------------------------------------------------------------
# One question


def blind(question: Question, user: User, *, order: list[str] | None = None) -> dict[str, Any]:
    """A question without anything that tells its key. `order`: option ids as the reader's lease has them.

    Times in the text are the clip's; a fixed number of queries, and one file.
    """
    bench = services.bench_of(question.project)
    names = wording.names_of([question.video_id])
    seconds = wording.seconds_of(question.video)
    clip = question.clip
    span = (clip.start, clip.end) if clip else clips.clip_span(question=question, bench=bench, seconds=seconds)
    start, end = span
    clock = wording.clock_from(seconds, start)
    place = {id: n for n, id in enumerate(order or [])}
    options = sorted(question.options, key=lambda option: place.get(option["id"], 0))
    return {
        "id": str(question.id),
        "number": question.number,
        "category": question.category,
        "category_words": CATEGORIES[question.category].words,
        "difficulty": question.difficulty,
        "kind": question.kind,
        "text": wording.printed(question.text, names, clock),
        "options": [{"id": o["id"], "text": wording.printed(o["text"], names, clock)} for o in options],
        "state": public_state(question, role_in(user, question.project_id) or "viewer"),
        "stale": question.is_stale,
        "video": str(question.video_id),
        "video_name": question.video.name,
        "clip": wording.clip_row(clip),
        "clip_start": start,
        "clip_end": end,
        "clip_start_s": float(seconds[start]),
        "clip_end_s": float(seconds[end]),
        "rendering": bench.rendering,
    }


def task(lease: Lease) -> dict[str, Any]:
    """What a rater gets: the question blind, options in their own order, and how long the place is theirs."""
    left = (lease.until - timezone.now()).total_seconds()
    question = blind(lease.question, lease.user, order=lease.order)
    for told in ("state", "stale"):
        question.pop(told)
    return {"question": question, "until": lease.until.isoformat(), "left_s": round(max(0.0, left), 1)}


def whole(question: Question, user: User) -> dict[str, Any]:
    """Everything: what `blind` has and key, values, proof, its marks on the timeline, trace, answers, adjudications.

    Answers and adjudications come round by round; those of a round that still runs are for nobody.
    """
    row = blind(question, user)
    names = wording.names_of([question.video_id])
    seconds = wording.seconds_of(question.video)
    source = wording.clock_from(seconds)
    used = marks(question)
    values = {option["id"]: option.get("value") for option in question.options}
    return row | {
        "options": [option | {"value": values[option["id"]]} for option in row["options"]],
        "key": question.key,
        "letter": question.letter,
        "version": question.version,
        "round": question.round,
        "raw_text": question.text,
        "raw_options": question.options,
        "shown": wording.printed(question.text, names, source),
        "reasoning": wording.printed(question.reasoning, names, source),
        "raw_reasoning": question.reasoning,
        "proof": question.proof,
        "free_form": question.proof is None,
        "marks": used,
        "sentence": wording.sentence_of(used, names, source),
        "start": question.start,
        "end": question.end,
        "origin": question.origin,
        "template": question.template,
        "provenance": question.provenance,
        "signed_by": _name(question.signed_by),
        "created_by": _name(question.created_by),
        "doubted": question.doubted,
        "stale_why": question.stale_why,
        "answers": [_answer(each) for each in answers_of(question)],
        "adjudications": [_adjudication(each) for each in question.adjudications.select_related("user")],
        "names": names,
    }


def answers_of(question: Question) -> list[Answer]:
    """Answers of rounds that are over, oldest first."""
    found = question.answers.select_related("user").order_by("round", "created")
    return list(found.exclude(round=question.round) if question.state == State.ANSWERING else found)


def marks(question: Question) -> list[dict[str, Any]]:
    """The events a proof uses, as spans to mark on the timeline; those that are gone are left out."""
    used = [str(event) for event in (question.proof or {}).get("events", [])]
    found = Event.objects.filter(video=question.video_id, id__in=used).prefetch_related("participations")
    return [
        {
            "id": str(event.id),
            "modality": event.modality,
            "type": event.type,
            "start": event.start,
            "end": event.end,
            "participants": sorted([str(p.person_id), p.role] for p in event.participations.all()),
        }
        for event in found.order_by("start", "id")
    ]


def _name(user: User | None) -> str | None:
    return user.shown_name if user else None


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "id": str(answer.id),
        "round": answer.round,
        "user": _name(answer.user) or "somebody who left",
        "chosen": answer.chosen,
        "special": answer.special,
        "order": answer.order,
        "seconds": round(answer.seconds, 1),
        "created": answer.created.isoformat(),
    }


def _adjudication(said: Adjudication) -> dict[str, Any]:
    return {
        "id": str(said.id),
        "round": said.round,
        "user": _name(said.user) or "somebody who left",
        "verdict": said.verdict,
        "reason": said.reason,
        "created": said.created.isoformat(),
    }


def of_video(video: Video, role: Role) -> list[dict[str, Any]]:
    """A video's questions by number, as its workspace lists them: no keys. One query."""
    found = Question.objects.filter(video=video).exclude(state=State.REJECTED).order_by("number")[:MOST_OF_VIDEO]
    for question in found:
        question.video = video
    return [
        {
            "id": str(question.id),
            "number": question.number,
            "category": question.category,
            "category_words": CATEGORIES[question.category].words,
            "difficulty": question.difficulty,
            "kind": question.kind,
            "text": question.shown,
            "state": public_state(question, role),
            "stale": question.is_stale,
            "start": question.start,
            "end": question.end,
        }
        for question in found
    ]


# ---------------------------------------------------------------------------------------------------------------------
# The person and the question


def standing(question: Question, user: User, role: Role) -> dict[str, Any]:
    """What this person may do with the question: what the page's buttons go by."""
    answered = Answer.objects.filter(question=question, user=user).exists()
    seen = answering.has_seen(question, user)
    return {
        "may_see_key": sees_key(question, role),
        "key_seen": seen,
        "answered": answered,
        "may_adjudicate": question.state == State.DISPUTED and may_see_keys(role) and not answered,
    }


# ---------------------------------------------------------------------------------------------------------------------
# The bench


def dashboard(project: Project, user: User, role: Role) -> dict[str, Any]:
    """Counts by state and category, settings, quotas with what is missing, agreement: a fixed number of queries.

    Disputed questions count as answering for whoever may not see keys, and agreement is not for them. Letters are
    counted of released ones only. `agreement` is as `webapp.bench.agreeing` describes it.
    """
    bench = services.bench_of(project)
    tally = quotas.Tally.of(bench)
    by_state: dict[str, int] = dict.fromkeys(State.values, 0)
    by_category: dict[str, dict[str, int]] = {slug: {"accepted": 0, "open": 0, "draft": 0} for slug in CATEGORIES}
    for state, kind, n in tally.rows:
        shown = State.ANSWERING if state == State.DISPUTED and not may_see_keys(role) else state
        by_state[shown] += n
        column = "open" if state in OPEN else state
        if column in by_category[kind[0]]:
            by_category[kind[0]][column] += n
    return {
        "states": by_state,
        "categories": [
            {"slug": slug, "words": one.words, "group": one.group, "difficulty": one.difficulty, **by_category[slug]}
            for slug, one in CATEGORIES.items()
        ],
        "settings": settings_row(bench),
        "quotas": quotas.table(bench, tally),
        "agreement": bench.agreement if may_see_keys(role) else {},  # of few answers it would tell who disagreed
        "stale": stale_count(project),
        "waiting": answering.waiting(project=project, user=user),
    }


def stale_count(project: Project) -> int:
    """How many questions that are not over have no proof that stands; two queries."""
    found = Question.objects.filter(project=project)
    fallen = found.filter(stale=True).exclude(state__in=OVER).count()
    return fallen + found.in_doubt().filter(video__project=project).count()


def settings_row(bench: Any) -> dict[str, Any]:
    names = ("raters", "rendering", "blur_faces", "pad_before_s", "pad_after_s", "quotas")
    return {name: getattr(bench, name) for name in names}
