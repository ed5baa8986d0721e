"""Deriving events from corrected data, comparing them with what is there, and applying the difference.

    request_derivation   web: queue the job
    draft                worker: samples + tracklets + corrections -> ml.social -> proposals; slow, and locks nothing
    store                worker: how they differ from what is there, unless people or gaze were edited meanwhile
    apply                web or worker: write the difference, if the video is still at the same revision

A human's word stands: an event somebody confirmed, rejected, edited or made is never changed or removed. A proposal
that matches one (same type and roles, temporal IoU >= 0.5, with what it is now or with what the rules first proposed)
is attached to it instead of created. A proposal that matches an untouched one keeps that one's id.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pghistory
from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from webapp.accounts.models import User
from webapp.events import ledger, rows
from webapp.events.models import Derivation, Edit, Event, Participation
from webapp.events.rows import Row
from webapp.events.rules import modality_of
from webapp.events.services import Change
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Video
from webapp.tracks.models import Tracklet
from webapp.tracks.queries import roots_of

PRESETS = ("strict", "grasp-compat")
SAME_EVENT_TIOU = 0.5
TOLD = ("type", "start", "end", "roles")  # what makes a proposal another one; confidence and details follow along


class Outdated(Exception):
    """The video was edited since this was worked out, so that it no longer fits: work it out again."""


@dataclass(frozen=True)
class Draft:
    """What the rules say of a run and the video's people and corrections as of a revision; nothing is written yet."""

    run_id: uuid.UUID
    revision: int
    preset: str
    min_confidence: float | None
    proposals: list[Row]


GAZE = "gaze"  # what proposals of the gaze rules come from; a gesture's come from its detector (see `gesturing`)


@dataclass(frozen=True)
class Known:
    """An event that is there: what it is now, and what the rules said of it.

    `own`: nothing but what is compared now ever proposed it. Another source's event keeps that source's view: a
    proposal that matches it is let go, and it is never changed or removed.
    """

    id: str
    type: str
    start: int
    end: int
    roles: tuple[tuple[str, str], ...]
    human: bool
    machine: Row | None
    own: bool = True


def request_derivation(
    *, video: Video, user: User | None, preset: str = "strict", min_confidence: float | None = None
) -> Job:
    """Queue a derivation on the video's accepted run. Asked again while that job waits, the answer is the same job."""
    if preset not in PRESETS:
        raise Refused(f"There is no preset {preset!r}; there is: {', '.join(PRESETS)}.", "preset")
    if video.run is None:
        raise Refused("This video has no accepted run to derive events from.", "video")
    parameters = {"preset": preset, "min_confidence": min_confidence}
    with transaction.atomic():
        Video.objects.select_for_update(no_key=True).get(id=video.id)
        waiting = Job.objects.filter(video=video, kind="derive", parameters=parameters, state=Job.State.QUEUED)
        return waiting.first() or jobs.create(
            project=video.project, kind="derive", queue="cpu", video=video, parameters=parameters, user=user
        )


def rules_of(video: Video) -> tuple[str, float | None]:
    """Preset and least confidence the video's events were last derived with; strict without a floor at first."""
    last = Derivation.objects.filter(video=video).exclude(applied=None).order_by("-applied").first()
    return (last.preset, last.min_confidence) if last else ("strict", None)


# edits after which the rules may say something else
MOVING = (
    "person.merge",
    "person.split",
    "tracklet.assign",
    "identity.answer",
    "correction.create",
    "correction.update",
    "correction.delete",
)


def is_due(video: Video) -> bool:
    """Identity or gaze was edited since events were last derived."""
    if video.run_id is None:
        return False
    since = Edit.objects.filter(video=video, kind="events.derive").aggregate(last=Max("revision"))["last"] or 0
    return moved_since(video, since)


