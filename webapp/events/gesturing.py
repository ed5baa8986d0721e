"""Gestures that a detector found become proposals, beside those of the gaze rules and of other detectors.

    request_gestures   web: queue the job
    Snapshot.of        worker: whose tracks they are when detection begins
    settle             worker: the proposals against what is there, written as one edit, in one short transaction

The same rules as for gaze (see `derivation`): a human's word stands, a proposal that matches an event with one is
attached to it or let go, an untouched proposal that is found again keeps its id. A detector's run touches only its own
untouched proposals; what another detector proposed already gets it as a witness (see `witnesses`). Detection takes
minutes, in which people go on editing: whom a gesture belongs to is decided by the track it was seen on and by whose
track that is when the proposals are written; after that it follows its track (see `following`).
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pghistory
from django.db import transaction

from ml.endpoint import Config, NotConfigured
from webapp.accounts.models import User
from webapp.events import derivation, ledger, witnesses
from webapp.events.derivation import Outdated
from webapp.events.rows import Row
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import Person, Tracklet
from webapp.tracks.queries import roots_of

DETECTORS = ("rules", "mllm")
EDIT = "events.gestures"

Span = tuple[int, int, int]  # start, end, number of the person


def request_gestures(*, video: Video, user: User | None, detector: str = "rules") -> Job:
    """Queue a detection on the video's accepted run. Asked again while that job waits or runs, it is the same job."""
    if detector not in DETECTORS:
        raise Refused(f"There is no gesture detector {detector!r}; there is: {', '.join(DETECTORS)}.", "detector")
    if detector == "mllm":
        try:
            Config.from_environment()
        except NotConfigured as error:
            raise Refused(str(error), "detector") from error
    if video.state != Video.State.READY or not video.has_pixels:
        raise Refused("Gestures need a video with pictures whose import is done.", "video")
    if video.run is None:
        raise Refused("This video has no accepted run that says who is where; run perception first.", "video")
    parameters = {"detector": detector}
    with transaction.atomic():
        Video.objects.select_for_update(no_key=True).get(id=video.id)  # of two requests the second sees the first
        live = Job.objects.filter(video=video, kind="gestures", parameters=parameters, state__in=jobs.LIVE)
        return live.first() or jobs.create(
            project=video.project, kind="gestures", queue="gpu", video=video, parameters=parameters, user=user
        )


@dataclass(frozen=True)
class Snapshot:
    """Who is who when detection begins. `spans`: raw track -> stretches and the number of the person in each, which is
    the number of the person they were merged into."""

    run_id: uuid.UUID
    spans: dict[int, list[Span]]

    @classmethod
    def of(cls, video: Video) -> Snapshot:
        """Raises Refused when the video has no accepted run."""
        if video.run_id is None:
            raise Refused("This video has no accepted run that says who is where; run perception first.", "video")
        roots = roots_of(video)
        numbers = {str(p.id): p.number for p in Person.objects.filter(video=video)}
        spans: dict[int, list[Span]] = defaultdict(list)
        for t in Tracklet.objects.filter(run=video.run_id).order_by("track", "start"):
            spans[t.track].append((t.start, t.end, numbers[roots[str(t.person_id)]]))
        return cls(video.run_id, dict(spans))


def settle(
    *, video: Video, snapshot: Snapshot, about: Row, gestures: Sequence[Row], job: Job | None = None
) -> dict[str, int]:
    """Write what a detector found; how many proposals were added, changed, removed and attached to human events.

    `about`: the detector as `ml.perception.gestures.registry.describe` has it; `gestures`: rows of `Gesture` in persons
    of the snapshot. Raises Outdated when the video has another run meanwhile, and then nothing is written.
    """
    with transaction.atomic(), pghistory.context(user=None, why=EDIT, job=str(job.id) if job else None):
        locked = Video.objects.select_for_update(no_key=True).get(id=video.id)
        if locked.run_id != snapshot.run_id:
            raise Outdated
        proposals = proposed(locked, snapshot, about, gestures)
        wanted = witnesses.settled(proposals, derivation.known_events(locked, about["name"]), about["name"])
        changes = derivation.write(locked, wanted)
        if changes:
            ledger.record(video=locked, user=None, id=uuid.uuid4(), kind=EDIT, changes=changes)
        return {name: len(items) for name, items in wanted.items()}


# ---------------------------------------------------------------------------------------------------------------------
# From gestures to machine rows


def proposed(video: Video, snapshot: Snapshot, about: Row, gestures: Iterable[Row]) -> list[Row]:
    """Machine rows of gestures (see `events.models.Event`), sorted; those whose people are gone, or who turned out to
    be one person, are left out."""
    owners = Owners(video, snapshot)
    rows = [row for gesture in gestures if (row := machine_row(gesture, owners, about, snapshot)) is not None]
    return sorted(rows, key=lambda row: (row["start"], row["end"], row["type"], row["roles"]))


def machine_row(gesture: Row, owners: Owners, about: Row, snapshot: Snapshot) -> Row | None:
    start, end, target = gesture["start"], gesture["end"], gesture["target_person"]
    initiator = owners.of(gesture["initiator"], start, end)
    other = None if target is None else owners.of(target, start, end)
    if initiator is None or initiator == other or (target is not None and other is None):
        return None
    roles = [[initiator, "initiator"], *([[other, "target"]] if other else [])]
    box = gesture["initiator_box"]
    return {
        "type": gesture["type"],
        "start": start,
        "end": end,
        "confidence": round(float(gesture["confidence"]), 6),
        "roles": sorted(roles),
        "details": {
            **gesture["details"],
            "initiator_box": None if box is None else list(box),
            "target_kind": gesture["target_kind"],
            "target_description": gesture["target_description"],
        },
        "preset": f"{about['name']} {about['version']}",
        "detector": about["name"],
        "origin": about["origin"],
        "run": str(snapshot.run_id),
    }


class Owners:
    """Whose the numbers of a snapshot are now."""

    def __init__(self, video: Video, snapshot: Snapshot) -> None:
        roots = roots_of(video)
        self._now: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
        for t in Tracklet.objects.filter(run=snapshot.run_id):
            self._now[t.track].append((t.start, t.end, roots[str(t.person_id)]))
        self._then: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # number -> start, end, track
        for track, spans in snapshot.spans.items():
            for start, end, number in spans:
                self._then[number].append((start, end, track))

    def of(self, number: int, start: int, end: int) -> str | None:
        """Id of the person (the root of a merge) who has most of that number's track over [start, end) now."""
        shares: Counter[str] = Counter()
        for low, high, track in self._then[number]:
            for first, last, person in self._now[track]:
                shared = min(high, last, end) - max(low, first, start)
                if shared > 0:
                    shares[person] += shared
        return min(shares, key=lambda p: (-shares[p], p)) if shares else None
