"""No false alarm on clean items: 300 made by program with their event tables, 200 written by another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ml.questions.lint.findings import Finding
from ml.questions.lint.one import World
from ml.questions.lint.run import lint_file
from tests.ml.questions.lint.clean import Made
from tests.ml.questions.lint.conftest import run

WRITTEN = Path(__file__).parents[1] / "clean_items.jsonl"


def alarms(findings: list[Finding]) -> list[str]:
    return [f"{f.item}: {f.code}: {f.sentence}" for f in findings if f.severity != "note"]


@pytest.mark.parametrize("scheme", ["data", None])
@pytest.mark.parametrize("events", [True, False])
def test_it_is_silent_on_items_made_by_program(clean: list[Made], scheme: str | None, events: bool) -> None:
    report = run(clean, scheme=scheme, events=events)
    assert report.items == 300
    assert alarms(report.findings) == []
    assert report.exit_code == 0


@pytest.mark.parametrize("scheme", ["data", None])
def test_it_is_silent_on_items_written_by_hand(scheme: str | None) -> None:
    report = lint_file(WRITTEN, World(scheme=scheme))  # type: ignore[arg-type]
    assert report.items == 200
    assert alarms(report.findings) == []


def test_most_keys_of_the_made_items_were_checked(clean: list[Made]) -> None:
    """Silence would be cheap if nothing were understood."""
    (note,) = [f for f in run(clean).findings if f.code == "key_not_checked"]
    assert int(note.sentence.split()[0]) < 100
