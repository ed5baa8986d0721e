"""In which order items are trained on: shuffled, with similar lengths in one step, or from easy to hard.

Every order is drawn from the seed and the epoch alone, so that a run that goes on in the middle of any epoch goes on
with the same items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ml.evaluation.frames import Look, even
from ml.training.configs import Config
from ml.training.rows import TrainingRow

MEGA_BATCH = 50  # steps within which lengths are sorted; GRASP's
DIFFICULTIES = ("easy", "medium", "hard")  # another word, or none, counts as the middle
TOKEN_PX = 32 * 32


def length(row: TrainingRow, config: Config) -> float:
    """About how many tokens an item has: its frames at their greatest size, and its words."""
    look = Look(most=config.frames.most, rate=config.frames.rate, longest=config.frames.longest)
    frames = len(even(row.clip.duration_s, look)) if row.clip.duration_s > 0 else 1
    words = " ".join([row.question, *row.options, row.reasoning if config.stage == "sft" else ""]).split()
    return frames * config.frames.most_pixels / TOKEN_PX + 1.5 * len(words)


def order(
    kind: str, lengths: Sequence[float], difficulties: Sequence[str], step_items: int, seed: int, epoch: int
) -> list[int]:
    """Positions of all items in the order of one epoch. `kind`: as `train.order` of the configuration."""
    rng = np.random.default_rng([seed, epoch])
    drawn = rng.permutation(len(lengths))
    if kind == "shuffled":
        return [int(at) for at in drawn]
    if kind == "curriculum":
        ranks = [DIFFICULTIES.index(word) if word in DIFFICULTIES else 1 for word in difficulties]
        return [int(at) for at in drawn[np.argsort(np.asarray(ranks)[drawn], kind="stable")]]
    if kind != "length-grouped":
        raise ValueError(f"There is no order {kind!r}.")
    known, mega = np.asarray(lengths), MEGA_BATCH * step_items
    steps: list[list[int]] = []
    for low in range(0, len(drawn), mega):
        part = drawn[low : low + mega]
        part = part[np.argsort(-known[part], kind="stable")]
        steps += [[int(at) for at in part[k : k + step_items]] for k in range(0, len(part), step_items)]
    last = steps.pop() if steps and len(steps[-1]) < step_items else []
    mixed = [steps[at] for at in rng.permutation(len(steps))]
    return [at for step in [*mixed, last] for at in step]


class Repeated:
    """A sampler of torch: the order of the current epoch, each item `each` times, each step's items `times` times.

    As TRL's GRPO needs it: the K completions of a prompt stand side by side, over all processes. With `whole`, a last
    step that is not full is left out.
    """

    def __init__(
        self,
        orders: Callable[[int], list[int]],
        size: int,
        step_items: int,
        *,
        each: int = 1,
        times: int = 1,
        whole: bool = False,
    ) -> None:
        self.orders, self.size, self.step_items = orders, size, step_items
        self.each, self.times, self.whole = each, times, whole
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        found = self.orders(self.epoch)
        for low in range(0, len(found), self.step_items):
            step = found[low : low + self.step_items]
            if self.whole and len(step) < self.step_items:
                return
            for _ in range(self.times):
                for at in step:
                    yield from [at] * self.each

    def __len__(self) -> int:
        items = self.size // self.step_items * self.step_items if self.whole else self.size
        return items * self.each * self.times


def of_rows(rows: Sequence[TrainingRow], config: Config) -> Callable[[int], list[int]]:
    """Epoch -> the order of the rows, as the configuration has it."""
    kind = config.train.order
    lengths = [length(row, config) for row in rows] if kind == "length-grouped" else [0.0] * len(rows)
    difficulties = [row.difficulty.lower() for row in rows]
    return lambda epoch: order(kind, lengths, difficulties, config.step_items, config.train.seed, epoch)
