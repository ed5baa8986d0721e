"""Gestures of one video from the command line, without a server.

    python -m ml.perception.gestures VIDEO --run DIR --detector rules --out FILE

DIR is a finished run of `ml.perception.run` on VIDEO: it says who is where; persons are its tracks. Writes one JSON
file and prints what each stage cost, a line each. Continues after an interruption (work folder: FILE.work). Exit codes:
0 done, 2 bad input, 3 missing weights, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from ml.media.errors import MediaError
from ml.media.files import write_json, write_whole
from ml.media.index import FrameIndex
from ml.perception.gestures import registry
from ml.perception.gestures.run import detect, footage_of
from ml.perception.run import BAD_INPUT, INDEX, NO_WEIGHTS, STOPPED, bars_for, index_of
from ml.perception.sightings import FILE as SIGHTINGS
from ml.progress import Progress
from ml.weights import cache
from ml.weights.cache import MissingWeights


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ml.perception.gestures", description="Gestures of one video.")
    parser.add_argument("video", type=Path)
    parser.add_argument("--run", type=Path, required=True, help="folder of a finished perception run of the video")
    parser.add_argument("--detector", default="rules", help=f"one of {', '.join(registry.DETECTORS)}")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    return parser


def main(argv: list[str] | None = None) -> int:
    wanted = arguments().parse_args(argv)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<10}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    try:
        with Bars(*columns, TimeElapsedColumn(), console=console) as bars:
            found = find(wanted.video, wanted.run, wanted.detector, wanted.out, bars_for(bars))
    except MissingWeights as error:
        console.print(str(error), style="red", soft_wrap=True)
        return NO_WEIGHTS
    except (MediaError, ValueError, OSError) as error:
        console.print(str(error), style="red", soft_wrap=True)
        return BAD_INPUT
    except KeyboardInterrupt:
        console.print("Stopped; the same command continues.")
        return STOPPED
    for stage, seconds in found["seconds"].items():
        print(f"{stage:<22} {seconds:8.2f} s")
    print(f"{len(found['gestures'])} gestures: {wanted.out}")
    return 0


def find(video: Path, run: Path, name: str, out: Path, progress: Progress) -> dict[str, Any]:
    """Detect and write. Raises ValueError, MediaError, MissingWeights, OSError."""
    detector = registry.load(name)
    if not out.parent.is_dir():
        raise ValueError(f"There is no folder {out.parent} to write {out.name} to.")
    index = stored_index(run) or index_of(video, progress)
    footage, sha256 = footage_of(video, index, run)
    if cache.sha256(video) != sha256:
        raise ValueError(f"The run in {run} is of another video than {video}.")
    work = out.with_name(f"{out.name}.work")
    found = detect(
        footage=footage, detector=detector, work=work, sha256=sha256, sightings=run / SIGHTINGS, progress=progress
    )
    if (work / SIGHTINGS).exists() and os.access(run, os.W_OK):  # for the masks; a run may also be read only
        write_whole(run / SIGHTINGS, (work / SIGHTINGS).read_bytes())
    write_json(out, found)
    shutil.rmtree(work)
    return found


def stored_index(run: Path) -> FrameIndex | None:
    """The frame index that lies in a run folder, if it is the one the run was made with."""
    try:
        index = FrameIndex.load(run / INDEX)
        wanted = json.loads((run / "run.json").read_text())["parameters"]["index"]
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):  # an older run, or none; said later
        return None
    return index if hashlib.sha256(index.seconds.tobytes()).hexdigest() == wanted else None


if __name__ == "__main__":
    sys.exit(main())
