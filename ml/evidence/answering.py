"""Having a multimodal model answer a question about a clip, thinking first: what an audit of it is made from.

The model is shown pictures of the clip as it was cut (tags drawn, where it has them), in order, each with its time on
the clip's clock; at most `MOST_PICTURES`, at most `RATE` a second. No picture, word or tag tells the key.

    ByEndpoint  answers by a schema, thoughts before the answer, which are put together as a reply with tags
    ByFolder    a model of images and text from a folder on this machine (`LOCAL_MODEL`), in its own words; greedy
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from ml.endpoint import BrokenReply, Config
from ml.endpoint.client import Endpoint, Message, picture, system, user, words
from ml.evaluation.frames import Shown
from ml.evaluation.prompts import STOP
from ml.evidence.reading import parsed
from ml.media.clips import stamp_text
from ml.media.decode import read_frames
from ml.media.index import FrameIndex
from ml.media.tags import Pen
from ml.text.answers import with_letters

RATE, MOST_PICTURES = 2.0, 32
LONGEST, QUALITY = 768, 85
TEMPERATURE, REPLY_TOKENS = 0.0, 2048

RULES = """\
You watch pictures of a short video clip, given in order. Each carries at its top left the number of its frame and the
time since the clip began, in seconds. Where people carry a printed tag such as P2, that is Person 2. You are asked one
question about the clip. Think first: say what you see that decides it, in plain sentences, and name persons by their
tags and moments by their times ("At 3.0 s, Person 2 looks at Person 1."). Say only what can be seen. Then answer."""
FORM = "\nWrite what you think between <think> and </think>, then the answer between <answer> and </answer>."
VERSION = hashlib.sha256(RULES.encode()).hexdigest()[:12]


class Reply(BaseModel):
    """What the model fills in."""

    model_config = ConfigDict(extra="forbid")

    thinking: str
    answer: str


@dataclass(frozen=True)
class Answered:
    """The reply as an audit reads it. `text`: thoughts and answer in tags; `frames`: of the clip, those shown."""

    text: str
    answer: str
    model: str
    prompt: str
    frames: list[int]


class Answerer(Protocol):
    """Somebody who answers. `stop` is called while pictures are read and may raise. `about`: who it is, as JSON."""

    stop: Callable[[], Any]
    about: dict[str, Any]

    def reply(self, pictures: Sequence[Shown], task: str) -> tuple[str, str, str, str]:
        """Text, answer, the model's name and the sha256 of all that was asked. Raises BrokenReply: nothing usable."""

    def spent(self) -> dict[str, Any]:
        """What all replies cost so far."""

    def close(self) -> None:
        """Nothing more is asked."""


class ByEndpoint:
    """The configured endpoint. Raises what `ml.endpoint` does."""

    def __init__(self, config: Config, stop: Callable[[], None] = lambda: None) -> None:
        self.endpoint, self.stop = Endpoint(config, stop=stop), stop
        self.about = {"kind": "endpoint", "name": config.model, "extra": config.told_extra}

    def reply(self, pictures: Sequence[Shown], task: str) -> tuple[str, str, str, str]:
        parts: list[Message] = [picture(one.jpeg) for one in pictures]
        said = self.endpoint.ask(
            [system(RULES), user(*parts, words(task))],
            Reply,
            name="answer",
            temperature=TEMPERATURE,
            max_tokens=REPLY_TOKENS,
        )
        answer = said.value.answer.strip()
        text = f"<think>{said.value.thinking.strip()}</think>\n<answer>{answer}</answer>"
        return text, answer, said.model, said.prompt

    def spent(self) -> dict[str, Any]:
        return {name: value for name, value in self.endpoint.spent.as_dict().items() if value is not None}

    def close(self) -> None:
        self.endpoint.close()


