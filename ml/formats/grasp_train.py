"""GRASP training records (data_sft.jsonl, data_rl.jsonl): JSON lines, each a list of parts.

    {"type": "video", "path": str, "fps": number, "start_seconds": s, "end_seconds": s, "src_resolution": [H, W]}
    {"type": "text", "content": str, "output": bool}         output: false = user, true = assistant
    {"type": "meta", "difficulty": str, "question_text": str, "gt_events": [{"source": "gaze" | str, "persons": [int]}]}

In a record for RL the last assistant text is the target letter. Parts keep their order, and fields beyond the layout
are kept in `extra`. A file that is no JSON lines may hold one record or a list of them.

Reading is `parse_record` (a tree to `Record`), writing is `build_record`; both are pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.grasp_items import FARTHEST, text
from ml.formats.jsonstream import LINES, Entry, entries


@dataclass
class VideoPart:
    """Which stretch of which video: seconds of the source, `src_resolution` (height, width) in pixels."""

    path: str
    fps: float | None = None
    start_seconds: float | None = None
    end_seconds: float | None = None
    src_resolution: tuple[int, int] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class TextPart:
    """What is said: by the user, or (`output`) by the assistant."""

    content: str
    output: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class TrueEvent:
    """The persons of one event that the answer rests on; `source` is gaze or anything else."""

    source: str
    persons: tuple[int, ...]
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class MetaPart:
    """What the reward needs. `gt_events` is None where the record has no such field."""

    difficulty: str | None = None
    gt_events: list[TrueEvent] | None = None
    question_text: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


Part = VideoPart | TextPart | MetaPart


@dataclass
class Record:
    """One training record: its parts in order."""

    parts: list[Part]

    @property
    def video(self) -> VideoPart | None:
        return next((part for part in self.parts if isinstance(part, VideoPart)), None)

    @property
    def meta(self) -> MetaPart | None:
        return next((part for part in self.parts if isinstance(part, MetaPart)), None)

    @property
    def prompt(self) -> str:
        """What the user says, all of it."""
        return "\n".join(part.content for part in self.parts if isinstance(part, TextPart) and not part.output)

    @property
    def target(self) -> str | None:
        """What the assistant says last: the trace for SFT, the letter for RL."""
        said = [part.content for part in self.parts if isinstance(part, TextPart) and part.output]
        return said[-1] if said else None

    @property
    def question(self) -> str:
        """The question without options and instructions where the meta part holds it, else the user's text."""
        return self.meta.question_text if self.meta and self.meta.question_text is not None else self.prompt


def parse_record(tree: Any, place: str = "") -> Record:
    """Check one record; `FormatError` names the place and the cause."""
    listed = read_as.sequence(tree, place or "the record")
    parts = [_part(one, f"{place}[{at}]") for at, one in enumerate(listed)]
    if not any(isinstance(part, TextPart) for part in parts):
        raise FormatError(f"{place or 'the record'}: there is no text part.")
    return Record(parts)


def build_record(record: Record) -> list[dict[str, Any]]:
    """The tree of one record; `parse_record` of it gives an equal `Record`."""
    return [_build_part(part) for part in record.parts]


def stream(path: Path) -> Iterator[Record]:
    """The records of a file, read as they are asked for. Raises FormatError naming file and place."""
    for place, tree in _records(entries(path)):
        try:
            yield parse_record(tree)
        except FormatError as error:
            raise FormatError(f"{place}: {error}") from error


def write(records: Iterable[Record], path: Path) -> None:
    """Write JSON lines, or one list where the name does not say lines. An unfinished file never appears."""
    whole = path.suffix.lower() not in LINES
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as out:
        out.write("[" if whole else "")
        for number, record in enumerate(records):
            out.write(("," if number else "") + "\n" if whole else "")
            out.write(json.dumps(build_record(record), ensure_ascii=False, allow_nan=False) + ("" if whole else "\n"))
        out.write("\n]\n" if whole else "")
    part.replace(path)


def is_part(tree: Any) -> bool:
    """The tree is one part of a record, not a record."""
    return isinstance(tree, dict) and tree.get("type") in _PARTS


