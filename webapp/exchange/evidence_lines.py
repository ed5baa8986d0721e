"""The JSON files of a `python -m ml.evidence.run` folder, held against what that writes before they are used.

Numbers are finite, texts are texts, frames are whole numbers from 0; fields that nobody reads may be anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ml.formats import jsonfields
from ml.formats.errors import FormatError
from ml.questions.clip import RENDERINGS

Row = dict[str, Any]
Frame = Annotated[int, Field(ge=0, lt=2**31)]
Ends = Annotated[list[Frame], Field(min_length=2, max_length=2)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Short = Annotated[str, Field(max_length=200)]


class Shape(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class NamedShape(Shape):
    name: Short


class VideoShape(Shape):
    sha256: Digest
    run: Digest | None


class PlanShape(Shape):
    video: VideoShape
    summariser: NamedShape
    grounder: NamedShape


class RunShape(Shape):
    plan: PlanShape


class ResponseShape(Shape):
    id: Annotated[str, Field(max_length=50_000)]
    name: Short
    clip_frames: Ends
    rendering: Literal[RENDERINGS]  # type: ignore[valid-type]  # a tuple of words
    person_map: dict[Short, int | Short]
    question: str
    options: list[str]
    answer: str
    model: Short
    text: str
    key: str | None
    correct: bool | None


class PackageShape(Shape):
    response: str
    package: Row | None = None
    error: str = ""
    raw: str = ""


class QueryShape(Shape):
    id: Annotated[str, Field(min_length=1, max_length=60)]
    text: str
    role: Literal["phrase", "category", "negative", "person", "reprompt"]
    person: Frame | None


class WindowShape(Shape):
    frame: list[Frame]
    inside: list[bool]


class GroundedShape(Shape):
    status: dict[str, Short]
    sentence: dict[str, str]
    looked: list[Frame]
    attributes_checked: dict[str, list[str]]
    notes: list[str]


class NumbersShape(Shape):
    span: Ends | None = None


class VerdictShape(Shape):
    response: str
    claim: Short
    verdict: Short
    rule: Short
    sentence: str
    numbers: NumbersShape
    queries: list[QueryShape]
    window: WindowShape | None
    grounded: GroundedShape | None


class DeletionShape(Shape):
    response: str


def one(path: Path, shape: type[Shape]) -> Row:
    """The object that is the whole file. Raises FormatError."""
    return _checked(_bytes(path), shape, str(path))


def lines(path: Path, shape: type[Shape]) -> list[Row]:
    """The objects of a file of JSON lines. Raises FormatError naming the line."""
    rows = _bytes(path).split(b"\n")
    return [_checked(row, shape, f"{path}, line {at}") for at, row in enumerate(rows, 1) if row.strip()]


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        raise FormatError(f"{path} is missing.")
    return path.read_bytes()


def _checked(data: bytes, shape: type[Shape], place: str) -> Row:
    try:
        found = jsonfields.load(data)
        shape.model_validate(found)
        tree: Row = jsonfields.plain(jsonfields.mapping(found, "the line"), "")
    except FormatError as error:
        raise FormatError(f"{place}: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part)[:40] for part in first["loc"]) or "the line"
        raise FormatError(f"{place}: {where}: {first['msg'][:200]}.") from error
    return tree
