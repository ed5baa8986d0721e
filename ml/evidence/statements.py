"""What gaze and gesture claims say, held against what is marked: proofs on confirmed events, and who looks at whom.

Three-valued, as `docs/proofs.md` has it: something that is not marked is false only inside coverage. "Looks at" is no
event; it is held against the looks of a video (`GazeLooks`): a human's word on a look counts as marked, the rest as
estimated, and what is told by estimates alone says so. The rules built on this: `docs/verdicts.md`.

Persons are person numbers of the video, frames are source frames, spans half-open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ml.evidence.package import LOOKED_AT, LOOKER, Statement
from ml.media.index import FrameIndex
from ml.perception.gestures.protocol import People
from ml.questions import proof
from ml.questions.facts import Facts
from ml.questions.grammar import ROLES, expr
from ml.questions.support import support
from ml.questions.table import table_of
from ml.social.event import MUTUAL
from ml.social.scene import NONE, PERSON, UNUSABLE, Scene

Span = tuple[int, int]
Ints = NDArray[np.int64]

SHARE = 0.3  # of the known time that a look must fill to bear "looks at" out
KNOWN = 0.8  # of the time around a claim that must be known before a look that is not there is held against it
LEAST_LOOK_S = 0.5  # seconds of looking that make "at another time"
CONFIDENT = 0.5  # of an estimated look; those below are unknown
HOLD = 1.5  # usual distances between two looks that a person's row still speaks for


@dataclass(frozen=True, eq=False)
class GazeLooks:
    """Who looks at whom, where that is known; whatever is in no row is unknown.

    start, end int64[n]: source frames for which the row speaks; rows of one person do not overlap. person int64[n]: who
    looks. target int64[n]: the person looked at, -1 for anything that is nobody. human bool[n]: a human said so.
    """

    start: Ints
    end: Ints
    person: Ints
    target: Ints
    human: NDArray[np.bool_]

    @classmethod
    def of_scenes(cls, scenes: Iterator[Scene] | Sequence[Scene], *, confident: float = CONFIDENT) -> GazeLooks:
        """Looks of scenes (`ml.social.scene`, corrections applied) whose person ids are person numbers."""
        parts = [cls._of_scene(scene, confident) for scene in scenes]
        names = ("start", "end", "person", "target")
        columns = {
            name: np.concatenate([np.empty(0, np.int64), *(getattr(p, name) for p in parts)]).astype(np.int64)
            for name in names
        }
        return cls(**columns, human=np.concatenate([np.empty(0, bool), *(p.human for p in parts)]).astype(bool))

    @classmethod
    def _of_scene(cls, scene: Scene, confident: float) -> GazeLooks:
        known = (scene.kind != NONE) & (scene.kind != UNUSABLE) & (scene.human | (scene.confidence >= confident))
        sample, column = np.nonzero(known)
        aimed = (scene.kind == PERSON) & (scene.target >= 0)
        unnamed = (scene.kind == PERSON) & (scene.target < 0)  # at somebody, nobody knows whom: no knowledge
        kept = ~unnamed[sample, column]
        sample, column = sample[kept], column[kept]
        target = np.where(aimed, scene.target, -1)
        return cls(
            scene.frames[sample].astype(np.int64),
            scene.ends[sample].astype(np.int64),
            scene.persons[column].astype(np.int64),
            target[sample, column].astype(np.int64),
            scene.human[sample, column],
        )


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known of one video besides its masks; everything but the frames may be missing.

    `shots`: half-open spans. `facts`: confirmed events and coverage. `looks`: who looks at whom. `visible`: by person
    number the sorted, disjoint spans in which the person is in the picture; None where nobody knows.
    """

    index: FrameIndex
    shots: Sequence[Span]
    facts: Facts | None = None
    looks: GazeLooks | None = None
    visible: Mapping[int, Sequence[Span]] | None = None

    @classmethod
    def of(
        cls,
        index: FrameIndex,
        shots: Sequence[Span],
        *,
        facts: Facts | None = None,
        looks: GazeLooks | None = None,
        people: People | None = None,
    ) -> Truth:
        """With `visible` from the facts' persons, where any has a track, else from the rows of a run."""
        visible: Mapping[int, Sequence[Span]] | None = None
        if facts is not None and any(person.visible for person in facts.persons):
            visible = {person.number: person.visible for person in facts.persons}
        elif people is not None:
            visible = visible_by(people, shots, index.frames)
        return cls(index, tuple(shots), facts, looks, visible)

    def sees(self, person: int, span: Span) -> bool | None:
        """Whether the person is in the picture on a frame of the span; None where nobody knows."""
        if self.visible is None:
            return None
        return any(start < span[1] and span[0] < end for start, end in self.visible.get(person, ()))


