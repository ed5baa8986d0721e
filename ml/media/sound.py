"""The sound of a video, made continuous on the media clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from ml.media.source import Tally, decode, open_source

RATE = 48_000  # samples per second
JITTER = RATE // 20  # samples by which timestamps may stray before silence is put in or sound taken out
MAX_JUMP = 3600 * RATE  # a larger jump of the timestamps is not followed
FIRST_PACKETS = 200  # in which a first piece of sound must decode


def can_decode(path: Path) -> bool:
    """Whether sound comes out of the file's sound stream."""
    with open_source(path) as source:
        stream, tally = source.sound, Tally()
        if stream is None or stream.codec_context is None:
            return False
        packets = itertools.islice(source.packets([stream], tally), FIRST_PACKETS)
        return any(decode(packet, tally) for packet in packets)


class Straightener:
    """Turns decoded sound into 48 kHz float planes (channels x samples) without holes, sample 0 at media time 0."""

    def __init__(self, channels: int, origin_s: Fraction) -> None:
        self.layout = "mono" if channels == 1 else "stereo"
        self.resampler = av.AudioResampler(format="fltp", layout=self.layout, rate=RATE)
        self.origin_s = origin_s
        self.position = 0  # of the next sample
        self.surplus = 0  # samples to take out

    def push(self, frame: Any) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """(position of the first sample, samples) that a decoded frame adds; None drains the resampler."""
        if frame is not None and frame.pts is not None:
            start = round((frame.pts * frame.time_base - self.origin_s) * RATE)
            gap = start - (self.position - self.surplus)
            if JITTER < abs(gap) < MAX_JUMP:
                self.surplus -= gap
        while self.surplus < 0:
            size = min(RATE, -self.surplus)
            self.surplus += size
            yield self._advance(np.zeros((1 if self.layout == "mono" else 2, size), np.float32))
        for piece in self.resampler.resample(frame):
            samples = piece.to_ndarray().astype(np.float32, copy=False)
            cut = min(self.surplus, samples.shape[1])
            self.surplus -= cut
            if samples.shape[1] > cut:
                yield self._advance(samples[:, cut:])

    def _advance(self, samples: NDArray[np.float32]) -> tuple[int, NDArray[np.float32]]:
        at = self.position
        self.position += samples.shape[1]
        return at, samples
