"""Masks as pages get them: plain columns, and for each query where anything was found and where it shows best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ml.evidence.grounding.protocol import Grounded, Masks, Query
from ml.evidence.scope import scope


def stored(path: Path) -> Masks:
    """The masks of a packed file (`ml.media.masks`, which is loaded now). Raises FormatError."""
    from ml.media import masks as packed

    return packed.read(path)


def store(path: Path, masks: Masks, about: dict[str, Any]) -> None:
    """Write masks as a packed file with what it says of itself."""
    from ml.media import masks as packed

    packed.write(path, masks, about)


def of_claim(masks: Masks | None, name: str) -> Masks:
    """Of masks whose queries are named "c1/phrase-1", those of one claim, under its own names of queries."""
    from ml.media import masks as packed

    if masks is None:
        return packed.empty((1, 1))
    own = packed.picked(masks, np.char.startswith(masks.query.astype(np.str_), f"{name}/"))
    return replace(own, query=np.array([str(id).partition("/")[2] for id in own.query], np.str_))


def columns_of(masks: Masks) -> dict[str, Any]:
    """The rows of masks, sorted by query, object, frame; a number that is none is null."""
    order = np.lexsort((masks.frame, masks.object, masks.query))
    plain = {name: getattr(masks, name)[order].tolist() for name in ("object", "frame", "person", "area")}
    return {
        "size": list(masks.size),
        "query": [str(id) for id in masks.query[order]],
        **plain,
        "score": numbers(masks.score[order]),
        "tracker_score": numbers(masks.tracker_score[order]),
        "box": np.round(masks.box[order].astype(np.float64), 5).tolist(),
        "kind": [str(kind) for kind in masks.kind[order]],
        "counts": [masks.counts[k].decode("ascii") for k in order.tolist()],
    }


def numbers(values: Any) -> list[float | None]:
    """Rounded to what a page shows; NaN as null."""
    rounded = np.round(np.asarray(values, np.float64), 4)
    return [value if np.isfinite(value) else None for value in rounded.tolist()]


def query_rows(queries: Sequence[Query], grounded: Grounded | None) -> list[dict[str, Any]]:
    """Queries as `webapp.audit.models.Grounding` keeps them: what was asked, what came of it, where it shows best."""
    return [_row(query, grounded) for query in queries]


def _row(query: Query, grounded: Grounded | None) -> dict[str, Any]:
    row: dict[str, Any] = {"id": query.id, "text": query.text, "role": query.role, "person": query.person}
    if grounded is None:
        nothing: dict[str, Any] = {
            "attributes_checked": [],
            "looked_for": None,
            "unchecked": [],
            "frames": [],
            "objects": 0,
        }
        return row | {"status": "error", "sentence": "", "best": None} | nothing
    masks = grounded.masks
    at = np.flatnonzero(masks.query == query.id)
    best = None
    if len(at):
        k = int(at[np.lexsort((masks.frame[at], -masks.score[at]))[0]])
        box = np.round(masks.box[k].astype(np.float64), 5).tolist()
        best = {"frame": int(masks.frame[k]), "object": int(masks.object[k]), "box": box}
        best["score"] = numbers(masks.score[[k]])[0]
    checked = grounded.attributes_checked.get(query.id, ())
    status = grounded.status.get(query.id, "error")
    asked = scope(query.text, checked) if query.text and status in ("ok", "empty") else None
    return row | {
        "status": status,
        "sentence": grounded.sentence.get(query.id, ""),
        "attributes_checked": list(checked),
        "looked_for": asked.looked_for if asked else None,
        "unchecked": list(asked.unchecked) if asked else [],
        "frames": np.unique(masks.frame[at]).tolist(),
        "objects": len(np.unique(masks.object[at])),
        "best": best,
    }
