"""Rows of a snapshot from what was released: frozen items as the server has them, or a release folder.

A release folder (`manage.py release`) gives the same rows as the server's own items do, so that a snapshot made on a
cluster has the hash of one made by the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ml.formats import grasp_items, hf_dataset
from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.hashing import digest, sha256_of
from ml.formats.jsonstream import entries
from ml.questions.lint.pictures import VIDEO
from ml.text import tags
from ml.training.rows import MULTIPLE, NUMBER, OPEN, Clip, TrainingRow, check_answer, parse_event

RETIRED = "retired since it was released"


@dataclass
class Source:
    """Rows with the files of their clips by sha256. `left_out`: how many items, by reason."""

    rows: list[TrainingRow]
    clips: dict[str, Path]
    made_of: dict[str, Any]
    left_out: dict[str, int] = field(default_factory=dict)


# ---------------------------------------------------------------------------------------------------------------------
# Items


def row_of(
    item: Mapping[str, Any],
    *,
    sha256: str | None = None,
    release: int | None = None,
    release_split: str | None = None,
) -> TrainingRow:
    """The row of a frozen item (`webapp.bench.freezing` has the layout). `sha256`: its hash, computed where not given.

    Raises FormatError naming the item.
    """
    name = item.get("id", "without an id") if isinstance(item, Mapping) else "that is no object"
    try:
        return _of_item(item, sha256 or digest(item), release, release_split)
    except FormatError as error:
        raise FormatError(f"The item {name}: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FormatError(f"The item {name} is no released item ({type(error).__name__}: {error}).") from error


def _of_item(item: Mapping[str, Any], sha256: str, release: int | None, split: str | None) -> TrainingRow:
    clip, video, told = item["clip"], item["video"], item["provenance"]
    return _row(
        sha256,
        {name: item[name] for name in ("kind", "question", "options", "category", "difficulty", "reasoning")},
        answer=item["answer"],
        answer_text=item["answer_text"],
        events=item["gt_events"],
        visible=item["visible"],
        clip=Clip(str(clip["sha256"]), float(clip["duration_s"]), float(clip["offset_s"])),
        recording=video["recording"] or video["sha256"] or told["video"],
        video=video,
        provenance=_provenance(told, release, split),
    )


def _provenance(told: Mapping[str, Any], release: int | None, split: str | None) -> dict[str, Any]:
    found = {name: told[name] for name in ("project", "question", "number", "version")}
    return found | ({} if release is None else {"release": {"number": release, "split": split}})


def _row(
    sha256: str,
    words: Mapping[str, Any],
    *,
    answer: Any,
    answer_text: str,
    events: list[Any],
    visible: list[int] | None,
    clip: Clip,
    recording: str,
    video: Mapping[str, Any],
    provenance: dict[str, Any],
) -> TrainingRow:
    kind = words["kind"]
    if kind == MULTIPLE:
        answer = ",".join(answer if isinstance(answer, list) else str(answer).split(","))
    elif kind in (NUMBER, OPEN):
        answer = answer_text if kind == NUMBER else None
    row = TrainingRow(
        id=sha256,
        question=words["question"],
        kind=kind,
        options=tuple(words["options"] or ()),
        answer=answer,
        answer_text=answer_text or "",
        reasoning=said(words["reasoning"] or "", answer if answer is not None else answer_text),
        events=tuple(parse_event(one, f"gt_events[{at}]") for at, one in enumerate(events or ())),
        visible=None if visible is None else tuple(visible),
        clip=clip,
        category=words["category"],
        difficulty=words["difficulty"] or "",
        recording=recording,
        video_name=video["name"],
        video_sha256=video["sha256"],
        provenance=provenance,
    )
    check_answer(row)
    return row


def said(reasoning: str, answer: str) -> str:
    """All that the assistant says: the thoughts in their block, then the answer in its tag; empty without thoughts.

    Raises FormatError where the reasoning holds an answer tag with something else in it.
    """
    text = reasoning.strip()
    if not text:
        return ""
    given = tags.first(text, "answer")
    if given is not None and given != answer.strip():
        raise FormatError(f"its reasoning answers {given[:40]!r}, and its key is {answer.strip()[:40]!r}.")
    if tags.first(text, "think") is None:
        block = next((one for one in tags.blocks(text, "answer") if one.closed), None)
        thoughts, last = text, ""
        if block is not None:
            thoughts, after = text[: text.rindex("<", 0, block.start)], text[block.end :].partition(">")[2]
            last = f"\n<answer>{block.content.strip()}</answer>{after}"
        text = f"<think>\n{thoughts.strip()}\n</think>{last}"
    return text if given is not None else f"{text}\n<answer>{answer.strip()}</answer>"


def items(path: Path, videos: Path) -> Source:
    """Frozen items of a JSON or JSONL file; their clips are found among the videos below a folder, by content."""
    rows = []
    for entry in entries(path):
        try:
            rows.append(row_of(read_as.mapping(entry.tree, "the item")))
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error
    return Source(rows, by_content(videos), {"items": len(rows)})


def by_content(folder: Path) -> dict[str, Path]:
    """Video files below a folder by sha256. Raises FormatError: there is no such folder."""
    if not folder.is_dir():
        raise FormatError(f"There is no folder {folder} of videos.")
    found: dict[str, Path] = {}
    for path in sorted(one for one in folder.rglob("*") if one.suffix.lower() in VIDEO and one.is_file()):
        found.setdefault(sha256_of(path), path)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# A release folder


def is_release(path: Path) -> bool:
    """Whether the path is a release's folder: one with a release.json."""
    return (path / "release.json").is_file()