class ByFolder:
    """A model of images and text from a folder, each picture after its time as text. Raises MissingPackages at once,
    FormatError where it cannot be loaded."""

    def __init__(self, folder: Path, stop: Callable[[], None] = lambda: None) -> None:
        from ml.evaluation.local import Weights, fingerprint

        if not (folder / "config.json").is_file():
            raise ValueError(f"There is no model in {folder}: config.json is missing.")
        self.weights, self.stop = Weights(folder), stop
        self.about = {"kind": "folder", "name": folder.resolve().name, "fingerprint": fingerprint(folder)}

    def reply(self, pictures: Sequence[Shown], task: str) -> tuple[str, str, str, str]:
        from ml.evaluation.models import NO_MEMORY, out_of_memory

        messages = conversation(pictures, task)
        try:
            said, finish = self.weights.said(messages, pictures, reasoning=True, most=REPLY_TOKENS)
        except Exception as error:
            if not out_of_memory(error):
                raise
            self.weights.free()
            raise BrokenReply(f"{NO_MEMORY} ({len(pictures)} pictures).") from error
        stopped = finish == "stop" and said.rfind("<answer>") > said.rfind(STOP)
        text = said + STOP if stopped else said  # generation ends at the tag, which is then left out
        seen = [hashlib.sha256(one.jpeg).hexdigest() for one in pictures]
        prompt = hashlib.sha256(json.dumps([self.about["fingerprint"], messages, seen]).encode()).hexdigest()
        return text, parsed(text).answer, self.about["name"], prompt

    def spent(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        self.weights.close()


def conversation(pictures: Sequence[Shown], task: str) -> list[dict[str, Any]]:
    """Messages with a placeholder for each picture, its time before it."""
    parts: list[dict[str, Any]] = []
    for one in pictures:
        parts += [{"type": "text", "text": f"<{one.second:.1f} seconds>"}, {"type": "image"}]
    told = [{"type": "text", "text": RULES + FORM}]
    asked = [*parts, {"type": "text", "text": task}]
    return [{"role": "system", "content": told}, {"role": "user", "content": asked}]


def shown_frames(index: FrameIndex) -> NDArray[np.int64]:
    """Clip frames that are shown: evenly over the clip, the first and nearly the last among them."""
    wanted = min(MOST_PICTURES, max(1, int(np.ceil(index.duration_s * RATE))), index.frames)
    times = (np.arange(wanted) + 0.5) * index.duration_s / wanted
    found = np.unique(np.searchsorted(index.zeroed[:-1], times, side="right") - 1)
    return found.astype(np.int64)


def ask(
    model: Answerer,
    *,
    clip: Path,
    index: FrameIndex,
    stamped: bool,
    question: str,
    options: Sequence[str],
) -> Answered:
    """The model's answer. `index`: of the clip's own frames; `stamped`: its pictures carry frame and time already.

    Raises what the model does, and MediaError.
    """
    frames = shown_frames(index)
    task = "\n".join([f"Question: {question}", *with_letters(options)])
    if options:
        task += "\nAnswer with the letter of the right option, or the letters if several are right."
    seconds = index.zeroed[frames].tolist()
    drawn = _drawn(clip, index, frames, stamped, model.stop)
    pictures = [Shown(second, jpeg) for second, jpeg in zip(seconds, drawn, strict=True)]
    text, answer, name, prompt = model.reply(pictures, task)
    return Answered(text, answer, name, prompt, frames.tolist())


def _drawn(
    clip: Path, index: FrameIndex, frames: NDArray[np.int64], stamped: bool, stop: Callable[[], Any]
) -> Iterator[bytes]:
    pen: Pen | None = None
    for number, image in read_frames(clip, index, frames, longest=LONGEST):
        stop()
        if not stamped:
            pen = pen or Pen(image.shape[1], image.shape[0])
            pen.stamp(image, stamp_text(number, float(index.zeroed[number])))
        made, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        if not made:
            raise RuntimeError("OpenCV could not write a JPEG")
        yield data.tobytes()
