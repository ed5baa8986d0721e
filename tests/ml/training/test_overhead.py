"""What our own part of a GRPO step takes of its CPU time: rewards, notes, callbacks, metrics, log.

A tiny model is the worst case: with a real one the rest of a step takes minutes, and ours takes the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ml import torchside
from ml.training import grpo, rollouts, session
from tests.figures import Record
from tests.ml.training import running

pytestmark = [
    pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed"),
    pytest.mark.usefixtures("training_process"),
]
STEPS = 8
BUDGET = 0.05


class Meter:
    """CPU seconds of the thread that trains in functions told to be ours, without those of others that they call."""

    def __init__(self) -> None:
        self.ours, self.since = 0.0, 0.0
        self.stack: list[bool] = []
        self.steps: list[tuple[float, float]] = []  # CPU of the process and ours, at the beginning of each step

    def _settle(self) -> None:
        now = time.thread_time()
        if self.stack and self.stack[-1]:
            self.ours += now - self.since
        self.since = now

    def told(self, function: Callable[..., Any], *, ours: bool) -> Callable[..., Any]:
        def wrapped(*args: Any, **more: Any) -> Any:
            self._settle()
            self.stack.append(ours)
            try:
                return function(*args, **more)
            finally:
                self._settle()
                self.stack.pop()

        wrapped.__name__ = function.__name__
        return wrapped

    def note(self) -> None:
        self._settle()
        self.steps.append((time.process_time(), self.ours))


@pytest.mark.bench
def test_our_part_of_a_step_is_small(
    tiny_model: Callable[[str], Path],
    tiny_snapshot: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    figure: Record,
) -> None:
    torchside.load("A test")
    from trl import GRPOTrainer

    from ml.training.callbacks import Recorder
    from ml.training.rollout_trainer import RolloutTrainer

    meter = Meter()

    def watch(owner: Any, *names: str, ours: bool = True) -> None:
        for name in names:
            monkeypatch.setattr(owner, name, meter.told(getattr(owner, name), ours=ours))

    watch(Recorder, "on_step_begin", "on_step_end", "on_log", "on_save")
    watch(RolloutTrainer, "_calculate_rewards", "_generate_and_score_completions", "noted")
    watch(GRPOTrainer, "_calculate_rewards", "_generate_and_score_completions", ours=False)
    watch(session._Tee, "write", "flush")
    made = rollouts.functions

    def functions(*args: Any, **more: Any) -> Any:
        found, *rest = made(*args, **more)
        return [meter.told(one, ours=True) for one in found], *rest

    monkeypatch.setattr(rollouts, "functions", functions)
    begin = Recorder.on_step_begin

    def noted(self: Any, *args: Any, **more: Any) -> None:
        meter.note()
        begin(self, *args, **more)

    monkeypatch.setattr(Recorder, "on_step_begin", noted)

    out = tmp_path / "run"
    told = ["--config", "tiny-cpu", "--snapshot", str(tiny_snapshot), "--model", str(tiny_model("qwen3-vl"))]
    assert grpo.main([*told, "--out", str(out), "--set", f"train.max_steps={STEPS}"]) == 0
    assert len(meter.steps) == STEPS == len(running.metrics(out)) and not meter.stack
    texts = [one["text"] for line in running.rollouts(out) for one in line["completions"]]
    assert len(texts) == STEPS * 2 * 8 and any("<gaze>" in text for text in texts)  # the rewards had something to read

    shares = [
        (ours - before) / (cpu - cpu_before)
        for (cpu_before, before), (cpu, ours) in zip(meter.steps[1:], meter.steps[2:], strict=False)
    ]  # the first step warms up
    (cpu_before, before), (cpu, ours) = meter.steps[1], meter.steps[-1]
    share, each = (ours - before) / (cpu - cpu_before), (cpu - cpu_before) / (STEPS - 2)
    told_too = (
        f"{each:.2f} s CPU a step, {1000 * (ours - before) / (STEPS - 2):.1f} ms ours; worst step {max(shares):.1%}"
    )
    figure("our part of a GRPO step's CPU time, tiny-cpu", share, budget=BUDGET, note=told_too)
    assert 0 < share <= 3 * BUDGET
