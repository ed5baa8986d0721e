"""Many JSON values from a file or a folder, one at a time: a list, JSON lines, or a folder of such files.

A file is read as JSON lines when its name ends in .jsonl or .ndjson, or when its first line alone is a whole value and
more follows; else as one list (its members are the values), one value, or values one after another. Text is UTF-8, a
byte order mark is allowed. Memory is bounded by the largest value, never by the file.

Every complaint is a `FormatError` whose sentence names the file and the place in it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ml.formats.errors import FormatError

LARGEST_VALUE = 8 * 2**20  # characters
CHUNK = 2**18
LINES = (".jsonl", ".ndjson")
SUFFIXES = (".json", *LINES)
_BLANK = re.compile(r"[ \t\r\n]*")
_DIGITS = re.compile(r"(\d+)")
_OTHER_ENCODINGS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One value: its `position` in the whole source from 0, and the `place` to name in a complaint about it."""

    position: int
    place: str
    tree: Any


def entries(path: Path) -> Iterator[Entry]:
    """The values of a file or folder in order. Raises FormatError, also in the middle of the reading."""
    position = 0
    for file in files(path):
        for place, tree in _values(file):
            yield Entry(position, place, tree)
            position += 1


def files(path: Path) -> list[Path]:
    """The files to read: the path itself, or a folder's in natural order (those of its `json` folder if it has one)."""
    try:
        if path.is_dir():
            inner = path / "json"
            folder = inner if inner.is_dir() else path
            found = [file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file()]
            if not found:
                raise FormatError(f"{path} holds no file that ends in {', '.join(SUFFIXES)}.")
            return sorted(found, key=_natural)
        if not path.exists():
            raise FormatError(f"There is no file or folder {path}.")
        if not path.is_file():
            raise FormatError(f"{path} is neither a file nor a folder.")
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{str(path)!r} cannot be looked at ({_reason(error)}).") from error
    return [path]


