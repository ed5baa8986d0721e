"""Perception of one video from the command line, without a server.

    python -m ml.perception.run VIDEO --profile embedded --rate 2 --out DIR [--no-identity] [--masks] [--workers N]

Writes run.json, samples.parquet and frames.npz (the frame index) into DIR, with --masks also masks.parquet and
masks.json (person masks at the gaze samples, see `ml.perception.masks.run`); continues there after an interruption.
Exit codes: 0 done, 2 bad input, 3 missing weights, 130 stopped by Ctrl-C; each but the first with one sentence.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from ml.media.changes import LONGEST, Changes
from ml.media.decode import Pictures
from ml.media.errors import MediaError
from ml.media.importer import DEFAULT_RATE
from ml.media.index import FrameIndex
from ml.media.probe import probe
from ml.media.source import Tally, open_source, refuse
from ml.media.timeline import Timeline
from ml.perception import registry
from ml.perception.masks.masker import Masker
from ml.perception.masks.run import make
from ml.perception.pipeline import Options, perceive
from ml.perception.sightings import FILE as SIGHTINGS
from ml.progress import Progress
from ml.weights.cache import MissingWeights

BAD_INPUT, NO_WEIGHTS, STOPPED = 2, 3, 130
INDEX = "frames.npz"  # in the run folder, for whoever goes on with it


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ml.perception.run", description="Perception of one video.")
    parser.add_argument("video", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for run.json and samples.parquet")
    parser.add_argument("--profile", default="embedded")
    parser.add_argument("--rate", type=float, default=2.0, help="gaze samples per second")
    parser.add_argument("--tracking-rate", type=float, help="frames per second the tracker sees")
    parser.add_argument("--no-identity", action="store_true", help="do not embed and compare faces")
    parser.add_argument("--masks", action="store_true", help="make masks of the persons, too (approximate)")
    parser.add_argument("--workers", type=int, help="processes; 0 works in this one")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Parse, run with a bar per stage, print a summary line."""
    wanted = arguments().parse_args(argv)
    console = Console(stderr=True)
    options = Options(
        profile=wanted.profile, rate=wanted.rate, tracking_rate=wanted.tracking_rate,
        identity=not wanted.no_identity, workers=wanted.workers,
    )  # fmt: skip
    columns = (TextColumn("{task.description:<10}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    try:
        with Bars(*columns, TimeElapsedColumn(), console=console) as bars:
            result = run(wanted.video, wanted.out, options, bars_for(bars), masks=wanted.masks)
    except MissingWeights as error:
        console.print(str(error), style="red", soft_wrap=True)
        return NO_WEIGHTS
    except (MediaError, ValueError) as error:
        console.print(str(error), style="red", soft_wrap=True)
        return BAD_INPUT
    except KeyboardInterrupt:
        console.print("Stopped; the same command continues.")
        return STOPPED
    numbers = {"shot": len(result["shots"]), "track": len(result["tracks"]), "gaze sample": result["gaze_samples"]}
    counts = ", ".join(f"{number} {word}{'' if number == 1 else 's'}" for word, number in numbers.items())
    print(f"{counts}: {wanted.out}")
    return 0


def index_of(video: Path, progress: Progress) -> FrameIndex:
    """The frame index, with changes, of a file that was not imported, by decoding it once. Raises MediaError."""
    facts = probe(video)
    step = 1 / (facts.average_rate or DEFAULT_RATE)
    with open_source(video) as source:
        tally = Tally()
        timeline = Timeline(
            source.time_base, max(1, round(step / source.time_base)), source.origin, source.starts_at_zero
        )
        pictures, changes = Pictures(LONGEST), Changes()
        for frame in source.frames(tally):
            changes.push(pictures.of(source, frame))
            timeline.push(source.stamp(frame), frame.duration)
            passed = float(timeline.pts[-1] * source.time_base) if timeline.pts else 0.0
            progress("index", min(1.0, passed / facts.claimed_seconds) if facts.claimed_seconds else 0.0)
        timeline.finish()
        if not timeline.pts:
            raise refuse("no picture of it can be decoded")
    progress("index", 1.0)
    return replace(timeline.index(tally.errors), changes=changes.values)


def run(video: Path, out: Path, options: Options, progress: Progress, *, masks: bool = False) -> dict[str, Any]:
    """Index the video's frames, then perceive, then make masks where they are wanted. What cannot run is refused before
    the first frame is read."""
    registry.describe(registry.profile(options.profile), options.weights, identity=options.identity)
    if masks:
        Masker.need(options.weights)
    index = index_of(video, progress)
    out.mkdir(parents=True, exist_ok=True)
    index.save(out / INDEX)
    result = perceive(video=video, index=index, out=out, options=options, progress=progress)
    if masks:
        work = out / "masks-work"
        make(
            video=video, index=index, shots=[(shot["start"], shot["end"]) for shot in result["shots"]],
            samples=out / "samples.parquet", out=out, work=work, sha256=result["video"]["sha256"],
            weights=options.weights, sightings=out / SIGHTINGS, progress=progress,
        )  # fmt: skip
        shutil.rmtree(work, ignore_errors=True)  # not there where all was done before
    return result


def bars_for(bars: Bars) -> Progress:
    """A progress function with one bar per stage."""
    tasks: dict[str, TaskID] = {}

    def show(stage: str, share: float) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=1.0)
        bars.update(tasks[stage], completed=share)

    return show


if __name__ == "__main__":
    sys.exit(main())
