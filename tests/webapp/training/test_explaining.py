"""What a rewards' line says beside its value: the numbers it was worked out from, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ml.rewards import registry
from webapp.runs import explaining

ITEM: dict[str, Any] = {
    "question": "What happens?",
    "options": ["A red ball", "A blue box"],
    "answer": "A",
    "gt_events": [
        {"source": "gaze", "persons": [1, 2], "start": 1.0, "end": 2.0},
        {"source": "gesture", "persons": [3], "start": 4.0, "end": 5.0},
    ],
    "visible_persons": [1, 2, 3],
}
# people: Person 1, 2, 3; movements: nods; dealings: looks, points; surroundings: room; words of order: First, Then
STORY = (
    "<think>First, at 1.5 s, <gaze>Person 1 looks at Person 2 in the room.</gaze> "
    "Then at 4.5 s <gesture>Person 3 points and nods by a red ball.</gesture></think><answer>A</answer>"
)
BACKWARD = (
    "<think><gesture>Person 3 points from 4 to 5 s.</gesture> <gaze>Person 1 looks at 1.5 s.</gaze></think>"
    "<answer>A</answer>"
)


def says(name: str, text: str, **more: Any) -> str:
    value = registry.named(name)(row) if (row := explaining.row_of(ITEM | more, text)) is not None else None
    [answer] = explaining.answers(ITEM | more, [{"text": text, "rewards": {name: value}}], {name: 1.0})
    [line] = answer.lines
    return line.says


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("temporal-order", STORY, "2 words of order in"),
        ("temporal-order", STORY, "2 sentences with a time; 1 of 1 pairs run forward."),
        ("temporal-order", BACKWARD, "2 sentences with a time; 0 of 1 pairs run forward."),
        ("temporal-order", "<think>Then she smiles.</think>", "no two times to compare: half at most."),
        ("thinking-focus", STORY, "Says 100% of the right option's own words, at most 0% of a wrong one's."),
        ("event-order", STORY, "Of 1 pair of events 1 told in order, 0 in the wrong one, 0 not."),
        ("event-order", BACKWARD, "Of 1 pair of events 0 told in order, 1 in the wrong one, 0 not."),
        ("event-order", "<think>Nothing.</think>", "Of 1 pair of events 0 told in order, 0 in the wrong one, 1 not."),
        (
            "person-focus",
            STORY,
            "3 of people, 0 of faces, 1 of movements, 2 of dealings with each other, 1 of sur",
        ),
    ],
)
def test_a_line_tells_what_its_value_was_worked_out_from(name: str, text: str, sentence: str) -> None:
    assert sentence in says(name, text)


def test_what_has_no_value_says_why() -> None:
    assert says("event-order", STORY, gt_events=[]).startswith("No value: there are no two events")
    assert says("thinking-focus", STORY, options=[]).startswith("No value: the item has no right and wrong options")


@pytest.mark.parametrize("name", ["person-focus-judged", "temporal-order-judged"])
def test_of_a_judges_value_nothing_is_counted(name: str) -> None:
    [answer] = explaining.answers(ITEM, [{"text": STORY, "rewards": {name: 0.5}}], {})
    assert answer.lines[0].says == explaining.meaning(name)
