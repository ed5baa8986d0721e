"""The loudness curve under the timeline.

File: `BINS` pairs of signed bytes (lowest, highest) per second, without a header. Pair k covers the media seconds
[k / 50, (k + 1) / 50) of the player's clock; 127 is full scale, over all channels. There are as many pairs as reach the
end of the last frame; where there is no sound they are 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from ml.media import sound
from ml.media.files import write_whole
from ml.progress import Progress

BINS = 50  # pairs per second
BIN = sound.RATE // BINS  # samples per pair


def write_waveform(proxy: Path, out: Path, end_s: float, progress: Progress) -> None:
    """Write the curve of a proxy's sound up to media second `end_s`."""
    count = int(np.ceil(round(end_s * BINS, 6)))
    pairs = np.zeros((count, 2), np.int8)
    for at, chunk in _bins(proxy):
        part = chunk[: max(0, count - at)]
        pairs[at : at + len(part)] = part
        progress("waveform", min(1.0, (at + len(chunk)) / max(1, count)))
    write_whole(out, pairs.tobytes())


def _bins(proxy: Path) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """(number of the first pair, pairs) of about a second each."""
    with av.open(str(proxy)) as container:
        stream = container.streams.audio[0]
        straight = sound.Straightener(stream.codec_context.layout.nb_channels, Fraction(0))
        held, at = np.zeros((2, 0), np.float32), 0
        for samples in _samples(container, stream, straight):
            held = np.hstack([held, samples])
            whole = held.shape[1] // BIN
            if whole >= BINS:
                yield at, _pairs(held[:, : whole * BIN])
                at, held = at + whole, held[:, whole * BIN :]
        if held.shape[1]:
            missing = -held.shape[1] % BIN
            yield at, _pairs(np.pad(held, ((0, 0), (0, missing))))


def _samples(container: Any, stream: Any, straight: sound.Straightener) -> Iterator[NDArray[np.float32]]:
    """2 x n: lowest and highest of the channels."""
    for frame in itertools.chain(container.decode(stream), [None]):
        for _, samples in straight.push(frame):
            yield np.stack([samples.min(axis=0), samples.max(axis=0)])


def _pairs(samples: NDArray[np.float32]) -> NDArray[np.int8]:
    low = samples[0].reshape(-1, BIN).min(axis=1)
    high = samples[1].reshape(-1, BIN).max(axis=1)
    return np.clip(np.rint(np.stack([low, high], axis=1) * 127), -127, 127).astype(np.int8)
