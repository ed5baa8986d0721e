"""From a template's idea to a draft: key and distractors proven, options ordered, nothing asked twice."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ml.questions import slots, words
from ml.questions.draft import Draft
from ml.questions.facts import Facts, Span
from ml.questions.grammar import expr, value
from ml.questions.idea import Choice, Idea
from ml.questions.letters import OFFERED, Letters
from ml.questions.proof import evaluate
from ml.questions.reducing import Range, Truth, holds, known
from ml.questions.scene import Scene
from ml.questions.support import support
from ml.questions.table import table_of
from ml.questions.taxonomy import CATEGORIES
from ml.questions.trace import gt_events, trace

OPTIONS = 4
LONGEST_OPTION = 15  # words
ALIKE = 0.6  # of the words of two questions about the same persons and times: GRASP's own limit for repetitions


@dataclass
class Asked:
    """What a video was asked already: by what it rests on, and by its words."""

    marks: set[Any] = field(default_factory=set)
    said: defaultdict[Any, list[frozenset[str]]] = field(default_factory=lambda: defaultdict(list))

    def repeats(self, place: Any, own: frozenset[str]) -> bool:
        """Whether another question about the same persons and times has most of its words."""
        return any(len(own & other) > ALIKE * len(own | other) for other in self.said[place])


@dataclass
class Drafter:
    """Makes drafts of one category of one video."""

    scene: Scene
    category: str
    letters: Letters
    asked: Asked

    def draft(self, name: str, idea: Idea) -> Draft | None:
        """The draft of an idea of the template, or None where it cannot be proven or was asked before."""
        scene, facts = self.scene, self.scene.facts
        window = max(0, idea.span[0]), min(facts.frames, idea.span[1])
        text = words.capital(scene.rng.choice(idea.wordings))
        if not scene.sees(window, slots.persons_in(text)):
            return None
        chosen = self._choices(name, idea, window)
        if chosen is None:
            return None
        keys, others = chosen
        ask = expr(idea.ask)
        used = support(ask, [value(c.value, ask.kind, "key") for c in keys], table_of(facts, 0))
        start = min([window[0], *(facts.by_id[id].start for id in used)])  # the clip shows all that the key rests on
        end = max([window[1], *(facts.by_id[id].end for id in used)])
        mark = (self.category, name, used or window, tuple(sorted(slots.persons_in(text))))
        place, spoken = self._place(text), frozenset(_spoken(text))
        if mark in self.asked.marks or self.asked.repeats(place, spoken):
            return None
        rows, key = self._rows(idea, keys, others)
        proof = _proof(facts, idea, text, rows, key, (start, end))
        outcome = evaluate(proof, facts)
        if not outcome.stands:
            return None
        proof["events"] = list(outcome.used)
        self.asked.marks.add(mark)
        self.asked.said[place].append(spoken)
        self.letters.took(name, keys[0].value)
        answer = _answer(idea, keys)
        return Draft(
            category=self.category,
            kind=idea.kind,
            text=text,
            options=[] if idea.kind in ("open", "number") else rows,
            key=[answer] if idea.kind == "open" else [keys[0].value] if idea.kind == "number" else key,
            proof=proof,
            reasoning=trace(proof, facts, answer, [c.text for c in others]),
            start=start,
            end=end,
            difficulty=CATEGORIES[self.category].difficulty,
            template=name,
            gt_events=gt_events(proof, facts),
        )

    def _choices(self, name: str, idea: Idea, window: Span) -> tuple[list[Choice], list[Choice]] | None:
        """What is right and what is wrong among the options; None where they cannot be had."""
        if idea.kind == "open":  # all that its sentences claim is key
            return [Choice(text, {"claim": claim}) for text, claims in idea.sentences for claim in claims], []
        if idea.kind == "number":
            found = known(expr(idea.ask), table_of(self.scene.facts, self.scene.margin))
            if not isinstance(found, Range) or found.least != found.most:
                return None
            return [Choice(str(int(found.least)), int(found.least))], []
        truths = _truths(self.scene, idea)
        named = [c for c in idea.choices if self.scene.sees(window, slots.persons_in(c.text)) and _short(c.text)]
        true = [c for c in named if truths[c.text] is True]
        false = [c for c in named if truths[c.text] is False]
        if not true or not false or (idea.whole and len(true) + len(false) < len(idea.choices)):
            return None
        if idea.kind == "multiple":
            return (true, false) if len(true) + len(false) == len(idea.choices) else None
        if len(true) > 1 and not idea.several:
            return None
        key = self.scene.rng.choice(true)
        if not self.letters.allows(name, key.value, max(len(idea.choices), 2), self.scene.rng):
            return None
        return ([key], false) if idea.kind == "yes_no" else self._three(key, false)

    def _three(self, key: Choice, false: list[Choice]) -> tuple[list[Choice], list[Choice]] | None:
        """The key and three distractors, the plausible ones first."""
        rng = self.scene.rng
        if len(false) < OPTIONS - 1:
            return None
        offered = -1.0 if rng.random() < OFFERED else 9.0
        order = {c.text: offered if c.value is None else c.rank + 1.5 * rng.random() for c in false}
        others = sorted(false, key=lambda c: order[c.text])[: OPTIONS - 1]
        rng.shuffle(others)
        return [key], others

    def _rows(self, idea: Idea, keys: list[Choice], others: list[Choice]) -> tuple[list[dict[str, Any]], list[str]]:
        """The options in the order of their letters, and the ids of the key."""
        listed = [*keys, *others]
        if idea.kind == "single":
            position = self.letters.draw(self.category, self.scene.rng)
            listed = [*others[:position], *keys, *others[position:]]
        elif idea.kind in ("yes_no", "multiple"):
            listed = [choice for choice in idea.choices if choice in listed]
        rows = [{"id": str(at), "text": c.text, "value": c.value} for at, c in enumerate(listed, 1)]
        return rows, [row["id"] for row, choice in zip(rows, listed, strict=True) if choice in keys]

    def _place(self, text: str) -> Any:
        """Persons a question names and its times to about the third of a second: questions elsewhere are others."""
        seconds = self.scene.facts.seconds
        times = tuple(round(3 * float(seconds[frame])) for frame in slots.frames_in(text))
        return tuple(sorted(slots.persons_in(text))), times


def _answer(idea: Idea, keys: list[Choice]) -> str:
    if idea.kind == "open":
        return " ".join(text for text, _ in idea.sentences)
    return words.listed([choice.text for choice in keys])


def _truths(scene: Scene, idea: Idea) -> dict[str, Truth]:
    """What each answer is within one step of every boundary, and within what printed times leave open."""
    table = table_of(scene.facts, scene.margin)
    ask = expr(idea.ask)
    found = known(ask, table)
    return {c.text: holds(found, value(c.value, ask.kind, "choice"), table) for c in idea.choices}


def _proof(
    facts: Facts, idea: Idea, text: str, rows: list[dict[str, Any]], key: list[str], window: Span
) -> dict[str, Any]:
    return {
        "v": 1,
        "set": facts.set,
        "revision": facts.revision,
        "persons": slots.persons_in(" ".join([text, *(row["text"] for row in rows)])),
        "span": list(window),
        "ask": idea.ask,
        "options": [{"id": row["id"], "value": row["value"]} for row in rows],
        "key": key,
        "events": [],
    }


def _spoken(text: str) -> list[str]:
    """The words of a question, persons and times as mere places."""
    printed = slots.render(text, dict.fromkeys(slots.persons_in(text), "P"), lambda frame: 0.0)
    return printed.casefold().replace("?", " ").replace(".", " ").replace(",", " ").split()


def _short(text: str) -> bool:
    printed = slots.render(text, dict.fromkeys(slots.persons_in(text), "Person 1"), float)
    return len(printed.split()) <= LONGEST_OPTION
