"""Training runs: the training command in a process of its own, what it writes brought into rows, and its every ending.

The process dies with this one and holds its folder's lock, so there is never a second writer. A run that is stopped
ends in good order, with a checkpoint. A process that was killed is started again and goes on from its last complete
checkpoint, `DEATHS` times without a new one at most. Where this worker dies, the job's next attempt goes on the same
way. While the database is away the training goes on; what it wrote is brought into rows afterwards.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import psutil
from celery import Task
from django.db import InterfaceError, OperationalError, connection

from ml.formats.errors import FormatError
from ml.training.folder import RunFolder, State, Tail, is_held
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.jobs.services import ClaimLost
from webapp.lib.datafolder import HERE
from webapp.lib.errors import Refused
from webapp.runs import basemodels, folders, recording, services, withdrawal
from webapp.runs.models import TrainingRun
from webapp.runs.recording import News
from webapp.studio.processes import die_with_parent
from workers.apart import environment
from workers.attempt import Attempt, is_full, patiently, run

log = logging.getLogger(__name__)

LOOK_S = 0.25
STATE_S = 1.0  # so often the row is asked whether somebody wants the run to stop
STOP_LIMIT_S = float(os.environ.get("SIGHTLINE_STOP_LIMIT", "900"))  # for the end of a step and its checkpoint
DEATHS = 3
HELD_S = 20.0
MOST_LINES = 2000  # of metrics and of rollouts brought into rows at once
BAD_INPUT = 2
CONSOLE = "console.txt"  # what the command says before it writes its own log
Spoken = dict[str, Any]


@app.task(name="sightline.train", bind=True)
def train(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work, tidy)


def work(attempt: Attempt) -> None:
    attempt.progress("starting", 0.0)
    wanted = recording.begin_training(job=attempt.job, run_id=attempt.job.parameters["run"])
    services.check_whole(wanted.snapshot)
    Training(attempt, wanted).go()


def tidy(job: Job | None, folder: Path) -> None:
    """A run that saw a withdrawn video while it ended keeps nothing of it; one that was deleted leaves no folder."""
    if job is None:
        return
    id = job.parameters["run"]
    found = TrainingRun.objects.filter(id=id).first()
    if found is None:
        folders.remove(folders.run(id))
    elif found.withdrawn:
        withdrawal.erase([found.snapshot_id])


def command(run: TrainingRun, folder: RunFolder) -> list[str]:
    """The training command; its settings are those of the row, written beside the run."""
    asked = folder.path / folders.ASKED
    folders.write(asked, services.settings_file(run))
    return [
        sys.executable, "-m", f"ml.training.{run.stage}", "--config", str(asked),
        "--snapshot", str(folders.snapshot(run.snapshot_id)), "--model", str(start_model(run)),
        "--out", str(folder.path),
    ]  # fmt: skip


def start_model(run: TrainingRun) -> Path:
    """The folder whose weights the run begins with. Raises Refused."""
    if run.parent is not None:
        return folders.run(run.parent.id) / folders.FINAL
    return basemodels.model_path(run.base_model)


# ---------------------------------------------------------------------------------------------------------------------
# One attempt


class Training:
    """The training process of one attempt at a run, and the way of what it writes into rows."""

    def __init__(self, attempt: Attempt, run: TrainingRun) -> None:
        self.attempt, self.run = attempt, run
        self.folder = RunFolder(folders.run(run.id))
        self.weights = recording.weights_of(run)
        self.stopping = run.state == TrainingRun.State.STOPPING
        self.asked_to_stop = 0.0
        self.process: subprocess.Popen[bytes] | None = None
        self.sizes: dict[str, int] = {}
        self._fresh_tails()
        self.log_at = run.log_bytes
        self.brought = 0  # which attempt's lines are in rows, as the folder counts; 0: look at all of them again
        self.known: Spoken = {}
        self.looked = 0.0

    def go(self) -> None:
        """Train until the run ends, and end the job. Raises Refused with why it failed."""
        self.folder.path.mkdir(parents=True, exist_ok=True)
        end_process_of(self.folder.path)
        self._wait_for_lock()
        before = self.state()
        if before is not None and before.state == "done" and self.folder.final.is_dir():
            return self._finish(TrainingRun.State.DONE)  # an attempt that was killed at its very end
        if self.stopping:
            return self._finish(
                TrainingRun.State.STOPPED, self._stopped_words("It was stopped while no process trained.")
            )
        deaths, last = 0, self.folder.newest()
        while True:
            before = self.state()
            code = self._train_once()
            if self._ended(code, before):
                return
            newest = self.folder.newest()
            deaths = 1 if newest != last else deaths + 1
            last = newest
            if deaths > DEATHS:
                raise Refused(died_words(code, deaths, last), "run")
            self.attempt.say(f"The training process was ended by {name_of(code)}; it goes on from {place(last)}.")

    def _ended(self, code: int, before: State | None) -> bool:
        """Whether that was the end; False where the process was killed. Raises Refused where the training failed.

        `before`: what state.json said before the command began.
        """
        state = self.state()
        fresh = state is not None and state != before
        words = state.sentence if state is not None and fresh and state.state == "failed" else ""
        if code == 0 and state is not None and state.state in ("done", "stopped"):
            done = state.state == "done"
            self._finish(TrainingRun.State.DONE if done else TrainingRun.State.STOPPED, state.sentence)
            return True
        silent = fresh and state is not None and state.state in ("starting", "running")
        if killed_by(code) is None and not silent:  # torchrun ends with 1 where one of its processes was killed
            raise Refused(words or self._last_words() or f"The training ended with code {code} and no word.", "run")
        if self.stopping:
            self._finish(TrainingRun.State.STOPPED, self._stopped_words(f"It was ended by {name_of(code)}."))
            return True
        return False

    def _finish(self, state: TrainingRun.State, sentence: str = "") -> None:
        about = folders.read_json(self.folder.facts)
        self._bring_all()
        step = self.known.get("step", self.run.step)

        def ending() -> None:
            recording.end_training(
                job=self.attempt.job, run_id=self.run.id, state=state, about=about, sentence=sentence
            )

        self.attempt.finish({"run": self.run.number, "state": str(state), "step": step}, ending=ending)

    def _stopped_words(self, why: str) -> str:
        return f"{why} Resumed, it goes on from {place(self.folder.newest())}."

    def _last_words(self) -> str:
        """The last line the command said, where it wrote no state: an import that failed, say."""
        console = self.attempt.folder / CONSOLE
        lines = console.read_text(errors="replace").strip().splitlines() if console.exists() else []
        return lines[-1][:500] if lines else ""

    def _wait_for_lock(self) -> None:
        """A process that was just ended may still hold the folder."""
        until = time.monotonic() + HELD_S
        while is_held(self.folder):
            if time.monotonic() > until:
                raise Refused(f"Another process trains in the folder of run {self.run.number}.", "run")
            self.attempt.progress("starting", 0.0)
            time.sleep(LOOK_S)

    # -- the process

    def _train_once(self) -> int:
        """Run the command once; its exit code, negative for a signal. Whatever ends this ends the process."""
        self.folder.stop.unlink(missing_ok=True)
        self.attempt.folder.mkdir(parents=True, exist_ok=True)
        with (self.attempt.folder / CONSOLE).open("wb") as console:
            self.process = start(command(self.run, self.folder), console, self._environment())
        try:
            note_process(self.folder.path, self.process.pid)
            while self.process.poll() is None:
                self._bring()
                self._forward_stop()
                self.attempt.progress(*self._progress())
                time.sleep(LOOK_S)
            self.attempt.progress(*self._progress())
        except ClaimLost:
            raise
        except Exception:
            end(self.process)
            self._bring_all()  # what was written until a cancel
            raise
        finally:
            end(self.process)
        self._bring_all()
        return self.process.returncode

    def _environment(self) -> dict[str, str]:
        config = self.run.config
        alone = config.get("train", {}).get("processes", 1) == 1 and config.get("model", {}).get("device") != "cpu"
        env = environment(self.attempt.job, alone=alone)
        return env | {"SIGHTLINE_DIE_WITH_PARENT": "1", "PYTHONUNBUFFERED": "1"}

    def _progress(self) -> tuple[str, float]:
        step, most = self.known.get("step", 0), self.known.get("max_steps", 0)
        if self.known.get("state") not in ("running", "done", "stopped"):
            return "starting", 0.0
        return ("stopping" if self.stopping else "train"), step / most if most else 0.0

    def _forward_stop(self) -> None:
        """Ask the process to stop once somebody asked the row; end it where that takes too long."""
        if not self.stopping:
            return
        if not self.asked_to_stop:
            self.asked_to_stop = time.monotonic()
        self.folder.ask_to_stop()
        if time.monotonic() - self.asked_to_stop > STOP_LIMIT_S and self.process is not None:
            self.attempt.say(f"It did not stop within {STOP_LIMIT_S:.0f} s and was ended.")
            end(self.process)

    # -- into rows

    def state(self) -> State | None:
        """state.json; None where there is none, or it cannot be read."""
        try:
            return self.folder.state()
        except (FormatError, OSError) as error:
            log.warning("Run %s: %s", self.run.id, error)
            return None

    def _fresh_tails(self) -> None:
        self.metrics, self.rollouts = Tail(self.folder.metrics), Tail(self.folder.rollouts)
        self.unwritten = News()

    def _bring_all(self) -> None:
        """Everything there is, now that nobody writes any more; the database is waited for."""
        while self._bring(last=True):
            pass

    def _bring(self, *, last: bool = False) -> bool:
        """Bring what is new into rows; whether there may be more. What the database did not take is kept for later."""
        tried = self._surely if last else self._tried
        state = self.state()
        if state is None:
            return False
        news = self.unwritten
        if state.state != "starting":  # only then the files are cut to where this attempt began
            if state.attempt != self.brought:
                if not tried(lambda: self._rewind(state)):
                    return False
                self.brought = state.attempt
                self._fresh_tails()
                news = self.unwritten
            if not news.metrics and not news.rollouts:
                news.metrics, news.rollouts = self.metrics.read(MOST_LINES), self.rollouts.read(MOST_LINES)
        more = len(news.metrics) == MOST_LINES or len(news.rollouts) == MOST_LINES
        spoken = {name: getattr(state, name) for name in ("state", "step", "max_steps", "attempt", "resumed_from")}
        news.state, news.checkpoints = spoken, self._checkpoints(state)
        news.log, news.log_bytes = self._log()
        now = time.monotonic()
        if not (last or news.metrics or news.rollouts or spoken != self.known or now - self.looked > STATE_S):
            return False
        if not tried(lambda: self._keep(news)):
            return False
        self.known, self.looked, self.log_at = spoken, now, news.log_bytes
        self.unwritten = News()
        return more

    def _rewind(self, state: State) -> None:
        recording.rewind(job=self.attempt.job, run_id=self.run.id, step=state.resumed_from)

    def _keep(self, news: News) -> None:
        told = recording.keep_news(job=self.attempt.job, run_id=self.run.id, news=news, weights=self.weights)
        self.stopping = self.stopping or told == TrainingRun.State.STOPPING

    def _surely(self, write: Callable[[], None]) -> bool:
        patiently(write)
        return True

    def _tried(self, write: Callable[[], None]) -> bool:
        """Write, or say that the database is away: the training goes on meanwhile."""
        try:
            write()
        except (OperationalError, InterfaceError) as error:
            if is_full(error):
                raise
            log.warning("Run %s goes on without the database: %s", self.run.id, error)
            connection.close()
            return False
        return True

    def _checkpoints(self, state: State) -> list[Spoken]:
        found = [(step, f"checkpoints/checkpoint-{step}", False) for step in self.folder.steps()]
        if state.state == "done" and self.folder.final.is_dir():
            found.append((state.step, folders.FINAL, True))
        for _, path, _ in found:
            if path not in self.sizes:
                self.sizes[path] = folders.size(self.folder.path / path)
        return [{"step": step, "path": path, "final": final, "bytes": self.sizes[path]} for step, path, final in found]

    def _log(self) -> tuple[str, int]:
        """What the process said since the last look (its end, where that is long), and where its log ends now."""
        try:
            with self.folder.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                first = max(0, size - recording.LOG_BYTES) if size < self.log_at else self.log_at
                file.seek(max(first, size - recording.LOG_BYTES))
                return file.read(size - file.tell()).decode(errors="replace"), size
        except FileNotFoundError:
            return "", self.log_at


# ---------------------------------------------------------------------------------------------------------------------
# Processes


def start(words: list[str], console: IO[bytes], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own; the kernel ends it with this process, however that one dies."""
    parent = os.getpid()
    return subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, cwd=HERE, env=dict(env),
        start_new_session=True, preexec_fn=lambda: die_with_parent(parent=parent),
    )  # fmt: skip


