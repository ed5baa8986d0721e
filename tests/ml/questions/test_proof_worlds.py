"""What the evaluator says holds in every world that the facts leave open, found by enumerating worlds."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.questions.facts import Covered, Event, Facts, Person
from ml.questions.grammar import expr, value
from ml.questions.proof import evaluate
from ml.questions.reducing import holds, known
from ml.questions.table import Table
from tests.ml.questions.brute import PERSONS_OF, hidden, moved, right
from tests.ml.questions.scenes import proof

FRAMES, STEP = 24, 2
SECONDS = np.concatenate([[0.0], np.cumsum([0.1, 0.14, 0.06, 0.1] * 6)])  # an uneven rate
PEOPLE = "abcd"
GAZE = ["mutual_gaze", "gaze_following", "joint_attention", "sudden_gaze_shift"]
GESTURES = ["pointing", "giving"]

people = st.sampled_from(PEOPLE)
spans = st.tuples(st.integers(0, FRAMES - 1), st.integers(1, 10)).map(lambda p: (p[0], min(p[0] + p[1], FRAMES)))


@st.composite
def events(draw: st.DrawFn, id: str) -> Event:
    type = draw(st.sampled_from([*GAZE, *GESTURES]))
    least, most = PERSONS_OF[type]
    who = draw(st.lists(people, min_size=least, max_size=most, unique=True))
    start, end = draw(spans)
    modality = "gesture" if type in GESTURES else "gaze"
    first, rest = {"gaze_following": ("leader", "follower")}.get(type, ("member", "member"))
    if modality == "gesture":
        first, rest = "initiator", "target"
    return Event(id, modality, type, start, end, tuple((p, first if i == 0 else rest) for i, p in enumerate(who)))


@st.composite
def tables(draw: st.DrawFn, most: int, covered: bool | None = None) -> Facts:
    marked = [draw(events(f"e{n}")) for n in range(draw(st.integers(0, most)))]
    rows = [Covered("gaze", 0, FRAMES), Covered("gesture", 0, FRAMES)]
    if not covered:
        groups = st.one_of(st.none(), st.frozensets(people, min_size=1))
        some = st.tuples(st.sampled_from(["gaze", "gesture"]), spans, groups)
        rows = [Covered(m, a, b, p) for m, (a, b), p in draw(st.lists(some, max_size=4))]
        rows += draw(st.lists(st.sampled_from([Covered("gaze", 0, FRAMES), Covered("gesture", 0, FRAMES)]), max_size=1))
    persons = [Person(id, n, ((0, FRAMES),)) for n, id in enumerate(PEOPLE, 1)]
    return Facts(SECONDS, STEP, persons, marked, rows)


leaves = st.one_of(
    st.sampled_from(["e0", "e1", "e2"]).map(lambda id: ["event", id]),
    st.fixed_dictionaries(
        {"modality": st.just("gaze")},
        optional={
            "type": st.sampled_from(GAZE),
            "during": spans.map(list),
            "roles": st.dictionaries(st.sampled_from(["member", "leader", "person"]), people, max_size=1),
        },
    ).map(lambda d: ["events", d]),
    st.fixed_dictionaries(
        {"modality": st.just("gesture")},
        optional={
            "type": st.sampled_from(GESTURES),
            "during": spans.map(list),
            "roles": st.dictionaries(st.sampled_from(["initiator", "target"]), people, max_size=2),
        },
    ).map(lambda d: ["events", d]),
)
limits = st.one_of(st.none(), st.sampled_from([0, 0.3, 0.5, 1.0]))
selections = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["first", "last", "longest"]), inner).map(list),
        st.tuples(st.sampled_from(["overlapping", "either"]), inner, inner).map(list),
        st.tuples(st.just("after"), inner, inner, limits).map(list),
    ),
    max_leaves=3,
)
persons_said = st.one_of(st.none(), people, st.lists(people, min_size=1, max_size=3, unique=True))
types_said = st.one_of(st.none(), st.sampled_from([*GAZE, *GESTURES]), st.lists(st.sampled_from(GAZE), max_size=2))
seconds_said = st.fixed_dictionaries(
    {"seconds": st.sampled_from([0.2, 0.5, 1.0]), "within": st.sampled_from([0.1, 0.3, 0.5])}
)
roles = st.sampled_from(["member", "leader", "initiator", "target", "person"])


def asked(word: str, *parts: st.SearchStrategy[Any], said: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.tuples(st.just(word), *parts).map(list), said)


questions = st.one_of(
    asked("who", selections, roles, said=persons_said),
    asked("most", selections, roles, said=persons_said),
    asked("most", selections, st.just("type"), said=types_said),
    asked("others", st.lists(people, min_size=1, unique=True), selections, said=persons_said),
    asked("type", selections, said=types_said),
    asked("count", selections, said=st.integers(0, 3)),
    asked("duration_s", selections, said=seconds_said),
    asked("order", selections, selections, said=st.sampled_from(["before", "after", "overlap", None])),
    asked("exists", selections, said=st.booleans()),
).flatmap(lambda pair: st.one_of(st.just(pair), st.booleans().map(lambda yes: (["is", *pair], yes))))


def truth(question: tuple[Any, Any], facts: Facts, slack: int) -> bool | None:
    ask, said = question
    parsed, table = expr(ask), Table(facts, slack)
    return holds(known(parsed, table), value(said, parsed.kind, "value"), table)


@settings(max_examples=200, deadline=None)
@given(tables(3, covered=True), questions)
def test_as_marked_and_covered_everything_is_known(facts: Facts, question: tuple[Any, Any]) -> None:
    if _names_missing(question[0], facts):
        return
    assert truth(question, facts, 0) is right(*question, list(facts.events), facts)


def _names_missing(tree: Any, facts: Facts) -> bool:
    """The question is about an event that is not there: unknown, by definition."""
    if not isinstance(tree, list):
        return False
    if tree[:1] == ["event"]:
        return tree[1] not in facts.by_id
    return any(_names_missing(part, facts) for part in tree)


@settings(max_examples=200, deadline=None)
@given(tables(2, covered=True), questions, st.randoms(use_true_random=False))
def test_what_is_known_within_a_step_holds_wherever_boundaries_move(
    facts: Facts, question: tuple[Any, Any], rng: random.Random
) -> None:
    said = truth(question, facts, STEP)
    if said is None:
        return
    for world in moved(facts):
        assert right(*question, world, facts) is said
    between = tuple(rng.sample([-1, 0, 1, -STEP, STEP], 3))
    for world in moved(facts, between):
        assert right(*question, world, facts) is said


@settings(max_examples=120, deadline=None)
@given(tables(2), questions, st.randoms(use_true_random=False))
def test_what_is_known_holds_whatever_is_unmarked_outside_coverage(
    facts: Facts, question: tuple[Any, Any], rng: random.Random
) -> None:
    as_marked, within = truth(question, facts, 0), truth(question, facts, STEP)
    worlds = list(moved(facts))
    for _ in range(12):
        extra = [e for e in (hidden(facts, rng) for _ in range(rng.randint(0, 2))) if e is not None]
        if as_marked is not None:
            assert right(*question, [*facts.events, *_named(extra)], facts) is as_marked
        extra = [e for e in (hidden(facts, rng, STEP) for _ in range(rng.randint(0, 2))) if e is not None]
        if within is not None:
            assert right(*question, [*rng.choice(worlds), *_named(extra)], facts) is within


@settings(max_examples=200, deadline=None)
@given(tables(2, covered=True), st.lists(st.integers(0, 99), max_size=2, unique=True), questions, st.data())
def test_what_is_known_holds_whatever_becomes_of_a_proposal(
    facts: Facts, numbers: list[int], question: tuple[Any, Any], data: st.DataObject
) -> None:
    """Each one confirmed, with its boundaries moved, or rejected."""
    waiting = [data.draw(events(f"p{n}")) for n in numbers]
    facts = replace(facts, undecided=waiting)
    as_marked, within = truth(question, facts, 0), truth(question, facts, STEP)
    outcome = evaluate(proof(question[0], {"k": question[1]}, "k", (0, FRAMES)), facts)
    assert set(outcome.used) <= set(facts.by_id)
    if _names_missing(question[0], facts):
        return
    for taken in ([], waiting[:1], waiting[1:], waiting):
        decided = replace(facts, events=[*facts.events, *taken], undecided=[])
        if as_marked is not None:
            assert right(*question, list(decided.events), decided) is as_marked
        for world in moved(decided) if within is not None else ():
            assert right(*question, world, decided) is within


looks = ["events", {"modality": "gaze"}]
moves = ["events", {"modality": "gesture"}]
related = st.one_of(
    st.sampled_from([["overlapping", looks, moves], ["overlapping", moves, looks]]),
    st.tuples(st.just("after"), st.sampled_from([looks, moves]), st.sampled_from([looks, moves]), limits).map(list),
)
plain = st.one_of(related, st.sampled_from([looks, moves]))
across = st.one_of(related, st.tuples(st.sampled_from(["first", "last", "longest"]), plain).map(list)).flatmap(
    lambda chosen: st.one_of(
        asked("exists", st.just(chosen), said=st.booleans()),
        asked("count", st.just(chosen), said=st.integers(0, 2)),
        asked("who", st.just(chosen), st.just("person"), said=persons_said),
    )
)


@settings(max_examples=80, deadline=None)
@given(tables(3, covered=True), across, st.sampled_from(["gaze", "gesture"]), spans, st.randoms(use_true_random=False))
def test_a_relation_needs_coverage_of_both_its_sides(
    facts: Facts, question: tuple[Any, Any], modality: str, span: tuple[int, int], rng: random.Random
) -> None:
    """Here one modality is covered throughout, the other in one span."""
    other = "gaze" if modality == "gesture" else "gesture"
    facts = replace(facts, coverage=[Covered(modality, 0, FRAMES), Covered(other, *span)])
    said = truth(question, facts, 0)
    for _ in range(25 if said is not None else 0):
        extra = [e for e in (hidden(facts, rng) for _ in range(rng.randint(1, 2))) if e is not None]
        assert right(*question, [*facts.events, *_named(extra)], facts) is said


def _named(extra: list[Event]) -> list[Event]:
    return [replace(event, id=f"hidden{n}") for n, event in enumerate(extra)]


ONE, TWO = st.just(["event", "e0"]), st.just(["event", "e1"])
orders = st.sampled_from(["before", "after", "overlap"])
simple = st.one_of(
    asked("count", leaves, said=st.integers(0, 3)),
    asked("exists", leaves, said=st.booleans()),
    asked("who", leaves, roles, said=people),
    asked("type", leaves, said=st.sampled_from([*GAZE, *GESTURES])),
    asked("order", ONE, TWO, said=orders),
    asked("exists", st.tuples(st.just("after"), leaves, ONE, limits).map(list), said=st.booleans()),
    asked("exists", st.tuples(st.just("overlapping"), TWO, ONE).map(list), said=st.booleans()),
)


@settings(max_examples=200, deadline=None)
@given(tables(2, covered=True), simple)
def test_in_simple_questions_whatever_never_changes_is_known(facts: Facts, question: tuple[Any, Any]) -> None:
    """The other way round: each boundary is looked at once, so nothing is given up needlessly."""
    if _names_missing(question[0], facts) or any(e.end - e.start <= 2 * STEP for e in facts.events):
        return
    worlds = {right(*question, world, facts) for world in moved(facts)}
    assert truth(question, facts, STEP) is (worlds.pop() if len(worlds) == 1 else None)


@pytest.mark.parametrize("slack", [0, STEP])
def test_extremes_decide(slack: int) -> None:
    """Relations of two events are monotone in each boundary: worlds in between add nothing to the extreme ones."""
    rng = random.Random(slack)
    for _ in range(30):
        a, b = (
            Event(id, "gaze", "mutual_gaze", s := rng.randint(0, 15), s + rng.randint(5, 8), (("a", "member"),))
            for id in ("e0", "e1")
        )
        facts = Facts(SECONDS, STEP, [Person("a", 1)], [a, b], [])
        for said in ("before", "after", "overlap"):
            question = (["order", ["event", "e0"], ["event", "e1"]], said)
            extreme = {right(*question, world, facts) for world in moved(facts)}
            every = {right(*question, world, facts) for world in moved(facts, tuple(range(-STEP, STEP + 1)))}
            assert extreme == every


@settings(max_examples=200, deadline=None)
@given(tables(2), questions, st.randoms(use_true_random=False))
def test_a_proof_that_stands_is_true_in_every_world(
    facts: Facts, question: tuple[Any, Any], rng: random.Random
) -> None:
    ask, said = question
    outcome = evaluate(proof(ask, {"k": said}, "k", (0, FRAMES)), facts)
    assert set(outcome.used) <= set(facts.by_id)
    if not outcome.stands:
        assert outcome.reasons
        return
    assert not outcome.reasons
    for world in moved(facts):
        extra = hidden(facts, rng, STEP)
        assert right(ask, said, world, facts) and right(ask, said, [*world, *([extra] if extra else [])], facts)
