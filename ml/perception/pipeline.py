"""A perception run: a video in, `run.json` and `samples.parquet` out.

Stages: shots (cuts, from the changes that the index holds; without them the frames are decoded for it), in a profile
with a person tracker follow (who is where, as masks; `ml.perception.following`), people (all that looks at frames, in
pieces of some seconds, by several processes), tracks, gaze (pitch bias, targets), identity, write. The pieces lie in
`work/` inside the output folder until the run is complete: after any interruption, kill -9 included, the same call in
the same folder continues, and its `samples.parquet` has the same bytes as an undisturbed run's, whatever the number of
processes. No stage holds more than a piece in memory, but for the packed masks where people are followed.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ml.media.files import sweep
from ml.media.index import FrameIndex, sample_frames
from ml.media.probe import probe
from ml.perception import assemble, gaze, identity, registry, samples, tracker
from ml.perception.given import Given
from ml.perception.pool import Here, Pool, open_pool
from ml.perception.protocols import Array
from ml.perception.records import Piece
from ml.perception.summary import Summary
from ml.perception.worker import GIVEN, Setup, Task, peak_rss_mb, write_json
from ml.progress import Progress, silent
from ml.weights import cache

VERSION = 2  # of the method: raise it when the same input gives another result
STAGES = ("shots", "people", "tracks", "gaze", "identity", "write")
CUTS_PIECE_S, PEOPLE_PIECE_S = 60.0, 20.0  # two pieces per this time, so that two processes have equal shares
# On the scenes of `tracker`, up to 3 body widths per second: IDF1 0.80 at 2 steps per second, 0.89 at 4 and 5, 0.88 at
# 6, 0.87 at 8, 0.84 at 10. People who run (4.5 widths) need 10: 0.43 at 4, 0.59 at 8, 0.82 at 10.
TRACKING_RATE = 4.0


@dataclass(frozen=True)
class Options:
    """How a run is done. `rate`: gaze samples per second; `tracking_rate`: steps per second of the tracker where people
    move (default: the smallest multiple of `rate` at or above TRACKING_RATE); `identity`: whether faces are embedded
    and compared; `workers`: processes (default: one per core, at most two; 0: this one); `weights`: their folder
    (default: the cache).
    """

    profile: str = "embedded"
    rate: float = 2.0
    tracking_rate: float | None = None
    identity: bool = True
    workers: int | None = None
    weights: Path | None = None

    @property
    def steps(self) -> float:
        """Frames per second the tracker sees."""
        return self.tracking_rate or self.rate * math.ceil(TRACKING_RATE / self.rate - 1e-9)


@dataclass
class Run:
    """What the stages pass on."""

    video: Path
    index: FrameIndex
    work: Path
    options: Options
    width: int = 0
    height: int = 0
    shots: list[tuple[int, int]] = field(default_factory=list)
    pieces: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def follows(self) -> bool:
        """Whether the profile has a tracker that follows people by itself."""
        return registry.profile(self.options.profile).people is not None

    def load(self) -> Iterator[Piece]:
        """The analysed pieces, one at a time, in order."""
        for number in range(self.pieces):
            yield Piece.load(Task("people", number, 0, 0).result(self.work))

    @contextmanager
    def stage(self, name: str, progress: Progress) -> Iterator[None]:
        progress(name, 0.0)
        start = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - start, 3)
        progress(name, 1.0)


def perceive(
    *,
    video: Path,
    index: FrameIndex,
    out: Path,
    options: Options,
    progress: Progress = silent,
    sha256: str | None = None,
) -> dict[str, Any]:
    """Run the profile on a video; returns what `run.json` holds.

    `index` numbers the frames of this very file; `sha256` is the file's, where it is known already. Raises
    MissingWeights or ValueError (unknown profile, bad rate) before any work, MediaError when the video cannot be read,
    OSError (disk full), and what `progress` raises; then the processes are gone and `work/` keeps what was finished.
    """
    if not 0 < options.rate <= 1000 or not 0 < options.steps <= 1000:
        tracking = "" if options.tracking_rate is None else f" and {options.tracking_rate} tracking steps"
        raise ValueError(f"A rate of {options.rate} samples{tracking} per second cannot be used.")
    chosen = registry.profile(options.profile)
    backends = registry.describe(chosen, options.weights, identity=options.identity)
    info = probe(video)
    run = Run(video, index, out / "work", options, info.width, info.height)
    about = describe(run, backends, sha256 or cache.sha256(video))
    sweep(out)
    finished = finished_run(out, about)
    if finished is not None:
        return finished
    prepare_work(run, about)
    weights = None if options.weights is None else str(options.weights)
    setup = Setup(str(video), str(run.work), options.profile, options.identity, weights)
    with open_pool(setup, options.workers) as pool:
        find_shots(run, pool, progress)
        look_at_frames(run, pool, progress)
        peaks = pool.peaks_mb
    result = derive(run, about, out, progress)
    result["peak_rss_mb"] = round(peak_rss_mb() + sum(peaks), 1)
    write_json(out / "run.json", result)
    shutil.rmtree(run.work)
    return result


def describe(run: Run, backends: list[dict[str, Any]], sha256: str) -> dict[str, Any]:
    """What decides the result: the video, the backends, the numbers used."""
    options = run.options
    return {
        "v": 1,
        "video": {
            "sha256": sha256, "frames": run.index.frames, "width": run.width, "height": run.height,
        },
        "profile": options.profile,
        "backends": backends,
        "rate": options.rate,
        "tracking_rate": options.steps,
        "parameters": {
            "version": VERSION,
            "identity": options.identity,
            "identity_bands": [identity.SAME, identity.ASK],
            "tracker": asdict(tracker.Settings()),
            "calm_iou": tracker.CALM_IOU,
            "cone_deg": gaze.CONE_DEG,
            "camera_deg": gaze.CAMERA_DEG,
            "index": hashlib.sha256(run.index.seconds.tobytes()).hexdigest(),
        },
    }  # fmt: skip


def finished_run(out: Path, about: dict[str, Any]) -> dict[str, Any] | None:
    """The result that an earlier, equal call completed in this folder, or None."""
    path = out / "run.json"
    if not path.is_file() or not (out / "samples.parquet").is_file():
        return None
    stored: dict[str, Any] = json.loads(path.read_text())
    same = {**stored, "parameters": {k: stored.get("parameters", {}).get(k) for k in about["parameters"]}}
    if any(same.get(key) != json.loads(json.dumps(value)) for key, value in about.items()):
        return None
    shutil.rmtree(out / "work", ignore_errors=True)
    return stored


def prepare_work(run: Run, about: dict[str, Any]) -> None:
    """Make the work folder; what a run with other input or numbers left in it goes."""
    plan = run.work / "plan.json"
    if not plan.is_file() or json.loads(plan.read_text()) != json.loads(json.dumps(about)):
        shutil.rmtree(run.work, ignore_errors=True)
    run.work.mkdir(parents=True, exist_ok=True)
    sweep(run.work)
    run.index.save(run.work / "index.npz")
    write_json(plan, about)


def piece_bounds(seconds: Array, length_s: float) -> list[int]:
    """Bounds that cut rising times into two pieces of equal time per `length_s`; pieces without a time are left out."""
    count = 2 * max(1, math.ceil((seconds[-1] - seconds[0]) / length_s))
    due = np.linspace(seconds[0], seconds[-1], count + 1)[1:-1]
    return np.unique(np.r_[0, np.searchsorted(seconds, due), len(seconds)]).tolist()


def tasks_for(kind: str, bounds: list[int]) -> list[Task]:
    return [Task(kind, k, start, end) for k, (start, end) in enumerate(zip(bounds, bounds[1:], strict=False))]


def run_tasks(run: Run, pool: Pool | Here, stage: str, tasks: list[Task], progress: Progress) -> None:
    """Do the tasks whose result is not there yet."""
    missing = [task for task in tasks if not task.result(run.work).exists()]
    if len(missing) < len(tasks):
        run.notes.append(
            f"{stage}: {len(tasks) - len(missing)} of {len(tasks)} pieces were there from an earlier start"
        )
    before = 1 - sum(t.end - t.start for t in missing) / sum(t.end - t.start for t in tasks)
    pool.run(missing, lambda share: progress(stage, before + (1 - before) * share))


def find_shots(run: Run, pool: Pool | Here, progress: Progress) -> None:
    from ml.perception import shots

    with run.stage("shots", progress):
        if run.index.changes is not None:
            cuts = shots.peaks(run.index.changes).tolist()
        else:
            tasks = tasks_for("cuts", piece_bounds(run.index.zeroed[:-1], CUTS_PIECE_S))
            run_tasks(run, pool, "shots", tasks, progress)
            cuts = [cut for task in tasks for cut in json.loads(task.result(run.work).read_text())]
        run.shots = shots.shots(cuts, run.index)


def look_at_frames(run: Run, pool: Pool | Here, progress: Progress) -> None:
    if run.follows:
        follow_people(run, pool, progress)
    with run.stage("people", progress):
        frames = write_frames(run)
        tasks = tasks_for("people", piece_bounds(run.index.zeroed[frames], PEOPLE_PIECE_S))
        run.pieces = len(tasks)
        run_tasks(run, pool, "people", tasks, progress)


def follow_people(run: Run, pool: Pool | Here, progress: Progress) -> None:
    """The stage that only a profile with a person tracker has, before the others look at the frames."""
    from ml.perception import following

    with run.stage("follow", progress):
        frames = write_frames(run)
        shots = following.tasks_of(registry.profile(run.options.profile), frames, run.shots)
        run_tasks(run, pool, "follow", [task for tasks in shots for task in tasks], progress)
        following.settle(run.work, frames, shots, (run.width, run.height), run.notes)


def write_frames(run: Run) -> Array:
    """Write frames.npz, which frames are analysed, for the processes; returns them."""
    frames, sampled = wanted_frames(run)
    path = run.work / "frames.npz"
    with path.with_suffix(".part").open("wb") as file:
        shot = np.searchsorted([start for start, _ in run.shots], frames, side="right") - 1
        np.savez(file, allow_pickle=False, frame=frames, sampled=sampled, shot=shot)
    path.with_suffix(".part").replace(path)
    return frames


def wanted_frames(run: Run) -> tuple[Array, Array]:
    """Frames to analyse, ascending, and for each whether it is a gaze sample: both grids start at each shot's start."""
    options, index = run.options, run.index
    gazes = np.concatenate([sample_frames(index, start, end, options.rate) for start, end in run.shots])
    steps = np.concatenate([sample_frames(index, start, end, options.steps) for start, end in run.shots])
    frames = np.union1d(gazes, steps)
    return frames, np.isin(frames, gazes)


