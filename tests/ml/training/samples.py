"""Small snapshots for tests: rows by hand, clips with the frame number burnt in."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ml.formats.hashing import sha256_of
from ml.training import snapshot
from ml.training.rows import Clip, Event, TrainingRow
from tests.clips import steady, write

TRACE = (
    "<think>\nI look at the time from 0.0 s to 2.0 s.\n"
    "<gaze>Person 1 looks at Person 2 from 0.5 s to 1.5 s.</gaze>\nSo the answer is: Person 2.\n</think>"
)


def clip(folder: Path, number: int, *, frames: int = 20, size: tuple[int, int] = (64, 48)) -> Path:
    """A clip of 2 s at 10 frames per second; another number is another file."""
    path = folder / f"clip{number}.mp4"
    write(path, steady(frames + number, Fraction(10), size=size))
    return path


def row(number: int = 1, **more: Any) -> TrainingRow:
    """A question with three options, answer B, and one gaze event with the novel Person 2."""
    told: dict[str, Any] = {
        "id": f"{number:064x}",
        "question": "Who does Person 1 look at?",
        "options": ("Person 3", "Person 2", "nobody"),
        "answer": "B",
        "answer_text": "Person 2",
        "reasoning": f"{TRACE}\n<answer>B</answer>",
        "events": (Event("gaze", (1, 2), 0.5, 1.5),),
        "visible": (1, 2, 3),
        "category": "gaze_target",
        "difficulty": "easy",
        "recording": f"tape {number}",
        "video_name": f"tape{number}.mp4",
        "video_sha256": f"{number:064x}",
        "clip": Clip(f"{number:064x}", 2.0, 10.0),
        "provenance": {"project": "p", "question": f"q{number}", "number": number, "version": 1},
    }
    return TrainingRow(**(told | more))


def made(folder: Path, count: int = 4, *, per_clip: int = 1, share: float = 0.25, **more: Any) -> Path:
    """A snapshot of `count` clips of a recording each, with `per_clip` questions about each."""
    videos = folder / "videos"
    videos.mkdir(parents=True)
    rows, clips = [], {}
    for number in range(1, count + 1):
        path = clip(videos, number)
        sha256 = sha256_of(path)
        clips[sha256] = path
        for at in range(per_clip):
            asked = row(number * 100 + at, video_sha256=f"{number:064x}", recording=f"tape {number}")
            rows.append(replace(asked, clip=Clip(sha256, 2.0 + number / 10, 0.0)))
    out = folder / "snapshot"
    snapshot.build(rows, clips.__getitem__, out, name="tapes", validation_share=share, **({"pictures": False} | more))
    return out
