"""Gestures become proposals: a human's word stands, each source keeps to its own, and people may edit meanwhile."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import transaction

from tests.webapp.factories import edit, make_person, make_proposal, make_run, make_tracklet, make_video
from webapp.events import derivation, gesturing
from webapp.events.derivation import Outdated
from webapp.events.gesturing import Snapshot
from webapp.events.models import Edit, Event
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Blob, Video
from webapp.tracks.models import Person

RULES = {"name": "rules", "version": "1", "origin": "rule", "weights": {}, "settings": {}}
MLLM = {"name": "mllm", "version": "1", "origin": "model", "weights": {}, "settings": {}}


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


class Stage:
    """A video with an accepted run: tracks 0, 1, 2 are persons A, B, C over all frames."""

    def __init__(self, project: Any) -> None:
        blob = Blob.objects.create(sha256="cd" * 32, bytes=1, ready=True)
        self.video = make_video(project, blob=blob)
        self.people = [make_person(self.video) for _ in range(3)]
        self.run = make_run(self.video)
        for track, person in enumerate(self.people):
            make_tracklet(self.run, person, track, 0, 550)
        self.a, self.b, self.c = self.people

    def find(self, *gestures: dict[str, Any], by: dict[str, Any] = RULES, since: Snapshot | None = None) -> Any:
        snapshot = since or Snapshot.of(Video.objects.get(id=self.video.id))
        return gesturing.settle(video=self.video, snapshot=snapshot, about=by, gestures=gestures)

    def events(self) -> list[Event]:
        return list(Event.objects.filter(video=self.video, modality="gesture").order_by("start", "id"))


@pytest.fixture
def stage(project: Any) -> Stage:
    return Stage(project)


def point(who: Person, start: int, end: int, to: Person | None = None, **more: Any) -> dict[str, Any]:
    row = {
        "type": "pointing",
        "start": start,
        "end": end,
        "initiator": who.number,
        "target_kind": "person" if to else "location",
        "target_person": to.number if to else None,
        "target_description": "" if to else "a place to the left in the picture",
        "initiator_box": (0.1, 0.2, 0.3, 0.9),
        "confidence": 0.7,
        "details": {"hand": "left", "terms": {"form": 1.0}, "onset_after": start - 3, "offset_before": end},
    }
    return row | more


def machine_of(event: Any) -> dict[str, Any]:
    """The detector's view of an event, which must be there."""
    assert event.machine is not None
    return dict(event.machine)


def test_a_gesture_becomes_a_proposal_with_its_roles_and_details(stage: Stage) -> None:
    counts = stage.find(point(stage.a, 10, 60, stage.b))
    (event,) = stage.events()
    assert counts == {"added": 1, "changed": 0, "removed": 0, "attached": 0}
    assert (event.type, event.start, event.end, event.set.kind) == ("pointing", 10, 60, "proposal")
    assert (event.origin, event.status, event.confidence) == ("rule", "proposed", 0.7)
    roles = {(p.person_id, p.role) for p in event.participations.all()}
    assert roles == {(stage.a.id, "initiator"), (stage.b.id, "target")}
    assert event.details["initiator_box"] == [0.1, 0.2, 0.3, 0.9]
    assert event.details["target_kind"] == "person" and event.details["hand"] == "left"
    assert machine_of(event)["detector"] == "rules"
    assert machine_of(event)["run"] == str(stage.run.id)


def test_a_models_gesture_is_of_a_model(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60), by=MLLM)
    (event,) = stage.events()
    assert event.origin == "model" and event.details["target_description"].startswith("a place")


def test_pages_hear_of_it_through_the_ledger(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60))
    written = Edit.objects.get(video=stage.video, kind="events.gestures")
    stage.video.refresh_from_db()
    assert (written.revision, written.user) == (stage.video.revision, None)
    assert [c["after"]["type"] for c in written.changes] == ["pointing"]
    assert stage.video.proposed_count == 1


def test_the_same_again_writes_nothing(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60))
    before = [(e.id, e.version) for e in stage.events()]
    assert not any(stage.find(point(stage.a, 10, 60)).values())
    assert [(e.id, e.version) for e in stage.events()] == before
    assert Edit.objects.filter(video=stage.video).count() == 1


