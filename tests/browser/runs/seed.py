"""Runs as rows, without any training: curves by formula, and rollouts that the real rewards scored."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

from django.db import transaction

from ml.formats.hashing import sha256_of
from ml.rewards import registry
from ml.rewards.rows import parse_row
from ml.training import configs
from tests.webapp.bench.released import accept, cut_clip
from tests.webapp.bench.scene import make_scene
from webapp.bench import releases
from webapp.bench.models import Clip, Release
from webapp.lib import storage
from webapp.runs import recording, services
from webapp.runs.models import DatasetSnapshot, SnapshotItem, TrainingRun

WEIGHTS = registry.PRESETS["grasp"]
ITEM = {
    "question": "Who does Person 2 look at when the cup is moved?",
    "options": ["Person 1", "Person 3", "Person 4", "No one"],
    "answer": "B",
    "gt_events": [
        {"source": "gaze", "persons": [2, 3], "start": 3.0, "end": 5.0},
        {"source": "gesture", "persons": [1], "start": 3.2, "end": 4.0},
    ],
    "visible_persons": [1, 2, 3, 4],
}
HASH = hashlib.sha256(b"item").hexdigest()
TEXTS = (
    "<think>The cup moves at 3.2 s. <gaze>Person 2 looks at Person 3 from 3.0 to 5.0 s.</gaze> "
    "<gesture>Person 1 gives the cup from 3.2 to 4.0 s.</gesture></think>\n<answer>B</answer>",
    "<think><gaze>Person 2 looks at Person 4.</gaze> Person 1 sits at the left.</think>\n<answer>C</answer>",
    "<think><gaze>Persons 1, 3 and 4 are all looking at somebody.</gaze></think>\n<answer>B</answer>",
    "I think it is Person 3.",
    "<think><gaze>Person 3 is looked at.</gaze></think>\n<answer>B</answer>",
    "<think><gesture>Person 3 reaches.</gesture></think>\n<answer>A</answer>",
    "<think><gaze></gaze><gaze></gaze><gaze></gaze><gaze></gaze></think>\n<answer>D</answer>",
    "<gaze>Person 2 looks at Person 3 from 3 to 5 s",
)


@transaction.atomic
def make_snapshot(project: Any, user: Any, **more: Any) -> DatasetSnapshot:
    counts = {"items": 40, "sft": 24, "grpo": 36}
    facts = {
        "counts": {"train": counts, "validation": {"items": 6, "sft": 4, "grpo": 5}},
        "recordings": {"train": ["kitchen", "office"], "validation": ["garden"]},
        "leaks": [],
        "coverage": {"train": 0.9, "validation": 0.8},
    }
    values = {"number": 1, "name": "Dinner", "state": "ready", "hash": "ab" * 32, "facts": facts, "created_by": user}
    made = DatasetSnapshot.objects.create(project=project, **(values | more))
    services.next_number(project=project, kind="snapshot")
    SnapshotItem.objects.create(snapshot=made, item_hash=HASH, split="train", row=ITEM)
    return made


@transaction.atomic
def make_run(snapshot: DatasetSnapshot, user: Any, *, steps: int = 0, of: int = 200, **more: Any) -> TrainingRun:
    """A run in GRPO with so many logged steps."""
    project = snapshot.project
    config = configs.load("tiny-cpu", "grpo", {"train.max_steps": of})
    number = services.next_number(project=project, kind="run")
    values = {
        "number": number, "name": f"Grounding {number}", "stage": "grpo", "base_model": "tiny", "preset": "tiny-cpu",
        "overrides": {"train.max_steps": of}, "config": services.stored(config), "state": "running", "attempt": 1,
        "max_steps": of, "step": steps, "created_by": user,
    }  # fmt: skip
    made = TrainingRun.objects.create(project=project, snapshot=snapshot, **(values | more))
    log_steps(made, 1, steps)
    return made


def log_steps(run: TrainingRun, first: int, last: int) -> None:
    """Metrics as a training writes them, for steps [first, last]."""
    lines = [{"step": s, "time": 1.8e9 + 3 * s, "values": values_at(s, run.number)} for s in range(first, last + 1)]
    recording.keep_metrics(run=run, lines=lines)
    TrainingRun.objects.filter(id=run.id).update(step=last)
    run.step = last


def values_at(step: int, of: int = 1) -> dict[str, float]:
    wave = math.sin(step * 1.7 + of) + 0.6 * math.sin(step * 0.43)
    rise = 1 - math.exp(-step / (50 + 10 * of))
    return {
        "loss": 0.9 * math.exp(-step / 60) + 0.05 * wave,
        "learning_rate": 1e-5 * min(1, step / 20) * math.cos(min(1.5, step / 140)),
        "grad_norm": 1.5 + 0.4 * wave,
        "entropy": 1.8 - 0.7 * rise + 0.03 * wave,
        "kl": 0.04 * rise + 0.003 * abs(wave),
        "reward": 0.5 + 0.6 * rise + 0.08 * wave,
        "reward_std": 0.3 - 0.15 * rise,
        "frac_reward_zero_std": 0.1 + 0.3 * rise,
        "rewards/accuracy/mean": 0.3 + 0.5 * rise + 0.05 * wave,
        "rewards/accuracy/std": 0.4 - 0.1 * rise,
        "rewards/sgr-release/mean": 0.2 + 0.6 * rise + 0.04 * wave,
        "rewards/sgr-release/std": 0.2,
        "rewards/format-grasp/mean": min(1.0, 0.7 + 0.3 * rise),
        "rewards/format-grasp/std": 0.2 * (1 - rise),
        "completions/mean_length": 120 + 160 * rise + 9 * wave,
        "completions/clipped_ratio": 0.05 + 0.02 * abs(wave),
        "tokens_per_second": 900 + 40 * wave,
        "step_time": 3.1 + 0.2 * wave,
        "sgr_coverage": 0.9,
        "watch/names_everyone": 0.1 + 0.6 * rise + 0.03 * wave,
        "watch/tag_stuffing": 0.05 + 0.01 * abs(wave),
        "watch/length_drift": 1.0 + 0.3 * rise,
        "num_tokens": 4000.0 * step,
    }


def completions(texts: tuple[str, ...] = TEXTS) -> list[dict[str, Any]]:
    """Answers with what the real rewards give them; advantages are the centred totals."""
    names = list(WEIGHTS)
    scored = [registry.score([parse_row(ITEM | {"completion": text})], names)[0] for text in texts]
    totals = [registry.total(values, WEIGHTS) for values in scored]
    middle = sum(totals) / len(totals)
    return [
        {
            "text": text,
            "tokens": len(text) // 4,
            "clipped": not text.endswith(">"),
            "advantage": total - middle,
            "rewards": values,
        }
        for text, values, total in zip(texts, scored, totals, strict=True)
    ]


def keep_rollout(run: TrainingRun, step: int, texts: tuple[str, ...] = TEXTS, category: str = "gaze_following") -> None:
    line = {
        "step": step, "row": HASH, "category": category, "question": ITEM["question"], "options": ITEM["options"],
        "answer": ITEM["answer"], "completions": completions(texts),
    }  # fmt: skip
    recording.keep_rollouts(run=run, lines=[line], weights=WEIGHTS)


def make_release(project: Any, user: Any, folder: Path, recordings: int = 3, each: int = 3) -> Release:
    """A release of accepted questions whose clips can be decoded."""
    from tests.ml.training.samples import clip

    for number in range(recordings):
        scene = make_scene(project, user, source_recording=f"tape {number}")
        _film(cut_clip(scene), clip(folder, number))
        accept(scene, each)
    made = releases.draft(project=project)
    with transaction.atomic():
        return releases.keep(made=made, user=user, id=Release().id)


def _film(row: Clip, file: Path) -> None:
    """Put a real file in the place of the one that stands for a clip."""
    target = storage.local_path(f"{row.folder}/clip.mp4")
    assert target is not None
    target.write_bytes(file.read_bytes())
    row.facts |= {"sha256": sha256_of(file), "bytes": file.stat().st_size}
    row.save(update_fields=["facts"])
