"""The one door for edits: idempotent by the page's edit id, checked by version, undoable, counted by revision.

All edits of a video pass one after another (the video's row is locked), so revisions have no gaps and a page that asks
for everything after revision N misses nothing. Edits of different objects never conflict: versions are per row.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pghistory
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from webapp.accounts.access import locked_video
from webapp.accounts.models import User
from webapp.events import following, rows, services
from webapp.events.models import Edit, Event
from webapp.events.services import Change, Fields
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Video
from webapp.tracks import editing

Handler = Callable[..., list[Change]]

HANDLERS: dict[str, Handler] = {
    "event.update": services.update_event,
    "event.delete": services.delete_event,
    "correction.update": services.save_correction,
    "coverage.update": services.save_coverage,
    "person.update": editing.update_person,
    "person.merge": editing.merge_person,
    "person.split": editing.split_person,
    "tracklet.assign": editing.assign_tracklet,
    "identity.answer": editing.answer_identity,
}
MOVING = ("person.merge", "person.split", "tracklet.assign", "identity.answer")  # of whom is who
KINDS = (
    *HANDLERS,
    "event.create",
    "correction.create",
    "correction.delete",
    "coverage.create",
    "coverage.delete",
    "undo",
)


# The edit and what it moves in the video's row, in one statement
RECORD = """
WITH counted AS (
    UPDATE library_video v
    SET revision = %(revision)s, doubted = %(doubted)s, proposed_count = %(proposed)s, reviewed_count = %(reviewed)s,
        person_count = CASE WHEN %(persons_changed)s
            THEN (SELECT count(*) FROM tracks_person p WHERE p.video_id = v.id AND p.merged_into_id IS NULL)
            ELSE person_count END
    WHERE id = %(video)s
)
INSERT INTO events_edit (id, video_id, user_id, kind, revision, changes, undoes_id, created)
VALUES (%(id)s, %(video)s, %(user)s, %(kind)s, %(revision)s, %(changes)s, %(undoes)s, %(created)s)
"""


Follower = Callable[[Video, str, list[Change]], None]
_followers: list[Follower] = []


def follow(follower: Follower) -> None:
    """Have a function called with the video, the kind and the changes of every edit, in the edit's transaction.

    The video's row is locked then and about to be written, `doubted` with it. It is on the path of every save: nothing
    slow, and nothing at all for most edits.
    """
    _followers.append(follower)


@dataclass(frozen=True)
class EditRequest:
    """One edit as the page sends it."""

    id: UUID
    kind: str
    object: UUID
    version: int | None
    fields: Fields


def apply_edit(*, video_id: UUID, user: User, edit: EditRequest) -> Edit:
    """Apply an edit, or find that it was applied already.

    Raises Stale (made from another version), Refused (makes no sense), with nothing changed; Http404 or
    PermissionDenied for somebody who may not annotate.

    An edit that was applied cannot be applied again: its id is taken, and most often the version has moved on, too.
    So a retried save is looked for only after it failed, and the others need not ask.
    """
    try:
        return _apply(video_id, user, edit)
    except (Stale, Refused, IntegrityError) as error:
        known = Edit.objects.filter(id=edit.id).first()
        if known is not None:
            if known.video_id != video_id or known.user_id != user.id:
                raise Refused("This edit id is taken.", "id") from error
            return known
        if isinstance(error, IntegrityError):  # something this edit names vanished, by an undo of somebody else's
            raise Refused("This edit names somebody or something that is no longer there.", "object") from error
        raise


def _apply(video_id: UUID, user: User, edit: EditRequest) -> Edit:
    with transaction.atomic(), pghistory.context(user=user.pk, edit=str(edit.id), why=edit.kind):
        video = locked_video(user, video_id, "annotate")
        undone = _undone(video, edit) if edit.kind == "undo" else None
        changes = _undo(video, user, undone) if undone else _dispatch(video, user, edit)
        if edit.kind in MOVING:
            changes += following.follow_tracks(video, changes)
        if undone:
            with connection.cursor() as cursor:  # a restored row may name a person who is gone: say so now
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        return record(video=video, user=user, id=edit.id, kind=edit.kind, changes=changes, undoes=undone)


def record(
    *, video: Video, user: User | None, id: UUID, kind: str, changes: list[Change], undoes: Edit | None = None
) -> Edit:
    """Write changes that were just made into the ledger; the caller holds the video's row lock."""
    video.revision += 1
    for proposed, reviewed in map(_counted, changes):
        video.proposed_count += proposed
        video.reviewed_count += reviewed
    edit = Edit(
        id=id,
        video=video,
        user=user,
        kind=kind,
        revision=video.revision,
        undoes=undoes,
        created=timezone.now(),
        changes=[{"kind": k, "id": i, "before": before, "after": after} for k, i, before, after in changes],
    )
    for follower in _followers:
        follower(video, kind, changes)
    values: dict[str, Any] = {
        "video": video.id,
        "revision": video.revision,
        "doubted": video.doubted,
        "proposed": video.proposed_count,
        "reviewed": video.reviewed_count,
        "persons_changed": any(kind == "person" for kind, _, _, _ in changes),
        "id": edit.id,
        "user": edit.user_id,
        "kind": kind,
        "changes": json.dumps(edit.changes),
        "undoes": edit.undoes_id,
        "created": edit.created,
    }
    with connection.cursor() as cursor:
        cursor.execute(RECORD, values)
    return edit


