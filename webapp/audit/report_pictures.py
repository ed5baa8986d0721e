"""What the report's page shows of a report's tree (`ml.evidence.report`): pictures beside its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ml.evidence.metrics import few
from ml.evidence.report_page import CORRECT
from webapp.audit.models import MACHINE_VERDICTS
from webapp.bench.charts import bar, interval

Tree = Mapping[str, Any]
WORDS = {"supported": "supported", "contradicted": "contradicted", "cannot_tell": "cannot tell"}
AGREEING = {
    "verdict": "Verdict, people among themselves",
    "relevance": "Relevance of masks, people among themselves",
}
ESTIMATES = ("raw", "cohen", "fleiss", "alpha")


def shown(tree: Tree) -> dict[str, Any]:
    """Groups (a model on a set) and comparisons, as the page lists them."""
    return {
        "groups": [_group(tree, group) for group in tree["groups"]],
        "comparisons": tree["comparisons"],
        "notes": tree["notes"],
        "rules": tree["rules"],
        "about": tree.get("about", {}),
    }


def costs(tree: Tree) -> list[str]:
    """What was paid for responses and for the deletion test, in sentences; failed requests count."""
    about = tree.get("about", {})
    told = [("The model that answered", about.get("responses_cost"))]
    test = about.get("deletion_test") or {}
    models = ", ".join(test.get("models", [])) or "the configured model"
    told.append((f"Asking {models} again with the evidence hidden", test))
    return [f"{what}: {paid(one)}." for what, one in told if one and (one.get("calls") or one.get("failed"))]


def paid(spent: Mapping[str, float]) -> str:
    """Requests, tokens and price in words; a price only where prices are configured."""
    calls = spent.get("calls", 0)
    parts = [f"{calls:,.0f} answered request{'' if calls == 1 else 's'}"]
    parts += [f"{spent['failed']:,.0f} without an answer"] if spent.get("failed") else []
    parts += [f"{spent.get('tokens_in', 0):,.0f} tokens sent and {spent.get('tokens_out', 0):,.0f} received"]
    parts += [f"{spent['unmetered']:,.0f} of unknown size"] if spent.get("unmetered") else []
    parts += [f"{spent['cost']:.3g} by the configured prices"] if spent.get("cost") else []
    return ", ".join(parts)


def compared(tree: Tree) -> dict[str, Any]:
    """Two audits: their groups side by side, measure by measure."""
    names = {"accuracy": "Right answers"} | {name: about["title"] for name, about in tree["measures"].items()}
    groups = tree["groups"]
    lines = [
        (title, [{**g["measures"], "accuracy": g["accuracy"]}[name] for g in groups]) for name, title in names.items()
    ]
    return shown(tree) | {"side_by_side": lines}


def _group(tree: Tree, group: Tree) -> dict[str, Any]:
    facts = ("model", "set", "responses", "videos", "claims", "repaired", "failed", "accuracy")
    titles = tree["measures"]
    return {
        **{name: group[name] for name in facts},
        "measures": [
            {**titles[name], **one, "name": name, "chart": whisker(one)} for name, one in group["measures"].items()
        ],
        "verdicts": _verdicts(group["verdicts"], group["claims"]),
        "correct": [_correct(group[key], *words) for key, words in CORRECT.items()],
        "agreement": _agreement(group["agreement"]),
    }


def whisker(one: Tree) -> Any:
    """The value with its interval on an axis from 0 to 1, or from -1 where it is below 0; "" where there is none."""
    value = one.get("value")
    if value is None or not -1 <= value <= 1:
        return ""
    low = value if one.get("low") is None else one["low"]
    high = value if one.get("high") is None else one["high"]
    return interval(value, low, high, words=one["says"], least=-1.0 if min(low, value) < 0 else 0.0)


def _verdicts(counts: Mapping[str, int], claims: int) -> list[dict[str, Any]]:
    return [
        {"title": name.replace("_", " "), "count": counts[name], "bar": _share(name, counts[name], claims)}
        for name in MACHINE_VERDICTS
        if counts.get(name)
    ]


def _share(name: str, count: int, claims: int) -> Any:
    return bar([(f"verdict-{name}", count / claims)], words=f"{count} of {claims}")


def _correct(both: Tree, title: str, good: str, bad: str) -> dict[str, Any]:
    rows = [{"word": word, **both[word], "chart": whisker(both[word])} for word in (good, bad)]
    return {"title": title, "rows": rows, "says": both["says"], "untold": both["untold"], "unknown": both["unknown"]}


def _agreement(found: Tree) -> dict[str, Any]:
    table = found["table"]
    most = max((count for row in table.values() for count in row.values()), default=0)
    return {
        "machine": found["machine"],
        "people": found["people"],
        "heads": list(WORDS.values()),
        "rows": [
            {"title": title, "cells": [_cell(word == other, table[word][other], most) for other in WORDS]}
            for word, title in WORDS.items()
        ],
        "even": found["even"],
        "errors_left_out": found["errors_left_out"],
    }


def _cell(same: bool, count: int, most: int) -> dict[str, Any]:
    """`weight`: 0 to 4, how dark the cell is."""
    return {"count": count, "same": same, "weight": -(-4 * count // most) if most else 0}


def agreement(rows: Sequence[Tree]) -> list[dict[str, Any]]:
    """How far raters agree, one row for what they agree on."""
    return [
        {
            "title": AGREEING.get(row["what"], row["what"]),
            "units": row["units"],
            "few": few(row["units"]),
            "estimates": [_estimate(row[name], percent=name == "raw") for name in ESTIMATES],
        }
        for row in rows
    ]


def _estimate(one: Tree, *, percent: bool) -> dict[str, str]:
    def words(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.0f} %" if percent else f"{value:.2f}"

    bounds = (one.get("low"), one.get("high"))
    interval_ = "" if None in bounds else f"{words(bounds[0])} to {words(bounds[1])}"
    return {"value": words(one.get("value")), "interval": interval_}
