"""Audit the responses about one video from the command line, without a server.

    python -m ml.evidence.run VIDEO RESPONSES.jsonl --out DIR [--perception RUN_DIR] [--summariser S] [--grounder G]
        [--delete]

RUN_DIR is what `python -m ml.perception.run` wrote (with --masks for the masks of persons); its tracks are the persons.
DIR is described in `ml.evidence.folder`; the same call goes on after an interruption and does nothing when all is done.
Exit codes: 0 done, 1 the disk is full or cannot be written, 2 bad input, 3 missing weights, 130 stopped by Ctrl-C; each
but the first with one sentence.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from ml.endpoint import Config, EndpointError
from ml.evidence import folder
from ml.evidence.deletion import ByEndpoint
from ml.evidence.grounding import registry as grounders
from ml.evidence.summarisers import registry as summarisers
from ml.perception.run import bars_for
from ml.weights.cache import MissingWeights

NO_ROOM, BAD_INPUT, NO_WEIGHTS, STOPPED = 1, 2, 3, 130


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ml.evidence.run", description="Audit the responses about one video."
    )
    parser.add_argument("video", type=Path)
    parser.add_argument("responses", type=Path, help="JSON lines, or one of the layouts of ml.formats.responses")
    parser.add_argument("--out", type=Path, required=True, help="folder for packages, masks, verdicts and the report")
    parser.add_argument("--perception", type=Path, help="folder of a finished run of this video")
    parser.add_argument("--summariser", default="rules", help=", ".join(summarisers.SUMMARISERS))
    parser.add_argument("--grounder", default="embedded", help=", ".join(grounders.GROUNDERS))
    parser.add_argument("--delete", action="store_true", help="hide the evidence and ask the configured endpoint again")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Parse, audit with a bar per stage, print a summary line."""
    wanted = arguments().parse_args(argv)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<10}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    try:
        if not wanted.video.is_file():
            raise ValueError(f"There is no file {wanted.video}.")
        summariser, grounder = summarisers.load(wanted.summariser), grounders.load(wanted.grounder)
        asker = ByEndpoint(Config.from_environment()) if wanted.delete else None
        with Bars(*columns, TimeElapsedColumn(), console=console) as bars:
            found = folder.audit(
                video=wanted.video, responses=wanted.responses, out=wanted.out, summariser=summariser,
                grounder=grounder, perception=wanted.perception, progress=bars_for(bars), asker=asker,
            )  # fmt: skip
    except MissingWeights as error:
        console.print(str(error), style="red", soft_wrap=True, markup=False)
        return NO_WEIGHTS
    except (ValueError, EndpointError) as error:
        console.print(str(error), style="red", soft_wrap=True, markup=False)
        return BAD_INPUT
    except OSError as error:
        why = error.strerror or str(error)
        place = error.filename or wanted.out
        sentence = f"{place}: {why}. What is finished is kept; the same command goes on from there."
        console.print(sentence, style="red", soft_wrap=True, markup=False)
        return NO_ROOM
    except KeyboardInterrupt:
        console.print("Stopped; the same command continues.")
        return STOPPED
    print(f"{summary(found['counts'])}: {wanted.out}")
    return 0


def summary(counts: dict[str, int | dict[str, int]]) -> str:
    """ "3 responses, 12 claims (5 supported, 7 not groundable)"."""
    verdicts = counts["verdicts"]
    assert isinstance(verdicts, dict)
    told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in verdicts.items())
    words = [f"{counts[name]} {name[:-1] if counts[name] == 1 else name}" for name in ("responses", "claims")]
    broken = f", {counts['broken']} without a package" if counts["broken"] else ""
    return f"{words[0]}{broken}, {words[1]}{f' ({told})' if told else ''}"


if __name__ == "__main__":
    sys.exit(main())
