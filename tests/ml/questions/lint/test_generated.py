"""Questions the generator makes of simulated scenes: no error, and wrong keys among them are found.

Another hand wrote generator and simulator, in wordings the linter's readings were not made for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ml.formats.grasp_items import MCQ, OPEN, Item
from ml.questions.clip import padded
from ml.questions.facts import Facts
from ml.questions.generate import generate
from ml.questions.lint import tables
from ml.questions.lint.one import One, World
from ml.questions.lint.run import lint
from ml.questions.proof import names
from ml.questions.slots import render
from ml.questions.taxonomy import CATEGORIES
from ml.synthetic.marks import facts as marked
from ml.synthetic.simulate import simulate

SCENES, EACH = 6, 32
LETTERS = "ABCD"


def made(facts: Facts, name: str, seed: int) -> Iterator[Item]:
    for number, draft in enumerate(generate(facts, seed=seed, most=EACH)):
        start, end = padded(facts.seconds, facts.cuts, draft.start, draft.end)

        def clock(frame: int, start: int = start) -> float:
            return float(facts.seconds[frame] - facts.seconds[start])

        def printed(text: str, clock=clock) -> str:  # type: ignore[no-untyped-def]
            return render(text, names(facts), clock)

        item = Item(
            question=printed(draft.text),
            options=[f"{letter}) {printed(o['text'])}" for letter, o in zip(LETTERS, draft.options, strict=False)],
            category=draft.category,
            difficulty=CATEGORIES[draft.category].difficulty,
            format=MCQ if draft.options else OPEN,
            reasoning=printed(draft.reasoning),
            time_range=(float(facts.seconds[draft.start]), float(facts.seconds[draft.end])),
            clip_file=f"{name}_qa{number:04d}.mp4",
            clip_duration=clock(end),
            clip_offset=float(facts.seconds[start]),
            video_name=name,
        )
        if draft.options:
            at = [option["id"] for option in draft.options].index(draft.key[0])
            item.answer, item.answer_text = LETTERS[at], printed(draft.options[at]["text"])
        else:
            item.answer = printed(draft.key[0])
        yield item


@pytest.fixture(scope="module")
def generated() -> tuple[list[One], tables.Tables]:
    ones: list[One] = []
    known = tables.Tables()
    for seed in range(SCENES):
        facts = marked(simulate(seed), looks=True)
        table = known.table(f"scene{seed}")
        table.modalities = {"gaze", "gesture"}
        numbers = {person.id: person.number for person in facts.persons}
        for event in facts.events:
            roles = [(numbers[person], role) for person, role in event.roles]
            start, end = (float(facts.seconds[at]) for at in (event.start, event.end))
            table.add(event.modality, event.type, start, end, roles, 1.0, [])
        ones += [One(len(ones) + at, item, frozenset({str(item.category)}))
                 for at, item in enumerate(made(facts, f"scene{seed}", seed))]  # fmt: skip
    return ones, known


def test_generated_questions_have_no_error(generated: tuple[list[One], tables.Tables]) -> None:
    ones, known = generated
    assert len({one.slug for one in ones}) == len(CATEGORIES)
    report = lint(ones, World(scheme="data", tables=known))
    assert [(f.code, f.sentence) for f in report.findings if f.item is not None and f.severity != "note"] == []


def test_wrong_keys_of_generated_questions_are_found(generated: tuple[list[One], tables.Tables]) -> None:
    ones, known = generated
    rng = random.Random(5)
    wrong: list[One] = []
    for one in ones:
        if one.key is None:
            continue
        at = rng.choice([at for at in range(4) if at != one.key])
        tree = {**one.item.__dict__, "answer": LETTERS[at], "answer_text": one.words[at]}
        wrong.append(One(len(wrong), Item(**tree), one.slugs))
    report = lint(wrong, World(scheme="data", tables=known))
    told = {f.item for f in report.findings if f.code == "key_contradicted"}
    assert len(told) > 0.4 * len(wrong)  # the others ask in a way that is not understood, which is said
    assert [f for f in report.findings if f.code == "key_not_checked"]
