"""Drafts: proven in worlds drawn by chance, well formed, balanced, the same for the same seed."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest

from ml.questions import slots
from ml.questions.draft import Draft
from ml.questions.facts import Covered, Event, Facts, Person
from ml.questions.generate import GRASP_KINDS, generate
from ml.questions.idea import REGISTRY
from ml.questions.letters import Letters
from ml.questions.proof import evaluate, names
from ml.questions.scene import PRINTED_S, Scene, most_frames
from ml.questions.taxonomy import CATEGORIES
from ml.text import answers, phrases
from tests.ml.questions.brute import hidden, right
from tests.ml.questions.crowd import crowd
from tests.ml.questions.scenes import facts, gaze, gesture


@cache
def made() -> tuple[tuple[Facts, list[Draft]], ...]:
    letters = Letters()
    return tuple((scene, generate(scene, seed=n, letters=letters)) for n in range(5) for scene in [crowd(n)])


def drafts() -> list[tuple[Facts, Draft]]:
    return [(scene, draft) for scene, listed in made() for draft in listed]


def printed(scene: Facts, text: str) -> str:
    return slots.render(text, names(scene), lambda frame: frame / 10)


def test_every_category_and_every_template_gives_some() -> None:
    assert {draft.category for _, draft in drafts()} == set(CATEGORIES)
    wanted = {name for name, template in REGISTRY.items() if template.kind in GRASP_KINDS}
    assert {draft.template for _, draft in drafts()} == wanted
    assert {draft.category for _, draft in drafts() if draft.kind == "open"} == {
        slug for slug, category in CATEGORIES.items() if category.open_ended
    }


def test_each_template_has_several_wordings() -> None:
    for name, template in REGISTRY.items():
        ideas = [idea for n in range(4) for idea in template.make(Scene(crowd(n), random.Random(1)))]
        assert ideas and all(len(set(idea.wordings)) >= 2 for idea in ideas), name


def test_every_proof_stands_and_names_its_events() -> None:
    for scene, draft in drafts():
        outcome = evaluate(draft.proof, scene)
        assert outcome.stands and outcome.robust
        assert list(outcome.used) == draft.proof["events"]
        assert draft.gt_events == [
            {
                "source": event.modality,
                "persons": sorted(ord(person) - ord("a") + 1 for person, _ in event.roles),
                "start": event.start / 10,
                "end": event.end / 10,
            }
            for event in (scene.by_id[id] for id in outcome.used)
        ]


def worlds(scene: Facts, rng: random.Random, count: int) -> list[list[Event]]:
    """Worlds in which every boundary moves by up to a step, by itself; and one in two has something unmarked in it."""
    found = []
    for at in range(count):
        moves = (-scene.step, 0, scene.step) if at % 2 else tuple(range(-scene.step, scene.step + 1))
        world = []
        for event in scene.events:
            start = max(0, event.start + rng.choice(moves))
            world.append(replace(event, start=start, end=max(start + 1, event.end + rng.choice(moves))))
        extra = hidden(scene, rng, scene.step) if at % 2 else None
        found.append([*world, *([extra] if extra else [])])
    return found


def test_no_key_flips_when_boundaries_move() -> None:
    rng = random.Random(5)
    for scene, listed in made():
        listed_worlds = worlds(scene, rng, 12)
        for draft in listed:
            for world in listed_worlds:
                assert holds(draft, world, scene)


def holds(draft: Draft, world: list[Event], scene: Facts) -> bool:
    return all(
        right(draft.proof["ask"], option["value"], world, scene) is (option["id"] in draft.proof["key"])
        for option in draft.proof["options"]
    )


def test_no_key_flips_for_something_unmarked_outside_coverage() -> None:
    rng = random.Random(6)
    asked = 0
    for seed in range(2):
        scene = crowd(seed, covered=False)
        listed_worlds = worlds(scene, rng, 30)
        for draft in generate(scene, seed=seed):
            asked += 1
            assert all(holds(draft, world, scene) for world in listed_worlds)
    assert asked > 100


def test_nothing_is_asked_where_nothing_is_covered() -> None:
    """But for what marked events alone can tell: how long one lasts, and that two overlap."""
    scene = crowd(1)
    for draft in generate(replace(scene, coverage=[]), seed=1):
        keyed = draft.proof["options"][int(draft.key[0]) - 1]["value"]
        assert keyed == "overlap" or draft.template in ("how_long_eye_contact", "how_long_gesture")


def test_single_choice_items_are_well_formed() -> None:
    for scene, draft in drafts():
        if draft.kind != "single":
            continue
        texts = [printed(scene, option["text"]) for option in draft.options]
        assert len(texts) == len({text.casefold() for text in texts}) == 4
        assert [option["id"] for option in draft.options] == ["1", "2", "3", "4"]
        assert all(len(text.split()) <= 15 for text in texts)
        assert len(draft.key) == 1 and draft.key == draft.proof["key"]
        assert draft.proof["options"] == [{"id": o["id"], "value": o["value"]} for o in draft.options]


def test_open_items_are_two_to_four_sentences_with_persons_and_times() -> None:
    for scene, draft in drafts():
        if draft.kind != "open":
            continue
        answer = printed(scene, draft.key[0])
        assert not draft.options and 2 <= answer.count(". ") + 1 <= 4
        assert "Person" in answer and " s" in answer and len(answer.split()) >= 5


def test_words_are_plain_and_times_lie_in_the_span() -> None:
    for scene, draft in drafts():
        whole = " ".join([draft.text, draft.reasoning, *(o["text"] for o in draft.options), *map(str, draft.key)])
        assert not phrases.speculative(printed(scene, whole))
        assert "_" not in printed(scene, draft.text + "".join(o["text"] for o in draft.options))
        frames = slots.frames_in(draft.text + "".join(o["text"] for o in draft.options))
        assert all(draft.start <= frame <= draft.end for frame in frames), draft
        assert 0 <= draft.start < draft.end <= scene.frames
        assert frames, "every question names its time"
        assert draft.difficulty == CATEGORIES[draft.category].difficulty


def test_cross_modal_questions_hold_a_gaze_word_and_a_gesture_word() -> None:
    for scene, draft in drafts():
        if CATEGORIES[draft.category].group == "joint":
            text = printed(scene, draft.text)
            assert phrases.GAZE_WORD.search(text) and phrases.GESTURE_WORD.search(text), text


def test_gesture_type_items_offer_the_fixed_four() -> None:
    for _, draft in drafts():
        if draft.category == "gesture_type":
            assert sorted(o["value"] for o in draft.options) == ["giving", "pointing", "reaching", "showing"]


def test_the_trace_names_every_event_of_the_key_in_its_block() -> None:
    for scene, draft in drafts():
        trace = printed(scene, draft.reasoning)
        assert trace.startswith("<think>\n") and trace.endswith("\n</think>")
        for id in draft.proof["events"]:
            event = scene.by_id[id]
            block = next(b for b in trace.split("\n") if b.endswith(f"{event.end / 10:.1f} s.</{event.modality}>"))
            assert block.startswith(f"<{event.modality}>")
        assert "<gaze>" in trace or "<gesture>" in trace


def test_nothing_is_asked_twice() -> None:
    for scene, listed in made():
        texts = [printed(scene, draft.text).casefold() for draft in listed]
        assert len(texts) == len(set(texts))


def test_letters_are_balanced_over_all_and_within_categories() -> None:
    keys = Counter(
        (draft.category, answers.letter_of(int(draft.key[0]) - 1)) for _, draft in drafts() if draft.kind == "single"
    )
    total = sum(keys.values())
    assert total > 1000
    for letter in "ABCD":
        share = sum(count for (_, used), count in keys.items() if used == letter) / total
        assert abs(share - 0.25) < 0.02
    for category in CATEGORIES:
        counts = [keys[category, letter] for letter in "ABCD"]
        assert max(counts) - min(counts) <= 1


def test_the_key_is_not_told_by_its_length() -> None:
    """Chance makes the key the longest, or the shortest, of four in a quarter of items."""
    longest = shortest = 0.0
    single = [(scene, draft) for scene, draft in drafts() if draft.kind == "single"]
    for scene, draft in single:
        lengths = {o["id"]: len(printed(scene, o["text"])) for o in draft.options}
        top = [id for id, length in lengths.items() if length == max(lengths.values())]
        low = [id for id, length in lengths.items() if length == min(lengths.values())]
        longest += (draft.key[0] in top) / len(top)
        shortest += (draft.key[0] in low) / len(low)
    assert abs(longest / len(single) - 0.25) < 0.06
    assert abs(shortest / len(single) - 0.25) < 0.06


def test_same_seed_same_drafts_another_seed_others() -> None:
    scene = crowd(2)
    first, again, other = generate(scene, seed=3), generate(scene, seed=3), generate(crowd(2), seed=4)
    assert first == again and first != other


def test_at_most_so_many_spread_over_the_categories() -> None:
    some = generate(crowd(2), seed=3, most=16)
    assert len(some) == 16 and len({draft.category for draft in some}) == 16
    assert {d.category for d in generate(crowd(2), seed=3, categories=["gesture_type"])} == {"gesture_type"}


def test_people_who_are_not_in_the_picture_are_never_named() -> None:
    scene = crowd(2)
    people = [replace(p, visible=((0, 1500),)) if p.id in "ef" else p for p in scene.persons]
    for draft in generate(replace(scene, persons=people), seed=1):
        if draft.start >= 1500:
            assert not set("ef") & set(slots.persons_in(draft.text + "".join(o["text"] for o in draft.options)))


def test_an_edit_of_an_event_whose_times_are_printed_fells_the_proof() -> None:
    m = gesture("g", "giving", 200, 240, "a", "b")
    scene = facts([m, gaze("m", "mutual_gaze", 190, 260, "a", "c")])
    draft = next(d for d in generate(scene, seed=1, categories=["eye_contact_in_interaction"]))
    assert evaluate(draft.proof, scene).stands
    for edited in (
        replace(m, end=250),
        replace(m, roles=(("a", "initiator"), ("d", "target"))),
        replace(m, type="showing"),
    ):
        outcome = evaluate(draft.proof, replace(scene, events=[edited, scene.events[1]]))
        assert not outcome.stands and "no longer marked as it was" in " ".join(outcome.reasons)


@pytest.mark.parametrize("step", [1, 3, 15])
def test_the_key_of_a_duration_is_the_nearest_option_wherever_boundaries_lie(step: int) -> None:
    scene = facts([gaze("m", "mutual_gaze", 100, 153, "a", "c"), gesture("g", "giving", 300, 322, "a", "b")], step=step)
    listed = [d for d in generate(scene, seed=2) if d.template.startswith("how_long")]
    assert len(listed) == 2
    for draft in listed:
        event = scene.by_id[draft.proof["events"][0]]
        for start in range(event.start - step, event.start + step + 1):
            for end in range(max(start + 1, event.end - step), event.end + step + 1):
                nearest = min(draft.options, key=lambda o: abs(o["value"]["seconds"] - (end - start) / 10))
                assert nearest["id"] == draft.key[0]


@pytest.mark.parametrize(
    "scene",
    [
        [gesture("one", "pointing", 100, 120, "a", "b"), gesture("two", "pointing", 100, 160, "a", "c")],
        [gaze("one", "joint_attention", 100, 120, "a", "b"), gaze("two", "joint_attention", 110, 200, "a", "b", "c")],
        [gaze("one", "joint_attention", 100, 120, "a", "b"), gaze("two", "joint_attention", 120, 200, "a", "b", "c")],
    ],
)
def test_no_length_is_asked_of_what_goes_on_in_something_else(scene: list[Event]) -> None:
    """Two gestures of one person begin at once; a third person joins two who share attention: "how long do they share
    it" has two answers. The same questions stand when the other thing is far away."""

    def lengths(listed: list[Event]) -> set[str]:
        drafts = [draft for seed in range(6) for draft in generate(facts(listed), seed=seed)]
        return {id for draft in drafts if draft.template.startswith("how_long") for id in draft.proof["events"]}

    found = lengths(scene)
    assert "one" not in found and ("two" in found) is (scene[1].modality == "gaze")
    assert lengths([scene[0], replace(scene[1], start=300, end=400)]) == {"one", "two"}


