"""The demo's second video: a drawn scene, brought from gaze file to a small released bench, so that no page is empty.

Everything goes through the services that pages use, as four made-up people whom nobody can log in as and whose names
say that they are simulated. Every step looks first whether it was done, so a start that was cut short is carried on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from rich.console import Console

from ml.formats import grasp_events, grasp_gestures
from ml.formats.hashing import sha256_of
from webapp.accounts import services as accounts
from webapp.accounts.models import LoginLink, Membership, User
from webapp.accounts.permissions import Role
from webapp.bench import answering, clips, releases, requests
from webapp.bench import services as bench
from webapp.bench.models import Adjudication, Answer, Clip, Question, Release
from webapp.events import gesturing, ledger
from webapp.events.models import AnnotationSet, Event
from webapp.library import services as library
from webapp.library.frames import frame_seconds
from webapp.library.models import Project, Video
from webapp.studio.errors import StudioError
from webapp.studio.follow import LOOK_S, bars, follow
from webapp.studio.management.commands.ingest import import_one
from webapp.studio.manifest import Entry
from webapp.tracks.models import Person

NAME = "Table talk (drawn).mp4"
PROVENANCE = {
    "source_recording": "Drawn by Sightline: ml.synthetic",
    "licence": "Apache-2.0",
    "consent_note": "Nobody: the people are drawn.",
}
NOTES = (
    "Made by the demo. The video is drawn, its events are what it was drawn from, and the raters and the lead are "
    "simulated: agreement and times say nothing about people."
)
PEOPLE: dict[str, tuple[str, Role]] = {
    "demo-curator": ("Demo curator (simulated)", "curator"),
    "demo-rater-1": ("Demo rater 1 (simulated)", "annotator"),
    "demo-rater-2": ("Demo rater 2 (simulated)", "annotator"),
    "demo-lead": ("Demo lead (simulated)", "reviewer"),
}
DRAWING = {"name": "drawing", "version": "1", "origin": "imported"}
NAMESPACE = UUID("9d1f6f5e-5a65-4c0e-8d5c-0d6b8f0e7c21")
SEED, MOST = 4, 96
ANSWERED, WAITING = 22, 6  # questions the raters answer, and those left for whoever looks at the demo
SAME_TIOU = 0.3
# What a rater says other than the key, by the place of the question among those opened
SLIPS: dict[str, dict[int, str]] = {
    "demo-rater-1": {17: "wrong"},
    "demo-rater-2": {3: "wrong", 9: "wrong", 14: "cannot_tell"},
}
VERDICTS = (  # of the lead, on the first disputed questions; the others wait
    ("accept", "The clip shows it clearly from start to end; the other answer names somebody who looks elsewhere."),
    ("reject", "The moment is too short to be judged by eye."),
)


@dataclass(frozen=True)
class Making:
    """What every step needs."""

    project: Project
    folder: Path  # the drawn video and its files
    people: dict[str, User]
    screen: Console
    look_after: Callable[[], None]

    @property
    def curator(self) -> User:
        return self.people["demo-curator"]

    def wait(self, job: Any) -> Any:
        return follow(job.id, self.screen, self.look_after).result


def is_there(project: Project) -> bool:
    return Release.objects.filter(project=project).exists()


def make(*, project: Project, folder: Path, screen: Console, look_after: Callable[[], None]) -> None:
    """Make what is not there yet. Raises StudioError, Refused or FormatError."""
    making = Making(project, folder, team(project), screen, look_after)
    screen.print("Making the demo bench: a drawn video, its events, questions, answers of simulated raters, a release")
    video = imported(making)
    mark(making, video)
    chosen = asked(making, video)
    open_some(making, chosen[:ANSWERED])
    answer_all(making, chosen[:ANSWERED])
    decide(making)
    open_some(making, chosen[ANSWERED:])  # only now, so that nobody simulated answers them
    cut_clips(making, chosen)
    making.wait(requests.request_agreement(project=project, user=making.curator))
    result = making.wait(releases.cut(project=project, user=making.curator, notes=NOTES, or_last=True))
    for user in making.people.values():
        accounts.set_active(user=user, active=False)
    screen.print(
        f"The demo bench is there: release {result['number']} and {WAITING} questions that wait for an answer."
    )


def team(project: Project) -> dict[str, User]:
    """The made-up people, without a password and without a link: nobody can log in as one of them."""
    found = {}
    for name, (shown, role) in PEOPLE.items():
        user = User.objects.filter(username=name).first()
        if user is None:
            user, _ = accounts.create_user(username=name, display_name=shown)
        LoginLink.objects.filter(user=user).delete()
        accounts.set_active(user=user, active=True)  # nobody deactivated has a role; again inactive at the end
        if not Membership.objects.filter(project=project, user=user).exists():
            accounts.add_member(project=project, username=name, role=role)
        found[name] = user
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Video, people, events


def imported(making: Making) -> Video:
    """The drawn video with its people and gaze, from the GRASP gaze file."""
    path = next(making.folder.glob("*.mp4"))
    video = library.twin_of(project=making.project, sha256=sha256_of(path))
    if video is None:
        video = import_one(making.project, Entry(path, NAME, PROVENANCE), making.screen, making.look_after)
    if video.run_id is None:
        from webapp.exchange import grasp_gaze

        grasp_gaze.import_file(path=_file(making, "gaze"), project=making.project, user=None, video=video)
    return Video.objects.select_related("project", "blob", "run").get(id=video.id)


def _file(making: Making, kind: str) -> Path:
    return next(making.folder.glob(f"*_{kind}.json"))


def mark(making: Making, video: Video) -> None:
    """Do what a reviewer would: confirm what happened with its span, reject what did not, say what is covered."""
    if AnnotationSet.objects.filter(video=video, kind="working", coverage__isnull=False).exists():
        return
    persons = {person.number: str(person.id) for person in Person.objects.filter(video=video)}
    gestures = grasp_gestures.parse(_file(making, "gestures").read_bytes()).gestures
    if not Event.objects.filter(video=video, modality="gesture").exists():
        rows = [_gesture_row(gesture) for gesture in gestures]
        gesturing.settle(video=video, snapshot=gesturing.Snapshot.of(video), about=DRAWING, gestures=rows)
    wanted = [*_gaze(grasp_events.parse(_file(making, "events").read_bytes()), persons), *_hands(gestures, persons)]
    _settle(making, video, wanted)
    for modality in ("gaze", "gesture"):
        fields: dict[str, Any] = {"persons": [], "modality": modality, "start": 0, "end": video.frames}
        _edit(making, video, "coverage.create", uuid5(NAMESPACE, f"{video.id} {modality}"), None, fields)


def _gesture_row(gesture: grasp_gestures.GestureRecord) -> dict[str, Any]:
    return {
        "type": gesture.gesture_type,
        "start": gesture.start_frame,
        "end": gesture.end_frame,
        "initiator": gesture.initiator_id,
        "target_person": gesture.target_person_id,
        "confidence": gesture.confidence,
        "initiator_box": None,
        "target_kind": gesture.target_type,
        "target_description": gesture.target_description,
        "details": {},
    }


def _gaze(file: grasp_events.EventsFile, persons: dict[int, str]) -> Iterable[dict[str, Any]]:
    for event in file.events:
        roles = {event.details.get("leader_id"): "leader", event.details.get("follower_id"): "follower"}
        who = sorted([persons[number], roles.get(number, "member")] for number in event.persons_involved)
        yield {"type": event.event_type, "start": event.start_frame, "end": event.end_frame, "participants": who}


def _hands(gestures: list[grasp_gestures.GestureRecord], persons: dict[int, str]) -> Iterable[dict[str, Any]]:
    for gesture in gestures:
        who = [[persons[gesture.initiator_id], "initiator"]]
        if gesture.target_person_id is not None:
            who.append([persons[gesture.target_person_id], "target"])
        start, end = gesture.start_frame, gesture.end_frame
        yield {"type": gesture.gesture_type, "start": start, "end": end, "participants": sorted(who)}


def _settle(making: Making, video: Video, wanted: list[dict[str, Any]]) -> None:
    """Every wanted event is confirmed, from the proposal that fits best where there is one; other proposals are
    rejected."""
    proposals = list(Event.objects.filter(video=video).prefetch_related("participations"))
    people = {event.id: _people(event) for event in proposals}
    done: set[UUID] = set()
    for position, fields in enumerate(wanted):
        same = [e for e in proposals if e.type == fields["type"] and people[e.id] == fields["participants"]]
        best = max((e for e in same if e.id not in done), key=lambda e: _tiou(e, fields), default=None)
        if best is not None and _tiou(best, fields) >= SAME_TIOU:
            done.add(best.id)
            if best.status != Event.Status.CONFIRMED:
                span = {"status": "confirmed", "start": fields["start"], "end": fields["end"]}
                _edit(making, video, "event.update", best.id, best.version, span)
        else:
            _edit(making, video, "event.create", uuid5(NAMESPACE, f"{video.id} {position}"), None, fields)
    for event in proposals:
        if event.id not in done and event.status == Event.Status.PROPOSED:
            _edit(making, video, "event.update", event.id, event.version, {"status": "rejected"})


def _people(event: Event) -> list[list[str]]:
    return sorted([str(part.person_id), part.role] for part in event.participations.all())


def _tiou(event: Event, fields: dict[str, Any]) -> float:
    shared = min(event.end, fields["end"]) - max(event.start, fields["start"])
    return max(0, shared) / (max(event.end, fields["end"]) - min(event.start, fields["start"]))


def _edit(making: Making, video: Video, kind: str, id: UUID, version: int | None, fields: dict[str, Any]) -> None:
    edit_id = uuid5(NAMESPACE, f"{kind} {id} {json.dumps(fields, sort_keys=True)}")  # the same edit is applied once
    ledger.apply_edit(
        video_id=video.id, user=making.curator, edit=ledger.EditRequest(edit_id, kind, id, version, fields)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Questions, answers, release


def asked(making: Making, video: Video) -> list[Question]:
    """Questions of all categories that the raters are asked, then those for whoever looks at the demo."""
    found = Question.objects.filter(project=making.project, video=video)
    if not found.exists():
        job = requests.request_generation(
            project=making.project, user=making.curator, video=video, most=MOST, seed=SEED
        )
        making.wait(job)
    return pick(list(found.filter(kind="single", stale=False).order_by("number")), ANSWERED + WAITING)


def open_some(making: Making, questions: list[Question]) -> None:
    """Open those that are drafts still. Raises StudioError for one whose proof does not stand."""
    drafts = Question.objects.filter(id__in=[question.id for question in questions], state=Question.State.DRAFT)
    ids = list(drafts.values_list("id", flat=True))
    done = bench.open_questions(project=making.project, user=making.curator, ids=ids)
    if done.refused:
        raise StudioError(f"Question {done.refused[0][0]} could not be opened: {done.refused[0][1]}")


def pick(questions: list[Question], count: int) -> list[Question]:
    """The first of every category, then the second of every category, and so on."""
    turn: dict[str, int] = {}
    ranked = []
    for question in questions:
        turn[question.category] = turn.get(question.category, -1) + 1
        ranked.append((turn[question.category], question.number, question))
    return [question for *_, question in sorted(ranked)[:count]]


def answer_all(making: Making, questions: list[Question]) -> None:
    """Both raters answer the first questions, each from the queue as a person does; a few answers are not the key."""
    place = {question.id: position for position, question in enumerate(questions)}
    for name, slips in SLIPS.items():
        user = making.people[name]
        while Answer.objects.filter(user=user, question__project=making.project).count() < min(
            ANSWERED, len(questions)
        ):
            lease = answering.next_item(project=making.project, user=user)
            if lease is None:
                break
            question = lease.question
            slip = slips.get(place.get(question.id, -1), "")
            special = slip if slip not in ("", "wrong") else ""
            chosen = [] if special else _choice(question, wrong=slip == "wrong")
            id = uuid5(NAMESPACE, f"{question.id} {question.round} {name}")
            answering.answer(question_id=question.id, user=user, id=id, chosen=chosen, special=special, seconds=None)
            making.look_after()


def _choice(question: Question, *, wrong: bool) -> list[str]:
    return [next(option["id"] for option in question.options if (option["id"] in question.key) != wrong)]


def decide(making: Making) -> None:
    """The lead decides the first disputed questions, with a reason."""
    lead = making.people["demo-lead"]
    decided = Adjudication.objects.filter(user=lead, question__project=making.project).count()
    disputed = Question.objects.filter(project=making.project, state=Question.State.DISPUTED).order_by("number")
    for (verdict, reason), question in zip(VERDICTS[decided:], disputed, strict=False):
        id = uuid5(NAMESPACE, f"{question.id} {question.round} verdict")
        answering.adjudicate(question_id=question.id, user=lead, id=id, verdict=verdict, reason=reason)


def cut_clips(making: Making, questions: list[Question]) -> None:
    """The clips of these questions, which raters watch and a release holds. Shown as one bar."""
    settings = bench.bench_of(making.project)
    rejected = Question.objects.filter(project=making.project, state=Question.State.REJECTED).values_list(
        "id", flat=True
    )
    seconds = frame_seconds(questions[0].video) if questions else None
    wanted = {
        clips.ensure_clip(question=question, bench=settings, user=making.curator, seconds=seconds).id
        for question in questions
        if question.id not in set(rejected)
    }
    mine = Clip.objects.filter(id__in=wanted)
    with bars(making.screen) as show:
        while (ready := mine.filter(ready=True).count()) < len(wanted):
            show("clips", ready / len(wanted))
            failed = mine.exclude(error="").first()
            if failed is not None:
                raise StudioError(f"A clip could not be cut: {failed.error}")
            making.look_after()
            time.sleep(LOOK_S)
        show("clips", 1.0)
