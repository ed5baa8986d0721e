"""Poster and thumbnail strip, both taken from the proxy.

strip.jpg is one picture of tiles, `columns` side by side, row after row. strip.json:
{"v": 1, "tile_width", "tile_height", "columns", "frames": [frame number of each tile]}; tile i lies at
x = (i % columns) * tile_width, y = (i // columns) * tile_height.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ml.media import proxy as proxies
from ml.media.decode import read_frames
from ml.media.files import write_json, write_whole
from ml.media.index import FrameIndex
from ml.progress import Progress

MAX_TILES = 120
MIN_TILES = 12  # of a short clip, which may have fewer frames
TILE_HEIGHT = 90  # pixels; of a tall picture, its width
COLUMNS = 10
POSTER_SIDE = 640  # pixels, the longer side at most
QUALITY = 85


def write_pictures(proxy: Path, index: FrameIndex, out: Path, progress: Progress) -> None:
    """Write poster.jpg, strip.jpg and strip.json into `out`. The poster is the tile with the most contrast."""
    frames = tile_frames(proxy, index)
    tiles: list[NDArray[np.uint8]] = []
    poster, contrast = np.zeros((2, 2, 3), np.uint8), -1.0
    for _, picture in read_frames(proxy, index.for_proxy(), frames, seek_gap=0 if _sparse(index) else index.frames):
        tiles.append(_tile(picture))
        if (deviation := float(tiles[-1].std())) > contrast:
            poster, contrast = picture, deviation
        progress("pictures", len(tiles) / len(frames))
    height, width = tiles[0].shape[:2]
    layout: dict[str, Any] = {"v": 1, "tile_width": width, "tile_height": height, "columns": COLUMNS, "frames": frames}
    write_whole(out / "poster.jpg", _jpeg(_shrink(poster, POSTER_SIDE)))
    write_whole(out / "strip.jpg", _jpeg(_sheet(tiles)))
    write_json(out / "strip.json", layout)


def tile_frames(proxy: Path, index: FrameIndex) -> list[int]:
    """Frames of the strip: evenly spaced in time, at the proxy's key frames where tiles lie a second or more apart."""
    count = min(MAX_TILES, index.frames, max(MIN_TILES, int(np.ceil(index.duration_s))))
    times = index.seconds[0] + (np.arange(count) + 0.5) * index.duration_s / count
    frames = np.array([index.frame_at(t) for t in times])
    if _sparse(index):
        keys = np.array([k for k, (_, key) in enumerate(proxies.timestamps(proxy)) if key])
        frames = keys[np.searchsorted(keys, frames, side="right") - 1]
    return [int(frame) for frame in np.unique(frames)]


def _sparse(index: FrameIndex) -> bool:
    return index.duration_s > MIN_TILES


def _tile(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = picture.shape[:2]
    scale = TILE_HEIGHT / min(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def _shrink(picture: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    height, width = picture.shape[:2]
    scale = min(1.0, side / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def _sheet(tiles: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    height, width = tiles[0].shape[:2]
    sheet = np.zeros((-(-len(tiles) // COLUMNS) * height, COLUMNS * width, 3), np.uint8)
    for k, tile in enumerate(tiles):
        y, x = k // COLUMNS * height, k % COLUMNS * width
        sheet[y : y + height, x : x + width] = tile
    return sheet


def _jpeg(picture: NDArray[np.uint8]) -> bytes:
    done, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not done:
        raise RuntimeError("OpenCV could not write a JPEG")
    return data.tobytes()
