"""The demo's training run: a snapshot of the demo's release, a tiny GRPO run and an evaluation, so that the pages of
training are not empty.

The model has random weights and says so in every name: the machinery is the real one, what it answers means nothing.
Torch and the other packages of training are installed first where they are missing (about 1.5 GB). Everything goes
through the services that pages use; every step looks first whether it was done, so a start that was cut short is
carried on.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from rich.console import Console

from webapp.bench.models import Release
from webapp.lib.datafolder import HERE
from webapp.library.models import Project
from webapp.runs import evaluating, services
from webapp.runs.models import DatasetSnapshot, Evaluation, TrainingRun
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.processes import die_with_parent

MODEL = "tiny-random-weights"
SNAPSHOT, RUN, EVALUATION = "Demo release", "Demo: tiny model of random weights", "Demo: tiny model of random weights"
PRESET, STAGE = "tiny-cpu", "grpo"
SEED = 7
NEEDED = ("torch", "torchvision", "transformers", "trl", "peft", "accelerate", "datasets")


def missing() -> list[str]:
    """Packages of training that are not installed; none is imported here."""
    return [name for name in NEEDED if find_spec(name) is None]


def is_there(project: Project) -> bool:
    return Evaluation.objects.filter(project=project, name=EVALUATION, state=Evaluation.State.DONE).exists()


def make(*, project: Project, screen: Console, look_after: Callable[[], None]) -> None:
    """Make what is not there yet. Raises StudioError or Refused."""
    release = Release.objects.filter(project=project).order_by("-number").first()
    if release is None:
        raise StudioError("The demo has no release to train on.")
    install(screen)
    screen.print("Making the demo's training run: a tiny model of random weights, a minute of GRPO, and its evaluation")
    build_model()
    snapshot = snapshot_of(project, release, screen, look_after)
    run = trained(project, snapshot, screen, look_after)
    tested = Evaluation.objects.filter(project=project, name=EVALUATION).order_by("-number").first()
    if tested is None or tested.state in (Evaluation.State.FAILED, Evaluation.State.CANCELLED):
        asked = evaluating.Settings(frames=4, tokens=24, limit=12)
        tested = evaluating.start(
            project=project, user=None, release=release, model=f"run:{run.number}", name=EVALUATION, settings=asked
        )
    wait(tested, screen, look_after)
    screen.print(f"The demo's run {run.number} is there, and its line on the leaderboard of release {release.number}.")


def install(screen: Console) -> None:
    """The packages of `make ml`, where one is missing. Raises StudioError."""
    if not missing():
        return
    make_program = shutil.which("make")
    if make_program is None:
        raise StudioError("Training needs the packages of `make ml`, and make is not installed.")
    screen.print("Installing torch and the other packages of training (about 1.5 GB; --no-training leaves them out)")
    done = subprocess.run([make_program, "-s", "ml"], cwd=HERE, capture_output=True, text=True)
    if done.returncode or missing():
        last = (done.stderr.strip() or done.stdout.strip() or "no reason was given").splitlines()[-1]
        raise StudioError(f"the packages of training could not be installed: {last[:300]}")


def build_model() -> None:
    """The tiny model among the models that runs may begin with. Raises StudioError."""
    out = settings.DATA / "models" / MODEL
    if (out / "config.json").exists():
        return
    draft = out.with_name(f".{MODEL}")  # a name that is no model's until it is whole
    shutil.rmtree(draft, ignore_errors=True)
    command = [sys.executable, "-m", "ml.training.tiny", "--seed", str(SEED), str(draft)]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, preexec_fn=die_with_parent)
    if done.returncode:
        raise StudioError((done.stderr.strip().splitlines() or ["The tiny model could not be made."])[-1])
    shutil.rmtree(out, ignore_errors=True)
    draft.rename(out)


def snapshot_of(project: Project, release: Release, screen: Console, look_after: Callable[[], None]) -> DatasetSnapshot:
    """All of a demo's release is trained on: it comes of one recording, which no split may cut."""
    found = DatasetSnapshot.objects.filter(project=project, name=SNAPSHOT).order_by("-number").first()
    if found is None or found.state == DatasetSnapshot.State.FAILED:
        found = services.create_snapshot(
            project=project, user=None, releases=[release], name=SNAPSHOT, validation_share=0.0, seed=SEED
        )
    wait(found, screen, look_after)
    return found


def trained(
    project: Project, snapshot: DatasetSnapshot, screen: Console, look_after: Callable[[], None]
) -> TrainingRun:
    run = TrainingRun.objects.filter(project=project, name=RUN).order_by("-number").first()
    if run is None:
        run = services.create_run(
            project=project, user=None, stage=STAGE, snapshot=snapshot, preset=PRESET, base_model=MODEL, name=RUN,
            seed=SEED,
        )  # fmt: skip
    if run.state == TrainingRun.State.DRAFT:
        wait_for_look(run, screen, look_after)
        run = services.start(run=run, user=None, version=run.version)
    elif run.state in (TrainingRun.State.STOPPED, TrainingRun.State.FAILED):
        run = services.resume(run=run, user=None, version=run.version)
    wait(run, screen, look_after)
    return run


def wait_for_look(run: TrainingRun, screen: Console, look_after: Callable[[], None]) -> None:
    """Until the preflight is there."""
    job = services.request_preflight(run=run, user=None)
    follow(job.id, screen, look_after)
    run.refresh_from_db()


def wait(made: Any, screen: Console, look_after: Callable[[], None]) -> None:
    """Until the job of a snapshot, run or evaluation is over. Raises StudioError where it failed."""
    made.refresh_from_db()
    if made.job is not None:
        follow(made.job.id, screen, look_after)
    made.refresh_from_db()
