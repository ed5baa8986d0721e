"""Releases: what goes in, how it is frozen, what is refused, and that nothing about it ever moves."""

from __future__ import annotations

import uuid
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import Scene, make_scene
from webapp.bench import freezing, releases, services
from webapp.bench.models import Adjudication, Question, Release
from webapp.bench.quotas import table
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.library.services import delete_video


def cut(project: Any, user: Any = None, **more: Any) -> Release:
    """What the worker does, without its job."""
    made = releases.draft(project=project, **more)
    return releases.keep(made=made, user=user, id=uuid.uuid4())


def test_an_item_is_written_out_on_the_clips_clock(scene: Scene, people: SimpleNamespace) -> None:
    (question,) = accept(scene, 1, raters=(people.bob, people.rita))
    item = cut(people.one).items.get().item
    # the clip begins at frame 62 of 25 a second: frame 100 is 38 frames, 1.52 s, into it
    assert item["question"] == "At 1.5 s, who follows the gaze of Person 0?"
    assert item["reasoning"] == "Person 2 follows Person 0 from 1.5 s to 2.5 s."
    assert sorted(item["options"]) == ["No one", "Person 0", "Person 1", "Person 2"]
    assert item["options"]["ABCD".index(item["answer"])] == item["answer_text"] == "Person 2"
    assert item["gt_events"] == [{"source": "gaze", "persons": [0, 2], "start": 1.52, "end": 2.52}]
    assert item["span"] == {"start": 100, "end": 125, "start_s": 4.0, "end_s": 5.0}
    assert (item["clip"]["offset_s"], item["clip"]["start"], item["clip"]["end"]) == (2.48, 62, 175)
    assert item["visible"] == [0, 1, 2] and item["persons"] == [0, 1, 2]
    told = item["provenance"]
    assert (told["question"], told["version"], told["free_form"]) == (str(question.id), question.version, False)
    assert question.proof is not None
    assert told["events"] == [str(scene.following)] and told["revision"] == question.proof["revision"]


def test_raters_have_pseudonyms_unless_names_are_allowed(scene: Scene, people: SimpleNamespace) -> None:
    (question,) = accept(scene, 1, raters=(people.bob, people.rita))
    Adjudication.objects.create(question=question, round=1, user=people.alice, verdict="accept", reason="seen twice")
    told = releases.draft(project=people.one).items[0]["provenance"]
    assert len(set(told["raters"])) == 2 and all(name.startswith("rater-") for name in told["raters"])
    assert told["adjudication"]["by"].startswith("rater-") and told["adjudication"]["verdict"] == "accept"
    assert "seen twice" not in str(told)  # a reason may name somebody
    named = releases.draft(project=people.one, names=True).items[0]["provenance"]
    assert named["raters"] == ["bob", "rita"] and named["adjudication"]["by"] == "alice"


def test_letters_are_uniform_and_decided_by_content(scene: Scene, people: SimpleNamespace) -> None:
    accept(scene, 20)
    first = releases.draft(project=people.one)
    letters = [item["answer"] for item in first.items]
    assert Counter(letters) == {"A": 5, "B": 5, "C": 5, "D": 5}
    assert letters != sorted(letters) and letters != ["ABCD"[n % 4] for n in range(20)]  # not to be counted off
    again = releases.draft(project=people.one)
    assert again.items == first.items and again.sha256 == first.sha256


def test_quotas_of_letters_count_what_is_released(scene: Scene, people: SimpleNamespace) -> None:
    quotas = [{"letter": letter, "most": 3, "category": "gaze_following"} for letter in "ABCD"]
    services.configure(project=people.one, user=people.cora, changes={"quotas": quotas})
    accept(scene, 8)
    told = lambda: [(row["accepted"], row["missing"]) for row in table(services.bench_of(people.one))]  # noqa: E731
    assert told() == [(0, 3)] * 4
    cut(people.one)
    assert told() == [(2, 1)] * 4


def test_wrong_options_are_in_an_order_of_their_own(scene: Scene, people: SimpleNamespace) -> None:
    accept(scene, 20)
    orders = set()
    for item in releases.draft(project=people.one).items:
        orders.add(tuple(text for text in item["options"] if text != item["answer_text"]))
    assert len(orders) > 3


