"""GRPO: the model samples K answers to a question, and learns from how they compare under rewards of `ml.rewards`.

    python -m ml.training.grpo --config lora-1gpu --snapshot DIR --model DIR --out RUN

TRL's GRPOTrainer with two things of our own: the released advantage form, and what is noted of each step. One update
is made from each batch of rollouts, so the ratio of probabilities is 1 and nothing is clipped: as released. See
`ml.training.session` for the command and `ml.training.folder` for what is in RUN.

A reward of a judge (`comparative-judge` and the judged forms) asks the endpoint that the environment names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ml.evaluation.frames import Look
from ml.evaluation.local import PREFILL, rendered
from ml.rewards import registry
from ml.rewards.comparative import EndpointJudge, Judge
from ml.training import session as sessions
from ml.training.session import CannotTrain, Session


def train(session: Session) -> None:
    """One attempt of a run, up to its end or its stop."""
    with ExitStack() as stack:
        judge = _judge(session, stack)  # before minutes of loading
        _train(session, judge)


def _judge(session: Session, stack: ExitStack) -> Judge | None:
    """Who ranks, where a reward needs that; in the first process alone. Raises CannotTrain."""
    if not session.main or not set(session.config.rewards.chosen()) & set(registry.GROUPED):
        return None
    from ml.endpoint import Config, NotConfigured
    from ml.endpoint.client import Endpoint

    try:
        return EndpointJudge(stack.enter_context(Endpoint(Config.from_environment())))
    except NotConfigured as error:
        raise CannotTrain(f"A reward that compares needs a judge. {error}") from error


def _train(session: Session, judge: Judge | None) -> None:
    from ml.training import policy

    policy.prepare(session)
    from trl import GRPOConfig

    from ml.training import lazy
    from ml.training.callbacks import Recorder, fit
    from ml.training.rollout_trainer import RolloutTrainer

    config = session.config
    model, processor = policy.load(session)
    look = Look(most=config.frames.most, rate=config.frames.rate, longest=config.frames.longest)
    kept = max(lazy.IN_MEMORY, config.step_items // session.world + 1)  # a prompt's clip is asked for K times
    data = lazy.dataset(session.rows, session.snapshot, look, stage="grpo", in_memory=kept)
    recorder = Recorder(session)
    thinking = "enable_thinking" in (processor.chat_template or "")
    trainer = RolloutTrainer(
        session,
        judge,
        opened=opened(processor),
        model=model,
        args=GRPOConfig(**policy.arguments(session), **arguments(session, thinking)),
        train_dataset=data,
        processing_class=processor,
        peft_config=policy.lora(config),
        callbacks=[recorder],
    )
    recorder.rollouts = trainer.noted
    fit(trainer, session, recorder)


def arguments(session: Session, thinking: bool) -> dict[str, Any]:
    """What GRPOConfig has beside the common arguments. `thinking`: the template can be asked to open the thoughts."""
    config = session.config
    drawn = config.rollouts
    vllm = {"use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": drawn.vllm_memory}
    return {
        "num_generations": drawn.num_generations,
        "max_completion_length": drawn.max_new_tokens,
        "temperature": drawn.temperature,
        "top_p": drawn.top_p,
        "top_k": drawn.top_k,
        "beta": config.grpo.beta,
        "loss_type": config.grpo.loss,
        "scale_rewards": "none" if config.grpo.advantage == "released" else config.grpo.advantage,
        "multi_objective_aggregation": "sum_then_normalize",
        "num_iterations": 1,
        "chat_template_kwargs": {"enable_thinking": True} if thinking else None,
        **(vllm if drawn.use_vllm else {"use_vllm": False}),
    }


def opened(processor: Any) -> str:
    """What the template puts at the beginning of a reply: part of what the model says, for rewards."""
    turn = [{"role": "user", "content": [{"type": "text", "text": "?"}]}]
    return PREFILL if rendered(processor, turn, thinking=True).rstrip().endswith(PREFILL.rstrip()) else ""


def load() -> sessions.Train:
    return train


def main(arguments: Sequence[str] | None = None) -> int:
    return sessions.main("grpo", load, arguments)


if __name__ == "__main__":
    sys.exit(main())
