"""The GRASP gestures JSON: the deictic gestures of one video, as a multimodal model reads them off the picture.

Layout:

    {"video_path": str, "classifier_version": str, "num_events_validated": int, "events_confirmed": int,
     "events_rejected": int, "num_gestures_detected": int, "gesture_counts": {type: int}, "event_validations": [..],
     "gestures": [{"gesture_type": str, "initiator_id": int, "start_time": s, "end_time": s,
                   "target_type": "person" | "object" | "location", "target_person_id": int | null,
                   "target_description": str, "confidence": 0..1}]}

Types: pointing, showing, giving, reaching. The layout has no boxes and no frames; our own files add `start_frame`,
`end_frame` (half-open) and more fields per gesture and in the head. Fields beyond the layout are kept (`extra`). How a
validation of a gaze event is written is not known, so those are carried along unread; the three numbers about them are
stated, not checked.

Reading is `parse` (bytes to `GesturesFile`), writing is `build` (`GesturesFile` to a tree for JSON); both are pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ml.formats import jsonfields as read
from ml.formats.errors import FormatError

TYPES = ("pointing", "showing", "giving", "reaching")
TARGETS = ("person", "object", "location")
VALIDATION_COUNTS = ("num_events_validated", "events_confirmed", "events_rejected")
HEAD = (
    "video_path", "classifier_version", *VALIDATION_COUNTS, "num_gestures_detected", "gesture_counts",
    "event_validations", "gestures",
)  # fmt: skip
FIELDS = (
    "gesture_type", "initiator_id", "start_time", "end_time", "target_type", "target_person_id", "target_description",
    "confidence", "start_frame", "end_frame",
)  # fmt: skip


@dataclass(frozen=True)
class GestureRecord:
    """One gesture as the file holds it: times in seconds; frames (half-open) where it gives them."""

    gesture_type: str
    initiator_id: int
    start_time: float
    end_time: float
    target_type: str
    target_person_id: int | None = None
    target_description: str = ""
    confidence: float = 1.0
    start_frame: int | None = None
    end_frame: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def persons(self) -> tuple[int, ...]:
        """Initiator and, where a person is the target, that person."""
        return (self.initiator_id,) if self.target_person_id is None else (self.initiator_id, self.target_person_id)


@dataclass
class GesturesFile:
    """One gestures file; counts of gestures are derived from the list."""

    video_path: str
    gestures: list[GestureRecord]
    classifier_version: str = ""
    event_validations: list[dict[str, Any]] = field(default_factory=list)
    validated: tuple[int, int, int] = (0, 0, 0)  # gaze events looked at, confirmed, rejected
    extra: dict[str, Any] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Number of gestures of each of the four types."""
        found = [gesture.gesture_type for gesture in self.gestures]
        return {kind: found.count(kind) for kind in TYPES}


def parse(data: bytes | str) -> GesturesFile:
    """Read and check one gestures file; `FormatError` names the place and the cause."""
    tree = read.mapping(read.load(data), "the file")
    entries = read.sequence(read.member(tree, "gestures", ""), "gestures")
    validations = read.sequence(_or(tree, "event_validations", []), "event_validations")
    result = GesturesFile(
        video_path=read.text(read.member(tree, "video_path", ""), "video_path"),
        gestures=[_gesture(item, f"gestures[{position}]") for position, item in enumerate(entries)],
        classifier_version=read.text(_or(tree, "classifier_version", ""), "classifier_version"),
        event_validations=[_plain_object(v, f"event_validations[{at}]") for at, v in enumerate(validations)],
        validated=_validated(tree),
        extra={key: read.plain(tree[key], read.step("", key)) for key in tree if key not in HEAD},
    )
    _check_counts(tree, result)
    return result


def build(gestures: GesturesFile) -> dict[str, Any]:
    """The tree that `json.dumps` writes; `parse` of it gives an equal `GesturesFile`."""
    return {
        "video_path": gestures.video_path,
        "classifier_version": gestures.classifier_version,
        **dict(zip(VALIDATION_COUNTS, gestures.validated, strict=True)),
        "num_gestures_detected": len(gestures.gestures),
        "gesture_counts": gestures.counts(),
        **gestures.extra,
        "event_validations": gestures.event_validations,
        "gestures": [build_gesture(gesture) for gesture in gestures.gestures],
    }


