"""Small benchmarks in the layouts that are read, and items made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ml.evaluation.bench import Bench, Item
from ml.rewards.rows import Truth


def written(path: Path, tree: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree))
    return path


def item(id: str = "q1", key: str = "B", **more: Any) -> Item:
    """A question with four persons to choose from."""
    told: dict[str, Any] = {
        "question": "Who does Person 0 look at?",
        "options": ("Person 1", "Person 2", "Person 3", "no one"),
        "recording": f"video of {id}",
    }
    return Item(id, key=tuple(key.split(",")), **(told | more))


def bench(*items: Item, **more: Any) -> Bench:
    return Bench("hand-made", "grasp", items, **more)


GRASP: dict[str, Any] = {
    "clip_file": "game1_qa0001.mp4", "clip_duration": 60.0, "clip_offset": 12.0, "video_name": "game1",
    "id": "g1", "scheme": "data", "persons": [0, 1, 2],
    "gt_events": [{"source": "gaze", "persons": [0, 2], "start": 1.0, "end": 3.0}],
    "qa": {
        "question": "Who does Person 0 look at?", "options": ["A) Person 1", "B) Person 2", "C) no one", "D) Person 3"],
        "answer": "B", "answer_text": "Person 2", "category": "T4", "difficulty": "medium", "format": "mcq",
        "dataset": "werewolf",
    },
}  # fmt: skip
MMSI: dict[str, Any] = {
    "id": 7, "task": "PCR", "clip_name": "g3_0012", "video_path": "videos/g3.mp4", "dataset": "youtube",
    "game_id": "g3", "speaker": "P1", "player_num": 3, "utterance": "I think he lies.",
    "context": [{"speaker": "P0", "utterance": "Who is it?"}, "P1: I think he lies.", "P2: No."],
    "choices": ["P0", "P1", "P2"], "question": "Who is he?", "answer": "P2", "answer_idx": 2,
}  # fmt: skip
TVQA: dict[str, Any] = {
    "qid": 11, "vid_name": "s01e02_seg01_clip_00", "q": "Where is Sheldon?", "a0": "At home", "a1": "Out",
    "a2": "In bed", "a3": "At work", "a4": "Here", "answer_idx": "1", "ts": [3.1, 7.0],
    "bbox": {"12": [{"img_id": 12, "left": 1, "top": 2, "width": 3, "height": 4, "label": "Sheldon"}]},
}  # fmt: skip
INTENT: list[dict[str, Any]] = [
    {
        "problem": "Why does he smile?", "problem_type": "multiple choice", "data_type": "video", "qid": "i1",
        "options": ["A. He is glad.", "B. He lies."], "video": "a/v1.mp4", "Type": "Why",
        "solution": "<context>c</context><think>So B?</think><answer> B. </answer>",
    },
    {
        "problem": "Which emotions?", "problem_type": "emer_ov_mc", "data_type": "video", "qid": "i2",
        "options": ["A. joy", "B. fear", "C. anger"], "path": {"video": "a/v2.mp4", "audio": "a/v2.wav"},
        "Type": "Emotion", "solution": "<answer>C, A</answer>",
    },
    {
        "problem": "Does he know her?", "problem_type": "judge", "data_type": "video", "qid": "i3", "options": [],
        "video": "a/v1.mp4", "Type": "When", "solution": "<answer>No</answer>",
    },
    {
        "problem": "Tell.", "problem_type": "free-form", "data_type": "video", "qid": "i4", "options": [],
        "video": "a/v1.mp4", "Type": "When", "solution": "a story",
    },
]  # fmt: skip
DAILY: dict[str, Any] = {
    "Question": "What is heard first?", "Choice": ["A. A bell", "B. A dog", "C. Rain", "D. Music"], "Answer": "D",
    "video_id": "x9", "Type": "Event Sequence", "content_parent_category": "Pets", "video_duration": "30s",
}  # fmt: skip
WORLD: dict[str, Any] = {
    "vid1": {
        "domain": "Music", "duration": "<1min",
        "task0": {"question": "q?", "candidates": ["A. one", "B. two"], "answer": "A", "task_type": "Counting",
                  "task_domain": "Recognition"},
        "task1": {"question": "r?", "candidates": ["A. one", "B. two"], "answer": "B", "task_type": "Emotion",
                  "task_domain": "Reasoning"},
    },
    "vid2": {"task0": {"question": "s?", "candidates": ["A. one", "B. two"], "answer": "B", "task_type": "Counting"}},
}  # fmt: skip
GAZE = Truth("gaze", frozenset({0, 2}), (1.0, 3.0))
