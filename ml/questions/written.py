"""Questions that a model writes: which calls are made for a video, what is said in them, and the shape of the replies.

After GRASP's call plan: the model sees event metadata only, never a picture.

    A        1-2 gaze events            2-3 multiple choice: gaze_target, gaze_event_type
    B        3 gaze events or more      5-8 multiple choice on gaze (gaze_following only with a following event,
                                        group_attention only with joint attention or attention capture)
    B-open   B, with such a group event 1-2 open, group_attention
    C        1-3 gestures               2-3 multiple choice: gesture_recog, gesture_type
    D        4 gestures or more         4-7 multiple choice on gestures (gesture_sequence and reciprocal_gesture only
                                        with 2 person-to-person gestures or more)
    D-open   D, with such gestures      1-2 open, gesture_sequence
    E        both, and 2 links or more  3-5 multiple choice on gaze and gesture together
    E-open   E                          2-3 open: gaze_response_to_gesture, cross_modal_dynamics

A link is a gaze event and a gesture that overlap or lie at most LINK_S apart. Long videos are written about in parts of
MOST_EVENTS. The words are ours. What becomes of a reply is said in `judging`; a key counts only once it is proven or a
human signed it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import BaseModel, ConfigDict

from ml.questions import words
from ml.questions.facts import Event, Facts
from ml.questions.forms import FORMS
from ml.questions.taxonomy import CATEGORIES
from ml.social.event import CAPTURE, FOLLOWING, JOINT

LINK_S = 3.0
MOST_EVENTS = 40  # of one call
TEMPERATURE, REPLY_TOKENS = 0.7, 8192
ROLE_WORDS = {
    "member": "members",
    "leader": "leader",
    "follower": "follower",
    "initiator": "initiator",
    "target": "target",
}


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Item(Shape):
    """A multiple-choice item as it is written. `form`: which of the listed forms it asks, "other" where none."""

    category: str
    form: str
    question: str
    options: list[str]
    answer: str
    answer_text: str
    reasoning: str
    source_event_ids: list[str]
    time_range: list[float]


class OpenItem(Shape):
    category: str
    question: str
    answer_text: str
    reasoning: str
    source_event_ids: list[str]
    time_range: list[float]


class Sheet(Shape):
    items: list[Item]


class OpenSheet(Shape):
    items: list[OpenItem]


@dataclass(frozen=True)
class Call:
    """One request. `events` by the names they have in it ("E1"); `rules` and `task` are what is said."""

    name: str  # A to E, with -open, and the part of a long video
    categories: tuple[str, ...]
    open: bool
    events: dict[str, Event]
    rules: str
    task: str

    @property
    def shape(self) -> type[Sheet] | type[OpenSheet]:
        return OpenSheet if self.open else Sheet


def plan(facts: Facts) -> list[Call]:
    """The calls for a video, in order of time."""
    events = sorted(facts.events, key=lambda event: (event.start, event.end, event.id))
    parts = [events[k : k + MOST_EVENTS] for k in range(0, len(events), MOST_EVENTS)]
    calls: list[Call] = []
    for number, part in enumerate(parts, 1):
        made = _calls(facts, part)
        calls += made if len(parts) == 1 else [replace(call, name=f"{call.name} {number}") for call in made]
    return calls


def _calls(facts: Facts, events: Sequence[Event]) -> list[Call]:
    gaze = [event for event in events if event.modality == "gaze"]
    gestures = [event for event in events if event.modality == "gesture"]
    kinds = {event.type for event in gaze}
    group = bool(kinds & {JOINT, CAPTURE})
    between = sum(bool(event.who("target")) for event in gestures) >= 2
    calls = []

    def add(name: str, shown: Sequence[Event], wanted: Sequence[str], count: str, open: bool = False) -> None:
        calls.append(call(facts, name, shown, wanted, count, open))

    if 1 <= len(gaze) <= 2:
        add("A", gaze, ["gaze_target", "gaze_event_type"], "2 or 3")
    elif gaze:
        left_out = {"gaze_following"} - ({"gaze_following"} if FOLLOWING in kinds else set())
        left_out |= set() if group else {"group_attention"}
        add("B", gaze, [slug for slug in of_group("gaze") if slug not in left_out], "5 to 8")
        if group:
            add("B-open", gaze, ["group_attention"], "1 or 2", open=True)
    if 1 <= len(gestures) <= 3:
        add("C", gestures, ["gesture_recog", "gesture_type"], "2 or 3")
    elif gestures:
        chains = {"gesture_sequence", "reciprocal_gesture"}
        add("D", gestures, [slug for slug in of_group("gesture") if between or slug not in chains], "4 to 7")
        if between:
            add("D-open", gestures, ["gesture_sequence"], "1 or 2", open=True)
    if gaze and gestures and links(facts, gaze, gestures) >= 2:
        add("E", events, of_group("joint"), "3 to 5")
        add("E-open", events, ["gaze_response_to_gesture", "cross_modal_dynamics"], "2 or 3", open=True)
    return calls


def of_group(group: str) -> list[str]:
    return [slug for slug, category in CATEGORIES.items() if category.group == group]


def links(facts: Facts, gaze: Sequence[Event], gestures: Sequence[Event]) -> int:
    """How many pairs of a gaze event and a gesture overlap or lie at most LINK_S apart."""
    a, b = (
        np.array([[facts.seconds[event.start], facts.seconds[event.end]] for event in some])
        for some in (gaze, gestures)
    )
    gap = np.maximum(a[:, None, 0], b[None, :, 0]) - np.minimum(a[:, None, 1], b[None, :, 1])
    return int((gap <= LINK_S).sum())


# --- what is said ----------------------------------------------------------------------------------------------------

RULES = """\
You write questions for a benchmark of social video. You are given a list of events of one video, nothing else; people
are named Person 1, Person 2 and so on, times are seconds of the video. Whoever answers sees the video and not the list,
so a question must be answerable by watching and by nothing else.

