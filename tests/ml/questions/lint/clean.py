"""Clean items by program, with the event table each is true of; nothing of the linter is used to make them.

Every item has a video of its own with the events that decide it. The clip begins 1.5 s before the event and ends 2.0 s
after it, as in the one released item whose padding is known.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

BEFORE, AFTER = 1.5, 2.0
LETTERS = "ABCD"
DIFFICULTY = {
    "T1": "easy", "T2": "easy", "T3": "medium", "T4": "medium", "T5": "hard", "T6": "hard", "G1": "easy", "G2": "easy",
    "G3": "medium", "G4": "medium", "G5": "hard", "G6": "hard", "C1": "medium", "C2": "medium", "C3": "hard",
    "C4": "hard",
}  # fmt: skip
GAZE = {"mutual_gaze": "Mutual gaze", "joint_attention": "Joint attention", "gaze_following": "Gaze following",
        "sudden_gaze_shift": "Sudden gaze shift"}  # fmt: skip
GESTURES = ("pointing", "showing", "giving", "reaching")
DOES = {"pointing": "points at", "showing": "shows something to", "giving": "gives something to",
        "reaching": "reaches for"}  # fmt: skip
FIRST = {"sudden_gaze_shift": 0, "joint_attention": 1000, "gaze_following": 2000, "mutual_gaze": 4000}


@dataclass
class Made:
    """One item as a tree, with its events and gestures (source seconds)."""

    tree: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    gestures: list[dict[str, Any]] = field(default_factory=list)

    def copy(self) -> Made:
        return copy.deepcopy(self)

    @property
    def qa(self) -> dict[str, Any]:
        qa: dict[str, Any] = self.tree["qa"]
        return qa

    def events_file(self) -> dict[str, Any]:
        return {"video_path": f"{self.qa['video_id']}.mp4", "video_fps": 25.0, "sample_fps": 2.0,
                "events": self.events}  # fmt: skip

    def gestures_file(self) -> dict[str, Any]:
        return {"video_path": f"{self.qa['video_id']}.mp4", "classifier_version": "test", "gestures": self.gestures}


@dataclass
class Asked:
    """What a template says: times relative to the clip; `wrong` are false options."""

    question: str
    right: str
    wrong: list[str]
    reasoning: str
    events: list[dict[str, Any]]
    gestures: list[dict[str, Any]]
    end: float  # of the last event, source seconds


class Author:
    """Draws people, times and lengths for one item."""

    def __init__(self, number: int) -> None:
        self.rng = random.Random(f"clean {number}")
        self.number = number
        self.people = self.rng.sample(range(9), 5)
        self.start = round(self.rng.uniform(12.0, 80.0), 1)
        self.length = self.rng.choice([2.0, 2.5, 3.0, 3.5, 4.0, 4.5])

    def gaze(self, kind: str, persons: list[int], start: float, end: float, **details: Any) -> dict[str, Any]:
        return {
            "event_id": FIRST[kind] + self.number % 900, "event_type": kind, "start_time": start, "end_time": end,
            "start_frame": round(start * 25), "end_frame": round(end * 25), "confidence": 0.95,
            "persons_involved": persons, "details": details,
        }  # fmt: skip

    def gesture(self, kind: str, who: int, whom: int | None, start: float, end: float) -> dict[str, Any]:
        return {
            "gesture_type": kind, "initiator_id": who, "start_time": start, "end_time": end,
            "target_type": "object" if whom is None else "person", "target_person_id": whom,
            "target_description": "somebody", "confidence": 0.95,
        }  # fmt: skip

    def clip(self, second: float) -> str:
        """A source second as the clip's, in words."""
        return f"{second - self.start + BEFORE:.1f} s"


def _person(numbers: list[int]) -> list[str]:
    return [f"Person {number}" for number in numbers]


def _pair(a: int, b: int) -> str:
    return f"Person {a} and Person {b}"


def t1(a: Author) -> Asked:
    x, y, *others = a.people
    end = a.start + a.length
    return Asked(f"With whom does Person {x} make eye contact at {a.clip(a.start + 1)}?", f"Person {y}",
                 _person(others), f"These two look at each other from {a.clip(a.start)} to {a.clip(end)}.",
                 [a.gaze("mutual_gaze", [x, y], a.start, end)], [], end)  # fmt: skip


