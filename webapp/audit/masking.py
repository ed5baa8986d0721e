"""Corrections of masks: one step is a stroke, a key or a propagation, touches up to `MOST_ROWS` masks, and is undone as
a whole.

What somebody draws is theirs alone (see `queries`): two raters correct the same mask without knowing. Ids come from the
client; each row carries the version it was made from. A step that is sent again is the same step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

import pghistory
from django.core.files.storage import default_storage
from django.db import transaction

from ml.formats.errors import FormatError
from webapp.accounts.models import User
from webapp.audit.models import Claim, Grounding, MaskEdit, MaskStep
from webapp.audit.rating import need_seat
from webapp.lib.errors import Refused, Stale

KINDS = ("brush", "polygon", "delete", "accept")
MOST_ROWS = 256
MOST_COUNTS = 200_000  # characters of one mask
MOST_SIDE = 1280  # as grounders count masks in: the picture, its longer side at most this
FIELDS = ("query", "object", "frame", "action", "origin", "size", "counts")


@dataclass(frozen=True)
class Wanted:
    """One mask of a step: its row's id, what it is of, and the version it was made from (None: there is none yet)."""

    id: UUID
    query: str
    object: int
    frame: int
    action: str
    version: int | None = None
    size: Sequence[int] = ()
    counts: str = ""


@dataclass(frozen=True)
class Stepped:
    """What a step did: the rows as they are now, ids of rows that are gone, and how many steps can be undone."""

    step: UUID | None
    edits: list[MaskEdit]
    gone: list[UUID]
    steps: int


def edit(*, claim: Claim, user: User, id: UUID, kind: str, edits: Sequence[Wanted], origin: str = "") -> Stepped:
    """Do one step. Raises Refused, and Stale with both versions when a mask was changed meanwhile (in another tab)."""
    if kind not in KINDS:
        raise Refused(f"There is no kind of step {kind!r}; there is: {', '.join(KINDS)}.", "kind")
    how = origin or (kind if kind in ("brush", "polygon") else MaskEdit.Origin.KEY)
    if not edits or len(edits) > MOST_ROWS:
        raise Refused(f"A step changes 1 to {MOST_ROWS} masks.", "edits")
    with transaction.atomic(), pghistory.context(user=user.pk, why=f"audit.mask.{kind}", step=str(id)):
        need_seat(claim.response, user)
        return _step(claim, user, id, kind, how, edits)


def _step(claim: Claim, user: User, id: UUID, kind: str, how: str, edits: Sequence[Wanted]) -> Stepped:
    known = MaskStep.objects.filter(id=id).first()
    if known is not None:
        if known.claim_id != claim.id or known.user_id != user.pk:
            raise Refused("This id is taken.", "id")
        return _as_now(known, claim, user)
    check(claim, edits)
    there = {_place(row): row for row in MaskEdit.objects.select_for_update().filter(claim=claim, user=user)}
    touched, log = [], []
    for wanted in edits:
        now = there.get((wanted.query, wanted.object, wanted.frame))
        if (now.version if now else None) != wanted.version:
            raise Stale(kind="mask", id=str(now.id if now else wanted.id), base=wanted.version, theirs=row_of(now))
        before = None if now is None else fields_of(now)
        if now is None:
            now = MaskEdit(id=wanted.id, claim=claim, video_id=claim.response.video_id, user=user)
            if MaskEdit.objects.filter(id=now.id).exists():
                raise Refused("This id is taken.", "edits")
            now.version = 0
        _set(now, wanted, how)
        touched.append(now)
        log.append([str(now.id), before, now.version])
    MaskStep.objects.create(id=id, claim=claim, user=user, kind=kind, rows=log)
    return Stepped(id, touched, [], steps_of(claim, user))


def _set(row: MaskEdit, wanted: Wanted, how: str) -> None:
    drawn = wanted.action == MaskEdit.Action.DRAW
    row.query, row.object, row.frame, row.action = wanted.query, wanted.object, wanted.frame, wanted.action
    row.origin = how
    row.size, row.counts = (list(wanted.size), wanted.counts) if drawn else ([], "")
    fresh = row.version == 0
    row.version += 1
    row.save(force_insert=fresh)


def _place(row: MaskEdit) -> tuple[str, int, int]:
    return row.query, row.object, row.frame


def fields_of(row: MaskEdit) -> dict[str, Any]:
    return {name: getattr(row, name) for name in FIELDS}