def test_other_kinds_are_made_on_request() -> None:
    rng = random.Random(4)
    letters = Letters()
    kinds: Counter[str] = Counter()
    yes: Counter[str] = Counter()
    for seed in range(4):
        scene = crowd(seed)
        listed_worlds = worlds(scene, rng, 8)
        for draft in generate(scene, seed=seed, kinds=("yes_no", "number", "multiple"), letters=letters):
            kinds[draft.kind] += 1
            assert evaluate(draft.proof, scene).stands
            assert all(holds(draft, world, scene) for world in listed_worlds)
            texts = [printed(scene, option["text"]) for option in draft.options]
            if draft.kind == "yes_no":
                assert texts == ["Yes", "No"] and len(draft.key) == 1
                yes[texts[int(draft.key[0]) - 1]] += 1
            elif draft.kind == "number":
                assert not texts and isinstance(draft.key[0], int)
                assert draft.key[0] == draft.proof["options"][0]["value"]
            else:
                assert 0 < len(draft.key) < len(texts) and draft.key == draft.proof["key"]
    assert set(kinds) == {"yes_no", "number", "multiple"}
    assert abs(yes["Yes"] - yes["No"]) <= 0.25 * yes.total()


def test_keys_survive_the_rounding_of_printed_times() -> None:
    """Marked by hand at 50 frames a second, a step is one frame, but a window prints to five."""
    scene = replace(crowd(3, events=70), seconds=np.arange(3001) / 50, step=1)
    listed = generate(scene, seed=3, most=150, kinds=("single", "yes_no", "number"))
    assert len(listed) == 150 and any(draft.template.startswith("how_long") for draft in listed)
    for draft in listed:
        assert evaluate(draft.proof, replace(scene, step=5)).stands, draft.text


