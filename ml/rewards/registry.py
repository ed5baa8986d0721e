"""Rewards by name, and the presets of the two papers.

The AffectOmni presets name the lexicon forms, which need nothing else; the judged forms take their place where a judge
is set up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ml.rewards import answering, grounding, narrating
from ml.rewards.rows import Row

Reward = Callable[[Row], float | None]

REWARDS: dict[str, Reward] = {
    "accuracy": answering.accuracy,
    "format-grasp": answering.format_grasp,
    "format-affectomni": answering.format_affectomni,
    "grounding-tag": grounding.grounding_tag,
    "sgr-release": grounding.sgr_release,
    "sgr-paper": grounding.sgr_paper,
    "sgr-strict": grounding.sgr_strict,
    "thinking-focus": narrating.thinking_focus,
    "person-focus": narrating.person_focus,
    "temporal-order": narrating.temporal_order,
    "event-order": narrating.event_order,
}
ALIASES = {"format": "format-grasp", "sgr": "sgr-strict"}  # short names; results bear the one that was asked for
GROUPED = {
    "comparative-judge": "reasoning",
    "person-focus-judged": "person-focus",
    "temporal-order-judged": "temporal-order",
}  # need all completions of a prompt and a judge: name -> rubric of `ml.rewards.comparative`

PRESETS: dict[str, dict[str, float]] = {
    "grasp": {"accuracy": 1.0, "format-grasp": 0.1, "grounding-tag": 0.05, "sgr-release": 0.2},
    "affectomni-paper": {"format-affectomni": 1.0, "accuracy": 1.0, "person-focus": 0.2, "temporal-order": 0.2},
    "affectomni-code": {"accuracy": 0.4, "thinking-focus": 0.2, "person-focus": 0.2, "temporal-order": 0.2},
}


def named(name: str) -> Reward:
    """The reward of that name. Raises ValueError with the names there are."""
    found = REWARDS.get(ALIASES.get(name, name))
    if found is None:
        if name in GROUPED:
            raise ValueError(f"The reward {name!r} compares completions of one prompt and needs a judge.")
        raise ValueError(f"There is no reward {name!r}; there are {', '.join([*REWARDS, *ALIASES, *GROUPED])}.")
    return found


def score(rows: Iterable[Row], names: Sequence[str]) -> list[dict[str, float | None]]:
    """Every row's value of every reward; None where a reward has none for it."""
    rewards = {name: named(name) for name in names}
    return [{name: reward(row) for name, reward in rewards.items()} for row in rows]


def total(values: Mapping[str, float | None], weights: Mapping[str, float]) -> float:
    """The weighted sum of the values there are."""
    return sum(weight * value for name, weight in weights.items() if (value := values[name]) is not None)


def coverage(rows: Sequence[Row]) -> float:
    """SGR coverage: the share of rows with a target that the question does not name; NaN without rows."""
    return sum(bool(row.targets) for row in rows) / len(rows) if rows else float("nan")
