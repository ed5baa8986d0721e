"""Which events the released graph keeps: protection, duplicates, cap, in that order."""

from __future__ import annotations

from typing import Any

from ml.social.graph import GRASP_COMPAT, STRICT, GraphEvent, build
from tests.ml.social.graph.cases import gaze, gesture


def kept(*events: GraphEvent) -> list[str]:
    return sorted(event.id for event in build(events, GRASP_COMPAT).events)


def test_of_two_duplicates_the_one_with_less_confidence_goes() -> None:
    assert kept(gaze("low", 1, 3, confidence=0.8), gaze("high", 2, 4, confidence=0.9)) == ["high"]
    assert kept(gaze("first", 1, 3), gaze("second", 2, 4)) == ["first"]  # of equals the later goes


def test_a_duplicate_is_of_the_same_source_type_and_people_and_overlaps() -> None:
    low: dict[str, Any] = {"confidence": 0.5}
    assert kept(gaze("a", 1, 3), gaze("b", 2, 4, type="joint_attention", **low)) == ["a", "b"]
    assert kept(gaze("a", 1, 3, "ab"), gaze("b", 2, 4, "ac", **low)) == ["a", "b"]
    assert kept(gaze("a", 1, 3, "ab"), gaze("b", 2, 4, "ba", **low)) == ["a"]  # the set counts, not the order
    assert kept(gaze("a", 1, 2), gaze("b", 2, 3, **low)) == ["a", "b"]  # they only touch
    assert kept(gaze("a", 1, 1), gaze("b", 1, 1, **low)) == ["a", "b"]  # no length, no overlap


def test_both_duplicates_stay_when_both_are_linked() -> None:
    events = [gaze("low", 1, 3, confidence=0.5), gaze("high", 2, 4), gesture("h", 2, 3)]
    assert kept(*events) == ["h", "high", "low"]


def test_a_linked_duplicate_stays_and_the_unlinked_one_goes() -> None:
    # `linked` reaches to within 3 s of the gesture, `far` ends 4 s before it
    events = [gaze("far", 0, 6, confidence=0.9), gaze("linked", 5, 8, confidence=0.5), gesture("h", 10, 11)]
    assert kept(*events) == ["h", "linked"]


def test_in_a_chain_only_what_overlaps_something_kept_goes() -> None:
    chain = [gaze("a", 0, 2, confidence=0.9), gaze("b", 1, 4, confidence=0.8), gaze("c", 3, 5, confidence=0.7)]
    assert kept(*chain) == ["a", "c"]  # b goes for a, so that nothing kept overlaps c


def lone(n: int, confidence: float, type: str = "joint_attention") -> GraphEvent:
    """A gaze event far from everything else."""
    return gaze(f"{type[0]}{n:02}", 100 + 10 * n, 101 + 10 * n, type=type, confidence=confidence)


def test_the_cap_keeps_the_best_25() -> None:
    events = [lone(n, n / 100) for n in range(30)]
    assert kept(*events) == [f"j{n:02}" for n in range(5, 30)]


def test_the_cap_keeps_one_of_each_type_however_unsure() -> None:
    events = [lone(n, 0.9) for n in range(30)] + [lone(40, 0.2, "gaze_following"), lone(41, 0.1, "gaze_following")]
    found = kept(*events)
    assert len(found) == 25 and "g40" in found and "g41" not in found


def test_linked_events_stay_under_the_cap_and_may_exceed_it() -> None:
    pairs = [e for n in range(14) for e in (gaze(f"g{n:02}", n * 10, n * 10 + 1, confidence=0.1),
                                            gesture(f"h{n:02}", n * 10, n * 10 + 1, confidence=0.1))]  # fmt: skip
    found = kept(*pairs, *(lone(50 + n, 0.9) for n in range(10)))
    assert found == sorted(event.id for event in pairs)  # 28 linked ones, and no room for the rest
    few = kept(*pairs[:4], *(lone(50 + n, 0.9) for n in range(30)))
    assert len(few) == 25 and {"g00", "h00", "g01", "h01"} <= set(few)


def test_links_are_found_again_among_what_is_left() -> None:
    events = [gaze("g", 1, 3), gesture("h", 2, 4), *(lone(n, 0.5) for n in range(40))]
    graph = build(events, GRASP_COMPAT)
    assert graph.num_raw == 42 and len(graph.events) == 25
    assert [(graph.events[a].id, graph.events[b].id) for a, b in zip(graph.links.gaze, graph.links.gesture, strict=True)
            ] == [("g", "h")]  # fmt: skip


def test_strict_leaves_nothing_out() -> None:
    events = [lone(n, 0.5) for n in range(40)] + [gaze("a", 1, 3), gaze("b", 2, 4)]
    assert len(build(events, STRICT).events) == 42
