"""Reads for the workspace: the bundle a page opens with, what changed since, and one event with its story."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Func, IntegerField, Sum

from webapp.accounts.access import allowed
from webapp.accounts.models import User
from webapp.events import derivation, rows
from webapp.events.columns import events_json
from webapp.events.ledger import KINDS, public_change
from webapp.events.models import (
    GAZE_TYPES,
    GESTURE_TYPES,
    Coverage,
    Derivation,
    Edit,
    Event,
    GazeCorrection,
    Participation,
)
from webapp.library.models import Project, Video
from webapp.tracks import masks
from webapp.tracks.models import IdentityProposal, Person, Run, Tracklet

# the page asks for a fresh bundle instead of more changes than this, in one edit or in many
MANY_CHANGES = 500


def bundle_json(video: Video, user: User) -> str:
    """Everything the workspace needs but samples and frame times, as JSON: a fixed number of queries."""
    text = json.dumps(_without_events(video, user), separators=(",", ":"))
    return f'{text[:-1]},"events":{events_json(video.id)}}}'


def _without_events(video: Video, user: User) -> dict[str, Any]:
    return {
        "video": {
            "id": str(video.id),
            "name": video.name,
            "project": {"slug": video.project.slug, "name": video.project.name},
            "width": video.width,
            "height": video.height,
            "frames": video.frames,
            "duration_s": video.duration_s,
            "has_audio": video.has_audio,
            "has_pixels": video.has_pixels,
            "state": video.state,
            "revision": video.revision,
            "warnings": video.warnings,
            "shots": video.shots,
        },
        "run": run_summary(video.run),
        "persons": [rows.person_row(p) for p in Person.objects.filter(video=video)],
        "tracklets": tracklet_columns(video.run),
        "corrections": [rows.correction_row(c) for c in GazeCorrection.objects.filter(video=video)],
        "coverage": [rows.coverage_row(c) for c in Coverage.objects.filter(video=video).order_by("start")],
        "identity": [rows.identity_row(i) for i in IdentityProposal.objects.filter(video=video)],
        "me": {"id": user.id, "name": user.shown_name, "actions": allowed(user, video.project_id)},
        "derivation": newest_derivation(video),
        "rederive": derivation.is_due(video),
        "moving": derivation.MOVING,
        "layers": layers(video),
    }


def run_summary(run: Run | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "id": str(run.id),
        "profile": run.profile,
        "rate": run.manifest.get("rate"),
        "tracking_rate": run.manifest.get("tracking_rate"),
        "backends": run.manifest.get("backends", []),
        "notes": run.manifest.get("notes", []),
        "masks": masks.about(run),
        "identity": run.manifest.get("identity", []),
        "tracks_url": f"/v/{run.video_id}/runs/{run.id}/tracks.bin",
        "ribbon_url": f"/v/{run.video_id}/runs/{run.id}/ribbon.bin",
    }


def _columns(names: list[str], records: Any) -> dict[str, list[Any]]:
    columns = list(zip(*records, strict=True)) or [()] * len(names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def tracklet_columns(run: Run | None) -> dict[str, list[Any]]:
    names = ["id", "track", "start", "end", "person", "human", "version"]
    found = Tracklet.objects.filter(run=run).order_by("start", "track")
    columns = _columns(names, found.values_list("id", "track", "start", "end", "person_id", "human", "version"))
    columns["id"] = [str(i) for i in columns["id"]]
    columns["person"] = [str(i) for i in columns["person"]]
    return columns


def newest_derivation(video: Video) -> dict[str, Any] | None:
    found = Derivation.objects.filter(video=video, applied=None).order_by("-created").first()
    if found is None or found.revision != video.revision or not any(found.difference.values()):
        return None
    return {
        "id": str(found.id),
        "revision": found.revision,
        "counts": {name: len(items) for name, items in found.difference.items()},
    }


def layers(video: Video) -> list[dict[str, Any]]:
    """Runs that wait for acceptance, newest first."""
    waiting = Run.objects.filter(video=video, state=Run.State.LAYER).order_by("-created")[:20]
    return [
        {
            "id": str(run.id),
            "profile": run.profile,
            "created": run.created.isoformat(),
            "conflicts": len(run.report.get("conflicts", [])),
        }
        for run in waiting
    ]


def changes_since(video: Video, revision: int) -> dict[str, Any]:
    """Edits after a revision, oldest first; `reload` when a fresh bundle is cheaper or a whole run changed.

    How much it would be is counted by the database: an edit may hold thousands of changes.
    """
    later = Edit.objects.filter(video=video, revision__gt=revision).order_by("revision")
    length = Func(F("changes"), function="jsonb_array_length", output_field=IntegerField())
    sizes = list(later.annotate(size=length).values_list("kind", "size")[: MANY_CHANGES + 1])
    if len(sizes) > MANY_CHANGES or sum(size for _, size in sizes) > MANY_CHANGES or "run.accept" in dict(sizes):
        return {"revision": video.revision, "reload": True, "edits": []}
    found = later.select_related("user")[: len(sizes)]
    return {
        "revision": video.revision,
        "reload": False,
        "edits": [
            {
                "id": str(e.id),
                "kind": e.kind,
                "revision": e.revision,
                "user": e.user.shown_name if e.user else "the rules",
                "created": e.created.isoformat(),
                "changes": [public_change(c) for c in e.changes],
            }
            for e in found
        ],
    }


UNDO_DEPTH = 30


def undoable(video: Video, user: User) -> dict[str, Any]:
    """The person's own last edits that can be taken back (`done`) and undos that can be done again (`undone`), as rows
    {"id", "kind", "changes"}, each list with the newest last: what a page's undo stack held before it was reloaded.

    `kind` of an undo is that of the edit it goes back to in the end. An edit of other kinds than a page makes (accepted
    runs, derived events) is nothing to take back by a key.
    """
    newest = Edit.objects.filter(video=video, user=user, kind__in=KINDS).order_by("-revision")[: 4 * UNDO_DEPTH]
    done: list[tuple[Edit, str]] = []
    undone: list[tuple[Edit, str]] = []
    for edit in reversed(newest):
        if edit.kind != "undo":
            done.append((edit, edit.kind))
            undone = []
            continue
        for source, sink in ((done, undone), (undone, done)):
            target = next((pair for pair in source if pair[0].id == edit.undoes_id), None)
            if target is not None:
                source.remove(target)
                sink.append((edit, target[1]))
                break
    return {"done": [_told(*pair) for pair in done[-UNDO_DEPTH:]], "undone": [_told(*pair) for pair in undone]}


def _told(edit: Edit, kind: str) -> dict[str, Any]:
    return {"id": str(edit.id), "kind": kind, "changes": [public_change(change) for change in edit.changes]}


# ---------------------------------------------------------------------------------------------------------------------
# One event

TOLD = ("type", "start", "end", "status", "note")


def event_story(event: Event) -> dict[str, Any]:
    """The full row with comments and history (newest first)."""
    return rows.event_row(event) | {
        "video": str(event.video_id),
        "changed": event.changed.isoformat(),
        "changed_by": event.changed_by.shown_name if event.changed_by else None,
        "comments": [
            {
                "id": str(c.id),
                "user": c.user.shown_name if c.user else "somebody who left",
                "text": c.text,
                "created": c.created.isoformat(),
            }
            for c in event.comments.select_related("user")
        ],
        "history": history(event),
    }


def history(event: Event) -> list[dict[str, Any]]:
    """What each edit changed, newest first: from the ledger, which the history triggers back up row by row."""
    found = (
        Edit.objects.filter(video_id=event.video_id, changes__contains=[{"kind": "event", "id": str(event.id)}])
        .select_related("user")
        .order_by("-revision")[:100]
    )
    story = []
    for edit in found:
        for change in edit.changes:
            if change["id"] == str(event.id):
                before, after = change["before"] or {}, change["after"] or {}
                what = {
                    name: [before.get(name), after.get(name)]
                    for name in (*TOLD, "participants")
                    if before.get(name) != after.get(name)
                }
                machine = "the detector" if edit.kind == "events.gestures" else "the rules"
                who = edit.user.shown_name if edit.user else machine
                story.append(
                    {
                        "edit": str(edit.id),
                        "kind": edit.kind,
                        "version": after.get("version"),
                        "when": edit.created.isoformat(),
                        "who": who,
                        "what": what,
                        "row": rows.public(change["after"]),
                    }
                )
    return story


TRIAGE_STEP = 20
TRIAGE_COUNT_LIMIT = 500


def triage(project: Project, *, type: str = "", skip: Sequence[UUID] = (), limit: int = TRIAGE_STEP) -> list[Any]:
    """The project's proposals that wait for a word, least certain first."""
    waiting = Event.objects.filter(video__project=project, status=Event.Status.PROPOSED)
    chosen = waiting.filter(type=type) if type else waiting
    found = (
        chosen.exclude(id__in=list(skip))
        .order_by("confidence", "id")
        .values_list("id", "video_id", "video__name", "type", "start", "end", "confidence")[:limit]
    )
    names = ("event", "video", "video_name", "type", "start", "end", "confidence")
    people = _people_of([row[0] for row in found])
    return [
        dict(zip(names, (str(row[0]), str(row[1]), *row[2:]), strict=True)) | {"people": people.get(row[0], [])}
        for row in found
    ]


