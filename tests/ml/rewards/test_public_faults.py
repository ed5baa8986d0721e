"""What is broken in the rewards of the public AffectOmni code, end to end: over HTTP, through what a trainer calls.

Person and order lexica, and letters of answers, are in `test_others`; that the groups of two processes stay together is
tested where two processes train.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ml.endpoint.client import Endpoint
from ml.rewards import registry
from ml.rewards.comparative import EndpointJudge
from ml.rewards.rows import Row
from ml.training import configs, rollouts
from ml.training.rows import reward_row
from tests.ml.endpoint.server import Answer, Server, fails, said, says
from tests.ml.training.samples import row

K = 4
QUALITIES = (3, 1, 4, 2)  # of the candidates, in their order
PUBLIC_CUT = 800  # characters that the public judge is shown at most


def completion(quality: int) -> str:
    """Like all others but for its end, far behind the public cut."""
    return (
        f"<think>\n{'Person 1 looks at Person 2. ' * 60}In the end this is worth {quality}.\n</think><answer>B</answer>"
    )


def candidates(body: dict[str, Any]) -> list[tuple[str, int]]:
    """Id and quality of each candidate, in the order shown."""
    found = re.findall(r"candidate (\w+) begins\n(.*?)\n=+ candidate \1 ends", said(body), re.DOTALL)
    return [(id, int(worth[1]) if (worth := re.search(r"worth (\d)", text)) else -1) for id, text in found]


def ranking(groups: Sequence[Sequence[str]]) -> Answer:
    return says({"ranking": [list(group) for group in groups]})


def fairly(body: dict[str, Any]) -> Answer:
    return ranking([[id] for id, _ in sorted(candidates(body), key=lambda one: -one[1])])


def rewards(script: Callable[[dict[str, Any]], Answer], *names: str) -> tuple[dict[str, list[float | None]], Server]:
    """What the functions of a trainer give for one prompt with K completions, and what was asked."""
    weights = json.dumps(dict.fromkeys(names, 1.0))
    config = configs.load(
        "tiny-cpu",
        "grpo",
        [f"rewards.weights={weights}", f"rollouts.num_generations={K}", "rollouts.overlong_tokens=0"],
    )
    asked = row(1, options=("a stranger smiles", "an old friend waves", "nobody"))
    with Server(script) as server, Endpoint(server.config(attempts=2)) as endpoint:
        functions, _, _ = rollouts.functions(
            config,
            rollouts.Completions({asked.id: asked}, ""),
            judge=EndpointJudge(endpoint),
            gather=lambda mine: mine,
            scatter=lambda values: values,
        )
        told = {"completions": [[{"role": "assistant", "content": completion(q)}] for q in QUALITIES]}
        found = {f.__name__: f(**told, row=[asked.id] * K, completion_ids=[[0]] * K) for f in functions}
    return found, server


@pytest.mark.parametrize("name", ["person-focus-judged", "temporal-order-judged", "comparative-judge"])
def test_a_score_is_the_judges_word_and_not_the_candidates_number(name: str) -> None:
    found, server = rewards(fairly, name)
    assert found[name] == pytest.approx([2 / 3, 0.0, 1.0, 1 / 3])
    assert len(server.asked) == 2  # all candidates at once, in two orders
    shown = [[quality for _, quality in candidates(body)] for body in server.asked]
    assert shown[0] == shown[1][::-1] and sorted(shown[0]) == sorted(QUALITIES)
    assert all(
        len(said(one)) > PUBLIC_CUT * K and said(one).count("In the end this is worth") == K for one in server.asked
    )


@pytest.mark.parametrize(
    "text",
    [
        "Candidate 1: 8.5\nCandidate 2: 7.0\nCandidate 3: 9.5\nCandidate 4: 6.0",  # read as 1, 2, 3, 4 of 10 there
        "1. 8.5\n2. 7\n3. 9.5\n4. 6",
        '{"scores": [8.5, 7.0, 9.5, 6.0]}',
        '{"ranking": [1, 2, 3, 4]}',
        '{"ranking": [["1"], ["2"], ["3"], ["4"]]}',
        "",
    ],
)
def test_a_reply_in_another_form_is_no_value(text: str) -> None:
    found, server = rewards(lambda body: says(text), "person-focus-judged")
    assert found["person-focus-judged"] == [None] * K
    assert len(server.asked) > 1  # it was asked again


@pytest.mark.parametrize("failure", [fails(500, "boom"), fails(401, "who are you"), Answer(body=b"<html>")])
def test_a_judge_that_fails_gives_no_value_and_no_half(failure: Answer) -> None:
    found, _ = rewards(lambda body: failure, "temporal-order-judged", "accuracy")
    assert found["temporal-order-judged"] == [None] * K
    assert found["accuracy"] == [1.0] * K  # the others are not touched


def test_half_of_the_group_judged_is_no_value_either() -> None:
    def once(body: dict[str, Any]) -> Answer:
        told.append(body)
        return fairly(body) if len(told) == 1 else fails(500)

    told: list[Any] = []
    assert rewards(once, "comparative-judge")[0]["comparative-judge"] == [None] * K


def test_what_lies_between_two_ranks_is_kept() -> None:
    """In one order the two best are told apart one way, in the other the other way: 2.5 of 3 for both."""

    def torn(body: dict[str, Any]) -> Answer:
        order = [id for id, _ in sorted(candidates(body), key=lambda one: -one[1])]
        told.append(body)
        return ranking([[id] for id in (order if len(told) == 1 else [order[1], order[0], *order[2:]])])

    told: list[Any] = []
    found, _ = rewards(torn, "comparative-judge")
    assert found["comparative-judge"] == pytest.approx([2.5 / 3, 0.0, 2.5 / 3, 1 / 3])


def test_a_tie_is_a_tie() -> None:
    """The public prompt forces a spread, which makes an advantage of noise."""
    found, _ = rewards(lambda body: ranking([[id for id, _ in candidates(body)]]), "comparative-judge")
    assert found["comparative-judge"] == [0.5] * K


def test_options_reach_every_reward() -> None:
    """The public data never hands them on, so that its `thinking_focus` is 0.5 for ever."""
    found, server = rewards(fairly, "comparative-judge", "thinking-focus", "accuracy")
    for body in server.asked:
        assert all(option in said(body) for option in ("a stranger smiles", "an old friend waves", "nobody"))
    assert found["thinking-focus"] == [0.3] * K  # none of their words is said: a value, by hand
    about = {"options": ("a stranger smiles", "an old friend waves", "nobody"), "answer": "B"}
    told = "<think>\nSomebody waves like an old friend.\n</think><answer>B</answer>"
    assert [registered(name, reward_row(row(1, **about), told)) for name in ("thinking-focus", "accuracy")] == [
        1.0,
        1.0,
    ]
    assert registered("thinking-focus", reward_row(row(1, **(about | {"answer": "A"})), told)) == 0.0
    assert registered("thinking-focus", Row(told, answer="B")) is None  # without options: no value, not a half


def registered(name: str, one: Row) -> float | None:
    return registry.score([one], [name])[0][name]
