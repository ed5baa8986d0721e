"""The frame index: which frame of a video is shown when. The frame number is the truth, seconds are derived here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ml.media.errors import MediaError
from ml.media.files import whole

MISSING = np.iinfo(np.int64).min  # in `decoded`: the file has no timestamp for this frame


@dataclass(frozen=True, eq=False)
class FrameIndex:
    """Presentation timestamps of every presented frame.

    pts: int64[N+1], strictly increasing, in ticks of `time_base`; the last entry is the end of the last frame.
    time_base: seconds per tick.
    interpolated, nudged: how many timestamps were missing, and how many were moved to the tick after their predecessor.
    damaged: how often decoding failed.
    decoded: int64[N] or None, the timestamps as the file gives them where they differ from `pts` (`MISSING` for none);
        only what finds frames in the source file needs them.
    changes: float32[N] or None, how much each frame differs from the one before (`ml.media.changes`), where whoever
        made the index looked at the pictures too.
    """

    pts: NDArray[np.int64]
    time_base: Fraction
    interpolated: int = 0
    nudged: int = 0
    damaged: int = 0
    decoded: NDArray[np.int64] | None = None
    changes: NDArray[np.float32] | None = None

    @property
    def frames(self) -> int:
        return len(self.pts) - 1

    @cached_property
    def seconds(self) -> NDArray[np.float64]:
        """float64[N+1] media seconds, as a player's clock has them; the first may lie above 0."""
        return self.pts * self.time_base.numerator / self.time_base.denominator

    @cached_property
    def zeroed(self) -> NDArray[np.float64]:
        """float64[N+1] seconds since the start of the first frame, as exports have them."""
        ticks = self.pts - self.pts[0]
        return ticks * self.time_base.numerator / self.time_base.denominator

    @property
    def duration_s(self) -> float:
        return float(self.zeroed[-1])

    @property
    def stamps(self) -> NDArray[np.int64]:
        """int64[N] timestamps as the source file gives them."""
        return self.pts[:-1] if self.decoded is None else self.decoded

    @property
    def regular(self) -> bool:
        """Whether the file's own timestamps name each frame, so that any frame can be sought."""
        return not (self.interpolated or self.nudged or self.damaged)

    def frame_at(self, seconds: float) -> int:
        """Frame whose interval [seconds[k], seconds[k + 1]) holds this media time; clamped to the first and last."""
        return int(np.clip(np.searchsorted(self.seconds, seconds, side="right") - 1, 0, self.frames - 1))

    def for_proxy(self) -> FrameIndex:
        """The index to read the proxy with: it carries the repaired timestamps."""
        return FrameIndex(self.pts, self.time_base)

    def in_time_base(self, time_base: Fraction) -> FrameIndex:
        """The same instants in another time base; MediaError when they are not whole ticks of it."""
        if time_base == self.time_base:
            return self
        factor = self.time_base / time_base
        ticks = [int(tick) * factor.numerator for tick in self.pts]
        if any(tick % factor.denominator for tick in ticks[:-1]):
            raise MediaError(f"The timestamps of the index are not whole ticks of {time_base} s.")
        pts = np.array([tick // factor.denominator for tick in ticks], np.int64)
        return replace(self, pts=pts, time_base=time_base)

    def save(self, path: Path) -> None:
        """Write as a compressed .npz, complete or not at all."""
        arrays = {
            "pts": self.pts,
            "time_base": np.array([self.time_base.numerator, self.time_base.denominator]),
            "counts": np.array([self.interpolated, self.nudged, self.damaged]),
        }
        if self.decoded is not None:
            arrays["decoded"] = self.decoded
        if self.changes is not None:
            arrays["changes"] = self.changes
        with whole(path) as part, part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: Path) -> FrameIndex:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            numerator, denominator = data["time_base"].tolist()
            interpolated, nudged, damaged = data["counts"].tolist()
            time_base = Fraction(numerator, denominator)
            repaired = interpolated, nudged, damaged
            return cls(data["pts"], time_base, *repaired, data.get("decoded"), data.get("changes"))


def sample_frames(index: FrameIndex, start: int, end: int, rate: float | Fraction) -> NDArray[np.int64]:
    """Frames of the shot [start, end) that are looked at when it is sampled at `rate` per second.

    Sample k is the first frame whose media time is at or after the shot's start + k / rate; a frame that answers to
    several samples is returned once. Computed in whole ticks, so that no rounding of seconds moves a sample.
    """
    if not 0 <= start < end <= index.frames:
        raise ValueError(f"the span [{start}, {end}) does not lie within the {index.frames} frames of the video")
    per_second = Fraction(rate).limit_denominator(1001)
    if per_second <= 0:
        raise ValueError(f"a sampling rate of {rate} per second is not above 0")
    ticks = index.pts[start:end] - index.pts[start]
    step = 1 / (per_second * index.time_base)  # ticks between samples
    count = int(ticks[-1]) * step.denominator // step.numerator + 1
    due = -(np.arange(count, dtype=np.int64) * -step.numerator // step.denominator)  # rounded up
    return start + np.unique(np.searchsorted(ticks, due))
