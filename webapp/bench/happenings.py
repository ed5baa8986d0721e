"""What people edited since a proof last stood, as sentences: "Person 2 is no longer leader of gaze following at 7.5 s."

Read from the edit ledger, for the events and people a proof uses. The ledger keeps every row before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webapp.bench.models import Question
from webapp.bench.wording import Clock
from webapp.events.models import Edit

MOST_EDITS = 200
MOST_SENTENCES = 4

Row = Mapping[str, Any]


Changes = list[Mapping[str, Any]]


def edits_since(video_id: Any, stood: int, revision: int) -> list[tuple[int, Changes]]:
    """(revision, changes) of the video's newest edits after one revision up to another, oldest first: one query."""
    later = Edit.objects.filter(video_id=video_id, revision__gt=stood, revision__lte=revision)
    return list(reversed(later.order_by("-revision").values_list("revision", "changes")[:MOST_EDITS]))


def since(
    question: Question, edits: Sequence[tuple[int, Changes]], names: Mapping[str, str], clock: Clock
) -> list[str]:
    """Sentences about what these edits did, after the question's proof last stood, to what it uses; the newest few."""
    proof: Mapping[str, Any] = question.proof or {}
    events = {str(event) for event in proof.get("events", [])}
    people = {str(person) for person in proof.get("persons", [])}
    # the first state of each row before all these edits, and the last one after them
    first: dict[tuple[str, str], Row | None] = {}
    last: dict[tuple[str, str], Row | None] = {}
    for revision, changes in edits:
        for change in changes if revision > question.stood else ():
            key = change["kind"], change["id"]
            first.setdefault(key, change["before"])
            last[key] = change["after"]
    found: list[str] = []
    for (kind, id), after in last.items():
        before = first[kind, id]
        if kind == "event" and (id in events or _concerns(before, after, people, question)):
            found += _of_event(before, after, names, clock)
        elif kind == "person" and id in people:
            found += _of_person(before, after, names)
        elif kind == "coverage":
            found += _of_coverage(before, after, question, clock)
    return found[-MOST_SENTENCES:]


def _concerns(before: Row | None, after: Row | None, people: set[str], question: Question) -> bool:
    """Whether an event that the proof does not use is about its people, within its span."""
    rows = [row for row in (before, after) if row is not None and row["status"] == "confirmed"]
    return any(
        row["start"] < question.end and question.start < row["end"] and people & {p for p, _ in row["participants"]}
        for row in rows
    )


def _named(row: Row, clock: Clock) -> str:
    return f"{row['type'].replace('_', ' ')} at {clock(row['start']):.1f} s"


def _of_event(before: Row | None, after: Row | None, names: Mapping[str, str], clock: Clock) -> Iterator[str]:
    was = before if before is not None and before["status"] == "confirmed" else None
    now = after if after is not None and after["status"] == "confirmed" else None
    if was is None or now is None:
        if was is not None:
            fate = "was deleted" if after is None else f"is {after['status']} now"
            yield f"The {_named(was, clock)} {fate}."
        elif now is not None:
            yield f"There is a confirmed {_named(now, clock)} now."
        return
    if was["type"] != now["type"]:
        yield f"The {_named(was, clock)} is {now['type'].replace('_', ' ')} now."
    elif (was["start"], was["end"]) != (now["start"], now["end"]):
        spans = [f"{clock(row['start']):.1f} to {clock(row['end']):.1f} s" for row in (was, now)]
        yield f"The {was['type'].replace('_', ' ')} of {spans[0]} lasts from {spans[1]} now."
    old, new = ({(person, role) for person, role in row["participants"]} for row in (was, now))
    for person, role in sorted(old - new):
        yield f"{names.get(person, 'Somebody')} is no longer {role} of {_named(now, clock)}."
    for person, role in sorted(new - old):
        yield f"{names.get(person, 'Somebody')} is now {role} of {_named(now, clock)}."


def _of_person(before: Row | None, after: Row | None, names: Mapping[str, str]) -> Iterator[str]:
    into, was = (row and row["merged_into"] for row in (after, before))
    if before is not None and into and into != was:
        yield f"Person {before['number']} was merged into {names.get(into, 'somebody else')}."
    elif after is not None and was and not into:
        yield f"Person {after['number']} is a person of their own again."


def _of_coverage(before: Row | None, after: Row | None, question: Question, clock: Clock) -> Iterator[str]:
    told = (before, after)
    if before == after or not any(r and r["start"] < question.end and question.start < r["end"] for r in told):
        return
    words = [r and f"{r['modality']} from {clock(r['start']):.1f} to {clock(r['end']):.1f} s" for r in told]
    if after is None:
        yield f"It is no longer said that all of {words[0]} is marked."
    elif before is None:
        yield f"It is said now that all of {words[1]} is marked."
    else:
        yield f"What is said to be marked in full, {words[0]}, is {words[1]} now."
