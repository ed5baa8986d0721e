"""The social graph of a video: its shared events as graph nodes, and their links, for the page and for exports.

Rejected events are no part of it, nor are those of one annotator's own set: what somebody marks apart from the others
is not shown to them. People go by who they are by now: somebody merged is the other one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.social.graph import PRESETS, GraphEvent, build
from ml.social.graph.links import TooDense
from webapp.events.models import Event
from webapp.lib.errors import Refused
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks.queries import roots_of

SHARED = ("proposal", "imported", "working", "consensus")


def shared_events(video: Video, *, confirmed: bool = False, span: tuple[int, int] | None = None) -> list[Event]:
    """The events of the sets everybody sees, by start; of [start, end) those that have a frame in it."""
    found = Event.objects.filter(video=video, set__kind__in=SHARED)
    found = found.filter(status="confirmed") if confirmed else found.exclude(status="rejected")
    if span is not None:
        found = found.filter(start__lt=span[1], end__gt=span[0])
    return list(found.select_related("set").prefetch_related("participations").order_by("start", "end", "id"))


def graph_event(event: Event, seconds: NDArray[np.float64], roots: dict[str, str]) -> GraphEvent:
    """The node of an event. `seconds` float64[N + 1]: media seconds of the frames; the graph's start at 0."""
    roles = {(roots[str(p.person_id)], p.role) for p in event.participations.all()}
    return GraphEvent(
        id=str(event.id),
        source=event.modality,
        type=event.type,
        start_s=float(seconds[event.start] - seconds[0]),
        end_s=float(seconds[event.end] - seconds[0]),
        roles=tuple(sorted(roles)),
        confidence=event.confidence,
        start=event.start,
        end=event.end,
        attributes={"status": event.status, "origin": event.origin},
    )


def graph_columns(video: Video, start: int | None, end: int | None, preset: str = "strict") -> dict[str, Any]:
    """What the picture draws: events and links as columns. Links name events by their position in the columns.

    `start`, `end`: only events with a frame in [start, end). Raises Refused.
    """
    if preset not in PRESETS:
        raise Refused(f"There is no preset {preset!r}; there is: {', '.join(PRESETS)}.", "preset")
    span = (start or 0, video.frames if end is None else end)
    if not 0 <= span[0] < span[1]:
        raise Refused(f"The span [{span[0]}, {span[1]}) is empty.", "start")
    found = shared_events(video, span=span)
    seconds, roots = frame_seconds(video) if found else np.zeros(video.frames + 1), roots_of(video)
    try:
        graph = build([graph_event(event, seconds, roots) for event in found], PRESETS[preset])
    except TooDense as error:
        raise Refused(str(error), "start") from error
    events, links = graph.events, graph.links
    return {
        "revision": video.revision,
        "preset": preset,
        "start": span[0],
        "end": span[1],
        "events": {
            "id": [event.id for event in events],
            "modality": [event.source for event in events],
            "type": [event.type for event in events],
            "start": [event.start for event in events],
            "end": [event.end for event in events],
            "start_s": [round(event.start_s, 6) for event in events],
            "end_s": [round(event.end_s, 6) for event in events],
            "status": [event.attributes["status"] for event in events],
            "participants": [event.roles for event in events],
        },
        "links": {
            "gaze": links.gaze.tolist(),
            "gesture": links.gesture.tolist(),
            "relation": ["overlap" if overlap else "adjacent" for overlap in links.overlap.tolist()],
            "seconds": np.round(links.seconds, 6).tolist(),
        },
    }