def release(folder: Path) -> Source:
    """The items of a release folder, with their clips; retired ones are left out. Raises FormatError."""
    try:
        manifest = read_as.mapping(read_as.load((folder / "release.json").read_bytes()), "release.json")
        number = read_as.whole(read_as.member(manifest, "number", "release.json"), "release.json: number")
        retired = set(read_as.sequence(manifest.get("retired", []), "release.json: retired"))
        beside = {row["sha256"]: row for row in _lines(folder / "provenance.jsonl")}
        seen = _visible(folder)
        rows, clips, left = [], {}, 0
        for place, split, table in _tables(folder):
            if table["number"] in retired:
                left += 1
                continue
            told = beside.get(table["sha256"])
            if told is None:
                raise FormatError(f"{place}: provenance.jsonl has no line of the item {table['id']}.")
            try:
                row = _of_table(table, told, seen, number, split)
            except FormatError as error:
                raise FormatError(f"{place}: {error}") from error
            rows.append(row)
            clips[row.clip.sha256] = _below(folder, table["video"], place)
    except OSError as error:
        raise FormatError(f"{error.filename or folder}: {error.strerror or error}.") from error
    facts = {name: manifest.get(name) for name in ("project", "number")} | {"hash": manifest.get("sha256")}
    return Source(rows, clips, {"release": facts}, {RETIRED: left} if left else {})


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for entry in entries(path):
        row = read_as.mapping(entry.tree, entry.place)
        read_as.member(row, "sha256", entry.place)
        yield dict(row)


def _tables(folder: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Place, split and row of every line of the tables."""
    tables = sorted((folder / "data").glob("*.parquet"))
    if not tables:
        raise FormatError(f"{folder / 'data'} holds no table; a release folder has one for each split.")
    for path in tables:
        try:
            rows = hf_dataset.read_rows(path.read_bytes())
        except ImportError as error:
            raise FormatError("The tables of a release need pyarrow; install it with `make setup`.") from error
        for at, row in enumerate(rows):
            yield f"{path.name}, row {at}", path.name.partition("-")[0], row


def _visible(folder: Path) -> dict[str, list[int] | None]:
    """Who is visible, by hash, of GRASP items: for releases written before provenance.jsonl told it."""
    if not (folder / "json").is_dir() or not any((folder / "json").iterdir()):
        return {}
    return {str(item.extra.get("sha256")): item.extra.get("persons") for item in grasp_items.stream(folder)}


def _below(folder: Path, path: str, place: str) -> Path:
    found = folder / path
    if not found.resolve().is_relative_to(folder.resolve()):
        raise FormatError(f"{place}: the video {path} lies outside the release.")
    return found


def _of_table(
    table: dict[str, Any], told: Mapping[str, Any], seen: Mapping[str, list[int] | None], number: int, split: str
) -> TrainingRow:
    video = read_as.mapping(read_as.member(told, "video", "provenance.jsonl"), "provenance.jsonl: video")
    for name in ("project", "question", "number", "version"):
        read_as.member(told, name, "provenance.jsonl")
    return _row(
        table["sha256"],
        table,
        answer=table["answer"],
        answer_text=table["answer_text"],
        events=table["gt_events"],
        visible=told["visible"] if "visible" in told else seen.get(table["sha256"]),
        clip=Clip(table["clip_sha256"], table["clip_duration"], table["clip_offset"]),
        recording=table["source_recording"] or table["media_sha256"] or table["video"],
        video={
            "name": read_as.text(video.get("name"), "provenance.jsonl: video.name"),
            "sha256": table["media_sha256"],
        },
        provenance=_provenance(told, number, split),
    )
