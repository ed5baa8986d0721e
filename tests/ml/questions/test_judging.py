"""Written items: what is refused and why, how words become slots, and that a wrong key is never proven."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ml.questions import slots
from ml.questions.facts import Covered, Facts
from ml.questions.forms import FORMS
from ml.questions.generate import generate
from ml.questions.judging import Judge, Judged
from ml.questions.letters import Letters
from ml.questions.proof import evaluate, names
from ml.questions.taxonomy import CATEGORIES
from ml.questions.written import Call, Item, OpenItem
from tests.ml.questions.crowd import crowd
from tests.ml.questions.scenes import facts, gaze, gesture

SCENE = facts(
    [
        gaze("g1", "mutual_gaze", 100, 150, "a", "b"),
        gaze("g2", "gaze_following", 300, 340, "c", "d"),
        gaze("g3", "joint_attention", 400, 480, "a", "b", "c"),
        gesture("m1", "pointing", 200, 230, "a", "b"),
        gesture("m2", "showing", 250, 280, "c", "a"),
    ]
)
CALL = Call("X", tuple(CATEGORIES), False, {f"E{k}": event for k, event in enumerate(SCENE.events, 1)}, "", "")


def item(**more: Any) -> Item:
    fields = {
        "category": "gaze_target",
        "form": "eye_contact_partner",
        "question": "Who makes eye contact with Person 1 between 9.0 s and 16.0 s?",
        "options": ["Person 2", "Person 3", "Person 4", "No one"],
        "answer": "A",
        "answer_text": "Person 2",
        "reasoning": "<think>Person 1 and Person 2 make eye contact from 10.0 s to 15.0 s.</think>",
        "source_event_ids": ["E1"],
        "time_range": [9.0, 16.0],
    }
    return Item.model_validate(fields | more)


def judge(scene: Facts = SCENE, **more: Any) -> Judged:
    return Judge(scene).judge(item(**more), CALL)


def test_a_good_item_is_proven() -> None:
    judged = judge()
    draft = judged.draft
    assert judged.proven and draft is not None and judged.code == ""
    assert draft.text == "Who makes eye contact with {p:a} between {t:90} and {t:160}?"
    assert [(o["text"], o["value"]) for o in draft.options] == [
        ("{p:b}", "b"), ("{p:c}", "c"), ("{p:d}", "d"), ("No one", None),
    ]  # fmt: skip
    assert draft.key == ["1"] and (draft.start, draft.end) == (90, 160) and draft.template == "eye_contact_partner"
    assert evaluate(draft.proof, SCENE).stands and draft.proof["events"] == ["g1"]
    assert draft.difficulty == "easy" and "<gaze>" in draft.reasoning
    assert draft.gt_events == [{"source": "gaze", "persons": [1, 2], "start": 10.0, "end": 15.0}]


def test_another_wording_is_proven_too() -> None:
    words = "Between 9.0 s and 16.0 s, with whom does Person 1 share eye contact?"
    assert judge(question=words).proven


def test_letters_before_options_are_taken_off() -> None:
    options = ["A) Person 2", "B) Person 3", "C) Person 4", "D) No one"]
    judged = judge(options=options, answer="A)", answer_text="A) Person 2")
    assert judged.proven and judged.draft is not None
    assert [option["text"] for option in judged.draft.options] == ["{p:b}", "{p:c}", "{p:d}", "No one"]


def test_keys_are_put_where_letters_are_short() -> None:
    """A model that always answers A: with the letters counted, four items of a category have four letters."""
    letters = Letters()
    found = []
    for _ in range(4):
        judged = Judge(SCENE, letters).judge(item(), CALL)
        assert judged.proven and judged.draft is not None
        key = next(option for option in judged.draft.options if [option["id"]] == judged.draft.key)
        assert key["value"] == "b" and judged.draft.proof["key"] == judged.draft.key
        found.append(judged.draft.key[0])
    assert sorted(found) == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"answer": "B", "answer_text": "Person 3"}, "The key, 1, is false|The key, 2, is false"),
        ({"options": ["Person 2", "Person 3", "Person 4", "Persons 1 and 2"]}, "is true, too"),
        ({"form": "other"}, "asks something that no template asks"),
        ({"form": "whose_gaze_is_followed"}, "its words do not agree"),
        ({"question": "Who makes eye contact with Person 3 between 9.0 s and 16.0 s?"}, "its words do not agree"),
        ({"question": "Who makes NO eye contact with Person 1 between 9.0 s and 16.0 s?"}, "its words do not agree"),
        ({"question": "Who makes eye contact with Person 1?"}, "its words do not agree"),
        (
            {"question": "Who makes eye contact with Person 1 between 9.0 s and 10.2 s?"},
            "boundaries move|cannot be told",
        ),
        ({"options": ["Person 2", "Person 3", "Person 4", "The tall one"]}, "an option cannot be read"),
    ],
)
def test_what_cannot_be_proven_stays_without_a_proof(more: dict[str, Any], why: str) -> None:
    judged = judge(**more)
    assert judged.draft is not None and not judged.proven and judged.draft.proof is None
    assert re.search(why, judged.unproven), judged.unproven
    assert all(option["value"] is None for option in judged.draft.options)


def test_what_nobody_marked_is_not_proven() -> None:
    """Outside coverage the other options may be true."""
    scene = facts(list(SCENE.events), coverage=[Covered("gaze", 0, 120)])
    judged = judge(scene)
    assert judged.draft is not None and not judged.proven and "cannot be told" in judged.unproven


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"category": "colours"}, "category"),
        ({"source_event_ids": ["E9"]}, "events"),
        ({"source_event_ids": []}, "events"),
        ({"question": "Who makes eye contact with Person 9 between 9.0 s and 16.0 s?"}, "people"),
        ({"options": ["Person 2", "Person 3", "Person 4", "Person 7"]}, "people"),
        ({"time_range": [9.0]}, "times"),
        ({"time_range": [16.0, 9.0]}, "times"),
        ({"time_range": [9.0, 99.0]}, "times"),
        ({"time_range": [20.0, 30.0]}, "times"),
        ({"question": "Who makes eye contact with Person 1 between 9.0 s and 160.0 s?"}, "times"),
        ({"options": ["Person 2", "Person 3", "Person 4"]}, "options"),
        ({"options": ["Person 2", "Person 3", "Person 4", ""]}, "options"),
        ({"options": ["Person 2", "Person 3", "person 3.", "No one"]}, "options"),
        ({"options": ["Person 2", "Person 3", "Person 4", "word " * 16]}, "options"),
        ({"answer": "E"}, "letter"),
        ({"answer": "B"}, "letter"),
        ({"answer_text": "Person 3"}, "letter"),
        ({"answer_text": "Probably Person 2"}, "speculative"),
        ({"category": "gaze_gesture_align"}, "modalities"),
    ],
)
def test_what_makes_no_question_is_refused(more: dict[str, Any], code: str) -> None:
    judged = judge(**more)
    assert judged.draft is None and judged.code == code and judged.why.endswith(".")


def test_a_repetition_is_refused_whatever_the_call() -> None:
    keeper = Judge(SCENE)
    assert keeper.judge(item(), CALL).proven
    again = keeper.judge(item(question="Who makes eye contact with Person 1 between 9.0 s and 16.5 s?"), CALL)
    assert again.code == "repeated" and keeper.refused == {"repeated": 1}


def test_a_proof_of_another_category_is_none() -> None:
    judged = judge(category="mutual_gaze")
    assert judged.draft is not None and not judged.proven and "another category" in judged.unproven


def test_an_open_item_waits_for_a_signature() -> None:
    opened = OpenItem(
        category="group_attention",
        question="Who shares joint attention between 39.0 s and 49.0 s?",
        answer_text="Person 1, Person 2 and Person 3 share joint attention from 40.0 s to 48.0 s.",
        reasoning="<think>E3</think>",
        source_event_ids=["E3"],
        time_range=[39.0, 49.0],
    )
    judged = Judge(SCENE).judge(opened, CALL)
    draft = judged.draft
    assert draft is not None and not judged.proven and draft.kind == "open" and draft.proof is None
    assert draft.key == ["{p:a}, {p:b} and {p:c} share joint attention from {t:400} to {t:480}."]
    assert (draft.start, draft.end) == (390, 490)
    short = opened.model_copy(update={"answer_text": "Person 1 does."})
    assert Judge(SCENE).judge(short, CALL).code == "answer"


# --- the same words, other roles: what must not be mixed up -----------------------------------------------------------


def test_the_direction_of_a_gesture_counts() -> None:
    """Person 1 points at Person 2. Asked for whom and by whom, with the other form declared."""
    fields: dict[str, Any] = {
        "category": "gesture_recog", "question": "Whom does Person 1 point at between 19.0 s and 24.0 s?",
        "source_event_ids": ["E4"], "time_range": [19.0, 24.0],
    }  # fmt: skip
    assert judge(form="to_whom", **fields).proven
    assert not judge(form="from_whom", **fields).proven
    backwards = fields | {"question": "Who points at Person 1 between 19.0 s and 24.0 s?"}
    assert not judge(form="to_whom", **backwards).proven and not judge(form="from_whom", **backwards).proven


def test_roles_exchanged_in_the_words_are_another_question() -> None:
    """Person 3 shows something to Person 1: the eye contact of the one is not that of the other."""
    scene = facts([*SCENE.events, gaze("g4", "mutual_gaze", 255, 275, "c", "d")])
    call = Call("X", tuple(CATEGORIES), False, {f"E{k}": event for k, event in enumerate(scene.events, 1)}, "", "")
    fields = {
        "category": "eye_contact_in_interaction", "form": "eye_contact_during", "source_event_ids": ["E5", "E6"],
        "time_range": [25.0, 28.0], "options": ["Person 4", "Person 2", "Person 5", "No one"],
    }  # fmt: skip
    asked = "Person 3 shows something to Person 1 from 25.0 s to 28.0 s. With whom does Person {} share mutual gaze "
    asked += "during this gesture?"
    right = item(question=asked.format(3), answer="A", answer_text="Person 4", **fields)
    assert Judge(scene).judge(right, call).proven
    wrong = item(question=asked.format(3), answer="D", answer_text="No one", **fields)
    assert not Judge(scene).judge(wrong, call).proven


def test_two_partners_are_a_right_answer_where_both_meet_the_eyes() -> None:
    """The person asked about is no part of the answer: "Person 2 and Person 3" is right beside "Person 2"."""
    scene = facts([gaze("g1", "mutual_gaze", 100, 125, "a", "b"), gaze("g2", "mutual_gaze", 130, 150, "a", "c")])
    call = Call("X", tuple(CATEGORIES), False, {f"E{k}": event for k, event in enumerate(scene.events, 1)}, "", "")
    pair = "Person 2 and Person 3"
    fields: dict[str, Any] = {"source_event_ids": ["E1", "E2"], "options": [pair, "Person 4", "Person 5", "No one"]}
    proven = Judge(scene).judge(item(**fields, answer="A", answer_text=pair), call)
    assert proven.proven and proven.draft is not None
    assert proven.draft.options[0]["value"] == ["a", "b", "c"]
    fields["options"] = ["Person 2", pair, "Person 4", "No one"]
    assert not Judge(scene).judge(item(**fields, answer="A", answer_text="Person 2"), call).proven


def test_a_duration_is_read_as_precisely_as_it_is_written() -> None:
    fields: dict[str, Any] = {
        "category": "temporal_gaze", "form": "how_long_eye_contact",
        "question": "How long does the mutual gaze of Person 1 and Person 2 that begins at 10.0 s last?",
        "time_range": [10.0, 15.0],
    }  # fmt: skip
    about = ["About 5 seconds", "About 9 seconds", "About 13 seconds", "About 1 second"]
    assert judge(**fields, options=about, answer_text="About 5 seconds").proven
    exact = ["5.0 s", "9.0 s", "13.0 s", "1.0 s"]  # within 0.05 s: a step of half a second breaks that
    assert not judge(**fields, options=exact, answer_text="5.0 s").proven


def test_generated_questions_in_a_models_hand_are_proven_and_wrong_keys_never() -> None:
    """Each draft of a crowd, printed as a model would write it: found again. With any other letter: never proven. With
    any other form of its category declared: never proven."""
    scene = crowd(1)
    shown = {f"E{k}": event for k, event in enumerate(scene.events, 1)}
    ids = {event.id: id for id, event in shown.items()}
    call = Call("X", tuple(CATEGORIES), False, shown, "", "")

    def printed(text: str) -> str:
        return slots.render(text, names(scene), lambda frame: float(scene.seconds[frame]))

    proven = tried = 0
    for draft in generate(scene, seed=1, most=70):
        used = [ids[id] for id in draft.proof["events"]]
        if draft.kind != "single" or not used:
            continue
        options, key = [printed(option["text"]) for option in draft.options], int(draft.key[0]) - 1
        told = Item(
            category=draft.category,
            form=draft.template,
            question=printed(draft.text),
            options=options,
            answer="ABCD"[key],
            answer_text=options[key],
            reasoning="<think></think>",
            source_event_ids=used,
            time_range=[
                min(float(scene.seconds[draft.start]), *(float(scene.seconds[shown[e].start]) for e in used)),
                max(float(scene.seconds[draft.end]), *(float(scene.seconds[shown[e].end]) for e in used)),
            ],
        )
        tried += 1
        judged = Judge(scene).judge(told, call)
        proven += judged.proven
        if judged.proven and judged.draft is not None:
            values = [[option["value"] for option in each.options] for each in (judged.draft, draft)]
            assert draft.category in ("temporal_gaze", "gesture_temporal") or values[0] == values[1]
        for other in range(4):
            if other != key:
                swapped = told.model_copy(update={"answer": "ABCD"[other], "answer_text": options[other]})
                assert not Judge(scene).judge(swapped, call).proven, swapped
        for form, (slug, _) in FORMS.items():
            if slug == draft.category and form != draft.template:
                assert not Judge(scene).judge(told.model_copy(update={"form": form}), call).proven, told
    assert tried > 35 and proven > 0.9 * tried
