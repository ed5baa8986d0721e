"""MMSI and Online-MMSI as GRASP recast them for language models, and TVQA+.

MMSI, one file per task or all in one: {"id", "task": "STI" | "PCR" | "MPP", "clip_name", "video_path", "dataset",
"game_id", "speaker", "player_num", "utterance", "utterance_masked"?, "context": [..], "choices": ["P0", ..],
"question", "answer", "answer_idx"}. Offline an utterance has neighbours on both sides; online the last ten turns with
itself as the last, so that an item which goes on after the utterance is refused there. The accuracy of a paper is the
mean over tasks, the "macro" of the tables.

TVQA+: {"qid", "vid_name", "q", "a0" .. "a4", "answer_idx", "ts": [start, end] or "start-end", "bbox"}; frames at 3 per
second in a folder of the clip's name, or <vid_name>.mp4. The whole clip is shown, not only `ts`, which is part of what
is asked for. Its subtitles are not in the file: models are asked with the video only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ml.evaluation.bench import Bench, Item, Wanted, gathered, lettered
from ml.evaluation.loaders import common
from ml.formats import jsonfields as read
from ml.formats.errors import FormatError
from ml.text.answers import letter_of

TASKS = ("STI", "PCR", "MPP")
ONLINE_TURNS = 10
TVQA_RATE = 3.0  # frames per second of its folders
NO_KEY = "without an answer, as in a test split"
SUBTITLES = "the speech and its subtitles, which TVQA+ was made with"
_EPISODE = re.compile(r".*?s\d+e\d+", re.IGNORECASE)


def load_mmsi(path: Path, wanted: Wanted) -> Bench:
    """MMSI; online where `--kind` or the name says so. Raises FormatError."""
    from ml.evaluation.loaders import detect

    kind = wanted.kind or detect(path)
    return gathered(path.stem, kind, _each(path, lambda tree: _mmsi(tree, kind == "online-mmsi")))


def load_tvqa(path: Path, wanted: Wanted) -> Bench:
    """TVQA+. Raises FormatError."""
    return gathered(path.stem, "tvqa+", _each(path, _tvqa), sound=SUBTITLES)


def _each(path: Path, make: Callable[[Mapping[str, Any]], Item | str]) -> Iterator[Item | str]:
    for entry in common.unwrapped(path):
        try:
            made = make(read.mapping(entry.tree, "the item"))
            yield made if isinstance(made, str) else lettered(made, "the item")
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error


def _mmsi(tree: Mapping[str, Any], online: bool) -> Item | str:
    if tree.get("answer") is None and tree.get("answer_idx") is None:
        return NO_KEY
    offered = common.options(read.member(tree, "choices", "the item"), "choices")
    key = _by_index(tree["answer_idx"], len(offered)) if tree.get("answer_idx") is not None else None
    if tree.get("answer") is not None:
        told = common.keys(tree["answer"], offered, "answer")
        told = told if set(told) <= {letter_of(at) for at in range(len(offered))} else ()
        if key is None and not told:
            raise FormatError(f"answer: {read.shown(tree['answer'])} is none of the choices.")
        if key is not None and told and told != key:
            raise FormatError(f"answer_idx is the choice {key[0]}, answer is {read.shown(tree['answer'])}.")
        key = key or told
    said = common.words(tree, "utterance_masked", "utterance", default="")
    turns = [_turn(one, at) for at, one in enumerate(read.sequence(tree.get("context") or [], "context"))]
    if online:
        turns = _past(turns, {said, common.words(tree, "utterance", default="")} - {""})
    game = common.words(tree, "game_id", "clip_name", "video_path", default="")
    video = common.words(tree, "video_path", default="") or None
    return Item(
        id=common.words(tree, "id"),
        question=common.words(tree, "question"),
        options=offered,
        key=key or (),
        category=common.words(tree, "task", default=""),
        source=common.words(tree, "dataset", default=""),
        recording=game,
        video=video,
        context=tuple(turns),
        answer_text=str(tree.get("answer") or ""),
    )


def _turn(value: Any, at: int) -> str:
    if isinstance(value, Mapping):
        said = common.words(value, "utterance", "text", "sentence")
        speaker = common.words(value, "speaker", default="")
        return f"{speaker}: {said}" if speaker else said
    return read.text(value, f"context[{at}]")


def _past(turns: list[str], said: set[str]) -> list[str]:
    """The last turns, the utterance the last of them. Raises FormatError where something follows it."""
    places = [at for at, turn in enumerate(turns) if any(one in turn for one in said)]
    if places and places[-1] < len(turns) - 1:
        raise FormatError(f"context[{places[-1] + 1}] comes after the utterance; an online item knows no future.")
    return turns[-ONLINE_TURNS:]


def _tvqa(tree: Mapping[str, Any]) -> Item | str:
    if tree.get("answer_idx") is None:
        return NO_KEY
    count = sum(f"a{at}" in tree for at in range(10))
    clip = common.words(tree, "vid_name")
    episode = _EPISODE.match(clip)
    show = clip.split("_", 1)[0] if "_" in clip and not re.match(r"s\d+e\d+", clip, re.IGNORECASE) else "bbt"
    _span(tree.get("ts"))
    return Item(
        id=common.words(tree, "qid"),
        question=common.words(tree, "q", "question"),
        options=tuple(common.words(tree, f"a{at}").strip() for at in range(count)),
        key=_by_index(tree["answer_idx"], count),
        source=show,
        recording=episode[0] if episode else clip,
        video=clip,
        rate=TVQA_RATE,
    )


def _by_index(value: Any, count: int) -> tuple[str, ...]:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    return (letter_of(read.whole(value, "answer_idx", high=max(0, count - 1))),)


def _span(value: Any) -> None:
    """Check the localised span; what is asked about it is no part of the accuracy. "nan-nan" says there is none."""
    if value is None or (isinstance(value, str) and "nan" in value.lower()):
        return
    if isinstance(value, str):
        try:
            ends = [float(end) for end in value.split("-")]
        except ValueError:
            raise read.fail("ts", "start-end in seconds", value) from None
    else:
        ends = [end for end in read.sequence(value, "ts") if end is not None]
        if not ends:
            return
        ends = read.numbers(ends, "ts", 2, low=0)
    if len(ends) != 2 or ends[1] < ends[0]:
        raise read.fail("ts", "a start and an end that follows it", value)
