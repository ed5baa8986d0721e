"""Two models, or more, on the same items: who is right where the other is not.

    python -m ml.evaluation.compare RUN RUN [RUN ..] [--json OUT]

RUN is a folder of `python -m ml.evaluation.run`. Every pair of runs of the same benchmark is compared on the items that
both have a reply to: McNemar's test, exact, of being right (full score), and the difference of the mean scores with its
interval by drawing source videos. Items to which one of the two has no reply are left out and counted. The same by
category, where p is not corrected for the number of categories. Over three runs or more, also Spearman's rho of
grounded-participant precision with accuracy over models.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, Field, ValidationError, field_validator

from ml.evaluation.scoring import HEADLINE, READINGS
from ml.formats import jsonfields as read
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries
from ml.formats.plainfile import write_file
from ml.statistics import bootstrap, ranks
from ml.statistics.paired import paired, said

Row = Mapping[str, Any]  # a line of items.jsonl
Told = TypeVar("Told", bound=BaseModel)


class _Value(BaseModel):
    value: float | None


class _Named(BaseModel):
    name: str


class _Bench(BaseModel):
    sha256: str


class _Control(BaseModel):
    name: str
    of: str


class _Overall(BaseModel):
    accuracy: dict[str, _Value]


class _Grounded(BaseModel):
    precision: _Value


class _Results(BaseModel):
    """What of results.json a comparison rests on."""

    model: _Named
    bench: _Bench
    control: _Control | None = None
    overall: _Overall
    grounded: _Grounded | None = None


class _Scores(BaseModel):
    strict: float
    released: float
    lenient: float


class _Line(BaseModel):
    """What of a line of items.jsonl it rests on. `score` is empty where no reply came about."""

    id: str
    category: str
    recording: str
    key: list[str]
    score: _Scores | dict[str, float] = Field(union_mode="left_to_right")

    @field_validator("score")
    @classmethod
    def all_or_none(cls, score: _Scores | dict[str, float]) -> _Scores | dict[str, float]:
        if isinstance(score, dict) and score:
            raise ValueError(f"it has no score by {', '.join(sorted(set(READINGS) - set(score)))}")
        return score


@dataclass(frozen=True)
class Run:
    """A finished evaluation. `items` by id; `bench`: hash of the benchmark before any control; `accuracy`: overall by
    the headline reading, `precision`: of grounded participants, None where there is none."""

    name: str
    bench: str
    items: dict[str, Row]
    accuracy: float | None
    precision: float | None

    @classmethod
    def load(cls, path: Path) -> Run:
        """Read a folder. Raises FormatError: it is none, not finished, or broken."""
        if not (path / "results.json").is_file():
            raise FormatError(f"{path} holds no finished evaluation: there is no results.json.")
        told = _checked(_Results, read.load((path / "results.json").read_bytes()), f"{path / 'results.json'}")
        rows = [_checked(_Line, entry.tree, entry.place) for entry in entries(path / "items.jsonl")]
        return cls(
            name=f"{told.model.name}{' under ' + told.control.name if told.control else ''}",
            bench=told.control.of if told.control else told.bench.sha256,
            items={row.id: row.model_dump() for row in rows},
            accuracy=told.overall.accuracy[HEADLINE].value if HEADLINE in told.overall.accuracy else None,
            precision=told.grounded.precision.value if told.grounded else None,
        )


def _checked(shape: type[Told], tree: Any, place: str) -> Told:
    try:
        return shape.model_validate(tree)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise FormatError(f"{place}: it is not of a finished evaluation ({at}: {first['msg']}).") from None


def compared(
    a: Mapping[str, Row],
    b: Mapping[str, Row],
    *,
    reading: str = HEADLINE,
    replicates: int = bootstrap.REPLICATES,
    seed: int = 0,
) -> dict[str, Any]:
    """The first against the second, overall and by category. Difference: mean score of a minus that of b."""
    ids = [id for id in a if id in b]
    both = [id for id in ids if a[id]["score"] and b[id]["score"]]
    scores = np.array([[a[id]["score"][reading], b[id]["score"][reading]] for id in both], float).reshape(-1, 2)
    clusters, _ = bootstrap.numbered([a[id]["recording"] for id in both])
    names = sorted({a[id]["category"] or "(none)" for id in both})
    at = np.array([names.index(a[id]["category"] or "(none)") for id in both], np.int64)
    return {
        "reading": reading,
        "left_out": len(set(a) | set(b)) - len(both),
        **_pair(scores, np.zeros(len(both), np.int64), clusters, 1, replicates, seed)[0],
        "categories": [
            {"name": name, **row}
            for name, row in zip(names, _pair(scores, at, clusters, len(names), replicates, seed), strict=True)
        ],
    }


def _pair(scores: Any, groups: Any, clusters: Any, number: int, replicates: int, seed: int) -> list[dict[str, Any]]:
    difference = scores[:, :1] - scores[:, 1:]
    draws = bootstrap.grouped(difference, groups, clusters, number=number, replicates=replicates, seed=seed)
    found = []
    for group in range(number):
        right = scores[groups == group] == 1
        counts = paired([(bool(one), bool(other)) for one, other in right])
        found.append({"n": counts.n, **asdict(counts), "difference": asdict(draws.interval(group))})
    return found


def sentence(told: Mapping[str, Any], a: str, b: str) -> str:
    """The comparison in words."""
    from ml.statistics.paired import Paired

    counts = Paired(told["both"], told["only_a"], told["only_b"], told["neither"], told["p"])
    found = said(counts, a, b, "right")
    difference = told["difference"]
    if difference["value"] is None:
        return found
    shown = f"{100 * difference['value']:+.1f} points"
    if difference["low"] is not None:
        shown += f" [{100 * difference['low']:+.1f}, {100 * difference['high']:+.1f}]"
    left = f"; {told['left_out']} items without a reply of one of them are left out" if told["left_out"] else ""
    return f"{found} Difference of the mean scores: {shown}{left}."


def across(runs: Sequence[Run]) -> dict[str, Any]:
    """Spearman's rho of grounded-participant precision with accuracy over models; None with fewer than three."""
    points = {
        run.name: (run.precision, run.accuracy)
        for run in runs
        if run.precision is not None and run.accuracy is not None
    }
    return {
        "models": {name: list(both) for name, both in points.items()},
        "rho": ranks.rho(*zip(*points.values(), strict=True)) if points else None,
        "n": len(points),
    }