def build_gesture(gesture: GestureRecord) -> dict[str, Any]:
    """One gesture as the file holds it; frames only where they are known."""
    tree: dict[str, Any] = {name: getattr(gesture, name) for name in FIELDS[:-2]}
    if gesture.start_frame is not None:
        tree |= {"start_frame": gesture.start_frame, "end_frame": gesture.end_frame}
    return tree | gesture.extra


def _gesture(item: Any, place: str) -> GestureRecord:
    tree = read.mapping(item, place)

    def get(key: str) -> tuple[Any, str]:
        return read.member(tree, key, place), f"{place}.{key}"

    gesture = GestureRecord(
        gesture_type=_one_of(*get("gesture_type"), TYPES),
        initiator_id=read.whole(*get("initiator_id")),
        start_time=read.number(*get("start_time"), low=0.0),
        end_time=read.number(*get("end_time"), low=0.0),
        target_type=_one_of(*get("target_type"), TARGETS),
        target_person_id=_optional_whole(tree, "target_person_id", place),
        target_description=read.text(_or(tree, "target_description", ""), f"{place}.target_description"),
        confidence=read.number(*get("confidence"), low=0.0, high=1.0),
        start_frame=_optional_whole(tree, "start_frame", place),
        end_frame=_optional_whole(tree, "end_frame", place),
        extra={key: read.plain(tree[key], read.step(place, key)) for key in tree if key not in FIELDS},
    )
    _check(gesture, place)
    return gesture


def _check(gesture: GestureRecord, place: str) -> None:
    if gesture.end_time < gesture.start_time:
        raise FormatError(f"{place}.end_time: {gesture.end_time:g} lies before start_time {gesture.start_time:g}.")
    if gesture.target_person_id == gesture.initiator_id:
        raise FormatError(
            f"{place}.target_person_id: the initiator, person {gesture.initiator_id}, is also the target."
        )
    if (gesture.start_frame is None) != (gesture.end_frame is None):
        raise FormatError(f"{place}: start_frame and end_frame go together, and one of them is missing.")
    if gesture.start_frame is not None and gesture.end_frame is not None and gesture.end_frame < gesture.start_frame:
        raise FormatError(f"{place}.end_frame: {gesture.end_frame} lies before start_frame {gesture.start_frame}.")


def _or(tree: Mapping[str, Any], key: str, default: Any) -> Any:
    value = tree.get(key)
    return default if value is None else value


def _optional_whole(tree: Mapping[str, Any], key: str, place: str) -> int | None:
    value = tree.get(key)
    return None if value is None else read.whole(value, f"{place}.{key}")


def _one_of(value: Any, place: str, words: tuple[str, ...]) -> str:
    word = read.text(value, place)
    if word not in words:
        raise read.fail(place, f"one of {', '.join(words)}", word)
    return word


def _plain_object(value: Any, place: str) -> dict[str, Any]:
    return dict(read.mapping(read.plain(value, place), place))


def _validated(tree: Mapping[str, Any]) -> tuple[int, int, int]:
    looked_at, confirmed, rejected = (read.whole(_or(tree, key, 0), key) for key in VALIDATION_COUNTS)
    return looked_at, confirmed, rejected


def _check_counts(tree: Mapping[str, Any], gestures: GesturesFile) -> None:
    """The head's counts of gestures are derived data: a file whose head disagrees with its list was cut or edited."""
    stated, count = tree.get("num_gestures_detected"), len(gestures.gestures)
    if stated is not None and read.whole(stated, "num_gestures_detected") != count:
        raise FormatError(f"num_gestures_detected: the head says {stated}, the list holds {count}.")
    counts = gestures.counts()
    for key, value in read.mapping(_or(tree, "gesture_counts", {}), "gesture_counts").items():
        place = read.step("gesture_counts", key)
        if read.whole(value, place) != counts.get(key, 0):
            raise FormatError(f"{place}: the head says {value}, the list holds {counts.get(key, 0)}.")
