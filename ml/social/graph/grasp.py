"""Between the GRASP files and the social graph: events and gestures files become graph events, a graph becomes a file.

In files persons are numbers; as ids they are those numbers written out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from ml.formats.grasp_events import EventRecord, EventsFile
from ml.formats.grasp_gestures import GestureRecord, GesturesFile
from ml.formats.grasp_graph import GraphFile, Pair, TimelineEvent
from ml.social.event import FOLLOWING
from ml.social.graph.model import GraphEvent, SocialGraph
from ml.social.graph.sentences import describe


def called(person: str) -> str:
    """What people are called in files."""
    return f"Person {person}"


def gaze_event(record: EventRecord) -> GraphEvent:
    """A gaze event of a file; leader and follower as its details say, in the order of the list where they do not."""
    event = GraphEvent(
        id=f"gaze {record.event_id}",
        source="gaze",
        type=record.event_type,
        start_s=record.start_time,
        end_s=record.end_time,
        roles=_roles(record),
        confidence=record.confidence,
        start=record.start_frame,
        end=record.end_frame,
        attributes={"event_id": record.event_id},
    )
    return replace(event, description=describe(event, called))


def _roles(record: EventRecord) -> tuple[tuple[str, str], ...]:
    persons = [str(person) for person in record.persons_involved]
    if record.event_type != FOLLOWING:
        return tuple((person, "member") for person in persons)
    leader = str(record.details.get("leader_id"))
    leader = leader if leader in persons else persons[0]
    followers = [person for person in persons if person != leader]
    return ((leader, "leader"), *((person, "follower") for person in followers))


def gesture_event(record: GestureRecord, index: int) -> GraphEvent:
    """Gesture `index` of a file."""
    roles = [(str(record.initiator_id), "initiator")]
    if record.target_person_id is not None:
        roles.append((str(record.target_person_id), "target"))
    event = GraphEvent(
        id=f"gesture {index}",
        source="gesture",
        type=record.gesture_type,
        start_s=record.start_time,
        end_s=record.end_time,
        roles=tuple(roles),
        confidence=record.confidence,
        start=record.start_frame,
        end=record.end_frame,
        attributes={
            "gesture_index": index,
            "target_type": record.target_type,
            "target_description": record.target_description,
        },
    )
    return replace(event, description=describe(event, called))


def events_of(gaze: EventsFile, gestures: GesturesFile) -> list[GraphEvent]:
    """The events of both files."""
    return [
        *(gaze_event(record) for record in gaze.events),
        *(gesture_event(record, index) for index, record in enumerate(gestures.gestures)),
    ]


def video_name(path: str) -> str:
    """The name of a video file without folders and suffix, from a path of any system."""
    return PurePosixPath(path.replace("\\", "/")).stem


def graph_file(graph: SocialGraph, name: str, numbers: dict[str, int] | None = None) -> GraphFile:
    """The graph in the released layout, with its preset, persons and the edges beyond it under `graph`.

    `numbers`: what each person id is called in the file; ids that are numbers are themselves.
    """
    number = {person: numbers[person] if numbers else int(person) for person in graph.persons}
    links = graph.links
    pairs = [
        Pair(gaze, gesture, "overlap" if overlap else "adjacent", round(seconds, 9))
        for gaze, gesture, overlap, seconds in zip(
            links.gaze.tolist(), links.gesture.tolist(), links.overlap.tolist(), links.seconds.tolist(), strict=True
        )
    ]
    return GraphFile(
        video_name=name,
        num_events_raw=graph.num_raw,
        events=[_timeline(event, number) for event in graph.events],
        pairs=pairs,
        extra={"preset": graph.preset, "graph": _beyond(graph, number)},
    )


FIRST = ("initiator", "leader")


def _place(pair: tuple[str, str]) -> bool:
    """Whoever leads stands first; the others keep their order. The layout tells roles of gestures by place alone."""
    return pair[1] not in FIRST


def _timeline(event: GraphEvent, number: dict[str, int]) -> TimelineEvent:
    leader, follower = event.who("leader"), event.who("follower")
    attributes = dict(event.attributes)
    frames = {} if event.start is None else {"start_frame": event.start, "end_frame": event.end}
    return TimelineEvent(
        source=event.source,
        type=event.type,
        start_time=event.start_s,
        end_time=event.end_s,
        persons_involved=tuple(number[person] for person, role in sorted(event.roles, key=_place)),
        confidence=event.confidence,
        description=event.description,
        leader_id=number[leader[0]] if leader else None,
        # the layout has room for one; all of them are among persons_involved
        follower_id=number[follower[0]] if follower else None,
        target_type=str(attributes.pop("target_type", "")),
        target_description=str(attributes.pop("target_description", "")),
        extra=frames | attributes,
    )


def _beyond(graph: SocialGraph, number: dict[str, int]) -> dict[str, Any]:
    """The edges the released layout has no place for; events by their position in `events`."""
    links = graph.links.where(graph.links.shared)
    return {
        "persons": [number[person] for person in graph.persons],
        "participates": [[number[p], n, role] for n, event in enumerate(graph.events) for p, role in event.roles],
        "before": graph.before.tolist(),
        "shares_person": [
            [a, b, sorted(number[p] for p in graph.events[a].persons & graph.events[b].persons)]
            for a, b in zip(links.gaze.tolist(), links.gesture.tolist(), strict=True)
        ],
    }
