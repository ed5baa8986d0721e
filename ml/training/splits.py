"""Which rows train and which validate: by source recording, and what the two have in common all the same.

Rows belong to one recording where they name the same one, come from the same video file or show the same clip. A
recording is never in both splits. Which recordings validate follows from the seed and the videos' hashes: neither names
nor the order of the rows have a part in it.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ml.questions.lint.recordings import Index, Seen, near, shared, stem, telling
from ml.training.rows import TRAIN, VALIDATION, TrainingRow

MOST_SHARE = 0.9
TOLD = 20  # sentences of one kind of leak; of further ones the number is told
SHORT = 12  # digits of a hash that name an item in a sentence


def key(recording: str) -> str:
    """A recording's name without marks and case: social-iq and Social_IQ are one."""
    return "".join(one for one in unicodedata.normalize("NFKC", recording).casefold() if one.isalnum())


def groups(rows: Sequence[TrainingRow]) -> list[list[int]]:
    """Positions of the rows of each recording, by first row."""
    parent = list(range(len(rows)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    first: dict[str, int] = {}
    for at, row in enumerate(rows):
        for name in _marks(row):
            other = root(first.setdefault(name, at))
            parent[root(at)] = other
    found: dict[int, list[int]] = defaultdict(list)
    for at in range(len(rows)):
        found[root(at)].append(at)
    return sorted(found.values())


def _marks(row: TrainingRow) -> list[str]:
    """What two rows of one recording may share."""
    told = {"recording": key(row.recording), "video": row.video_sha256, "clip": row.clip.sha256}
    return [f"{what} {value}" for what, value in told.items() if value] or [f"row {row.id}"]


def split(rows: Sequence[TrainingRow], share: float, seed: int) -> list[TrainingRow]:
    """The rows, each with its split; `share` of them validate, as nearly as whole recordings allow.

    With a share above 0 and two recordings or more, both splits have rows. Raises ValueError for a share outside
    [0, 0.9].
    """
    if not 0 <= share <= MOST_SHARE:
        raise ValueError(f"The share of validation is a number from 0 to {MOST_SHARE:g}, not {share:g}.")
    held = _validating([sorted(at) for at in groups(rows)], rows, share, seed)
    return [replace(row, split=VALIDATION if at in held else TRAIN) for at, row in enumerate(rows)]


def _validating(found: list[list[int]], rows: Sequence[TrainingRow], share: float, seed: int) -> set[int]:
    """Positions of the rows that validate: recordings in drawn order, each taken where it brings the share nearer."""
    if share == 0 or len(found) < 2:
        return set()
    drawn = sorted(found, key=lambda group: _draw(group, rows, seed))
    wanted, held = share * len(rows), 0
    chosen: list[list[int]] = []
    for group in drawn:
        if len(group) < 2 * (wanted - held) and held + len(group) < len(rows):
            chosen.append(group)
            held += len(group)
    if not chosen:
        chosen = [min(drawn, key=len)]
    return {at for group in chosen for at in group}


def _draw(group: list[int], rows: Sequence[TrainingRow], seed: int) -> bytes:
    """Where a recording stands in the drawn order: by its videos' hashes, or else its clips'."""
    mark = min(rows[at].video_sha256 or rows[at].clip.sha256 for at in group)
    return hashlib.sha256(f"{seed} {mark}".encode()).digest()


# ---------------------------------------------------------------------------------------------------------------------
# Leaks


def leaks(rows: Sequence[TrainingRow], hashes: Mapping[str, Sequence[int]]) -> list[str]:
    """What validation shares with training, in sentences; also what training shares with a released test split.

    Recordings, times and pictures are compared as the linter of questions does. `hashes`: picture hashes
    (`ml.questions.lint.pictures`) by the clip's sha256.
    """
    train = [row for row in rows if row.split == TRAIN]
    held = [row for row in rows if row.split == VALIDATION]
    found = [
        *_capped(_recordings(train, held)),
        *_capped(_clips(train, held)),
        *_capped(_pictures(train, held, hashes)),
        *_tested(train),
    ]
    return found


def _capped(sentences: Iterable[str]) -> list[str]:
    listed = list(sentences)
    more = len(listed) - TOLD
    return listed if more <= 0 else [*listed[:TOLD], f"And {more} more of this kind."]


def _seen(row: TrainingRow) -> Seen:
    """The row as the linter compares it. A recording that is only a file's hash is not named."""
    named = row.recording if row.recording != row.video_sha256 else ""
    start = row.clip.offset_s
    return Seen(
        row.id[:SHORT],
        key(named),
        frozenset({stem(row.video_name)} - {""}),
        "",
        start,
        start + row.clip.duration_s,
        row.question,
    )


def _recordings(train: Sequence[TrainingRow], held: Sequence[TrainingRow]) -> Iterator[str]:
    """Recordings of both splits, each told once, and pairs of items that show the same time of one."""
    index = Index(_seen(row) for row in train)
    told: set[str] = set()
    for row in held:
        seen = _seen(row)
        others = index.of(seen)
        if not others:
            continue
        name = row.recording or row.video_name
        if name not in told:
            told.add(name)
            yield (
                f"The recording “{name}” is in both splits "
                f"(item {seen.place} of validation, {others[0].place} of training)."
            )
        overlapping = max(others, key=lambda other: shared(seen, other))
        seconds = shared(seen, overlapping)
        if seconds > 0:
            yield (
                f"Item {seen.place} of validation and {overlapping.place} of training show the same "
                f"{seconds:.3g} s of “{name}”."
            )


def _clips(train: Sequence[TrainingRow], held: Sequence[TrainingRow]) -> Iterator[str]:
    theirs = {row.clip.sha256: row for row in train}
    for row in held:
        other = theirs.get(row.clip.sha256)
        if other is not None:
            yield f"Item {row.id[:SHORT]} of validation and {other.id[:SHORT]} of training have the same clip."


def _pictures(
    train: Sequence[TrainingRow], held: Sequence[TrainingRow], hashes: Mapping[str, Sequence[int]]
) -> Iterator[str]:
    """Items of validation whose pictures are nearly those of training."""
    ours, theirs = (
        [(h, row) for row in side for h in hashes.get(row.clip.sha256, ()) if telling(h)] for side in (held, train)
    )
    if not ours or not theirs:
        return
    told: set[str] = set()
    for position, match, bits in near(np.array([h for h, _ in ours], "u8"), np.array([h for h, _ in theirs], "u8")):
        row, other = ours[position][1], theirs[match][1]
        if row.clip.sha256 not in told and row.clip.sha256 != other.clip.sha256:
            told.add(row.clip.sha256)
            yield (
                f"A picture of item {row.id[:SHORT]} of validation looks like one of {other.id[:SHORT]} of training "
                f"({bits} of 64 bits of their hashes differ)."
            )


def _tested(train: Sequence[TrainingRow]) -> Iterator[str]:
    """Training rows that a release gives to another split than training."""
    released = (row.provenance.get("release") for row in train)
    counted = Counter(
        (str(one.get("number")), str(one["split"]))
        for one in released
        if isinstance(one, Mapping) and one.get("split") not in (None, "", TRAIN)
    )
    for (number, name), count in sorted(counted.items()):
        items = "1 item of training is" if count == 1 else f"{count} items of training are"
        yield (
            f"{items} in the split “{name}” of release {number}: evaluated there, the model answers what it has seen."
        )
