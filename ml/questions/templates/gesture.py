"""Questions on gestures: whom at, which kind, when, how often, what next, and whether they are returned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ml.questions import distractors, slots, words
from ml.questions.distractors import nobody
from ml.questions.facts import Event
from ml.questions.idea import Choice, Idea, template, that, with_alike
from ml.questions.scene import Scene
from ml.social.event import GESTURES

NEXT_S = 10  # seconds after a gesture in which the next one is asked for
RETURN_S = 10  # seconds in which a gesture is returned


def gestures(window: tuple[int, int] | None, *types: str, **roles: str) -> list[Any]:
    """The gestures of these types and roles in a window (None: whenever), as an expression."""
    tree: dict[str, Any] = {"modality": "gesture"}
    if window is not None:
        tree["during"] = list(window)
    if types:
        tree["type"] = types[0]
    if roles:
        tree["roles"] = roles
    return ["events", tree]


def by(event: Event) -> str:
    """Who makes the gesture."""
    return min(event.who("initiator"))


def to(event: Event) -> str | None:
    """The person it is for, where there is one."""
    return min(event.who("target"), default=None)


@template("gesture_recog")
def to_whom(scene: Scene) -> Iterator[Idea]:
    for event, window, there in scene.asked(scene.events("gesture", *GESTURES)):
        x = by(event)
        others = [id for id in scene.visible(window) if id != x]
        p, when, do = slots.person(x), words.between(window), words.do(event.type)
        yield Idea(
            [
                f"Whom does {p} {do} {when}?",
                f"{words.capital(when)}, to whom does {p} make a {event.type} gesture?",
                f"Who is the target of {p}'s {event.type} gesture {words.span(window)}?",
            ][: 3 if there else 2],
            ["who", gestures(window, event.type, initiator=x), "target"],
            [*distractors.persons(scene, others), nobody("No person")],
            window,
            (x,),
        )


@template("gesture_recog")
def from_whom(scene: Scene) -> Iterator[Idea]:
    for event, window, there in scene.asked(scene.events("gesture", *GESTURES)):
        target = to(event)
        if target is None:
            continue
        others = [id for id in scene.visible(window) if id != target]
        p, when = slots.person(target), words.between(window)
        yield Idea(
            [
                f"Who {words.does(event.type)} {p} {when}?",
                f"{words.capital(when)}, who makes a {event.type} gesture to {p}?",
                f"Which person's {event.type} gesture is meant for {p} {words.span(window)}?",
            ][: 3 if there else 2],
            ["who", gestures(window, event.type, target=target), "initiator"],
            [*distractors.persons(scene, others), nobody()],
            window,
            (target,),
        )


@template("gesture_type")
def which_gesture(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        window, x, target = scene.around(event), by(event), to(event)
        p, when = slots.person(x), words.between(window)
        wordings = [
            f"Which gesture does {p} make {when}?",
            f"What type of gesture is {p} making {words.span(window)}?",
            f"{words.capital(when)}, how would you name the gesture of {p}?",
        ]
        roles = {"initiator": x}
        if target is not None and scene.rng.random() < 0.5:
            roles["target"] = target
            q = slots.person(target)
            wordings = [
                f"Which gesture does {p} make towards {q} {when}?",
                f"What type of gesture does {p} direct at {q} {words.span(window)}?",
            ]
        about = tuple(sorted(roles.values()))
        ask = ["type", gestures(window, **roles)]
        yield Idea(wordings, ask, distractors.gesture_types(), window, about, whole=True)


@template("gesture_temporal")
def who_is_earlier(scene: Scene) -> Iterator[Idea]:
    for a, b in _pairs(scene):
        if by(a) == by(b):
            continue
        first, second = scene.rng.sample((a, b), 2)
        window = scene.around(a, b)
        p, q, when = slots.person(by(first)), slots.person(by(second)), words.between(window)
        one, two = f"{p}'s {first.type} gesture", f"{q}'s {second.type} gesture"
        yield Idea(
            [
                f"Who gestures earlier {when}: {p} ({first.type}) or {q} ({second.type})?",
                f"{words.capital(when)}, which comes first: {one} or {two}?",
                f"In what order do {one} and {two} happen {words.span(window)}?",
            ],
            [
                "order",
                gestures(window, first.type, initiator=by(first)),
                gestures(window, second.type, initiator=by(second)),
            ],
            [
                Choice(f"{p} gestures first", "before", 0),
                Choice(f"{q} gestures first", "after", 0),
                Choice("Their gestures overlap", "overlap", 0),
                Choice("Neither of them does so", None, 0),
            ],
            window,
            tuple(sorted((by(first), by(second)))),
            whole=True,
        )


def _pairs(scene: Scene) -> Iterator[tuple[Event, Event]]:
    """Gestures close in time, in one shot; drawn."""
    events = sorted(scene.events("gesture", *GESTURES), key=lambda event: event.start)
    pairs = [
        (a, b)
        for at, a in enumerate(events)
        for b in events[at + 1 : at + 7]
        if b.end - a.start <= 30 * scene.second and scene.shot(a.start) == scene.shot(b.end - 1)
    ]
    yield from scene.rng.sample(pairs, len(pairs))


@template("gesture_temporal")
def how_long_gesture(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        window, x = scene.around(event, pad=0), by(event)
        if _twin(scene, event):
            continue
        p, at = slots.person(x), slots.time(event.start)
        yield Idea(
            [
                f"For about how long does the {event.type} gesture last that {p} begins at {at}?",
                f"At {at}, {p} begins a {event.type} gesture. About how long does it last?",
                f"How long does {p} keep up the {event.type} gesture that starts at {at}?",
            ],
            ["duration_s", with_alike(event, gestures(None, event.type, initiator=x))],
            distractors.durations(scene, event),
            window,
            (x,),
            whole=True,
        )


def _twin(scene: Scene, event: Event) -> bool:
    """Whether the same person may begin another gesture of the type at the same time: no words tell them apart."""
    near = scene.inside((event.start - 2 * scene.margin, event.start + 2 * scene.margin + 1), "gesture")
    return any(
        other.id != event.id
        and (other.type, by(other)) == (event.type, by(event))
        and abs(other.start - event.start) <= 2 * scene.margin
        for other in near
    )


@template("gesture_frequency")
def who_gestures_most(scene: Scene) -> Iterator[Idea]:
    for window in scene.windows(3, "gesture"):
        visible, when = scene.visible(window), words.between(window)
        active = [by(e) for e in scene.inside(window, "gesture")]
        if len(set(active)) < 2:
            continue
        yield Idea(
            [
                f"Who makes the most gestures {when}?",
                f"{words.capital(when)}, which person gestures most often?",
                f"Which person makes the largest number of gestures {words.span(window)}?",
            ],
            ["most", gestures(window), "initiator"],
            [*distractors.persons(scene, visible, active), nobody("No one (a tie)")],
            window,
        )


@template("gesture_frequency")
def commonest_type(scene: Scene) -> Iterator[Idea]:
    for window in scene.windows(3, "gesture"):
        when = words.between(window)
        yield Idea(
            [
                f"Which type of gesture is the most common {when}?",
                f"{words.capital(when)}, which gesture is made most often?",
                f"Which gesture do people make most frequently {words.span(window)}?",
            ],
            ["most", gestures(window), "type"],
            distractors.gesture_types(),
            window,
            whole=True,
        )


@template("gesture_sequence")
def who_is_next(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        window = scene.after(event, NEXT_S)
        if window is None:
            continue
        x, times = by(event), words.span((event.start, event.end))
        p = slots.person(x)
        near = set(event.who()) | {by(e) for e in scene.inside(window, "gesture")}
        yield Idea(
            [
                f"{p} makes a {event.type} gesture {times}. Who starts the next gesture within {NEXT_S} seconds?",
                f"After {p}'s {event.type} gesture {times}, who gestures next within {NEXT_S} seconds?",
            ],
            ["who", ["first", ["after", gestures(None), that(event), NEXT_S]], "initiator"],
            [*distractors.persons(scene, scene.visible(window), near), nobody()],
            window,
            (x,),
        )


@template("gesture_sequence")
def whom_next(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        y, window = to(event), scene.after(event, NEXT_S)
        if y is None or window is None:
            continue
        p, q = slots.person(by(event)), slots.person(y)
        clause = f"{p} {words.does(event.type)} {q} {words.span((event.start, event.end))}"
        others = [id for id in scene.visible(window) if id != y]
        yield Idea(
            [
                f"{clause}. Whom is the next gesture of {q} for, within {NEXT_S} seconds?",
                f"{clause}. To whom does {q} gesture next within {NEXT_S} seconds?",
            ],
            ["who", ["first", ["after", gestures(None, initiator=y), that(event), NEXT_S]], "target"],
            [*distractors.persons(scene, others, event.who()), nobody("No person")],
            window,
            tuple(sorted((by(event), y))),
        )


@template("reciprocal_gesture")
def is_it_returned(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        y, window = to(event), scene.after(event, RETURN_S)
        if y is None or window is None:
            continue
        x = by(event)
        p, q = slots.person(x), slots.person(y)
        clause = f"{p} {words.does(event.type)} {q} {words.span((event.start, event.end))}"
        others = [id for id in scene.visible(window) if id not in (x, y)]
        yield Idea(
            [
                f"{clause}. Does {q} gesture back at {p} within {RETURN_S} seconds after it?",
                f"{clause}. Is the gesture returned by {q} within {RETURN_S} seconds?",
            ],
            ["who", ["after", gestures(None, initiator=y), that(event), RETURN_S], "target"],
            [
                Choice(f"Yes, at {p}", [x], 0),
                *(Choice(f"No, only at {slots.person(id)}", [id]) for id in others),
                Choice(f"Yes, and at {slots.person(others[0])}, too", sorted((x, others[0])), 1)
                if others
                else Choice("Yes, at everyone", sorted((x, y)), 2),
                Choice("No, at no person", None, 0),
            ],
            window,
            tuple(sorted((x, y))),
        )
