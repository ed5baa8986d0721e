"""10,000 items with events, training split and near-duplicates to look for: under 30 s on two cores."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ml.questions.lint import recordings, tables
from ml.questions.lint.one import World
from ml.questions.lint.run import lint_file
from tests.ml.questions.lint.clean import make

ITEMS = 10_000


def write(folder: Path, per_video: int) -> tuple[Path, Path, Path]:
    """Items, events (one file a video) and a training split of as many records, `per_video` items from one video."""
    events: dict[str, list[dict[str, object]]] = {}
    with (folder / "items.jsonl").open("w") as items, (folder / "train.jsonl").open("w") as train:
        for number in range(ITEMS):
            made = make(number)
            name = f"video_{number // per_video:05d}"
            made.tree["video_name"] = made.qa["video_id"] = name
            made.tree["clip_file"] = f"{name}_qa{number:04d}.mp4"
            for event in made.events:
                event["event_id"] = len(events.setdefault(name, []))
                events[name].append(event)
            items.write(json.dumps(made.tree) + "\n")
            train.write(json.dumps({"id": number, "video": f"train_{number}", "source": "synthetic"}) + "\n")
    (folder / "events").mkdir()
    for name, listed in events.items():
        tree = {"video_path": f"{name}.mp4", "video_fps": 25, "sample_fps": 2, "events": listed}
        (folder / "events" / f"{name}_events.json").write_text(json.dumps(tree))
    return folder / "items.jsonl", folder / "events", folder / "train.jsonl"


@pytest.mark.bench
@pytest.mark.parametrize("per_video", [4, 100])
def test_ten_thousand_items(tmp_path: Path, figure: Callable[..., None], per_video: int) -> None:
    items, events, train = write(tmp_path, per_video)
    wall, cpu = time.perf_counter(), time.process_time()
    world = World(scheme="data", tables=tables.read([events]), train=list(recordings.train(train)))
    report = lint_file(items, world)
    seconds, spent = time.perf_counter() - wall, time.process_time() - cpu
    assert report.items == ITEMS
    figure(f"lint 10,000 items, {per_video:,} a video", seconds, "s", budget=30, note=f"{spent:.1f} s of processor")
    assert spent < 60


@pytest.mark.bench
def test_ten_thousand_like_questions_of_one_video(tmp_path: Path, figure: Callable[..., None]) -> None:
    """The worst case of the search for duplicates: one block."""
    tree = make(0).tree
    path = tmp_path / "items.jsonl"
    with path.open("w") as out:
        for number in range(ITEMS):
            question = f"With whom does Person 3 make eye contact, take {number}, at 2.5 s?"
            out.write(json.dumps(tree | {"qa": tree["qa"] | {"question": question}}) + "\n")
    begin = time.perf_counter()
    report = lint_file(path, World(scheme="data"))
    figure("lint 10,000 like questions of one video", time.perf_counter() - begin, "s", budget=30)
    assert report.items == ITEMS
