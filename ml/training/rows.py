"""The rows of a data snapshot: what training is shown, asks and holds an answer against.

A snapshot is a folder (`ml.training.snapshot` makes it):

    snapshot.json     version, name, hash, sources, counts, recordings of each split, leaks
    rows.jsonl        one row a line, by split and id
    clips/<sha256>.mp4

and a row is

    {"id": hash of the item, "split": "train" | "validation", "category", "difficulty", "kind", "question",
     "options": [text], "answer": "B" | "A,C" | "3" | null, "answer_text", "reasoning",
     "gt_events": [{"source", "persons": [numbers], "start"?, "end"?}], "visible_persons": [numbers] | null,
     "clip": {"file", "sha256", "duration_s", "offset_s", "start_s"?, "end_s"?},
     "recording", "video": {"name", "sha256"}, "provenance": {..}}

`answer` is null where the answer is free text (`answer_text` has it). `reasoning` is all that an assistant should say:
think block with gaze and gesture blocks, then the answer tag; empty where nobody wrote any. Times are seconds on the
clip's clock. `start_s`, `end_s`: the part of the file that is the clip, all of it by default; `offset_s`: where the
clip begins in its source. Fields beyond these are refused, since the snapshot's hash would not cover them.

Stage "sft" has the rows with reasoning, stage "grpo" those with options and letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries
from ml.rewards.rows import Row, Truth
from ml.text.answers import letter_of

ROWS, CLIPS = "rows.jsonl", "clips"
SPLITS = TRAIN, VALIDATION = ("train", "validation")
STAGES = SFT, GRPO = ("sft", "grpo")
KINDS = SINGLE, MULTIPLE, YES_NO, NUMBER, OPEN = ("single", "multiple", "yes_no", "number", "open")
LETTERED = (SINGLE, MULTIPLE, YES_NO)
MOST_OPTIONS = 26
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Event:
    """One ground-truth event: `source` gaze, gesture or another word; seconds of the clip, None where not told."""

    source: str
    persons: tuple[int, ...]
    start: float | None = None
    end: float | None = None

    @property
    def truth(self) -> Truth:
        """As rewards take it; the released records call a source "gaze" or anything else."""
        span = None if self.start is None or self.end is None else (self.start, self.end)
        return Truth("gaze" if self.source == "gaze" else "gesture", frozenset(self.persons), span)


@dataclass(frozen=True)
class Clip:
    """What is shown: a file below the snapshot's folder, and the part of it (seconds of the file; None: all of it)."""

    sha256: str
    duration_s: float
    offset_s: float = 0.0
    start_s: float | None = None
    end_s: float | None = None

    @property
    def file(self) -> str:
        """Below the snapshot's folder. It follows from the hash, so a row cannot name a file of its own."""
        return f"{CLIPS}/{self.sha256}.mp4"


@dataclass(frozen=True)
class TrainingRow:
    """One row, as the module's head has it. `split` is empty before a snapshot gives one."""

    id: str
    question: str
    clip: Clip
    kind: str = SINGLE
    options: tuple[str, ...] = ()
    answer: str | None = None
    answer_text: str = ""
    reasoning: str = ""
    events: tuple[Event, ...] = ()
    visible: tuple[int, ...] | None = None
    category: str = ""
    difficulty: str = ""
    recording: str = ""
    video_name: str = ""
    video_sha256: str = ""
    provenance: dict[str, Any] = field(default_factory=dict, hash=False)
    split: str = ""

    @property
    def stages(self) -> tuple[str, ...]:
        """Which training it is good for."""
        letters = bool(self.options) and self.answer is not None and self.kind in LETTERED
        return (SFT,) * bool(self.reasoning) + (GRPO,) * letters


def reward_row(row: TrainingRow, completion: str) -> Row:
    """The row with a completion of it, as rewards take it."""
    return Row(
        completion,
        row.question,
        row.answer,
        tuple(event.truth for event in row.events),
        None if row.visible is None else frozenset(row.visible),
        row.options,
        row.id,
    )


