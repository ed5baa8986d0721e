"""A run's dense samples, read from its file: in workers only, the web process does without pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ml.social.relink import Boxes
from webapp.lib import storage
from webapp.tracks.models import Run

BOX_COLUMNS = ["frame", "track", "body_x1", "body_y1", "body_x2", "body_y2"]


def samples_of(run: Run) -> dict[str, NDArray[Any]]:
    """All sample columns of a run, text columns as object arrays."""
    with storage.local(f"{run.folder}/samples.parquet") as path:
        table = pq.read_table(path)
    return {name: np.asarray(table[name].to_numpy(zero_copy_only=False)) for name in table.column_names}


def boxes_of(run: Run) -> Boxes:
    """The body boxes of a run's samples, sorted as the file is."""
    with storage.local(f"{run.folder}/samples.parquet") as path:
        table = pq.read_table(path, columns=BOX_COLUMNS)
    return Boxes.from_columns({name: table[name].to_numpy() for name in BOX_COLUMNS})
