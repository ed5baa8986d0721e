"""The leaderboard of a release: its evaluations with their controls, what others reported, and all of it to take away.

board(project, wanted) -> Board       six queries at most, however many evaluations there are
exported(board)                       the same as flat rows
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlencode

from ml.evaluation import published
from ml.statistics import ranks
from ml.statistics.intervals import LEAST
from webapp.bench.models import Release
from webapp.library.models import Project
from webapp.runs import evaluating
from webapp.runs.evaluation_values import (
    CONTROL_MEANS,
    CONTROL_WORDS,
    DIFFICULTIES,
    GROUPS,
    UPLOADERS_WORD,
    Measured,
    Rho,
    Tree,
    grounded,
    measured,
    rho_items,
)
from webapp.runs.models import Evaluation
from webapp.runs.queries import seen_in_training

MOST_ROWS = 500  # evaluations of one release in the table

# ---------------------------------------------------------------------------------------------------------------------
# The table


# order -> what of a row it goes by, and whether it falls
COLUMNS = ("accuracy", "strict", "lenient", *GROUPS, *DIFFICULTIES, "precision", "rho", "n", "created")
SORTS: dict[str, tuple[str, bool]] = {
    **{name: (name, True) for name in COLUMNS},
    **{f"{name}-up": (name, False) for name in COLUMNS},
    "name": ("name", False),
    "name-down": ("name", True),
}
PAIRS = {name: (name, f"{name}-up") for name in COLUMNS} | {"name": ("name", "name-down")}
FIRST = "accuracy"


@dataclass(frozen=True)
class Wanted:
    """What the address asks for. What it names and there is not is left out."""

    release: int | None = None
    sort: str = FIRST

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Wanted:
        number, sort = str(asked.get("release", "")), str(asked.get("sort", ""))
        plain = number.isascii() and number.isdigit() and len(number) < 10
        return cls(int(number) if plain else None, sort if sort in SORTS else FIRST)

    def address(self, **other: str) -> str:
        told = {"release": "" if self.release is None else str(self.release), "sort": self.sort} | other
        kept = {name: value for name, value in told.items() if value and (name, value) != ("sort", FIRST)}
        return "?" + urlencode(kept)


@dataclass
class Row:
    """A model in the table: one evaluation without a control, with its controls beside."""

    evaluation: Evaluation
    cells: dict[str, Measured | None]
    precision: Measured | None
    rho: Rho | None
    controls: list[dict[str, Any]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    seen: int = 0  # items of the release that it was trained on

    @property
    def number(self) -> int:
        return self.evaluation.number

    @property
    def accuracy(self) -> Measured | None:
        return self.cells.get("accuracy")

    def key(self, column: str) -> Any:
        """What the row is sorted by; None where it has no value that says anything."""
        if column == "name":
            return self.evaluation.name.casefold()
        if column == "created":
            return self.evaluation.created
        if column == "rho":
            return self.rho.value if self.rho and self.rho.n >= LEAST else None
        told = self.precision if column == "precision" else self.cells.get("accuracy" if column == "n" else column)
        if told is None:
            return None
        return told.n if column == "n" else None if told.few else told.value


@dataclass
class Board:
    """All the page of a release shows. `live`: evaluations that wait, run, failed or were stopped."""

    releases: list[Release]
    release: Release | None
    rows: list[Row]
    live: list[Evaluation]
    out: dict[str, int]
    more: int = 0  # evaluations that are not in the table any more

    @property
    def finding(self) -> str:
        return finding(self.rows, self.release)


def board(project: Project, wanted: Wanted) -> Board:
    """The table of the release asked for, by default of the newest with evaluations, else of the newest."""
    releases = list(Release.objects.filter(project=project).order_by("-number").defer("facts", "notes"))
    release = next((one for one in releases if one.number == wanted.release), None)
    found = Evaluation.objects.filter(project=project, release__isnull=False)
    if release is not None:
        found = found.filter(release=release)
    elif releases:
        newest = Evaluation.objects.filter(project=project).order_by("-release__number").values("release")[:1]
        found = found.filter(release__in=newest)
    rows = list(
        found.select_related("run", "job", "created_by")
        .defer("job__log", "job__result")
        .order_by("-number")[: MOST_ROWS + 1]
    )
    if release is None and rows:
        release = next(one for one in releases if one.id == rows[0].release_id)
    release = release or (releases[0] if releases else None)
    out = evaluating.standing(release.id) if release else {}
    more, rows = max(0, len(rows) - MOST_ROWS), rows[:MOST_ROWS]
    done = [one for one in rows if one.state == Evaluation.State.DONE and one.results]
    live = [one for one in rows if one.state != Evaluation.State.DONE]
    seen = seen_in_training(release, {one.run_id for one in done if one.run_id}) if release else {}
    return Board(releases, release, ordered(rows_of(done, out, seen), wanted.sort), live, out, more)


def rows_of(done: Sequence[Evaluation], out: Tree, seen: Mapping[Any, int]) -> list[Row]:
    """One row for each evaluation without a control; those of the same model under a control stand in it."""
    by_model: dict[Any, list[Evaluation]] = defaultdict(list)
    for one in done:
        by_model[model_key(one)].append(one)
    found = []
    for same in by_model.values():
        controls = controls_of(same)
        plain = [one for one in same if not one.control]
        found += [row_of(one, out, controls, seen.get(one.run_id, 0)) for one in plain]
        if not plain:  # only a control so far: named, without values
            found.append(Row(same[0], {}, None, None, controls, ["Not evaluated without a control yet."]))
    return found


def model_key(one: Evaluation) -> Any:
    """What two evaluations share that are of one model, asked in one way."""
    told, settings = one.results.get("model", {}), one.settings
    asked = tuple(settings.get(name) for name in ("reasoning", "frames", "tokens", "limit"))
    return one.model_kind, one.model, one.run_id, one.checkpoint, told.get("fingerprint"), told.get("url"), asked


def controls_of(same: Iterable[Evaluation]) -> list[dict[str, Any]]:
    """The newest evaluation under each control, in the order of `CONTROL_WORDS`."""
    newest: dict[str, Evaluation] = {}
    for one in sorted(same, key=lambda one: one.number):
        newest[one.control] = one
    return [
        {
            "control": name,
            "words": words,
            "means": CONTROL_MEANS[name] + (UPLOADERS_WORD if newest[name].model_kind == "predictions" else ""),
            "claimed": newest[name].model_kind == "predictions",
            "number": newest[name].number,
            "measured": measured(newest[name].results["overall"]),
        }
        for name, words in CONTROL_WORDS.items()
        if name in newest
    ]


def row_of(one: Evaluation, out: Tree, controls: list[dict[str, Any]], seen: int) -> Row:
    results = one.results
    cells: dict[str, Measured | None] = {
        "accuracy": measured(results["overall"]),
        "strict": measured(results["overall"], "strict"),
        "lenient": measured(results["overall"], "lenient"),
    }
    for by, names in (("group", GROUPS), ("difficulty", DIFFICULTIES)):
        told = {row["name"]: row for row in results["tables"].get(by, [])}
        cells |= {name: measured(told[name]) if name in told else None for name in names}
    return Row(one, cells, grounded(results), rho_items(results), controls, marks(one, out, seen), seen)


def marks(one: Evaluation, out: Tree, seen: int = 0) -> list[str]:
    """What a reader of the figures has to know before comparing them. `seen`: items that were trained on."""
    told, counted = [], one.results.get("out", {})
    for name, words in (("retired", "retired"), ("withdrawn", "withdrawn")):
        since = out.get(name, 0) - counted.get(name, 0)
        if since > 0:
            told.append(f"Still counts {_items(since)} {words} since; it is counted again without {_it(since)}.")
    gone = counted.get("withdrawn", 0)
    if gone:
        told.append(f"Without {_items(gone)} whose video was withdrawn.")
    if counted.get("retired", 0):
        told.append(f"Without {_items(counted['retired'])} retired from the release.")
    if seen:
        told.append(f"Was trained on {_items(seen)} of this release, which its accuracy counts.")
    if one.run is not None and one.run.withdrawn:
        told.append("The model was trained on a video that was withdrawn since.")
    limit = one.settings.get("limit")
    if limit is not None:
        told.append(f"Asked at most {limit:,} items of the release.")
    error = one.results["overall"]["error"] + one.results["overall"]["missing"]
    if error:
        told.append(f"{_items(error)} without a reply are not counted; all of them wrong, it would be {at_least(one)}.")
    return told


def _items(count: int) -> str:
    return f"{count:,} item{'s' * (count != 1)}"


def _it(count: int) -> str:
    return "it" if count == 1 else "them"


def at_least(one: Evaluation) -> str:
    value = one.results["overall"]["at_least"]
    return "no value" if value is None else f"{100 * value:.1f} %"


def ordered(rows: Iterable[Row], sort: str) -> list[Row]:
    """By one of `SORTS`; rows without a value last either way, equal ones newest first."""
    column, falls = SORTS[sort]
    rows = sorted(rows, key=lambda row: -row.number)
    known = [row for row in rows if row.key(column) is not None]
    return sorted(known, key=lambda row: row.key(column), reverse=falls) + [r for r in rows if r.key(column) is None]


def finding(rows: Sequence[Row], release: Release | None) -> str:
    """What the table says, in a sentence or two; of a model on top that knew items of the release, that it did."""
    told, first = _ranking(rows, release)
    if first is None or not first.seen:
        return told
    return f"{told} But {first.evaluation.name} was trained on {_items(first.seen)} of this release."


def _ranking(rows: Sequence[Row], release: Release | None) -> tuple[str, Row | None]:
    """Who is first, in words, and its row where there is one."""
    if release is None:
        return "There is no release yet that models could be evaluated on.", None
    known = [row for row in ordered(rows, FIRST) if row.accuracy and not row.accuracy.few]
    if not known:
        few = any(row.accuracy for row in rows)
        return "Too few items were answered to rank models." if few else "No model was evaluated on it yet.", None
    first = cast(Measured, known[0].accuracy)
    best = f"{known[0].evaluation.name} is right on {first.says}"
    if len(known) == 1:
        return f"{best}.", known[0]
    second = cast(Measured, known[1].accuracy)
    told = f"{best}, more often than the other {_models(len(known) - 1)}"
    if first.low is None or second.high is None:
        return f"{told}; without an interval that says little, so compare the two item by item.", known[0]
    if first.low <= second.high:
        meets = f"its interval meets that of {known[1].evaluation.name}, so compare the two item by item"
        return f"{told}; {meets}.", known[0]
    return f"{told}; {known[1].evaluation.name} follows with {second.says}.", known[0]


def _models(count: int) -> str:
    return "one" if count == 1 else f"{count}"


def model_points(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Grounded precision against accuracy, a point a model with enough replies for both."""
    return [
        {
            "mark": str(row.number),
            "name": row.evaluation.name,
            "precision": row.precision.value,
            "accuracy": row.accuracy.value,
            "n": row.precision.n,
        }
        for row in rows
        if row.precision and row.accuracy and not row.precision.few and not row.accuracy.few
    ]


