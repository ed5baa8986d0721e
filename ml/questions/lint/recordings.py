"""Which recording an item comes from, and what the training split has seen of which.

A recording's name is the video's without folder, ending and the `_qaNNNN` of a clip, in small letters. Two names are
the same recording where the data sets are the same or one of them is not told; a `source_recording` field, where both
sides have one, decides alone. A picture hash is 64 bits as 16 hexadecimal digits (`picture_hash`, one or a list; see
`pictures`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.formats import grasp_annotations, grasp_items, grasp_train
from ml.formats.errors import FormatError
from ml.formats.jsonstream import Entry, entries
from ml.questions.lint.findings import Finding, quoted
from ml.questions.lint.one import One, World

HASHES = ("picture_hash", "picture_hashes", "phash", "poster_hash")
RECORDING = ("source_recording", "recording")
NEAREST = 6  # bits of 64 that two hashes of one picture may differ by
_PLAIN = (6, 58)  # a hash with fewer or more set bits comes from a picture without detail and tells nothing
_CLIP = re.compile(r"(?:[_-](?:qa|clip)[_-]?[0-9]+|_sam3rf|_features|_events|_gestures|_cross_data|_graph|_qa)+$")
_FOLDERS = frozenset({"video", "videos", "clip", "clips", "train", "test", "data"})


def stem(name: str | None) -> str:
    """The recording a file or video name stands for; empty where there is none."""
    last = (name or "").replace("\\", "/").rstrip("/").rpartition("/")[2].strip().casefold()
    last = re.sub(r"\.(?:mp4|mkv|avi|mov|webm|m4v|json|jsonl)$", "", last)
    return _CLIP.sub("", last)


def plain(name: str | None) -> str:
    """A data set's name without marks and case: social-iq and Social_IQ are one."""
    return re.sub(r"[^a-z0-9]", "", (name or "").casefold())


def source_of(path: str) -> str:
    """The data set a training video's folder names: `<source>/video/x.mp4`."""
    folders = [part for part in path.replace("\\", "/").split("/")[:-1] if part and part.casefold() not in _FOLDERS]
    return plain(folders[-1]) if folders else ""


@dataclass(frozen=True)
class Seen:
    """What one line of the training split shows: `start` and `end` in source seconds, None where not told."""

    place: str
    recording: str
    names: frozenset[str]
    dataset: str
    start: float | None
    end: float | None
    question: str
    hashes: tuple[int, ...] = ()


def of_item(one: One, place: str = "") -> Seen:
    """An item as something that shows a recording."""
    item = one.item
    names = {stem(name) for name in (item.video_name, item.video_id)} - {""} or {stem(item.clip_file)} - {""}
    span = one.span or (item.time_range if item.time_range and item.time_range[1] > item.time_range[0] else None)
    start, end = span if span else (None, None)
    recording = one.extra(*RECORDING)
    return Seen(
        place,
        plain(recording) if isinstance(recording, str) else "",
        frozenset(names),
        plain(item.dataset),
        start,
        end,
        item.question,
        tuple(hashes(one.extra(*HASHES))),
    )


def train(path: Path) -> Iterator[Seen]:
    """The training split: records, annotation rows or items, in one file or folder. Raises FormatError."""
    parts: list[Any] = []
    for entry in entries(path):
        if grasp_train.is_part(entry.tree):
            parts.append(entry.tree)
            continue
        try:
            yield _seen(entry)
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error
    if parts:
        try:
            yield _record(grasp_train.parse_record(parts), path.name)
        except FormatError as error:
            raise FormatError(f"{path.name}: {error}") from error


def _seen(entry: Entry) -> Seen:
    tree = entry.tree
    if isinstance(tree, list):
        return _record(grasp_train.parse_record(tree), entry.place)
    if isinstance(tree, dict) and ("qa" in tree or "question" in tree):
        return of_item(One(entry.position, grasp_items.parse_item(tree), frozenset()), entry.place)
    row = grasp_annotations.parse_row(tree)
    recording = row.extra.get("source_recording")
    return Seen(
        place=entry.place,
        recording=plain(recording) if isinstance(recording, str) else "",
        names=frozenset({stem(row.video)} - {""}),
        dataset=plain(row.source),
        start=None,
        end=None,
        question="",
        hashes=tuple(hashes(next((row.extra[key] for key in HASHES if key in row.extra), None))),
    )


