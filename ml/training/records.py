"""GRASP's training records (data_sft.jsonl, data_rl.jsonl) as rows of a snapshot, and rows as such records.

    python -m ml.training.snapshot OUT --grasp-records data_sft.jsonl --grasp-records data_rl.jsonl --videos DIR
    python -m ml.training.records SNAPSHOT OUT [--split train]

`ml.formats.grasp_train` has the layout. The user's text holds the question, one option a line, and a request; the
request is left out, since a prompt here has its own. The last assistant text is the letter in a record for RL, and the
trace with its answer tag in one for SFT. A video part with `start_seconds` and `end_seconds` is that part of its file;
its clock begins with it. What a record has no place for (who is visible, the recording, where the item comes from) is
written into the meta part, as `source_recording` and `sightline`, and read back from there: rows that are written, with
the snapshot's folder as that of the videos, read back the same but for their split.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from ml.evaluation.prompts import REASON
from ml.formats import grasp_train
from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.grasp_train import MetaPart, Record, TextPart, TrueEvent, VideoPart
from ml.formats.hashing import digest, sha256_of
from ml.formats.jsonstream import entries
from ml.questions.lint.recordings import source_of, stem
from ml.text import tags
from ml.text.answers import letter_of, split_option
from ml.training.rows import (
    GRPO,
    MULTIPLE,
    OPEN,
    SFT,
    SINGLE,
    SPLITS,
    STAGES,
    TRAIN,
    Clip,
    TrainingRow,
    check_answer,
    of_stage,
    parse_event,
    read,
)  # fmt: skip
from ml.training.sources import Source

FILES = {SFT: "data_sft.jsonl", GRPO: "data_rl.jsonl"}
OURS = "sightline"  # in the meta part: what of a row the record has no place for
BAD_INPUT = 2


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def source(path: Path, videos: Path) -> Source:
    """The rows of a file of records, with their videos. Raises FormatError naming file and place."""
    if not videos.is_dir():
        raise FormatError(f"There is no folder {videos} of videos.")
    found = Videos(videos)
    rows: list[TrainingRow] = []
    for place, record in _records(path):
        try:
            rows.append(row_of_record(record, found))
        except FormatError as error:
            raise FormatError(f"{place}: {error}") from error
    return Source(rows, found.by_hash, {"grasp_records": path.name, "records": len(rows)})


def _records(path: Path) -> Iterable[tuple[str, Record]]:
    """Records with their places; a file that is one record is one."""
    parts: list[Any] = []
    for entry in entries(path):
        if grasp_train.is_part(entry.tree):
            parts.append(entry.tree)
            continue
        try:
            yield entry.place, grasp_train.parse_record(entry.tree)
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error
    if parts:
        yield path.name, grasp_train.parse_record(parts)


class Videos:
    """Video files below a folder by the paths that records have, and by hash once they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.hashes: dict[Path, str] = {}
        self.by_hash: dict[str, Path] = {}

    def find(self, path: str) -> Path:
        """The file: the path below the folder, or as much of its end as is there. Raises FormatError."""
        parts = [part for part in PurePosixPath(path.replace("\\", "/")).parts if part not in ("/", "..", ".")]
        for at in range(len(parts)):
            tried = self.folder.joinpath(*parts[at:])
            if tried.is_file() and tried.resolve().is_relative_to(self.folder):
                return tried
        raise FormatError(f"the video {path} is not below {self.folder}.")

    def sha256(self, path: Path) -> str:
        if path not in self.hashes:
            self.hashes[path] = sha256_of(path)
            self.by_hash.setdefault(self.hashes[path], path)
        return self.hashes[path]


