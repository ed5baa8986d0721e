"""A training process that trains nothing: it writes a run's folder as the real ones do (`ml.training.folder`).

    python -m tests.workers.training_double --config C --snapshot S --model M --out RUN

How it behaves is said in DATA/double.json, which also puts it in the place of the real command in the tests' worker
(`install`): {"step_s": seconds a step takes, "refuse": sentence, "crash_at": step, "die_at": [attempt, step] pairs,
"deaf": true for one that hears no stop, "child": true for one with a process below it}. Every attempt notes its process
in RUN/writers.txt while it holds the lock, so that a test can see that there were never two.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ml.formats import frontmatter
from ml.training import configs, folder
from ml.training.folder import RunFolder, State
from ml.training.rows import TrainingRow, read

NOTE = "double.json"


def note() -> Path:
    from django.conf import settings

    return Path(settings.DATA) / NOTE


def behave(**how: Any) -> None:
    """From now on the double trains, and behaves like this."""
    folder.write_json(note(), how)


def install() -> None:
    from workers.tasks import training

    real = training.command

    def command(run: Any, folder: RunFolder) -> list[str]:
        words = real(run, folder)
        if note().exists():
            words[2] = "tests.workers.training_double"
        return words

    training.command = command


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("config", "snapshot", "model", "out"):
        parser.add_argument(f"--{name}", required=True)
    asked = parser.parse_args()
    how = json.loads((Path(asked.out).resolve().parents[1] / NOTE).read_text())
    if how.get("refuse"):
        print(how["refuse"], file=sys.stderr)
        return 2
    tree = frontmatter.load(Path(asked.config).read_text())
    config = configs.load(asked.config, tree["stage"])
    run = RunFolder(Path(asked.out)).made()
    try:
        with folder.held(run):
            return train(run, config, read(Path(asked.snapshot), config.stage, "train"), how)
    except folder.Busy as error:
        print(error, file=sys.stderr)
        return 2


def train(run: RunFolder, config: configs.Config, rows: list[TrainingRow], how: dict[str, Any]) -> int:
    with (run.path / "writers.txt").open("a") as file:
        file.write(f"begin {os.getpid()}\n")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) if how.get("child") else None
    before = run.state()
    if before is not None and before.state == "done":
        return 0
    run.drop_incomplete()
    run.stop.unlink(missing_ok=True)
    resumed, attempt = run.newest(), before.attempt + 1 if before else 1
    most = config.train.max_steps

    def tell(state: folder.States, step: int, sentence: str = "") -> None:
        run.set_state(State(state, step, most, attempt, resumed, sentence))

    tell("starting", resumed or 0)
    time.sleep(how.get("between_s", 0.0))
    run.cut(resumed or 0)
    folder.write_json(run.facts, {"stage": config.stage, "snapshot": {"hash": "5a" * 32}, "model": {"name": "tiny"}})
    folder.write_bytes(run.config, configs.dump(config).encode())
    for step in range((resumed or 0) + 1, most + 1):
        if [attempt, step] in how.get("die_at", []):
            os.kill(os.getpid(), signal.SIGKILL)
        if step == how.get("crash_at"):
            tell("failed", step - 1, "The training ended with an error: ValueError: on purpose.")
            return 1
        time.sleep(how.get("step_s", 0.05))
        log(run, config, rows, step, most, attempt)
        stopping = run.stop.exists() and not how.get("deaf")
        if step % config.run.save_steps == 0 or step == most or stopping:
            save(run, step)
            run.rotate(config.run.keep_checkpoints)
        tell("running", step)
        if stopping and step < most:
            tell("stopped", step)
            return 0
    run.final.mkdir(exist_ok=True)
    (run.final / "config.json").write_text("{}")
    (run.final / "model.safetensors").write_bytes(bytes(1000))
    tell("done", most)
    if child is not None:
        child.kill()
    return 0


def log(run: RunFolder, config: configs.Config, rows: list[TrainingRow], step: int, most: int, attempt: int) -> None:
    with run.log.open("a") as file:
        file.write(f"step {step} of attempt {attempt}\n")
    values = {"loss": 1 / step, "reward": float(step), "rewards/accuracy/mean": 0.5, "attempt": attempt, "kl": None}
    line = {"step": step, "max_steps": most, "time": time.time(), "values": values}
    folder.append(run.metrics, [line])
    if config.stage == "grpo":
        folder.append(run.rollouts, [rollout(config, row, step) for row in rows[:2]])


def rollout(config: configs.Config, row: TrainingRow, step: int) -> dict[str, Any]:
    """K answers, the first of which is right at odd steps."""
    names = config.rewards.chosen()
    completions = [
        {
            "text": f"<think>Step {step}.</think><answer>{'ABCD'[n % 4]}</answer>", "tokens": 7, "clipped": False,
            "advantage": 0.0, "rewards": {name: float(n == 0 and step % 2) for name in names},
        }
        for n in range(config.rollouts.num_generations)
    ]  # fmt: skip
    return {
        "step": step, "row": row.id, "category": row.category, "question": row.question, "options": list(row.options),
        "answer": row.answer, "completions": completions,
    }  # fmt: skip


def save(run: RunFolder, step: int) -> None:
    run.step_folder(step).mkdir(exist_ok=True)
    (run.step_folder(step) / "weights").write_bytes(bytes(100))
    run.complete(step)


if __name__ == "__main__":
    sys.exit(main())