def _record(record: grasp_train.Record, place: str) -> Seen:
    video = record.video
    extra = {**(record.meta.extra if record.meta else {}), **(video.extra if video else {})}
    recording = extra.get("source_recording")
    return Seen(
        place,
        plain(recording) if isinstance(recording, str) else "",
        frozenset({stem(video.path)} - {""}) if video else frozenset(),
        source_of(video.path) if video else "",
        video.start_seconds if video else None,
        video.end_seconds if video else None,
        record.question,
        tuple(hashes(next((extra[k] for k in HASHES if k in extra), None))),
    )


def hashes(value: Any) -> list[int]:
    """Picture hashes of a field: one or several of 16 hexadecimal digits; others are passed over."""
    listed = value if isinstance(value, list) else [value]
    return [int(one, 16) for one in listed if isinstance(one, str) and re.fullmatch(r"[0-9a-fA-F]{16}", one)]


def same_recording(a: Seen, b: Seen) -> bool:
    """Told by the recordings' names, or else by the videos' names within one data set."""
    if a.recording and b.recording:
        return a.recording == b.recording
    return bool(a.names & b.names) and (not a.dataset or not b.dataset or a.dataset == b.dataset)


class Index:
    """Training lines by the names under which a recording may be found."""

    def __init__(self, seen: Iterable[Seen]) -> None:
        self.rows: dict[str, list[Seen]] = defaultdict(list)
        for one in seen:
            for name in {f"recording {one.recording}"} if one.recording else set():
                self.rows[name].append(one)
            for name in one.names:
                self.rows[name].append(one)

    def of(self, one: Seen) -> list[Seen]:
        """All lines of the same recording."""
        keys = [*one.names, *([f"recording {one.recording}"] if one.recording else [])]
        found = {id(row): row for key in keys for row in self.rows.get(key, ()) if same_recording(one, row)}
        return list(found.values())


def check(ones: Sequence[One], world: World) -> Iterator[Finding]:
    """Recordings, times and pictures that both splits show."""
    if world.train is None:
        yield Finding("not_run", "Leaks into training were not looked for: name the training split with --train.")
        return
    index = Index(world.train)
    for one in ones:
        seen = of_item(one)
        rows = index.of(seen)
        if not rows:
            continue
        name = quoted(one.item.video_name or one.item.video_id or one.item.clip_file or seen.recording)
        yield Finding("recording_in_train", f"The recording {name} is in training, too ({rows[0].place}).", one.at)
        overlapping = next((row for row in rows if shared(seen, row) > 0), None)
        if overlapping is not None:
            length = shared(seen, overlapping)
            yield Finding("overlap_with_train", f"The clip shares {length:g} s with {overlapping.place}.", one.at)
    yield from _pictures(ones, world, world.train)


def shared(a: Seen, b: Seen) -> float:
    """Seconds of the source that both show; 0 or less where they show none, or do not tell."""
    if a.start is None or a.end is None or b.start is None or b.end is None:
        return 0.0
    return min(a.end, b.end) - max(a.start, b.start)


def _pictures(ones: Sequence[One], world: World, seen: Sequence[Seen]) -> Iterator[Finding]:
    """Items whose picture is nearly one of training's."""
    theirs = [(hash, row) for row in seen for hash in row.hashes if telling(hash)]
    ours = [
        (hash, one)
        for one in ones
        for hash in (*hashes(one.extra(*HASHES)), *world.hashes.get(one.at, ()))
        if telling(hash)
    ]
    if not theirs or not ours:
        return
    told: set[int] = set()
    for position, match, bits in near(np.array([h for h, _ in ours], "u8"), np.array([h for h, _ in theirs], "u8")):
        one = ours[position][1]
        if one.at not in told:
            told.add(one.at)
            place = theirs[match][1].place
            yield Finding("picture_in_train", f"The clip's picture is {bits} of 64 bits from one of {place}.", one.at)


def telling(hash: int) -> bool:
    """Whether the picture has enough detail for its hash to say something."""
    return _PLAIN[0] <= hash.bit_count() <= _PLAIN[1]


def near(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> Iterator[tuple[int, int, int]]:
    """(position in `ours`, nearest in `theirs`, bits) for hashes at most `NEAREST` bits from one of theirs."""
    block = max(1, 4_000_000 // max(len(theirs), 1))
    for start in range(0, len(ours), block):
        bits = np.bitwise_count(ours[start : start + block, None] ^ theirs[None, :])
        nearest = bits.argmin(axis=1)
        for row, column in enumerate(nearest.tolist()):
            if bits[row, column] <= NEAREST:
                yield start + row, column, int(bits[row, column])
