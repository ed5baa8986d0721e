"""The report of an audit: JSON, CSV, and one HTML file that needs neither server, script nor anything from outside.

    tree = build(rows)          rows as in `ml.evidence.metrics`
    html(tree), csv(tree)       both are made from the JSON alone

The same rows give the same bytes: nothing in a report tells when it was made.
"""

from __future__ import annotations

import csv as tables
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from io import StringIO
from typing import Any

from ml.evidence import metrics
from ml.evidence.report_page import CORRECT, html, notes_of
from ml.evidence.verdicts import NAMES, RULES
from ml.statistics.intervals import LEAST

Tree = dict[str, Any]

__all__ = ["build", "csv", "html"]

NOTES = (
    f"A share of fewer than {LEAST} cases is given as counts only.",
    "A mask shows that something is there; it does not show that an action, an emotion or a reason is true.",
    "Specificity and hit rate leave out phrases that the grounder has no word for.",
    "Intervals of shares are Wilson's, of means by drawing whole videos, of differences Newcombe's (all 95 %). Claims "
    "of one response are alike, so intervals over claims are somewhat too narrow.",
    "A response counts as supported when one of its load-bearing claims is and none is contradicted, unsupported, of "
    "the wrong person or at the wrong time; as unsupported when one is. Which claims bear the answer is the "
    "summariser's word.",
    "That right answers go with supported reasoning does not show that the answers rest on it; hiding the evidence and "
    "asking again comes closer.",
)


def build(
    responses: Iterable[metrics.Row], *, title: str = "Audit of evidence", about: Mapping[str, Any] | None = None
) -> Tree:
    """The report as JSON. `about`: what else it should say of itself (summariser, grounder, audit), plain JSON."""
    by = metrics.groups(responses)
    return {
        "v": 1,
        "title": title,
        "about": dict(about or {}),
        "rules": asdict(RULES),
        "measures": {name: {"title": own, "means": means} for name, (own, means) in metrics.MEASURES.items()},
        "groups": [metrics.group(rows) for rows in by.values()],
        "comparisons": metrics.comparisons(by),
        "claims": list(_listed(row for rows in by.values() for row in rows)),
        "notes": list(NOTES),
    }


def _listed(responses: Iterable[metrics.Row]) -> Iterator[Tree]:
    for response in responses:
        for claim in () if response.get("error") else response["claims"]:
            if claim.get("text"):
                yield {
                    "set": response["set"],
                    "model": response["model"],
                    "video": str(response["video"]),
                    "response": str(response["id"]),
                    "claim": str(claim["id"]),
                    "text": claim["text"].encode("utf-8", "replace").decode(),  # a reply may hold half characters
                    "verdict": claim["verdict"],
                    "rule": claim["rule"],
                    "sentence": claim.get("sentence", ""),
                    "people": metrics.human(claim),
                    "load_bearing": bool(claim["load_bearing"]),
                }


# ---------------------------------------------------------------------------------------------------------------------
# CSV

COLUMNS = ("set", "model", "measure", "value", "low", "high", "k", "n", "says")


def csv(tree: Tree) -> str:
    """One row per note on where the report comes from, per measure of each group and per comparison, and at the end how
    to read it; for a spreadsheet: a cell never begins a formula."""
    out = StringIO()
    writer = tables.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for note in notes_of(tree["about"]):
        _line(writer, "", "", "note", {"says": note})
    for group in tree["groups"]:
        own = (group["set"], group["model"])
        for name, one in [("accuracy", group["accuracy"]), *group["measures"].items()]:
            _line(writer, *own, name, one)
        for name, (_, good, bad) in CORRECT.items():
            for word in (good, bad):
                _line(writer, *own, f"{name}.{word}", group[name][word])
            both = group[name]
            _line(writer, *own, f"{name}.difference", {**both, "value": both["difference"], "n": None})
        for who in ("machine", "people"):
            found = group["agreement"][who]
            for measure in ("raw", "cohen", "alpha"):
                one = found[measure] or {}
                _line(writer, *own, f"agreement.{who}.{measure}", {**one, "n": found["n"], "says": found["says"]})
        for name in NAMES:
            _line(writer, *own, f"verdict.{name}", {"k": group["verdicts"][name], "n": group["claims"]})
    for pair in tree["comparisons"]:
        for what in ("correct", "support"):
            one = {**pair[what], "k": None, "value": pair[what]["p"]}
            _line(writer, pair["set"], f"{pair['a']} / {pair['b']}", f"mcnemar.{what}.p", one)
    for note in tree["notes"]:
        _line(writer, "", "", "how to read", {"says": note})
    return out.getvalue()


def _line(writer: Any, set: str, model: str, measure: str, one: Mapping[str, Any]) -> None:
    numbers = (one.get(name) for name in ("value", "low", "high", "k", "n"))
    shown = ("" if n is None else f"{n:.6g}" if isinstance(n, float) else str(n) for n in numbers)
    writer.writerow([*(_plain(cell) for cell in (set, model, measure)), *shown, _plain(one.get("says", ""))])


def _plain(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
