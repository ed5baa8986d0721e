"""Rows for tests, made the short way."""

from __future__ import annotations

import uuid
from typing import Any

from webapp.events.ledger import EditRequest, apply_edit
from webapp.events.models import Edit, Event, Participation
from webapp.events.rows import set_of
from webapp.events.rules import modality_of
from webapp.library.models import Project, Video
from webapp.tracks.models import Person, Run, Tracklet


def make_video(project: Project, *, frames: int = 550, shots: tuple[int, ...] = (0, 150, 250), **more: Any) -> Video:
    values = {"name": "clip.mp4", "state": "ready", "width": 1280, "height": 720, "duration_s": frames / 25}
    return Video.objects.create(project=project, frames=frames, shots=list(shots), **(values | more))


def make_person(video: Video, **more: Any) -> Person:
    number = video.next_person
    Video.objects.filter(id=video.id).update(next_person=number + 1)
    video.next_person = number + 1
    return Person.objects.create(video=video, number=number, **more)


def make_run(video: Video, *, accepted: bool = True, **manifest: Any) -> Run:
    state = Run.State.ACCEPTED if accepted else Run.State.LAYER
    base = {"rate": 2, "tracks": [], "identity": [], "shots": [{"start": s} for s in video.shots]}
    run = Run.objects.create(video=video, profile="embedded", state=state, manifest=base | manifest)
    if accepted:
        video.run = run
        video.save(update_fields=["run"])
    return run


def make_tracklet(run: Run, person: Person, track: int, start: int, end: int) -> Tracklet:
    return Tracklet.objects.create(run=run, person=person, track=track, start=start, end=end)


def make_proposal(
    video: Video, type: str, start: int, end: int, roles: list[tuple[Person, str]], confidence: float = 0.8
) -> Event:
    """A proposal as the rules make it."""
    pairs = sorted([str(person.id), role] for person, role in roles)
    machine = {"type": type, "start": start, "end": end, "confidence": confidence, "roles": pairs, "details": {}}
    event = Event.objects.create(
        video=video,
        set=set_of(video, "proposal"),
        modality=modality_of(type),
        type=type,
        start=start,
        end=end,
        confidence=confidence,
        origin="rule",
        machine=machine | {"preset": "strict", "run": "r"},
    )
    Participation.objects.bulk_create(Participation(event=event, person=p, role=r) for p, r in roles)
    Video.objects.filter(id=video.id).update(proposed_count=Event.objects.filter(video=video).count())
    return event


def edit(video: Video, user: Any, kind: str, object: Any, version: int | None = None, /, **fields: Any) -> Edit:
    """Send one edit through the ledger."""
    wanted = EditRequest(uuid.uuid4(), kind, uuid.UUID(str(object)), version, fields)
    return apply_edit(video_id=video.id, user=user, edit=wanted)
