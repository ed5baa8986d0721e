"""Questions on gaze and gesture together; each names both in its text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ml.questions import distractors, slots, words
from ml.questions.distractors import nobody
from ml.questions.facts import Event
from ml.questions.idea import Choice, Idea, template, that
from ml.questions.scene import Scene
from ml.questions.templates.gaze import gaze
from ml.questions.templates.gesture import by, gestures, to
from ml.social.event import FOLLOWING, GESTURES, JOINT, MUTUAL, TYPES

RESPONSE_S = 3  # seconds within which a gaze event answers a gesture, or the reverse


def clause(event: Event) -> str:
    """ "Person 1 points at Person 2" with what is marked, or "Person 1 makes a pointing gesture"."""
    p, target = slots.person(by(event)), to(event)
    if target is None:
        return f"{p} makes a {event.type} gesture"
    return f"{p} {words.does(event.type)} {slots.person(target)}"


@template("gaze_gesture_align")
def gaze_or_gesture_first(scene: Scene) -> Iterator[Idea]:
    for look, move in _close(scene, (MUTUAL, JOINT, FOLLOWING)):
        who = sorted(look.who())
        if len(who) > 3:
            continue
        window, x = scene.around(look, move), by(move)
        group, p, when = words.people(scene.facts, who), slots.person(x), words.between(window)
        a, b = f"the {words.TYPES[look.type]} of {group}", f"{p}'s {move.type} gesture"
        yield Idea(
            [
                f"Which comes first {when}: {a} or {b}?",
                f"{words.capital(when)}, how does {a} lie in time to {b}?",
                f"In what order do {a} and {b} happen {words.span(window)}?",
            ],
            ["order", gaze(window, look.type, person=who), gestures(window, move.type, initiator=x)],
            [
                Choice("The gaze event ends before the gesture starts", "before", 0),
                Choice("The gesture ends before the gaze event starts", "after", 0),
                Choice("The gaze event and the gesture overlap in time", "overlap", 0),
                Choice("Neither the gaze event nor the gesture happens", None, 0),
            ],
            window,
            tuple(sorted({*who, x})),
            whole=True,
        )


def _close(scene: Scene, types: tuple[str, ...]) -> Iterator[tuple[Event, Event]]:
    """Gaze events and gestures that share a person and lie within 20 seconds in one shot; drawn."""
    pairs = []
    for move in scene.events("gesture", *GESTURES):
        for look in scene.inside((move.start - 20 * scene.second, move.end + 20 * scene.second), "gaze"):
            start, end = min(look.start, move.start), max(look.end, move.end)
            near = end - start <= 20 * scene.second and scene.shot(start) == scene.shot(end - 1)
            if near and look.type in types and look.who() & move.who():
                pairs.append((look, move))
    yield from scene.rng.sample(pairs, len(pairs))


@template("eye_contact_in_interaction")
def eye_contact_during(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        window = scene.around(event, pad=0)
        for x in scene.shuffled(sorted(event.who())):
            others = [id for id in scene.visible(window) if id != x]
            p, times = slots.person(x), words.span((event.start, event.end))
            said = clause(event)
            yield Idea(
                [
                    f"With whom does {p} make eye contact during the {event.type} gesture of {slots.person(by(event))} "
                    f"{times}?",
                    f"{said} {times}. With whom does {p} share mutual gaze during this gesture?",
                    f"While {said} ({times}), who makes eye contact with {p} during the gesture?",
                ],
                ["who", ["overlapping", gaze(None, MUTUAL, member=x), that(event)], "member"],
                [*distractors.persons(scene, others, event.who()), nobody()],
                window,
                tuple(sorted({x, *event.who()})),
            )


@template("eye_contact_in_interaction")
def which_pair_during(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        window, times = scene.around(event, pad=0), words.span((event.start, event.end))
        yield Idea(
            [
                f"Which two people make eye contact during {slots.person(by(event))}'s {event.type} gesture {times}?",
                f"{clause(event)} {times}. Which pair shares mutual gaze during this gesture?",
            ],
            ["who", ["overlapping", gaze(None, MUTUAL), that(event)], "member"],
            [*distractors.pairs(scene, scene.visible(window), event.who()), nobody("No pair")],
            window,
            tuple(sorted(event.who())),
        )


@template("gaze_response_to_gesture")
def gaze_after_gesture(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        window = scene.after(event, RESPONSE_S)
        if window is None:
            continue
        x = scene.rng.choice(sorted(event.who()))
        p, times = slots.person(x), words.span((event.start, event.end))
        yield Idea(
            [
                f"{clause(event)} {times}. Which gaze event of {p} starts first within {RESPONSE_S} seconds after the "
                "gesture ends?",
                f"Which gaze event involving {p} comes next, within {RESPONSE_S} seconds, after the {event.type} "
                f"gesture of {slots.person(by(event))} {times}?",
            ],
            ["type", ["first", ["after", gaze(None, person=x), that(event), RESPONSE_S]]],
            distractors.gaze_types("No gaze event"),
            window,
            tuple(sorted({x, *event.who()})),
        )


@template("gaze_response_to_gesture")
def gesture_after_gaze(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gaze", *TYPES):
        window = scene.after(event, RESPONSE_S)
        who = sorted(event.who())
        if window is None or len(who) > 3:
            continue
        x = scene.rng.choice(who)
        p, times = slots.person(x), words.span((event.start, event.end))
        group, noun = words.people(scene.facts, who), words.TYPES[event.type]
        yield Idea(
            [
                f"Which gesture does {p} start first within {RESPONSE_S} seconds after the gaze event ({noun}) of "
                f"{group} {times}?",
                f"{group} take part in {noun} {times}. Which gesture of {p} starts first within {RESPONSE_S} seconds "
                "after this gaze event?"
                if len(who) > 1
                else f"The gaze of {p} shifts suddenly {times}. Which gesture of {p} starts first within "
                f"{RESPONSE_S} seconds after it?",
            ],
            ["type", ["first", ["after", gestures(None, initiator=x), that(event), RESPONSE_S]]],
            [*distractors.gesture_types(), Choice("No gesture", None, 1)],
            window,
            tuple(who),
        )


@template("cross_modal_dynamics")
def who_shares_gaze_during(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        window, times = scene.around(event, pad=0), words.span((event.start, event.end))
        visible = scene.visible(window)
        looks = scene.inside((event.start, event.end), "gaze")
        for type in sorted({look.type for look in looks} & {JOINT, MUTUAL, FOLLOWING}):
            there = frozenset().union(*(look.who() for look in looks if look.type == type))
            yield Idea(
                [
                    f"{clause(event)} {times}. Who takes part in {words.TYPES[type]} during this gesture?",
                    f"Which people take part in {words.TYPES[type]} during the {event.type} gesture of "
                    f"{slots.person(by(event))} {times}?",
                ],
                ["who", ["overlapping", gaze(None, type), that(event)], "person"],
                _sets(scene, visible, there),
                window,
                tuple(sorted(event.who())),
            )


def _sets(scene: Scene, visible: list[str], there: frozenset[str]) -> list[Choice]:
    """Sets of persons of about the size of the right one, those that differ least first."""
    sizes = {len(there), *({len(there) - 1, len(there) + 1} if len(visible) < 5 else set())} - {0, 1}
    found = [frozenset(one) for size in sorted(sizes) for one in combinations(visible, min(size, len(visible)))]
    found = scene.rng.sample(sorted(set(found) - {there}, key=sorted), min(12, len(set(found) - {there})))
    return [
        Choice(words.people(scene.facts, one), sorted(one), 0 if len(one ^ there) <= 2 else 1)
        for one in [there, *found]
    ]


@template("cross_modal_dynamics")
def who_is_in_most(scene: Scene) -> Iterator[Idea]:
    for window in scene.windows(3, "gaze", "gesture"):
        visible, when = scene.visible(window), words.between(window)
        active = [id for event in scene.inside(window) for id in event.who()]
        if len(set(active)) < 3 or not scene.inside(window, "gaze"):
            continue
        yield Idea(
            [
                f"Who takes part in the most gaze events and gestures, counted together, {when}?",
                f"{words.capital(when)}, which person has a part in the largest number of gaze and gesture events?",
                f"Counting gaze events and gestures together, who is in most of them {words.span(window)}?",
            ],
            ["most", ["either", gaze(window), gestures(window)], "person"],
            [*distractors.persons(scene, visible, active), nobody("No one (a tie)")],
            window,
        )
