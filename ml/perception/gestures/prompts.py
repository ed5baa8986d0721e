"""What the `mllm` detector says to the model, and the shapes of its replies.

The rules are those of GRASP's final prompt as far as they are known (what a gesture is, where it starts and ends, times
read from the stamp, visible tags only, nothing but the picture as evidence); the words are ours.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

from ml.perception.gestures.protocol import Gesture


def _share(value: float) -> float:
    """Checked here and not in the schema, where strict endpoints know no bounds."""
    if not 0 <= value <= 1:
        raise ValueError("must lie between 0 and 1")
    return value


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Said(Shape):
    """One gesture as the model says it; tags such as "P3", seconds as the stamps show them."""

    type: Literal["pointing", "showing", "giving", "reaching"]
    initiator: str
    start_s: float
    end_s: float
    target_kind: Literal["person", "object", "location"]
    target_person: str | None
    target_description: str
    confidence: Annotated[float, AfterValidator(_share)]


class Proposal(Shape):
    gestures: list[Said]


class Fault(Shape):
    """What is wrong with one gesture of the list, by its number."""

    number: int
    fault: str


class Review(Shape):
    faults: list[Fault]
    gestures: list[Said]


RULES = """\
You watch pictures of one shot of a video, taken about twice a second and given in order. Each picture carries, at its
top left, its frame number and its time in seconds. People carry a printed tag such as P3 above their heads.

Four deictic gestures count, and no other:
- pointing: an arm, hand or finger is aimed at somebody or something. It starts when the purposeful movement begins and
  ends when the arm is drawn back.
- showing: a held object is turned so that somebody can look at it. It starts when the object is oriented to be viewed
  and ends when it goes back to its use or to rest.
- giving: an object is held out for somebody to take. It starts when the object is offered and ends when it is let go or
  withdrawn; nobody needs to take it.
- reaching: an arm is stretched out on purpose towards an object that is not held yet. It starts with that extension and
  ends at contact, at failure or when the arm is withdrawn.

These are not gestures: hands that beat the rhythm of speech, arms that rest, merely holding an object, handling or
using an object.

Rules:
- Read times off the stamps; never count pictures or compute a time. start_s is the time on the first picture on which
  the gesture is to be seen, end_s the time on the last one.
- Name people only by tags that are printed in these pictures. Leave out a gesture whose initiator has no tag.
- Evidence is what hands, arms and objects do. Where somebody looks, how the head is turned and what is being said are
  no evidence.
- target_kind is person, object or location. target_person is a tag where the target is a person, else null; a gesture
  is never aimed at its own initiator. target_description says in a few plain words what the target is.
- List only what you are sure of. An empty list is a good answer."""

CRITIC = """\
Somebody listed gestures in these pictures. Look for what is wrong with the list: a gesture that is not there, is one of
the movements that do not count, has the wrong type or the wrong people, or lasts shorter than was said.

Answer with two things:
- faults: for each gesture that is wrong, its number in the list and what is wrong with it. Leave this empty when the
  list stands.
- gestures: the list as it should be. You may only take gestures out or make their times narrower. Add nothing, widen
  nothing, and change neither types nor people: a gesture with the wrong type or people is taken out."""


def task(tags: Sequence[int]) -> str:
    return f"Tags in these pictures: {', '.join(f'P{tag}' for tag in tags)}. List the gestures."


def listed(gestures: Sequence[tuple[Gesture, float, float]]) -> str:
    """The list the critic is given; with each gesture its times as they were said."""
    rows = [
        {
            "number": number,
            "type": gesture.type,
            "initiator": f"P{gesture.initiator}",
            "start_s": start_s,
            "end_s": end_s,
            "target_kind": gesture.target_kind,
            "target_person": None if gesture.target_person is None else f"P{gesture.target_person}",
            "target_description": gesture.target_description,
        }
        for number, (gesture, start_s, end_s) in enumerate(gestures, 1)
    ]
    return f"The list: {json.dumps(rows, ensure_ascii=False)}"


VERSION = hashlib.sha256(f"{RULES}\n{CRITIC}\n{task([])}".encode()).hexdigest()[:12]
