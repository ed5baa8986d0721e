"""The assignment problem, by the package lap: importing SciPy for it takes each process 0.7 s."""

from __future__ import annotations

from typing import Any

import numpy as np
from lap import lapjvx
from numpy.typing import NDArray


def least_cost_pairs(cost: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows (ascending) and their columns, min(N, M) of each, of least total `cost` (N x M, finite)."""
    _, rows, columns = lapjvx(cost, extend_cost=True)
    order = np.argsort(rows)
    return rows[order].astype(np.intp), columns[order].astype(np.intp)
