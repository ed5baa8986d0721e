"""From analysed pieces to tracks: runs the tracker over all pieces in order, fills short gaps, numbers the tracks.

A track's span is half-open: from the first look that sees it to the first look that does not see it any more, or to
the shot's end.

Works on one piece at a time, so memory does not grow with the video but for one track number per row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ml.media.index import FrameIndex
from ml.perception.given import Given
from ml.perception.protocols import Array
from ml.perception.records import Piece
from ml.perception.tracker import Settings, Tracker

FILL_GAP_S = 1.0  # a track seen again after at most this was there in between
SEEN_SAMPLES = (
    2  # a track that was detected on fewer sampled frames is dropped, in shots with SHORT_SHOT samples or more
)
SHORT_SHOT = 4


@dataclass
class Track:
    """What is kept of a track while it grows. `first` and `last`: frames it was seen on; `end`: of its span, as far as
    that is known yet; `x`: left side of its first box."""

    shot: int
    first: int
    x: float
    last: int
    end: int
    last_box: Array
    samples: int = 0


@dataclass
class Fill:
    """A box between two detections of a track."""

    frame: int
    sampled: bool
    shot: int
    track: int
    box: Array


@dataclass
class Tracks:
    """Result: per piece the track of each row (-1: none), the fills by piece; shot and span's end of each track;
    `given`: the track by the number it had before."""

    rows: list[Array] = field(default_factory=list)
    fills: list[list[Fill]] = field(default_factory=list)
    shot: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    given: dict[int, int] = field(default_factory=dict)


class Assembler:
    """Feed it the pieces in order, then ask for the result."""

    def __init__(
        self, index: FrameIndex, shots: list[tuple[int, int]], settings: Settings, given: Given | None = None
    ) -> None:
        self._index, self._settings, self._given = index, settings, given
        self._shots = shots
        self._starts = np.array([start for start, _ in shots])
        self._samples = np.zeros(len(shots), int)
        self._shot = -1
        self._tracker = Tracker(0, settings)
        self._tracks: dict[int, Track] = {}
        self._visible: set[int] = set()  # tracks that the last look saw
        self._frames: list[Array] = []  # analysed frames of each piece
        self._sampled: list[Array] = []
        self._rows: list[Array] = []
        self._fills: list[Fill] = []

    def add(self, piece: Piece) -> None:
        """Track the persons of the next piece."""
        self._frames.append(piece.frame)
        self._sampled.append(piece.sampled)
        rows = np.full(len(piece.position), -1)
        bounds = np.searchsorted(piece.position, np.arange(len(piece.frame) + 1))
        for k, frame in enumerate(piece.frame.tolist()):
            here = slice(bounds[k], bounds[k + 1])
            rows[here] = ids = self._frame(frame, bool(piece.sampled[k]), piece, here)
            if piece.looked[k]:
                self._look(frame, set(ids[ids >= 0].tolist()))
        self._rows.append(rows)

    def _frame(self, frame: int, sampled: bool, piece: Piece, here: slice) -> Array:
        shot = int(np.searchsorted(self._starts, frame, side="right")) - 1
        if shot != self._shot:  # nobody is followed across a cut
            self._shot, self._tracker = shot, Tracker(self._tracker.next_id, self._settings)
            self._visible = set()
        self._samples[shot] += sampled
        body = piece.body[here].astype(np.float64)
        time_s = float(self._index.zeroed[frame])
        sure = np.where(np.isfinite(piece.face_score[here]), 1.0, piece.score[here])  # a face makes a weak box a person
        if self._given is None:
            ids = self._tracker.step(time_s, body, sure, piece.look[here].astype(np.float64))
        else:
            ids = self._given.numbers(frame, piece.body[here])
        for number, box in zip(ids.tolist(), body, strict=True):
            if number >= 0:
                self._extend(number, shot, frame, sampled, box)
        return ids

    def _look(self, frame: int, visible: set[int]) -> None:
        """Those who were there at the last look and are not now were there until now."""
        for number in self._visible - visible:
            self._tracks[number].end = frame
        self._visible = visible

    def _extend(self, number: int, shot: int, frame: int, sampled: bool, box: Array) -> None:
        end = self._shots[shot][1]
        track = self._tracks.setdefault(number, Track(shot, frame, float(box[0]), frame, end, box))
        zeroed = self._index.zeroed
        if zeroed[frame] - zeroed[track.last] <= FILL_GAP_S:
            for between, was_sampled in self._between(track.last, frame):
                share = (zeroed[between] - zeroed[track.last]) / (zeroed[frame] - zeroed[track.last])
                filled = track.last_box + share * (box - track.last_box)
                self._fills.append(Fill(between, was_sampled, shot, number, filled))
        track.last, track.last_box, track.end = frame, box, end
        track.samples += sampled

    def _between(self, start: int, end: int) -> list[tuple[int, bool]]:
        """Analysed frames after `start` and before `end`, looked for in the last two pieces."""
        found = []
        for frames, sampled in zip(self._frames[-2:], self._sampled[-2:], strict=True):
            low, high = np.searchsorted(frames, [start + 1, end])
            found += list(zip(frames[low:high].tolist(), sampled[low:high].tolist(), strict=True))
        return found

    def result(self) -> Tracks:
        """Tracks numbered from 0 in the order of their first frames, then from left to right."""
        kept = [
            (t.first, t.x, number)
            for number, t in self._tracks.items()
            if t.samples >= (SEEN_SAMPLES if self._samples[t.shot] >= SHORT_SHOT else 1)
        ]
        highest = self._tracker.next_id if self._given is None else self._given.count
        final = np.full(highest + 1, -1)  # the last entry answers to -1
        for new, (_, _, old) in enumerate(sorted(kept)):
            final[old] = new
        tracks = Tracks([final[rows] for rows in self._rows], [[] for _ in self._rows])
        tracks.given = {old: new for new, (_, _, old) in enumerate(sorted(kept))}
        tracks.shot = [self._tracks[old].shot for _, _, old in sorted(kept)]
        tracks.end = [self._tracks[old].end for _, _, old in sorted(kept)]
        ends = [frames[-1] for frames in self._frames]
        for fill in self._fills:
            if final[fill.track] >= 0:
                fill.track = int(final[fill.track])
                tracks.fills[int(np.searchsorted(ends, fill.frame))].append(fill)
        return tracks


def assemble(
    pieces: Iterable[Piece], index: FrameIndex, shots: list[tuple[int, int]], settings: Settings | None = None
) -> Tracks:
    """Tracks of all pieces, given in order."""
    assembler = Assembler(index, shots, settings or Settings())
    for piece in pieces:
        assembler.add(piece)
    return assembler.result()
