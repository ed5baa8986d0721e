"""A first look at a file: what it is, and whether a picture can be had from it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ml.media import orientation
from ml.media.source import Source, Tally, open_source, refuse

FIRST_FRAMES = 2  # decoded to tell a picture from a video


@dataclass(frozen=True)
class Probe:
    """What the file says of itself. Sizes are pixels of upright pictures with square pixels.

    rotation: degrees clockwise by which stored pictures are turned (0, 90, 180, 270); see orientation for mirroring.
    average_rate: frames per second as the container claims, or None. claimed_seconds: length as it claims, or None.
    """

    codec: str
    width: int
    height: int
    rotation: int
    pix_fmt: str
    average_rate: Fraction | None
    claimed_seconds: float | None
    has_audio: bool
    container: str
    orientation: orientation.Orientation
    color_trc: int  # transfer characteristics, ITU-T H.273


def probe(path: Path) -> Probe:
    """Open a file and decode its first picture; MediaError with one sentence when that fails."""
    with open_source(path) as source:
        return probe_source(source)


def probe_source(source: Source) -> Probe:
    """Probe an open source, which is then past its first frames."""
    tally = Tally()
    frames = list(itertools.islice(source.frames(tally), FIRST_FRAMES))
    if not frames:
        name = source.video.codec_context.name
        raise refuse(f"no picture of its {name} video can be decoded, it is damaged or encrypted")
    claimed = claimed_seconds(source)
    if claimed is None and len(frames) == 1:
        raise refuse("it is a single picture, not a video")
    turn = orientation.of_frame(frames[0])
    width, height = turn.size(*source.size(frames[0]))
    return Probe(
        codec=source.video.codec_context.name,
        width=width,
        height=height,
        rotation=turn.rotation,
        pix_fmt=str(frames[0].format.name),
        average_rate=_rate(source.video.average_rate),
        claimed_seconds=claimed,
        has_audio=source.sound is not None,
        container=source.format,
        orientation=turn,
        color_trc=int(frames[0].color_trc),
    )


def claimed_seconds(source: Source) -> float | None:
    """Length of the video as the container claims it; of the whole file where it says nothing of the stream."""
    if source.video.duration:
        return float(source.video.duration * source.time_base)
    if source.container.duration:
        return float(source.container.duration / 1e6)
    return None


def _rate(rate: Any) -> Fraction | None:
    return Fraction(rate) if rate else None