def of_stage(rows: Iterable[TrainingRow], stage: str) -> list[TrainingRow]:
    """The rows that the stage trains on. Raises ValueError for another word."""
    if stage not in STAGES:
        raise ValueError(f"There is no stage {stage!r} of rows; there are {', '.join(STAGES)}.")
    return [row for row in rows if stage in row.stages]


# ---------------------------------------------------------------------------------------------------------------------
# JSON


def build_row(row: TrainingRow) -> dict[str, Any]:
    """The tree of a row; `parse_row` of it gives an equal one."""
    part = {"start_s": row.clip.start_s, "end_s": row.clip.end_s}
    return {
        "id": row.id,
        "split": row.split,
        "category": row.category,
        "difficulty": row.difficulty,
        "kind": row.kind,
        "question": row.question,
        "options": list(row.options),
        "answer": row.answer,
        "answer_text": row.answer_text,
        "reasoning": row.reasoning,
        "gt_events": [_build_event(event) for event in row.events],
        "visible_persons": None if row.visible is None else list(row.visible),
        "clip": {
            "file": row.clip.file,
            "sha256": row.clip.sha256,
            "duration_s": row.clip.duration_s,
            "offset_s": row.clip.offset_s,
            **{name: value for name, value in part.items() if value is not None},
        },
        "recording": row.recording,
        "video": {"name": row.video_name, "sha256": row.video_sha256},
        "provenance": row.provenance,
    }


def _build_event(event: Event) -> dict[str, Any]:
    span = {"start": event.start, "end": event.end}
    told = {name: value for name, value in span.items() if value is not None}
    return {"source": event.source, "persons": list(event.persons), **told}


def parse_row(tree: Any, place: str = "") -> TrainingRow:
    """Check one row; `FormatError` names the place and the cause."""
    at = f"{place}." if place else ""
    row = read_as.mapping(tree, place or "the row")
    _only(row, _FIELDS, place)
    words = {name: _text(row, name, at) for name in ("id", "question", "kind", "category", "difficulty", "recording")}
    split = _text(row, "split", at)
    if split not in SPLITS:
        raise read_as.fail(f"{at}split", "train or validation", split)
    video = read_as.mapping(row.get("video", {}), f"{at}video")
    seen = row.get("visible_persons")
    options = read_as.sequence(row.get("options", []), f"{at}options")
    events = read_as.sequence(row.get("gt_events", []), f"{at}gt_events")
    found = TrainingRow(
        **words,
        split=split,
        options=tuple(read_as.text(one, f"{at}options[{n}]") for n, one in enumerate(options)),
        answer=None if row.get("answer") is None else _text(row, "answer", at),
        answer_text=_text(row, "answer_text", at),
        reasoning=_text(row, "reasoning", at),
        events=tuple(parse_event(one, f"{at}gt_events[{n}]") for n, one in enumerate(events)),
        visible=None if seen is None else _persons(seen, f"{at}visible_persons"),
        clip=_clip(read_as.member(row, "clip", place or "the row"), f"{at}clip"),
        video_name=_text(video, "name", f"{at}video."),
        video_sha256=_text(video, "sha256", f"{at}video."),
        provenance=dict(read_as.mapping(row.get("provenance", {}), f"{at}provenance")),
    )
    check_answer(found, place)
    return found


_FIELDS = frozenset(
    {
        "id", "split", "category", "difficulty", "kind", "question", "options", "answer", "answer_text", "reasoning",
        "gt_events", "visible_persons", "clip", "recording", "video", "provenance",
    }
)  # fmt: skip


