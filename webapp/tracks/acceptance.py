"""What accepting a run would do: which track is which person, and which human edits would no longer fit.

Runs in a worker (it reads both runs' samples). Everything slow happens before a lock is taken (`prepare`); the short
transaction that writes it looks whether the video was edited meanwhile, and raises Outdated where that matters.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, compress, product
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from ml.social import relink
from ml.social.relink import Boxes, Piece
from webapp.accounts.models import User
from webapp.events import derivation, deriving
from webapp.events.derivation import Draft, Outdated
from webapp.events.models import Edit, Event, GazeCorrection
from webapp.events.rules import words
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks import services
from webapp.tracks.models import IdentityProposal, Person, Run, Tracklet
from webapp.tracks.queries import roots_of
from webapp.tracks.samples import boxes_of
from webapp.tracks.services import Plan


def plan(*, video: Video, run: Run) -> Plan:
    """Compare a layer with the video's persons and human edits."""
    new = boxes_of(run)
    pieces = [Piece(t["track"], t["start"], t["end"]) for t in run.manifest["tracks"]]
    found: dict[Piece, str] = {}
    roots = roots_of(video)
    hand: set[int] = set()
    if video.run is not None:
        tracklets = list(Tracklet.objects.filter(run=video.run))
        hand = hand_cuts(tracklets)
        pieces = relink.cut_pieces(pieces, hand)
        found = relink.assign(new, pieces, boxes_of(video.run), pieces_by_person(tracklets, roots))
    identity = [(i["a"], i["b"], i["similarity"]) for i in run.manifest.get("identity", [])]
    same = [i["band"] == "same" for i in run.manifest.get("identity", [])]
    alike = without_refused(video, list(compress(identity, same)), found, roots)
    owner = relink.follow_faces(order_left_to_right(pieces, new), found, alike)
    rows = joined(sorted((p.track, p.start, p.end, key) for p, key in owner.items()), hand)
    return Plan(
        tracklets=rows,
        identity=asked(identity, owner),
        numbers=numbers_of(run, rows),
        conflicts=conflicts(video, rows, roots, [shot["start"] for shot in run.manifest["shots"]]),
    )


def asked(identity: list[tuple[int, int, float]], owner: Mapping[Piece, str]) -> list[tuple[str, str, float]]:
    """Two persons and the largest similarity of their faces, for all whose tracks `identity` finds alike at all."""
    owners: dict[int, set[str]] = defaultdict(set)
    for piece, key in owner.items():
        owners[piece.track].add(key)
    strongest: dict[tuple[str, str], float] = {}
    for a, b, similarity in identity:
        for one, other in product(owners[a], owners[b]):
            if one != other:
                pair = (min(one, other), max(one, other))
                strongest[pair] = max(similarity, strongest.get(pair, 0))
    return [(one, other, similarity) for (one, other), similarity in sorted(strongest.items())]


Row = tuple[int, int, int, str, bool]  # raw track, start, end, person key, cut by hand


def joined(pieces: list[tuple[int, int, int, str]], cuts: set[int]) -> list[Row]:
    """Neighbouring pieces of one track and person are one tracklet again. `pieces`: (track, start, end, key) sorted.

    Pieces that stay apart at a frame of `cuts` keep saying that a human cut there: the next run is cut there, too.
    """
    result: list[Row] = []
    for track, start, end, key in pieces:
        last = result[-1] if result else None
        touches = last is not None and last[0] == track and last[2] == start
        if last is not None and touches and last[3] == key:
            result[-1] = (track, last[1], end, key, last[4])
        elif last is not None and touches and start in cuts:
            result[-1] = (*last[:4], True)
            result.append((track, start, end, key, True))
        else:
            result.append((track, start, end, key, False))
    return result


def numbers_of(run: Run, rows: list[Row]) -> dict[str, int]:
    """New person key -> the number an imported file has for the person; empty for perception, which has none."""
    named = {track["track"]: track["number"] for track in run.manifest["tracks"] if "number" in track}
    return {key: named[track] for track, _, _, key, _ in rows if key.startswith("new-") and track in named}


def hand_cuts(tracklets: list[Tracklet]) -> set[int]:
    """Frames at which a human cut a raw track in two."""
    by_track: dict[int, list[Tracklet]] = defaultdict(list)
    for tracklet in tracklets:
        by_track[tracklet.track].append(tracklet)
    return {t.start for parts in by_track.values() if len(parts) > 1 for t in parts if t.human}


def pieces_by_person(tracklets: list[Tracklet], roots: Mapping[str, str]) -> dict[str, list[Piece]]:
    persons: dict[str, list[Piece]] = defaultdict(list)
    for t in tracklets:
        persons[roots[str(t.person_id)]].append(Piece(t.track, t.start, t.end))
    return persons


