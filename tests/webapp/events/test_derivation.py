"""The difference between what the rules say now and what is there: a human's word always stands."""

from __future__ import annotations

from typing import Any

import pytest

from webapp.events.derivation import Known, difference

A, B, C = "a", "b", "c"


def machine(start: int, end: int, *people: str, type: str = "mutual_gaze", confidence: float = 0.9) -> dict[str, Any]:
    return {
        "type": type,
        "start": start,
        "end": end,
        "confidence": confidence,
        "roles": sorted([p, "member"] for p in people),
        "details": {},
        "preset": "strict",
        "run": "r",
    }


def known(id: str, now: dict[str, Any], *, human: bool = False, first: dict[str, Any] | None = None) -> Known:
    roles = tuple((p, r) for p, r in now["roles"])
    return Known(id, now["type"], now["start"], now["end"], roles, human, first)


def untouched(id: str, *span: Any) -> Known:
    return known(id, machine(*span), first=machine(*span))


def test_nothing_new_is_no_difference() -> None:
    found = difference([machine(10, 60, A, B)], [untouched("x", 10, 60, A, B)])
    assert found == {"added": [], "changed": [], "removed": [], "attached": []}


def test_another_run_with_the_same_numbers_is_no_difference() -> None:
    proposal = machine(10, 60, A, B) | {"run": "another"}
    assert not any(difference([proposal], [untouched("x", 10, 60, A, B)]).values())


def test_a_moved_proposal_keeps_its_id_up_to_half_overlap() -> None:
    # [10, 60) and [20, 70): 40 common of 60 -> 0.67; [10, 60) and [35, 85): 25 of 75 -> 0.33
    moved = machine(20, 70, A, B)
    assert difference([moved], [untouched("x", 10, 60, A, B)])["changed"] == [{"id": "x", "machine": moved}]
    far = difference([machine(35, 85, A, B)], [untouched("x", 10, 60, A, B)])
    assert (len(far["added"]), far["removed"], far["changed"]) == (1, ["x"], [])


@pytest.mark.parametrize("other", [machine(10, 60, A, C), machine(10, 60, A, B, type="joint_attention")])
def test_other_people_or_another_type_is_another_event(other: dict[str, Any]) -> None:
    found = difference([other], [untouched("x", 10, 60, A, B)])
    assert (found["added"], found["removed"]) == ([other], ["x"])


def test_what_a_human_confirmed_is_attached_not_doubled() -> None:
    spoken = known("x", machine(12, 58, A, B), human=True, first=machine(10, 60, A, B))
    proposal = machine(8, 62, A, B)
    found = difference([proposal], [spoken])
    assert found == {"added": [], "changed": [], "removed": [], "attached": [{"id": "x", "machine": proposal}]}


def test_a_human_made_event_takes_a_matching_proposal() -> None:
    made = known("x", machine(10, 60, A, B), human=True)
    proposal = machine(12, 60, A, B)
    assert difference([proposal], [made])["attached"] == [{"id": "x", "machine": proposal}]


def test_a_trimmed_event_does_not_get_its_old_self_beside_it() -> None:
    """Trimmed from [10, 110) to [80, 110): 30 of 100 overlap, yet it is the same proposal."""
    spoken = known("x", machine(80, 110, A, B), human=True, first=machine(10, 110, A, B))
    found = difference([machine(10, 110, A, B)], [spoken])
    assert not any(found.values())


def test_a_rejected_event_does_not_come_back_in_pieces() -> None:
    spoken = known("x", machine(10, 110, A, B), human=True, first=machine(10, 110, A, B))
    found = difference([machine(10, 40, A, B), machine(80, 110, A, B)], [spoken])
    assert found["added"] == []


def test_a_re_roled_event_still_owns_its_first_proposal() -> None:
    spoken = known("x", machine(10, 60, A, C), human=True, first=machine(10, 60, A, B))
    assert not any(difference([machine(10, 60, A, B)], [spoken]).values())


def test_a_human_event_the_rules_drop_stays_and_is_told_so() -> None:
    spoken = known("x", machine(10, 60, A, B), human=True, first=machine(10, 60, A, B))
    found = difference([], [spoken])
    assert (found["removed"], found["attached"]) == ([], [{"id": "x", "machine": None}])


def test_one_proposal_is_attached_once() -> None:
    """Two human events of the same pair; the proposal goes to the better match, the other is told it has none."""
    first = known("x", machine(10, 60, A, B), human=True, first=machine(10, 60, A, B))
    second = known("y", machine(30, 80, A, B), human=True, first=machine(30, 80, A, B))
    found = difference([machine(10, 60, A, B)], [first, second])
    assert found["attached"] == [{"id": "y", "machine": None}]
