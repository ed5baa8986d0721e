"""Advantages of completions from their rewards: the released form of GRASP, beside those TRL has.

Rewards are a tensor (completions, rewards) in which the K completions of a prompt stand side by side; NaN is "no
value". TRL's own forms (group, batch, none) work on the weighted sum: with `none` and every value there, the released
form differs from it by the clip alone, since centring is linear.
"""

from __future__ import annotations

from typing import Any


def released(rewards: Any, weights: Any, k: int, clip: float) -> Any:
    """Advantages (completions,) as released: each reward centred in its group, weighted, summed, clipped to +-clip.

    Nothing is divided by a standard deviation. A completion without a value of a reward gets nothing from it, and the
    group's mean is that of the values there are: "no value" is no zero.
    Source: the training code of GRASP's release.
    """
    import torch

    grouped = rewards.view(-1, k, rewards.shape[1])
    known = ~torch.isnan(grouped)
    filled = torch.where(known, grouped, torch.zeros_like(grouped))
    mean = filled.sum(1, keepdim=True) / known.sum(1, keepdim=True).clamp(min=1)
    centred = torch.where(known, grouped - mean, torch.zeros_like(grouped))
    total = (centred * weights.to(centred)).sum(2)
    return total.clamp(-clip, clip).reshape(-1)


def overlong(length: int, most: int, last: int, penalty: float) -> float:
    """The penalty of a completion's length in tokens, 0 to -penalty: linear over the `last` tokens up to `most`."""
    if last <= 0:
        return 0.0
    return -penalty * min(1.0, max(0.0, (length - (most - last)) / last))
