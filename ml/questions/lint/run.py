"""Running the checks over a set of items, and the report they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ml.formats.errors import FormatError
from ml.formats.grasp_items import parse_item
from ml.formats.jsonstream import entries
from ml.questions.lint import (
    balance,
    blind,
    claims,
    duplicates,
    options,
    people,
    recordings,
    shape,
    times,
    wording,
)
from ml.questions.lint.findings import SEVERITIES, Finding
from ml.questions.lint.one import One, World, one_of
from ml.questions.taxonomy import Scheme

ItemCheck = Callable[[One, World], Iterator[Finding]]
SetCheck = Callable[[Sequence[One], World], Iterator[Finding]]

ITEM_CHECKS: tuple[ItemCheck, ...] = (
    shape.check, options.check, times.check, people.check, wording.check, claims.check,
)  # fmt: skip
SET_CHECKS: tuple[SetCheck, ...] = (
    shape.whole_set, wording.whole_set, claims.whole_set, duplicates.check, recordings.check, balance.check,
    blind.check,
)  # fmt: skip
CLEAN, UNFIT, UNUSABLE = 0, 1, 2


@dataclass
class Report:
    """What was found in `items` items; `exit_code` says whether a release may be cut."""

    items: int
    findings: list[Finding] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    @property
    def exit_code(self) -> int:
        """0: no error; 1: a release may not be cut."""
        return UNFIT if self.counts["error"] else CLEAN

    def tree(self) -> dict[str, Any]:
        """As JSON."""
        counts = self.counts
        return {
            "items": self.items,
            "errors": counts["error"],
            "warnings": counts["warning"],
            "notes": counts["note"],
            "releasable": not counts["error"],
            "findings": [finding.tree() for finding in self.findings],
        }


def lint(ones: Sequence[One], world: World, malformed: Iterable[Finding] = ()) -> Report:
    """All checks over items that could be read; `malformed` are findings about those that could not."""
    broken = list(malformed)
    found = [*broken]
    for one in ones:
        for check in ITEM_CHECKS:
            found += check(one, world)
    for whole in SET_CHECKS:
        found += whole(ones, world)
    found.sort(key=lambda finding: (finding.item is None, finding.item or 0))  # stable: families keep their order
    return Report(len(ones) + len(broken), found)


def read(path: Path, scheme: Scheme | None) -> tuple[list[One], list[Finding]]:
    """The items of a file or folder; one that cannot be read is a finding, a file that cannot be a FormatError."""
    ones: list[One] = []
    malformed: list[Finding] = []
    for entry in entries(path):
        try:
            ones.append(one_of(entry.position, parse_item(entry.tree), scheme))
        except FormatError as error:
            malformed.append(Finding("malformed_item", f"{entry.place}: {error}", entry.position))
    if not ones:
        first = f" {malformed[0].sentence}" if malformed else ""
        raise FormatError(f"{path.name} holds no item that can be read.{first}")
    return ones, malformed


def lint_file(path: Path, world: World) -> Report:
    """Lint a file or folder of items. Raises FormatError when it is unusable as a whole."""
    ones, malformed = read(path, world.scheme)
    return lint(ones, world, malformed)
