"""The deletion test: the evidence of a response is hidden in the picture and the question asked again.

A model is shown the same few frames three times: as they are, with the masks of the load-bearing claims that are
supported filled with the frame's mean colour, and with as much hidden elsewhere. An answer that rests on the evidence
changes when it is hidden and stays when something else is. The frames are those with such masks. Needs a connected
model; a response without such masks has no test.

The record is a file of its own (`deletion.json` in the response's work folder): answers, model, frames, share of the
picture hidden. Each answer is there before the next is asked for, so none is paid for twice.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from ml.endpoint import Config
from ml.evidence.grounding.protocol import Footage
from ml.evidence.pipeline import Checked
from ml.formats import coco_rle
from ml.media.files import write_whole
from ml.questions.clip import ClipClock
from ml.text import answers

FILE = "deletion.json"
MOST_FRAMES = 12
REQUESTS = 3  # of each response that is tested
LONGEST = 768  # pixels of the pictures shown
QUALITY = 85
SCORE = 0.5  # of a mask that is hidden
TRIED = 8  # places tried for the control, of which the one that covers least of the evidence is taken

Picture = NDArray[np.uint8]
Region = NDArray[np.bool_]


class Asker(Protocol):
    """A model that answers a question about pictures."""

    def describe(self) -> dict[str, Any]:
        """All that decides an answer, as JSON."""

    def answer(self, pictures: Sequence[bytes], seconds: Sequence[float], question: str, options: Sequence[str]) -> str:
        """The reply to a question about JPEGs, shown in this order at these seconds of the clip."""


class Answer(BaseModel):
    """What the endpoint is asked for."""

    answer: str


class ByEndpoint:
    """The configured endpoint. `stop` is called while it is waited for and may raise. `paid` is told what each request
    cost, as numbers by name, also where nothing came of it."""

    def __init__(
        self,
        config: Config,
        stop: Callable[[], None] = lambda: None,
        paid: Callable[[dict[str, float]], None] = lambda spent: None,
    ) -> None:
        self.config, self.stop, self.paid = config, stop, paid
        self._sent: deque[float] = deque()  # one rate for all

    def describe(self) -> dict[str, Any]:
        return {"name": "endpoint", "model": self.config.model, "extra": self.config.told_extra}

    def answer(self, pictures: Sequence[bytes], seconds: Sequence[float], question: str, options: Sequence[str]) -> str:
        from ml.endpoint.client import Endpoint, picture, system, user, words

        parts = [
            part for s, jpeg in zip(seconds, pictures, strict=True) for part in (words(f"{s:.1f} s"), picture(jpeg))
        ]
        asked = "\n".join([question, *answers.with_letters(options)])
        told = (
            "Answer the question about these frames of a video. Give the letter of your choice where there are options."
        )
        with Endpoint(self.config, stop=self.stop, sent=self._sent) as endpoint:
            try:
                return endpoint.ask([system(told), user(*parts, words(asked))], Answer, name="answer").value.answer
            finally:
                if cost := {name: value for name, value in endpoint.spent.as_dict().items() if value}:
                    self.paid(cost)


def is_evidence(one: Checked) -> bool:
    """Whether a claim's masks are hidden: the answer rests on it, and it was found."""
    return one.claim.load_bearing and one.verdict.name == "supported"


Show = Callable[[Sequence[int]], list[Picture]]


