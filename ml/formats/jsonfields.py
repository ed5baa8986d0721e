"""Reading untrusted JSON: bytes to a tree, and the tree's fields to typed values, with the place in every complaint.

A place is written as in `frames[12].persons[0].face_bbox`. Every function raises `FormatError` with one sentence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ml.formats.errors import FormatError

LARGEST_WHOLE = 2**53
_SHOWN = 40
_DEEPEST = 50


def load(data: bytes | str) -> Any:
    """Decode one JSON document (UTF-8, a byte order mark is allowed); the words NaN and Infinity become null."""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        return json.loads(text, parse_constant=_no_value)
    except UnicodeDecodeError as error:
        raise FormatError(f"The file is not UTF-8 text: byte {error.start} cannot be read.") from error
    except json.JSONDecodeError as error:
        raise FormatError(f"line {error.lineno}, column {error.colno}: not valid JSON ({error.msg}).") from error
    except RecursionError as error:
        raise FormatError("The file is nested too deeply to be read.") from error
    except ValueError as error:
        raise FormatError("The file holds a number that is too long to be read.") from error


def _no_value(_name: str) -> None:
    """NaN and Infinity are not JSON, yet common writers emit them for a missing number: read them as null."""


def shown(value: Any) -> str:
    """A short rendering of a value for a message."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def fail(place: str, expected: str, value: Any) -> FormatError:
    """The error for a value of the wrong kind."""
    return FormatError(f"{place}: expected {expected}, found {shown(value)}.")


def step(place: str, key: str) -> str:
    """The place of a field; a key that is no plain word is shown as JSON."""
    word = key if key.isidentifier() and key.isascii() and len(key) <= _SHOWN else f"[{shown(key)}]"
    return f"{place}.{word}" if place else word


def mapping(value: Any, place: str) -> Mapping[str, Any]:
    """`value` as an object."""
    if not isinstance(value, dict):
        raise fail(place, "an object", value)
    return value


def sequence(value: Any, place: str) -> list[Any]:
    """`value` as a list."""
    if not isinstance(value, list):
        raise fail(place, "a list", value)
    return value


def member(tree: Mapping[str, Any], key: str, place: str) -> Any:
    """The field `key`, which must be there."""
    if key not in tree:
        raise FormatError(f"{place}: the field {key} is missing." if place else f"The field {key} is missing.")
    return tree[key]


def text(value: Any, place: str) -> str:
    """`value` as a string that UTF-8 can hold."""
    if not isinstance(value, str):
        raise fail(place, "a string", value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(f"{place}: the string holds half a character (a lone surrogate).") from error
    return value


def number(value: Any, place: str, *, low: float = -math.inf, high: float = math.inf) -> float:
    """`value` as a finite number in [low, high]; true and false are not numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise fail(place, "a number", value)
    try:
        result = float(value)
    except OverflowError as error:
        raise fail(place, "a finite number", value) from error
    if not math.isfinite(result):
        raise fail(place, "a finite number", value)
    if not low <= result <= high:
        raise fail(place, _range(low, high), value)
    return result


def whole(value: Any, place: str, *, low: int = 0, high: int = LARGEST_WHOLE) -> int:
    """`value` as a whole number in [low, high]; 3.0 counts as 3."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise fail(place, "a whole number", value)
    if not low <= value <= high:
        raise fail(place, f"a whole number from {low} to {high}", value)
    return value


def numbers(value: Any, place: str, count: int, *, low: float = -math.inf, high: float = math.inf) -> list[float]:
    """`value` as a list of exactly `count` finite numbers in [low, high]."""
    items = sequence(value, place)
    if len(items) != count:
        raise fail(place, f"{count} numbers", value)
    return [number(item, f"{place}[{position}]", low=low, high=high) for position, item in enumerate(items)]


def plain(value: Any, place: str, depth: int = 0) -> Any:
    """`value` unchanged when it can be written as JSON again: finite numbers, at most 50 levels."""
    if depth > _DEEPEST:
        raise FormatError(f"{place[:_SHOWN]}: nested deeper than {_DEEPEST} levels.")
    if isinstance(value, dict):
        for key, item in value.items():
            plain(item, step(place, key), depth + 1)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            plain(item, f"{place}[{position}]", depth + 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number(value, place)
    return value


def _range(low: float, high: float) -> str:
    if math.isinf(high):
        return f"a number of at least {low:g}"
    if math.isinf(low):
        return f"a number of at most {high:g}"
    return f"a number from {low:g} to {high:g}"
