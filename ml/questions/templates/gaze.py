"""Questions on gaze: whom, which kind, how long, which pair, who leads, who is left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from ml.questions import distractors, slots, words
from ml.questions.distractors import nobody
from ml.questions.facts import Event
from ml.questions.idea import Choice, Idea, template, that, with_alike
from ml.questions.scene import Scene
from ml.social.event import CAPTURE, FOLLOWING, JOINT, MUTUAL, SHIFT, TYPES

NEXT_S = 5  # seconds after an event in which "what comes next" is asked


def gaze(window: tuple[int, int] | None, *types: str, **roles: str | list[str]) -> list[Any]:
    """The gaze events of these types and roles in a window (None: whenever), as an expression."""
    tree: dict[str, Any] = {"modality": "gaze"}
    if window is not None:
        tree["during"] = list(window)
    if types:
        tree["type"] = types[0] if len(types) == 1 else list(types)
    if roles:
        tree["roles"] = roles
    return ["events", tree]


@template("gaze_target")
def eye_contact_partner(scene: Scene) -> Iterator[Idea]:
    for event, window, there in scene.asked(scene.events("gaze", MUTUAL)):
        for x in scene.shuffled(sorted(event.who("member"))):
            others = [id for id in scene.visible(window) if id != x]
            p, when = slots.person(x), words.between(window)
            yield Idea(
                [
                    f"Who makes eye contact with {p} {when}?",
                    f"With whom does {p} share mutual gaze {when}?",
                    f"{words.capital(when)}, {p} looks at someone who looks back. Who is it?",
                    f"Whose eyes does {p} meet {words.span(window)}?",
                ][: 4 if there else 2],
                ["who", gaze(window, MUTUAL, member=x), "member"],
                [*distractors.persons(scene, others), nobody(), *_both(scene, others, x)],
                window,
                (x,),
            )


def _both(scene: Scene, others: list[str], *counted: str) -> list[Choice]:
    """Two people at once: an answer for pictures with few people. `counted`: who is among those asked for anyway."""
    pairs = list(combinations(others, 2))
    return [
        Choice(words.people(scene.facts, pair), sorted((*pair, *counted)), 2) for pair in pairs[:1] if len(others) < 4
    ]


@template("gaze_target")
def whose_gaze_is_followed(scene: Scene) -> Iterator[Idea]:
    for event, window, there in scene.asked(scene.events("gaze", FOLLOWING)):
        for x in scene.shuffled(sorted(event.who("follower"))):
            others = [id for id in scene.visible(window) if id != x]
            p, when = slots.person(x), words.between(window)
            yield Idea(
                [
                    f"Whose gaze does {p} follow {when}?",
                    f"Which person's gaze is followed by {p} {words.span(window)}?",
                    f"{words.capital(when)}, {p} looks where another person looked just before. Who looked first?",
                ][: 3 if there else 2],
                ["who", gaze(window, FOLLOWING, follower=x), "leader"],
                [*distractors.persons(scene, others), nobody(), *_both(scene, others)],
                window,
                (x,),
            )


@template("gaze_event_type")
def which_interaction(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gaze", *TYPES):
        who = sorted(event.who())
        if len(who) > 4:
            continue
        window = scene.around(event)
        p, when = words.people(scene.facts, who), words.between(window)
        one = "kind of gaze event" if event.type == SHIFT or len(who) == 1 else "gaze interaction"
        involves = "takes part in" if len(who) == 1 else "take part in together"
        yield Idea(
            [
                f"Which {one} involves {p} {when}?",
                f"What best describes the gaze of {p} {words.span(window)}?",
                f"{words.capital(when)}, which gaze event does {p} have a part in?"
                if len(who) == 1
                else f"Which {one} do {p} {involves[:4]} part in together {when}?",
            ],
            ["type", gaze(window, person=who)],
            distractors.gaze_types(),
            window,
            tuple(who),
        )


@template("temporal_gaze")
def how_long_eye_contact(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gaze", MUTUAL, JOINT):
        who = sorted(event.who("member"))
        if len(who) > 3:
            continue
        window = scene.around(event, pad=0)
        p, at = words.people(scene.facts, who), slots.time(event.start)
        what = "keep eye contact" if event.type == MUTUAL else "share joint attention"
        noun = "mutual gaze" if event.type == MUTUAL else "joint attention"
        yield Idea(
            [
                f"For about how long do {p} {what} from {at} on?",
                f"How long does the {noun} of {p} that begins at {at} last?",
                f"At {at}, {p} begin to {what}. About how long does it last?",
            ],
            ["duration_s", with_alike(event, gaze(None, event.type, member=who))],
            distractors.durations(scene, event),
            window,
            tuple(who),
            whole=True,
        )


@template("temporal_gaze")
def which_gaze_event_first(scene: Scene) -> Iterator[Idea]:
    events = sorted(scene.events("gaze", MUTUAL, JOINT, FOLLOWING), key=lambda event: event.start)
    for a, b in _near_pairs(scene, events):
        both = a.who() & b.who()
        if a.type == b.type or len(both) < 2:
            continue
        pair = scene.rng.sample(sorted(both), 2)
        first, second = scene.rng.sample((a.type, b.type), 2)
        window = scene.around(a, b)
        p, when = words.people(scene.facts, pair), words.between(window)
        x, y = words.TYPES[first], words.TYPES[second]
        yield Idea(
            [
                f"Which happens first for {p} {when}: {x} or {y}?",
                f"In what order do {x} and {y} of {p} happen {words.span(window)}?",
                f"{words.capital(when)}, {p} take part in {x} and in {y}. Which is first?",
            ],
            ["order", gaze(window, first, person=sorted(pair)), gaze(window, second, person=sorted(pair))],
            [
                Choice(f"{words.capital(x)}", "before", 0),
                Choice(f"{words.capital(y)}", "after", 0),
                Choice("Both overlap in time", "overlap", 0),
                Choice("Neither happens", None, 0),
            ],
            window,
            tuple(sorted(pair)),
            whole=True,
        )


def _near_pairs(scene: Scene, events: list[Event]) -> Iterator[tuple[Event, Event]]:
    """Events that follow each other within half a minute, in one shot; drawn."""
    pairs = []
    for at, a in enumerate(events):
        for b in events[at + 1 : at + 9]:
            if b.end - a.start <= 30 * scene.second and scene.shot(a.start) == scene.shot(b.end - 1):
                pairs.append((a, b))
    yield from scene.rng.sample(pairs, len(pairs))


@template("mutual_gaze")
def which_pair(scene: Scene) -> Iterator[Idea]:
    for event, window, there in scene.asked(scene.events("gaze", MUTUAL)):
        when = words.between(window)
        yield Idea(
            [
                f"Which two people make eye contact {when}?",
                f"Which pair shares mutual gaze {when}?",
                f"{words.capital(when)}, which two people look at each other?",
                f"Who look into each other's eyes {words.span(window)}?",
            ][: 4 if there else 3],
            ["who", gaze(window, MUTUAL), "member"],
            [*distractors.pairs(scene, scene.visible(window), event.who("member")), nobody("No pair")],
            window,
        )


@template("gaze_following")
def who_leads(scene: Scene) -> Iterator[Idea]:
    for event, window, there in scene.asked(scene.events("gaze", FOLLOWING)):
        visible = scene.visible(window)
        when = words.between(window)
        yield Idea(
            [
                f"Who looks first and has their gaze followed by another person {when}?",
                f"Whose gaze is followed by somebody else {words.span(window)}?",
                f"{words.capital(when)}, one person follows another's gaze. Who leads?",
                f"Who is the leader of the gaze following {when}?",
            ][: 4 if there else 2],
            ["who", gaze(window, FOLLOWING), "leader"],
            [*distractors.persons(scene, visible, event.who()), nobody()],
            window,
        )


@template("gaze_following")
def who_follows(scene: Scene) -> Iterator[Idea]:
    for event, window, there in scene.asked(scene.events("gaze", FOLLOWING)):
        if len(event.who("follower")) > 1:
            continue
        leader = min(event.who("leader"))
        others = [id for id in scene.visible(window) if id != leader]
        p, when = slots.person(leader), words.between(window)
        yield Idea(
            [
                f"Who follows the gaze of {p} {when}?",
                f"{words.capital(when)}, who looks where {p} looked just before?",
                f"Which person is the follower of {p}'s gaze {words.span(window)}?",
            ][: 3 if there else 2],
            ["who", gaze(window, FOLLOWING, leader=leader), "follower"],
            [*distractors.persons(scene, others), nobody(), *_both(scene, others)],
            window,
            (leader,),
        )


@template("gaze_following")
def one_way(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gaze", FOLLOWING):
        if len(event.who("follower")) > 1:
            continue
        x, y = scene.rng.sample(sorted(event.who()), 2)
        window = scene.around(event, pad=scene.rng.choice((0, scene.second, 4 * scene.second)))
        p, q, when = slots.person(x), slots.person(y), words.between(window)
        yield Idea(
            [
                f"Is the gaze following between {p} and {q} one-way {when}?",
                f"{words.capital(when)}, who follows whose gaze: {p}, {q}, or each the other's?",
                f"Does only one of {p} and {q} follow the other's gaze {words.span(window)}?",
            ],
            ["who", gaze(window, FOLLOWING, person=sorted((x, y))), "leader"],
            [
                Choice(f"One-way: {q} follows {p}", [x], 0),
                Choice(f"One-way: {p} follows {q}", [y], 0),
                Choice("Both ways: each follows the other", sorted((x, y)), 0),
                Choice("Neither follows the other", None, 0),
            ],
            window,
            tuple(sorted((x, y))),
            whole=True,
        )


@template("group_attention")
def who_is_left_out(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gaze", JOINT, CAPTURE):
        window = scene.around(event)
        visible = scene.visible(window)
        inside = [id for id in visible if id in event.who()]
        outside = [id for id in visible if id not in event.who()]
        if len(inside) < 2:
            continue
        when = words.between(window)
        noun = words.TYPES[event.type]
        yield Idea(
            [
                f"Who is NOT part of the {noun} {when}?",
                f"{words.capital(when)}, several people take part in {noun}. Who does not?",
                f"Which person stays out of the {noun} {words.span(window)}?",
            ],
            ["others", visible, gaze(window, event.type)],
            [*distractors.persons(scene, [*inside, *outside], inside), nobody()],
            window,
            several=True,
        )


@template("group_attention")
def what_comes_after(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gaze", JOINT, CAPTURE):
        window = scene.after(event, NEXT_S)
        if window is None:
            continue
        p = words.people(scene.facts, event.who("member"))
        noun, times = words.TYPES[event.type], words.span((event.start, event.end))
        yield Idea(
            [
                f"{p} take part in {noun} {times}. Which gaze event starts first in the {NEXT_S} seconds after it?",
                f"Which gaze event comes next, within {NEXT_S} seconds, after the {noun} of {p} {times}?",
            ],
            ["type", ["first", ["after", gaze(None), that(event), NEXT_S]]],
            distractors.gaze_types("No gaze event"),
            window,
            tuple(sorted(event.who("member"))),
        )