def t2(a: Author) -> Asked:
    x, y, *_ = a.people
    end = a.start + a.length
    kind = list(GAZE)[(a.number // 16) % 3]
    details = {"leader_id": x, "follower_id": y} if kind == "gaze_following" else {}
    return Asked(f"Which gaze interaction involves Person {x} and Person {y} from {a.clip(a.start)} to {a.clip(end)}?",
                 GAZE[kind], [words for name, words in GAZE.items() if name != kind],
                 f"The two share it from {a.clip(a.start)} to {a.clip(end)}.",
                 [a.gaze(kind, [x, y], a.start, end, **details)], [], end)  # fmt: skip


def t3(a: Author) -> Asked:
    x, y, *_ = a.people
    end = a.start + a.length
    others = a.rng.sample([d for d in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0) if abs(d - a.length) >= 0.5], 3)
    return Asked(f"How long do Person {x} and Person {y} keep eye contact?", f"{a.length:.1f} seconds",
                 [f"{d:.1f} seconds" for d in others], f"It lasts from {a.clip(a.start)} to {a.clip(end)}.",
                 [a.gaze("mutual_gaze", [x, y], a.start, end)], [], end)  # fmt: skip


def t4(a: Author) -> Asked:
    x, y, u, v, w = a.people
    end = a.start + a.length
    return Asked(f"Which pair makes eye contact at {a.clip(a.start + 1)}?", _pair(x, y),
                 [_pair(u, v), _pair(v, w), _pair(x, w)], f"From {a.clip(a.start)} on these two look at each other.",
                 [a.gaze("mutual_gaze", [x, y], a.start, end)], [], end)  # fmt: skip


def t5(a: Author) -> Asked:
    x, y, *others = a.people
    end = a.start + a.length
    return Asked(f"Whose gaze does Person {x} follow at {a.clip(a.start + 1)}?", f"Person {y}", _person(others),
                 f"Person {y} leads and Person {x} follows at {a.clip(a.start + 1)}.",
                 [a.gaze("gaze_following", [y, x], a.start, end, leader_id=y, follower_id=x)], [], end)  # fmt: skip


def t6(a: Author) -> Asked:
    x, *members = a.people
    end = a.start + a.length
    return Asked(f"Who is NOT part of the joint attention at {a.clip(a.start + 1)}?", f"Person {x}",
                 _person(members[:3]), f"Everybody else attends at {a.clip(a.start + 1)}.",
                 [a.gaze("joint_attention", members, a.start, end)], [], end)  # fmt: skip


def g1(a: Author) -> Asked:
    x, y, *others = a.people
    end = a.start + a.length
    return Asked(f"At whom does Person {x} point at {a.clip(a.start + 1)}?", f"Person {y}", _person(others),
                 f"The arm of Person {x} is stretched out towards Person {y} from {a.clip(a.start)} on.", [],
                 [a.gesture("pointing", x, y, a.start, end)], end)  # fmt: skip


def g2(a: Author) -> Asked:
    x, y, *_ = a.people
    end = a.start + a.length
    kind = GESTURES[(a.number // 16) % 4]
    return Asked(f"Which gesture does Person {x} make towards Person {y} at {a.clip(a.start + 1)}?", kind.capitalize(),
                 [other.capitalize() for other in GESTURES if other != kind], f"It begins at {a.clip(a.start)}.", [],
                 [a.gesture(kind, x, y, a.start, end)], end)  # fmt: skip


def g3(a: Author) -> Asked:
    x, y, *_ = a.people
    end = a.start + a.length
    others = a.rng.sample([d for d in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0) if abs(d - a.length) >= 0.5], 3)
    return Asked(f"How long does Person {x} point at Person {y}?", f"{a.length:.1f} seconds",
                 [f"{d:.1f} seconds" for d in others], f"It goes on from {a.clip(a.start)} to {a.clip(end)}.", [],
                 [a.gesture("pointing", x, y, a.start, end)], end)  # fmt: skip


def g4(a: Author) -> Asked:
    x, *others = a.people
    at, gestures = a.start, []
    for who in (x, others[0], x, others[1], x, others[2]):
        gestures.append(a.gesture("showing", who, others[3], at, at + 1.0))
        at = round(at + 1.5, 1)
    return Asked("Who gestures most often in this clip?", f"Person {x}", _person(others[:3]),
                 f"Person {x} gestures three times, the others once.", [], gestures, at - 0.5)  # fmt: skip


def g5(a: Author) -> Asked:
    x, y, *others = a.people
    kind = GESTURES[a.number % 4]
    gestures = [a.gesture(kind, x, y, a.start, a.start + 1.5), a.gesture("giving", y, others[0], a.start + 2.5,
                                                                          a.start + 3.5)]  # fmt: skip
    return Asked(f"Who gestures next after Person {x} {DOES[kind]} Person {y}?" if kind != "showing" else
                 f"After the showing by Person {x}, who gestures next?", f"Person {y}", _person(others),
                 f"Person {y} is the next, at {a.clip(a.start + 2.5)}.", [], gestures, a.start + 3.5)  # fmt: skip


def g6(a: Author) -> Asked:
    x, y, z, *_ = a.people
    end = a.start + a.length
    told = ["Yes, by pointing", "Yes, by giving", "No, there is none", f"No, but to {z}"]
    which = (a.number // 16) % 4
    gestures = [a.gesture("giving", x, y, a.start, a.start + 1.0)]
    if which < 2:
        gestures.append(a.gesture(("pointing", "giving")[which], y, x, a.start + 1.5, end))
    elif which == 3:
        gestures.append(a.gesture("pointing", y, z, a.start + 1.5, end))
    return Asked(f"Person {x} gives something to Person {y}. Does Person {y} gesture back?", told[which],
                 [text for text in told if text != told[which]], f"What Person {y} does ends at {a.clip(end)}.", [],
                 gestures, end)  # fmt: skip


def c1(a: Author) -> Asked:
    x, y, *_ = a.people
    told = ["The eye contact", "The giving", "Both at once", "Neither of them"]
    which = (a.number // 16) % 3
    gaze_at, gesture_at = ((0.0, 2.0), (2.0, 0.0), (0.0, 0.0))[which]
    return Asked(f"What begins first, the giving by Person {x} or the eye contact of Person {x} and Person {y}?",
                 told[which], [text for text in told if text != told[which]],
                 f"The look begins at {a.clip(a.start + gaze_at)}, the giving at {a.clip(a.start + gesture_at)}.",
                 [a.gaze("mutual_gaze", [x, y], a.start + gaze_at, a.start + 3.5)],
                 [a.gesture("giving", x, y, a.start + gesture_at, a.start + 3.5)], a.start + 3.5)  # fmt: skip


def c2(a: Author) -> Asked:
    x, y, *others = a.people
    end = a.start + a.length
    return Asked(f"With whom does Person {x} make eye contact while pointing?", f"Person {y}", _person(others),
                 f"The two look at each other from {a.clip(a.start)} to {a.clip(end)}.",
                 [a.gaze("mutual_gaze", [x, y], a.start, end)],
                 [a.gesture("pointing", x, others[2], a.start + 0.5, end)], end)  # fmt: skip


def c3(a: Author) -> Asked:
    x, y, *_ = a.people
    kind = list(GAZE)[(a.number // 16) % 3]
    details = {"leader_id": x, "follower_id": y} if kind == "gaze_following" else {}
    return Asked(f"Which gaze event follows the pointing by Person {x} within 3 seconds?", GAZE[kind],
                 [words for name, words in GAZE.items() if name != kind],
                 f"The pointing ends at {a.clip(a.start + 1.5)}, and the event begins at {a.clip(a.start + 2.5)}.",
                 [a.gaze(kind, [x, y], a.start + 2.5, a.start + 4.5, **details)],
                 [a.gesture("pointing", x, y, a.start, a.start + 1.5)], a.start + 4.5)  # fmt: skip


def c4(a: Author) -> Asked:
    x, y, z, v, w = a.people
    end = a.start + a.length
    return Asked(f"Which other people make eye contact while Person {x} is reaching?", _pair(y, z),
                 [_pair(y, v), _pair(v, w), _pair(z, w)], f"These two look at each other from {a.clip(a.start)} on.",
                 [a.gaze("mutual_gaze", [y, z], a.start, end)], [a.gesture("reaching", x, None, a.start, end)],
                 end)  # fmt: skip


TEMPLATES: dict[str, Callable[[Author], Asked]] = {
    "T1": t1, "T2": t2, "T3": t3, "T4": t4, "T5": t5, "T6": t6, "G1": g1, "G2": g2, "G3": g3, "G4": g4, "G5": g5,
    "G6": g6, "C1": c1, "C2": c2, "C3": c3, "C4": c4,
}  # fmt: skip


def make(number: int) -> Made:
    """The item with that number: categories in turn, letters in turn within each."""
    author = Author(number)
    code = list(TEMPLATES)[number % 16]
    asked = TEMPLATES[code](author)
    at = (number + number // 16) % 4
    author.rng.shuffle(asked.wrong)
    options = asked.wrong[:3]
    options.insert(at, asked.right)
    name = f"scene_{number:04d}"
    return Made(
        {
            "clip_file": f"{name}_qa0000.mp4",
            "clip_duration": round(asked.end - author.start + BEFORE + AFTER, 2),
            "clip_offset": round(author.start - BEFORE, 2),
            "video_name": name,
            "qa": {
                "question": asked.question,
                "options": [f"{letter}) {text}" for letter, text in zip(LETTERS, options, strict=True)],
                "answer": LETTERS[at],
                "answer_text": asked.right,
                "category": code,
                "difficulty": DIFFICULTY[code],
                "format": "mcq",
                "reasoning": asked.reasoning,
                "source_event_ids": [event["event_id"] for event in asked.events],
                "time_range": [author.start, round(asked.end, 2)],
                "video_id": name,
                "dataset": "synthetic",
            },
        },
        asked.events,
        asked.gestures,
    )


def items(count: int = 300) -> list[Made]:
    return [make(number) for number in range(count)]