def test_a_proposal_that_moved_keeps_its_id_and_one_that_is_gone_goes(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60), point(stage.b, 70, 120))
    first = stage.events()[0].id
    counts = stage.find(point(stage.a, 15, 60))
    (event,) = stage.events()
    assert (event.id, event.start) == (first, 15)
    assert (counts["changed"], counts["removed"]) == (1, 1)


def test_a_rejected_gesture_does_not_come_back(stage: Stage, bob: Any) -> None:
    stage.find(point(stage.a, 10, 60))
    event = stage.events()[0]
    edit(stage.video, bob, "event.update", event.id, event.version, status="rejected")
    stage.find(point(stage.a, 12, 62))
    (event,) = stage.events()
    assert event.status == "rejected" and (event.start, machine_of(event)["start"]) == (10, 12)


def test_a_confirmed_and_trimmed_gesture_stays_as_the_human_left_it(stage: Stage, bob: Any) -> None:
    stage.find(point(stage.a, 10, 60))
    event = stage.events()[0]
    edit(stage.video, bob, "event.update", event.id, event.version, status="confirmed", start=20)
    stage.find()
    (event,) = stage.events()
    assert (event.start, event.status) == (20, "confirmed") and machine_of(event)["gone"]


def test_a_gesture_made_by_hand_takes_the_matching_proposal(stage: Stage, bob: Any) -> None:
    made = "11111111-1111-4111-8111-111111111111"
    people = [[str(stage.a.id), "initiator"]]
    edit(stage.video, bob, "event.create", made, type="pointing", start=10, end=60, participants=people)
    stage.find(point(stage.a, 12, 60))
    (event,) = stage.events()
    assert str(event.id) == made and machine_of(event)["start"] == 12 and event.set.kind == "working"


def test_each_detector_replaces_only_its_own(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60))
    stage.find(point(stage.b, 100, 150), by=MLLM)
    stage.find(by=MLLM)
    (event,) = stage.events()
    assert machine_of(event)["detector"] == "rules"


def test_another_detectors_proposal_is_let_go_where_a_human_spoke(stage: Stage, bob: Any) -> None:
    """Its view of the event stays what it was, so that its own next run finds its proposal."""
    stage.find(point(stage.a, 10, 60))
    event = stage.events()[0]
    edit(stage.video, bob, "event.update", event.id, event.version, status="rejected")
    counts = stage.find(point(stage.a, 11, 61), by=MLLM)
    (event,) = stage.events()
    assert not any(counts.values()) and machine_of(event)["detector"] == "rules"


def test_deriving_gaze_does_not_touch_gestures(stage: Stage, bob: Any) -> None:
    stage.find(point(stage.a, 10, 60), point(stage.b, 100, 150))
    spoken = stage.events()[1]
    edit(stage.video, bob, "event.update", spoken.id, spoken.version, status="confirmed")
    make_proposal(stage.video, "mutual_gaze", 10, 60, [(stage.a, "member"), (stage.b, "member")])
    before = [(e.id, e.version, e.machine) for e in stage.events()]
    locked = Video.objects.get(id=stage.video.id)
    wanted = derivation.difference([], derivation.known_events(locked))
    with transaction.atomic():
        derivation.write(locked, wanted)
    assert [(e.id, e.version, e.machine) for e in stage.events()] == before
    assert not Event.objects.filter(video=stage.video, modality="gaze").exists()


def test_gestures_do_not_touch_gaze(stage: Stage) -> None:
    gaze = make_proposal(stage.video, "mutual_gaze", 10, 60, [(stage.a, "member"), (stage.b, "member")])
    stage.find(point(stage.a, 10, 60))
    stage.find()
    assert Event.objects.get(id=gaze.id).version == 1


def test_a_gaze_event_made_a_gesture_by_hand_stays_the_rules_tombstone(stage: Stage, bob: Any) -> None:
    gaze = make_proposal(stage.video, "sudden_gaze_shift", 10, 60, [(stage.a, "member")])
    people = [[str(stage.a.id), "initiator"]]
    edit(stage.video, bob, "event.update", gaze.id, 1, type="pointing", participants=people)
    stage.find(point(stage.a, 10, 60))
    (event,) = stage.events()
    assert event.id == gaze.id and machine_of(event)["type"] == "sudden_gaze_shift"
    known = derivation.known_events(Video.objects.get(id=stage.video.id))
    assert [(k.id, k.own) for k in known] == [(str(gaze.id), True)]