# Counting all proposals of a large project would take longer than anything else on the page, so it stops at a limit.
COUNTS = """
SELECT wanted.type, (
    SELECT count(*) FROM (
        SELECT FROM events_event e JOIN library_video v ON v.id = e.video_id
        WHERE e.status = 'proposed' AND e.type = wanted.type AND v.project_id = %(project)s
        ORDER BY e.confidence, e.id LIMIT %(limit)s
    ) AS few
) FROM unnest(%(types)s::text[]) AS wanted (type)
"""


def triage_counts(project: Project) -> dict[str, int]:
    """How many proposals wait, by type, in the types' usual order: those that have any, up to one above the limit."""
    types = [*GAZE_TYPES, *GESTURE_TYPES]
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, {"project": project.id, "types": types, "limit": TRIAGE_COUNT_LIMIT + 1})
        return {type: count for type, count in cursor.fetchall() if count}


def waiting_in_all(project: Project) -> int:
    """How many proposals wait, of any type."""
    return Video.objects.filter(project=project).aggregate(n=Sum("proposed_count"))["n"] or 0


def _people_of(events: Sequence[UUID]) -> dict[UUID, list[str]]:
    """The names of each event's people, as the workspace says them; somebody merged goes by the other's name."""
    parts = Participation.objects.filter(event__in=events).values_list("event_id", "person_id", "role")
    videos = Event.objects.filter(id__in=events).values("video_id")
    persons = {person.id: person for person in Person.objects.filter(video__in=videos)}
    names: dict[UUID, list[tuple[str, int, str]]] = {}
    for event, id, role in parts:
        person = persons[id]
        while person.merged_into_id is not None:
            person = persons[person.merged_into_id]
        names.setdefault(event, []).append((role, person.number, person.name or f"Person {person.number}"))
    return {event: [name for _, _, name in sorted(found)] for event, found in names.items()}
