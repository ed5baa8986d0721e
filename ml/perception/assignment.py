"""The assignment problem: pairs of rows and columns of least total cost.

Shortest augmenting paths (Jonker and Volgenant 1987; for tables that are not square as in Crouse, "On implementing 2D
rectangular assignment algorithms", 2016). For the small tables of one frame; `scipy.optimize`, which has the same in
compiled code, takes a process longer to import than all assignments of a video take here.
"""

from __future__ import annotations

import numpy as np

from ml.perception.protocols import Array


def assign(cost: Array) -> tuple[Array, Array]:
    """Rows (ascending) and their columns, min(N, M) of each, of least total `cost` (N x M, finite)."""
    if cost.shape[0] > cost.shape[1]:
        columns = _columns(cost.T)
        order = np.argsort(columns)
        return columns[order], order
    return np.arange(cost.shape[0]), _columns(cost)


def _columns(cost: Array) -> Array:
    """Column of each row, for N <= M. `u` and `v` are dual prices: cost[i, j] - u[i] - v[j] >= 0, and 0 on pairs."""
    n, m = cost.shape
    u, v = np.zeros(n), np.zeros(m)
    row_of, column_of = np.full(m, -1), np.full(n, -1)
    for row in range(n):
        length, before = np.full(m, np.inf), np.full(m, -1)  # of the shortest path to each column, and its last row
        scanned = np.zeros(m, bool)
        i, least = row, 0.0
        while True:
            through = least + cost[i] - u[i] - v
            shorter = ~scanned & (through < length)
            length[shorter], before[shorter] = through[shorter], i
            j = int(np.where(scanned, np.inf, length).argmin())
            least, scanned[j] = length[j], True
            if row_of[j] < 0:
                break
            i = row_of[j]
        taken = np.flatnonzero(scanned & (row_of >= 0))
        u[row] += least
        u[row_of[taken]] += least - length[taken]
        v[taken] -= least - length[taken]
        while True:  # exchange along the path
            i = before[j]
            row_of[j] = i
            column_of[i], j = j, column_of[i]
            if i == row:
                break
    return column_of