def moved_since(video: Video, revision: int) -> bool:
    """Identity or gaze was edited after a revision, so what the rules said then may no longer be so."""
    moved = Q(kind__in=MOVING) | Q(kind="undo", undoes__kind__in=(*MOVING, "undo"))
    return Edit.objects.filter(moved, video=video, revision__gt=revision).exists()


# ---------------------------------------------------------------------------------------------------------------------
# Difference


def difference(proposals: Sequence[Row], known: Sequence[Known]) -> dict[str, list[Any]]:
    """What changes when `proposals` (machine rows with type, start, end, roles, ...) replace the untouched ones.

    added: proposals; changed: {"id", "machine"}; removed: ids; attached: {"id", "machine"} for human events, where
    machine is None when the rules no longer support the event.
    """
    from ml.social.matching import match_events

    spans = Spans()
    free = list(range(len(proposals)))
    attached: dict[str, Row] = {}
    humans = [k for k in known if k.human]
    own = [k for k in humans if k.own]
    for now in (True, False):  # first what the event is now, then what the rules first proposed
        targets = [k for k in humans if k.id not in attached and (now or k.machine)]
        pairs = match_events(
            [spans.of(proposals[i]) for i in free], [spans.target(k, now) for k in targets], SAME_EVENT_TIOU
        )
        for new, old, _ in pairs:
            attached[targets[old].id] = proposals[free[new]]
        taken = {new for new, _, _ in pairs}
        free = [i for n, i in enumerate(free) if n not in taken]
    # what a human rejected, trimmed or re-roled does not come back beside itself
    free = [i for i in free if not any(_covers(k, proposals[i]) for k in humans)]
    untouched = [k for k in known if not k.human and k.own]
    pairs = match_events(
        [spans.of(proposals[i]) for i in free], [spans.target(k, True) for k in untouched], SAME_EVENT_TIOU
    )
    changed = [
        {"id": untouched[old].id, "machine": proposals[free[new]]}
        for new, old, _ in pairs
        if said(untouched[old].machine) != said(proposals[free[new]])
    ]
    kept, used = {old for _, old, _ in pairs}, {new for new, _, _ in pairs}
    return {
        "added": [proposals[i] for n, i in enumerate(free) if n not in used],
        "changed": changed,
        "removed": [k.id for n, k in enumerate(untouched) if n not in kept],
        "attached": [
            {"id": k.id, "machine": attached.get(k.id)} for k in own if said(attached.get(k.id)) != said(k.machine)
        ],
    }


def _covers(known: Known, proposal: Row) -> bool:
    """The rules' own earlier span of a human-touched event holds this proposal, with the same type and roles."""
    machine = known.machine
    if not machine or machine["type"] != proposal["type"] or sorted(machine["roles"]) != sorted(proposal["roles"]):
        return False
    return bool(machine["start"] <= proposal["start"] and proposal["end"] <= machine["end"])


def said(machine: Row | None) -> Row | None:
    """What a source says in a machine row, to be compared; None for nothing (any more)."""
    if machine is None or machine.get("gone"):
        return None
    told = {key: value for key, value in machine.items() if key not in ("stale", "gone", "run", "witnesses")}
    told["details"] = {key: value for key, value in machine.get("details", {}).items() if key != "also_found_by"}
    return told | {"roles": sorted(map(list, machine["roles"]))}


@dataclass(frozen=True)
class Span:
    """What is matched (see ml.social.matching); persons by number."""

    type: str
    start: int
    end: int
    roles: tuple[tuple[int, str], ...]