# ---------------------------------------------------------------------------------------------------------------------
def test_two_detectors_that_find_one_gesture_make_one_proposal(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60))
    before = stage.events()[0]
    counts = stage.find(point(stage.a, 12, 64), point(stage.b, 12, 64), by=MLLM)
    assert (counts["added"], counts["changed"]) == (1, 1)
    event, other = stage.events()
    assert (event.id, event.start, event.end, machine_of(event)["detector"]) == (before.id, 10, 60, "rules")
    assert event.details["also_found_by"] == "mllm 1 (0.70)" and event.details["hand"] == "left"
    assert machine_of(other)["detector"] == "mllm" and "also_found_by" not in other.details
    for by, found in ((MLLM, [point(stage.a, 12, 64), point(stage.b, 12, 64)]), (RULES, [point(stage.a, 10, 60)])):
        assert not any(stage.find(*found, by=by).values())  # found again, nothing is new


def test_a_gesture_of_another_span_or_person_is_another(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60))
    stage.find(point(stage.a, 45, 100), point(stage.a, 10, 60, stage.b), by=MLLM)
    assert len(stage.events()) == 3


def test_a_witness_takes_the_place_of_a_detector_that_finds_it_no_longer(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60))
    stage.find(point(stage.a, 12, 64), by=MLLM)
    before = stage.events()[0].id
    stage.find()
    (event,) = stage.events()
    assert (event.id, event.start, event.end) == (before, 12, 64)
    assert machine_of(event)["detector"] == "mllm" and "also_found_by" not in event.details
    stage.find(by=MLLM)
    assert stage.events() == []


def test_a_witness_that_finds_it_no_longer_is_none(stage: Stage) -> None:
    stage.find(point(stage.a, 10, 60))
    stage.find(point(stage.a, 12, 64), by=MLLM)
    stage.find(point(stage.a, 11, 60))  # its own detector's new view keeps the witness
    assert stage.events()[0].details["also_found_by"] and stage.events()[0].start == 11
    stage.find(by=MLLM)
    (event,) = stage.events()
    assert "also_found_by" not in event.details and "witnesses" not in machine_of(event)


# People edit after a detector worked


def whose(event: Event) -> dict[str, Any]:
    return {part.role: part.person_id for part in event.participations.all()}


def test_proposals_follow_their_tracklet_and_undo_brings_them_back(stage: Stage, rita: Any) -> None:
    """The second half of A's track turns out to be somebody new."""
    stage.find(point(stage.a, 10, 60), point(stage.a, 300, 350, stage.b), point(stage.b, 400, 450, stage.a))
    stage.find(point(stage.a, 301, 350, stage.b), by=MLLM)
    confirmed = stage.events()[2]
    edit(stage.video, rita, "event.update", confirmed.id, confirmed.version, status="confirmed")
    tracklet, new = stage.run.tracklets.get(track=0), uuid.uuid4()
    done = edit(stage.video, rita, "person.split", stage.a.id, stage.a.version,
                tracklets=[str(tracklet.id)], at=200, new=str(new))  # fmt: skip
    early, late, human = stage.events()
    assert [whose(e)["initiator"] for e in (early, late)] == [stage.a.id, new]
    assert whose(late)["target"] == stage.b.id and whose(human)["target"] == stage.a.id  # a human's word stands
    assert [str(new), "initiator"] in machine_of(late)["roles"]
    assert [str(new), "initiator"] in machine_of(late)["witnesses"]["mllm"]["roles"]
    edit(stage.video, rita, "undo", done.id)
    assert [whose(e)["initiator"] for e in stage.events()] == [stage.a.id, stage.a.id, stage.b.id]


def test_found_again_after_a_split_nothing_is_new(stage: Stage, rita: Any) -> None:
    stage.find(point(stage.a, 300, 350))
    tracklet, new = stage.run.tracklets.get(track=0), uuid.uuid4()
    edit(stage.video, rita, "person.split", stage.a.id, stage.a.version,
         tracklets=[str(tracklet.id)], at=200, new=str(new))  # fmt: skip
    someone = Person.objects.get(id=new)
    assert not any(stage.find(point(someone, 300, 350)).values())