def comparison(runs: Sequence[Run], *, replicates: int = bootstrap.REPLICATES, seed: int = 0) -> dict[str, Any]:
    """All pairs by every reading. Raises FormatError where the runs are not of one benchmark."""
    first = runs[0]
    for other in runs[1:]:
        if other.bench != first.bench:
            raise FormatError(f"{first.name} and {other.name} are not of the same benchmark: its hash differs.")
    pairs = []
    for a, b in combinations(runs, 2):
        if not set(a.items) & set(b.items):
            raise FormatError(f"{a.name} and {b.name} have no item in common.")
        keys = [id for id in set(a.items) & set(b.items) if a.items[id]["key"] != b.items[id]["key"]]
        if keys:
            raise FormatError(f"{a.name} and {b.name} have different keys of the item {min(keys)}.")
        told = {r: compared(a.items, b.items, reading=r, replicates=replicates, seed=seed) for r in READINGS}
        pairs.append({"a": a.name, "b": b.name, **told})
    return {"pairs": pairs, "across": across(runs)}


def main(argv: Sequence[str] | None = None) -> int:
    """0 when done, 2 with one sentence on stderr when the input is bad."""
    parser = argparse.ArgumentParser(prog="python -m ml.evaluation.compare", description="Models on the same items.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a finished evaluation")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all of it there")
    wanted = parser.parse_args(argv)
    try:
        if len(wanted.runs) < 2:
            raise FormatError("A comparison needs two evaluations at least.")
        found = comparison([Run.load(path) for path in wanted.runs])
        if wanted.json:
            write_file(wanted.json, (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename}: {error.strerror or error}.", file=sys.stderr)
        return 2
    for pair in found["pairs"]:
        print(sentence(pair[HEADLINE], pair["a"], pair["b"]))
    if found["across"]["rho"] is not None:
        print(
            f"Grounded precision and accuracy over {found['across']['n']} models: rho = {found['across']['rho']:.2f}."
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