def told(points: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Points with what their table says, in per cent."""
    return [
        {**one, **{f"{name}_shown": f"{100 * one[name]:.1f}" for name in ("precision", "accuracy")}} for one in points
    ]


def relation(points: Sequence[Tree], what: str) -> tuple[str, float | None]:
    """Whether precision and accuracy go together over these points, in a sentence, and rho."""
    if len(points) < ranks.LEAST:
        return f"Too few {what} ({len(points)}) to say whether grounded precision goes with accuracy", None
    found = ranks.rho([one["precision"] for one in points], [one["accuracy"] for one in points])
    if found is None:
        same = [name for name in ("precision", "accuracy") if len({one[name] for one in points}) == 1]
        called = {"precision": "Grounded precision", "accuracy": "Accuracy"}
        return f"{' and '.join(called[name] for name in same)} of all {len(points)} {what} the same: no ρ", None
    words = "goes with" if found >= 0.3 else "goes against" if found <= -0.3 else "tells little of"
    return f"Grounded precision {words} accuracy over {len(points)} {what}: ρ = {found:.2f}", found


def published_rows() -> list[dict[str, Any]]:
    """What others reported for GRASP-Bench, in per cent by column of the table, under each source and its state."""
    columns = {"overall": "accuracy", **{name: name for name in GROUPS}}
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in (*published.GRASP, *published.GRASP_MORE):
        cells = {columns[name]: value for name, value in row.values.items()}
        found[row.source, row.state].append({"model": row.model, "cells": cells})
    return [{"source": source, "state": state, "rows": rows} for (source, state), rows in found.items()]


# ---------------------------------------------------------------------------------------------------------------------
# To take away


def exported(found: Board) -> list[dict[str, Any]]:
    """Every row of the table, controls and published ones too, as flat objects: shares in [0, 1]."""
    lines = []
    for row in found.rows:
        one = row.evaluation
        told = {"source": "this studio", **_about(one), **_flat(row)}
        lines.append(told)
        for control in row.controls:
            value = control["measured"]
            lines.append(
                {
                    "source": "this studio",
                    **_about(one),
                    "evaluation": control["number"],
                    "control": control["control"],
                    **_numbers("accuracy", value),
                    "n": value.n,
                }
            )
    for told in published_rows():
        for row in told["rows"]:
            values = {name: round(value / 100, 4) for name, value in row["cells"].items()}
            source = f"{told['source']}; {told['state']}"
            lines.append({"source": source, "bench": "GRASP-Bench", "model": row["model"]} | values)
    return lines


def _about(one: Evaluation) -> dict[str, Any]:
    return {
        "bench": one.results["bench"]["name"],
        "bench_sha256": one.results["bench"]["sha256"],
        "evaluation": one.number,
        "name": one.name,
        "model": one.model,
        "kind": one.model_kind,
        "run": one.run.number if one.run else None,
        "checkpoint": one.checkpoint,
        "control": "",
        "date": one.created.date().isoformat(),
    }


def _flat(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {"n": row.accuracy.n if row.accuracy else None}
    for name, value in row.cells.items():
        found |= _numbers(name, value)
    found |= _numbers("precision", row.precision)
    found["precision_n"] = row.precision.n if row.precision else None
    found["rho"] = row.rho.value if row.rho else None
    return found | {"marks": " ".join(row.marks)}


def _numbers(name: str, value: Measured | None) -> dict[str, float | None]:
    told = (value.value, value.low, value.high) if value else (None, None, None)
    rounded = [None if one is None else round(one, 4) for one in told]
    return dict(zip((name, f"{name}_low", f"{name}_high"), rounded, strict=True))
