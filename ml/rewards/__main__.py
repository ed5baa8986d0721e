"""The command line of the rewards.

python -m ml.rewards score IN.jsonl --reward NAME... [--json OUT]     one object of reward name to value per row
python -m ml.rewards explain IN.jsonl [--json OUT]                    every mention of a person, and how it counted
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ml.formats.errors import FormatError
from ml.formats.plainfile import write_file
from ml.rewards import registry
from ml.rewards.explain import marks
from ml.rewards.rows import Row, rows_in

FIELDS = """
A row is one JSON object on a line. Only `completion` must be there; a reward that needs what is missing has no value.

  completion       the reply that is scored
  question         what was asked; persons it names ("Person 1") need not be found
  answer, options  the letter that is right, and the texts of the options
  gt_events        [{"source": "gaze" or "gesture", "persons": [numbers of who takes part], "start", "end"}]: what is
                   to be found; start and end in seconds of the clip, both or neither
  visible_persons  [numbers of who is seen]: sgr-strict takes off what naming all of them would give
  prompt_id        rows of the same one are answers to the same prompt
"""


def main(arguments: Sequence[str]) -> int:
    """Run; 0 when done, 2 with one sentence on stderr when the input is bad."""
    options = _parser().parse_args(arguments)
    try:
        rows = list(rows_in(options.rows))
        if not rows:
            raise FormatError(f"{options.rows} holds no row.")
        found = _scored(rows, options) if options.what == "score" else _explained(rows, options)
        if options.json:
            write_file(options.json, (json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
    except (FormatError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or options.rows}: {error.strerror or error}.", file=sys.stderr)
        return 2
    return 0


def _scored(rows: list[Row], options: argparse.Namespace) -> list[dict[str, float | None]]:
    names = [name for name in options.reward or [] for name in name.split(",")]
    weights = registry.PRESETS[options.preset] if options.preset else {}
    found = registry.score(rows, list(dict.fromkeys([*names, *weights])) or list(registry.REWARDS))
    width = max(len(name) for name in found[0])
    share = registry.coverage(rows)
    print(
        f"{len(rows)} rows; SGR coverage {share:.3f}: the share with a person to find whom the question does not name"
    )
    print("mean ± standard deviation over the rows that have a value")
    for name in found[0]:
        values = np.array([value for row in found if (value := row[name]) is not None])
        told = f"{values.mean():.4f} ± {values.std():.4f}" if len(values) else "no value"
        print(f"{name.ljust(width)}  {told}  ({len(values)} rows)")
    if weights:
        totals = [registry.total(row, weights) for row in found]
        print(f"{options.preset.ljust(width)}  {np.mean(totals):.4f} ± {np.std(totals):.4f}  (weighted sum)")
        return [row | {options.preset: total} for row, total in zip(found, totals, strict=True)]
    return found


def _explained(rows: list[Row], options: argparse.Namespace) -> list[dict[str, Any]]:
    told = []
    for at, row in enumerate(rows, 1):
        values = registry.score([row], ["sgr-release", "sgr-paper", "sgr-strict"])[0]
        found = marks(row)
        told.append({"values": values, "marks": [asdict(m) | {"sentence": m.sentence} for m in found]})
        shown = ", ".join(f"{name} {'no value' if v is None else f'{v:.3f}'}" for name, v in values.items())
        why = "" if row.targets else " (no event with a person whom the question does not name)"
        print(f"row {at}: {shown}{why}")
        for mark in found:
            print(f"  [{mark.start}, {mark.end}) {row.completion[mark.start : mark.end]!r}: {mark.sentence}")
    return told


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ml.rewards", description="Rewards of written completions.")
    commands = parser.add_subparsers(dest="what", required=True)
    raw = argparse.RawDescriptionHelpFormatter
    for name, told in (("score", "values of rewards"), ("explain", "which mentions of persons counted, and why")):
        command = commands.add_parser(name, help=told, epilog=FIELDS, formatter_class=raw)
        command.add_argument("rows", type=Path, metavar="IN", help="rows as JSON or JSONL; their fields are below")
        command.add_argument("--json", type=Path, metavar="OUT", help="write the list of results there")
        if name == "score":
            command.add_argument(
                "--reward",
                nargs="+",
                action="extend",
                metavar="NAME",
                help=", ".join(registry.REWARDS) + "; default all",
            )
            command.add_argument("--preset", choices=list(registry.PRESETS), help="a paper's rewards, and their sum")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