def row_of_record(record: Record, videos: Videos) -> TrainingRow:
    """The row of a record. Raises FormatError: no video, no target, or a target that answers nothing on offer."""
    video, meta = record.video, record.meta or MetaPart()
    if video is None:
        raise FormatError("the record has no video part.")
    if record.target is None:
        raise FormatError("the record has no text of the assistant.")
    ours = _ours(meta.extra.get(OURS, {}))
    question, options = asked(record.prompt)
    if meta.question_text is not None:
        question = meta.question_text if ours else asked(meta.question_text)[0]
    options = tuple(ours.get("options", options))
    path = videos.find(video.path)
    sha256 = videos.sha256(path)
    kind, answer, answer_text, reasoning = _target(record.target.strip(), options, ours)
    row = TrainingRow(
        id=ours.get("id") or digest(grasp_train.build_record(record)),
        question=question,
        clip=_clip(video, path, sha256, ours),
        kind=kind,
        options=options,
        answer=answer,
        answer_text=ours.get("answer_text", answer_text),
        reasoning=reasoning,
        events=tuple(
            parse_event({"source": one.source, "persons": list(one.persons), **one.extra}, f"gt_events[{at}]")
            for at, one in enumerate(meta.gt_events or ())
        ),
        visible=ours.get("visible"),
        category=ours.get("category", ""),
        difficulty=meta.difficulty or "",
        recording=str(meta.extra.get("source_recording") or _recording(video.path)),
        video_name=ours.get("video_name", PurePosixPath(video.path).name),
        video_sha256=ours.get("video_sha256", sha256),
        provenance=ours["provenance"] if ours else {"record": _told(video)},
    )
    check_answer(row)
    return row


def _ours(tree: Any) -> dict[str, Any]:
    """The checked fields of `sightline`. Raises FormatError."""
    told = read_as.mapping(tree, OURS)
    found: dict[str, Any] = {}
    for name in ("id", "kind", "category", "answer_text", "video_name", "video_sha256"):
        if name in told:
            found[name] = read_as.text(told[name], f"{OURS}.{name}")
    for name in ("offset_s", "duration_s"):
        if name in told:
            found[name] = read_as.number(told[name], f"{OURS}.{name}")
    if told.get("visible") is not None:
        seen = read_as.sequence(told["visible"], f"{OURS}.visible")
        found["visible"] = tuple(read_as.whole(one, f"{OURS}.visible[{at}]") for at, one in enumerate(seen))
    if "options" in told:
        listed = read_as.sequence(told["options"], f"{OURS}.options")
        found["options"] = [read_as.text(one, f"{OURS}.options[{at}]") for at, one in enumerate(listed)]
    found["provenance"] = dict(read_as.mapping(told.get("provenance", {}), f"{OURS}.provenance"))
    return found if told else {}


def _recording(path: str) -> str:
    """The data set and the recording that a video's path names."""
    return "/".join(part for part in (source_of(path), stem(path)) if part)


def _told(video: VideoPart) -> dict[str, Any]:
    """What a row has no place for."""
    size = video.src_resolution
    told = {"path": video.path, "fps": video.fps, "src_resolution": None if size is None else list(size)}
    return {name: value for name, value in told.items() if value is not None}


def asked(text: str) -> tuple[str, tuple[str, ...]]:
    """The question and its options: the last lines that are marked A, B, C and so on; what follows them is left out."""
    lines = text.split("\n")
    marks = [split_option(line) for line in lines]
    for end in range(len(lines), 1, -1):
        size = next((n for n in range(min(end, 26), 1, -1) if _in_order(marks[end - n : end])), 0)
        if size:
            return "\n".join(lines[: end - size]).strip(), tuple(rest.strip() for _, rest in marks[end - size : end])
    return text.strip(), ()


def _in_order(marks: Sequence[tuple[str | None, str]]) -> bool:
    return all(mark == letter_of(at) for at, (mark, _) in enumerate(marks))


def _target(target: str, options: Sequence[str], ours: Mapping[str, Any]) -> tuple[str, str | None, str, str]:
    """Kind, answer, answer in words, and the reasoning where the target is one."""
    tagged = tags.first(target, "answer")
    said = tagged if tagged is not None else target
    if not options:
        kind = ours.get("kind", OPEN)
        words = said if tagged is not None else tags.after_think(target).strip()
        return kind, None if kind == OPEN else words, words, target
    letters = ",".join(part.strip().rstrip(".)").strip("(") for part in said.split(","))
    offered = {letter_of(at): option for at, option in enumerate(options)}
    given = letters.split(",")
    if not set(given) <= offered.keys():
        raise FormatError(f"the assistant answers {read_as.shown(said)}, which is no letter of the options.")
    kind = ours.get("kind", MULTIPLE if len(given) > 1 else SINGLE)
    reasoning = target if tagged is not None and target != f"<answer>{tagged}</answer>" else ""
    return kind, letters, "; ".join(offered[one] for one in given), reasoning


