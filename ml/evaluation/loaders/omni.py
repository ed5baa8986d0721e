"""IntentBench, Daily-Omni and WorldSense: benchmarks with sound, which is not given to models here.

IntentBench: {"problem", "options": ["A. .."], "solution": tags around the answer, "problem_type", "data_type", "video"
or "path", "qid", "Type"}; problem types: multiple choice (a letter), emer_ov_mc (several letters, F1 by item), judge
(yes or no), numerical (equal at two decimals). The others (OCR, regression, free-form) are left out and counted.

Daily-Omni: {"Question", "Choice": [..], "Answer", "video_id", "Type", "content_parent_category"?, "video_duration"?};
its video is <video_id>/<video_id>_video.mp4.

WorldSense: {video id: {"domain"?, "task0": {"question", "candidates", "answer", "task_type", "task_domain"}, ..}}; its
video is <video id>.mp4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ml.evaluation.bench import LETTER, LETTERS, NUMBER, YES_NO, Bench, Item, Wanted, gathered, lettered
from ml.evaluation.loaders import common
from ml.formats import jsonfields as read
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries
from ml.text import tags

SOUND = "the sound, which the benchmark asks about as well"
_TYPES = {"multiple choice": LETTER, "emer_ov_mc": LETTERS, "judge": YES_NO, "numerical": NUMBER}
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")


def load_intentbench(path: Path, wanted: Wanted) -> Bench:
    """Raises FormatError."""
    return gathered(path.stem, "intentbench", _each(path, _intent), sound=SOUND)


def load_daily_omni(path: Path, wanted: Wanted) -> Bench:
    """Raises FormatError."""
    return gathered(path.stem, "daily-omni", _each(path, _daily), sound=SOUND)


def load_worldsense(path: Path, wanted: Wanted) -> Bench:
    """Raises FormatError."""
    return gathered(path.stem, "worldsense", _world(path), sound=SOUND)


def tasks_of(video: Mapping[str, Any]) -> list[str]:
    """The names of a WorldSense video's tasks, in order."""
    names = [name for name in video if re.fullmatch(r"task_?\d+", name) and isinstance(video[name], Mapping)]
    return sorted(names, key=lambda name: int(re.sub(r"\D", "", name)))


def _each(path: Path, make: Any) -> Iterator[Item | str]:
    for entry in common.unwrapped(path):
        try:
            made = make(read.mapping(entry.tree, "the item"), entry.position)
            yield made if isinstance(made, str) else lettered(made, "the item")
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error


def _intent(tree: Mapping[str, Any], position: int) -> Item | str:
    kind = _TYPES.get(common.words(tree, "problem_type").strip().lower())
    if kind is None:
        return f"problem type {common.words(tree, 'problem_type')}: no key to compare with"
    solution = tree.get("solution", tree.get("answer"))
    if solution is None:
        raise FormatError("the field solution is missing.")
    listed = tree.get("options") or []
    offered = common.options(listed, "options") if kind in (LETTER, LETTERS) else ()
    where = tree.get("video") or tree.get("path")
    if isinstance(where, Mapping):  # {"image": .., "audio": ..} or {"video": ..}
        where = where.get("video", where.get("image"))
    video = read.text(where, "video") if where is not None else ""
    return Item(
        id=common.words(tree, "qid", "problem_id", default=f"item-{position:05d}"),
        question=common.words(tree, "problem"),
        options=offered,
        key=_solution(solution, kind, offered),
        kind=kind,
        category=common.words(tree, "Type", "type", "problem_type"),
        source=common.words(tree, "data_source", "dataset", default=""),
        recording=Path(video).stem,
        video=video or None,
    )


def _solution(value: Any, kind: str, offered: tuple[str, ...]) -> tuple[str, ...]:
    if kind in (LETTER, LETTERS):
        return common.keys(value, offered, "solution")
    told = read.text(value, "solution") if not isinstance(value, int | float) else f"{value}"
    inner = tags.first(told, "answer")
    told = (inner if inner is not None else tags.after_think(told)).strip().strip(".").strip()
    if kind == YES_NO and told.lower() not in ("yes", "no"):
        raise read.fail("solution", "yes or no", told)
    if kind == NUMBER and not _NUMBER.fullmatch(told):
        raise read.fail("solution", "a number", told)
    return (told.lower(),)


def _daily(tree: Mapping[str, Any], position: int) -> Item:
    offered = common.options(read.member(tree, "Choice", "the item"), "Choice")
    video = common.words(tree, "video_id")
    return Item(
        id=common.words(tree, "id", "question_id", "qid", default=f"{video}/{position}"),
        question=common.words(tree, "Question"),
        options=offered,
        key=common.keys(read.member(tree, "Answer", "the item"), offered, "Answer"),
        category=common.words(tree, "Type", default=""),
        group=common.words(tree, "video_duration", default=""),
        source=common.words(tree, "content_parent_category", "video_category", default=""),
        recording=video,
        video=f"{video}/{video}_video.mp4",
    )


def _world(path: Path) -> Iterator[Item | str]:
    for entry in entries(path):
        for name, about in read.mapping(entry.tree, entry.place).items():
            about = read.mapping(about, f"{entry.place}: {read.step('', name)}")
            names = tasks_of(about)
            if not names:
                raise FormatError(f"{entry.place}: {name} has no task (task0, task1, ..).")
            for task in names:
                try:
                    yield lettered(_world_item(name, task, about), "the item")
                except FormatError as error:
                    raise FormatError(f"{entry.place}: {name}, {task}: {error}") from error


def _world_item(video: str, task: str, about: Mapping[str, Any]) -> Item:
    tree = about[task]
    offered = common.options(read.member(tree, "candidates", "the item"), "candidates")
    return Item(
        id=f"{video}/{task}",
        question=common.words(tree, "question"),
        options=offered,
        key=common.keys(read.member(tree, "answer", "the item"), offered, "answer"),
        category=common.words(tree, "task_type", default=""),
        group=common.words(tree, "task_domain", default=""),
        source=common.words(about, "domain", default=""),
        recording=video,
        video=f"{video}.mp4",
    )