def ask_again(
    checked: Sequence[Checked],
    *,
    question: str,
    options: Sequence[str],
    footage: Footage,
    clock: ClipClock,
    asker: Asker,
    bearing: Callable[[Checked], bool] = is_evidence,
    show: Show | None = None,
    work: Path | None = None,
) -> dict[str, Any] | None:
    """The record: {"changed", "control_changed", "answers": {"plain", "hidden", "control"}, "claims", "frames",
    "hidden_share", "asker"}; None where there is nothing to hide. In `work` it is kept, and asked for once only.
    `show`: BGR pictures of source frames as the clip shows them (None: as they are in the footage, without tags).

    Raises EndpointError, MediaError.
    """
    regions, claims = evidence([one for one in checked if bearing(one)])
    frames = [frame for frame in sorted(regions) if clock.start <= frame < clock.end]
    if not frames:
        return None
    frames = [frames[k * len(frames) // min(len(frames), MOST_FRAMES)] for k in range(min(len(frames), MOST_FRAMES))]
    decides = {"claims": claims, "frames": frames, "question": question, "options": list(options), "v": 1}
    decides |= {"asker": asker.describe(), "masks": _digest([regions[frame] for frame in frames])}
    decides |= {"shown": "footage" if show is None else "clip"}
    kept = work / FILE if work is not None else None
    said: dict[str, str] = {}
    if kept is not None and kept.is_file():
        found: dict[str, Any] = json.loads(kept.read_text())
        if found["decides"] == json.loads(json.dumps(decides)):
            if "changed" in found:
                return found
            said = found["answers"]
    pictures = _pictures(footage, frames) if show is None else show(frames)
    sized = [_sized(regions[frame], picture) for frame, picture in zip(frames, pictures, strict=True)]
    others = [elsewhere(region) for region in sized]
    shown = {
        "plain": pictures,
        "hidden": [filled(p, r) for p, r in zip(pictures, sized, strict=True)],
        "control": [filled(p, r) for p, r in zip(pictures, others, strict=True)],
    }
    seconds = [clock.clip_seconds(frame) for frame in frames]
    for name, each in shown.items():
        if name not in said:
            said[name] = asker.answer([_jpeg(picture) for picture in each], seconds, question, options)
            _keep(kept, {"answers": said, "decides": decides})
    record = {
        "changed": differs(said["plain"], said["hidden"], options),
        "control_changed": differs(said["plain"], said["control"], options),
        "answers": said,
        "hidden_share": round(float(np.mean([region.mean() for region in sized])), 4),
        "control_overlap": round(float(np.mean([(a & b).mean() for a, b in zip(sized, others, strict=True)])), 4),
        "decides": decides,
    }
    _keep(kept, record)
    return record


def _keep(path: Path | None, record: dict[str, Any]) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(record, indent=1).encode() + b"\n")


def evidence(checked: Sequence[Checked]) -> tuple[dict[int, Region], list[str]]:
    """What is hidden on each frame: the masks that count of phrases and persons; and of which claims they are."""
    found: dict[int, Region] = {}
    claims = []
    for one in checked:
        if one.grounded is None:
            continue
        masks = one.grounded.masks
        own = [query.id for query in one.queries if query.role in ("phrase", "person")]
        rows = np.flatnonzero(np.isin(masks.query, np.array(own, np.str_)) & (masks.score >= SCORE))
        for row in rows.tolist():
            region = found.setdefault(int(masks.frame[row]), np.zeros(masks.size, bool))
            region |= coco_rle.decode(masks.counts[row], masks.size)
        if len(rows):
            claims.append(one.claim.id)
    return found, claims


def filled(picture: Picture, region: Region) -> Picture:
    """The picture with the region in its mean colour."""
    out = picture.copy()
    out[region] = picture.reshape(-1, 3).mean(axis=0).astype(np.uint8)
    return out


def elsewhere(region: Region) -> Region:
    """As many pixels in another place: the region moved sideways around the picture to where it meets itself least."""
    width = region.shape[1]
    moved = [np.roll(region, width * k // (TRIED + 1), axis=1) for k in range(1, TRIED + 1)]
    return min(moved, key=lambda other: int((other & region).sum()))


def differs(one: str, other: str, options: Sequence[str]) -> bool:
    """Whether two replies choose differently: by their letters, where there are options, else by their words."""
    letters = "".join(answers.letter_of(k) for k in range(len(options)))
    if letters:
        a, b = answers.letters(one, letters), answers.letters(other, letters)
        if a or b:
            return set(a) != set(b)
    return one.casefold().split() != other.casefold().split()


def _digest(regions: Sequence[Region]) -> str:
    return hashlib.sha256(b"".join(np.packbits(region).tobytes() for region in regions)).hexdigest()


def _pictures(footage: Footage, frames: Sequence[int]) -> list[Picture]:
    from ml.media.decode import read_frames

    found = read_frames(footage.video, footage.index, np.array(frames), longest=LONGEST)
    return [np.ascontiguousarray(picture) for _, picture in found]


def _sized(region: Region, picture: Picture) -> Region:
    """A region of the upright picture's size on a picture that is shown smaller; nearest pixel."""
    rows = np.arange(picture.shape[0]) * region.shape[0] // picture.shape[0]
    columns = np.arange(picture.shape[1]) * region.shape[1] // picture.shape[1]
    return region[np.ix_(rows, columns)]


def _jpeg(picture: Picture) -> bytes:
    import cv2

    return bytes(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1])