def order_left_to_right(pieces: list[Piece], boxes: Boxes) -> list[Piece]:
    """Pieces by shot entry and then from left to right, so that numbers read as the eye does."""
    first, last = relink.rows_of(boxes, relink.spans_of(pieces))
    left = [float(boxes.by_track.box[a, 0]) if a < b else 0.0 for a, b in zip(first, last, strict=True)]
    places = dict(zip(pieces, left, strict=True))
    return sorted(pieces, key=lambda piece: (piece.start, places[piece]))


def without_refused(
    video: Video, alike: list[tuple[int, int, float]], found: Mapping[Piece, str], roots: Mapping[str, str]
) -> list[tuple[int, int, float]]:
    """Faces a human called different stay different, however alike a new run finds them."""
    refused = {
        frozenset((roots[str(p.first_id)], roots[str(p.second_id)]))
        for p in IdentityProposal.objects.filter(video=video, state=IdentityProposal.State.DIFFERENT)
    }
    by_track: dict[int, set[str]] = defaultdict(set)
    for piece, person in found.items():
        by_track[piece.track].add(person)

    def clash(a: int, b: int) -> bool:
        return any(frozenset((x, y)) in refused for x in by_track[a] for y in by_track[b])

    return [pair for pair in alike if not clash(pair[0], pair[1])]


# ---------------------------------------------------------------------------------------------------------------------
# Human edits that no longer fit


def conflicts(video: Video, rows: list[Row], roots: Mapping[str, str], shots: list[int]) -> list[dict[str, Any]]:
    """One entry for each human edit about somebody the new run does not see there: {sentence, kind, id, frame}."""
    seen: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for _, start, end, key, _ in rows:
        seen[key].append((start, end))
    names = {str(p.id): str(p) for p in Person.objects.filter(video=video)}
    starts = {key: [start for start, _ in sorted(spans)] for key, spans in seen.items()}
    reach = {key: list(accumulate((end for _, end in sorted(spans)), max)) for key, spans in seen.items()}

    def visible(person: str, start: int, end: int) -> bool:
        """Whether a span that begins before `end` lasts beyond `start`."""
        root = roots[person]
        begun = bisect_left(starts.get(root, []), end)
        return begun > 0 and reach[root][begun - 1] > start

    return [
        *_lost_people(video, seen, roots, names),
        *_lost_events(video, visible, names, shots),
        *_lost_corrections(video, visible, names),
    ]


def _lost_people(video: Video, seen: Any, roots: Mapping[str, str], names: Mapping[str, str]) -> list[dict[str, Any]]:
    had = Tracklet.objects.filter(run=video.run).select_related("person").order_by("start")
    first: dict[str, int] = {}
    touched: set[str] = set()
    for tracklet in had:
        root = roots[str(tracklet.person_id)]
        first.setdefault(root, tracklet.start)
        if tracklet.human or tracklet.person.name or tracklet.person.version > 1:
            touched.add(root)
    return [
        {
            "sentence": f"{names[person]}, whom you named, merged or split, is not found by this run.",
            "kind": "person",
            "id": person,
            "frame": first[person],
        }
        for person in sorted(touched, key=lambda p: first[p])
        if not seen[person]
    ]


def _lost_events(video: Video, visible: Any, names: Mapping[str, str], shots: list[int]) -> list[dict[str, Any]]:
    spoken = (
        Event.objects.filter(video=video)
        .exclude(set__kind="proposal")
        .exclude(status=Event.Status.REJECTED)
        .prefetch_related("participations")
        .order_by("start")
    )
    found = []
    for event in spoken:
        what = f"{words(event.type).capitalize()} at frames {event.start}-{event.end - 1}"
        people = {str(p.person_id) for p in event.participations.all()}
        gone = sorted(names[p] for p in people if not visible(p, event.start, event.end))
        crossed = shots[bisect_right(shots, event.start) : bisect_left(shots, event.end)]
        faults = [f"this run does not see {' and '.join(gone)} there"] if gone else []
        faults += [f"this run finds a cut at frame {crossed[0]}"] if crossed else []
        if faults:
            found.append(
                {
                    "sentence": f"{what}: {', and '.join(faults)}.",
                    "kind": "event",
                    "id": str(event.id),
                    "frame": event.start,
                }
            )
    return found


def _lost_corrections(video: Video, visible: Any, names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "sentence": f"Corrected gaze of {names[str(c.person_id)]} at frames {c.start}-{c.end - 1}: this run does "
            "not see that person there.",
            "kind": "correction",
            "id": str(c.id),
            "frame": c.start,
        }
        for c in GazeCorrection.objects.filter(video=video).order_by("start", "id")
        if not visible(str(c.person_id), c.start, c.end)
    ]


# ---------------------------------------------------------------------------------------------------------------------
# What happens to a finished run


@dataclass(frozen=True)
class Prepared:
    """What a run would change, worked out without a lock as of a revision of the video.

    `people`: ids that the plan's new persons get. `draft`: the run's events; None for a run that will wait.
    """

    run_id: UUID
    plan: Plan
    revision: int
    people: dict[str, UUID]
    draft: Draft | None


