"""Advantages by hand, the over-long penalty, orders of items, and rewards on their way through a step. Mostly light."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ml import torchside
from ml.rewards.comparative import JudgeFailed, Ranking
from ml.training import configs, ordering, rollouts
from ml.training.advantages import overlong, released
from ml.training.rows import TrainingRow, reward_row
from tests.ml.training.samples import row

NONE = math.nan
needs_torch = pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed")


@needs_torch
@pytest.mark.parametrize(
    ("rewards", "told"),
    [
        # accuracy has the mean 0.5, the second the mean 0.5: 0.5 + 0.2 * 0.5, -0.5 + 0, -0.5 - 0.2 * 0.5, 0.5 + 0
        ([(1, 1.0), (0, 0.5), (0, 0.0), (1, 0.5)], [0.6, -0.5, -0.6, 0.5]),
        # the mean of the second is that of the two values there are, 0.7; without a value nothing is added
        ([(1, 1.0), (0, NONE), (0, NONE), (1, 0.4)], [0.56, -0.5, -0.5, 0.44]),
        # no value in the whole group: as if the reward were not there
        ([(1, NONE), (0, NONE), (0, NONE), (0, NONE)], [0.75, -0.25, -0.25, -0.25]),
        # a completion without any value moves nothing; the mean of the others is 1/3
        ([(1, 0.0), (0, 0.0), (0, 0.0), (NONE, NONE)], [2 / 3, -1 / 3, -1 / 3, 0.0]),
        # no spread, no signal
        ([(1, 0.3)] * 4, [0.0] * 4),
        # clipped at 5: the mean is 25, so 75 and -25
        ([(100, 0.0), (0, 0.0), (0, 0.0), (0, 0.0)], [5.0, -5.0, -5.0, -5.0]),
    ],
)
def test_the_released_form_by_hand(rewards: Sequence[tuple[float, float]], told: Sequence[float]) -> None:
    torch, _ = torchside.load()
    found = released(torch.tensor(rewards, dtype=torch.float32), torch.tensor([1.0, 0.2]), 4, 5.0)
    assert found.tolist() == pytest.approx(told, abs=1e-6)


@needs_torch
def test_the_released_form_is_the_centred_sum_in_each_group_where_every_value_is_there() -> None:
    torch, _ = torchside.load()
    rng = np.random.default_rng(0)
    rewards, weights = rng.random((24, 3)), np.array([1.0, 0.1, 0.2])
    sums = (rewards @ weights).reshape(-1, 8)
    found = released(torch.tensor(rewards), torch.tensor(weights), 8, 5.0)
    assert found.tolist() == pytest.approx((sums - sums.mean(1, keepdims=True)).ravel().tolist())


@pytest.mark.parametrize(
    ("length", "told"), [(1, 0.0), (768, 0.0), (832, -0.25), (896, -0.5), (1024, -1.0), (2000, -1.0)]
)
def test_the_penalty_rises_over_the_last_256_tokens(length: int, told: float) -> None:
    assert overlong(length, 1024, 256, 1.0) == told
    assert overlong(length, 1024, 256, 0.5) == told / 2
    assert overlong(length, 1024, 0, 1.0) == 0.0


# --- orders ----------------------------------------------------------------------------------------------------------


def test_every_order_has_every_item_once_and_another_epoch_another_order() -> None:
    rng = np.random.default_rng(1)
    lengths, difficulties = rng.integers(10, 5000, 203).tolist(), rng.choice(["easy", "medium", "hard"], 203).tolist()
    for kind in ("shuffled", "length-grouped", "curriculum"):
        first = ordering.order(kind, lengths, difficulties, 4, 7, 0)
        assert sorted(first) == list(range(203))
        assert first == ordering.order(kind, lengths, difficulties, 4, 7, 0)
        assert first != ordering.order(kind, lengths, difficulties, 4, 7, 1)
        assert first != ordering.order(kind, lengths, difficulties, 4, 8, 0)
    steps = np.array([lengths[at] for at in ordering.order("length-grouped", lengths, difficulties, 4, 7, 0)][:200])
    mixed = np.array([lengths[at] for at in ordering.order("shuffled", lengths, difficulties, 4, 7, 0)][:200])
    assert np.ptp(steps.reshape(-1, 4), axis=1).mean() < np.ptp(mixed.reshape(-1, 4), axis=1).mean() / 10
    assert np.argsort(steps.reshape(-1, 4).mean(1)).tolist() != list(range(50))  # the steps themselves are mixed


def test_a_curriculum_goes_from_easy_to_hard() -> None:
    difficulties = ["hard", "easy", "", "medium", "easy", "hard"]
    found = ordering.order("curriculum", [0] * 6, difficulties, 2, 0, 0)
    assert set(found[:2]) == {1, 4} and set(found[2:4]) == {2, 3} and set(found[4:]) == {0, 5}


@needs_torch
def test_groups_stand_as_the_trainer_expects_them() -> None:
    torchside.load()
    from trl.trainer.utils import RepeatSampler

    mine = ordering.Repeated(lambda epoch: list(range(11)), 11, 3, each=4, times=2, whole=True)
    theirs = RepeatSampler(range(11), mini_repeat_count=4, batch_size=3, repeat_count=2, shuffle=False)
    assert list(mine) == list(theirs) and len(mine) == len(theirs) == 72
    plain = ordering.Repeated(lambda epoch: [epoch, 2, 0], 3, 2)
    plain.set_epoch(1)
    assert list(plain) == [1, 2, 0] and len(plain) == 3


def test_a_longer_clip_and_more_words_are_longer() -> None:
    config = configs.load("tiny-cpu", "sft", {"frames.most": 8})
    short = row(1)
    clip = replace(short.clip, duration_s=6.0)
    assert ordering.length(replace(short, clip=clip), config) - ordering.length(short, config) == 4 * 4  # 4 frames of 4
    assert ordering.length(replace(short, question=short.question + " Why?"), config) > ordering.length(short, config)


# --- rewards of a step -----------------------------------------------------------------------------------------------


class Alphabetical:
    """Ranks by the alphabet, and keeps what it was asked."""

    def __init__(self, broken: str = "") -> None:
        self.prompts: list[str] = []
        self.broken = broken

    def rank(self, system: str, prompt: str, ids: Sequence[str]) -> Ranking:
        self.prompts.append(prompt)
        if self.broken and self.broken in prompt:
            raise JudgeFailed("The judge is away.")
        lines = prompt.splitlines()
        texts = {id: lines[next(n for n, one in enumerate(lines) if f"candidate {id} begins" in one) + 1] for id in ids}
        return Ranking(ranking=[[id] for id in sorted(ids, key=lambda id: texts[id])])


def across(ranks: int, judge: Alphabetical, ids: Sequence[str], texts: Sequence[str]) -> list[float | None]:
    """Values of a judged reward over several processes, whose gathering is played here, one after the other."""
    config = configs.load(
        "tiny-cpu",
        "grpo",
        ["rewards.weights={comparative-judge: 1}", "rollouts.num_generations=4", "rollouts.overlong_tokens=0"],
    )
    known = {id: row(int(id), id=id, question=f"Question {id}?") for id in set(ids)}
    size = len(ids) // ranks
    every = [(id, reward_row(known[id], text)) for id, text in zip(ids, texts, strict=True)]
    kept: list[Any] = []

    def scatter(values: list[Any]) -> list[Any]:
        kept.extend(values)
        return kept

    found: list[float | None] = []
    for rank in range(ranks):
        here = slice(rank * size, (rank + 1) * size)
        completions = rollouts.Completions(known, "")
        [function], [weight], _ = rollouts.functions(
            config, completions, judge=judge, gather=lambda mine: every, scatter=scatter, rank=rank
        )
        assert (function.__name__, weight) == ("comparative-judge", 1.0)
        found += function(completions=texts[here], row=ids[here], completion_ids=[])
    return found


def test_groups_stay_together_over_two_processes_whatever_their_order() -> None:
    texts = ["d", "b", "c", "a", "x", "z", "y", "w"]  # four of each prompt, mixed: the halves cut through both groups
    ids = ["1", "1", "2", "1", "1", "2", "2", "2"]
    judge = Alphabetical()
    found = across(2, judge, ids, texts)
    #        a < b < d < x of the first, c < w < y < z of the second
    assert found == pytest.approx([1 / 3, 2 / 3, 1.0, 1.0, 0.0, 0.0, 1 / 3, 2 / 3])
    assert len(judge.prompts) == 4 and all(prompt.count(" begins") == 4 for prompt in judge.prompts)
    for prompt in judge.prompts:  # the question and its options, of one prompt each
        assert ("Question 1?" in prompt) != ("Question 2?" in prompt) and "Person 3" in prompt and "nobody" in prompt


def test_a_judge_that_fails_gives_no_value_to_its_group_alone() -> None:
    found = across(2, Alphabetical(broken="Question 2?"), ["1"] * 4 + ["2"] * 4, list("abcdefgh"))
    assert found[:4] == pytest.approx([1.0, 2 / 3, 1 / 3, 0.0]) and found[4:] == [None] * 4
    assert across(1, Alphabetical(), ["1"] * 3, list("abc")) == [None] * 3  # one completion is missing


def test_the_watch_sees_who_names_everyone_and_who_stuffs_tags() -> None:
    everyone = "<gaze>Person 1, Person 2 and Person 3.</gaze>"
    some = "<gaze>Person 2 from 1 s to 2 s.</gaze><answer>B</answer>"
    rows = [reward_row(row(1), text) for text in (everyone, some, "Persons 1-3", "nobody")]
    assert rollouts.watch(rows)["watch/names_everyone"] == 0.5
    unknown = [reward_row(row(1, visible=visible), everyone) for visible in (None, (2,))]
    assert rollouts.watch(unknown)["watch/names_everyone"] is None  # nobody knows, or nobody else to name
    assert rollouts.watch(rows)["sgr_coverage"] == 1.0
    named = reward_row(row(1, question="Does Person 1 look at Person 2?"), some)
    assert rollouts.watch([named, *rows[:1]])["sgr_coverage"] == 0.5
    assert [
        rollouts.stuffed(text)
        for text in (some, some * 3, some * 4, "<gaze> </gaze>", "<gaze>-</gaze>", "<gaze>never closed", "")
    ] == [False, False, True, True, True, False, False]


def test_rollouts_are_noted_by_prompt() -> None:
    known: dict[str, TrainingRow] = {"1": row(1, id="1"), "2": row(2, id="2", options=("x", "y"), answer="A")}
    told = rollouts.lines(
        known, ["1", "2", "1"], ["a", "b", "c"], [3, 4, 5], [False, True, False],
        ["accuracy", "sgr"], [[1.0, NONE], [0.0, 0.5], [0.0, 1 / 3]], [0.5, 0.0, -0.5],
    )  # fmt: skip
    assert [line["row"] for line in told] == ["1", "2"]
    assert told[1]["options"] == ["x", "y"] and told[1]["answer"] == "A" and told[1]["category"] == "gaze_target"
    assert told[0]["completions"] == [
        {"text": "a", "tokens": 3, "clipped": False, "advantage": 0.5, "rewards": {"accuracy": 1.0, "sgr": None}},
        {"text": "c", "tokens": 5, "clipped": False, "advantage": -0.5, "rewards": {"accuracy": 0.0, "sgr": 0.333333}},
    ]


def test_a_completion_is_parsed_once_for_all_rewards() -> None:
    seen = Counter[str]()

    class Rows(dict[str, TrainingRow]):
        def __getitem__(self, id: str) -> TrainingRow:
            seen[id] += 1
            return super().__getitem__(id)

    config = configs.load("tiny-cpu", "grpo")
    completions = rollouts.Completions(Rows({"1": row(1, id="1")}), "<think>\n")
    functions, weights, _ = rollouts.functions(config, completions, judge=None, gather=list, scatter=list, rank=0)
    texts = [[{"role": "assistant", "content": "</think><answer>B</answer>"}]]
    told = {"completions": texts, "row": ["1"], "completion_ids": [[1] * 24]}
    found = {one.__name__: one(**told) for one in functions}
    assert found == {
        "accuracy": [1.0], "format-grasp": [1.0], "grounding-tag": [0.0], "sgr-release": [0.0], "overlong": [-1.0],
    }  # fmt: skip
    assert weights == [1.0, 0.1, 0.05, 0.2, 1.0] and seen["1"] == 1
    assert completions.found[0].completion.startswith("<think>\n</think>")  # what the template opened is part of it
