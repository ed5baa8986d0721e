"""Events, gestures and the social graph of a video as files, in GRASP's layouts and as GraphML.

Frames and seconds stand side by side: frames are half-open, of the source; seconds count from the first presented
frame. The head names the media by its sha256 and says how many frames it has. Persons go by their numbers. Lists are
written one event after another, whatever their length.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from ml.formats import grasp_events, grasp_gestures, grasp_graph
from ml.formats.plainfile import naming
from ml.social.graph import PRESETS, GraphEvent, SocialGraph, build
from ml.social.graph.graphml import to_graphml
from ml.social.graph.grasp import called, graph_file
from ml.social.graph.links import TooDense
from ml.social.graph.sentences import describe
from webapp.events.graph import SHARED, graph_event
from webapp.events.models import Event, Participation
from webapp.lib.errors import Refused
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks.models import Person
from webapp.tracks.queries import roots_of

AT_ONCE = 500  # rows the database gives at a time
Tree = dict[str, Any]


class Export:
    """One video, ready to be written out. `confirmed`: only what people confirmed; else all but what they rejected."""

    def __init__(self, video: Video, *, confirmed: bool = False, preset: str = "strict") -> None:
        if preset not in PRESETS:
            raise Refused(f"There is no preset {preset!r}; there is: {', '.join(PRESETS)}.", "preset")
        self.video, self.confirmed, self.preset = video, confirmed, PRESETS[preset]
        self.seconds: NDArray[np.float64] = frame_seconds(video)
        self.roots = roots_of(video)
        self.numbers = {str(p.id): p.number for p in Person.objects.filter(video=video)}
        self.left_out = collapsed(video, self.roots)

    def write(self, format: str, out: Path) -> int:
        """Write a format to a file, which appears when it is whole; how many events it holds. Raises Refused."""
        if format not in FORMATS:
            raise Refused(f"There is no format {format!r}; there is: {', '.join(FORMATS)}.", "format")
        part = out.with_name(f".{out.name}.part")
        try:
            count = 0
            with naming(out), part.open("wb") as file:
                for piece in FORMATS[format](self):
                    if isinstance(piece, int):
                        count = piece
                    else:
                        file.write(piece.encode() if isinstance(piece, str) else piece)
            part.replace(out)
        finally:
            part.unlink(missing_ok=True)
        return count

    # -- what there is

    def events(self, modality: str | None = None) -> QuerySet[Event]:
        found = Event.objects.filter(video=self.video, set__kind__in=SHARED)
        found = found.filter(status="confirmed") if self.confirmed else found.exclude(status="rejected")
        found = found.filter(modality=modality) if modality else found
        found = found.exclude(id__in=self.left_out) if self.left_out else found
        return found.prefetch_related("participations").order_by("start", "end", "id")

    def nodes(self, modality: str | None = None) -> Iterator[tuple[Event, GraphEvent]]:
        for event in self.events(modality).iterator(AT_ONCE):
            node = graph_event(event, self.seconds, self.roots)
            yield event, replace(node, start_s=round(node.start_s, 6), end_s=round(node.end_s, 6))

    def head(self) -> Tree:
        """What every file says of the media."""
        video = self.video
        return {
            "media_sha256": video.blob_id,
            "frames": video.frames,
            "width": video.width,
            "height": video.height,
            "events_of": "people's confirmed events" if self.confirmed else "all events but rejected ones",
            "revision": video.revision,
            "left_out": len(self.left_out),  # a merge made two of their people one
        }

    def rates(self) -> Tree:
        lasts = float(self.seconds[-1] - self.seconds[0])
        fps = round(self.video.frames / lasts, 6)  # the mean: the frames beside the seconds are exact
        run = self.video.run
        return {"video_fps": fps, "sample_fps": (run.manifest.get("rate") if run else None) or fps}

    def people(self, node: GraphEvent, *roles: str) -> list[int]:
        return [self.numbers[person] for role in roles for person in node.who(role)]

    def beyond(self, event: Event) -> Tree:
        """What the layouts have no place for."""
        return {"id": str(event.id), "status": event.status, "origin": event.origin}


def collapsed(video: Video, roots: dict[str, str]) -> list[Any]:
    """Ids of events of which a merge made two people one: nobody said yet what they are now."""
    if all(person == root for person, root in roots.items()):
        return []
    people: dict[Any, list[str]] = defaultdict(list)
    for event, person in Participation.objects.filter(event__video=video).values_list("event_id", "person_id"):
        people[event].append(roots[str(person)])
    return [event for event, who in people.items() if len(set(who)) < len(who)]


def _events(export: Export) -> Iterator[str | bytes | int]:
    """The events file."""
    types = list(export.events("gaze").values_list("type", flat=True))
    counts = Counter(types)
    head = {"video_path": export.video.name, **export.rates(), "num_events": len(types)}
    head |= {"event_counts": {kind: counts[kind] for kind in grasp_events.FIRST_ID}} | export.head()
    numbers = iter(grasp_events.identifiers(types))
    yield from _streamed(head, "events", (_event(export, *pair, next(numbers)) for pair in export.nodes("gaze")))
    yield len(types)


def _event(export: Export, event: Event, node: GraphEvent, number: int) -> Tree:
    leader, follower, target = (export.people(node, role) for role in ("leader", "follower", "target"))
    details = {"leader_id": leader[0], "follower_id": follower[0]} if leader and follower else {}
    return {
        "event_id": number,
        "event_type": event.type,
        "start_time": node.start_s,
        "end_time": node.end_s,
        "start_frame": event.start,
        "end_frame": event.end,
        "confidence": event.confidence,
        "persons_involved": export.people(node, "leader", "follower", "member"),
        "details": details | ({"target_id": target[0]} if target else {}) | export.beyond(event),
    }


def _gestures(export: Export) -> Iterator[str | bytes | int]:
    """The gestures file."""
    counts = Counter(export.events("gesture").values_list("type", flat=True))
    total = sum(counts.values())
    empty = grasp_gestures.build(grasp_gestures.GesturesFile(export.video.name, [], "sightline"))
    head = empty | {"num_gestures_detected": total} | export.head()
    head["gesture_counts"] = {kind: counts[kind] for kind in grasp_gestures.TYPES}
    del head["gestures"]
    yield from _streamed(head, "gestures", (_gesture(export, *pair) for pair in export.nodes("gesture")))
    yield total


def _gesture(export: Export, event: Event, node: GraphEvent) -> Tree:
    target = export.people(node, "target")
    record = grasp_gestures.GestureRecord(
        gesture_type=event.type,
        initiator_id=export.people(node, "initiator")[0],
        start_time=node.start_s,
        end_time=node.end_s,
        target_type="person" if target else event.details.get("target_kind") or "location",
        target_person_id=target[0] if target else None,
        target_description=event.details.get("target_description") or "",
        confidence=event.confidence,
        start_frame=event.start,
        end_frame=event.end,
        extra=export.beyond(event)
        | ({"initiator_box": box} if (box := event.details.get("initiator_box")) is not None else {}),
    )
    return grasp_gestures.build_gesture(record)


def _graph_of(export: Export) -> SocialGraph:
    def called_here(person: str) -> str:
        return called(str(export.numbers[person]))

    nodes = []
    for event, node in export.nodes():
        kind = "" if event.modality == "gaze" else str(event.details.get("target_kind") or "")
        words = "" if event.modality == "gaze" else str(event.details.get("target_description") or "")
        more = {"target_type": kind, "target_description": words} if event.modality == "gesture" else {}
        node = replace(node, attributes=more | export.beyond(event))
        nodes.append(replace(node, description=describe(node, called_here)))
    try:
        return build(nodes, export.preset)
    except TooDense as error:
        raise Refused(str(error), "preset") from error


def _graph(export: Export) -> Iterator[str | bytes | int]:
    """The graph file."""
    graph = _graph_of(export)
    file = graph_file(graph, Path(export.video.name).stem, export.numbers)
    file.extra |= export.head()
    tree = grasp_graph.build(file)
    yield from _streamed({k: v for k, v in tree.items() if k != "events"}, "events", tree["events"])
    yield len(graph.events)


def _graphml(export: Export) -> Iterator[str | bytes | int]:
    """GraphML; persons by their numbers."""
    graph = _graph_of(export)
    numbered = [
        replace(event, roles=tuple((str(export.numbers[person]), role) for person, role in event.roles))
        for event in graph.events
    ]
    yield to_graphml(replace(graph, events=numbered))
    yield len(graph.events)


FORMATS: dict[str, Callable[[Export], Iterator[str | bytes | int]]] = {
    "grasp-events": _events,
    "grasp-gestures": _gestures,
    "grasp-graph": _graph,
    "graphml": _graphml,
}


def _streamed(head: Tree, name: str, rows: Iterable[Tree]) -> Iterator[str]:
    """A JSON object with a list at its end, one item a line."""
    yield json.dumps(head, ensure_ascii=False, allow_nan=False, indent=1)[:-2]
    yield f',\n "{name}": ['
    for place, row in enumerate(rows):
        yield ("," if place else "") + "\n  " + json.dumps(row, ensure_ascii=False, allow_nan=False)
    yield "\n ]\n}\n"
