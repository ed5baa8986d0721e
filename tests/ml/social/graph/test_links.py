"""Every link rule in both presets, worked out by hand; and the vectorised join against comparing each with each."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest

from ml.social.graph import GRASP_COMPAT, STRICT, GraphEvent, GraphPreset, build
from ml.social.graph.links import MOST, TooDense
from tests.figures import Record
from tests.ml.social.graph.cases import gaze, gesture


def linked(events: Sequence[GraphEvent], preset: GraphPreset) -> list[tuple[str, str, str, float]]:
    """(gaze, gesture, relation, seconds) of every link."""
    graph = build(events, preset)
    links = graph.links
    return [
        (
            graph.events[a].id,
            graph.events[b].id,
            "overlap" if over else "adjacent",
            round(seconds, 9),
        )
        for a, b, over, seconds in zip(links.gaze, links.gesture, links.overlap, links.seconds, strict=True)
    ]


BOTH = (GRASP_COMPAT, STRICT)


@pytest.mark.parametrize("preset", BOTH, ids=lambda p: p.name)
@pytest.mark.parametrize(
    ("gaze_span", "gesture_span", "expected"),
    [
        ((1.0, 4.0), (3.0, 6.0), ("overlap", 1.0)),
        ((3.0, 6.0), (1.0, 4.0), ("overlap", 1.0)),  # the gesture first
        ((0.0, 10.0), (2.0, 3.5), ("overlap", 1.5)),  # one inside the other
        ((2.0, 3.0), (2.0, 3.0), ("overlap", 1.0)),
        ((1.0, 2.0), (2.0, 3.0), ("adjacent", 0.0)),  # they touch: not an overlap
        ((2.0, 3.0), (1.0, 2.0), ("adjacent", 0.0)),
        ((1.0, 2.0), (3.5, 4.0), ("adjacent", 1.5)),
        ((3.5, 4.0), (1.0, 2.0), ("adjacent", 1.5)),
        ((1.0, 2.0), (5.0, 6.0), ("adjacent", 3.0)),  # exactly 3 s counts
        ((13.1, 14.0), (9.1, 10.1), ("adjacent", 3.0)),  # also where decimals do not add up in binary
        ((1.0, 2.0), (5.1, 6.0), None),
        ((5.1, 6.0), (1.0, 2.0), None),
        ((3.0, 3.0), (2.0, 4.0), ("overlap", 0.0)),  # no length, inside: it happens during the other
        ((4.0, 4.0), (2.0, 4.0), ("adjacent", 0.0)),  # at the end: over already
    ],
)
def test_a_pair_overlaps_or_is_adjacent_or_neither(
    preset: GraphPreset,
    gaze_span: tuple[float, float],
    gesture_span: tuple[float, float],
    expected: tuple[str, float] | None,
) -> None:
    found = linked([gaze("g", *gaze_span), gesture("h", *gesture_span)], preset)
    assert found == ([] if expected is None else [("g", "h", *expected)])


def test_an_event_without_length_at_a_start_overlaps_only_where_spans_are_half_open() -> None:
    at_start = [gaze("g", 2.0, 2.0), gesture("h", 2.0, 4.0)]
    assert linked(at_start, GRASP_COMPAT) == [("g", "h", "adjacent", 0.0)]  # the bare < of the released rule
    assert linked(at_start, STRICT) == [("g", "h", "overlap", 0.0)]  # [2, 4) holds the moment 2
    both = [gaze("g", 2.0, 2.0), gesture("h", 2.0, 2.0)]
    assert linked(both, GRASP_COMPAT) == [("g", "h", "adjacent", 0.0)]
    assert linked(both, STRICT) == [("g", "h", "overlap", 0.0)]


def test_only_strict_asks_for_a_shared_person() -> None:
    events = [gaze("g", 1, 3, "ab"), gesture("with", 2, 4, "bc"), gesture("without", 2, 4, "cd")]
    assert [link[:2] for link in linked(events, GRASP_COMPAT)] == [("g", "with"), ("g", "without")]
    assert [link[:2] for link in linked(events, STRICT)] == [("g", "with")]
    assert build(events, GRASP_COMPAT).links.shared.tolist() == [True, False]


@pytest.mark.parametrize("preset", BOTH, ids=lambda p: p.name)
def test_events_of_one_source_are_never_linked(preset: GraphPreset) -> None:
    assert linked([gaze("a", 1, 3), gaze("b", 2, 4, type="joint_attention")], preset) == []
    assert linked([gesture("a", 1, 3), gesture("b", 2, 4, type="giving")], preset) == []
    assert linked([], preset) == []


def test_before_joins_neighbours_in_time_and_the_rest_follows() -> None:
    #  a [0,1)  b [1,2)  c [1,4)  d [2,3)  e [5,6): a-b, a-c, b-d, c-e, d-e; a-d, a-e and b-e go over others
    events = [gaze("a", 0, 1), gaze("b", 1, 2), gesture("c", 1, 4), gaze("d", 2, 3), gesture("e", 5, 6)]
    graph = build(events, STRICT)
    names = [(graph.events[a].id, graph.events[b].id) for a, b in graph.before]
    assert sorted(names) == [("a", "b"), ("a", "c"), ("b", "d"), ("c", "e"), ("d", "e")]


def test_before_has_no_circle_among_events_without_length() -> None:
    graph = build([gaze("a", 1, 1), gaze("b", 1, 1), gesture("c", 1, 2), gaze("d", 2, 2)], STRICT)
    names = [(graph.events[a].id, graph.events[b].id) for a, b in graph.before]
    assert sorted(names) == [("a", "d"), ("b", "d"), ("c", "d")]  # a, b and c begin together


def test_before_is_the_transitive_reduction_of_the_order() -> None:
    import networkx

    rng = random.Random(3)
    events = []
    for n in range(60):
        start = rng.randint(0, 60)
        events.append(gaze(f"e{n:02}", start, start + rng.choice([0, 1, 2, 5, 20])))
    graph = build(events, STRICT)
    full = networkx.DiGraph()
    full.add_nodes_from(range(len(graph.events)))
    for i, a in enumerate(graph.events):
        for j, b in enumerate(graph.events):
            if a.end_s <= b.start_s and a.start_s < b.start_s:
                full.add_edge(i, j)
    assert {(int(a), int(b)) for a, b in graph.before} == set(networkx.transitive_reduction(full).edges)


def random_events(rng: random.Random, count: int, seconds: int) -> list[GraphEvent]:
    events = []
    for n in range(count):
        start = rng.randint(0, seconds * 2) / 2
        length = rng.choice([0, 0, 0.5, 1, 2, 5, 30])
        persons = "".join(rng.sample("abcdefgh", 2))
        make = gaze if rng.random() < 0.5 else gesture
        events.append(make(f"e{n:05}", start, start + length, persons, confidence=rng.random()))
    return events


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("preset", [GraphPreset("bare", 3.0, False, False), STRICT], ids=lambda p: p.name)
def test_the_join_finds_what_comparing_each_with_each_finds(preset: GraphPreset, seed: int) -> None:
    events = sorted(random_events(random.Random(seed), 80, 100), key=lambda e: (e.start_s, e.end_s, e.source, e.id))
    expected = []
    for g in (e for e in events if e.source == "gaze"):
        for h in (e for e in events if e.source == "gesture"):
            gap = max(g.start_s, h.start_s) - min(g.end_s, h.end_s)
            inside = g.start_s < h.end_s and h.start_s < g.end_s
            if preset.half_open:  # a moment lies in [start, end), and is the same as another one at its time
                moments = [(a, b) for a, b in ((g, h), (h, g)) if a.start_s == a.end_s]
                inside = inside or any(
                    b.start_s <= a.start_s < b.end_s or b.start_s == b.end_s == a.start_s for a, b in moments
                )
            if gap <= 3 and (not preset.shared_person or g.persons & h.persons):
                expected.append((g.id, h.id, "overlap" if inside else "adjacent", abs(gap)))
    assert linked(events, preset) == expected


def test_what_cannot_be_listed_is_refused_in_words() -> None:
    side = int(MOST**0.5) + 10
    events = [gaze(f"g{n}", 0, 1) for n in range(side)] + [gesture(f"h{n}", 0, 1) for n in range(side)]
    with pytest.raises(TooDense, match="take a shorter span"):
        build(events, STRICT)


def many_events(count: int = 20_000) -> list[GraphEvent]:
    """Two hours of lively people: about three events a second."""
    return random_events(random.Random(1), count, 7200)


@pytest.mark.parametrize("preset", BOTH, ids=lambda p: p.name)
def test_twenty_thousand_events_are_linked_within_three_times_the_budget(preset: GraphPreset) -> None:
    events = many_events()
    started = time.process_time()
    graph = build(events, preset)
    assert time.process_time() - started < 3.0
    assert graph.num_raw == 20_000 and len(graph.links) > 10_000


@pytest.mark.bench
def test_bench_twenty_thousand_events(figure: Record) -> None:
    events = many_events()
    for preset in BOTH:
        took = []
        for _ in range(5):
            started = time.process_time()
            graph = build(events, preset)
            took.append(time.process_time() - started)
        note = f"processor time, median of 5; {len(graph.links)} links, {len(graph.before)} before"
        figure(f"20,000 events linked, {preset.name}", sorted(took)[2], "s", budget=1.0, note=note)
