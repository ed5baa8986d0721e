"""Clean items, their tables, and a way to lint them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ml.formats import grasp_events, grasp_gestures
from ml.formats.grasp_items import parse_item
from ml.questions.lint import tables
from ml.questions.lint.one import World, one_of
from ml.questions.lint.run import Report, lint
from tests.ml.questions.lint.clean import Made, items


@pytest.fixture(scope="session")
def clean() -> list[Made]:
    """300 clean items; copy one before changing it."""
    return items()


def tables_of(made: Sequence[Made]) -> tables.Tables:
    """The event tables of the items' videos, through the files' parsers."""
    import json

    found = tables.Tables()
    for one in made:
        tables._events(found, grasp_events.parse(json.dumps(one.events_file())))
        tables._gestures(found, grasp_gestures.parse(json.dumps(one.gestures_file())))
    return found


def run(made: Sequence[Made], *, events: bool = True, scheme: Any = "data", **world: Any) -> Report:
    """Lint the items on their tables."""
    ones = [one_of(at, parse_item(one.tree), scheme) for at, one in enumerate(made)]
    return lint(ones, World(scheme=scheme, tables=tables_of(made) if events else None, **world))
