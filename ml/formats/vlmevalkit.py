"""The TSV of VLMEvalKit: one question a line, tab-separated, a head line of column names.

Columns: `index` (unique whole number), `question`, `hint`, one column an option (`A`, `B`, ...; empty where an item has
fewer), `answer` (a letter, or text), `category`, `l2-category`, `split`, and `video`, the path of the clip. Video sets
have a data-set class of their own there, so the name of that column is our choice. More columns are kept.

A cell that holds a tab, a line break or a quote is quoted, quotes in it are doubled, as its readers (pandas) expect.
Reading is `parse`, writing is `build`; both are pure.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from string import ascii_uppercase

from ml.formats.errors import FormatError

HEAD = ("index", "video", "question", "hint")
TAIL = ("answer", "category", "l2-category", "split")
LARGEST_CELL = 1 << 20  # characters
MOST_OPTIONS = 26


@dataclass
class Line:
    """One question. `extra`: further columns, by name."""

    index: int
    question: str
    options: list[str]
    answer: str
    video: str = ""
    hint: str = ""
    category: str = ""
    l2_category: str = ""
    split: str = ""
    extra: dict[str, str] = field(default_factory=dict)


def build(lines: list[Line]) -> str:
    """The text of the file; `parse` of it gives equal lines."""
    most = max((len(line.options) for line in lines), default=0)
    if most > MOST_OPTIONS:
        raise FormatError(f"An item with {most} options does not fit: there are {MOST_OPTIONS} letters.")
    letters = list(ascii_uppercase[:most])
    more = list(dict.fromkeys(name for line in lines for name in line.extra))
    target = io.StringIO()
    writer = csv.writer(target, delimiter="\t", lineterminator="\n")
    writer.writerow([*HEAD, *letters, *TAIL, *more])
    for line in lines:
        options = line.options + [""] * (most - len(line.options))
        head = [line.index, line.video, line.question, line.hint]
        tail = [line.answer, line.category, line.l2_category, line.split]
        writer.writerow([*head, *options, *tail, *(line.extra.get(name, "") for name in more)])
    return target.getvalue()


def parse(data: bytes | str) -> list[Line]:
    """Read and check one file; `FormatError` names the line and the cause."""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise FormatError(f"The file is not UTF-8 text: byte {error.start} cannot be read.") from error
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    before = csv.field_size_limit(LARGEST_CELL)
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise FormatError(f"line {reader.line_num}: not a row of tab-separated cells ({error}).") from error
    finally:
        csv.field_size_limit(before)
    if not rows:
        raise FormatError("The file is empty: there is no line of column names.")
    return _lines(rows[0][1], rows[1:])


def _lines(names: list[str], rows: list[tuple[int, list[str]]]) -> list[Line]:
    missing = [name for name in ("index", "question", "answer") if name not in names]
    if missing:
        raise FormatError(f"line 1: the column {missing[0]} is missing.")
    if len(set(names)) < len(names) or not all(names):
        raise FormatError("line 1: a column has no name, or the name of another.")
    letters = [letter for letter in ascii_uppercase if letter in names]
    if letters != list(ascii_uppercase[: len(letters)]):
        raise FormatError(f"line 1: the option columns are {', '.join(letters)}, not the first letters in a row.")
    found: list[Line] = []
    seen: set[int] = set()
    for number, cells in rows:
        if len(cells) != len(names):
            raise FormatError(f"line {number}: {len(cells)} cells, but {len(names)} columns.")
        line = _line(dict(zip(names, cells, strict=True)), letters, number)
        if line.index in seen:
            raise FormatError(f"line {number}: the index {line.index} is there already.")
        seen.add(line.index)
        found.append(line)
    return found


def _line(cells: dict[str, str], letters: list[str], number: int) -> Line:
    if not (cells["index"].isascii() and cells["index"].isdigit()) or len(cells["index"]) > 15:
        raise FormatError(f"line {number}: the index must be a whole number, not {cells['index'][:40]!r}.")
    options = [cells[letter] for letter in letters]
    while options and not options[-1]:
        options.pop()
    known = {*HEAD, *TAIL, *letters}
    return Line(
        index=int(cells["index"]),
        question=cells["question"],
        options=options,
        answer=cells["answer"],
        video=cells.get("video", ""),
        hint=cells.get("hint", ""),
        category=cells.get("category", ""),
        l2_category=cells.get("l2-category", ""),
        split=cells.get("split", ""),
        extra={name: value for name, value in cells.items() if name not in known and value},
    )
