"""The words a model is asked with: of GRASP's evaluation in form, in our own wording.

With reasoning the user turn asks for thoughts with gaze and gesture blocks, and for the letter in the answer tag;
without, for the letter alone. `VERSION` is the hash of all templates and is kept with every result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from ml.evaluation.bench import LETTER, LETTERS, NUMBER, YES_NO, Item
from ml.text.answers import letter_of

REASONING_TOKENS, PLAIN_TOKENS = 2048, 64
STOP = "</answer>"
SYSTEM = "You answer questions about the people in a video clip. Give {what} between <answer> and </answer>."
WHAT = {
    LETTER: "the letter of the right option",
    LETTERS: "the letters of all right options, with commas between them,",
    YES_NO: "yes or no",
    NUMBER: "the number",
}
OPEN, FREE = "open", "the answer in a few words"  # in training only: no benchmark asks it, and VERSION is not over it
SHOWN = "The pictures are frames of the clip in order, each after its time in seconds."
NOT_SHOWN = "The clip is not shown; answer as well as you can."
PERSONS = "Where somebody carries a printed tag such as P2, that is Person 2."
CONTEXT = "What is said:"
REASON = (
    "Think first, between <think> and </think>: say who looks at whom and when between <gaze> and </gaze>, and who "
    "makes which gesture and when between <gesture> and </gesture>. Then answer between <answer> and </answer>."
)
PLAIN = "Answer at once, between <answer> and </answer>, with nothing else."
VERSION = hashlib.sha256(
    "\n".join([SYSTEM, *WHAT.values(), SHOWN, NOT_SHOWN, PERSONS, CONTEXT, REASON, PLAIN]).encode()
).hexdigest()


def system(item: Item) -> str:
    return SYSTEM.format(what=FREE if item.kind == OPEN else WHAT[item.kind])


def task(item: Item, *, reasoning: bool, shown: bool) -> str:
    """What follows the pictures: how to look, the dialogue, question and options, what to answer with."""
    lines = [f"{SHOWN} {PERSONS}" if shown else NOT_SHOWN]
    if item.context:
        lines += [CONTEXT, *item.context]
    lines += [item.question, *(f"{letter_of(at)}) {option}" for at, option in enumerate(item.options))]
    return "\n".join([*lines, REASON if reasoning else PLAIN])


def messages(system: str, seconds: Sequence[float], task: str) -> list[dict[str, Any]]:
    """The conversation as evaluation and training have it: each picture a placeholder after its time, then the task."""
    parts = [
        part for second in seconds for part in ({"type": "text", "text": f"<{second:.1f} seconds>"}, {"type": "image"})
    ]
    return [
        {"role": "system", "content": [{"type": "text", "text": system}]},
        {"role": "user", "content": [*parts, {"type": "text", "text": task}]},
    ]


def most_tokens(reasoning: bool) -> int:
    return REASONING_TOKENS if reasoning else PLAIN_TOKENS


def closed(text: str, finish: str = "stop") -> str:
    """The reply with the closing answer tag that a server leaves out when it stops there; one that was cut off at the
    most tokens stays as it is."""
    return text + STOP if finish != "length" and text.rfind("<answer>") > text.rfind(STOP) else text
