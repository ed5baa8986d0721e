"""Two sources that find one gesture make one proposal: the later one is its witness.

    settled(proposals, known, source)    as `derivation.difference`, with witnesses

A proposal keeps the view of its other sources as `machine["witnesses"]`: {source: machine row}; `details` names them
(`also_found_by`). Where its own source finds it no longer, the first witness takes its place under the same id; where a
witness does not, it is a witness no more. What a human spoke about has no witnesses added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webapp.events.derivation import SAME_EVENT_TIOU, Known, Spans, difference, said
from webapp.events.rows import Row

TOLD = "also_found_by"


def settled(proposals: Sequence[Row], known: Sequence[Known], source: str) -> dict[str, list[Any]]:
    """What changes when a source proposes these; `known` as `derivation.known_events` has them for the source."""
    from ml.social.matching import match_events

    wanted = difference(proposals, known)
    untouched = {k.id: k for k in known if not k.human}
    others = [k for k in untouched.values() if not k.own and k.machine]
    spans = Spans()
    pairs = match_events(
        [spans.of(row) for row in wanted["added"]], [spans.target(k, True) for k in others], SAME_EVENT_TIOU
    )
    seen = {others[old].id: wanted["added"][new] for new, old, _ in pairs}
    taken = {new for new, _, _ in pairs}
    changed = [
        {"id": item["id"], "machine": told(item["machine"], witnesses_of(untouched[item["id"]].machine))}
        for item in wanted["changed"]
    ]
    removed = []
    for id in wanted["removed"]:
        witnesses = witnesses_of(untouched[id].machine)
        first = next(iter(sorted(witnesses)), None)
        if first is None:
            removed.append(id)
        else:
            changed.append({"id": id, "machine": told(witnesses.pop(first), witnesses)})
    for other in others:
        witnesses = witnesses_of(other.machine)
        was, now = witnesses.pop(source, None), seen.get(other.id)
        if said(was) != said(now):
            assert other.machine is not None
            changed.append({"id": other.id, "machine": told(other.machine, witnesses | ({source: now} if now else {}))})
    added = [row for n, row in enumerate(wanted["added"]) if n not in taken]
    return {**wanted, "added": added, "changed": changed, "removed": removed}


def witnesses_of(machine: Row | None) -> dict[str, Row]:
    return dict((machine or {}).get("witnesses", {}))


def told(machine: Row, witnesses: dict[str, Row]) -> Row:
    """The machine row with exactly these witnesses."""
    bare = {key: value for key, value in machine.items() if key != "witnesses"}
    details = {key: value for key, value in machine.get("details", {}).items() if key != TOLD}
    if not witnesses:
        return bare | {"details": details}
    names = ", ".join(f"{row['preset']} ({row['confidence']:.2f})" for _, row in sorted(witnesses.items()))
    return bare | {"details": details | {TOLD: names}, "witnesses": witnesses}
