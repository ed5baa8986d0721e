"""Picture hashes of clips: a difference hash of 64 bits, robust to size, compression and a little brightness.

The picture is averaged to 8 x 9 grey cells; each bit says whether a cell is brighter than its left neighbour. Hashes of
one picture differ in few bits (`recordings.NEAREST`), of two pictures in about 32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.formats.errors import FormatError
from ml.questions.lint.one import One
from ml.questions.lint.recordings import Seen

ROWS, COLUMNS = 8, 9
MOMENTS = (0.1, 0.5, 0.9)  # shares of a clip at which a frame is looked at
VIDEO = frozenset({".mp4", ".mkv", ".webm", ".mov", ".avi", ".m4v"})


def picture_hash(picture: NDArray[np.uint8]) -> int:
    """The hash of a picture, uint8[H, W] grey or [H, W, 3]; at least 8 x 9 pixels."""
    grey = picture.astype(np.float64).mean(axis=2) if picture.ndim == 3 else picture.astype(np.float64)
    height, width = grey.shape
    if height < ROWS or width < COLUMNS:
        raise ValueError(f"a picture of {width} x {height} pixels is too small for a hash")
    rows = np.linspace(0, height, ROWS + 1).astype(int)
    columns = np.linspace(0, width, COLUMNS + 1).astype(int)
    sums = np.add.reduceat(np.add.reduceat(grey, rows[:-1], axis=0), columns[:-1], axis=1)
    cells = sums / np.outer(np.diff(rows), np.diff(columns))
    bits = (np.diff(cells, axis=1) > 0).ravel()
    return int("".join("1" if bit else "0" for bit in bits), 2)


def of_video(path: Path) -> list[int]:
    """Hashes of three frames. Raises FormatError for a file that cannot be decoded."""
    import av

    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            begin, length = (container.start_time or 0) / av.time_base, float(container.duration or 0) / av.time_base
            found = []
            for share in MOMENTS:
                frame = _frame_at(container, stream, begin + share * length)
                if frame is not None:
                    found.append(picture_hash(frame.to_ndarray(format="gray").astype(np.uint8)))
            return found
    except (OSError, av.FFmpegError, IndexError, ValueError) as error:
        raise FormatError(f"{path.name} cannot be read as a video: {error}.") from error


def _frame_at(container: Any, stream: Any, seconds: float) -> Any:
    """The frame on the screen at a moment. A seek ends on a key frame before it, and where those lie is a matter of the
    encoding: from there it is decoded on."""
    import av

    container.seek(max(0, int(seconds * av.time_base)), any_frame=False, backward=True)
    shown = None
    for frame in container.decode(stream):
        if shown is not None and frame.time is not None and frame.time > seconds + 1e-6:
            break
        shown = frame
    return shown


def in_folder(folder: Path) -> Mapping[str, Path]:
    """Videos below a folder by name, in small letters; the first of two with one name."""
    if not folder.is_dir():
        raise FormatError(f"There is no folder {folder}.")
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in VIDEO and path.is_file():
            found.setdefault(path.name.casefold(), path)
    return found


def of_items(ones: Sequence[One], folder: Path, step: Callable[[Any], Any] = iter) -> dict[int, list[int]]:
    """Hashes of the items' clips that the folder has, by position."""
    files = in_folder(folder)
    found: dict[int, list[int]] = {}
    for one in step(ones):
        path = files.get(_name(one.item.clip_file))
        if path is not None:
            found[one.at] = of_video(path)
    return found


def of_train(folder: Path, step: Callable[[Any], Any] = iter) -> list[Seen]:
    """Every video of the training split's folder as something seen, with its hashes."""
    return [
        Seen(path.name, "", frozenset(), "", None, None, "", tuple(of_video(path)))
        for path in step(list(in_folder(folder).values()))
    ]


def _name(clip: str | None) -> str:
    return (clip or "").replace("\\", "/").rpartition("/")[2].casefold()