def check(claim: Claim, edits: Sequence[Wanted]) -> None:
    """Raises Refused for a mask that cannot be: another query than the claim's, a frame outside its clip, counts that
    are none of their size, one mask twice."""
    response = claim.response
    found = list(Grounding.objects.filter(claim=claim).values_list("queries", "provenance"))
    known = {query["id"] for queries, _ in found for query in queries}
    size = next((about["size"] for _, about in found if about.get("size")), None)
    places = set()
    for wanted in edits:
        if wanted.query not in known:
            raise Refused(f"The claim has no query {wanted.query[:60]!r}.", "edits")
        if not response.start <= wanted.frame < response.end:
            raise Refused(f"Frame {wanted.frame} lies outside the clip.", "edits")
        if wanted.action not in MaskEdit.Action.values:
            actions = ", ".join(MaskEdit.Action.values)
            raise Refused(f"There is no action {wanted.action!r}; there is: {actions}.", "edits")
        if not -(2**31) <= wanted.object < 2**31:
            raise Refused("The number of an object lies within 32 bits.", "edits")
        if (wanted.query, wanted.object, wanted.frame) in places:
            raise Refused("One step changes a mask once.", "edits")
        places.add((wanted.query, wanted.object, wanted.frame))
        if wanted.action == MaskEdit.Action.DRAW:
            check_counts(wanted, size)


def check_counts(wanted: Wanted, known: Sequence[int] | None) -> None:
    """`known`: the size of the claim's own masks, where it has some."""
    from ml.formats import coco_rle

    size = tuple(wanted.size)
    if len(size) != 2 or not all(isinstance(side, int) and 1 <= side <= MOST_SIDE for side in size):
        raise Refused(f"The size of a mask is [height, width] in pixels, at most {MOST_SIDE}.", "edits")
    if known is not None and list(size) != list(known):
        raise Refused(f"The masks of this claim are of {known[0]} x {known[1]} pixels.", "edits")
    if len(wanted.counts) > MOST_COUNTS or not wanted.counts.isascii():
        raise Refused(f"The run lengths of a mask are at most {MOST_COUNTS} ASCII characters.", "edits")
    try:
        coco_rle.check([wanted.counts.encode()], size)
    except FormatError as error:
        raise Refused(f"This mask cannot be read: {error}", "edits") from error


# ---------------------------------------------------------------------------------------------------------------------
# Undo


def undo(*, claim: Claim, user: User, named: UUID | None = None) -> Stepped:
    """Undo one's last step at a claim: its masks are as they were before it. Nothing to undo is no fault.

    `named`: the step that is meant, which must be the last; one that is undone already stays so, since a request whose
    answer was lost is sent again. Raises Refused, and Stale when a mask of the step was changed since.
    """
    with transaction.atomic(), pghistory.context(user=user.pk, why="audit.mask.undo"):
        need_seat(claim.response, user)
        steps = MaskStep.objects.select_for_update().filter(claim=claim, user=user, undone=False)
        step = steps.order_by("-created", "-id").first()
        undone = MaskStep.objects.filter(id=named, claim=claim, user=user, undone=True).first() if named else None
        if undone is not None:
            return _as_now(undone, claim, user)
        if named is not None and (step is None or step.id != named):
            raise Refused("This is not your last step at this claim.", "step")
        if step is None:
            return Stepped(None, [], [], 0)
        rows = {str(row.id): row for row in MaskEdit.objects.select_for_update().filter(claim=claim, user=user)}
        back, gone = [], []
        for id, before, version in step.rows:
            row = rows.get(id)
            if row is None or row.version != version:
                raise Stale(kind="mask", id=id, base=version, theirs=row_of(row))
            if before is None:
                gone.append(row.id)
                row.delete()
                continue
            for name, value in before.items():
                setattr(row, name, value)
            row.version += 1
            row.save()
            back.append(row)
        _tell_earlier(step, back)
        step.undone = True
        step.save(update_fields=["undone"])
        return Stepped(step.id, back, gone, steps_of(claim, user))


def _as_now(step: MaskStep, claim: Claim, user: User) -> Stepped:
    """For a request that is sent again: the masks the step touched as they are by now, and those that are gone."""
    ids = [UUID(row[0]) for row in step.rows]
    rows = list(MaskEdit.objects.filter(id__in=ids, claim=claim, user=user).order_by("query", "object", "frame"))
    there = {row.id for row in rows}
    return Stepped(step.id, rows, [id for id in ids if id not in there], steps_of(claim, user))