def end(process: subprocess.Popen[bytes]) -> None:
    """End the command with everything below it."""
    family = members(process.pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


def members(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def note_process(folder: Path, pid: int) -> None:
    """Note who trains in the folder, so that the next attempt can end it."""
    try:
        born = psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return
    folders.write(folder / folders.PROCESS, json.dumps({"pid": pid, "born": born, "boot": psutil.boot_time()}))


def end_process_of(folder: Path) -> None:
    """End the training process of an attempt before, should it still live: its worker is gone."""
    told = folders.read_json(folder / folders.PROCESS)
    try:
        process = psutil.Process(told["pid"])
        if process.create_time() != told["born"]:
            return
        for member in [*process.children(recursive=True), process]:
            member.kill()
    except (KeyError, TypeError, psutil.NoSuchProcess):
        return
    psutil.wait_procs([process], timeout=HELD_S)


def killed_by(code: int) -> int | None:
    """The signal that ended the command, also as a launcher or shell tells it; None where it ended by itself."""
    if code < 0:
        return -code
    return code - 128 if 128 < code < 160 else None


def name_of(code: int) -> str:
    number = killed_by(code)
    if number is None:
        return "the death of one of its processes"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def place(step: int | None) -> str:
    return "its beginning" if step is None else f"step {step}"


def died_words(code: int, deaths: int, last: int | None) -> str:
    memory = " The machine may have too little memory for it." if killed_by(code) == signal.SIGKILL else ""
    return (
        f"The training process was ended by {name_of(code)} {deaths} times without a new checkpoint after "
        f"{place(last)}.{memory}"
    )
