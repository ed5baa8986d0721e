"""Evaluations: the release as a bench, the model asked item by item, the tables into the row.

An endpoint and a file of replies are asked in this process. A model with weights is asked by `python -m
ml.evaluation.run` in a process of its own: it gives all its memory back, of the GPU too, when it ends; it can be
stopped in the middle of a long reply, which nothing in this process could; and it dies with us. Both write the same
folder, DATA/evaluations/<id>/, reply by reply, so the next attempt asks only what is left. Where items are retired or
withdrawn meanwhile, that is noticed within seconds, and it goes on with those that are left.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from celery import Task

from ml.evaluation import controls, folder
from ml.evaluation import run as command
from ml.evaluation.bench import Bench, Item
from ml.evaluation.models import ENDPOINT, MISSING, Asking, Reply, open_model
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries
from webapp.exchange import release_folder
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib.datafolder import HERE
from webapp.lib.errors import Refused
from webapp.runs import evaluating, folders
from webapp.runs.evaluating import Changed
from webapp.runs.models import Evaluation
from webapp.studio import processes
from workers.apart import environment
from workers.attempt import Attempt, run

TRIES = 20  # at an evaluation whose release keeps changing
LOOK_S = 2.0  # between two looks at the release
TICK_S = 0.5
MODULE = "ml.evaluation.run"
NO_CLIPS = (controls.TEXT_ONLY,)


@app.task(name="sightline.evaluate", bind=True)
def evaluate(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    wanted = attempt.job.parameters
    for _ in range(TRIES):
        evaluation = Evaluation.objects.select_related("release__project", "run").get(id=wanted["evaluation"])
        try:
            return recount(attempt, evaluation) if wanted.get("recount") else ask(attempt, evaluation)
        except Changed:
            attempt.say("Items of the release were retired or withdrawn meanwhile; it goes on without them.")
        except folder.GivenUp as error:
            raise Refused(str(error), "model") from error
    raise Refused("The release changes all the time; go on when that is over.", "release")


def tidy(job: Job | None, scratch: Path) -> None:
    """Of what was withdrawn while it was asked, nothing stays in the replies that are kept; nor does the folder of an
    evaluation that is gone."""
    if job is None or "evaluation" not in job.parameters:
        return
    id = UUID(job.parameters["evaluation"])
    found = Evaluation.objects.filter(id=id).first()
    if found is None:
        folders.remove(folders.evaluation(id))
    elif found.withdrawn and found.state != Evaluation.State.DONE:
        evaluating.erase(id)


class Watch:
    """Looks now and then whether items of the release went away. Raises Changed."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.release = evaluation.release_id
        self.began = evaluating.standing(self.release)
        self._last = time.monotonic()

    def look(self) -> None:
        if time.monotonic() - self._last >= LOOK_S:
            self._last = time.monotonic()
            if evaluating.standing(self.release) != self.began:
                raise Changed


# ---------------------------------------------------------------------------------------------------------------------
# Asking


def ask(attempt: Attempt, evaluation: Evaluation) -> None:
    """Ask what is not answered yet, and keep the results with the job's end."""
    evaluating.began(evaluation_id=evaluation.id)
    watch = Watch(evaluation)
    model = evaluating.model_of(evaluation)
    out = folders.evaluation(evaluation.id)
    home = bench_folder(attempt, evaluation, clips=needs_clips(evaluation))
    words = arguments(evaluation, model, home, out)
    wanted = command.arguments().parse_args(words)
    attempt.progress(folder.STAGE, 0.0)
    with plainly(home, out):
        bench = command.benchmark(wanted)
        forget_others(out, bench, evaluation)
        if evaluation.model_kind in ("run", "folder"):
            apart(attempt, words, out, len(bench.items), watch)
            results = dict(folders.read_json(out / "results.json"))
        else:
            results = here(attempt, wanted, bench, watch)
    finish(attempt, evaluation, results, watch)
    evaluating.forget_upload(evaluation.id)