def _tell_earlier(step: MaskStep, rows: Sequence[MaskEdit]) -> None:
    """These rows are again what earlier steps made of them, with another version: their undo expects that one."""
    fresh = {str(row.id): row.version for row in rows}
    earlier = MaskStep.objects.filter(claim=step.claim_id, user=step.user_id, undone=False).exclude(id=step.id)
    for before in earlier.order_by("-created", "-id"):
        mine = fresh.keys() & {entry[0] for entry in before.rows}
        if mine:
            before.rows = [[id, was, fresh.get(id, version)] for id, was, version in before.rows]
            before.save(update_fields=["rows"])
            fresh = {id: version for id, version in fresh.items() if id not in mine}


def steps_of(claim: Claim, user: User) -> int:
    return MaskStep.objects.filter(claim=claim, user=user, undone=False).count()


# ---------------------------------------------------------------------------------------------------------------------
# Propagation by shape


def propagate(*, claim: Claim, user: User, id: UUID, query: str, object: int, frames: Sequence[int]) -> Stepped:
    """Fill frames between (or beside) one's drawn masks of an object from their shapes, as one step. Beside them a
    shape goes along with the machine's masks of the object, until it no longer fits.

    A heuristic (`ml.evidence.interpolate`): no pixel of the picture is looked at. Frames on which the person said
    something already stay as they are. Raises Refused without a drawn mask.
    """
    from ml.evidence.interpolate import filled

    wanted = sorted(set(frames))
    if not wanted or len(wanted) > MOST_ROWS:
        raise Refused(f"A step changes 1 to {MOST_ROWS} masks.", "frames")
    with transaction.atomic(), pghistory.context(user=user.pk, why="audit.mask.shapes", step=str(id)):
        need_seat(claim.response, user)
        mine = list(MaskEdit.objects.filter(claim=claim, user=user, query=query, object=object))
        if MaskStep.objects.filter(id=id).exists():
            return _step(claim, user, id, "shapes", MaskEdit.Origin.SHAPES, [])
        drawn = [row for row in mine if row.action == MaskEdit.Action.DRAW and row.origin != MaskEdit.Origin.SHAPES]
        if not drawn:
            raise Refused("Draw a mask of this object first.", "object")
        size = drawn[0].size
        if any(row.size != size for row in drawn):
            raise Refused("The drawn masks of this object are of different sizes.", "object")
        said = {row.frame for row in mine}
        open_frames = [frame for frame in wanted if frame not in said]
        keys = {row.frame: row.counts.encode() for row in drawn}
        machine, found_in = machine_masks(claim.id)
        same = machine if found_in is not None and list(found_in) == list(size) else {}
        follow = {frame: counts.encode() for (q, o, frame), counts in same.items() if (q, o) == (query, object)}
        shapes = filled(keys, open_frames, (size[0], size[1]), masks=follow) if open_frames else {}
        edits = [
            Wanted(uuid5(id, str(frame)), query, object, frame, "draw", None, size, counts.decode())
            for frame, counts in sorted(shapes.items())
        ]
        if not edits:
            raise Refused("There is nothing to fill on these frames.", "frames")
        return _step(claim, user, id, "shapes", MaskEdit.Origin.SHAPES, edits)


def machine_masks(claim: UUID) -> tuple[dict[tuple[str, int, int], str], Sequence[int] | None]:
    """The machine's masks of a claim by query, object and frame, and their size [height, width]. Raises Refused where
    their file is gone or damaged."""
    masks: dict[tuple[str, int, int], str] = {}
    size = None
    for grounding in Grounding.objects.filter(claim=claim).exclude(columns="").select_related("claim__response"):
        try:
            with default_storage.open(f"{grounding.claim.response.folder}/{grounding.columns}") as file:
                stored = json.load(file)
        except (FileNotFoundError, ValueError) as error:
            name = f"claim {grounding.claim.position} of response {grounding.claim.response.position}"
            raise Refused(f"The stored masks of {name} are gone or damaged.", "claim") from error
        keys = zip(stored["query"], stored["object"], stored["frame"], strict=True)
        masks.update(zip(keys, stored["counts"], strict=True))
        size = stored["size"]
    return masks, size


def row_of(row: MaskEdit | None) -> dict[str, Any] | None:
    """A correction as pages and conflicts have it."""
    if row is None:
        return None
    told: Mapping[str, Any] = fields_of(row)
    return {"id": str(row.id), "claim": str(row.claim_id), **told, "version": row.version}
