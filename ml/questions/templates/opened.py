"""Open-ended items of the four categories that have them: two to four sentences, each with its own claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ml.questions import slots, words
from ml.questions.facts import Event, Facts, Span
from ml.questions.idea import Idea, template, that
from ml.questions.scene import Scene
from ml.questions.templates.gaze import NEXT_S, gaze
from ml.questions.templates.gesture import NEXT_S as NEXT_GESTURE_S
from ml.questions.templates.gesture import by, gestures, to
from ml.questions.templates.joint import RESPONSE_S, clause
from ml.social.event import CAPTURE, GESTURES, JOINT, TYPES

Sentence = tuple[str, list[list[Any]]]  # text with slots, and what it claims


def happens(facts: Facts, event: Event) -> Sentence:
    """The event as a sentence with its times."""
    return f"{words.statement(facts, event)} {words.span((event.start, event.end))}.", [["exists", that(event)]]


def _during(facts: Facts, event: Event, other: Event) -> Sentence:
    """The event as a sentence, which claims that it overlaps the other one, too."""
    text, there = happens(facts, event)
    return text, [*there, ["exists", ["overlapping", that(event), that(other)]]]


def _first_after(scene: Scene, event: Event, seconds: float, modality: str) -> Event | None:
    """The event of the modality that starts first within some seconds after another; None where two tie."""
    times = scene.facts.seconds
    until = int(times.searchsorted(times[event.end] + seconds, side="right"))
    later = [e for e in scene.inside((event.end, max(until, event.end + 1)), modality) if e.start >= event.end]
    later = [e for e in later if times[e.start] - times[event.end] <= seconds]
    first = min((e.start for e in later), default=-1)
    found = [e for e in later if e.start == first]
    return found[0] if len(found) == 1 else None


def _next(scene: Scene, event: Event, selection: list[Any], seconds: int, found: Event | None) -> Sentence:
    """What starts first afterwards, claimed by type and persons."""
    chosen = ["first", ["after", selection, that(event), seconds]]
    kind = "gaze event" if selection[1]["modality"] == "gaze" else "gesture"
    if found is None:
        return f"No {kind} starts within {seconds} seconds after it.", [["is", ["exists", chosen], False]]
    text, there = happens(scene.facts, found)
    same = ["is", ["count", ["either", chosen, that(found)]], 1]  # no other one may be the next
    return f"The next {kind}: {text}", [["is", ["type", chosen], [found.type]], same, *there]


@template("group_attention", "open")
def describe_group_attention(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gaze", JOINT, CAPTURE):
        window = scene.after(event, NEXT_S)
        if window is None:
            continue
        around = scene.around(event, pad=0)
        sentences = [happens(scene.facts, event)]
        outside = [id for id in scene.visible(around) if id not in event.who()]
        if outside:
            part = "does not take part" if len(outside) == 1 else "do not take part"
            shared = ["others", scene.visible(around), gaze((event.start, event.end), event.type)]
            sentences.append((f"{words.people(scene.facts, outside)} {part} in it.", [["is", shared, outside]]))
        found = _first_after(scene, event, NEXT_S, "gaze")
        sentences.append(_next(scene, event, gaze(None), NEXT_S, found))
        noun, when = words.TYPES[event.type], words.between(around)
        yield _open(
            [
                f"Describe the {noun} {when}: who takes part, who does not, and which gaze event comes next within "
                f"{NEXT_S} seconds?",
                f"{words.capital(when)}, who takes part in the {noun}, who is left out, and what gaze event starts in "
                f"the {NEXT_S} seconds after it?",
            ],
            sentences,
            (min(around[0], window[0]), max(around[1], window[1])),
        )


def _open(wordings: list[str], sentences: list[Sentence], span: Span) -> Idea:
    return Idea(wordings, sentences[0][1][0], [], span, sentences=sentences, kind="open")


@template("gesture_sequence", "open")
def describe_chain(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        y, window = to(event), scene.after(event, NEXT_GESTURE_S)
        if y is None or window is None:
            continue
        found = _first_after(scene, event, NEXT_GESTURE_S, "gesture")
        if found is None or found.end > scene.shot(event.start)[1]:
            continue
        sentences = [
            happens(scene.facts, event),
            _next(scene, event, gestures(None), NEXT_GESTURE_S, found),
            _back(event, y, found),
        ]
        times = words.span((event.start, event.end))
        yield _open(
            [
                f"{slots.person(by(event))} makes a {event.type} gesture {times}. Whom is it for, and which gesture "
                f"comes next within {NEXT_GESTURE_S} seconds, by whom and for whom?",
                f"Describe the chain of gestures that begins with {slots.person(by(event))}'s {event.type} gesture "
                f"{times}: who gestures to whom, and when?",
            ],
            sentences,
            (window[0], max(window[1], found.end)),
        )


def _back(event: Event, y: str, found: Event) -> Sentence:
    """Whether the next gesture answers the first."""
    returned = by(found) == y and to(found) == by(event)
    chosen = ["first", ["after", gestures(None), that(event), NEXT_GESTURE_S]]
    if returned:
        text = f"So {slots.person(y)} returns the gesture to {slots.person(by(event))}."
        return text, [["is", ["who", chosen, "target"], [by(event)]], ["is", ["who", chosen, "initiator"], [y]]]
    text = f"The person who gestures next is {slots.person(by(found))}."
    return text, [["is", ["who", chosen, "initiator"], [by(found)]]]


@template("gaze_response_to_gesture", "open")
def describe_response(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        window = scene.after(event, RESPONSE_S)
        if window is None:
            continue
        found = _first_after(scene, event, RESPONSE_S, "gaze")
        if found is None and scene.rng.random() < 0.7:
            continue
        times = words.span((event.start, event.end))
        yield _open(
            [
                f"{clause(event)} {times}. Which gaze event comes first within {RESPONSE_S} seconds after the gesture, "
                "and who takes part?",
                f"Describe the {event.type} gesture of {slots.person(by(event))} {times} and the gaze event that comes "
                f"next within {RESPONSE_S} seconds, with persons and times.",
            ],
            [happens(scene.facts, event), _next(scene, event, gaze(None), RESPONSE_S, found)],
            (window[0], max(window[1], found.end if found else 0)),
        )


@template("cross_modal_dynamics", "open")
def describe_gaze_during_gesture(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gesture", *GESTURES):
        looks = scene.inside((event.start, event.end), "gaze")
        if not 1 <= len(looks) <= 2:
            continue
        sentences = [happens(scene.facts, event), *(_during(scene.facts, look, event) for look in looks)]
        there = sorted(frozenset().union(*(look.who() for look in looks)))
        during = ["overlapping", gaze(None, *TYPES), that(event)]
        text = f"No one but {words.people(scene.facts, there)} is in a gaze event during the gesture."
        sentences.append((text, [["is", ["who", during, "person"], there], ["is", ["count", during], len(looks)]]))
        times = words.span((event.start, event.end))
        yield _open(
            [
                f"{clause(event)} {times}. Which gaze events take place during this gesture, and who is in them?",
                f"Describe who looks at whom during the {event.type} gesture of {slots.person(by(event))} {times}: "
                "which gaze events overlap it?",
            ],
            sentences,
            (min(e.start for e in (event, *looks)), max(e.end for e in (event, *looks))),
        )
