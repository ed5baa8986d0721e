"""Measured figures: a test records them, and one table at the end of the run shows them against their budgets.

    def test_something(figure):
        figure("gaze events, 10 persons x 60 min", seconds, "s", budget=1.0)

A figure over its budget is shown as such and fails nothing by itself: machines are noisy. The test that records it
asserts with a margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class Figure:
    what: str
    value: float | str
    unit: str
    budget: float | None
    at_least: bool
    note: str

    @property
    def verdict(self) -> str:
        if self.budget is None or isinstance(self.value, str):
            return ""
        good = self.value >= self.budget if self.at_least else self.value <= self.budget
        return "ok" if good else "OVER" if not self.at_least else "UNDER"


NAME = "figure"  # of the properties of a test's report that hold one: reports reach whoever shows the table
Record = Callable[..., None]
shown: list[Figure] = []


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Record:
    """Record a measured figure; `at_least` turns the budget into a floor."""

    def record(
        what: str, value: Any, unit: str = "", *, budget: float | None = None, at_least: bool = False, note: str = ""
    ) -> None:
        plain = value if isinstance(value, str) else float(value)
        request.node.user_properties.append((NAME, asdict(Figure(what, plain, unit, budget, at_least, note))))

    return record


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":  # the last of a test's reports has all its properties
        kept: list[tuple[str, Any]] = report.user_properties
        shown.extend(Figure(**value) for name, value in kept if name == NAME)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not shown:
        return
    terminalreporter.section("figures")
    rows = [("what", "measured", "budget", "", "note")]
    for f in shown:
        value = f.value if isinstance(f.value, str) else f"{f.value:.4g}"
        budget = "" if f.budget is None else f"{'>=' if f.at_least else '<='} {f.budget:g} {f.unit}"
        rows.append((f.what, f"{value} {f.unit}".strip(), budget, f.verdict, f.note))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line(line.rstrip())