class Spans:
    """Turns rows into spans, giving each person id a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, machine: Row) -> Span:
        roles = tuple((self._numbers.setdefault(p, len(self._numbers)), r) for p, r in _roles(machine["roles"]))
        return Span(machine["type"], machine["start"], machine["end"], tuple(sorted(roles)))

    def target(self, known: Known, now: bool) -> Span:
        if now or known.machine is None:
            return self.of({"type": known.type, "start": known.start, "end": known.end, "roles": known.roles})
        return self.of(known.machine)


def _roles(pairs: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((str(person), str(role)) for person, role in pairs))


def source_of(machine: Row | None) -> str | None:
    """What proposed an event: `GAZE`, or the name of a gesture detector; None for one that nothing proposed."""
    return None if machine is None else str(machine.get("detector", GAZE))


def known_events(video: Video, source: str = GAZE) -> list[Known]:
    """The shared events that a source's proposals are compared with: those of its modality, and what it proposed
    before. Persons as their roots, so that a merge does not make events look new.
    """
    roots = roots_of(video)
    modality = Q(modality="gaze" if source == GAZE else "gesture")
    before = Q(machine__isnull=False) & (
        Q(machine__detector__isnull=True) if source == GAZE else Q(machine__detector=source)
    )
    found = Event.objects.filter(modality | before, video=video, set__kind__in=["proposal", "working"])
    found = found.select_related("set")
    return [
        Known(
            id=str(e.id),
            type=e.type,
            start=e.start,
            end=e.end,
            roles=_roles((roots[str(p.person_id)], p.role) for p in e.participations.all()),
            human=e.set.kind == "working",
            machine=e.machine and _rooted(e.machine, roots),
            own=source_of(e.machine) in ((None, source) if e.set.kind == "working" else (source,)),
        )
        for e in found.prefetch_related("participations").order_by("start", "id")
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Worker


def draft(*, video: Video, preset: str, min_confidence: float | None) -> Draft:
    """Let the rules read the accepted run. Takes seconds and reads files: workers only, and in no transaction.

    No lock is held, so saves go on: `store` looks whether one of them moved something.
    """
    from webapp.events import deriving

    seen = Video.objects.select_related("run", "blob").get(id=video.id)  # the revision first, then what it stands for
    if seen.run is None:
        raise Refused("This video has no accepted run to derive events from.", "video")
    tracklets = Tracklet.objects.filter(run=seen.run).values_list("track", "start", "end", "person_id")
    proposals = deriving.propose(
        video=seen,
        run=seen.run,
        tracklets=[(track, start, end, str(person)) for track, start, end, person in tracklets],
        roots=roots_of(seen),
        preset=preset,
        min_confidence=min_confidence,
    )
    return Draft(seen.run.id, seen.revision, preset, min_confidence, proposals)


def store(*, draft: Draft, video: Video, job: Job | None) -> Derivation:
    """Keep how a draft differs from the events that are there now. Short; call inside `atomic`. Raises Outdated."""
    locked = Video.objects.select_for_update(no_key=True).get(id=video.id)
    if locked.run_id != draft.run_id or moved_since(locked, draft.revision):
        raise Outdated
    Derivation.objects.filter(video=locked, applied=None).delete()
    return Derivation.objects.create(
        job=job,
        video=locked,
        run_id=draft.run_id,
        preset=draft.preset,
        min_confidence=draft.min_confidence,
        revision=locked.revision,
        difference=difference(draft.proposals, known_events(locked)),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Apply


def apply(*, derivation: Derivation, user: User | None) -> Edit:
    """Write the difference as one edit. Raises Stale when the video was edited since it was made."""
    with transaction.atomic(), pghistory.context(user=user.pk if user else None, why="events.derive"):
        video = Video.objects.select_for_update(no_key=True).get(id=derivation.video_id)
        derivation = Derivation.objects.select_for_update().get(id=derivation.id)
        if derivation.applied is not None or derivation.revision != video.revision:
            raise Stale(kind="derivation", id=str(derivation.id), base=derivation.revision, theirs=None)
        changes = write(video, derivation.difference)
        derivation.applied = timezone.now()
        derivation.save(update_fields=["applied"])
        Derivation.objects.filter(video=video, applied=None).delete()
        return ledger.record(video=video, user=user, id=uuid.uuid4(), kind="events.derive", changes=changes)


def write(video: Video, wanted: Row) -> list[Change]:
    """Write a difference; the caller holds the video's row lock and keeps the changes in the ledger."""
    return [
        *_add(video, wanted["added"]),
        *_change(video, wanted["changed"]),
        *_remove(video, wanted["removed"]),
        *_attach(video, wanted["attached"]),
    ]


