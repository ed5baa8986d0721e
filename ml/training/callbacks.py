"""What a run tells while it trains: metrics, rollouts, state, checkpoints, TensorBoard; and how it hears of a stop.

One `Recorder` goes into any trainer of transformers. Only the first process writes; all of them agree on stopping,
since one that went on alone would wait for the others for ever.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from ml import torchside
from ml.training import folder
from ml.training.session import CannotTrain, Session

torch, _transformers = torchside.load("Training")
TrainerCallback: Any = _transformers.TrainerCallback

Lines = Callable[[], list[dict[str, Any]]]
DRIFT_STEPS = 5  # logged steps whose mean length later ones are held against
LENGTH = "completions/mean_length"


class AllStepsDone(Exception):
    """The checkpoint that a run goes on from is that of its last step; only the model has to be written."""


class Recorder(TrainerCallback):
    """Writes the run's folder. `rollouts`: gives the lines of the step that ends. `fit` trains with it."""

    def __init__(self, session: Session, rollouts: Lines = lambda: []) -> None:
        self.session, self.rollouts = session, rollouts
        self.trainer: Any = None
        self.board: Any = None
        self.stopped = False
        self.lengths: list[float] = []  # of the first logged steps
        self.seconds: list[float] = []  # of the steps since the last line of metrics
        self.began = 0.0
        self.tokens = 0.0  # seen up to the last line of metrics
        self.logged_at = 0.0

    # -- the trainer's own calls

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.logged_at = time.monotonic()
        if self.session.resumed_from is not None:
            self.tokens = self.session.folder.tokens(self.session.resumed_from)
            if self.session.config.stage != "grpo":  # TRL's GRPO keeps its count in the checkpoint, its SFT does not
                self.trainer._total_train_tokens = self.tokens
        if state.global_step >= state.max_steps:  # the trainer would make one step more
            raise AllStepsDone
        if not self.session.main:
            return
        for line in folder.read_lines(self.session.folder.metrics)[:DRIFT_STEPS]:
            known = line["values"].get(LENGTH)
            self.lengths += [known] if known is not None else []
        self.session.tell("running", state.global_step, state.max_steps)
        if self.session.config.run.tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(
                str(self.session.folder.path / "tensorboard"), purge_step=state.global_step + 1, flush_secs=10
            )

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.began = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.seconds.append(time.monotonic() - self.began)
        self._end_of_step(state)
        if self._stop_wanted() and state.global_step < state.max_steps:
            self.stopped = control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, **told: Any) -> None:
        logs: Mapping[str, Any] = told["logs"]
        if "loss" not in logs:  # the trainer's farewell
            return
        if not math.isfinite(logs["loss"]):
            raise CannotTrain(
                f"The loss is no number any more at step {state.global_step}; a lower train.learning_rate may help."
            )
        if self.session.main:
            self._write_metrics(state, logs)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.trainer.accelerator.wait_for_everyone()  # each process has written its part
        if self.session.main:
            self.session.folder.complete(state.global_step, self._seen(state))
            self.session.folder.rotate(self.session.config.run.keep_checkpoints)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.board is not None:
            self.board.close()

    # -- what they do

    def _end_of_step(self, state: Any) -> None:
        """Rollouts and state of a step that has been trained; all processes gather, one writes."""
        lines = self.rollouts()
        if not self.session.main:
            return
        if lines and state.global_step % self.session.config.run.rollout_steps == 0:
            folder.append(self.session.folder.rollouts, ({"step": state.global_step} | line for line in lines))
        self.session.tell("running", state.global_step, state.max_steps)

    def _seen(self, state: Any) -> float:
        """Tokens seen so far, over all processes."""
        grpo = self.session.config.stage == "grpo"
        return float(state.num_input_tokens_seen if grpo else self.trainer._total_train_tokens)

    def _write_metrics(self, state: Any, logs: Mapping[str, Any]) -> None:
        values = {name: number(value) for name, value in logs.items() if number(value) is not None or value is None}
        now, tokens = time.monotonic(), self._seen(state)
        values["step_time"] = sum(self.seconds) / max(1, len(self.seconds))
        values["tokens_per_second"] = (tokens - self.tokens) / max(1e-9, now - self.logged_at)
        self.tokens, self.logged_at, self.seconds = tokens, now, []
        self._drift(values)
        line = {"step": state.global_step, "max_steps": state.max_steps, "time": time.time(), "values": values}
        folder.append(self.session.folder.metrics, [line])
        if self.board is not None:
            for name, value in values.items():
                if value is not None:
                    self.board.add_scalar(name, value, state.global_step)

    def _drift(self, values: dict[str, float | None]) -> None:
        """Mean length over that of the first steps: a run that learns to write ever more, or ever less, shows here."""
        length = values.get(LENGTH)
        if length is None:
            return
        if len(self.lengths) < DRIFT_STEPS:
            self.lengths.append(length)
        first = sum(self.lengths) / len(self.lengths)
        values["watch/length_drift"] = length / first if first else None

    def _stop_wanted(self) -> bool:
        """What the first process says: it looks at the file, and at its own signals."""
        session = self.session
        wanted = session.stop_asked or (session.main and session.folder.stop.exists())
        if session.world == 1:
            return wanted
        told = torch.tensor([int(wanted)], device=self.trainer.accelerator.device)
        return bool(self.trainer.accelerator.reduce(told, reduction="sum").item())


def number(value: Any) -> float | None:
    """A number that JSON can hold, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def fit(trainer: Any, session: Session, recorder: Recorder) -> None:
    """Train from the session's checkpoint on; then the model, when all steps are done, and the state's last word."""
    from ml.training import policy

    recorder.trainer = trainer
    with contextlib.suppress(AllStepsDone):
        trainer.train(resume_from_checkpoint=session.checkpoint)
    state = trainer.state
    if recorder.stopped:
        if session.main:
            session.folder.stop.unlink(missing_ok=True)
        session.tell("stopped", state.global_step, state.max_steps)
    else:
        policy.save_final(trainer, session)
        session.tell("done", state.global_step, state.max_steps)
    trainer.accelerator.wait_for_everyone()  # nobody looks at the state before the first process has written it