def derive(run: Run, about: dict[str, Any], out: Path, progress: Progress) -> dict[str, Any]:
    """Everything after the frames were looked at; writes samples.parquet."""
    starts = np.array([start for start, _ in run.shots])
    with run.stage("tracks", progress):
        given = Given.load(run.work / GIVEN) if run.follows else None
        assembler = assemble.Assembler(run.index, run.shots, tracker.Settings(), given)
        for number, piece in enumerate(run.load()):
            assembler.add(piece)
            progress("tracks", number / run.pieces)
        tracks = assembler.result()
    with run.stage("gaze", progress):
        bias = shot_bias(run, tracks.rows, starts, progress)
    links: list[identity.Link] = []
    if run.options.identity:
        with run.stage("identity", progress):
            gallery = identity.Gallery()
            for number, (piece, rows) in enumerate(zip(run.load(), tracks.rows, strict=True)):
                gallery.add(piece, rows)
                progress("identity", number / run.pieces)
            links = gallery.links()
    with run.stage("write", progress):
        summary = Summary(run.shots, len(tracks.shot))
        spent = write_samples(run, tracks, starts, bias, out, summary, progress)
        if run.follows:
            from ml.perception import following

            following.write_masks(run.work, out, tracks.given, about, run.seconds["follow"])
    run.notes += bias_notes(bias)
    return {
        **about,
        "parameters": {**about["parameters"], "pitch_bias_deg": [round(float(b), 3) for b in bias]},
        "shots": summary.shots(),
        "tracks": summary.tracks(tracks.shot, tracks.end),
        "identity": [asdict(link) for link in links],
        "gaze_samples": summary.gaze_samples,
        "seconds": run.seconds,
        "processor_seconds": spent,
        "notes": run.notes,
    }