def _add(video: Video, proposals: list[Row]) -> list[Change]:
    home = rows.set_of(video, "proposal")
    events = [
        Event(
            id=uuid.uuid4(),
            video=video,
            set=home,
            modality=modality_of(machine["type"]),
            type=machine["type"],
            start=machine["start"],
            end=machine["end"],
            confidence=machine["confidence"],
            details=machine["details"],
            machine=machine,
            origin=machine.get("origin", Event.Origin.RULE),
        )
        for machine in proposals
    ]
    Event.objects.bulk_create(events)
    Participation.objects.bulk_create(
        Participation(event=event, person_id=person, role=role)
        for event, machine in zip(events, proposals, strict=True)
        for person, role in machine["roles"]
    )
    return [("event", str(e.id), None, rows.event_row(e)) for e in _fetched([e.id for e in events])]


def _fetched(ids: list[Any]) -> list[Event]:
    found = Event.objects.filter(id__in=ids).select_related("set").prefetch_related("participations")
    return sorted(found, key=lambda e: (e.start, str(e.id)))


def _change(video: Video, items: list[Row]) -> list[Change]:
    machines = {item["id"]: item["machine"] for item in items}
    found = [e for e in _fetched(list(machines)) if e.set.kind == "proposal"]
    before = {str(e.id): rows.event_row(e) for e in found}
    roots = roots_of(video)
    for event in found:
        machine = _as_named(machines[str(event.id)], event, roots)
        assert machine is not None
        event.start, event.end, event.confidence = machine["start"], machine["end"], machine["confidence"]
        event.details, event.machine = machine["details"], machine
        event.version += 1
    Event.objects.bulk_update(found, ["start", "end", "confidence", "details", "machine", "version"])
    return [("event", str(e.id), before[str(e.id)], rows.event_row(e)) for e in found]


def _as_named(machine: Row | None, event: Event, roots: dict[str, str]) -> Row | None:
    """The proposal with the event's own words for people: somebody merged keeps the name the event has."""
    if machine is None:
        return None
    own = {(roots[str(p.person_id)], p.role): str(p.person_id) for p in event.participations.all()}
    return machine | {"roles": sorted([own.get((person, role), person), role] for person, role in machine["roles"])}


def _rooted(machine: Row, roots: dict[str, str]) -> Row:
    return machine | {"roles": sorted([roots.get(person, person), role] for person, role in machine["roles"])}


def _remove(video: Video, ids: list[str]) -> list[Change]:
    events = [e for e in _fetched(ids) if e.set.kind == "proposal"]
    changes: list[Change] = [("event", str(e.id), rows.event_row(e), None) for e in events]
    Event.objects.filter(id__in=[e.id for e in events], video=video).delete()
    return changes


def _attach(video: Video, items: list[Row]) -> list[Change]:
    """Tell human events what the rules say now; the human's own fields stay."""
    machines = {item["id"]: item["machine"] for item in items}
    found = _fetched(list(machines))
    before = {str(e.id): rows.event_row(e) for e in found}
    roots = roots_of(video)
    touched = []
    for event in found:
        machine, was = _as_named(machines[str(event.id)], event, roots), event.machine
        if machine is None:
            event.machine = was and was | {"gone": True, "stale": True}
        else:
            moved = was is not None and any(_rooted(was, roots)[name] != _rooted(machine, roots)[name] for name in TOLD)
            event.machine = machine | ({"stale": True} if moved else {})
        event.version += 1
        touched.append(event)
    Event.objects.bulk_update(touched, ["machine", "version"])
    return [("event", str(e.id), before[str(e.id)], rows.event_row(e)) for e in _fetched([e.id for e in touched])]
