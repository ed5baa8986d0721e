"""What becomes of a written item: refused with a reason, or a draft, with a proof where one can be found.

Checked are what GRASP's own validator checks (form, letter, four options, known people, no speculative words, category
of the call, a time range, both modalities in joint questions, near-duplicates), and what it leaves out: the letter
against the answer's text, doubled options, times inside the video, events that are there. Near-duplicates are looked
for across all calls of the video.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

import numpy as np

from ml.questions import slots
from ml.questions.draft import Draft
from ml.questions.facts import Event, Facts
from ml.questions.forms import FORMS
from ml.questions.letters import Letters
from ml.questions.matching import Asked, Matched, match
from ml.questions.taxonomy import CATEGORIES
from ml.questions.trace import gt_events, trace
from ml.questions.written import Call, Item, OpenItem
from ml.text import persons, phrases, times
from ml.text.answers import split_option

OPTIONS, LONGEST_OPTION = 4, 15  # options, words
LEAST_OPEN = 5  # words of an open answer
ALIKE = 0.6  # Jaccard of words from which two questions are one
CLOSE_S = 1.0  # seconds by which a time range may miss the events or the video's end
LETTERS = "ABCD"


class Unfit(Exception):
    """The item is refused: a word to count by, and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass
class Judged:
    """A draft, or why there is none. `proven`: its key is derived; else `unproven` says why a human must sign it."""

    draft: Draft | None = None
    code: str = ""
    why: str = ""
    proven: bool = False
    unproven: str = ""
    likeness: float = 0.0


