"""The rewards, which read fast, against a reading letter by letter, on completions good and messy."""

from __future__ import annotations

from random import Random

import pytest

from ml.rewards import registry
from ml.rewards.rows import Row, Truth
from ml.text import persons
from tests.ml.rewards import slowly

OPENERS = ["<{}>", "<{}>", "<{}>", "<{}>", "< {} >", "<{}", "", "<<{}>", "</{}>"]
CLOSERS = ["</{}>", "</{}>", "</{}>", "</{}>", "</ {}>", "<{}>", "", "</{}></{}>"]
WHO = [
    "Person {}", "Person {}", "P{}", "person {}", "PERSON {}", "Person{}", "Person #{}", "Person  {}", "Person\t{}",
    "Persons {} and {}", "Persons {}, {} and {}", "persons {} & {}", "people {} or {}", "Persons {}-{}", "P {}",
    "Persons {} to {}", "Persons {} through {}", "Person {} and {}", "Person {} and Person {}", "Person {}, {}",
    "Persons {},{}, and {}", "Persons {}, and\n{}", "Person {},\n{}", "Person {} and {} others", "Person {} and {} fps",
    "Persons {}, {} frames in", "MP{} of an_P{}", "Person {}.5", "Person {} or {}x", "Person_{}", "somebody",
    "the person in front",
]  # fmt: skip
DOES = [
    " looks",
    " looks at the glass",
    " points at P{}",
    " and Person {} look",
    " shows it to person {}",
    ", e.g. a cup,",
]
ENDS = [".", ".", ".", "!", "?", ";", "\n", " and ", "...", ".then ", " "]
ANSWERS = ["B", "B", "A", "B.", "(b)", " B ", "A, B", "Person 2", "", "B\nC", "None of them"]


def completion(rng: Random) -> str:
    """Blocks within think, with what a model under training does to them."""
    parts = [rng.choice(["<think>", "<think>\n", "", "<Think>"])]
    for _ in range(rng.randrange(5)):
        name = rng.choice(["gaze", "gesture", "gaze", "gesture", "answer", "Gaze"])
        parts.append(rng.choice(OPENERS).format(name))
        parts += [sentence(rng) for _ in range(rng.randrange(1, 4))]
        parts.append(rng.choice(CLOSERS).format(name, name))
        parts.append(rng.choice(["", "\n", " So a < b. ", "Person 4 sits. "]))
    parts.append(rng.choice(["</think>", "</think>\n", ""]))
    parts.append(
        rng.choice(["<answer>{}</answer>", "<answer>{}</answer>", "<answer>{}", "{}"]).format(rng.choice(ANSWERS))
    )
    return "".join(parts)


def sentence(rng: Random) -> str:
    words = rng.choice(WHO) + rng.choice(DOES)
    words = words.format(*(rng.choice([1, 2, 3, 4, 5, 5, 12]) for _ in range(words.count("{}"))))
    return rng.choice(["", " ", "Then "]) + words + rng.choice(list(slowly.WHEN)) + rng.choice(ENDS)


def row(rng: Random, text: str) -> Row:
    spans = [(3.0, 5.0), (2.0, 4.0), (8.0, 9.0), None]
    events = tuple(
        Truth(
            rng.choice(["gaze", "gesture"]), frozenset(rng.sample(range(1, 6), rng.randrange(1, 4))), rng.choice(spans)
        )
        for _ in range(rng.randrange(4))
    )
    question = rng.choice(["Who looks?", "Whom does Person 1 look at?", "What do Persons 2 and 3 do for 2 seconds?"])
    visible = rng.choice([None, frozenset(range(1, 6)), frozenset(range(1, 13))])
    return Row(text, question, rng.choice(["B", "B", "A, B", None]), events, visible)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_is_what_stands_there(seed: int) -> None:
    rng = Random(seed)
    positive = 0
    for _ in range(700):
        text = completion(rng)
        one = row(rng, text)
        said = [(s.modality, s.persons, s.stated.spans, s.stated.points) for s in one.reply.segments]
        assert said == slowly.said(text), text
        assert one.reply.answer == slowly.answer(text), text
        values = registry.score([one], ["sgr-strict", "sgr-release", "grounding-tag", "format-grasp"])[0]
        assert values["sgr-strict"] == pytest.approx(slowly.strict(one), abs=1e-12), text
        assert values["sgr-release"] == pytest.approx(slowly.released(one), abs=1e-12), text
        assert values["grounding-tag"] == any(name in ("gaze", "gesture") for name, _, _ in slowly.blocks(text)), text
        positive += bool(values["sgr-strict"])
    assert positive > 70


def test_persons_are_read_in_the_order_written() -> None:
    rng = Random(9)
    for _ in range(2000):
        text = "".join(sentence(rng) for _ in range(3))
        assert [n for mention in persons.mentions(text) for n in mention.numbers] == slowly.persons(text), text


def test_completions_of_a_prompt_share_nothing_but_what_they_are_held_against() -> None:
    rng = Random(4)
    rows = [row(rng, completion(rng)) for _ in range(300)]
    names = [name for name in registry.REWARDS if name != "thinking-focus"]
    alone = registry.score(rows, names)
    again = [Row(r.completion, r.question, r.answer, r.events, r.visible) for r in rows]
    rng.shuffle(again)
    together = dict(zip(map(id, again), registry.score(again, names), strict=True))
    by_text = {(r.completion, r.question, r.events, r.visible, r.answer): together[id(r)] for r in again}
    assert [by_text[r.completion, r.question, r.events, r.visible, r.answer] for r in rows] == alone
