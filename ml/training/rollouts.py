"""Completions on their way through a GRPO step: rewards of `ml.rewards` by name, what is noted of them, the watch.

A trainer calls one function per reward with the completions of its own process; a completion is parsed once for all of
them. Rewards that compare the completions of one prompt (a judge's) gather them from all processes by the id of their
prompt, ask once, and hand every process its own values: where a group is not whole, or the judge fails, there is no
value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ml.rewards import comparative, registry
from ml.rewards.comparative import Group, Judge, Judged
from ml.rewards.rows import Row
from ml.text import persons, tags
from ml.training.advantages import overlong
from ml.training.configs import Config
from ml.training.rows import TrainingRow, reward_row

OVERLONG = "overlong"
MOST_BLOCKS = 3  # of a kind, before a reply counts as stuffed with tags
AT_ONCE = 8  # groups before the judge at the same time
Gather = Callable[[list[Any]], list[Any]]  # lists of all processes, one after the other, in the order of ranks
Scatter = Callable[[list[Any]], list[Any]]  # of a list only the first process has, all of it for everyone


class Completions:
    """The completions of one call, as rewards take them; made once for all rewards of a step. `opened`: what the
    prompt's template begins each reply with, which is part of it."""

    def __init__(self, rows: Mapping[str, TrainingRow], opened: str) -> None:
        self.rows, self.opened = rows, opened
        self.key: Any = None
        self.found: list[Row] = []

    def of(self, ids: Sequence[str], completions: Sequence[Any]) -> list[Row]:
        if self.key is not completions:
            texts = [self.opened + text_of(one) for one in completions]
            self.found = [reward_row(self.rows[id], text) for id, text in zip(ids, texts, strict=True)]
            self.key = completions
        return self.found


def text_of(completion: Any) -> str:
    """What the assistant said, of a conversation's last turn."""
    return completion if isinstance(completion, str) else str(completion[-1]["content"])


def functions(
    config: Config, completions: Completions, *, judge: Judge | None, gather: Gather, scatter: Scatter, rank: int = 0
) -> tuple[list[Callable[..., list[float | None]]], list[float], dict[str, comparative.Judged]]:
    """The functions a trainer calls, their weights, and what the judge said last, by reward and prompt."""
    judged: dict[str, Judged] = {}
    made: list[Callable[..., list[float | None]]] = []
    weights = []
    for name, weight in config.rewards.chosen().items():
        if name in registry.GROUPED:
            rubric = registry.GROUPED[name]
            made.append(_grouped(name, rubric, completions, judge, gather, scatter, rank, config, judged))
        else:
            made.append(_plain(name, completions))
        weights.append(weight)
    if config.rollouts.overlong_tokens and config.rollouts.overlong_penalty:
        made.append(_overlong(config))
        weights.append(1.0)
    return made, weights, judged


def _plain(name: str, completions: Completions) -> Callable[..., list[float | None]]:
    reward = registry.named(name)

    def function(completions_: Sequence[Any], row: Sequence[str]) -> list[float | None]:
        return [reward(one) for one in completions.of(row, completions_)]

    return _called(name, lambda **told: function(told["completions"], told["row"]))


def _overlong(config: Config) -> Callable[..., list[float | None]]:
    most, last, penalty = (
        config.rollouts.max_new_tokens,
        config.rollouts.overlong_tokens,
        config.rollouts.overlong_penalty,
    )
    return _called(OVERLONG, lambda **told: [overlong(len(ids), most, last, penalty) for ids in told["completion_ids"]])


def _grouped(
    name: str,
    rubric: str,
    completions: Completions,
    judge: Judge | None,
    gather: Gather,
    scatter: Scatter,
    rank: int,
    config: Config,
    judged: dict[str, Judged],
) -> Callable[..., list[float | None]]:
    def function(**told: Any) -> list[float | None]:
        mine = [(one.prompt_id, one) for one in completions.of(told["row"], told["completions"])]
        every = gather(mine)
        scores: list[float | None] = []
        if rank == 0:
            assert judge is not None
            found = judge_groups(every, judge, rubric, k=config.rollouts.num_generations, seed=config.train.seed)
            judged.update({f"{name}/{id}": one for id, one in found.items()})
            places = Counter[str]()
            for id, _ in every:
                scores.append(found[id].scores[places[id]])
                places[id] += 1
        everybody = scatter(scores)
        before = rank * len(mine)
        return everybody[before : before + len(mine)]

    return _called(name, function)


def _called(name: str, function: Callable[..., list[float | None]]) -> Callable[..., list[float | None]]:
    """The function under the reward's name, which is the name of its metrics."""
    function.__name__ = name
    return function


def judge_groups(
    every: Sequence[tuple[str, Row]], judge: Judge, rubric: str, *, k: int, seed: int
) -> dict[str, Judged]:
    """Each prompt's completions judged together, wherever they stand; a group that is not of `k` has no value."""
    groups: dict[str, list[Row]] = {}
    for id, row in every:
        groups.setdefault(id, []).append(row)

    def one(id: str) -> Judged:
        rows = groups[id]
        if len(rows) != k:
            return Judged([None] * len(rows), why=f"{len(rows)} completions of the prompt are here instead of {k}.")
        texts = tuple(row.completion for row in rows)
        return comparative.judge(Group(id, rows[0].question, texts, rows[0].options), judge, rubric, seed=seed)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(groups, pool.map(one, groups), strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# The watch: signs that rewards are earned without what they are meant for


def watch(rows: Sequence[Row]) -> dict[str, float | None]:
    """Shares over completions: those that name every visible person (of two or more), and those stuffed with tags."""
    several = [row for row in rows if row.visible is not None and len(row.visible) > 1]
    everyone = [row.visible <= persons.named(row.completion) for row in several if row.visible is not None]
    return {
        "sgr_coverage": registry.coverage(rows) if rows else None,
        "watch/names_everyone": sum(everyone) / len(everyone) if everyone else None,
        "watch/tag_stuffing": sum(stuffed(row.completion) for row in rows) / len(rows) if rows else None,
    }


def stuffed(text: str) -> bool:
    """Whether a reply has more than three blocks of a kind, or a block with no word in it."""
    return max(tags.openings(text).values(), default=0) > MOST_BLOCKS or any(
        block.closed and not re.search(r"\w", block.content) for block in tags.blocks(text)
    )


def lines(
    rows: Mapping[str, TrainingRow],
    ids: Sequence[str],
    texts: Sequence[str],
    lengths: Sequence[int],
    clipped: Sequence[bool],
    names: Sequence[str],
    rewards: Sequence[Sequence[float]],
    advantages: Sequence[float],
) -> list[dict[str, Any]]:
    """One line for each prompt, with its completions in their order. NaN is written as null."""
    made: dict[str, dict[str, Any]] = {}
    for at, id in enumerate(ids):
        row = rows[id]
        line = made.setdefault(
            id,
            {
                "row": id,
                "category": row.category,
                "question": row.question,
                "options": list(row.options),
                "answer": row.answer,
                "completions": [],
            },
        )
        values = {name: _number(value) for name, value in zip(names, rewards[at], strict=True)}
        line["completions"].append(
            {
                "text": texts[at],
                "tokens": lengths[at],
                "clipped": clipped[at],
                "advantage": _number(advantages[at]),
                "rewards": values,
            }
        )
    return list(made.values())


def _number(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