def comment(*, event: Event, user: User, id: UUID, text: str) -> None:
    """Say something about an event. A proposal somebody spoke about is kept, which is an edit of its own."""
    with transaction.atomic(), pghistory.context(user=user.pk, why="event.comment"):
        video = Video.objects.select_for_update(no_key=True).get(id=event.video_id)
        locked = rows.current("event", str(event.id), video)
        if locked is None:
            raise Refused("This event was deleted in the meantime.", "event")
        services.add_comment(event=locked, user=user, id=id, text=text)
        changes = services.keep(video=video, event=locked, user=user)
        if changes:
            record(video=video, user=user, id=uuid4(), kind="event.comment", changes=changes)


def _counted(change: Change) -> tuple[int, int]:
    """How a change moves the numbers of proposed and of reviewed events."""
    kind, _, before, after = change
    if kind != "event":
        return 0, 0
    proposed, reviewed = 0, 0
    for row, sign in ((before, -1), (after, 1)):
        if row is not None:
            waits = row["status"] == Event.Status.PROPOSED
            proposed += sign * waits
            reviewed += sign * (not waits)
    return proposed, reviewed


def _dispatch(video: Video, user: User, edit: EditRequest) -> list[Change]:
    thing, _, verb = edit.kind.partition(".")
    if edit.kind in HANDLERS:
        if edit.version is None:
            raise Refused("This edit needs the version it was made from.", "version")
        return HANDLERS[edit.kind](video=video, user=user, id=edit.object, version=edit.version, fields=edit.fields)
    if edit.kind == "event.create":
        return services.create_event(video=video, user=user, id=edit.object, fields=edit.fields)
    if edit.kind == "correction.create":
        return services.save_correction(video=video, user=user, id=edit.object, version=None, fields=edit.fields)
    if edit.kind == "coverage.create":
        return services.save_coverage(video=video, user=user, id=edit.object, version=None, fields=edit.fields)
    if thing in ("correction", "coverage") and verb == "delete":
        return services.delete_row(thing, video=video, id=edit.object, version=edit.version)
    raise Refused(f"{edit.kind!r} is not a kind of edit.", "kind")


# ---------------------------------------------------------------------------------------------------------------------
# Undo


def _undone(video: Video, edit: EditRequest) -> Edit:
    target = Edit.objects.filter(id=edit.object, video=video).first()
    if target is None:
        raise Refused("The edit to undo is not known here.", "object")
    if target.undone_by.exists():
        raise Refused("This edit was undone already.", "object")
    if target.kind == "run.accept":
        raise Refused("Accepting a run cannot be undone; run perception again or accept another run.", "object")
    return target


def _undo(video: Video, user: User, target: Edit) -> list[Change]:
    """Restore every row the edit changed; Stale when one of them is not as the edit left it.

    Versions are not compared: where a later edit was undone first, the row is at a newer version with the same content.
    """
    changes: list[Change] = []
    for change in reversed(target.changes):
        kind, id, before, after = change["kind"], change["id"], change["before"], change["after"]
        found = rows.current(kind, id, video)
        now = None if found is None else rows.ROW_OF[kind](found)
        if _content(now) != _content(after):
            raise Stale(kind=kind, id=id, base=after and after["version"], theirs=rows.public(now))
        if before is None:
            if kind == "person":
                editing.refuse_if_used(found)
            found.delete()
            changes.append((kind, id, now, None))
        else:
            if kind == "coverage":  # names people in a list, which no foreign key guards
                services.known_persons(video, before["persons"], "object")
            version = (now or before)["version"] + 1
            changes.append((kind, id, now, rows.restore(kind, video, before, version, user)))
    return changes


def _content(row: rows.Row | None) -> rows.Row | None:
    return None if row is None else {name: value for name, value in row.items() if name != "version"}


# ---------------------------------------------------------------------------------------------------------------------
# Answers


def answer(edit: Edit) -> dict[str, Any]:
    """What the page gets back, the same every time."""
    return {"id": str(edit.id), "revision": edit.revision, "changes": [public_change(c) for c in edit.changes]}


def public_change(change: dict[str, Any]) -> dict[str, Any]:
    return change | {"before": rows.public(change["before"]), "after": rows.public(change["after"])}


def conflict(stale: Stale, edit: EditRequest, video_id: UUID) -> dict[str, Any]:
    """Both versions, and who made the other one."""
    last = (
        Edit.objects.filter(video_id=video_id, changes__contains=[{"kind": stale.kind, "id": stale.id}])
        .select_related("user")
        .order_by("-revision")
        .first()
    )
    return {
        "id": str(edit.id),
        "conflict": {
            "kind": stale.kind,
            "id": stale.id,
            "base": stale.base,
            "theirs": stale.theirs,
            "mine": edit.fields,
            "by": last.user.shown_name if last and last.user else "the rules",
            "at": (last.created if last else timezone.now()).isoformat(),
        },
    }
