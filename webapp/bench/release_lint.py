"""The linter over items that are about to be released, as they will be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ml.formats.grasp_items import parse_item
from ml.questions.lint.findings import Finding
from ml.questions.lint.one import One, World
from ml.questions.lint.run import lint
from webapp.exchange.release_items import grasp_item

MADE_HERE = ("template", "model")  # asked in GRASP's form, with four options


def findings(items: Sequence[dict[str, Any]]) -> list[Finding]:
    """Findings; positions count from 0 in the order of the items.

    That a proof stands was seen before: a question whose proof does not is stale, and no item.
    """
    return lint([_one(at, item) for at, item in enumerate(items)], World(scheme="data")).findings


def _one(at: int, item: dict[str, Any]) -> One:
    tree = grasp_item(item, at + 1)
    if isinstance(item["answer"], list):
        tree["qa"]["answer"] = "".join(item["answer"])
    elif item["kind"] == "number":
        tree["qa"]["answer"] = item["answer_text"]
    one = One(at, parse_item(tree), frozenset({item["category"]}), kind=item["kind"])
    if item["kind"] == "single" and item["provenance"]["origin"] not in MADE_HERE:
        one.options_wanted = len(item["options"])  # n-option items of other benchmarks are welcome
    one.truths = [None] * len(item["options"])
    return one