def test_a_reassigned_tracklet_takes_its_gestures_along(stage: Stage, rita: Any) -> None:
    stage.find(point(stage.a, 10, 60, stage.b), point(stage.b, 100, 150, stage.a))
    tracklet = stage.run.tracklets.get(track=0)
    edit(stage.video, rita, "tracklet.assign", tracklet.id, tracklet.version, person=str(stage.c.id))
    assert [whose(e) for e in stage.events()] == [
        {"initiator": stage.c.id, "target": stage.b.id},
        {"initiator": stage.b.id, "target": stage.c.id},
    ]


def test_a_proposal_between_two_who_are_merged_goes_and_comes_back_with_them(stage: Stage, rita: Any) -> None:
    stage.find(point(stage.a, 10, 60, stage.b), point(stage.a, 100, 150, stage.c))
    ids = [event.id for event in stage.events()]
    done = edit(stage.video, rita, "person.merge", stage.b.id, stage.b.version, into=str(stage.a.id))
    assert [event.id for event in stage.events()] == ids[1:]
    edit(stage.video, rita, "undo", done.id)
    assert [event.id for event in stage.events()] == ids
    assert whose(stage.events()[0]) == {"initiator": stage.a.id, "target": stage.b.id}


# People edit while a detector works


def test_somebody_merged_meanwhile_goes_by_the_other(stage: Stage, rita: Any) -> None:
    since = Snapshot.of(Video.objects.get(id=stage.video.id))
    edit(stage.video, rita, "person.merge", stage.c.id, 1, into=str(stage.a.id))
    stage.find(point(stage.c, 10, 60, stage.b), since=since)
    roles = {(p.person_id, p.role) for p in stage.events()[0].participations.all()}
    assert roles == {(stage.a.id, "initiator"), (stage.b.id, "target")}


def test_a_gesture_between_two_who_turn_out_to_be_one_is_none(stage: Stage, rita: Any) -> None:
    since = Snapshot.of(Video.objects.get(id=stage.video.id))
    edit(stage.video, rita, "person.merge", stage.b.id, 1, into=str(stage.a.id))
    stage.find(point(stage.a, 10, 60, stage.b), since=since)
    assert stage.events() == []


def test_a_track_given_to_another_meanwhile_takes_its_gestures_along(stage: Stage, rita: Any) -> None:
    since = Snapshot.of(Video.objects.get(id=stage.video.id))
    stage.run.tracklets.filter(track=0).update(person=stage.c)
    stage.find(point(stage.a, 10, 60), since=since)
    (part,) = stage.events()[0].participations.all()
    assert part.person_id == stage.c.id


def test_another_run_meanwhile_makes_it_outdated(stage: Stage) -> None:
    since = Snapshot.of(Video.objects.get(id=stage.video.id))
    make_run(stage.video)
    with pytest.raises(Outdated):
        stage.find(point(stage.a, 10, 60), since=since)
    assert stage.events() == []


# ---------------------------------------------------------------------------------------------------------------------
# Asking for it


def test_asked_twice_it_is_one_job(stage: Stage, rita: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_ENDPOINT_URL", "https://example.org/v1")
    monkeypatch.setenv("SIGHTLINE_ENDPOINT_MODEL", "m")
    first = gesturing.request_gestures(video=stage.video, user=rita)
    again = gesturing.request_gestures(video=stage.video, user=None)
    other = gesturing.request_gestures(video=stage.video, user=None, detector="mllm")
    assert first.id == again.id != other.id
    assert (first.kind, first.queue, first.parameters) == ("gestures", "gpu", {"detector": "rules"})
    assert Job.objects.filter(video=stage.video).count() == 2


def test_what_cannot_be_done_is_said(stage: Stage) -> None:
    with pytest.raises(Refused, match="no gesture detector 'guess'"):
        gesturing.request_gestures(video=stage.video, user=None, detector="guess")
    with pytest.raises(Refused, match="No multimodal endpoint is set up here"):
        gesturing.request_gestures(video=stage.video, user=None, detector="mllm")
    stage.video.run = None
    with pytest.raises(Refused, match="no accepted run"):
        gesturing.request_gestures(video=stage.video, user=None)
    stage.video.state = "failed"
    with pytest.raises(Refused, match="import is done"):
        gesturing.request_gestures(video=stage.video, user=None)
