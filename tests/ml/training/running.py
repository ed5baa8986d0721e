"""Runs of tiny models in this process, or in one of their own, and what they left in their folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ml.training import folder, grpo, sft
from ml.training.folder import RunFolder

MAINS = {"sft": sft.main, "grpo": grpo.main}
QUICK = {
    "sft": (),
    "grpo": (
        "rollouts.num_generations=4",
        "train.per_device_batch=8",
        "rollouts.max_new_tokens=12",
        "rollouts.overlong_tokens=4",
    ),
}  # 2 prompts with 4 completions in a step of grpo
OF_THE_CLOCK = ("step_time", "tokens_per_second")


def words(stage: str, snapshot: Path, model: Path, out: Path, *sets: str) -> list[str]:
    """The stage's own arguments."""
    told = ["--config", "tiny-cpu", "--snapshot", str(snapshot), "--model", str(model), "--out", str(out)]
    return told + [word for one in (*QUICK[stage], *sets) for word in ("--set", one)]


def run(stage: str, snapshot: Path, model: Path, out: Path, *sets: str) -> int:
    """Train in this process."""
    return MAINS[stage](words(stage, snapshot, model, out, *sets))


def process(stage: str, snapshot: Path, model: Path, out: Path, *sets: str) -> subprocess.Popen[str]:
    """Train in a process of its own."""
    command = [sys.executable, "-m", f"ml.training.{stage}", *words(stage, snapshot, model, out, *sets)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ))


def metrics(out: Path) -> list[dict[str, float | None]]:
    """Values of each logged step in their order, with the step; without those that the clock decides."""
    lines = folder.read_lines(RunFolder(out).metrics)
    return [
        {"step": line["step"]} | {name: value for name, value in line["values"].items() if name not in OF_THE_CLOCK}
        for line in lines
    ]


def rollouts(out: Path) -> list[dict[str, Any]]:
    return folder.read_lines(RunFolder(out).rollouts)