def visible_by(people: People, shots: Sequence[Span], frames: int) -> dict[int, list[Span]]:
    """Spans in which each person has rows: a row speaks until the person's next, at most HOLD usual distances on, and
    never beyond its shot."""
    looked = np.unique(people.frame)
    step = int(np.median(np.diff(looked))) if len(looked) > 1 else 1
    edges = np.unique([0, *(start for start, _ in shots), frames])
    order = np.lexsort((people.frame, people.person))
    frame, person = people.frame[order], people.person[order]
    bound = edges[np.minimum(np.searchsorted(edges, frame, side="right"), len(edges) - 1)]
    following = np.where(np.diff(person, append=-1) == 0, np.append(frame[1:], frames), frames)
    near = (following - frame) <= HOLD * step
    end = np.minimum(np.where(near, following, frame + step), bound)
    begins = np.r_[True, (person[1:] != person[:-1]) | (frame[1:] > end[:-1])] if len(frame) else np.empty(0, bool)
    first = np.flatnonzero(begins)
    last = np.r_[first[1:], len(frame)] - 1
    spans: dict[int, list[Span]] = {int(number): [] for number in np.unique(person)}
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        spans[int(person[a])].append((int(frame[a]), int(end[b])))
    return spans


# ---------------------------------------------------------------------------------------------------------------------
# What a statement comes to


@dataclass(frozen=True)
class Around:
    """Where a claim is held against what is known: its `span`, that with the tolerance (`padded`), and the `clip`."""

    span: Span
    padded: Span
    clip: Span

    @property
    def elsewhere(self) -> list[Span]:
        """What of the clip lies outside of `padded`."""
        parts = [(self.clip[0], self.padded[0]), (self.padded[1], self.clip[1])]
        return [(a, b) for a, b in parts if a < b]


Basis = Literal["marked", "estimated"]


@dataclass(frozen=True)
class Told:
    """What is known of a statement. `truth`: true, false or unknown (None). `firm`: true for long enough.

    `basis`: whether humans or estimates tell. `instead`: roles with the person who does hold that role, where the
    statement is false and true for that person. `other_time`: false, and true at another time of the clip. `boundary`:
    unknown only because boundaries are known up to a step. `numbers`: plain JSON.
    """

    truth: bool | None
    firm: bool = True
    basis: Basis = "marked"
    instead: tuple[tuple[str, int], ...] = ()
    other_time: bool = False
    boundary: bool = False
    numbers: dict[str, Any] = field(default_factory=dict)


def readable(statement: Statement) -> bool:
    """Whether the statement is one that can be held against events or looks at all."""
    roles = {role for role, _ in statement.roles}
    if roles & {LOOKER, LOOKED_AT}:
        return roles == {LOOKER, LOOKED_AT} and len(statement.roles) == 2 and statement.modality == "gaze"
    return bool(statement.roles) and roles <= set(ROLES)


def told(statement: Statement, truth: Truth, around: Around) -> Told:
    """What is known of a readable statement whose roles hold person numbers.

    Where it is false, everybody else who is in the picture then is put in each role (and two persons change places): is
    it true of one of them, that is told; likewise the rest of the clip.
    """
    found = _told(statement, truth, around.padded, around.span)
    if found.truth is not False:
        return found
    for other in substituted(statement, truth, around.padded):
        instead = _told(other, truth, around.padded, around.span)
        if instead.truth and instead.firm:
            changed = tuple(pair for pair in other.roles if pair not in statement.roles)
            numbers = {**found.numbers, "instead": instead.numbers, "instead_roles": [list(pair) for pair in changed]}
            return replace(found, instead=changed, numbers=numbers, basis=_weaker(found.basis, instead.basis))
    for part in around.elsewhere:
        later = _told(statement, truth, part, part)
        if later.truth and later.numbers.get("at_s", LEAST_LOOK_S) >= LEAST_LOOK_S - 1e-9:
            numbers = {**found.numbers, "elsewhere": later.numbers}
            return replace(found, other_time=True, numbers=numbers, basis=_weaker(found.basis, later.basis))
    return found


def _weaker(one: Basis, other: Basis) -> Basis:
    return "marked" if one == other == "marked" else "estimated"


