"""The `mllm` detector: a multimodal model reads gestures off tagged, stamped pictures; a critic then cuts them down.

Any OpenAI-compatible endpoint (`ml.endpoint`). A shot is shown in windows of WINDOW_S, twice a second, with a tag above
each head and the time at the top left. The first call lists gestures. At most ROUNDS calls more look for faults in the
list; they may only take out or narrow (`refining`), and stop when nothing changes or no fault is left. All calls of a
shot are kept in its work folder as they are answered, so an interrupted shot asks nothing twice.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np

from ml.endpoint import BrokenReply, Config
from ml.endpoint.client import Endpoint, Message, Spent, picture, system, user, words
from ml.media.decode import read_frames
from ml.media.files import write_json
from ml.media.index import sample_frames
from ml.media.tags import Pen, Seen
from ml.perception.gestures import prompts
from ml.perception.gestures.prompts import Proposal, Review, Said, Shape
from ml.perception.gestures.protocol import Box, Footage, Found, Gesture, People, Share
from ml.perception.gestures.refining import Looks, Settled, overlap, screen, settle, stable
from ml.perception.gestures.refining import key as key_of

RATE = 2.0  # pictures per second
WINDOW_S, OVERLAP_S = 60.0, 6.0  # of one call, and what two calls share
ROUNDS = 3  # of the critic, at most
LONGEST, QUALITY = 768, 85  # pixels of a picture's longer side, JPEG quality
REACH_S = 0.75  # how far from a look at people a tag is drawn
TEMPERATURE, REPLY_TOKENS = 0.2, 4096
BROKEN = 3  # windows in a row without a usable reply, after which the detector gives up
COUNTED = ("deleted", "tightened", "added", "widened")


@dataclass(frozen=True)
class Round:
    """One answered call of a window. `said`: the reply; `model`: as the server names itself; `spent`: what it cost."""

    said: dict[str, Any]
    prompt: str
    model: str
    seconds: float
    spent: dict[str, Any]


class Mllm:
    name: ClassVar[str] = "mllm"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ()
    origin: ClassVar[str] = "model"

    def __init__(self, weights: Path | None = None, config: Config | None = None) -> None:
        self.config = config or Config.from_environment()
        self._sent: deque[float] = deque()  # one rate for all shots
        self._broken = 0

    def settings(self) -> dict[str, Any]:
        """Model, prompt, and how pictures are shown."""
        return {
            "model": self.config.model,
            "extra": self.config.told_extra,
            "prompt": prompts.VERSION,
            "rate": RATE,
            "window_s": WINDOW_S,
            "overlap_s": OVERLAP_S,
            "rounds": ROUNDS,
            "longest": LONGEST,
            "temperature": TEMPERATURE,
        }

    def detect(self, footage: Footage, shot: int, *, work: Path, progress: Share) -> Found:
        """See `protocol.GestureDetector`."""
        found, done = Found(), 0.0
        todo = windows(footage, *footage.shots[shot])
        people = footage.people.during(*footage.shots[shot])
        with Endpoint(self.config, stop=lambda: progress(done), sent=self._sent) as endpoint:
            for number, (frames, end) in enumerate(todo):
                done = number / len(todo)
                window = Window(footage, people, frames, end, work, number, endpoint)
                try:
                    window.run(found)
                    self._broken = 0
                except BrokenReply as error:
                    self._tolerate(error, window, found)
        found.gestures = joined(found.gestures)
        progress(1.0)
        return found

    def _tolerate(self, error: BrokenReply, window: Window, found: Found) -> None:
        """Go on without a window the model has no usable words about; raises where it has none for window after window:
        then it is not up to the task at all."""
        self._broken += 1
        if self._broken >= BROKEN:
            raise error
        count(found, {"broken": 1})
        first, last = window.looks.seconds[[0, -1]]
        found.notes.append(f"No usable reply about {first:.2f} to {last:.2f} s, where nothing is proposed: {error}")


def windows(footage: Footage, start: int, end: int) -> list[tuple[Any, int]]:
    """The sampled frames of each call, and the frame with which they are over."""
    frames = sample_frames(footage.index, start, end, RATE)
    size, step = int(WINDOW_S * RATE), int((WINDOW_S - OVERLAP_S) * RATE)
    begins = range(0, max(1, len(frames) - (size - step)), step)
    return [(frames[k : k + size], int(frames[k + size]) if k + size < len(frames) else end) for k in begins]


class Window:
    """Some pictures of a shot, and the rounds of words about them."""

    def __init__(
        self, footage: Footage, people: People, frames: Any, end: int, work: Path, number: int, endpoint: Endpoint
    ) -> None:
        self.footage, self.people, self.frames = footage, people, frames
        self.work, self.number, self.endpoint = work, number, endpoint
        self.seen = {int(frame): self._people(int(frame)) for frame in frames}
        visible = [frozenset(int(one.person) for one in self.seen[int(frame)]) for frame in frames]
        self.looks = Looks(np.asarray(frames), footage.index.zeroed[frames], end, visible)
        self._parts: list[Message] = []  # the pictures, made when the first call is due

    def run(self, found: Found) -> None:
        """Add this window's gestures, rounds, counts and notes."""
        count(found, {"windows": 1})
        if not self.looks.persons:
            count(found, {"windows_without_people": 1})
            return
        first = self._ask(0, Proposal, [words(prompts.task(self.looks.persons))])
        screened = screen(Proposal.model_validate(first.said).gestures, self.looks)
        self._keep(found, 0, first, screened.gestures, dropped=screened.dropped)
        gestures, history = screened.gestures, [screened.gestures]
        for number in range(1, ROUNDS + 1):
            if not gestures:
                break
            answer = self._ask(number, Review, self._criticism(gestures))
            review = Review.model_validate(answer.said)
            theirs = screen(review.gestures, self.looks)
            settled = settle(gestures, theirs.gestures)
            if not review.faults:  # what the critic finds no fault with stays, whatever list comes with that
                settled = replace(settled, gestures=gestures, deleted=0, tightened=0)
            self._keep(found, number, answer, settled.gestures, dropped=theirs.dropped, settled=settled)
            before, gestures = gestures, settled.gestures
            history.append(gestures)
            if not review.faults or stable(before, gestures):
                break
        found.gestures += [self._finished(gesture, history, first) for gesture in gestures]

    # -- asking

    def _ask(self, number: int, shape: type[Shape], parts: list[Message]) -> Round:
        """The answer of a round: the one that was kept, else that of the model."""
        path = self.work / f"window-{self.number:03d}-round-{number}.json"
        if path.exists():
            return Round(**json.loads(path.read_text()))
        before = replace(self.endpoint.spent)
        talk = [system(prompts.RULES), user(*self._pictures(), *parts)]
        reply = self.endpoint.ask(
            talk, shape, name=shape.__name__.lower(), temperature=TEMPERATURE, max_tokens=REPLY_TOKENS
        )
        spent = difference(before, self.endpoint.spent) | {"pictures": len(self.frames)}
        made = Round(reply.value.model_dump(), reply.prompt, reply.model, round(reply.seconds, 3), spent)
        write_json(path, asdict(made))
        return made

    def _criticism(self, gestures: list[Gesture]) -> list[Message]:
        looks = self.looks
        rows = [
            (g, round(float(looks.seconds[looks.position(g.start)]), 2), round(float(self._last_s(g)), 2))
            for g in gestures
        ]
        return [words(prompts.CRITIC), words(prompts.listed(rows))]

    def _last_s(self, gesture: Gesture) -> float:
        """The stamp of the last picture within a gesture."""
        return float(self.looks.seconds[self.looks.position(gesture.end) - 1])

    def _pictures(self) -> list[Message]:
        if not self._parts:
            self._parts = [picture(jpeg) for jpeg in self._drawn()]
        return self._parts

    def _drawn(self) -> Iterator[bytes]:
        pen: Pen | None = None
        shown = read_frames(self.footage.video, self.footage.index, self.frames, longest=LONGEST)
        for k, (frame, image) in enumerate(shown):
            self.endpoint.stop()
            pen = pen or Pen(image.shape[1], image.shape[0])
            stamp = f"frame {frame}  {self.looks.seconds[k]:.2f} s"
            seen = self.seen[frame]
            labels = {one.person: f"P{one.person}" for one in seen}
            pen.tags(image, seen, labels, [pen.stamp_place(stamp)], boxes=False)
            pen.stamp(image, stamp)
            made, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
            if not made:
                raise RuntimeError("OpenCV could not write a JPEG")
            yield data.tobytes()

    def _people(self, frame: int) -> list[Seen]:
        index = self.footage.index
        reach = max(1, round(REACH_S * index.frames / max(index.duration_s, 1e-9)))
        found = []
        for person, (body, face) in self.people.at(frame, reach).items():
            faces = (np.asarray(face, np.float64),) if np.isfinite(face).all() else ()
            found.append(Seen(str(person), np.asarray(body, np.float64), faces))
        return found

    # -- keeping

    def _keep(
        self,
        found: Found,
        number: int,
        answer: Round,
        gestures: list[Gesture],
        *,
        dropped: list[dict[str, Any]],
        settled: Settled | None = None,
    ) -> None:
        """Add one round to what is told of the shot."""
        changes = {name: getattr(settled, name) for name in COUNTED} if settled else {}
        spent = {name: value for name, value in answer.spent.items() if value is not None}
        count(found, spent | changes | {"dropped": len(dropped)})
        found.seconds["asking"] = round(found.seconds.get("asking", 0.0) + answer.seconds, 3)
        found.rounds.append(
            {
                "window": self.number,
                "round": number,
                "frames": [int(self.frames[0]), self.looks.end],
                "prompt": answer.prompt,
                "model": answer.model,
                "said": answer.said,
                "dropped": dropped,
                "gestures": [row_of(gesture) for gesture in gestures],
                **changes,
            }
        )
        for one in dropped:
            said = Said.model_validate(one["said"])
            found.notes.append(
                f"Left out {said.type} of {said.initiator[:20]} at {said.start_s:.2f} to {said.end_s:.2f} s: "
                f"{one['reason']}."
            )

    def _finished(self, gesture: Gesture, history: list[list[Gesture]], first: Round) -> Gesture:
        """The gesture with where its initiator is, and how it came about."""
        looks, last = self.looks, self.looks.position(gesture.end)
        begin = looks.position(gesture.start)
        middle = self.seen[int(looks.frame[(begin + last - 1) // 2])]
        box = next((one.body for one in middle if int(one.person) == gesture.initiator), None)
        rounds = [
            [one.start, one.end]
            for listed in history
            for one in listed
            if key_of(one) == key_of(gesture) and one.start <= gesture.start and gesture.end <= one.end
        ]
        details = {
            "onset_after": int(looks.frame[begin - 1]) if begin else None,
            "offset_before": gesture.end if last < len(looks.frame) else None,
            "rounds": rounds,
            "model": first.model,
            "prompt": first.prompt,
        }
        return replace(gesture, initiator_box=None if box is None else corners(box), details=details)


def corners(box: Any) -> Box:
    x1, y1, x2, y2 = (round(float(value), 4) for value in box)
    return x1, y1, x2, y2


def joined(gestures: list[Gesture]) -> list[Gesture]:
    """Gestures of all windows by start; one that two windows saw is counted once: the longer of the two, made whole by
    the other where its own window begins or ends within it."""
    kept: list[Gesture] = []
    for gesture in sorted(gestures, key=lambda g: g.start - g.end):
        at = next((n for n, o in enumerate(kept) if key_of(gesture) == key_of(o) and overlap(gesture, o)), None)
        if at is None:
            kept.append(gesture)
        else:
            kept[at] = _made_whole(kept[at], gesture)
    return sorted(kept, key=lambda g: (g.start, g.end, g.initiator))


def _made_whole(gesture: Gesture, other: Gesture) -> Gesture:
    """A side on which nothing was seen beside the gesture is where its window, or the shot, ends."""
    details = dict(gesture.details)
    if details.get("onset_after") is None and other.start < gesture.start:
        gesture = replace(gesture, start=other.start)
        details["onset_after"] = other.details.get("onset_after")
    if details.get("offset_before") is None and other.end > gesture.end:
        gesture = replace(gesture, end=other.end)
        details["offset_before"] = other.details.get("offset_before")
    return replace(gesture, details=details)


def row_of(gesture: Gesture) -> dict[str, Any]:
    """A gesture as a round keeps it."""
    row = gesture.row()
    return {name: row[name] for name in ("type", "start", "end", "initiator", "target_kind", "target_person")}


def difference(before: Spent, after: Spent) -> dict[str, Any]:
    """What was spent in between."""
    was, now = before.as_dict(), after.as_dict()
    return {name: None if value is None else round(value - (was[name] or 0), 9) for name, value in now.items()}


def count(found: Found, more: dict[str, float]) -> None:
    for name, value in more.items():
        found.counts[name] = round(found.counts.get(name, 0) + value, 9)
