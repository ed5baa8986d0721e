"""What lmms-eval leaves behind with --log_samples: <date>_results.json and <date>_samples_<task>.jsonl.

One sample a line: {"doc_id": number in the split, "target": str, "filtered_resps": [str], "resps": [[str]]?, "input":
str, "doc_hash", "prompt_hash", "target_hash": sha256, <metric>: value}; `resps` is left out where filtering changed
nothing. The results: {"results": {task: {"alias", "<metric>,<filter>": value, "<metric>_stderr,<filter>": value}},
"group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "config", "date", "model_name"}.

Pure: `parse_sample`, `build_sample`, `build_results`. A field "error" beyond their layout says why there is no reply.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ml.formats import jsonfields as read
from ml.formats.errors import FormatError

FILTER = "none"


@dataclass(frozen=True)
class Sample:
    """One logged sample. `doc`: what the item is hashed by, not written; `metrics`: per sample, by name."""

    doc_id: int
    target: str
    text: str
    filtered: str = ""
    input: str = ""
    doc: Any = None
    metrics: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


def is_sample(tree: Any) -> bool:
    """The line is one of theirs."""
    return isinstance(tree, Mapping) and "doc_id" in tree and bool({"filtered_resps", "resps"} & set(tree))


def parse_sample(tree: Any) -> Sample:
    """Check one line. Raises FormatError naming the field."""
    row = read.mapping(tree, "the sample")
    filtered = _first(row.get("filtered_resps"), "filtered_resps")
    whole = _first(row.get("resps"), "resps") if row.get("resps") else filtered
    error = row.get("error")
    return Sample(
        doc_id=read.whole(read.member(row, "doc_id", "the sample"), "doc_id"),
        target=str(read.member(row, "target", "the sample")).strip(),
        text=whole,
        filtered=filtered,
        input=row["input"] if isinstance(row.get("input"), str) else "",
        error=read.text(error, "error") if error is not None else None,
    )


def _first(value: Any, place: str) -> str:
    while isinstance(value, list):
        if not value:
            return ""
        value = value[0]
    return "" if value is None else read.text(value, place)


def build_sample(sample: Sample) -> dict[str, Any]:
    """The tree of one line; `parse_sample` of it gives reply, target and number back."""
    taken = {"doc_id", "target", "filtered_resps", "resps", "input", "doc_hash", "prompt_hash", "target_hash", "error"}
    if taken & set(sample.metrics):
        raise FormatError(f"metrics: {', '.join(sorted(taken & set(sample.metrics)))} is no name of a metric.")
    doc = json.dumps(sample.doc, indent=2, ensure_ascii=False, sort_keys=True)
    return {
        "doc_id": sample.doc_id,
        "target": sample.target,
        "filtered_resps": [sample.filtered],
        **({"resps": [[sample.text]]} if sample.text != sample.filtered else {}),
        "input": sample.input,
        "doc_hash": _sha256(doc),
        "prompt_hash": _sha256(sample.input),
        "target_hash": _sha256(sample.target),
        **({"error": sample.error} if sample.error is not None else {}),
        **sample.metrics,
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def build_results(
    task: str,
    metrics: Mapping[str, tuple[float, float | None]],
    *,
    n: int,
    config: dict[str, Any],
    model: str,
    date: str,
) -> dict[str, Any]:
    """The tree of the results. `metrics`: name -> (value, standard error or None)."""
    told: dict[str, Any] = {"alias": task}
    for name, (value, error) in metrics.items():
        told[f"{name},{FILTER}"] = value
        told[f"{name}_stderr,{FILTER}"] = "N/A" if error is None else error
    return {
        "results": {task: told},
        "group_subtasks": {task: []},
        "configs": {task: {"task": task, **config}},
        "versions": {task: 1.0},
        "n-shot": {task: 0},
        "higher_is_better": {task: dict.fromkeys(metrics, True)},
        "n-samples": {task: {"original": n, "effective": n}},
        "config": {"model": model},
        "date": date,
        "model_name": model,
    }
