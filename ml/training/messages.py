"""What the model is told and should say: the conversation of a row, word for word as evaluation asks it.

Frames are images, each after its time as text (`ml.evaluation.prompts`). A video part never gets in: a trainer that
meets one runs on without a word and trains without the pictures, because only generation looks at videos.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ml.evaluation import bench, prompts
from ml.evaluation.bench import Item
from ml.rewards.rows import Row
from ml.training.rows import MULTIPLE, NUMBER, OPEN, SINGLE, YES_NO, TrainingRow, reward_row

KINDS = {
    SINGLE: bench.LETTER, YES_NO: bench.LETTER, MULTIPLE: bench.LETTERS, NUMBER: bench.NUMBER, OPEN: prompts.OPEN,
}  # fmt: skip
PARTS = ("text", "image")
Messages = list[dict[str, Any]]


class WrongMessages(ValueError):
    """A conversation that a trainer would take without complaint and get wrong; one sentence."""


def item_of(row: TrainingRow) -> Item:
    """The row as evaluation asks it; its video is below the snapshot's folder."""
    known: Row = reward_row(row, "")
    return Item(
        id=row.id,
        question=row.question,
        options=row.options,
        key=tuple((row.answer or row.answer_text).split(",")) if row.kind == MULTIPLE else (row.answer or "",),
        kind=KINDS[row.kind],
        category=row.category,
        difficulty=row.difficulty,
        recording=row.recording,
        video=row.clip.file,
        start=row.clip.start_s,
        end=row.clip.end_s,
        answer_text=row.answer_text,
        events=known.events,
        visible=known.visible,
    )


def prompt(row: TrainingRow, seconds: Sequence[float], *, reasoning: bool = True) -> Messages:
    """System and user turn with a placeholder for each picture; `seconds` of the clip at which they are taken."""
    item = item_of(row)
    task = prompts.task(item, reasoning=reasoning, shown=bool(seconds))
    return guarded(prompts.messages(prompts.system(item), seconds, task), len(seconds))


def completion(row: TrainingRow) -> Messages:
    """What the assistant should say, for SFT. Raises WrongMessages: nobody wrote it."""
    if not row.reasoning:
        raise WrongMessages(f"The item {row.id[:12]} has no reasoning to learn from.")
    return [{"role": "assistant", "content": [{"type": "text", "text": row.reasoning}]}]


def guarded(messages: Messages, pictures: int) -> Messages:
    """The messages, seen to be what trainers take. Raises WrongMessages.

    Parts are texts and bare image placeholders, as many of these as there are pictures. A part with an `image` key is
    refused: stored in a table, every part would have the key, and templates ask for it.
    """
    placeholders = 0
    for role, part in _parts(messages):
        kind = part.get("type")
        if kind == "video" or "video" in part:
            raise WrongMessages(
                f"The {role} turn has a video part: training would leave the video out without a word. "
                "Give its frames as images, each after its time."
            )
        if kind not in PARTS:
            raise WrongMessages(f"The {role} turn has a part of the type {kind!r}; there are {' and '.join(PARTS)}.")
        if kind == "image":
            if set(part) != {"type"}:
                raise WrongMessages(f"The {role} turn has a picture inside a part; pictures go into the column images.")
            placeholders += 1
        elif set(part) != {"type", "text"} or not isinstance(part["text"], str):
            raise WrongMessages(f"The {role} turn has a text part with other fields than type and text.")
    if placeholders != pictures:
        raise WrongMessages(f"The messages have {placeholders} placeholders for {pictures} pictures.")
    return messages


def _parts(messages: Messages) -> Iterator[tuple[str, dict[str, Any]]]:
    for message in messages:
        if set(message) != {"role", "content"} or not isinstance(message["content"], list):
            raise WrongMessages("A message has a role and a list of parts, nothing else.")
        for part in message["content"]:
            yield str(message["role"]), part