def _natural(path: Path) -> list[tuple[int, int | str]]:
    """clip_qa2 before clip_qa10; numbers of absurd length are compared as text."""
    parts = _DIGITS.split(path.name)
    return [(0, int(part)) if at % 2 and len(part) < 19 else (1, part) for at, part in enumerate(parts)]


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        with file.open("rb") as stream:
            lines = file.suffix.lower() in LINES or _looks_like_lines(stream)
            stream.seek(0)
            text = _Text(stream, file.name)
            yield from (_lines(text) if lines else _sequence(text))
    except OSError as error:
        raise FormatError(f"{file.name} cannot be read ({_reason(error)}).") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _looks_like_lines(stream: BinaryIO) -> bool:
    """The first line alone is a whole list or object, and something follows it."""
    first = stream.readline(LARGEST_VALUE)
    if not first.endswith(b"\n") or first.strip()[:1] not in (b"{", b"["):
        return False
    try:
        json.loads(first.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    while chunk := stream.read(CHUNK):
        if chunk.strip():
            return True
    return False


class _Text:
    """Decoded text of a stream, read on demand; `line` is the number of the line where `buffer[at]` stands."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name = stream, name
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.buffer, self.at, self.line, self.column, self.bytes, self.ended = "", 0, 1, 1, 0, False

    def more(self) -> bool:
        """Append to the buffer, after dropping what was read; False at the end of the file."""
        if self.ended:
            return False
        size = max(CHUNK, len(self.buffer) - self.at)  # doubling: few attempts at a large value
        chunk = self.stream.read(size)
        if self.bytes == 0:
            chunk += self.stream.read(len(codecs.BOM_UTF8))  # so that a byte order mark is whole, and more than that
            for mark, encoding in _OTHER_ENCODINGS.items():
                if chunk.startswith(mark):
                    raise FormatError(f"{self.name}: the file is {encoding} text; save it as UTF-8.")
            if chunk.startswith(codecs.BOM_UTF8):
                chunk = chunk[len(codecs.BOM_UTF8) :]
                self.bytes = len(codecs.BOM_UTF8)
        pending = len(self.decoder.getstate()[0])
        try:
            text = self.decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            where = self.bytes - pending + error.start
            raise FormatError(f"{self.name}: the file is not UTF-8 text: byte {where} cannot be read.") from error
        self.bytes += len(chunk)
        self.ended = not chunk
        self.buffer, self.at = self.buffer[self.at :] + text, 0
        return bool(chunk)

    def to(self, at: int) -> None:
        """Move forward to a place in the buffer."""
        newlines = self.buffer.count("\n", self.at, at)
        self.line += newlines
        self.column = at - self.buffer.rfind("\n", self.at, at) if newlines else self.column + at - self.at
        self.at = at

    def peek(self) -> str:
        """The next character that is no blank, not taken; empty at the end."""
        while True:
            match = _BLANK.match(self.buffer, self.at)
            self.to(match.end() if match else self.at)
            if self.at < len(self.buffer):
                return self.buffer[self.at]
            if not self.more():
                return ""

    def fail(self, sentence: str) -> FormatError:
        return FormatError(f"{self.name}, line {self.line}, column {self.column}: {sentence}")

    def value(self) -> Any:
        """Take the value that begins here; what follows it has been read, so that a number is whole."""
        while True:
            try:
                tree, end = _DECODER.raw_decode(self.buffer, self.at)
                if end < len(self.buffer) or self.ended:
                    self.to(end)
                    return tree
            except json.JSONDecodeError as error:
                if self.ended or len(self.buffer) - self.at > LARGEST_VALUE:
                    self.to(max(self.at, min(error.pos, len(self.buffer))))
                    raise self.fail(_why(error)) from error
            except RecursionError as error:
                raise self.fail("the value that begins here is nested too deeply to be read.") from error
            except ValueError as error:
                raise self.fail("the value that begins here holds a number that is too long to be read.") from error
            if len(self.buffer) - self.at > LARGEST_VALUE:
                raise self.fail(f"the value that begins here is longer than {LARGEST_VALUE:,} characters.")
            self.more()


def _no_value(_name: str) -> None:
    """NaN and Infinity are not JSON, yet common writers emit them for a missing number: read them as null."""


_DECODER = json.JSONDecoder(parse_constant=_no_value)


def _why(error: json.JSONDecodeError) -> str:
    return f"not valid JSON ({error.msg})."


def _sequence(text: _Text) -> Iterator[tuple[str, Any]]:
    """Members of one list, or values one after another."""
    if text.peek() == "":
        raise FormatError(f"{text.name} is empty.")
    if text.peek() != "[":
        number = 0
        while text.peek():
            line = text.line
            yield f"{text.name}, item {number} (line {line})", text.value()
            number += 1
        return
    text.to(text.at + 1)
    yield from _members(text)
    if text.peek():
        raise text.fail("something follows the end of the list.")


def _members(text: _Text) -> Iterator[tuple[str, Any]]:
    if text.peek() == "]":
        text.to(text.at + 1)
        return
    number = 0
    while True:
        if not text.peek():
            raise text.fail("the file ends inside the list; it was cut short.")
        line = text.line
        yield f"{text.name}, item {number} (line {line})", text.value()
        number += 1
        mark = text.peek()
        if not mark:
            raise text.fail("the file ends inside the list; it was cut short.")
        if mark not in ",]":
            raise text.fail("expected a comma or the end of the list.")
        text.to(text.at + 1)
        if mark == "]":
            return


def _lines(text: _Text) -> Iterator[tuple[str, Any]]:
    """One value a line; empty lines are passed over."""
    number, found = 0, 0
    while line := _line(text):
        number += 1
        if line.strip(" \t\r\n"):
            yield f"{text.name}, line {number}", _one(line, f"{text.name}, line {number}")
            found += 1
    if not found:
        raise FormatError(f"{text.name} is empty.")


def _line(text: _Text) -> str:
    """The next line with its end, or nothing."""
    while (end := text.buffer.find("\n", text.at)) < 0:
        if len(text.buffer) - text.at > LARGEST_VALUE:
            raise text.fail(f"the line is longer than {LARGEST_VALUE:,} characters.")
        if not text.more():
            end = len(text.buffer) - 1
            break
    line = text.buffer[text.at : end + 1]
    text.line, text.column, text.at = text.line + 1, 1, end + 1
    return line


def _one(line: str, place: str) -> Any:
    try:
        tree, end = _DECODER.raw_decode(line, len(line) - len(line.lstrip(" \t\r\n")))
    except json.JSONDecodeError as error:
        raise FormatError(f"{place}, column {error.pos + 1}: {_why(error)}") from error
    except RecursionError as error:
        raise FormatError(f"{place}: the value is nested too deeply to be read.") from error
    except ValueError as error:
        raise FormatError(f"{place}: the value holds a number that is too long to be read.") from error
    if line[end:].strip(" \t\r\n"):
        raise FormatError(f"{place}, column {end + 1}: something follows the value.")
    return tree