def test_released_items_keep_their_letters(scene: Scene, people: SimpleNamespace) -> None:
    accept(scene, 7)
    before = {one.item["id"]: one.item for one in cut(people.one).items.all()}
    accept(scene, 9)
    release = cut(people.one, notes="nine more")
    items = [one.item for one in release.items.all()]
    assert all(item == before[item["id"]] for item in items if item["id"] in before)
    counts = Counter(item["answer"] for item in items)
    assert max(counts.values()) - min(counts.values()) <= 1
    told = release.facts["changes"]
    assert (told["since"], told["same"], len(told["added"]), told["changed"], told["removed"]) == (1, 7, 9, [], [])
    assert releases.changes_in_words(told) == "9 added since release 1"


def test_what_is_stale_or_has_no_clip_is_left_out_and_counted(scene: Scene, people: SimpleNamespace) -> None:
    stale, doubted, clipless, fine = accept(scene, 4)
    revision = scene.video.revision + 1  # of an edit after the others were proven again
    Video.objects.filter(id=scene.video.id).update(doubted=revision)
    Question.objects.exclude(id=doubted.id).update(stood=revision)
    Question.objects.filter(id=stale.id).update(stale=True)
    Question.objects.filter(id=clipless.id).update(clip=None)
    release = cut(people.one)
    assert [one.question_id for one in release.items.all()] == [fine.id]
    assert release.facts["left_out"] == {"stale": 2, "no_clip": 1}


def test_nothing_to_release_is_said(scene: Scene, people: SimpleNamespace) -> None:
    with pytest.raises(Refused, match="no accepted question to release yet"):
        releases.cut(project=people.one, user=people.cora)
    (question,) = accept(scene, 1)
    Question.objects.filter(id=question.id).update(stale=True)
    with pytest.raises(Refused, match=r"1 stale \(prove them again\), 0 without a clip"):
        releases.cut(project=people.one, user=people.cora)


def test_nothing_new_is_no_release(scene: Scene, people: SimpleNamespace) -> None:
    accept(scene, 2)
    first = cut(people.one)
    with pytest.raises(releases.NothingNew, match="Nothing changed since release 1") as caught:
        cut(people.one)
    assert caught.value.before == first


def test_a_clip_that_prints_other_numbers_is_cut_again_first(scene: Scene, people: SimpleNamespace) -> None:
    accept(scene, 1)
    scene.edit("person.merge", scene.people[2].id, scene.people[2].version, into=str(scene.people[1].id))
    Video.objects.update(doubted=0)
    with pytest.raises(
        Refused, match="Question 1 cannot be printed: Its clip prints P2 for Person 1; have the clip cut"
    ):
        cut(people.one)


def test_the_linter_may_say_no(scene: Scene, people: SimpleNamespace) -> None:
    accept(scene, 1)
    bad = accept(scene, 1)[0]
    options = [one | {"text": "Person 7"} if one["id"] == bad.key[0] else one for one in bad.options]
    Question.objects.filter(id=bad.id).update(options=options, proof=None, signed_by=people.alice)
    with pytest.raises(Refused) as caught:
        cut(people.one)
    assert caught.value.sentence.startswith("The linter finds 1 error, so no release is cut. Question 2: ")
    assert "Person 7" in caught.value.sentence
    Question.objects.filter(id=bad.id).update(options=bad.options, text=Question.objects.get(number=1).text)
    with pytest.raises(Refused, match="Question 2: Question 1 asks the same"):
        cut(people.one)
    assert not Release.objects.exists()


def test_asked_twice_it_is_one_job(scene: Scene, people: SimpleNamespace) -> None:
    accept(scene, 1)
    first = releases.cut(project=people.one, user=people.cora, notes=" ten more ")
    assert releases.cut(project=people.one, user=people.alice) == first
    assert first.parameters["notes"] == "ten more" and Job.objects.filter(kind="release").count() == 1