def check_answer(row: TrainingRow, place: str = "") -> None:
    """Raises FormatError unless options and answer belong together, and id and kind are there."""
    at = f"{place}." if place else ""
    if not row.id:
        raise FormatError(f"{at}id: the row has no id.")
    if row.kind not in KINDS:
        raise read_as.fail(f"{at}kind", f"one of {', '.join(KINDS)}", row.kind)
    if row.kind not in LETTERED:
        if row.options:
            raise FormatError(f"{at}options: a question of the kind {row.kind} has none.")
        return
    if not 2 <= len(row.options) <= MOST_OPTIONS:
        raise FormatError(f"{at}options: expected 2 to {MOST_OPTIONS}, found {len(row.options)}.")
    offered = {letter_of(n) for n in range(len(row.options))}
    letters = (row.answer or "").split(",")
    if not set(letters) <= offered or len(set(letters)) < len(letters) or (row.kind != MULTIPLE and len(letters) > 1):
        raise FormatError(f"{at}answer: {row.answer!r} is no letter of the {len(row.options)} options.")


def parse_event(tree: Any, place: str) -> Event:
    """One member of `gt_events`. Raises FormatError."""
    event = read_as.mapping(tree, place)
    _only(event, {"source", "persons", "start", "end"}, place)
    ends = {
        name: read_as.number(event[name], f"{place}.{name}") for name in ("start", "end") if event.get(name) is not None
    }
    if len(ends) == 1:
        raise FormatError(f"{place}: an event has a start and an end, or neither.")
    if ends and ends["end"] < ends["start"]:
        raise FormatError(f"{place}: the event ends at {ends['end']:g} s, before it starts at {ends['start']:g} s.")
    persons = _persons(read_as.member(event, "persons", place), f"{place}.persons")
    return Event(read_as.text(read_as.member(event, "source", place), f"{place}.source"), persons, **ends)


def _clip(tree: Any, place: str) -> Clip:
    clip = read_as.mapping(tree, place)
    _only(clip, {"file", "sha256", "duration_s", "offset_s", "start_s", "end_s"}, place)
    sha256 = _text(clip, "sha256", f"{place}.")
    if not SHA256.fullmatch(sha256):
        raise read_as.fail(f"{place}.sha256", "64 hexadecimal digits", sha256)
    part = {
        name: read_as.number(clip[name], f"{place}.{name}", low=0)
        for name in ("start_s", "end_s")
        if clip.get(name) is not None
    }
    if part.get("end_s", float("inf")) <= part.get("start_s", 0.0):
        raise FormatError(f"{place}: the part of the file ends where it starts, or before.")
    found = Clip(
        sha256,
        read_as.number(read_as.member(clip, "duration_s", place), f"{place}.duration_s", low=0),
        read_as.number(clip.get("offset_s", 0.0), f"{place}.offset_s"),
        **part,
    )
    if clip.get("file", found.file) != found.file:
        raise read_as.fail(f"{place}.file", found.file, clip["file"])
    return found


def _persons(tree: Any, place: str) -> tuple[int, ...]:
    return tuple(read_as.whole(one, f"{place}[{n}]") for n, one in enumerate(read_as.sequence(tree, place)))


def _text(tree: Mapping[str, Any], name: str, at: str) -> str:
    return read_as.text(read_as.member(tree, name, at.rstrip(".") or "the row"), f"{at}{name}")


def _only(tree: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    unknown = sorted(set(tree) - set(known))
    if unknown:
        raise FormatError(f"{place or 'the row'}: there is no field {read_as.shown(unknown[0])}.")


# ---------------------------------------------------------------------------------------------------------------------
# Files


def stream(folder: Path) -> Iterator[TrainingRow]:
    """The rows of a snapshot in the order of the file. Raises FormatError naming file and line."""
    path = Path(folder) / ROWS
    if not path.is_file():
        raise FormatError(f"{folder} is no snapshot: it has no {ROWS}.")
    for entry in entries(path):
        try:
            yield parse_row(entry.tree)
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error


def read(folder: Path, stage: str | None = None, split: str | None = None) -> list[TrainingRow]:
    """The rows of a snapshot, those of one stage and split where they are named. Raises FormatError."""
    found = [row for row in stream(folder) if split is None or row.split == split]
    return found if stage is None else of_stage(found, stage)
