"""Models' responses to questions about clips: what an audit reads. JSON lines, a JSON list, or a folder of such files.

Own layout, one response a line; the fields marked ? may be missing:

    {"video": str, "clip_start": s?, "clip_end": s?, "rendering": "clean" | "tags" | "grasp"?, "person_map": {"2": 5}?,
     "question": str, "options": ["A) ..", ..]?, "answer": str?, "model": str, "text": str, "key": str?, "id": str?}

`clip_start`, `clip_end`: seconds of the source video, 0 at its first presented frame; without them it is the whole
video. `person_map`: printed tag ("2", "P2" or "Person 2", kept as "2") -> person number or id.
`answer` is the model's, read from the text where it is missing or empty; `key` is the right one. Fields beyond the
layout are kept in `extra`.

Also read, told apart by their fields:

    AffectOmni    full_pipeline_results.json: {"sample_id", "qid", "question", "video_path", "ground_truth",
                  "full_output", "context", "thinking", "answer", "summary", "sam3_objects", "sam3_results_summary"}.
                  Where there is no full output, it is put together from context, thinking and answer.
    HumanOmniV2   output of its evaluation: {"problem" or "question", "options", "solution", "problem_type",
                  "data_type", "video" or "path", "qid", "output", "prediction"?}, or {"results": [..]}
    GRASP         an item of `ml.formats.grasp_items` with the reply beside it, in "response", "output", "prediction",
                  "reply" or "text"; its clip is `clip_offset` and `clip_duration` of `video_name`, rendering "grasp"

These name no model: `model` is "" unless a field "model" does.

`read` streams; `parse` reads one tree, `build` makes one (own layout), `write` makes a file. What is broken is a
FormatError, one sentence with file and place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ml.evidence.reading import parsed
from ml.formats import grasp_items
from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries
from ml.questions.clip import RENDERINGS
from ml.text import persons, tags

OWN = (
    "video", "clip_start", "clip_end", "rendering", "person_map", "question", "options", "answer", "model", "text",
    "key", "id",
)  # fmt: skip
LONGEST_TEXT = 1_000_000  # characters of a reply
LONGEST_WORDS = 50_000  # of a question or an option
MOST_OPTIONS = 26
FARTHEST = 1e7  # seconds
_REPLY = ("response", "output", "prediction", "reply", "text")


@dataclass(frozen=True)
class Response:
    """One reply of one model to one question about one clip; see the module. `place`: where it was read."""

    video: str
    clip_start: float | None
    clip_end: float | None
    rendering: str
    person_map: dict[str, int | str]
    question: str
    options: tuple[str, ...]
    answer: str
    model: str
    text: str
    key: str | None = None
    id: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    place: str = field(default="", compare=False)


def read(path: Path) -> Iterator[Response]:
    """The responses of a file or folder, in order, one at a time. Raises FormatError, also in the middle."""
    for entry in entries(Path(path)):
        tree = entry.tree
        if isinstance(tree, Mapping) and isinstance(tree.get("results"), list) and "text" not in tree:
            for at, one in enumerate(tree["results"]):
                yield parse(one, f"{entry.place}, results[{at}]")
        else:
            yield parse(tree, entry.place)


def parse(tree: Any, place: str = "") -> Response:
    """A response from its JSON tree, of any of the layouts. Raises FormatError whose sentence begins with the place."""
    where = f"{place}: " if place else ""
    try:
        fields = read_as.mapping(tree, "the response")
        return _layout(fields)(fields, place)
    except FormatError as error:
        raise FormatError(f"{where}{error}") from error


def build(response: Response) -> dict[str, Any]:
    """The tree of a response in the own layout."""
    tree: dict[str, Any] = {
        "video": response.video,
        "clip_start": response.clip_start,
        "clip_end": response.clip_end,
        "rendering": response.rendering,
        "person_map": dict(response.person_map),
        "question": response.question,
        "options": list(response.options),
        "answer": response.answer,
        "model": response.model,
        "text": response.text,
    }
    named = {"key": response.key, "id": response.id}
    return response.extra | tree | {name: value for name, value in named.items() if value is not None}


def write(path: Path, responses: Iterable[Response]) -> None:
    """A file of JSON lines in the own layout."""
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for response in responses:
            file.write(json.dumps(build(response), ensure_ascii=False) + "\n")


# --- layouts ---------------------------------------------------------------------------------------------------------


def _layout(tree: Mapping[str, Any]) -> Any:
    if "qa" in tree:
        return _grasp
    if "full_output" in tree or ("thinking" in tree and "video_path" in tree):
        return _affectomni
    if "text" in tree:
        return _own
    if "output" in tree or "prediction" in tree:
        return _grasp if "clip_file" in tree or "video_name" in tree else _humanomni
    if "response" in tree or "reply" in tree:
        return _grasp
    return _own


def _own(tree: Mapping[str, Any], place: str) -> Response:
    start, end = (_seconds(tree.get(name), name) for name in ("clip_start", "clip_end"))
    if (start is None) != (end is None):
        missing = "clip_start" if start is None else "clip_end"
        raise FormatError(f"the field {missing} is missing; a clip has both ends, a whole video neither.")
    if start is not None and end is not None and start >= end:
        raise FormatError(f"clip_end: the clip ends at {end:g} s, which is not after its start at {start:g} s.")
    reply = _reply(read_as.member(tree, "text", ""), "text")
    rendering = tree.get("rendering")
    if rendering is not None and rendering not in RENDERINGS:
        raise read_as.fail("rendering", f"one of {', '.join(RENDERINGS)}", rendering)
    return Response(
        video=_named(read_as.member(tree, "video", ""), "video"),
        clip_start=start,
        clip_end=end,
        rendering=rendering or "clean",
        person_map=_person_map(tree.get("person_map")),
        question=_words(read_as.member(tree, "question", ""), "question"),
        options=_options(tree.get("options"), "options"),
        answer=_answer(tree.get("answer"), reply),
        model=_named(read_as.member(tree, "model", ""), "model"),
        text=reply,
        key=_optional(tree.get("key"), "key"),
        id=_id(tree.get("id"), "id"),
        extra=_extra(tree, OWN),
        place=place,
    )


def _affectomni(tree: Mapping[str, Any], place: str) -> Response:
    full = tree.get("full_output")
    if not full:
        parts = [("context", tree.get("context")), ("think", tree.get("thinking")), ("answer", tree.get("answer"))]
        full = "\n".join(f"<{name}>{_reply(part, name)}</{name}>" for name, part in parts if part)
    reply = _reply(full, "full_output")
    used = ("video_path", "question", "options", "answer", "model", "full_output", "ground_truth", "sample_id")
    return Response(
        video=_named(read_as.member(tree, "video_path", ""), "video_path"),
        clip_start=None,
        clip_end=None,
        rendering="clean",
        person_map={},
        question=_words(read_as.member(tree, "question", ""), "question"),
        options=_options(tree.get("options"), "options"),
        answer=_answer(tree.get("answer"), reply),
        model=_optional(tree.get("model"), "model") or "",
        text=reply,
        key=_bare(tree.get("ground_truth"), "ground_truth"),
        id=_id(tree.get("sample_id", tree.get("qid")), "sample_id"),
        extra=_extra(tree, (*used, *OWN)),
        place=place,
    )


def _humanomni(tree: Mapping[str, Any], place: str) -> Response:
    asked = "problem" if "problem" in tree else "question"
    said = "output" if "output" in tree else "prediction"
    video = "video" if tree.get("video") else "path"
    where = tree.get(video)
    if isinstance(where, Mapping):  # {"image": .., "audio": ..}, {"video": ..}
        where = where.get("video", where.get("image"))
    reply = _reply(read_as.member(tree, said, ""), said)
    used = (asked, "options", said, video, "solution", "qid", "model", "prediction")
    return Response(
        video=_named(where, video),
        clip_start=None,
        clip_end=None,
        rendering="clean",
        person_map={},
        question=_words(read_as.member(tree, asked, ""), asked),
        options=_options(tree.get("options"), "options"),
        answer=_answer(tree.get("prediction") if said == "output" else None, reply),
        model=_optional(tree.get("model"), "model") or "",
        text=reply,
        key=_bare(tree.get("solution", tree.get("answer")), "solution"),
        id=_id(tree.get("qid", tree.get("problem_id")), "qid"),
        extra=_extra(tree, (*used, *OWN)),
        place=place,
    )


def _grasp(tree: Mapping[str, Any], place: str) -> Response:
    said = next((name for name in _REPLY if name in tree), None)
    if said is None:
        raise FormatError(f"there is no reply beside the item; it is looked for in {', '.join(_REPLY)}.")
    rest = {name: value for name, value in tree.items() if name not in (said, "model", "person_map", "id")}
    item = grasp_items.parse_item(rest)
    reply = _reply(tree[said], said)
    start, length = item.clip_offset, item.clip_duration
    whole = start is None or length is None or length <= 0
    return Response(
        video=_named(item.video_name or item.clip_file, "video_name"),
        clip_start=None if whole else start,
        clip_end=None if whole else (start or 0.0) + (length or 0.0),
        rendering="grasp",
        person_map=_person_map(tree.get("person_map")),
        question=item.question,
        options=tuple(item.options),
        answer=_answer(None, reply),
        model=_optional(tree.get("model"), "model") or "",
        text=reply,
        key=item.answer,
        id=_id(tree.get("id"), "id"),
        extra=_extra(item.extra | {"category": item.category, "difficulty": item.difficulty}, OWN),
        place=place,
    )


# --- fields ----------------------------------------------------------------------------------------------------------


def _seconds(value: Any, place: str) -> float | None:
    return None if value is None else read_as.number(value, place, low=0, high=FARTHEST)


def _words(value: Any, place: str, longest: int = LONGEST_WORDS) -> str:
    """A string that a database can hold."""
    result = read_as.text(value, place)
    if len(result) > longest:
        raise FormatError(f"{place}: the string has {len(result):,} characters, more than {longest:,}.")
    if "\x00" in result:
        raise FormatError(f"{place}: the string holds a NUL character.")
    return result


def _reply(value: Any, place: str) -> str:
    return _words(value, place, LONGEST_TEXT)


def _named(value: Any, place: str) -> str:
    result = _words(value, place)
    if not result.strip():
        raise read_as.fail(place, "a name", value)
    return result


def _optional(value: Any, place: str) -> str | None:
    return None if value is None else _words(value, place)


def _bare(value: Any, place: str) -> str | None:
    """A right answer without the tags it may stand in; a list of words is joined by commas."""
    if isinstance(value, list):
        return ", ".join(_words(one, f"{place}[{at}]") for at, one in enumerate(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{read_as.number(value, place):g}"
    words = _optional(value, place)
    inner = tags.first(words, "answer") if words else None
    return inner if inner is not None else words


def _id(value: Any, place: str) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _optional(value, place)


def _answer(value: Any, reply: str) -> str:
    if isinstance(value, list):
        value = ", ".join(_words(one, f"answer[{at}]") for at, one in enumerate(value))
    given = _optional(value, "answer") or ""
    inner = tags.first(given, "answer")
    return (inner if inner is not None else given).strip() or parsed(reply).answer


def _options(value: Any, place: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, Mapping):  # {"A": "...", "B": "..."}
        value = [f"{letter}) {_words(words, f'{place}.{letter}')}" for letter, words in value.items()]
    listed = read_as.sequence(value, place)
    if len(listed) > MOST_OPTIONS:
        raise FormatError(f"{place}: {len(listed)} options are more than {MOST_OPTIONS}.")
    return tuple(_words(one, f"{place}[{at}]") for at, one in enumerate(listed))


def _person_map(value: Any) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    for tag, person in ({} if value is None else read_as.mapping(value, "person_map")).items():
        place = read_as.step("person_map", tag)
        number = _tag(tag)
        if number is None:
            raise FormatError(f"{place}: a printed tag is a whole number, as in 2, P2 or Person 2.")
        if number in found:
            raise FormatError(f"{place}: tag {number} is there twice.")
        whole = isinstance(person, int) and not isinstance(person, bool)
        found[number] = read_as.whole(person, place) if whole else _named(person, place)
    return found


def _tag(words: str) -> str | None:
    """The number of a printed tag: "2", "P2", "Person 2"."""
    if words.isascii() and words.isdecimal() and len(words) <= 9:
        return str(int(words))
    one = persons.mentions(words)
    whole = len(one) == 1 and (one[0].start, one[0].end) == (0, len(words)) and len(one[0].numbers) == 1
    return str(one[0].numbers[0]) if whole else None


def _extra(tree: Mapping[str, Any], used: Iterable[str]) -> dict[str, Any]:
    kept = {name: value for name, value in tree.items() if name not in used}
    return dict(read_as.plain(kept, ""))