def finish(attempt: Attempt, evaluation: Evaluation, results: dict[str, Any], watch: Watch) -> None:
    results = results | {"points": points(folders.evaluation(evaluation.id) / "items.jsonl")}

    def ending() -> None:
        evaluating.keep(evaluation_id=evaluation.id, results=results, out=watch.began)

    told = {"evaluation": evaluation.number, "items": results["bench"]["items"]}
    attempt.finish(told, ending=ending)


def needs_clips(evaluation: Evaluation) -> bool:
    return evaluation.model_kind != "predictions" and evaluation.control not in NO_CLIPS


def bench_folder(attempt: Attempt, evaluation: Evaluation, *, clips: bool) -> Path:
    """The release as a folder; one that an earlier attempt wrote is used again where nothing changed since."""
    assert evaluation.release is not None
    content = release_folder.content_of(evaluation.release)
    if not content.entries:
        raise Refused("Every item of this release is withdrawn.", "release")
    home = attempt.folder / "bench"
    known = home / "release.json"
    if known.exists() and known.read_bytes() == release_folder.metadata(content)["release.json"]:
        return home
    folders.remove(home)
    attempt.progress("bench", 0.0)
    release_folder.write_folder(content, home, clips=clips, progress=lambda share: attempt.progress("bench", share))
    return home


def arguments(evaluation: Evaluation, model: str, home: Path, out: Path) -> list[str]:
    """The command line of `ml.evaluation.run`."""
    told = evaluation.settings
    words = ["--model", model, "--bench", str(home), "--out", str(out), "--kind", "release"]
    words += [f"--name={evaluation.model}", "--seed", str(told["seed"])]  # in one word: names may begin with a dash
    words += ["--control", evaluation.control] if evaluation.control else []
    words += ["--limit", str(told["limit"])] if told["limit"] is not None else []
    if evaluation.model_kind == "predictions":
        return words
    words += ["--frames", str(told["frames"])]
    words += ["--tokens", str(told["tokens"])] if told["tokens"] is not None else []
    return words if told["reasoning"] else [*words, "--no-reasoning"]


def forget_others(out: Path, bench: Bench, evaluation: Evaluation) -> None:
    """Where the bench is another one than that of an earlier attempt (items went away since), the folder takes the new
    one. Replies stay, since each is to its own item; only that of another video is drawn anew."""
    known = folders.read_json(out / "run.json")
    if known and known["bench"]["sha256"] != bench.sha256():
        (out / "run.json").unlink()
        if evaluation.control == controls.SHUFFLED_VIDEO:
            (out / "replies.jsonl").unlink(missing_ok=True)


def here(attempt: Attempt, wanted: Any, bench: Bench, watch: Watch) -> dict[str, Any]:
    """Ask an endpoint or read a file, in this process."""
    share = 0.0

    def progress(stage: str, now: float) -> None:
        """Called once a reply is kept: what was paid for is not lost where the release changed meanwhile."""
        nonlocal share
        share = now
        attempt.progress(stage, now)
        watch.look()

    asking = Asking(bench, command.look(wanted), not wanted.no_reasoning, wanted.tokens)
    with closing(open_model(wanted.model, asking, lambda: attempt.progress(folder.STAGE, share))) as model:
        return folder.evaluate(
            bench=bench,
            model=model,
            out=wanted.out,
            settings=command.settings(wanted, ENDPOINT if wanted.model == ENDPOINT else "predictions"),
            progress=progress,
            seed=wanted.seed,
            name=wanted.name,
        )


def apart(attempt: Attempt, words: list[str], out: Path, items: int, watch: Watch) -> None:
    """Have a model with weights asked in a process of its own. Raises Refused with what that says."""
    out.mkdir(parents=True, exist_ok=True)
    log, answered = attempt.folder / "model.log", Lines(out / "replies.jsonl")
    log.unlink(missing_ok=True)
    process = processes.start([sys.executable, "-m", MODULE, *words], log=log, env=environment(attempt.job), cwd=HERE)
    try:
        while process.poll() is None:
            attempt.progress(folder.STAGE, min(1.0, answered.count() / items))
            watch.look()
            time.sleep(TICK_S)
    finally:
        processes.stop(process, patience_s=0.0)  # what is answered is on the disk
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    if process.returncode == 0:
        return
    if process.returncode < 0:
        raise Refused(
            f"The model's process was ended from outside (signal {-process.returncode}), most often for lack of "
            "memory. What is answered is kept.",
            "model",
        )
    if process.returncode in (command.NO_ROOM, command.BAD_INPUT) and said:
        raise Refused(said[-1], "model")
    attempt.say("\n".join(said[-40:]))
    raise RuntimeError(said[-1] if said else f"exit code {process.returncode}")


