"""Evaluate a model on a benchmark, without a server.

    python -m ml.evaluation.run --model M --bench B --out DIR [--control C] [--kind K] [--scheme S] [--videos V] ..

M is a file of predictions ({"id", "text"} a line, or samples of lmms-eval), "endpoint" (the one that is configured), or
a model folder. B: see `ml.evaluation.bench`. DIR: see `ml.evaluation.folder`; the same command goes on after an
interruption. Decoding is greedy, with at most 240 frames evenly spaced. Exit codes: 0 done, 1 the disk is full or
cannot be written, 2 bad input, an endpoint that fails or missing packages, 130 stopped by Ctrl-C; each but the first
with one sentence.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from ml.endpoint import EndpointError
from ml.evaluation import controls, folder, frames, prompts
from ml.evaluation.bench import Bench, load
from ml.evaluation.loaders import KINDS
from ml.evaluation.models import ENDPOINT, Asking, open_model
from ml.evaluation.scoring import HEADLINE
from ml.formats.plainfile import write_file
from ml.questions.taxonomy import SCHEMES
from ml.statistics import bootstrap

NO_ROOM, BAD_INPUT, STOPPED = 1, 2, 130


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ml.evaluation.run", description="Evaluate a model on a benchmark.")
    parser.add_argument("--model", required=True, help=f"file of predictions, model folder, or {ENDPOINT!r}")
    parser.add_argument("--bench", type=Path, required=True, help="file or folder of the benchmark, or a release")
    parser.add_argument("--out", type=Path, required=True, help="folder of this evaluation")
    parser.add_argument("--name", default="", help="what the model is called in the results")
    parser.add_argument("--kind", choices=list(KINDS), help="what the benchmark is; told by its fields otherwise")
    parser.add_argument("--scheme", choices=SCHEMES, help="numbering of GRASP's category codes")
    parser.add_argument("--videos", type=Path, help="folder of its videos; that of the benchmark otherwise")
    parser.add_argument("--control", choices=controls.CONTROLS, help="take one thing away; see ml.evaluation.controls")
    parser.add_argument("--seed", type=int, default=0, help="of the control and of the intervals (default 0)")
    parser.add_argument("--frames", type=int, default=frames.MOST_FRAMES, help="most pictures of a clip (default 240)")
    parser.add_argument("--rate", type=float, default=frames.RATE, help="most pictures a second (default 2)")
    parser.add_argument("--longest", type=int, default=frames.LONGEST, help="longer side in pixels (default 768)")
    parser.add_argument("--no-reasoning", action="store_true", help="ask for the letter alone")
    parser.add_argument("--tokens", type=int, help="most new tokens (default 2048, without reasoning 64)")
    parser.add_argument("--limit", type=int, help="ask so many items only, evenly spaced")
    parser.add_argument("--replicates", type=int, default=bootstrap.REPLICATES, help="draws of the intervals")
    parser.add_argument("--keep-going", action="store_true", help="also when several items in a row fail")
    parser.add_argument("--write-items", type=Path, metavar="FILE", help="write the items as they are asked, and stop")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, ask with a bar, print the tables."""
    wanted = arguments().parse_args(argv)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<8}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    try:
        bench = benchmark(wanted)
        if wanted.write_items:
            lines = [json.dumps(folder.controlled_line(item), ensure_ascii=False) + "\n" for item in bench.items]
            write_file(wanted.write_items, "".join(lines).encode())
            print(f"{len(lines)} items: {wanted.write_items}")
            return 0
        asking = Asking(bench, look(wanted), not wanted.no_reasoning, wanted.tokens)
        model = open_model(wanted.model, asking)
        with closing(model), Bars(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bars:
            bar = bars.add_task(folder.STAGE, total=1.0)
            found = folder.evaluate(
                bench=bench, model=model, out=wanted.out, settings=settings(wanted, model.describe()["kind"]),
                progress=lambda _stage, share: bars.update(bar, completed=share),
                replicates=wanted.replicates, seed=wanted.seed, keep_going=wanted.keep_going, name=wanted.name,
            )  # fmt: skip
    except (ValueError, EndpointError) as error:
        console.print(str(error), style="red", soft_wrap=True, markup=False)
        return BAD_INPUT
    except OSError as error:
        sentence = f"{error.filename or wanted.out}: {error.strerror or error}. What is answered is kept."
        console.print(sentence, style="red", soft_wrap=True, markup=False)
        return NO_ROOM
    except KeyboardInterrupt:
        console.print("Stopped; the same command continues.")
        return STOPPED
    print("\n".join(report(found)))
    print(f"All of it: {wanted.out / 'results.json'}")
    return 0


def benchmark(wanted: argparse.Namespace) -> Bench:
    """The benchmark as it is asked. Raises FormatError."""
    if min(wanted.frames, wanted.longest, wanted.replicates) < 1 or not 0 < wanted.rate < 1000:
        raise ValueError("The numbers of frames, pixels and draws begin at 1, and the rate lies above 0.")
    if wanted.tokens is not None and wanted.tokens < 1:
        raise ValueError("The number of new tokens begins at 1.")
    bench = load(wanted.bench, scheme=wanted.scheme, kind=wanted.kind, videos=wanted.videos)
    bench = folder.picked(bench, wanted.limit)
    return controls.applied(bench, wanted.control, wanted.seed) if wanted.control else bench


def look(wanted: argparse.Namespace) -> frames.Look | None:
    plain = frames.Look(wanted.frames, wanted.rate, wanted.longest)
    return controls.look(wanted.control, plain, wanted.seed)


def settings(wanted: argparse.Namespace, kind: str) -> dict[str, Any]:
    """What else decides an answer; of a file of predictions nothing is known."""
    if kind == "predictions":
        return {}
    reasoning = not wanted.no_reasoning
    return {
        "decoding": "greedy",
        "frames": wanted.frames,
        "rate": wanted.rate,
        "longest": wanted.longest,
        "reasoning": reasoning,
        "tokens": wanted.tokens or prompts.most_tokens(reasoning),
    }


# ---------------------------------------------------------------------------------------------------------------------
# In words


def report(found: dict[str, Any]) -> list[str]:
    """The tables as lines of text, per cent with intervals."""
    lines = [f"{found['model']['name']} on {found['bench']['name']} ({found['bench']['items']} items)"]
    rows = [("overall", found["overall"])]
    rows += [(f"{by}: {row['name']}", row) for by, told in found["tables"].items() for row in told]
    width = max(len(name) for name, _ in rows)
    lines += [f"{name.ljust(width)}  {_said(row)}" for name, row in rows]
    if found["macro"] is not None:
        told = _interval(found["macro"][HEADLINE])
        all_of, some = found["macro"]["categories"], found["macro"]["with_replies"]
        lines.append(f"mean over {all_of if some == all_of else f'{some} of {all_of}'} categories  {told}")
    readings = found["overall"]["accuracy"]
    lines.append("by reading: " + ", ".join(f"{name} {_interval(value)}" for name, value in readings.items()))
    lines += _grounded(found["grounded"]) + _published(found["published"])
    return [*lines, *found["notes"]]


def _said(row: dict[str, Any]) -> str:
    counts = ", ".join(f"{row[state]} {state}" for state in ("unanswered", "error", "missing") if row[state])
    few = "  too few to say" if row["few"] else ""
    replied = row["n"] - row["error"] - row["missing"]
    told = f"{row['videos']} videos" if row["videos"] != 1 else "one video: no interval"
    shown = f"{_interval(row['accuracy'][HEADLINE])}  of {replied} {'reply' if replied == 1 else 'replies'}, {told}"
    if replied != row["n"] and row["at_least"] is not None:
        shown += f"; {100 * row['at_least']:.1f} % of all {row['n']} items"
    return f"{shown}{f' ({counts})' if counts else ''}{few}"


def _interval(told: dict[str, float | None]) -> str:
    if told["value"] is None:
        return "no value"
    if told["low"] is None or told["high"] is None:
        return f"{100 * told['value']:.1f} %"
    return f"{100 * told['value']:.1f} % [{100 * told['low']:.1f}, {100 * told['high']:.1f}]"


def _grounded(told: dict[str, Any] | None) -> list[str]:
    if told is None:
        return []
    rho = told["rho_items"]
    said = "not defined" if rho["value"] is None else f"{rho['value']:.2f}"
    if rho["low"] is not None and rho["high"] is not None:
        said += f" [{rho['low']:.2f}, {rho['high']:.2f}]"
    return [
        f"grounded participants: precision {_interval(told['precision'])} of {told['n']} replies "
        f"({told['named_nobody']} name nobody, SGR coverage {100 * told['coverage']:.0f} %); "
        f"rho with the score over items {said}"
    ]


def _published(told: dict[str, Any] | None) -> list[str]:
    if told is None:
        return []
    columns = told["columns"]
    rows = [(row["model"], row["values"], f"{row['source']}; {row['state']}") for row in told["rows"]]
    rows.append(("this evaluation", told["ours"], ""))
    width = max(len(name) for name, *_ in rows)
    lines = [f"{'per cent'.ljust(width)}  {'  '.join(name.rjust(7) for name in columns)}"]
    for name, values, source in rows:
        cells = [f"{values[column]:7.1f}" if column in values else " " * 7 for column in columns]
        lines.append(f"{name.ljust(width)}  {'  '.join(cells)}  {source}".rstrip())
    return [*lines, *told["cautions"]]


if __name__ == "__main__":
    sys.exit(main())