def _records(found: Iterator[Entry]) -> Iterator[tuple[str, Any]]:
    """Records with their places; the members of a file that is one record are put together again."""
    parts: list[Any] = []
    first = ""
    for entry in found:
        if is_part(entry.tree):
            first = first or entry.place.partition(",")[0]
            parts.append(entry.tree)
            continue
        if parts:
            raise FormatError(f"{entry.place}: expected another part of the record.")
        yield entry.place, entry.tree
    if parts:
        yield first, parts


def _part(tree: Any, place: str) -> Part:
    part = read_as.mapping(tree, place)
    kind = read_as.member(part, "type", place)
    if not isinstance(kind, str) or kind not in _PARTS:
        raise read_as.fail(f"{place}.type", f"one of {', '.join(_PARTS)}", kind)
    return _PARTS[kind](part, place)


def _extra(tree: Mapping[str, Any], known: tuple[str, ...], place: str) -> dict[str, Any]:
    return {text(k, place): read_as.plain(tree[k], read_as.step(place, k)) for k in tree if k not in known}


def _video(part: Mapping[str, Any], place: str) -> VideoPart:
    numbers = {
        key: read_as.number(part[key], f"{place}.{key}", low=-FARTHEST, high=FARTHEST)
        for key in ("fps", "start_seconds", "end_seconds")
        if part.get(key) is not None
    }
    size = part.get("src_resolution")
    if size is not None:
        sides = read_as.sequence(size, f"{place}.src_resolution")
        if len(sides) != 2:
            raise read_as.fail(f"{place}.src_resolution", "height and width", size)
        size = tuple(read_as.whole(one, f"{place}.src_resolution[{at}]", low=1) for at, one in enumerate(sides))
    return VideoPart(
        path=text(read_as.member(part, "path", place), f"{place}.path"),
        **numbers,
        src_resolution=size,
        extra=_extra(part, ("type", "path", "fps", "start_seconds", "end_seconds", "src_resolution"), place),
    )


def _text(part: Mapping[str, Any], place: str) -> TextPart:
    output = part.get("output", False)
    if not isinstance(output, bool):
        raise read_as.fail(f"{place}.output", "true or false", output)
    content = text(read_as.member(part, "content", place), f"{place}.content")
    return TextPart(content, output, _extra(part, ("type", "content", "output"), place))


def _meta(part: Mapping[str, Any], place: str) -> MetaPart:
    words = {
        key: text(part[key], f"{place}.{key}") for key in ("difficulty", "question_text") if part.get(key) is not None
    }
    events = part.get("gt_events")
    if events is not None:
        where = f"{place}.gt_events"
        events = [_event(one, f"{where}[{at}]") for at, one in enumerate(read_as.sequence(events, where))]
    return MetaPart(
        **words, gt_events=events, extra=_extra(part, ("type", "difficulty", "gt_events", "question_text"), place)
    )


def _event(tree: Any, place: str) -> TrueEvent:
    event = read_as.mapping(tree, place)
    persons = read_as.sequence(read_as.member(event, "persons", place), f"{place}.persons")
    return TrueEvent(
        source=text(read_as.member(event, "source", place), f"{place}.source"),
        persons=tuple(read_as.whole(one, f"{place}.persons[{at}]") for at, one in enumerate(persons)),
        extra=_extra(event, ("source", "persons"), place),
    )


_PARTS: dict[str, Callable[[Mapping[str, Any], str], Part]] = {"video": _video, "text": _text, "meta": _meta}


def _build_part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "content": part.content, "output": part.output, **part.extra}
    if isinstance(part, VideoPart):
        keys = ("path", "fps", "start_seconds", "end_seconds")
        found = {key: getattr(part, key) for key in keys if getattr(part, key) is not None}
        if part.src_resolution is not None:
            found["src_resolution"] = list(part.src_resolution)
        return {"type": "video", **found, **part.extra}
    found = {}
    if part.difficulty is not None:
        found["difficulty"] = part.difficulty
    if part.gt_events is not None:
        found["gt_events"] = [{"source": e.source, "persons": list(e.persons), **e.extra} for e in part.gt_events]
    if part.question_text is not None:
        found["question_text"] = part.question_text
    return {"type": "meta", **found, **part.extra}
