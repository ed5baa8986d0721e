"""The annotations.jsonl of a GRASP release: one line a question, with the columns that lists and filters need.

    {"id": str, "video": str, "source": str, "category": code, "difficulty": str, "format": "mcq" | "open_ended", ...}

The released file has more columns; what is not known is kept in `extra`, in its order. Lines that hold a whole item as
well (question, options, answer) are items, too: `ml.formats.grasp_items` reads them as flat ones.

Reading is `parse_row` (a tree to `Row`), writing is `build_row`; both are pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.grasp_items import text
from ml.formats.jsonstream import entries

COLUMNS = ("id", "video", "source", "category", "difficulty", "format")


@dataclass
class Row:
    """One line; None where a column is missing. Only `id` and `video` must be there."""

    id: str | int
    video: str
    source: str | None = None
    category: str | None = None
    difficulty: str | None = None
    format: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def parse_row(tree: Any, place: str = "") -> Row:
    """Check one line; `FormatError` names the place and the cause."""
    row = read_as.mapping(tree, place or "the line")
    id = read_as.member(row, "id", place or "the line")
    where = read_as.step(place, "id")
    found = {
        key: text(row[key], read_as.step(place, key)) for key in COLUMNS[2:] if key in row and row[key] is not None
    }
    return Row(
        id=text(id, where) if isinstance(id, str) else read_as.whole(id, where),
        video=text(read_as.member(row, "video", place or "the line"), read_as.step(place, "video")),
        **found,
        extra={text(k, place): read_as.plain(row[k], read_as.step(place, k)) for k in row if k not in COLUMNS},
    )


def build_row(row: Row) -> dict[str, Any]:
    """The tree of one line; `parse_row` of it gives an equal `Row`."""
    columns = {key: getattr(row, key) for key in COLUMNS}
    return {key: value for key, value in columns.items() if value is not None} | row.extra


def stream(path: Path) -> Iterator[Row]:
    """The lines of the file, read as they are asked for. Raises FormatError naming file and place."""
    for entry in entries(path):
        try:
            yield parse_row(entry.tree)
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error