def shot_bias(run: Run, rows: list[Array], starts: Array, progress: Progress) -> Array:
    """Pitch bias in degrees of each shot, from the mesh's readings of tracked persons."""
    pitches: list[list[Array]] = [[] for _ in starts]
    for number, (piece, tracks) in enumerate(zip(run.load(), rows, strict=True)):
        shot = np.searchsorted(starts, piece.frame[piece.position], side="right") - 1
        usable = (tracks >= 0) & ~piece.profile & np.isfinite(piece.pitch)
        for k in np.unique(shot[usable]):
            pitches[k].append(piece.pitch[usable & (shot == k)])
        progress("gaze", number / run.pieces)
    return np.array([gaze.pitch_bias(np.concatenate(p) if p else np.zeros(0)) for p in pitches])


def bias_notes(bias: Array) -> list[str]:
    """One sentence for people about the pitch correction."""
    first, last = f"{-float(bias.max()):.1f}", f"{-float(bias.min()):.1f}"
    if first == last:
        return [f"The pitch was corrected by {first} degrees."]
    return [f"The pitch was corrected by {first} to {last} degrees (one value per shot)."]


def write_samples(
    run: Run, tracks: assemble.Tracks, starts: Array, bias: Array, out: Path, summary: Summary, progress: Progress
) -> dict[str, float]:
    """Write samples.parquet, one row group per piece; returns processor seconds by kind of work."""
    from ml.perception.analyse import WORK

    part, spent = out / "samples.parquet.part", np.zeros(len(WORK))
    with pq.ParquetWriter(part, samples.SCHEMA, compression="zstd") as writer:
        for number, (piece, rows) in enumerate(zip(run.load(), tracks.rows, strict=True)):
            columns = samples.rows(piece, rows, tracks.fills[number], starts)
            samples.correct(columns, bias)
            samples.add_targets(columns, piece, run.width, run.height)
            writer.write_table(samples.table(columns, run.width, run.height))
            summary.add(columns, piece)
            spent += piece.seconds
            progress("write", number / run.pieces)
    part.replace(out / "samples.parquet")
    return {kind: round(float(s), 3) for kind, s in zip(WORK, spent, strict=True)}
