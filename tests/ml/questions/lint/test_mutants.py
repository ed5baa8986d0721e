"""Every code is found in at least 20 mutants of clean items."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ml.questions.lint.one import World
from ml.questions.lint.run import lint_file
from tests.ml.questions.lint.clean import Made
from tests.ml.questions.lint.conftest import run
from tests.ml.questions.lint.mutants import MUTATORS, Mutator

LEAST = 20
EACH = [(code, mutator) for code, mutators in MUTATORS.items() for mutator in mutators]


def spoilt(clean: list[Made], mutator: Mutator, least: int = LEAST) -> Iterator[Made]:
    """Mutants of as many clean items as it takes; mutators that fit few templates go round again."""
    rng = random.Random(mutator.__name__)
    found = 0
    for round in range(4):
        for made in clean:
            copy = made.copy()
            if mutator(rng, copy):
                if round:  # another video than the same item's of the round before
                    copy.tree["video_name"] = copy.qa["video_id"] = f"{made.qa['video_id']}_{round}"
                yield copy
                found += 1
                if found >= least + 10:
                    return
    if found < least and not found:
        pytest.skip("fits no item")


@pytest.mark.parametrize(("code", "mutator"), EACH, ids=lambda value: getattr(value, "__name__", value))
def test_it_finds_the_fault_of_one_item(clean: list[Made], tmp_path: Path, code: str, mutator: Mutator) -> None:
    made = list(spoilt(clean, mutator))
    if code == "malformed_item":
        made.append(clean[0].copy())
        path = tmp_path / "items.json"
        path.write_text(json.dumps([one.tree for one in made]))
        report = lint_file(path, World(scheme="data"))
        made.pop()
    else:
        report = run(made)
    found = {finding.item for finding in report.findings if finding.code == code}
    missed = [made[at].tree for at in range(len(made)) if at not in found]
    assert not missed, json.dumps(missed[0], indent=1)


def test_every_code_of_one_item_has_twenty_mutants(clean: list[Made]) -> None:
    for code, mutators in MUTATORS.items():
        count = sum(len(list(spoilt(clean, mutator))) for mutator in mutators)
        assert count >= LEAST, f"{code}: {count}"