def test_what_comes_within_some_seconds_is_shown_whole_at_a_varying_rate() -> None:
    """30 frames a second, from frame 600 on five: on average nine, which say nothing of either part."""
    seconds = np.concatenate([[0.0], np.cumsum(np.r_[np.full(600, 1 / 30), np.full(300, 0.2)])])
    people = [Person(id, number, ((0, 900),)) for number, id in enumerate("abcd", 1)]
    rows = [Covered("gaze", 0, 900), Covered("gesture", 0, 900)]
    listed = [gesture("one", "pointing", 100, 130, "a", "b"), gesture("two", "giving", 330, 360, "b", "c")]
    listed += [gesture("last", "showing", 840, 850, "c", "a")]  # ends 10 s before the video does
    scene = Facts(seconds, 6, people, listed, rows)
    found: set[tuple[str, str]] = set()
    for draft in (draft for seed in range(8) for draft in generate(scene, seed=seed)):
        told = re.search(r"within (\d+) seconds", draft.text)
        begun = [event for event in listed if event.start in slots.frames_in(draft.text)]
        if told and begun:
            assert seconds[draft.end] >= seconds[begun[0].end] + float(told[1]), draft.text
            found.add((begun[0].id, told[1]))
    assert found >= {("one", "3"), ("one", "10"), ("two", "3"), ("two", "10"), ("last", "3")}
    assert ("last", "10") not in found  # that the next second is shown, too, is asked for


def test_nothing_to_ask_gives_no_drafts() -> None:
    assert generate(facts([]), seed=1) == []
    assert generate(facts([], persons=0), seed=1) == []
    assert generate(facts([gaze("m", "mutual_gaze", 10, 40, "a", "b")], persons=2, frames=60), seed=1, most=0) == []


def test_a_margin_holds_where_the_rate_is_highest() -> None:
    """10 frames a second, then 50: a tenth of a second is 1 frame there, 5 here; the average would say 3."""
    times = np.concatenate([np.arange(100) / 10, 10 + np.arange(101) / 50])
    scene = Scene(Facts(times, 2, [], []), Random(0))
    assert (most_frames(times, PRINTED_S), scene.margin) == (5, 5)
    assert Scene(Facts(times, 8, [], []), Random(0)).margin == 8  # a step of the run, where that is longer
    assert Scene(Facts(np.array([0.0, 0.04]), 1, [], []), Random(0)).margin == 1
