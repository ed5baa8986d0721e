"""Having a multimodal model answer a question about a clip, thinking first: what an audit of it is made from.

The model is shown pictures of the clip as it was cut (tags drawn, where it has them), in order, each with its time on
the clip's clock; at most `MOST_PICTURES`, at most `RATE` a second. It answers by a schema, thoughts before the answer,
which are put together as a reply with tags. No picture, word or tag tells the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from ml.endpoint.client import Endpoint, Message, picture, system, user, words
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


def shown_frames(index: FrameIndex) -> NDArray[np.int64]:
    """Clip frames that are shown: evenly over the clip, the first and nearly the last among them."""
    wanted = min(MOST_PICTURES, max(1, int(np.ceil(index.duration_s * RATE))), index.frames)
    times = (np.arange(wanted) + 0.5) * index.duration_s / wanted
    found = np.unique(np.searchsorted(index.zeroed[:-1], times, side="right") - 1)
    return found.astype(np.int64)


def ask(
    endpoint: Endpoint,
    *,
    clip: Path,
    index: FrameIndex,
    stamped: bool,
    question: str,
    options: Sequence[str],
) -> Answered:
    """The model's answer. `index`: of the clip's own frames; `stamped`: its pictures carry frame and time already.

    Raises EndpointError, BrokenReply, MediaError.
    """
    frames = shown_frames(index)
    task = "\n".join([f"Question: {question}", *with_letters(options)])
    if options:
        task += "\nAnswer with the letter of the right option, or the letters if several are right."
    parts: list[Message] = [picture(jpeg) for jpeg in _drawn(clip, index, frames, stamped, endpoint.stop)]
    reply = endpoint.ask(
        [system(RULES), user(*parts, words(task))],
        Reply,
        name="answer",
        temperature=TEMPERATURE,
        max_tokens=REPLY_TOKENS,
    )
    said = reply.value
    text = f"<think>{said.thinking.strip()}</think>\n<answer>{said.answer.strip()}</answer>"
    return Answered(text, said.answer.strip(), reply.model, reply.prompt, frames.tolist())


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