def _clip(video: VideoPart, path: Path, sha256: str, ours: Mapping[str, Any]) -> Clip:
    start, end = video.start_seconds, video.end_seconds
    if "duration_s" in ours:  # all of the file
        return Clip(sha256, ours["duration_s"], ours.get("offset_s", 0.0))
    if start is None and end is None:
        return Clip(sha256, _duration(path))
    low, high = start or 0.0, end if end is not None else _duration(path)
    if not 0 <= low < high:
        raise FormatError(f"the video part goes from {low:g} s to {high:g} s.")
    return Clip(sha256, round(high - low, 6), ours.get("offset_s", low), low, high)


def _duration(path: Path) -> float:
    """Seconds of a video file. Raises FormatError."""
    from ml.evaluation.frames import index_of
    from ml.media.errors import MediaError

    try:
        return float(index_of(path).duration_s)
    except MediaError as error:
        raise FormatError(f"the video {path.name} cannot be read: {error}") from error


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def record_of(row: TrainingRow, stage: str) -> Record:
    """The record of a row: its reasoning is the target (sft), or its letters (grpo). Raises ValueError: it has none."""
    if stage not in row.stages:
        raise ValueError(f"The item {row.id[:12]} has nothing for the stage {stage}.")
    options = [f"{letter_of(at)}) {option}" for at, option in enumerate(row.options)]
    prompt = "\n".join([row.question, *options, REASON])
    told = row.provenance.get("record", {})
    whole = row.clip.start_s is None and row.clip.end_s is None
    ours = {
        "id": row.id,
        "kind": row.kind,
        "category": row.category,
        "answer_text": row.answer_text,
        "visible": None if row.visible is None else list(row.visible),
        "video_name": row.video_name,
        "video_sha256": row.video_sha256,
        "offset_s": row.clip.offset_s,
        "provenance": row.provenance,
        **({"duration_s": row.clip.duration_s} if whole else {}),
        **({} if asked(prompt) == (row.question, row.options) else {"options": list(row.options)}),
    }
    size = told.get("src_resolution")
    target = row.reasoning if stage == SFT else row.answer or ""
    return Record(
        [
            VideoPart(
                row.clip.file,
                fps=told.get("fps"),
                start_seconds=0.0 if whole else row.clip.start_s or 0.0,
                end_seconds=row.clip.duration_s if whole else row.clip.end_s,
                src_resolution=None if size is None else tuple(size),
            ),
            TextPart(prompt),
            TextPart(target, output=True),
            MetaPart(
                difficulty=row.difficulty or None,
                gt_events=[
                    TrueEvent(e.source, e.persons, {} if e.start is None else {"start": e.start, "end": e.end})
                    for e in row.events
                ],
                question_text=row.question,
                extra={"source_recording": row.recording, OURS: ours},
            ),
        ]
    )


def write(rows: Sequence[TrainingRow], out: Path) -> dict[str, int]:
    """Write the records of both stages into a folder; how many of each. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    counts = {}
    for stage in STAGES:
        found = of_stage(rows, stage)
        grasp_train.write((record_of(row, stage) for row in found), out / FILES[stage])
        counts[FILES[stage]] = len(found)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a snapshot's rows as records; 0, or 2 with one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python -m ml.training.records", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("snapshot", type=Path, help="folder of the snapshot; the records name its clips")
    parser.add_argument("out", type=Path, help="folder for data_sft.jsonl and data_rl.jsonl")
    parser.add_argument("--split", choices=SPLITS, default=TRAIN, help="whose rows; those of training by default")
    wanted = parser.parse_args(arguments)
    try:
        counts = write(read(wanted.snapshot, split=wanted.split), wanted.out)
    except OSError as error:
        print(f"{error.filename or wanted.out}: {error.strerror or error}.", file=sys.stderr)
        return BAD_INPUT
    except ValueError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    print("\n".join(f"{wanted.out / name}: {count} records" for name, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
