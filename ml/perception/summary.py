"""The counts of `run.json`, gathered piece by piece while the samples are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from ml.perception.records import Piece
from ml.perception.samples import Columns


class Summary:
    """Counts per shot and track while the rows go by."""

    def __init__(self, spans: list[tuple[int, int]], tracks: int) -> None:
        self._spans = spans
        self._counts: list[list[tuple[int, int]]] = [[] for _ in spans]  # persons and faces per sampled frame
        self._first = np.full(tracks, np.iinfo(np.int64).max)
        self._samples, self._faces = np.zeros(tracks, int), np.zeros(tracks, int)
        self._confidence, self._confident = np.zeros(tracks), np.zeros(tracks, int)
        self.gaze_samples = 0

    def add(self, columns: Columns, piece: Piece) -> None:
        """Count the rows of one piece."""
        track, frame, sampled = columns["track"], columns["frame"], columns["sampled"]
        face, known = sampled & np.isfinite(columns["face_score"]), np.isfinite(columns["confidence"])
        np.minimum.at(self._first, track, frame)
        np.add.at(self._samples, track[sampled], 1)
        np.add.at(self._faces, track[face], 1)
        np.add.at(self._confidence, track[known], columns["confidence"][known])
        np.add.at(self._confident, track[known], 1)
        self.gaze_samples += int(known.sum())
        starts = [start for start, _ in self._spans]
        for looked in piece.frame[piece.sampled].tolist():
            here = frame == looked
            shot = int(np.searchsorted(starts, looked, side="right")) - 1
            self._counts[shot].append((int(here.sum()), int((here & face).sum())))

    def shots(self) -> list[dict[str, int]]:
        """Span of each shot, and the median persons and faces over its sampled frames."""
        medians = [np.median(counts, axis=0) for counts in self._counts]
        return [
            {"start": start, "end": end, "persons": int(persons), "faces": int(faces)}
            for (start, end), (persons, faces) in zip(self._spans, medians, strict=True)
        ]

    def tracks(self, shot: list[int], end: list[int]) -> list[dict[str, Any]]:
        """What `run.json` says of each track; `shot`: the shot of each, `end`: the end of its span."""
        return [
            {
                "track": k, "shot": shot[k], "start": int(self._first[k]), "end": end[k],
                "samples": int(self._samples[k]), "face_samples": int(self._faces[k]),
                "mean_confidence": round(float(self._confidence[k] / n), 4) if (n := self._confident[k]) else None,
            }
            for k in range(len(shot))
        ]  # fmt: skip
