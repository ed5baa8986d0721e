"""The GRASP graph JSON: gaze events and gestures of one video on one timeline, and the links between them.

Layout:

    {"video_name": str, "num_events_raw": int, "num_events_filtered": int, "num_gaze": int, "num_gesture": int,
     "num_cross_modal_pairs": int,
     "events": [{"source": "gaze" | "gesture", "type": str, "start_time": s, "end_time": s, "confidence": 0..1,
                 "description": str, role fields}],
     "cross_modal_pairs": [{"gaze_idx": int, "gesture_idx": int, "relation": "overlap", "seconds": s}
                         | {"gaze_idx": int, "gesture_idx": int, "relation": "adjacent", "gap": s}]}

Role fields: a gaze event has `persons_involved` and, where the type has them, `leader_id` and `follower_id`; a gesture
has `initiator_id`, `target_type`, `target_person_id` and `target_description`. The released files' own names for the
type, the gap and the roles are not known: these are those of the events and gestures files, and `event_type` and
`gesture_type` are read, too. Indices are positions in `events`. Fields beyond the layout are kept (`extra`).

Reading is `parse` (bytes to `GraphFile`), writing is `build` (`GraphFile` to a tree for JSON); both are pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ml.formats import grasp_events, grasp_gestures
from ml.formats import jsonfields as read
from ml.formats.errors import FormatError

SOURCES = ("gaze", "gesture")
RELATIONS = {"overlap": "seconds", "adjacent": "gap"}
COUNTS = ("num_events_raw", "num_events_filtered", "num_gaze", "num_gesture", "num_cross_modal_pairs")
HEAD = ("video_name", *COUNTS, "events", "cross_modal_pairs")
TYPES = {"gaze": tuple(grasp_events.FIRST_ID), "gesture": grasp_gestures.TYPES}
COMMON = ("source", "type", "event_type", "gesture_type", "start_time", "end_time", "confidence", "description")
ROLES = {
    "gaze": ("persons_involved", "leader_id", "follower_id"),
    "gesture": ("initiator_id", "target_type", "target_person_id", "target_description"),
}


@dataclass(frozen=True)
class TimelineEvent:
    """One event of either source; times in seconds. `persons_involved` of a gesture: initiator, then target person."""

    source: str
    type: str
    start_time: float
    end_time: float
    persons_involved: tuple[int, ...]
    confidence: float = 1.0
    description: str = ""
    leader_id: int | None = None
    follower_id: int | None = None
    target_type: str = ""
    target_description: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """A gaze event and a gesture that overlap for `seconds`, or lie `seconds` apart (adjacent)."""

    gaze_idx: int
    gesture_idx: int
    relation: str
    seconds: float


@dataclass
class GraphFile:
    """One graph file; the numbers of events and pairs are derived from the lists."""

    video_name: str
    num_events_raw: int
    events: list[TimelineEvent]
    pairs: list[Pair]
    extra: dict[str, Any] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """The numbers of the head."""
        gaze = sum(event.source == "gaze" for event in self.events)
        values = (self.num_events_raw, len(self.events), gaze, len(self.events) - gaze, len(self.pairs))
        return dict(zip(COUNTS, values, strict=True))


def parse(data: bytes | str) -> GraphFile:
    """Read and check one graph file; `FormatError` names the place and the cause."""
    tree = read.mapping(read.load(data), "the file")
    entries = read.sequence(read.member(tree, "events", ""), "events")
    events = [_event(item, f"events[{position}]") for position, item in enumerate(entries)]
    found = read.sequence(read.member(tree, "cross_modal_pairs", ""), "cross_modal_pairs")
    raw = tree.get("num_events_raw")
    result = GraphFile(
        video_name=read.text(read.member(tree, "video_name", ""), "video_name"),
        num_events_raw=len(events) if raw is None else read.whole(raw, "num_events_raw"),
        events=events,
        pairs=[_pair(item, f"cross_modal_pairs[{position}]", events) for position, item in enumerate(found)],
        extra={key: read.plain(tree[key], read.step("", key)) for key in tree if key not in HEAD},
    )
    _check_counts(tree, result)
    return result


def build(graph: GraphFile) -> dict[str, Any]:
    """The tree that `json.dumps` writes; `parse` of it gives an equal `GraphFile`."""
    return {
        "video_name": graph.video_name,
        **graph.counts(),
        **graph.extra,
        "events": [_build_event(event) for event in graph.events],
        "cross_modal_pairs": [
            {
                "gaze_idx": pair.gaze_idx,
                "gesture_idx": pair.gesture_idx,
                "relation": pair.relation,
                RELATIONS[pair.relation]: pair.seconds,
            }
            for pair in graph.pairs
        ],
    }


def _build_event(event: TimelineEvent) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "source": event.source,
        "type": event.type,
        "start_time": event.start_time,
        "end_time": event.end_time,
        "confidence": event.confidence,
        "description": event.description,
    }
    if event.source == "gaze":
        tree["persons_involved"] = list(event.persons_involved)
        tree |= {name: value for name in ROLES["gaze"][1:] if (value := getattr(event, name)) is not None}
    else:
        initiator, *target = event.persons_involved
        tree["initiator_id"], tree["target_person_id"] = initiator, target[0] if target else None
        tree |= {"target_type": event.target_type, "target_description": event.target_description}
    return tree | event.extra


def _event(item: Any, place: str) -> TimelineEvent:
    tree = read.mapping(item, place)

    def get(key: str) -> tuple[Any, str]:
        return read.member(tree, key, place), f"{place}.{key}"

    source = read.text(*get("source"))
    if source not in SOURCES:
        raise read.fail(f"{place}.source", "gaze or gesture", source)
    start, end = read.number(*get("start_time"), low=0.0), read.number(*get("end_time"), low=0.0)
    if end < start:
        raise FormatError(f"{place}.end_time: {end:g} lies before start_time {start:g}.")
    description = tree.get("description")
    return TimelineEvent(
        source=source,
        type=_type(tree, source, place),
        start_time=start,
        end_time=end,
        confidence=read.number(*get("confidence"), low=0.0, high=1.0),
        description="" if description is None else read.text(description, f"{place}.description"),
        extra={k: read.plain(tree[k], read.step(place, k)) for k in tree if k not in COMMON + ROLES[source]},
        **(_gaze_roles(tree, place) if source == "gaze" else _gesture_roles(tree, place)),
    )


def _type(tree: Mapping[str, Any], source: str, place: str) -> str:
    key = "event_type" if source == "gaze" else "gesture_type"
    key = key if "type" not in tree and key in tree else "type"
    word = read.text(read.member(tree, key, place), f"{place}.{key}")
    if word not in TYPES[source]:
        raise read.fail(f"{place}.{key}", f"one of {', '.join(TYPES[source])}", word)
    return word


def _gaze_roles(tree: Mapping[str, Any], place: str) -> dict[str, Any]:
    where = f"{place}.persons_involved"
    found = read.sequence(read.member(tree, "persons_involved", place), where)
    persons = tuple(read.whole(item, f"{where}[{at}]") for at, item in enumerate(found))
    if not persons or len(set(persons)) < len(persons):
        raise FormatError(f"{where}: expected at least one person, and nobody twice.")
    leader, follower = (_person(tree, key, place) for key in ("leader_id", "follower_id"))
    for name, person in (("leader_id", leader), ("follower_id", follower)):
        if person is not None and person not in persons:
            raise FormatError(f"{place}.{name}: person {person} is not among persons_involved.")
    if leader is not None and leader == follower:
        raise FormatError(f"{place}.follower_id: person {leader} cannot lead and follow.")
    return {"persons_involved": persons, "leader_id": leader, "follower_id": follower}


def _gesture_roles(tree: Mapping[str, Any], place: str) -> dict[str, Any]:
    initiator = read.whole(read.member(tree, "initiator_id", place), f"{place}.initiator_id")
    target = _person(tree, "target_person_id", place)
    if target == initiator:
        raise FormatError(f"{place}.target_person_id: the initiator, person {initiator}, is also the target.")
    kind, words = tree.get("target_type"), tree.get("target_description")
    kind = "" if kind is None else read.text(kind, f"{place}.target_type")
    if kind and kind not in grasp_gestures.TARGETS:
        raise read.fail(f"{place}.target_type", f"one of {', '.join(grasp_gestures.TARGETS)}", kind)
    return {
        "persons_involved": (initiator,) if target is None else (initiator, target),
        "target_type": kind,
        "target_description": "" if words is None else read.text(words, f"{place}.target_description"),
    }


def _person(tree: Mapping[str, Any], key: str, place: str) -> int | None:
    value = tree.get(key)
    return None if value is None else read.whole(value, f"{place}.{key}")


def _pair(item: Any, place: str, events: list[TimelineEvent]) -> Pair:
    tree = read.mapping(item, place)
    relation = read.text(read.member(tree, "relation", place), f"{place}.relation")
    if relation not in RELATIONS:
        raise read.fail(f"{place}.relation", "overlap or adjacent", relation)
    measure = RELATIONS[relation]
    measure = measure if measure in tree else "seconds"
    return Pair(
        gaze_idx=_index(tree, "gaze_idx", "gaze", place, events),
        gesture_idx=_index(tree, "gesture_idx", "gesture", place, events),
        relation=relation,
        seconds=read.number(read.member(tree, measure, place), f"{place}.{measure}", low=0.0),
    )


def _index(tree: Mapping[str, Any], key: str, source: str, place: str, events: list[TimelineEvent]) -> int:
    index = read.whole(read.member(tree, key, place), f"{place}.{key}")
    if index >= len(events):
        raise FormatError(f"{place}.{key}: there is no event {index}, the list holds {len(events)}.")
    if events[index].source != source:
        raise FormatError(f"{place}.{key}: event {index} is a {events[index].source} event, not {source}.")
    return index


def _check_counts(tree: Mapping[str, Any], graph: GraphFile) -> None:
    """The head's counts are derived data: a file whose head disagrees with its lists was cut or edited."""
    for key, there in graph.counts().items():
        stated = tree.get(key)
        if stated is not None and read.whole(stated, key) != there:
            raise FormatError(f"{key}: the head says {stated}, the lists hold {there}.")
    if graph.num_events_raw < len(graph.events):
        raise FormatError(f"num_events_raw: {graph.num_events_raw} is less than the {len(graph.events)} events listed.")
