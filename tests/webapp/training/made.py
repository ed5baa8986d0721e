"""Snapshots and runs made the short way: rows, and the files that a training reads."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from django.db import transaction

from ml.training.rows import Clip, Event, TrainingRow, build_row, stream
from ml.training.snapshot import facts_of
from tests.webapp.factories import make_video
from webapp.bench.models import Question
from webapp.library.models import Project, Video
from webapp.runs import folders, services
from webapp.runs.models import DatasetSnapshot, SnapshotItem, TrainingRun
from webapp.runs.recording import Origin, keep_snapshot

MODEL = "tiny"


def row(number: int, split: str = "train", **more: Any) -> TrainingRow:
    """A question about who looks at whom; item `number` of a snapshot. Clips have their number as content."""
    values: dict[str, Any] = {
        "id": hashlib.sha256(f"item {number}".encode()).hexdigest(),
        "question": f"Who does Person 0 look at in part {number}?",
        "clip": Clip(hashlib.sha256(clip_bytes(number)).hexdigest(), 4.0),
        "options": ("Person 1", "Person 2", "Person 3", "nobody"),
        "answer": "ABCD"[number % 4],
        "answer_text": f"Person {number % 4 + 1}",
        "reasoning": "<think>So.</think><answer>A</answer>" if number % 2 else "",
        "events": (Event("gaze", (0, number % 4 + 1), 1.0, 2.0),),
        "visible": (0, 1, 2, 3),
        "category": ("gaze_target", "mutual_gaze")[number % 2],
        "difficulty": "easy",
        "recording": f"recording {number}",
        "split": split,
    }
    return TrainingRow(**(values | more))


def clip_bytes(number: int) -> bytes:
    return f"clip {number}".encode()


def model(name: str = MODEL) -> str:
    """A folder that passes for a model's, among the configured ones."""
    from django.conf import settings

    folder = settings.BASE_MODELS[-1] / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3_vl"}))
    (folder / "model.safetensors").write_bytes(b"0" * 64)
    return name


def snapshot(
    project: Project, items: int = 6, *, video: Video | None = None, others: Video | None = None, **more: Any
) -> DatasetSnapshot:
    """A ready snapshot, its last row for validation. Row 0 is of `video`, the others of another one."""
    first = video or make_video(project, name=f"first {project.snapshots.count()}.mp4")
    rest = others or make_video(project, name=f"rest {project.snapshots.count()}.mp4")
    rows = [row(number, "validation" if number == items - 1 else "train") for number in range(items)]
    train = [one for one in rows if one.split == "train"]
    counts = {
        split: {
            "items": len(group),
            "sft": sum("sft" in one.stages for one in group),
            "grpo": sum("grpo" in one.stages for one in group),
        }
        for split, group in (("train", train), ("validation", rows[-1:]))
    }
    facts: dict[str, Any] = {
        "version": 1, "name": "made", "hash": "5a" * 32, "counts": counts, "leaks": [],
        "coverage": {"train": 1.0, "validation": 1.0}, "recordings": {"train": [], "validation": []},
    }  # fmt: skip
    made = DatasetSnapshot.objects.create(
        project=project, number=services.next_number(project=project, kind="snapshot"), name="made", state="ready",
        hash=facts["hash"], facts=facts, **more,
    )  # fmt: skip
    for number, one in enumerate(rows):
        tree = build_row(one)
        kept = {name: value for name, value in tree.items() if name not in ("id", "split", "reasoning", "clip")}
        of = first if number == 0 else rest
        SnapshotItem.objects.create(
            snapshot=made, item_hash=one.id, question=question(of, number), question_version=1, video=of,
            split=one.split, row=kept,
        )  # fmt: skip
    write_files(made, rows, facts)
    return made


def adopted(project: Project, folder: Path) -> DatasetSnapshot:
    """A snapshot of the database from a folder that `ml.training.snapshot` built; all of it is of one video."""
    facts = facts_of(folder)
    made = DatasetSnapshot.objects.create(
        project=project, number=services.next_number(project=project, kind="snapshot"), name=facts["name"],
        state="ready", hash=facts["hash"], facts=facts,
    )  # fmt: skip
    video = make_video(project, name=f"all of snapshot {made.number}.mp4")
    rows = [build_row(one) for one in stream(folder)]
    origins = {row["id"]: Origin(None, 1, video.id, None) for row in rows}
    with transaction.atomic():
        keep_snapshot(snapshot_id=made.id, facts=facts, rows=rows, origins=origins)
    shutil.copytree(folder, folders.snapshot(made.id))
    made.refresh_from_db()
    return made


def question(video: Video, number: int) -> Question:
    taken = Question.objects.filter(project=video.project).count() + 1
    return Question.objects.create(
        project=video.project, video=video, number=taken, category="gaze_target", difficulty="easy",
        text=f"Question {number}?", start=0, end=50, state="accepted",
    )  # fmt: skip


def write_files(made: DatasetSnapshot, rows: list[TrainingRow], facts: dict[str, Any]) -> None:
    folder = folders.snapshot(made.id)
    (folder / "clips").mkdir(parents=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(build_row(one)) + "\n" for one in rows))
    (folder / "snapshot.json").write_text(json.dumps(facts))
    for number, one in enumerate(rows):
        (folder / one.clip.file).write_bytes(clip_bytes(number))


def run(
    made: DatasetSnapshot, *, ready: bool = True, overrides: dict[str, Any] | None = None, **more: Any
) -> TrainingRun:
    """A draft on the tiny preset; `ready`: as after a preflight that found nothing wrong."""
    values = {"stage": "grpo", "preset": "tiny-cpu", "base_model": model(), "user": None} | more
    found = services.create_run(project=made.project, snapshot=made, overrides=overrides, **values)
    if ready:
        found.preflight = {"state": "done", "for": services.preflight_key(found), "errors": [], "warnings": []}
        found.save(update_fields=["preflight"])
    return found
