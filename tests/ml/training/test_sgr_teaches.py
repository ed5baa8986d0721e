"""Does the Social Grounding Reward teach a policy to name who takes part, where being right does not?

The world is `closed_world`: the picture alone tells who looks, the question alone tells the letter. A tiny policy is
warmed up by `ml.training.sft` on careless traces, then trained twice by `ml.training.grpo` from the same weights, on
the same prompts, with the same seed and the product's own rewards: once with the weights of GRASP (accuracy 1.0, form
0.1, block 0.05) and strict SGR at GRASP's 0.2, once without SGR. Both are then asked, greedily and by the product's own
evaluation, about recordings that no training saw. What is compared is the mean grounded-participant precision
(`ml.evaluation.grounded`; a reply that names nobody counts as 0).

Written down before the three seeds were run: the mean over three seeds of (precision with SGR - precision without) is
at least MARGIN = 0.15, and the difference is above 0 in each. Why 0.15: replies about one person are mostly alike, so
that a person told apart or not moves a seed's difference by 0.25 and the mean by 0.083; 0.15 takes two persons more of
the twelve, which no single chance gives. Steps and learning rates were chosen on seed 100, which is none of the three.
Found then: gains of 0.44, 0.47 and 0.25, in 232 s of CPU in all.

The model is 0.3 M random weights with each sentence that never changes as one token, so this shows that pictures,
rewards, advantages and updates of the product work together. It says nothing about the size of the effect elsewhere.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ml import torchside
from ml.evaluation import grounded, tables
from ml.evaluation.bench import Bench
from ml.evaluation.frames import Look
from ml.evaluation.models import Asking
from ml.training import messages, rows
from tests.figures import Record
from tests.ml.training import closed_world, running

pytestmark = [
    pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed"),
    pytest.mark.usefixtures("training_process"),
]
MARGIN = 0.15
SEEDS = (1, 2, 3)
WITHOUT = {"accuracy": 1.0, "format-grasp": 0.1, "grounding-tag": 0.05}
SMALL = (
    "frames.most=2",
    "frames.longest=32",
    "frames.most_pixels=1024",
    "run.save_steps=1000",
    "run.tensorboard=false",
)
SFT = (*SMALL, "train.max_steps=60", "train.learning_rate=3e-3", "train.per_device_batch=16")
GRPO = (
    *SMALL,
    "train.max_steps=60",
    "train.learning_rate=1e-3",
    "train.per_device_batch=32",  # 4 prompts x 8
    "rollouts.num_generations=8",
    "rollouts.max_new_tokens=18",
    "rollouts.overlong_tokens=0",
)


def asked(model: Path, snapshot: Path) -> tuple[float, float]:
    """Mean grounded precision and accuracy over each held-out clip and question."""
    from ml.evaluation.local import LocalModel

    once = {(row.clip, row.question): row for row in rows.read(snapshot, "grpo", rows.VALIDATION)}
    items = [messages.item_of(row) for row in once.values()]
    assert len(items) == len(closed_world.PERSONS) * len(closed_world.THINGS) * closed_world.RECORDINGS // 3
    bench = Bench("closed world", "grasp", tuple(items), videos=snapshot)
    local = LocalModel(model, Asking(bench, Look(2, 1.0, 32), tokens=20))
    replies = [tables.scored(item, local.answer(item)) for item in items]
    assert all(one.reply.error is None and one.reply.frames == 2 for one in replies)
    precisions = [grounded.precision(one) or 0.0 for one in replies]
    return float(np.mean(precisions)), float(np.mean([one.reads["strict"].score for one in replies]))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_sgr_teaches_who_takes_part_and_accuracy_does_not(tmp_path: Path, figure: Record) -> None:
    differences = []
    for seed in SEEDS:
        home = tmp_path / f"seed{seed}"
        snapshot = closed_world.made(home / "world", seed)
        model = closed_world.model(home / "model", seed)
        assert running.run("sft", snapshot, model, home / "sft", *SFT, f"train.seed={seed}") == 0
        warmed = home / "sft/final"
        found = {"warm-up": asked(warmed, snapshot)}
        for name, weights in (("with SGR", WITHOUT | {"sgr-strict": 0.2}), ("without", WITHOUT | {"sgr-strict": 0.0})):
            out = home / name
            sets = (*GRPO, f"train.seed={seed}", f"rewards.weights={json.dumps(weights)}")
            assert running.run("grpo", snapshot, warmed, out, *sets) == 0
            found[name] = asked(out / "final", snapshot)
        differences.append(found["with SGR"][0] - found["without"][0])
        told = "; ".join(f"{name} {precision:.2f}, accuracy {right:.2f}" for name, (precision, right) in found.items())
        figure(f"SGR teaches, seed {seed}: gain in grounded precision", differences[-1], note=told)
        # else it would be no comparison: both can answer, and the warm-up left something to learn
        assert min(found["with SGR"][1], found["without"][1]) >= 0.9 and found["warm-up"][0] < 0.9
    figure("SGR teaches: mean gain over accuracy alone, 3 seeds", np.mean(differences), budget=MARGIN, at_least=True)
    assert np.mean(differences) >= MARGIN and min(differences) > 0