class Lines:
    """Counts the lines of a file that grows, reading each byte once; anew where it was replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at, self._count, self._inode = 0, 0, 0

    def count(self) -> int:
        try:
            with self.path.open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self._inode:
                    self._at, self._count, self._inode = 0, 0, inode
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return 0
        self._at += len(data)
        self._count += data.count(b"\n")
        return self._count


@contextmanager
def plainly(*places: Path) -> Iterator[None]:
    """Sentences of what is wrong inside name files without our folders in front."""
    try:
        yield
    except (Refused, FormatError) as error:
        raise Refused(shortened(str(error), places), "model") from error


def shortened(sentence: str, places: tuple[Path, ...]) -> str:
    for place in places:
        sentence = sentence.replace(f"{place / evaluating.GIVEN}/", "").replace(f"{place}/", "")
        sentence = sentence.replace(str(place), "the release" if place.name == "bench" else "the evaluation's folder")
    return sentence


# ---------------------------------------------------------------------------------------------------------------------
# Counting again


class Kept:
    """The replies that are there, as a model: nobody is asked."""

    def __init__(self, about: dict[str, Any], replies: dict[str, Reply]) -> None:
        self.about, self.replies = about, replies

    def describe(self) -> dict[str, Any]:
        return self.about

    def answer(self, item: Item) -> Reply:
        return self.replies.get(item.id) or Reply(item.id, error=MISSING)

    def close(self) -> None:
        pass


def recount(attempt: Attempt, evaluation: Evaluation) -> None:
    """The tables of a finished evaluation without the items that are gone."""
    watch = Watch(evaluation)
    before, out = evaluation.results, folders.evaluation(evaluation.id)
    home = bench_folder(attempt, evaluation, clips=False)
    with plainly(home, out):
        replies = folder.read_replies(out / "replies.jsonl")
        wanted = command.arguments().parse_args(arguments(evaluation, "kept", home, out))
        bench = answered_of(wanted, evaluation, set(replies))
        (out / "run.json").unlink(missing_ok=True)
        results = folder.evaluate(
            bench=bench,
            model=Kept(before["model"], replies),
            out=out,
            settings=before["settings"],
            progress=attempt.progress,
            seed=wanted.seed,
            keep_going=True,
        )
    finish(attempt, evaluation, results | {"started": before["started"], "asked": before["finished"]}, watch)


def answered_of(wanted: Any, evaluation: Evaluation, ids: set[str]) -> Bench:
    """The bench as it was asked, of the items that are left of those asked."""
    wanted.limit, control = None, wanted.control
    if control == controls.SHUFFLED_VIDEO:  # whose video it was makes no difference to the counting
        wanted.control = None
    bench = command.benchmark(wanted)
    bench = replace(bench, items=tuple(item for item in bench.items if item.id in ids))
    if control == controls.SHUFFLED_VIDEO:
        bench = replace(bench, control={"name": control, "seed": wanted.seed, "of": bench.sha256()})
    if not bench.items:
        raise Refused("No item is left of those that were asked.", "release")
    return bench


# ---------------------------------------------------------------------------------------------------------------------
# For the pictures


def points(path: Path) -> list[dict[str, Any]]:
    """By category: over the replies that name somebody who could be right, how many there are, their mean precision of
    grounded participants and their mean score."""
    told: dict[str, list[tuple[float, float]]] = {}
    for entry in entries(path):
        row: Any = entry.tree
        if row["precision"] is not None and row["category"]:
            told.setdefault(row["category"], []).append((row["precision"], row["score"][folder.HEADLINE]))
    means = {name: np.mean(pairs, axis=0) for name, pairs in sorted(told.items())}
    return [
        {"name": name, "n": len(told[name]), "precision": float(mean[0]), "accuracy": float(mean[1])}
        for name, mean in means.items()
    ]