def substituted(statement: Statement, truth: Truth, span: Span) -> Iterator[Statement]:
    """The statement with another person in one role: everybody in the picture who has no part in it; and, of two
    persons in two roles, with the two changed."""
    named = {person for _, person in statement.roles}
    seen = sorted(person for person in truth.visible or {} if person not in named and truth.sees(person, span))
    for position, (role, _) in enumerate(statement.roles):
        for person in seen:
            roles = list(statement.roles)
            roles[position] = (role, person)
            yield replace(statement, roles=tuple(roles))
    for (one, a), (other, b) in pairwise(statement.roles):
        if one != other and len(statement.roles) == 2:
            yield replace(statement, roles=((one, b), (other, a)))


def _told(statement: Statement, truth: Truth, padded: Span, span: Span) -> Told:
    if any(role == LOOKER for role, _ in statement.roles):
        return _looks(dict(statement.roles), truth, padded, span)
    return _marked(statement.modality, statement.types, statement.roles, truth, padded)


def _marked(modality: str, types: Sequence[str], roles: Sequence[tuple[str, int]], truth: Truth, during: Span) -> Told:
    """A statement about events, by proof."""
    facts = truth.facts
    if facts is None:
        return Told(None, numbers={"events": [], "marked": False})
    ids = {person.number: person.id for person in facts.persons}
    if any(person not in ids for _, person in roles):
        return Told(None, numbers={"events": [], "marked": False})
    by_role: dict[str, list[str]] = {}
    for role, person in roles:
        by_role.setdefault(role, []).append(ids[person])
    tree = ["exists", ["events", {"modality": modality, "roles": by_role, "during": list(during)}]]
    if types:
        tree[1][1]["type"] = list(types)  # type: ignore[index]
    parsed = expr(tree)
    exact, moved = proof.claim(parsed, facts), proof.claim(parsed, facts, slack=facts.step)
    numbers: dict[str, Any] = {"proof": tree, "exact": exact, "moved": moved, "step": facts.step, "events": []}
    if exact:
        return Told(True, numbers={**numbers, "events": list(support(parsed, [True], table_of(facts, 0)))})
    if exact is False and moved is False:
        return Told(False, numbers=numbers)
    return Told(None, boundary=exact is False, numbers=numbers)


def _looks(roles: Mapping[str, int], truth: Truth, padded: Span, span: Span) -> Told:
    """ "Looks at": by mutual gaze that is marked, else by the looks."""
    looker, target = roles[LOOKER], roles[LOOKED_AT]
    mutual = _marked("gaze", (MUTUAL,), (("member", looker), ("member", target)), truth, padded)
    if mutual.truth:
        return mutual
    if truth.looks is None:
        return Told(None, numbers={"known_share": 0.0})
    near = looked(truth.looks, truth.index.seconds, looker, target, padded)
    strict = looked(truth.looks, truth.index.seconds, looker, target, span)
    share = max(near["share"], strict["share"])
    numbers = {**near, "share": share, "share_needed": SHARE, "known_needed": KNOWN}
    if near["at_s"] > 0:
        basis: Basis = "marked" if near["human_at_s"] > 0 else "estimated"
        return Told(True, firm=share >= SHARE, basis=basis, numbers=numbers)
    if near["known_share"] < KNOWN:
        return Told(None, numbers=numbers)
    return Told(False, basis="marked" if near["human_share"] >= KNOWN else "estimated", numbers=numbers)


def looked(looks: GazeLooks, seconds: NDArray[np.float64], looker: int, target: int, span: Span) -> dict[str, float]:
    """Seconds of a span in which it is known where `looker` looks, by humans and in all, and those at `target`.

    `share`: seconds at the target of the known ones; `known_share`, `human_share`: of the span.
    """
    rows = (looks.person == looker) & (looks.start < span[1]) & (looks.end > span[0])
    start, end = np.maximum(looks.start[rows], span[0]), np.minimum(looks.end[rows], span[1])
    length = seconds[end] - seconds[start]
    at, human = looks.target[rows] == target, looks.human[rows]
    whole, known = float(seconds[span[1]] - seconds[span[0]]), float(length.sum())
    at_s, human_s = float(length[at].sum()), float(length[human].sum())
    return {
        "at_s": round(at_s, 3),
        "human_at_s": round(float(length[at & human].sum()), 3),
        "known_s": round(known, 3),
        "share": round(at_s / known, 4) if known else 0.0,
        "known_share": round(known / whole, 4),
        "human_share": round(human_s / whole, 4),
    }
