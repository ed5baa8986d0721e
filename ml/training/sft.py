"""Supervised warm-up: the model learns to answer in the taught form, from rows with reasoning.

    python -m ml.training.sft --config lora-1gpu --snapshot DIR --model DIR --out RUN

TRL's SFTTrainer; the loss is over the assistant's words alone. See `ml.training.session` for the command and
`ml.training.folder` for what is in RUN.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ml.evaluation.frames import Look
from ml.training import session as sessions
from ml.training.session import Session


def train(session: Session) -> None:
    """One attempt of a run, up to its end or its stop."""
    from ml.training import policy

    policy.prepare(session)
    from trl import SFTConfig, SFTTrainer

    from ml.training import lazy, ordering
    from ml.training.callbacks import Recorder, fit

    config = session.config
    model, processor = policy.load(session)
    look = Look(most=config.frames.most, rate=config.frames.rate, longest=config.frames.longest)
    data = lazy.dataset(session.rows, session.snapshot, look, stage="sft")
    orders = ordering.of_rows(session.rows, config)
    recorder = Recorder(session)

    class Trainer(SFTTrainer):
        """SFTTrainer with our order of items."""

        def _get_train_sampler(self, train_dataset: object = None) -> Any:
            return ordering.Repeated(orders, len(session.rows), config.step_items)

    trainer = Trainer(
        model=model,
        args=SFTConfig(
            **policy.arguments(session),
            max_length=None,  # a picture's tokens are never cut
            completion_only_loss=True,
        ),
        train_dataset=data,
        processing_class=processor,
        peft_config=policy.lora(config),
        callbacks=[recorder],
    )
    fit(trainer, session, recorder)


def load() -> sessions.Train:
    return train


def main(arguments: Sequence[str] | None = None) -> int:
    return sessions.main("sft", load, arguments)


if __name__ == "__main__":
    sys.exit(main())
