"""What loaders share: items of a file whatever it is wrapped in, options with any mark, keys in any writing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ml.formats import jsonfields as read
from ml.formats.errors import FormatError
from ml.formats.jsonstream import Entry, entries
from ml.text import tags
from ml.text.answers import split_option

WRAPPERS = ("data", "items", "questions")
_LETTER = re.compile(r"[(\[]?\s*([A-Za-z])\s*[)\].:]*")


def unwrapped(path: Path) -> Iterator[Entry]:
    """The items of a file or folder: a list, JSON lines, or a list below "data", "items" or "questions"."""
    for entry in entries(path):
        tree = entry.tree
        name = next((n for n in WRAPPERS if isinstance(tree, Mapping) and isinstance(tree.get(n), list)), None)
        if name is None or "question" in tree:
            yield entry
        else:
            for at, one in enumerate(tree[name]):
                yield Entry(at, f"{entry.place}, {name}[{at}]", one)


def words(tree: Mapping[str, Any], *names: str, default: str | None = None) -> str:
    """The text of the first field of these names that is there; numbers count as text."""
    for name in names:
        value = tree.get(name)
        if value is None:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return read.text(value, name)
    if default is None:
        raise FormatError(f"the field {names[0]} is missing.")
    return default


def options(value: Any, place: str) -> tuple[str, ...]:
    """Options without their marks, from a list ("A. ..", "(B) ..", bare) or an object by letter."""
    if isinstance(value, Mapping):
        value = [read.text(value[letter], f"{place}.{letter}") for letter in sorted(value)]
        return tuple(one.strip() for one in value)
    listed = [read.text(one, f"{place}[{at}]") for at, one in enumerate(read.sequence(value, place))]
    split = [split_option(one) for one in listed]
    # marks are taken off only where they are marks: A, B, C in this order
    marked = [mark for mark, _ in split] == [chr(ord("A") + at) for at in range(len(split))]
    return tuple(rest if marked else one.strip() for one, (_, rest) in zip(listed, split, strict=True))


def keys(value: Any, offered: Sequence[str], place: str) -> tuple[str, ...]:
    """The right letters, sorted, from "B", "B.", "(b)", "B, C", "BC", a list of such, or the words of an option.

    Tags around the answer are taken off. What is none of these is given back as it is, for the check to refuse.
    """
    if isinstance(value, list):
        return tuple(
            sorted({letter for at, one in enumerate(value) for letter in keys(one, offered, f"{place}[{at}]")})
        )
    told = read.text(value, place)
    inner = tags.first(told, "answer")
    told = (inner if inner is not None else tags.after_think(told)).strip()
    if told in offered:
        return (chr(ord("A") + offered.index(told)),)
    parts = [part for part in re.split(r"\s*(?:,|;|/|、|，|\band\b|\s)\s*", told) if part]
    found = [match[1].upper() for part in parts if (match := _LETTER.fullmatch(part))]
    if found and len(found) == len(parts):
        return tuple(sorted(set(found)))
    if re.fullmatch(r"[A-Z]{2,26}", told) and len(set(told)) == len(told):
        return tuple(sorted(told))
    mark, rest = split_option(told)
    if mark is not None and rest and rest in offered:
        return (mark,)
    return (told[:40],)


def truths(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Events and visible persons beside an item ("gt_events", "persons" or "visible_persons")."""
    from ml.rewards.rows import parse_row

    seen = tree.get("visible_persons", tree.get("persons"))
    row = parse_row({"completion": "", "gt_events": tree.get("gt_events"), "visible_persons": seen})
    return {"events": row.events, "visible": row.visible}


def person_map(value: Any) -> tuple[tuple[int, str], ...]:
    """Printed tag -> person, of {"2": .., "P3": ..}."""
    from ml.text.persons import named

    if value is None:
        return ()
    found = []
    for tag, person in read.mapping(value, "person_map").items():
        numbers = [int(tag)] if tag.isascii() and tag.isdecimal() else sorted(named(tag))
        if len(numbers) != 1:
            raise FormatError(f"{read.step('person_map', tag)}: a printed tag is a number, as in 2 or P2.")
        found.append((numbers[0], str(person)))
    return tuple(sorted(found))
