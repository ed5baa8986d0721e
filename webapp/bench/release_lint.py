"""The linter over items that are about to be released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ml.formats.grasp_items import parse_item
from ml.questions.lint.findings import Finding
from ml.questions.lint.one import World, one_of
from ml.questions.lint.run import lint
from webapp.exchange.release_items import grasp_item

# what only the GRASP layout asks for: other benchmarks have two options, numbers, or several right answers
LAYOUT = ("option_count", "unknown_format", "answer_letter", "missing_field", "open_not_allowed")


def findings(items: Sequence[dict[str, Any]], splits: Sequence[str]) -> list[Finding]:
    """Findings; positions count from 0 in the order of the items."""
    ones = [one_of(at, parse_item(grasp_item(item, at + 1)), "data") for at, item in enumerate(items)]
    found = lint(ones, World(scheme="data")).findings
    return [one for one in found if one.item is None or fits(items[one.item]["kind"]) or one.code not in LAYOUT]


def fits(kind: str) -> bool:
    """Whether the GRASP layout has such items."""
    return kind in ("single", "open")
