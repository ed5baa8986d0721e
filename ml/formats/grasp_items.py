"""GRASP benchmark items: a JSON list, JSON lines, or a folder of item files (`json/*.json` of the released archive).

Layout of one item:

    {"clip_file": str, "clip_duration": s, "clip_offset": s, "video_name": str,
     "qa": {"question": str, "options": ["A) ...", ...], "answer": "A", "answer_text": str, "category": code,
            "difficulty": str, "format": "mcq" | "open_ended", "reasoning": str, "source_event_ids": [int],
            "time_range": [s, s], "video_id": str, "dataset": str}}

Only the question must be there: whoever writes a linter wants to read faulty items, too. A field of the wrong type is
an error; a value that makes no sense (an inverted range, a letter without an option) is the linter's business. Fields
beyond the layout are kept, in `extra` and `qa_extra`. An item without `qa` whose fields lie side by side is read as
well and written the same way (`flat`).

Times in the question are relative to the clip (source time minus `clip_offset`), those of `time_range` and of released
`reasoning` are source seconds. Category codes belong to a scheme: see `ml.formats.grasp_codes`;
an item may name it beside the layout ("scheme": "data"), as the studio's own releases do.

Reading is `parse_item` (a tree to `Item`), writing is `build` (`Item` to a tree); both are pure. `stream` and `read` go
through a file or folder, `write` makes one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.jsonstream import LINES, entries
from ml.questions.taxonomy import SCHEMES, Scheme

MCQ, OPEN = "mcq", "open_ended"
LONGEST_TEXT = 50_000  # characters
FARTHEST = 1e9  # seconds; anything beyond is no time of a video


@dataclass
class Item:
    """One benchmark item; None where the file says nothing. Times in seconds."""

    question: str
    options: list[str] = field(default_factory=list)
    answer: str | None = None
    answer_text: str | None = None
    category: str | None = None
    difficulty: str | None = None
    format: str | None = None
    reasoning: str | None = None
    source_event_ids: list[int | str] | None = None
    time_range: tuple[float, float] | None = None
    video_id: str | None = None
    dataset: str | None = None
    clip_file: str | None = None
    clip_duration: float | None = None
    clip_offset: float | None = None
    video_name: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    qa_extra: dict[str, Any] = field(default_factory=dict)
    flat: bool = False

    @property
    def scheme(self) -> Scheme | None:
        """The scheme the item names for its code, where it names one that there is."""
        said = self.extra.get("scheme", self.qa_extra.get("scheme"))
        return next((scheme for scheme in SCHEMES if scheme == said), None)

    @property
    def open_ended(self) -> bool:
        """Asks for sentences, not for a letter: by its format, or by having no options where no format is given."""
        return self.format == OPEN if self.format is not None else not self.options


def text(value: Any, place: str) -> str:
    """A string without NUL, which no database holds, and of a length that somebody could have written."""
    result = read_as.text(value, place)
    if len(result) > LONGEST_TEXT:
        raise FormatError(f"{place}: the string has {len(result):,} characters, more than {LONGEST_TEXT:,}.")
    if "\x00" in result:
        raise FormatError(f"{place}: the string holds a NUL character.")
    return result


def _seconds(value: Any, place: str) -> float:
    return read_as.number(value, place, low=-FARTHEST, high=FARTHEST)


def _texts(value: Any, place: str) -> list[str]:
    return [text(one, f"{place}[{at}]") for at, one in enumerate(read_as.sequence(value, place))]


def _ids(value: Any, place: str) -> list[int | str]:
    listed = enumerate(read_as.sequence(value, place))
    return [text(one, f"{place}[{at}]") if isinstance(one, str) else read_as.whole(one, f"{place}[{at}]")
            for at, one in listed]  # fmt: skip


def _range(value: Any, place: str) -> tuple[float, float]:
    start, end = read_as.numbers(value, place, 2, low=-FARTHEST, high=FARTHEST)
    return start, end


_Read = Callable[[Any, str], Any]
_HEAD: dict[str, _Read] = {"clip_file": text, "clip_duration": _seconds, "clip_offset": _seconds, "video_name": text}
_QA: dict[str, _Read] = {
    "question": text,
    "options": _texts,
    "answer": text,
    "answer_text": text,
    "category": text,
    "difficulty": text,
    "format": text,
    "reasoning": text,
    "source_event_ids": _ids,
    "time_range": _range,
    "video_id": text,
    "dataset": text,
}


def parse_item(tree: Any, place: str = "") -> Item:
    """Check one item; `FormatError` names the place below `place` and the cause."""
    head = read_as.mapping(tree, place or "the item")
    flat = "qa" not in head and "question" in head
    if flat:
        found, extra = _fields(head, _HEAD | _QA, place)
        return Item(**_with_question(found, place), extra=extra, flat=True)
    found, extra = _fields({key: head[key] for key in head if key != "qa"}, _HEAD, place)
    where = read_as.step(place, "qa")
    qa, qa_extra = _fields(read_as.mapping(read_as.member(head, "qa", place or "the item"), where), _QA, where)
    return Item(**found, **_with_question(qa, where), extra=extra, qa_extra=qa_extra)


def _with_question(found: dict[str, Any], place: str) -> dict[str, Any]:
    if "question" not in found:
        raise FormatError(f"{place or 'the item'}: the field question is missing.")
    return found


def _fields(tree: Mapping[str, Any], known: Mapping[str, _Read], place: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Known fields read (null counts as not there), and the others as they are."""
    found, extra = {}, {}
    for key, value in tree.items():
        where = read_as.step(place, key)
        if key in known:
            if value is not None:
                found[key] = known[key](value, where)
        else:
            extra[text(key, where)] = read_as.plain(value, where)
    return found, extra


def build(item: Item) -> dict[str, Any]:
    """The tree that `json.dumps` writes; `parse_item` of it gives an equal `Item`."""
    head = {key: getattr(item, key) for key in _HEAD if getattr(item, key) is not None}
    qa = {key: getattr(item, key) for key in _QA if getattr(item, key) is not None}
    if item.time_range is not None:
        qa["time_range"] = list(item.time_range)
    if not item.options and item.format == OPEN:
        del qa["options"]
    if item.flat:
        return {**head, **qa, **item.extra}
    return {**head, **item.extra, "qa": {**qa, **item.qa_extra}}


def stream(path: Path) -> Iterator[Item]:
    """The items of a file or folder, read as they are asked for. Raises FormatError naming file and place."""
    for entry in entries(path):
        try:
            yield parse_item(entry.tree)
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error


def read(path: Path) -> list[Item]:
    """All items of a file or folder. Raises FormatError naming file and place."""
    return list(stream(path))


def write(items: Iterable[Item], path: Path) -> None:
    """Write a JSON list, or JSON lines where the name says so: one item a line. An unfinished file never appears."""
    whole = path.suffix.lower() not in LINES
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as out:
        out.write("[" if whole else "")
        for number, item in enumerate(items):
            out.write(("," if number else "") + "\n" if whole else "")
            out.write(json.dumps(build(item), ensure_ascii=False, allow_nan=False) + ("" if whole else "\n"))
        out.write("\n]\n" if whole else "")
    part.replace(path)
