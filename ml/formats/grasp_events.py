"""The GRASP events JSON: the social gaze events of one video.

Layout:

    {"video_path": str, "video_fps": number, "sample_fps": number, "num_events": int, "event_counts": {type: int},
     "events": [{"event_id": int, "event_type": str, "start_time": s, "end_time": s, "start_frame": int,
                 "end_frame": int, "confidence": 0..1, "persons_involved": [int], "details": {...}}]}

Types: sudden_gaze_shift, joint_attention, gaze_following, attention_capture, mutual_gaze; identifiers start at 0, 1000,
2000, 3000 and 4000. A released event may have zero length (start_time == end_time). Other fields of the head are kept;
other fields of an event are dropped.

Reading is `parse` (bytes to `EventsFile`), writing is `build` (`EventsFile` to a tree for JSON); both are pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ml.formats import jsonfields as read
from ml.formats.errors import FormatError

HEAD = ("video_path", "video_fps", "sample_fps", "num_events", "event_counts", "events")
FIRST_ID = {
    "sudden_gaze_shift": 0,
    "joint_attention": 1000,
    "gaze_following": 2000,
    "attention_capture": 3000,
    "mutual_gaze": 4000,
}
BLOCK = 1000
OVERFLOW = 5000
_FEWEST = {"sudden_gaze_shift": 1, "gaze_following": 2, "mutual_gaze": 2, "joint_attention": 2, "attention_capture": 2}


@dataclass(frozen=True)
class EventRecord:
    """One event as the file holds it: times in seconds, frames of the source video."""

    event_id: int
    event_type: str
    start_time: float
    end_time: float
    start_frame: int
    end_frame: int
    confidence: float
    persons_involved: tuple[int, ...]
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class EventsFile:
    """One events file; `extra` holds head fields beyond the layout. Counts are derived from the events."""

    video_path: str
    video_fps: float
    sample_fps: float
    events: list[EventRecord]
    extra: dict[str, Any] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Number of events of each of the five types."""
        found = [event.event_type for event in self.events]
        return {kind: found.count(kind) for kind in FIRST_ID}


def identifiers(types: Sequence[str]) -> list[int]:
    """Identifiers for events in the order given: each type counts on from its first one.

    A type with more than 1,000 events (mutual gaze, the last block, as well) continues in the blocks of 1,000 from 5000
    on that are still free, so that identifiers stay unique.
    """
    used = dict.fromkeys(FIRST_ID, 0)
    blocks: dict[tuple[str, int], int] = {}
    result = []
    for kind in types:
        block, offset = divmod(used[kind], BLOCK)
        used[kind] += 1
        if block == 0:
            result.append(FIRST_ID[kind] + offset)
            continue
        base = blocks.setdefault((kind, block), OVERFLOW + BLOCK * len(blocks))
        result.append(base + offset)
    return result


def parse(data: bytes | str) -> EventsFile:
    """Read and check one events file; `FormatError` names the place and the cause."""
    tree = read.mapping(read.load(data), "the file")
    entries = read.sequence(read.member(tree, "events", ""), "events")
    events = [_event(item, f"events[{position}]") for position, item in enumerate(entries)]
    _check_unique(events)
    result = EventsFile(
        video_path=read.text(read.member(tree, "video_path", ""), "video_path"),
        video_fps=_rate(tree, "video_fps"),
        sample_fps=_rate(tree, "sample_fps"),
        events=events,
        extra={key: read.plain(tree[key], read.step("", key)) for key in tree if key not in HEAD},
    )
    _check_counts(tree, result)
    return result


def build(events: EventsFile) -> dict[str, Any]:
    """The tree that `json.dumps` writes; `parse` of it gives an equal `EventsFile`."""
    return {
        "video_path": events.video_path,
        "video_fps": events.video_fps,
        "sample_fps": events.sample_fps,
        "num_events": len(events.events),
        "event_counts": events.counts(),
        **events.extra,
        "events": [
            {
                "event_id": event.event_id,
                "event_type": event.event_type,
                "start_time": event.start_time,
                "end_time": event.end_time,
                "start_frame": event.start_frame,
                "end_frame": event.end_frame,
                "confidence": event.confidence,
                "persons_involved": list(event.persons_involved),
                "details": event.details,
            }
            for event in events.events
        ],
    }


def _event(item: Any, place: str) -> EventRecord:
    tree = read.mapping(item, place)

    def get(key: str) -> tuple[Any, str]:
        return read.member(tree, key, place), f"{place}.{key}"

    event = EventRecord(
        event_id=read.whole(*get("event_id")),
        event_type=read.text(*get("event_type")),
        start_time=read.number(*get("start_time"), low=0.0),
        end_time=read.number(*get("end_time"), low=0.0),
        start_frame=read.whole(*get("start_frame")),
        end_frame=read.whole(*get("end_frame")),
        confidence=read.number(*get("confidence"), low=0.0, high=1.0),
        persons_involved=_persons(*get("persons_involved")),
        details=dict(read.mapping(read.plain(tree.get("details") or {}, f"{place}.details"), f"{place}.details")),
    )
    if event.event_type not in FIRST_ID:
        raise read.fail(f"{place}.event_type", f"one of {', '.join(FIRST_ID)}", event.event_type)
    if event.end_time < event.start_time:
        raise FormatError(f"{place}.end_time: {event.end_time:g} lies before start_time {event.start_time:g}.")
    if event.end_frame < event.start_frame:
        raise FormatError(f"{place}.end_frame: {event.end_frame} lies before start_frame {event.start_frame}.")
    if len(event.persons_involved) < _FEWEST[event.event_type]:
        raise FormatError(
            f"{place}.persons_involved: {event.event_type} needs at least {_FEWEST[event.event_type]} persons."
        )
    return event


def _persons(value: Any, place: str) -> tuple[int, ...]:
    persons = tuple(read.whole(item, f"{place}[{at}]") for at, item in enumerate(read.sequence(value, place)))
    if len(set(persons)) != len(persons):
        raise FormatError(f"{place}: a person is listed twice.")
    return persons


def _rate(tree: Mapping[str, Any], key: str) -> float:
    rate = read.number(read.member(tree, key, ""), key, high=1e6)
    if rate <= 0:
        raise FormatError(f"{key}: expected a rate above 0, found {rate:g}.")
    return rate


def _check_unique(events: list[EventRecord]) -> None:
    places: dict[int, int] = {}
    for position, event in enumerate(events):
        first = places.setdefault(event.event_id, position)
        if first != position:
            raise FormatError(f"events[{position}].event_id: {event.event_id} is also the id of events[{first}].")


def _check_counts(tree: Mapping[str, Any], events: EventsFile) -> None:
    """The head's counts are derived data: a file whose head disagrees with its list was cut or edited."""
    if tree.get("num_events") is not None and read.whole(tree["num_events"], "num_events") != len(events.events):
        raise FormatError(f"num_events: the head says {tree['num_events']}, the list holds {len(events.events)}.")
    counts = events.counts()
    stated = tree.get("event_counts")
    for key, value in read.mapping({} if stated is None else stated, "event_counts").items():
        place = read.step("event_counts", key)
        if read.whole(value, place) != counts.get(key, 0):
            raise FormatError(f"{place}: the head says {value}, the list holds {counts.get(key, 0)}.")
