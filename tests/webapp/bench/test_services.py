"""Settings, making, editing, signing, opening, discarding, quotas and the reserve."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from tests.webapp.bench.scene import Scene, draft, make_questions, make_scene, say
from webapp.bench import quotas, services
from webapp.bench.models import Bench, KeySeen, Question, Release, ReleaseItem
from webapp.lib.errors import Refused, Stale

pytestmark = pytest.mark.django_db
KEY, WRONG = "b", "a"


def fresh(question: Question) -> Question:
    question.refresh_from_db()
    return question


def configure(people: Any, **changes: Any) -> Bench:
    return services.configure(project=people.one, user=people.alice, changes=changes)


# ---------------------------------------------------------------------------------------------------------------------
# Settings


def test_settings_are_made_at_the_first_use_and_kept(people: Any) -> None:
    assert services.bench_of(people.one).raters == 2
    configure(people, raters=3, rendering="grasp", blur_faces=True, pad_before_s=0, pad_after_s=2.5)
    bench = services.bench_of(people.one)
    assert (bench.raters, bench.rendering, bench.blur_faces) == (3, "grasp", True)
    assert (bench.pad_before_s, bench.pad_after_s) == (0, 2.5)


@pytest.mark.parametrize(
    "changes",
    [
        {"raters": 0},
        {"raters": True},
        {"raters": 11},
        {"rendering": "shiny"},
        {"blur_faces": "yes"},
        {"pad_before_s": -1},
        {"pad_after_s": float("nan")},
        {"pad_after_s": None},
        {"next_number": 7},
        {"quotas": [{"most": -1}]},
        {"quotas": [{"most": 1, "category": "weather"}]},
        {"quotas": [{"most": 1, "letter": "AB"}]},
        {"quotas": [{"most": 1, "difficulty": "fiendish"}]},
        {"quotas": [{"most": 1, "colour": "red"}]},
        {"quotas": [{"category": "mutual_gaze"}]},
        {"quotas": {"most": 1}},
        {"quotas": [{"most": 1, "source": "a\x00b"}]},
    ],
)
def test_settings_that_make_no_sense_are_refused_in_words(people: Any, changes: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        configure(people, **changes)
    assert refused.value.sentence.endswith(".")


# ---------------------------------------------------------------------------------------------------------------------
# Making


def test_numbers_are_given_once_and_never_again(people: Any, scene: Scene) -> None:
    first = make_questions(scene, 3)
    assert [question.number for question in first] == [1, 2, 3]
    Question.objects.filter(number=3).delete()
    other = make_scene(people.one, people.alice, name="other.mp4")
    assert [question.number for question in make_questions(other, 2)] == [4, 5]


def test_the_same_drafts_again_are_left_out_also_when_rejected(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    services.discard_questions(project=people.one, user=people.cora, ids=[question.id])
    assert services.create_questions(video=scene.video, drafts=[draft(scene, 0)], user=None) == []
    twice = services.create_questions(video=scene.video, drafts=[draft(scene, 1), draft(scene, 1)], user=None)
    assert len(twice) == 1


def test_lists_print_people_and_video_seconds(scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    assert question.shown == "Who follows the gaze of Person 0 at 4.0 s? (Wording 0)"
    assert (question.letter, question.difficulty) == ("B", "hard")


def test_the_video_knows_that_it_has_questions(scene: Scene) -> None:
    assert not scene.video.has_questions
    make_questions(scene, 1)
    scene.video.refresh_from_db()
    assert scene.video.has_questions


def test_the_maker_saw_the_keys(people: Any, scene: Scene) -> None:
    from webapp.bench import answering

    made = make_questions(scene, 1, user=people.cora)[0]
    assert answering.has_seen(made, people.cora) and not answering.has_seen(made, people.rita)
    assert answering.next_item(project=people.one, user=people.cora) is None


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ({"category": "weather"}, "category"),
        ({"kind": "essay"}, "kind"),
        ({"text": ""}, "empty"),
        ({"text": "Who {x}?"}, "brace"),
        ({"text": "Who is {p:00000000-0000-0000-0000-000000000000}?"}, "not in this video"),
        ({"text": "At {t:99999}?"}, "behind"),
        ({"text": "a\x00b"}, "text of at most"),
        ({"start": 125}, "span"),
        ({"end": 551}, "span"),
        ({"options": []}, "key"),
        ({"options": [{"id": 1, "text": "Yes"}, {"id": 2, "text": " yes "}], "proof": None, "key": [1]}, "same text"),
        ({"options": [{"id": 1, "text": "Yes"}, {"id": 1, "text": "No"}], "proof": None, "key": [1]}, "same id"),
        ({"options": [{"text": "Yes"}, {"text": "No"}], "proof": None}, "{id, text, value}"),
        ({"key": []}, "exactly one"),
        ({"key": ["one", "two"], "proof": None}, "exactly one"),
        ({"key": ["a"], "proof": None}, "option ids"),  # the ids are one, two and three
        ({"key": ["q"], "proof": None}, "option ids"),
        ({"kind": "number", "key": ["many"], "options": [], "proof": None}, "number"),
        ({"kind": "number", "proof": None}, "no options"),
        ({"kind": "open", "options": [], "proof": None, "key": []}, "one value"),
        ({"kind": "yes_no", "proof": None}, "exactly two"),
        ({"proof": {"v": 2}}, "cannot be read"),
    ],
)
def test_a_draft_with_a_fault_is_refused_in_words(scene: Scene, fault: dict[str, Any], word: str) -> None:
    with pytest.raises(Refused) as refused:
        services.create_questions(video=scene.video, drafts=[draft(scene, **fault)], user=None)
    assert word in refused.value.sentence
    assert not Question.objects.exists()


# ---------------------------------------------------------------------------------------------------------------------
# Editing and signing


def edit(question: Question, user: Any, **fields: Any) -> Question:
    return services.edit_question(question_id=question.id, user=user, version=question.version, fields=fields)


def test_an_edit_goes_back_to_draft_and_to_a_new_round(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    say(question, people.bob, KEY)
    edited = edit(question, people.cora, text=f"Who follows {{p:{scene.people[0].id}}}?")
    assert (edited.state, edited.round, edited.version) == ("draft", 2, 2)
    assert edited.shown == "Who follows Person 0?" and edited.changed_by == people.cora
    assert KeySeen.objects.filter(question=question, user=people.cora).exists()
    assert not edited.stale  # the proof still fits and stands


def test_a_draft_that_is_edited_stays_in_its_round(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1, opened=False)[0]
    assert edit(question, people.cora, reasoning="Because.").round == 1


def test_an_edit_of_another_version_is_stale(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    edit(question, people.cora, text="Who?")
    with pytest.raises(Stale):
        services.edit_question(question_id=question.id, user=people.cora, version=1, fields={"text": "Whom?"})
    with pytest.raises(Stale):
        services.edit_question(question_id=uuid.uuid4(), user=people.cora, version=1, fields={"text": "Whom?"})


@pytest.mark.parametrize(
    "fields", [{}, {"state": "accepted"}, {"number": 7}, {"start": "0"}, {"text": 5}, {"end": True}]
)
def test_an_edit_of_anything_else_is_refused(people: Any, scene: Scene, fields: dict[str, Any]) -> None:
    question = make_questions(scene, 1)[0]
    with pytest.raises(Refused):
        edit(question, people.cora, **fields)
    assert fresh(question).version == 1


def test_what_was_released_is_never_edited(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    release = Release.objects.create(project=people.one, number=1, sha256="0" * 64)
    item = ReleaseItem.objects.create(
        release=release, question=question, position=0, question_version=1, item={}, sha256="0" * 64
    )
    with pytest.raises(Refused, match="never edited"):
        edit(question, people.cora, text="Who?")
    item.retired = release.created
    item.save()
    assert edit(question, people.cora, text="Who?").version == 2
    # who could take the release out may know the key
    assert KeySeen.objects.filter(question=question, user=people.alice).exists()
    assert not KeySeen.objects.filter(question=question, user=people.rita).exists()


def test_a_key_without_proof_needs_a_word(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1, opened=False, proof=None)[0]
    done = services.open_questions(project=people.one, user=people.cora, ids=[question.id])
    assert done.refused == [(1, "It has no proof: somebody signs for its key first.")]
    signed = services.sign_question(question_id=question.id, user=people.cora, version=1)
    assert signed.signed_by == people.cora and signed.proof is None
    assert services.open_questions(project=people.one, user=people.cora, ids=[question.id]).opened == [question.id]
    assert edit(fresh(question), people.cora, text="Who?").signed_by is None  # the word was for other words


def test_a_proven_key_needs_nobodys_word(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1, opened=False)[0]
    with pytest.raises(Refused, match="has a proof"):
        services.sign_question(question_id=question.id, user=people.cora, version=1)


# ---------------------------------------------------------------------------------------------------------------------
# Opening and discarding


def test_only_drafts_of_the_project_are_opened(people: Any, scene: Scene) -> None:
    first, second = make_questions(scene, 2, opened=False)
    assert services.open_questions(project=people.two, user=people.charlie, ids=[first.id]).opened == []
    done = services.open_questions(project=people.one, user=people.cora, ids=[first.id, second.id, uuid.uuid4()])
    assert done.opened == [first.id, second.id]
    again = services.open_questions(project=people.one, user=people.cora, ids=[first.id])
    assert again.refused == [(1, "It is not a draft: answering.")]


def test_what_is_discarded_is_handed_to_nobody(people: Any, scene: Scene) -> None:
    from webapp.bench import answering

    question = make_questions(scene, 1)[0]
    assert answering.next_item(project=people.one, user=people.bob)
    assert services.discard_questions(project=people.one, user=people.cora, ids=[question.id]) == 1
    assert fresh(question).state == "rejected"
    assert answering.next_item(project=people.one, user=people.bob) is None
    assert services.discard_questions(project=people.one, user=people.cora, ids=[question.id]) == 0


def test_what_is_accepted_is_not_discarded(people: Any, scene: Scene) -> None:
    question = make_questions(scene, 1)[0]
    for user in (people.bob, people.rita):
        say(question, user, KEY)
    assert services.discard_questions(project=people.one, user=people.cora, ids=[question.id]) == 0
    assert fresh(question).state == "accepted"


# ---------------------------------------------------------------------------------------------------------------------
# Quotas

ROWS = [
    ({}, True),
    ({"category": "gaze_following"}, True),
    ({"category": "mutual_gaze"}, False),
    ({"source": "show"}, True),
    ({"source": "other"}, False),
    ({"difficulty": "hard"}, True),
    ({"letter": "B"}, False),  # given when a release is cut
    ({"category": "gaze_following", "source": "show", "difficulty": "hard"}, True),
    ({"category": "gaze_following", "source": "show", "difficulty": "easy"}, False),
]


@pytest.mark.parametrize(("quota", "counts"), ROWS)
def test_a_quota_counts_what_fits_all_its_parts(people: Any, quota: dict[str, str], counts: bool) -> None:
    scene = make_scene(people.one, people.alice, source_recording="show")
    configure(people, quotas=[quota | {"most": 1}])
    make_questions(scene, 1, opened=False)
    made = services.create_questions(video=scene.video, drafts=[draft(scene, 9)], user=None)
    assert len(made) == (0 if counts else 1)


def test_drafts_beyond_a_quota_are_not_made(people: Any, scene: Scene) -> None:
    configure(people, quotas=[{"category": "gaze_following", "most": 3}])
    made = services.create_questions(video=scene.video, drafts=[draft(scene, n) for n in range(5)], user=None)
    assert [question.number for question in made] == [1, 2, 3]


def test_drafts_beyond_a_quota_are_not_opened(people: Any, scene: Scene) -> None:
    questions = make_questions(scene, 3, opened=False)
    configure(people, quotas=[{"category": "gaze_following", "most": 2}])
    done = services.open_questions(project=people.one, user=people.cora, ids=[q.id for q in questions])
    assert len(done.opened) == 2
    assert done.refused == [(3, "A quota is full: at most 2 of Gaze following.")]


def test_a_quota_of_a_letter_keeps_nothing_out_before_a_release(people: Any, scene: Scene) -> None:
    """A release gives letters anew, so where a key stood before says nothing."""
    configure(people, quotas=[{"letter": letter, "most": 0} for letter in "ABCD"])
    questions = make_questions(scene, 3)
    for question in questions:
        for user in (people.bob, people.rita):
            say(question, user, KEY)
    assert [fresh(question).state for question in questions] == ["accepted"] * 3


def test_what_is_agreed_beyond_a_quota_waits_in_the_reserve(people: Any, scene: Scene) -> None:
    questions = make_questions(scene, 3)
    configure(people, quotas=[{"most": 1}])  # lowered while they were answered
    for question in questions:
        for user in (people.bob, people.rita):
            say(question, user, KEY)
    assert [fresh(question).state for question in questions] == ["accepted", "reserve", "reserve"]
    configure(people, quotas=[{"most": 2}])
    assert [fresh(question).state for question in questions] == ["accepted", "accepted", "reserve"]
    edit(questions[0], people.cora, text="Who?")  # its place is free
    assert [fresh(question).state for question in questions] == ["draft", "accepted", "accepted"]


def test_the_table_says_what_is_missing(people: Any, scene: Scene) -> None:
    configure(people, quotas=[{"category": "gaze_following", "most": 4}, {"letter": "A", "most": 2}])
    accepted = make_questions(scene, 3)[0]
    for user in (people.bob, people.rita):
        say(accepted, user, KEY)
    first, second = quotas.table(services.bench_of(people.one))
    assert (first["accepted"], first["open"], first["missing"]) == (1, 2, 3)
    assert (second["accepted"], second["open"], second["missing"]) == (0, None, 2)
    assert first["words"] == "at most 4 of Gaze following"


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What the generator is asked for."""
    from webapp.bench import generation

    asked = SimpleNamespace(categories=None, letters=None)

    def fake(facts: Any, *, seed: int, categories: Any, most: Any, letters: Any) -> list[Any]:
        asked.categories, asked.letters = categories, letters
        return []

    monkeypatch.setattr(generation, "generate", fake)
    return asked


def test_the_generator_is_asked_for_what_has_room(people: Any, scene: Scene, generated: SimpleNamespace) -> None:
    from webapp.bench.generation import generate_for

    make_questions(scene, 2)
    configure(people, quotas=[{"category": "gaze_following", "most": 2}, {"difficulty": "easy", "most": 0}])
    generate_for(video=scene.video, user=None, seed=1)
    assert "gaze_following" not in generated.categories
    assert "gaze_target" not in generated.categories  # an easy one
    assert "mutual_gaze" in generated.categories
    assert generated.letters.counts == {("gaze_following", "B"): 2}