def prepare(*, run: Run, accepting: bool) -> Prepared:
    """Compare a run with the video and, if it is to be accepted, derive its events. Takes seconds: in no transaction.

    The run need not be in the database yet; its files are stored.
    """
    video = Video.objects.select_related("run", "blob").get(id=run.video_id)  # the revision first, then the rest
    made = plan(video=video, run=run)
    people = {key: uuid4() for key in {row[3] for row in made.tracklets} if key.startswith("new-")}
    if not accepting:
        return Prepared(run.id, made, video.revision, people, None)
    preset, floor = derivation.rules_of(video)
    proposals = deriving.propose(
        video=video,
        run=run,
        tracklets=[(track, start, end, str(people.get(key, key))) for track, start, end, key, _ in made.tracklets],
        roots=roots_of(video) | {str(person): str(person) for person in people.values()},
        preset=preset,
        min_confidence=floor,
    )
    return Prepared(run.id, made, video.revision, people, Draft(run.id, video.revision, preset, floor, proposals))


def is_edited(video_id: UUID) -> bool:
    """Whether a human has edited anything in the video."""
    return Edit.objects.filter(video=video_id, user__isnull=False).exists()


Write = Callable[[Callable[[], None]], None]  # does a short piece of writing in a transaction of its own


def at_once(piece: Callable[[], None]) -> None:
    with transaction.atomic(durable=True):
        piece()


def settle(*, run: Run, user: User | None, write: Write = at_once) -> bool:
    """Compare a finished run with the video, and accept it at once while no human has edited anything, with its events.
    Otherwise it waits for a human. Says whether it was accepted.
    """
    while run.state == Run.State.LAYER:
        prepared = prepare(run=run, accepting=not is_edited(run.video_id))
        try:
            write(partial(_conclude, prepared, user))
            break
        except Outdated:
            run = Run.objects.filter(id=run.id).first() or run
    return Run.objects.filter(id=run.id, state=Run.State.ACCEPTED).exists()


def accept(*, run: Run, user: User | None, write: Write = at_once) -> None:
    """Accept a layer with its events, comparing again when the video was edited meanwhile.

    Raises Refused when edits no longer fit that the person who accepted cannot have seen: the new report is kept, to be
    looked at before accepting again.
    """
    while True:
        prepared = prepare(run=run, accepting=True)
        unseen = _unseen(prepared.plan.conflicts, run.report.get("conflicts", []))
        if unseen and run.report.get("revision") != prepared.revision:
            services.save_report(run=run, plan=prepared.plan, revision=prepared.revision)
            raise Refused(
                f"The video was edited since this run was compared with it, and {unseen} more edits no longer "
                "fit. Look at them and accept again.",
                "run",
            )
        try:
            return write(partial(_accept, prepared, user))
        except Outdated:
            run.refresh_from_db()


def _conclude(prepared: Prepared, user: User | None) -> None:
    run, video = _locked(prepared)
    _report(prepared, run, video)
    if prepared.draft is not None and not is_edited(video.id):
        _take(prepared, prepared.draft, run, user)


def _accept(prepared: Prepared, user: User | None) -> None:
    run, video = _locked(prepared)
    if run.state != Run.State.LAYER:  # somebody else accepted it, or another in its place
        return
    assert prepared.draft is not None
    _report(prepared, run, video)
    _take(prepared, prepared.draft, run, user)


def _locked(prepared: Prepared) -> tuple[Run, Video]:
    run = Run.objects.get(id=prepared.run_id)
    return run, Video.objects.select_for_update(no_key=True).get(id=run.video_id)


def _report(prepared: Prepared, run: Run, video: Video) -> None:
    """Keep the report, brought up to the locked video's revision.

    Edits that move nobody and no gaze change only which human edits fit. Raises Outdated after others, and where edits
    no longer fit that the report does not list.
    """
    made = prepared.plan
    if video.revision != prepared.revision:
        if derivation.moved_since(video, prepared.revision) or _run_changed(video, prepared.revision):
            raise Outdated
        now = conflicts(video, made.tracklets, roots_of(video), [shot["start"] for shot in run.manifest["shots"]])
        if _unseen(now, made.conflicts):
            raise Outdated
        made = replace(made, conflicts=now)
    services.save_report(run=run, plan=made, revision=video.revision)


def _run_changed(video: Video, revision: int) -> bool:
    return Edit.objects.filter(video=video, kind="run.accept", revision__gt=revision).exists()


def _take(prepared: Prepared, draft: Draft, run: Run, user: User | None) -> None:
    """Accept the run by its report, and write its events. Raises Outdated."""
    if derivation.rules_of(run.video) != (draft.preset, draft.min_confidence):
        raise Outdated
    services.accept_run(run=run, user=user, people=prepared.people)
    found = derivation.store(draft=draft, video=run.video, job=None)
    derivation.apply(derivation=found, user=None)


def _unseen(now: list[dict[str, Any]], shown: list[dict[str, Any]]) -> int:
    """How many conflicts are not among those shown."""
    known = {(c["kind"], c["id"]) for c in shown}
    return sum((c["kind"], c["id"]) not in known for c in now)