Rules for every question:
- Name people as "Person N", only people of the list, and events in plain words: eye contact or mutual gaze, joint
  attention, gaze following, attention capture, a sudden gaze shift, pointing, showing, giving, reaching.
- Say when: "between 3.0 s and 8.5 s", or "from 3.0 s to 8.5 s" with the times of an event just as they are listed.
- A question about an order names the two things it is about.
- Use only what the list says. No guesses about thoughts, feelings or reasons, and no words such as likely, seems,
  suggesting or because.
- source_event_ids names the events the answer rests on, time_range the seconds [from, to] one has to watch.
- reasoning: think step by step inside <think> and </think>, naming those events with people and times{distractors}."""

CHOICE = """\
- Exactly four options of at most 15 words, all different and of one kind, without letters before them. Exactly one is
  right by the list; each of the others must be wrong by the list, and plausible: other people who are in the picture,
  swapped roles, near durations.
- answer is the letter of the right option, A to D, and answer_text that option word for word.
- form says which of these the question asks; write "other" where none fits:"""

OPEN = """\
- The question is open. answer_text answers it in two to four factual sentences that name people and times."""


def call(facts: Facts, name: str, events: Sequence[Event], categories: Sequence[str], count: str, open: bool) -> Call:
    """The request for some categories about some events."""
    named = {f"E{number}": event for number, event in enumerate(events, 1)}
    why = "" if open else ", and why each other option is wrong"
    if open:
        rules = f"{RULES.format(distractors=why)}\n{OPEN}"
    else:
        forms = [f"  {form}: {meaning}" for form, (slug, meaning) in FORMS.items() if slug in categories]
        rules = "\n".join([RULES.format(distractors=why), CHOICE, *forms])
    listed = "\n".join(json.dumps(told(facts, id, event), ensure_ascii=False) for id, event in named.items())
    kinds = ", ".join(f"{slug} ({CATEGORIES[slug].words.lower()})" for slug in categories)
    kind = "open questions" if open else "multiple-choice questions"
    task = f"Events:\n{listed}\n\nWrite {count} {kind}. Categories: {kinds}. Fewer is better than a doubtful one."
    return Call(name, tuple(categories), open, named, rules, task)


def told(facts: Facts, id: str, event: Event) -> dict[str, object]:
    """An event as the model reads it: no raw numbers of the detectors, no free text."""
    numbers = {person.id: person.number for person in facts.persons}
    people: dict[str, list[str]] = {}
    for person, role in sorted(event.roles, key=lambda pair: numbers[pair[0]]):
        people.setdefault(ROLE_WORDS[role], []).append(f"Person {numbers[person]}")
    row: dict[str, object] = {
        "id": id,
        "kind": event.modality,
        "event": words.TYPES[event.type].removeprefix("a "),
        **people,
    }
    if event.modality == "gesture" and "target" not in people:
        row["target"] = words.target(event)
    zero = float(facts.seconds[0])
    return row | {
        "start_s": round(float(facts.seconds[event.start]) - zero, 1),
        "end_s": round(float(facts.seconds[event.end]) - zero, 1),
    }