@dataclass
class Judge:
    """Judges the items of one video, one call after the other."""

    facts: Facts
    letters: Letters | None = None  # of keys so far; with it, keys are put where letters are short
    rng: Random = field(default_factory=lambda: Random(0))
    taken: list[frozenset[str]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def judge(self, item: Item | OpenItem, call: Call) -> Judged:
        """What becomes of an item of this call's reply."""
        try:
            events = self._check(item, call)
            judged = self._open(item, events) if isinstance(item, OpenItem) else self._choice(item, events)
        except Unfit as unfit:
            self.refused[unfit.code] += 1
            return Judged(code=unfit.code, why=str(unfit))
        self.taken.append(_words(item.question))
        return judged

    # -- checks

    def _check(self, item: Item | OpenItem, call: Call) -> list[Event]:
        """The item's events. Raises Unfit."""
        if item.category not in call.categories:
            raise Unfit("category", f"The category {item.category[:40]!r} was not asked for in call {call.name}.")
        missing = [id for id in item.source_event_ids if id not in call.events]
        if missing or not item.source_event_ids:
            raise Unfit("events", f"It rests on an event that is not in the list: {(missing or ['none'])[0][:20]}.")
        events = [call.events[id] for id in dict.fromkeys(item.source_event_ids)]
        self._check_people(item)
        self._check_times(item, events)
        if speculative := phrases.speculative(item.answer_text):
            raise Unfit("speculative", f"Its answer says {speculative[0]!r}.")
        if CATEGORIES[item.category].group == "joint" and not (
            phrases.GAZE_WORD.search(item.question) and phrases.GESTURE_WORD.search(item.question)
        ):
            raise Unfit("modalities", "A joint question must speak of gaze and of a gesture.")
        own = _words(item.question)
        if any(len(own & other) > ALIKE * len(own | other) for other in self.taken):
            raise Unfit("repeated", "It repeats another question of this video.")
        return events

    def _check_people(self, item: Item | OpenItem) -> None:
        known = {person.number for person in self.facts.persons}
        said = [item.question, item.answer_text, *(item.options if isinstance(item, Item) else [])]
        strangers = sorted(set().union(*(persons.named(text) for text in said)) - known)
        if strangers:
            raise Unfit("people", f"It names Person {strangers[0]}, who is not in this video.")

    def _check_times(self, item: Item | OpenItem, events: list[Event]) -> None:
        seconds = self.facts.seconds
        length = float(seconds[-1] - seconds[0])
        if len(item.time_range) != 2 or not 0 <= item.time_range[0] < item.time_range[1] <= length + CLOSE_S:
            raise Unfit("times", "Its time range is none of this video.")
        said = [moment for text in (item.question, item.answer_text) for moment in times.moments(text)]
        if any(not 0 <= moment <= length + CLOSE_S for moment in said):
            raise Unfit("times", "It names a time outside the video.")
        start = min(float(seconds[event.start] - seconds[0]) for event in events)
        end = max(float(seconds[event.end] - seconds[0]) for event in events)
        if item.time_range[0] > start + CLOSE_S or item.time_range[1] < end - CLOSE_S:
            raise Unfit("times", "Its time range leaves out an event it rests on.")

    # -- drafts

    def _choice(self, item: Item, events: list[Event]) -> Judged:
        options, key = self._checked_options(item)
        if self.letters is not None:  # models have favourite letters
            place = self.letters.draw(item.category, self.rng)
            right = options.pop(key)
            options.insert(place, right)
            key = place
        text = self._slotted(item.question, events)
        asked = Asked(item.form, item.question, text, options, key, events)
        found, why = self._match(asked, item)
        return self._draft(item, events, text, options, key, found, why)

    def _checked_options(self, item: Item) -> tuple[list[str], int]:
        """The options and the position of the right one. Raises Unfit."""
        options = [split_option(" ".join(option.split()))[1] for option in item.options]
        if len(options) != OPTIONS or not all(options):
            raise Unfit("options", f"It has {len(options)} options instead of {OPTIONS}.")
        if any(len(option.split()) > LONGEST_OPTION for option in options):
            raise Unfit("options", f"An option has more than {LONGEST_OPTION} words.")
        if len({_plain(option) for option in options}) < OPTIONS:
            raise Unfit("options", "Two of its options are the same.")
        letter = (split_option(item.answer.strip())[0] or item.answer).strip().upper()
        if len(letter) != 1 or letter not in LETTERS:
            raise Unfit("letter", "Its answer is no letter from A to D.")
        key = LETTERS.index(letter)
        if _plain(split_option(item.answer_text.strip())[1]) != _plain(options[key]):
            raise Unfit("letter", "Its letter and the text of its answer do not agree.")
        return options, key

    def _match(self, asked: Asked, item: Item) -> tuple[Matched | None, str]:
        found, why = match(asked, self.facts)
        if found is not None and FORMS[found.form][0] != item.category:
            return None, "what it asks belongs to another category"
        return found, why

    def _draft(
        self, item: Item, events: list[Event], text: str, options: list[str], key: int, found: Matched | None, why: str
    ) -> Judged:
        facts, values = self.facts, found.values if found else [None] * OPTIONS
        rows = [
            {"id": str(at), "text": self._slotted(option, events, bare=False), "value": value}
            for at, (option, value) in enumerate(zip(options, values, strict=True), 1)
        ]
        start, end = found.span if found else self._span(item, events)
        others = [row["text"] for at, row in enumerate(rows) if at != key]
        draft = Draft(
            category=item.category,
            kind="single",
            text=text,
            options=rows,
            key=[str(key + 1)],
            proof=found.proof if found else cast(Any, None),
            reasoning=trace(found.proof, facts, rows[key]["text"], others) if found else self._reasoning(item, events),
            start=start,
            end=end,
            difficulty=CATEGORIES[item.category].difficulty,
            template=found.form if found else "",
            gt_events=gt_events(found.proof, facts) if found else [],
        )
        return Judged(draft, proven=found is not None, unproven=why, likeness=found.likeness if found else 0.0)

    def _open(self, item: OpenItem, events: list[Event]) -> Judged:
        """An open item's sentences are no statements that can be evaluated: a human signs it, or nobody gets it."""
        answer = " ".join(item.answer_text.split())
        if len(answer.split()) < LEAST_OPEN:
            raise Unfit("answer", f"Its answer has fewer than {LEAST_OPEN} words.")
        start, end = self._span(item, events)
        draft = Draft(
            category=item.category,
            kind="open",
            text=self._slotted(item.question, events),
            options=[],
            key=[self._slotted(answer, events)],
            proof=cast(Any, None),
            reasoning=self._reasoning(item, events),
            start=start,
            end=end,
            difficulty=CATEGORIES[item.category].difficulty,
            template="",
        )
        return Judged(draft, unproven="an open answer in a model's words cannot be derived")

    def _reasoning(self, item: Item | OpenItem, events: list[Event]) -> str:
        known = {person.number for person in self.facts.persons}
        return self._slotted(item.reasoning, events) if persons.named(item.reasoning) <= known else ""

    # -- frames and slots

    def _span(self, item: Item | OpenItem, events: list[Event]) -> tuple[int, int]:
        """The time range, in frames, with all of the events."""
        low, high = (self._frame(moment, events) for moment in item.time_range)
        start, end = min(low, *(e.start for e in events)), max(high, *(e.end for e in events))
        return start, min(max(end, start + 1), self.facts.frames)

    def _frame(self, moment: float, events: list[Event]) -> int:
        """The frame a printed time means: where an event starts or ends, if it prints alike, else the nearest."""
        zeroed = self.facts.seconds - self.facts.seconds[0]
        for edge in (edge for event in events for edge in (event.start, event.end)):
            if round(float(zeroed[edge]), 1) == round(moment, 1):
                return edge
        return int(np.argmin(np.abs(zeroed - moment)))

    def _slotted(self, text: str, events: list[Event], *, bare: bool = True) -> str:
        """The text with slots for people and moments, so that it is printed by any clip's names and clock. Lengths stay
        as they are; with `bare`, a number of seconds that prints like an edge of the events is a moment, too."""
        by_number = {person.number: person.id for person in self.facts.persons}
        zeroed = self.facts.seconds - self.facts.seconds[0]
        edges = {round(float(zeroed[edge]), 1) for event in events for edge in (event.start, event.end)}
        pieces: list[tuple[int, int, str]] = []
        for person in persons.mentions(text):
            named = [slots.person(by_number[number]) for number in person.numbers]
            pieces.append((person.start, person.end, _joined(named)))
        for time in times.mentions(text):
            if time.kind in ("point", "span") or (bare and time.kind == "bare" and round(time.low, 1) in edges):
                frames = [slots.time(self._frame(value, events)) for value in time.values]
                pieces.append((time.start, time.end, _timed(text[time.start : time.end], frames)))
        return _filled(text, pieces)


def _joined(named: list[str]) -> str:
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _timed(written: str, frames: list[str]) -> str:
    """Slots of moments in the words they were written with."""
    if len(frames) == 1:
        return frames[0]
    first = written.split()[0].lower()
    if first in ("from", "between"):
        return f"{written.split()[0]} {frames[0]} {'to' if first == 'from' else 'and'} {frames[1]}"
    return f"{written[0] if written[0] in '([' else ''}{frames[0]} to {frames[1]}"


def _filled(text: str, pieces: list[tuple[int, int, str]]) -> str:
    """The text with some of its pieces replaced; braces of the rest are doubled."""
    done, at = [], 0
    for start, end, new in sorted(pieces):
        if start >= at:
            done += [slots.literal(text[at:start]), new]
            at = end
    return "".join([*done, slots.literal(text[at:])])


def _plain(text: str) -> str:
    return " ".join(text.casefold().strip(" .").split())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().replace("?", " ").replace(",", " ").split())
