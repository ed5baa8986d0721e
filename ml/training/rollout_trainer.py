"""TRL's GRPOTrainer with our rewards, order, advantages and notes. Loads torch.

Written against TRL 1.16: `_calculate_rewards` gives the rewards of all processes (completions, rewards), in which the K
completions of a prompt stand side by side, and `_generate_and_score_completions` the batch with this process's
advantages; both are private there, so the pin in pyproject.toml and the tests of this module go together.
"""

from __future__ import annotations

from collections import deque
from importlib import import_module
from typing import Any

from ml import torchside
from ml.rewards.comparative import Judge
from ml.training import ordering, rollouts
from ml.training.advantages import released
from ml.training.session import Session

torch, _ = torchside.load("Training")
shared = import_module("accelerate.utils")
GRPOTrainer: Any = import_module("trl").GRPOTrainer


class RolloutTrainer(GRPOTrainer):
    """`opened`: what the prompt's template puts at the beginning of each reply."""

    _name = "GRPO"

    def __init__(self, session: Session, judge: Judge | None, *, opened: str, **told: Any) -> None:
        self.session = session
        self.known = {row.id: row for row in session.rows}
        self.completions = rollouts.Completions(self.known, opened)
        functions, weights, self.judged = rollouts.functions(
            session.config,
            self.completions,
            judge=judge,
            gather=shared.gather_object,
            scatter=lambda values: shared.broadcast_object_list([values])[0],
            rank=session.rank,
        )
        told["args"].reward_weights = weights
        self._scored: Any = None
        self._noted: deque[dict[str, Any]] = deque()
        super().__init__(reward_funcs=list(functions), **told)

    def noted(self) -> list[dict[str, Any]]:
        """The lines of the step that ends."""
        found = list(self._noted)
        self._noted.clear()
        return found

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        config = self.session.config
        return ordering.Repeated(
            ordering.of_rows(self.session.rows, config),
            len(self.session.rows),
            config.step_items,
            each=config.rollouts.num_generations,
            times=config.train.accumulation,  # one batch of rollouts for each update
            whole=True,
        )

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> Any:
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        ids = [example["row"] for example in inputs]
        ends = {*self.eos_token_ids, self._tokenizer.pad_token_id}
        mine = [
            (id, row.completion, len(tokens), tokens[-1] not in ends)
            for id, row, tokens in zip(ids, self.completions.of(ids, completions), completion_ids_list, strict=True)
        ]
        self._scored = rewards, shared.gather_object(mine)
        return rewards

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        batch = super()._generate_and_score_completions(inputs)
        rewards, every = self._scored
        here = slice(self.accelerator.process_index * len(inputs), (self.accelerator.process_index + 1) * len(inputs))
        logged = self._logs["advantages"]  # those of the last batch, over all processes
        advantages = torch.tensor(list(logged)[-len(every) :])
        if self.session.config.grpo.advantage == "released":
            k, clip = self.session.config.rollouts.num_generations, self.session.config.grpo.advantage_clip
            advantages = released(rewards, self.reward_weights, k, clip)
            batch["advantages"] = advantages[here].to(batch["advantages"])
        self._note(every, rewards, advantages)
        return batch

    def _note(self, every: list[Any], rewards: Any, advantages: Any) -> None:
        ids, texts, lengths, clipped = (list(column) for column in zip(*every, strict=True))
        seen = [rollouts.reward_row(self.known[id], text) for id, text in zip(ids, texts, strict=True)]
        for name, value in rollouts.watch(seen).items():
            self._metrics["train"][name].append(float("nan") if value is None else value)
        if self.session.main:
            told = rewards.tolist(), advantages.tolist()
            self._noted.extend(rollouts.lines(self.known, ids, texts, lengths, clipped, self.reward_func_names, *told))
