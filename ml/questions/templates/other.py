"""Items of other kinds, for other benchmarks than GRASP: yes or no, a number, several right options."""

from __future__ import annotations

from collections.abc import Iterator

from ml.questions import distractors, slots, words
from ml.questions.idea import Choice, Idea, template
from ml.questions.scene import Scene
from ml.questions.templates.gaze import gaze
from ml.questions.templates.gesture import by, gestures, to
from ml.social.event import CAPTURE, GESTURES, JOINT, MUTUAL

YES_NO = [Choice("Yes", True), Choice("No", False)]


@template("mutual_gaze", "yes_no")
def do_they_make_eye_contact(scene: Scene) -> Iterator[Idea]:
    for event, window, _ in scene.asked(scene.events("gaze", MUTUAL)):
        x = scene.rng.choice(sorted(event.who("member")))
        others = [id for id in scene.visible(window) if id != x]
        for y in scene.rng.sample(others, min(2, len(others))):
            pair = sorted((x, y))
            p, when = words.people(scene.facts, pair), words.between(window)
            yield Idea(
                [f"Do {p} make eye contact {when}?", f"Is there mutual gaze of {p} {words.span(window)}?"],
                ["exists", gaze(window, MUTUAL, member=pair)],
                YES_NO,
                window,
                tuple(pair),
                whole=True,
                kind="yes_no",
            )


@template("reciprocal_gesture", "yes_no")
def does_it_gesture_at(scene: Scene) -> Iterator[Idea]:
    for event, window, _ in scene.asked(scene.events("gesture", *GESTURES)):
        x, y = by(event), to(event)
        if y is None:
            continue
        a, b = scene.rng.sample((x, y), 2)
        p, q, when = slots.person(a), slots.person(b), words.between(window)
        yield Idea(
            [f"Does {p} {words.do(event.type)} {q} {when}?", f"Does {p} make a {event.type} gesture to {q} {when}?"],
            ["exists", gestures(window, event.type, initiator=a, target=b)],
            YES_NO,
            window,
            tuple(sorted((a, b))),
            whole=True,
            kind="yes_no",
        )


@template("gesture_frequency", "number")
def how_many_gestures(scene: Scene) -> Iterator[Idea]:
    for window in scene.windows(2, "gesture"):
        x = scene.rng.choice([by(event) for event in scene.inside(window, "gesture")])
        p, when = slots.person(x), words.between(window)
        yield Idea(
            [f"How many gestures does {p} make {when}?", f"Count the gestures of {p} {words.span(window)}. How many?"],
            ["count", gestures(window, initiator=x)],
            [],
            window,
            (x,),
            kind="number",
        )


@template("group_attention", "multiple")
def who_takes_part(scene: Scene) -> Iterator[Idea]:
    for event in scene.events("gaze", JOINT, CAPTURE):
        window = scene.around(event)
        visible, when = scene.visible(window), words.between(window)
        if len(visible) < 3:
            continue
        noun = words.TYPES[event.type]
        yield Idea(
            [f"Who takes part in {noun} {when}? Name all of them.", f"Which people share {noun} {words.span(window)}?"],
            ["who", gaze(window, event.type), "member"],
            distractors.persons(scene, visible),
            window,
            kind="multiple",
        )
