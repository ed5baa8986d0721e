"""A released item (`webapp.bench.freezing`) in the layouts it is given out in. Pure: trees in, trees out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from string import ascii_uppercase
from typing import Any

from ml.formats.grasp_annotations import Row as AnnotationRow
from ml.formats.grasp_annotations import build_row
from ml.formats.hf_dataset import Row
from ml.formats.vlmevalkit import Line
from ml.questions.taxonomy import CATEGORIES, Scheme
from ml.text.answers import letter_of

Item = dict[str, Any]
Tree = dict[str, Any]
GRASP_KINDS = {"single": "mcq", "open": "open_ended"}
SCHEME: Scheme = "data"  # of the codes; every item says so, or whoever reads it would have to ask
LETTERED = ("single", "yes_no")


def clip_name(item: Item, number: int) -> str:
    """The clip's file: of the video's hash and the item's number in the release, never of names people gave."""
    return f"{item['video']['sha256'][:12] or 'video'}_qa{number:04d}.mp4"


def code_of(item: Item) -> str:
    return CATEGORIES[item["category"]].code(SCHEME)


def grasp_item(item: Item, number: int, dataset: str = "") -> Tree:
    """The item in the layout of GRASP's benchmark (data scheme), with what that has no place for beside it."""
    clip, video, span = item["clip"], item["video"], item["span"]
    offset = clip["offset_s"]
    options = [f"{letter_of(at)}) {text}" for at, text in enumerate(item["options"])]
    qa = {
        "question": item["question"],
        "options": options,
        "answer": item["answer_text"] if item["kind"] == "open" else item["answer"],
        "answer_text": item["answer_text"],
        "category": code_of(item),
        "difficulty": item["difficulty"],
        "format": GRASP_KINDS.get(item["kind"], "mcq"),
        "reasoning": item["reasoning"],
        "source_event_ids": item["provenance"]["events"],
        "time_range": [span["start_s"], span["end_s"]],
        "video_id": video["sha256"],
        "dataset": dataset,
    }
    if item["kind"] == "open":
        del qa["options"]
    return {
        "clip_file": clip_name(item, number),
        "clip_duration": clip["duration_s"],
        "clip_offset": offset,
        "video_name": PurePath(video["name"]).stem,
        "qa": qa,
        "id": item["id"],
        "scheme": SCHEME,
        "media_sha256": video["sha256"],
        "source_recording": video["recording"],
        "start_frame": span["start"],
        "end_frame": span["end"],
        "clip_start_frame": clip["start"],
        "clip_end_frame": clip["end"],
        "gt_events": item["gt_events"],
        **({} if item["visible"] is None else {"persons": item["visible"]}),
    }


def annotation(item: Item, number: int, split: str, sha256: str) -> Tree:
    """The item's line of annotations.jsonl."""
    row = AnnotationRow(
        id=item["id"],
        video=f"video/{clip_name(item, number)}",
        source=item["video"]["recording"],
        category=code_of(item),
        difficulty=item["difficulty"],
        format=GRASP_KINDS.get(item["kind"], item["kind"]),
        extra={
            "scheme": SCHEME,
            "slug": item["category"],
            "split": split,
            "sha256": sha256,
            "media_sha256": item["video"]["sha256"],
        },
    )
    return build_row(row)


def hf_row(item: Item, number: int, sha256: str) -> Row:
    """The item's row of the Parquet table."""
    clip, video, span = item["clip"], item["video"], item["span"]
    answer = item["answer"]
    return {
        "id": item["id"],
        "number": number,
        "question": item["question"],
        "options": item["options"],
        "answer": ",".join(answer) if isinstance(answer, list) else f"{answer}",
        "answer_text": item["answer_text"],
        "kind": item["kind"],
        "category": item["category"],
        "category_code": code_of(item),
        "difficulty": item["difficulty"],
        "video": f"video/{clip_name(item, number)}",
        "clip_duration": clip["duration_s"],
        "clip_offset": clip["offset_s"],
        "clip_sha256": clip["sha256"],
        "media_sha256": video["sha256"],
        "source_recording": video["recording"],
        "licence": video["licence"],
        "start_frame": span["start"],
        "end_frame": span["end"],
        "time_range": [span["start_s"], span["end_s"]],
        "persons": item["persons"],
        "reasoning": item["reasoning"],
        "gt_events": item["gt_events"],
        "sha256": sha256,
    }


def vlmeval_line(item: Item, number: int, split: str) -> Line:
    """The item's line of VLMEvalKit's table."""
    return Line(
        index=number,
        question=item["question"],
        options=list(item["options"]),
        answer=item["answer"],
        video=f"video/{clip_name(item, number)}",
        category=item["category"],
        l2_category=CATEGORIES[item["category"]].group,
        split=split,
        extra={"id": item["id"], "difficulty": item["difficulty"]},
    )


def letters_of(items: Iterable[Item]) -> dict[str, int]:
    """How often each letter is the key, over all items with one."""
    keys = [item["answer"] for item in items if item["kind"] == "single"]
    most = max((ascii_uppercase.index(key) for key in keys), default=-1) + 1
    return {letter: keys.count(letter) for letter in ascii_uppercase[:most]}


def lettered(items: Sequence[Item]) -> list[bool]:
    """Which items ask for one letter."""
    return [item["kind"] in LETTERED for item in items]