@pytest.mark.parametrize("shares", [{"te st": 1.0}, {"test": 0}, {"../x": 1}, {"": 1}, {"averyverylongname": 1}])
def test_splits_have_plain_names_and_shares(scene: Scene, people: SimpleNamespace, shares: Any) -> None:
    accept(scene, 1)
    with pytest.raises(Refused) as caught:
        releases.cut(project=people.one, user=None, shares=shares)
    assert caught.value.field == "shares"


def test_an_edit_meanwhile_stops_it(scene: Scene, people: SimpleNamespace) -> None:
    first, _ = accept(scene, 2)
    made = releases.draft(project=people.one)
    Question.objects.filter(id=first.id).update(version=first.version + 1)
    with pytest.raises(Refused, match="Questions were changed"):
        releases.keep(made=made, user=None, id=uuid.uuid4())
    made = releases.draft(project=people.one)
    releases.keep(made=made, user=None, id=uuid.uuid4())
    with pytest.raises(Refused, match="Another release was cut meanwhile"):
        releases.keep(made=made, user=None, id=uuid.uuid4())
    assert [one.number for one in releases.listing(people.one)] == [1]


def test_why_a_release_failed_tells_no_key(scene: Scene, people: SimpleNamespace) -> None:
    (bad,) = accept(scene, 1)
    bad.text += " It is Person 2, as somebody said."
    options = [one | {"text": "Person 0 (I think)"} if one["id"] not in bad.key else one for one in bad.options]
    Question.objects.filter(id=bad.id).update(options=options, proof=None, signed_by=people.alice)
    with pytest.raises(Refused) as caught:
        cut(people.one)
    assert "Question 1: Two options say the same." in caught.value.sentence
    assert "Person" not in caught.value.sentence


def test_splits_go_by_recording_and_stay(people: SimpleNamespace) -> None:
    for n in range(12):
        made = make_scene(people.one, people.alice, source_recording=f"recording {n % 6}")
        accept(made, 1)
    release = cut(people.one, shares={"test": 1, "dev": 1})
    where: dict[str, set[str]] = {}
    for one in release.items.all():
        where.setdefault(one.item["video"]["recording"], set()).add(one.split)
    assert all(len(splits) == 1 for splits in where.values())
    assert {split for splits in where.values() for split in splits} == {"test", "dev"}
    accept(make_scene(people.one, people.alice, source_recording="recording 1"), 1)
    later = cut(people.one, shares={"test": 99, "dev": 1})
    for one in later.items.all():
        assert {one.split} == where[one.item["video"]["recording"]]


def test_shares_are_kept_over_many_recordings() -> None:
    splits = Counter(freezing.split_of(f"recording {n}", {"test": 8, "dev": 2}) for n in range(2000))
    assert 0.77 < splits["test"] / 2000 < 0.83  # 0.8, and three standard deviations


# ---------------------------------------------------------------------------------------------------------------------
# Afterwards


def test_a_retired_item_stays_as_it_was_everywhere(scene: Scene, people: SimpleNamespace) -> None:
    accept(scene, 2)
    first = cut(people.one)
    accept(scene, 1)
    second = cut(people.one)
    one = first.items.get(position=1)
    rows = releases.retire(item=one, user=people.cora, reason="  The clip shows a mirror. ")
    assert [row.release.number for row in rows] == [1, 2]
    assert all(row.retired_why == "The clip shows a mirror." and row.item == one.item for row in rows)
    date = rows[0].retired
    again = releases.retire(item=second.items.get(position=1), user=people.cora, reason="another reason")
    assert {row.retired_why for row in again} == {"The clip shows a mirror."} and again[0].retired == date
    assert one.question is not None
    one.question.refresh_from_db()
    assert one.question.state == "retired"
    third = cut(people.one)
    assert third.facts["changes"]["removed"] == [one.item["id"]] and third.items.count() == 2
    told = {job.parameters["rewrite"] for job in Job.objects.filter(kind="release")}
    assert told == {str(first.id), str(second.id)}  # their archives tell of it
    assert [(row.number, row.items, row.retired) for row in releases.listing(people.one)] == [
        (3, 2, 0), (2, 3, 1), (1, 2, 1),
    ]  # fmt: skip


