"""What the tables say of a video, as facts."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.webapp.bench.scene import Scene, film, make_scene
from tests.webapp.factories import edit, make_person, make_proposal, make_run, make_tracklet, make_video
from webapp.bench.facts import facts_of, joined, step_of
from webapp.events.models import AnnotationSet, Event, Participation
from webapp.lib.errors import Refused
from webapp.tracks.models import Tracklet

pytestmark = pytest.mark.django_db


def test_it_tells_what_the_scene_is(scene: Scene) -> None:
    facts = facts_of(scene.video)
    ann, ben, cid = (str(person.id) for person in scene.people)
    assert [(p.id, p.number, p.visible) for p in facts.persons] == [
        (ann, 0, ((0, 550),)),
        (ben, 1, ((0, 550),)),
        (cid, 2, ((0, 550),)),
    ]
    mutual, following = facts.events
    assert (mutual.id, mutual.type, mutual.start, mutual.end) == (str(scene.mutual), "mutual_gaze", 25, 75)
    assert set(following.roles) == {(ann, "leader"), (cid, "follower")}
    assert [(c.modality, c.start, c.end, c.persons) for c in facts.coverage] == [("gaze", 0, 150, None)]
    assert facts.cuts == (0, 150, 250) and facts.frames == 550 and facts.seconds[-1] == 22.0
    assert facts.revision == scene.video.revision == 3
    assert facts.set == str(AnnotationSet.objects.get(video=scene.video, kind="working").id)


def test_only_what_somebody_confirmed_is_a_fact(people: Any, scene: Scene) -> None:
    pair = [(person, "member") for person in scene.people[:2]]
    make_proposal(scene.video, "mutual_gaze", 200, 240, pair)
    rejected = make_proposal(scene.video, "mutual_gaze", 260, 300, pair)
    edit(scene.video, people.bob, "event.update", rejected.id, 1, status="rejected")
    noted = make_proposal(scene.video, "mutual_gaze", 310, 340, pair)
    edit(scene.video, people.bob, "event.update", noted.id, 1, note="perhaps")  # in the working set, still proposed
    assert len(facts_of(scene.video).events) == 2


def test_proposals_inside_coverage_are_told_until_somebody_decides(people: Any, scene: Scene) -> None:
    """Coverage speaks of gaze in [0, 150)."""
    pair = [(person, "member") for person in scene.people[:2]]
    waits = make_proposal(scene.video, "mutual_gaze", 140, 170, pair)
    make_proposal(scene.video, "mutual_gaze", 150, 170, pair)
    make_proposal(scene.video, "pointing", 10, 30, [(scene.people[0], "initiator")])
    (told,) = facts_of(scene.video).undecided
    assert (told.id, set(told.roles)) == (str(waits.id), {(str(p.id), "member") for p in scene.people[:2]})
    edit(scene.video, people.bob, "event.update", waits.id, 1, note="perhaps")  # a note is no word
    assert len(facts_of(scene.video).undecided) == 1
    edit(scene.video, people.bob, "event.update", waits.id, 2, status="rejected")
    assert facts_of(scene.video).undecided == []


def test_the_consensus_counts_where_there_is_one(scene: Scene) -> None:
    consensus = AnnotationSet.objects.create(video=scene.video, kind="consensus")
    event = Event.objects.create(
        set=consensus, video=scene.video, modality="gaze", type="mutual_gaze", start=30, end=60, status="confirmed",
        origin="human",
    )  # fmt: skip
    Participation.objects.create(event=event, person=scene.people[0], role="member")
    facts = facts_of(scene.video)
    assert [e.id for e in facts.events] == [str(event.id)]
    assert facts.set == str(consensus.id) and facts.coverage == []  # said of the working set only


def test_a_video_nobody_worked_on_has_no_events(people: Any) -> None:
    facts = facts_of(film(people.one))
    assert (facts.events, facts.coverage, facts.persons, facts.set) == ([], [], [], "")
    assert facts.step == 1


def test_a_video_without_frame_times_is_refused(people: Any) -> None:
    with pytest.raises(Refused, match="import is not done"):
        facts_of(make_video(people.one, state="importing"))
    with pytest.raises(Refused):
        facts_of(make_video(people.one, has_pixels=False))


# ---------------------------------------------------------------------------------------------------------------------
# People


def test_somebody_merged_is_whom_they_were_merged_into(people: Any, scene: Scene) -> None:
    ann, ben, cid = scene.people
    dan = make_person(scene.video)
    make_tracklet(scene.run, dan, 9, 0, 40)
    scene.edit("person.merge", cid.id, 1, into=str(dan.id))
    scene.edit("person.merge", dan.id, 1, into=str(ben.id))
    facts = facts_of(scene.video)
    assert {p.id for p in facts.persons} == {str(ann.id), str(ben.id)}
    following = facts.by_id[str(scene.following)]
    assert following.who("follower") == {str(ben.id)}


def test_an_event_whose_two_people_became_one_is_no_fact(scene: Scene) -> None:
    ann, ben, _ = scene.people
    scene.edit("person.merge", ben.id, 1, into=str(ann.id))
    assert [event.id for event in facts_of(scene.video).events] == [str(scene.following)]


def test_somebody_is_visible_where_a_tracklet_of_the_accepted_run_shows_them(scene: Scene) -> None:
    ann, ben, cid = scene.people
    Tracklet.objects.all().delete()
    for track, (person, start, end) in enumerate([(ann, 0, 50), (ann, 40, 90), (ann, 200, 210), (ben, 90, 100)]):
        make_tracklet(scene.run, person, track, start, end)
    other = make_run(scene.video, accepted=False)
    make_tracklet(other, cid, 5, 0, 550)  # a layer that waits shows nobody
    scene.edit("person.merge", ben.id, 1, into=str(ann.id))
    seen = {p.id: p.visible for p in facts_of(scene.video).persons}
    assert seen == {str(ann.id): ((0, 100), (200, 210)), str(cid.id): ()}


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], ()),
        ([(5, 9)], ((5, 9),)),
        ([(5, 9), (0, 5)], ((0, 9),)),
        ([(0, 9), (2, 3), (10, 11)], ((0, 9), (10, 11))),
    ],
)
def test_spans_are_joined(spans: Any, expected: Any) -> None:
    assert joined(spans) == expected


# ---------------------------------------------------------------------------------------------------------------------
# Boundaries


def proposal_with_looks(scene: Scene) -> Event:
    event = make_proposal(scene.video, "mutual_gaze", 200, 240, [(person, "member") for person in scene.people[:2]])
    event.details = {"onset_after": 187, "offset_before": 240}
    event.save()
    return event


def test_an_unedited_event_knows_the_looks_beside_it(scene: Scene) -> None:
    event = proposal_with_looks(scene)
    scene.edit("event.update", event.id, 1, status="confirmed")
    found = facts_of(scene.video).by_id[str(event.id)]
    assert (found.onset_after, found.offset_before) == (187, 240)


@pytest.mark.parametrize("fields", [{"start": 205}, {"end": 235}])
def test_an_edited_one_does_not(scene: Scene, fields: dict[str, int]) -> None:
    event = proposal_with_looks(scene)
    scene.edit("event.update", event.id, 1, status="confirmed", **fields)
    found = facts_of(scene.video).by_id[str(event.id)]
    assert (found.onset_after, found.offset_before) == (None, None)


def test_a_merge_alone_is_no_edit_of_the_event(scene: Scene) -> None:
    event = proposal_with_looks(scene)
    scene.edit("event.update", event.id, 1, status="confirmed")
    scene.edit("person.merge", scene.people[1].id, 1, into=str(scene.people[2].id))
    assert facts_of(scene.video).by_id[str(event.id)].onset_after == 187


def test_the_step_is_the_widest_gap_between_two_looks() -> None:
    seconds = np.arange(101) / 25
    assert step_of(seconds, (0,), 5) == 5
    assert step_of(seconds, (0,), 2) == 13  # half seconds fall between frames: 0, 13, 25, 38, 50, ...
    assert step_of(seconds, (0, 50), 1) == 25
    assert step_of(seconds, (0,), 25) == step_of(seconds, (0,), 100) == 1
    assert step_of(seconds, (0,), None) == step_of(seconds, (0,), 0) == 1


def test_the_step_follows_the_frames_of_a_variable_rate() -> None:
    """Ten frames in the first second, fifty in the next: a look every half second is 5 frames apart, then 25."""
    seconds = np.concatenate([np.arange(10) / 10, 1 + np.arange(50) / 50, [2.0]])
    assert step_of(seconds, (0,), 2) == 25
    assert step_of(seconds[:11], (0,), 2) == 5


def test_the_looks_are_those_of_perception() -> None:
    """`ml.media.index.sample_frames` says which frames perception looks at; the widest gap between them is the step."""
    from fractions import Fraction

    from ml.media.index import FrameIndex, sample_frames

    rng = np.random.default_rng(3)
    for rate in (1, 2, 3, 7.5):
        pts = np.concatenate([[0], np.cumsum(rng.integers(1, 5, size=400))])
        index = FrameIndex(pts, Fraction(1, 60))
        looks = sample_frames(index, 0, 400, rate)
        widest = int(np.diff([*looks, 400]).max())
        assert step_of(pts / 60, (0,), rate) == widest


# ---------------------------------------------------------------------------------------------------------------------
# Coverage


def covered(scene: Scene, *persons: Any) -> frozenset[str] | None:
    """Whom the facts say is covered when a row names these people, in the frames [300, 400)."""
    scene.edit(
        "coverage.create", uuid.uuid4(), persons=[str(p.id) for p in persons], start=300, end=400, modality="gaze"
    )
    return next(c.persons for c in facts_of(scene.video).coverage if c.start == 300)


def test_coverage_names_people_or_everybody(scene: Scene) -> None:
    ann, ben, _ = scene.people
    assert covered(scene, ann, ben) == {str(ann.id), str(ben.id)}


def test_coverage_of_a_part_is_none_of_the_whole(scene: Scene) -> None:
    """Ben was covered before he was merged into Cid, who is seen at the same time: of Cid nobody said anything."""
    _, ben, cid = scene.people
    assert covered(scene, ben) == {str(ben.id)}
    scene.edit("person.merge", ben.id, 1, into=str(cid.id))
    assert next(c.persons for c in facts_of(scene.video).coverage if c.start == 300) == frozenset()


def test_coverage_of_all_that_is_seen_then_is_of_the_whole(scene: Scene) -> None:
    _, ben, cid = scene.people
    Tracklet.objects.filter(person=cid).update(end=250)
    covered(scene, ben)
    scene.edit("person.merge", ben.id, 1, into=str(cid.id))
    assert next(c.persons for c in facts_of(scene.video).coverage if c.start == 300) == {str(cid.id)}


def test_nothing_is_fully_marked_while_an_event_waits_to_be_corrected(scene: Scene) -> None:
    """Ann's mutual gaze with Ben is no fact once they are one person; that nobody looks at anybody is none either."""
    ann, ben, _ = scene.people
    mutual = next(e for e in facts_of(scene.video).events if e.who() == {str(ann.id), str(ben.id)})
    before = [c for c in facts_of(scene.video).coverage if c.modality == mutual.modality]
    assert any(c.start <= mutual.start and mutual.end <= c.end for c in before)
    scene.edit("person.merge", ben.id, 1, into=str(ann.id))
    after = [c for c in facts_of(scene.video).coverage if c.modality == mutual.modality]
    assert not any(c.start < mutual.end and mutual.start < c.end for c in after)
    lost = sum(c.end - c.start for c in before) - sum(c.end - c.start for c in after)
    assert lost == mutual.end - mutual.start


# ---------------------------------------------------------------------------------------------------------------------
# Cost


def test_it_asks_as_often_for_a_large_video_as_for_a_small_one(people: Any, scene: Scene) -> None:
    def queries(video: Any) -> int:
        with CaptureQueriesContext(connection) as asked:
            facts_of(video)
        return len(asked)

    small = queries(scene.video)
    large = make_scene(people.one, people.alice, name="large.mp4")
    for n in range(30):
        make_tracklet(large.run, make_person(large.video), 100 + n, 0, 550)
        who = [[str(large.people[0].id), "member"], [str(large.people[1].id), "member"]]
        large.edit(
            "event.create", uuid.uuid4(), type="mutual_gaze", start=n, end=n + 9, participants=who, status="confirmed"
        )
    assert queries(large.video) == small <= 8
