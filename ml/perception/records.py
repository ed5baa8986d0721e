"""What the analysis of one piece of a video finds, as flat arrays in one file of the work folder (.npz, no pickles).

A row is one person on one analysed frame. Coordinates are pixels of the upright picture; NaN where there is nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOOK, EMBEDDING = 128, 1024
NAN4, NAN2 = np.full(4, np.nan), np.full(2, np.nan)


def column(*shape: int, dtype: type = np.float32) -> Any:
    """A field of `Piece` whose rows have this shape and type."""
    return field(metadata={"shape": shape, "dtype": dtype})


@dataclass
class Piece:
    """Arrays by name; `position` and `object_position` count the piece's frames, `embedded_row` its rows."""

    frame: NDArray[Any] = column(dtype=np.int64)  # analysed frames, ascending
    sampled: NDArray[Any] = column(dtype=np.bool_)  # a gaze sample, not only a step of the tracker
    looked: NDArray[Any] = column(dtype=np.bool_)  # persons were looked for; a step between calm samples is left out

    position: NDArray[Any] = column(dtype=np.int32)
    body: NDArray[Any] = column(4)
    score: NDArray[Any] = column()
    derived: NDArray[Any] = column(dtype=np.bool_)  # body box made from a face nobody claimed
    look: NDArray[Any] = column(LOOK, dtype=np.float16)
    face: NDArray[Any] = column(4)
    face_score: NDArray[Any] = column()
    flag: NDArray[Any] = column()
    profile: NDArray[Any] = column(dtype=np.bool_)  # direction from the detector's five points, not from the face mesh
    yaw: NDArray[Any] = column()
    pitch: NDArray[Any] = column()  # as the mesh reads it: not corrected, not clamped
    eye: NDArray[Any] = column(2)
    read: NDArray[Any] = column()  # how far the eyes could be read, 0..1

    object_position: NDArray[Any] = column(dtype=np.int32)
    object_class: NDArray[Any] = column(dtype=np.int16)
    object_score: NDArray[Any] = column()
    object_box: NDArray[Any] = column(4)

    embedded_row: NDArray[Any] = column(dtype=np.int32)
    embedding: NDArray[Any] = column(EMBEDDING)
    quality: NDArray[Any] = column()  # how frontal and large the embedded face is

    seconds: NDArray[Any] = column()  # processor seconds by kind of work, in the order of `analyse.WORK`

    def save(self, path: Path) -> None:
        """Write under a temporary name, then rename: a file with the final name is whole."""
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, **{f.name: getattr(self, f.name) for f in fields(self)})
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Piece:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            return cls(**{f.name: data[f.name] for f in fields(cls)})


class PieceBuilder:
    """Collects rows one at a time, by field name."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Any]] = {f.name: [] for f in fields(Piece)}

    def add(self, **values: Any) -> None:
        """Append one value to each of these fields."""
        for name, value in values.items():
            self._rows[name].append(value)

    def count(self, name: str) -> int:
        return len(self._rows[name])

    def build(self) -> Piece:
        """The arrays, in each field's type."""
        return Piece(
            **{
                f.name: np.asarray(self._rows[f.name], f.metadata["dtype"]).reshape(-1, *f.metadata["shape"])
                for f in fields(Piece)
            }
        )