def test_what_a_retired_question_became_is_not_retired_with_it(scene: Scene, people: SimpleNamespace) -> None:
    (question,) = accept(scene, 1)
    item = cut(people.one).items.get()
    releases.retire(item=item, user=people.cora, reason="It says nothing.")
    Question.objects.filter(id=question.id).update(state="accepted", version=2, round=2)
    second = cut(people.one).items.get()
    rows = releases.retire(item=item, user=people.cora, reason="Sent twice by a stale page.")
    assert [row.retired_why for row in rows] == ["It says nothing."]
    second.refresh_from_db()
    question.refresh_from_db()
    assert second.retired is None and question.state == "accepted"


@pytest.mark.parametrize("reason", ["", "   ", "x" * 1001, "a\x00b", "a\ud800b"])
def test_a_retirement_needs_a_reason(scene: Scene, people: SimpleNamespace, reason: str) -> None:
    accept(scene, 1)
    with pytest.raises(Refused) as caught:
        releases.retire(item=cut(people.one).items.get(), user=people.cora, reason=reason)
    assert caught.value.field == "reason"


def test_a_withdrawn_video_leaves_hashes(people: SimpleNamespace) -> None:
    stays, goes = make_scene(people.one, people.alice), make_scene(people.one, people.alice)
    accept(stays, 1)
    accept(goes, 1)
    release = cut(people.one)
    hashes = [one.sha256 for one in release.items.all()]
    delete_video(video=Video.objects.get(id=goes.video.id))
    items = list(release.items.order_by("position"))
    assert items[1].item == {"withdrawn": True} and [one.sha256 for one in items] == hashes
    assert releases.listing(people.one)[0].withdrawn == 1
    job = Job.objects.get(kind="release")
    assert job.parameters == {"rewrite": str(release.id), "erased": True} and job.video_id is None
    later = cut(people.one)
    assert later.items.count() == 1 and later.facts["changes"]["withdrawn"] == 1


def test_the_list_asks_twice_whatever_is_in_it(
    scene: Scene, people: SimpleNamespace, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        accept(scene, 1)
        cut(people.one, people.cora)
    with django_assert_max_num_queries(2):
        rows = releases.listing(people.one)
    assert [(row.number, row.items, row.created_by) for row in rows] == [(3, 3, "cora"), (2, 2, "cora"), (1, 1, "cora")]


# ---------------------------------------------------------------------------------------------------------------------
# Other kinds


def test_other_kinds_are_frozen_in_their_own_form(scene: Scene, people: SimpleNamespace) -> None:
    yes = accept(scene, 1, proven=False)[0]
    ann = scene.people[0].id
    Question.objects.filter(id=yes.id).update(
        kind="yes_no", origin="human", text=f"Does somebody follow the gaze of {{p:{ann}}} at {{t:110}}?",
        options=[{"id": "y", "text": "Yes", "value": True}, {"id": "n", "text": "No", "value": False}], key=["n"],
    )  # fmt: skip
    number, several, words = accept(scene, 3, proven=False)
    Question.objects.filter(id=number.id).update(
        kind="number", origin="human", options=[], key=[2], text="How many people follow a gaze?"
    )
    Question.objects.filter(id=several.id).update(
        kind="multiple", origin="human", key=["a", "c"], text=f"Which of these look at {{p:{ann}}}?"
    )
    Question.objects.filter(id=words.id).update(
        kind="open", origin="human", options=[], key=["Nobody else looks at them in this clip."],
        category="group_attention", text="Who is not part of the shared attention?",
    )  # fmt: skip
    items = releases.draft(project=people.one).items
    assert [item["kind"] for item in items] == ["yes_no", "number", "multiple", "open"]
    assert (items[0]["options"], items[0]["answer"], items[0]["answer_text"]) == (["Yes", "No"], "B", "No")
    assert (items[1]["answer"], items[1]["answer_text"]) == (2, "2")
    right = [items[2]["options"]["ABCD".index(letter)] for letter in items[2]["answer"]]
    assert len(right) == 2 and "; ".join(right) == items[2]["answer_text"]
    assert items[3]["answer"] == items[3]["answer_text"] == "Nobody else looks at them in this clip."
