"""Perception runs again after thirty human edits: every one is still there, and nothing rejected comes back."""

from __future__ import annotations

import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.webapp.factories import edit
from tests.webapp.runs import compare, derive, make_filmed_video, write_run_folder
from webapp.events import derivation, rows
from webapp.events.models import Coverage, Edit, Event, GazeCorrection
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks import acceptance, services
from webapp.tracks.models import Person, Run, Tracklet

pytestmark = pytest.mark.django_db


def add_run(video: Video, folder: Path, **scene: Any) -> Run:
    manifest = write_run_folder(folder, **scene)
    about: dict[str, Any] = {"job": None, "profile": "embedded", "origin": "perception"}
    return services.add_run(run_id=uuid.uuid4(), video=video, manifest=manifest, folder=folder, **about)


def said(video: Video) -> dict[str, Any]:
    """Everything a human has a word on, as it stands."""
    events = Event.objects.filter(video=video, set__kind="working").prefetch_related("participations")
    persons = Person.objects.filter(video=video)
    return {
        "events": {str(e.id): (e.type, e.start, e.end, e.status, e.note, roles_of(e)) for e in events},
        "persons": {str(p.id): (p.number, p.name, p.colour, p.merged_into_id) for p in persons},
        "corrections": list(GazeCorrection.objects.filter(video=video).values("id", "person", "start", "end", "kind")),
        "coverage": list(Coverage.objects.filter(video=video).values("id", "persons", "start", "end", "modality")),
    }


def roles_of(event: Event) -> list[tuple[str, str]]:
    return sorted((str(p.person_id), p.role) for p in event.participations.all())


def thirty_edits(video: Video, bob: Any) -> None:
    people = list(Person.objects.filter(video=video).order_by("number"))
    for person, name in zip(people, ("Ann", "Ben", "Cat", "Dan"), strict=True):  # 4 names
        edit(video, bob, "person.update", person.id, 1, name=name, colour="#0072b2")
    proposals = list(Event.objects.filter(video=video, set__kind="proposal").order_by("start", "id"))
    assert len(proposals) >= 18
    for event in proposals[:8]:  # 8 confirmed
        edit(video, bob, "event.update", event.id, 1, status="confirmed")
    for event in proposals[8:13]:  # 5 rejected
        edit(video, bob, "event.update", event.id, 1, status="rejected")
    for event in proposals[13:18]:  # 5 trimmed to their last third, so that overlap alone would not find them again
        start = event.end - max(1, (event.end - event.start) // 3)
        edit(video, bob, "event.update", event.id, 1, status="confirmed", start=start)
    roles = [[str(people[0].id), "member"], [str(people[1].id), "member"]]
    for n in range(5):  # 5 new events
        edit(video, bob, "event.create", uuid.uuid4(), type="mutual_gaze", start=3 + n, end=9 + n, participants=roles)
    new = uuid.uuid4()  # a split and a merge
    tracklet = Tracklet.objects.get(run=video.run, person=people[3])
    version = Person.objects.get(id=people[3].id).version
    edit(video, bob, "person.split", people[3].id, version, tracklets=[str(tracklet.id)], at=700, new=str(new))
    edit(video, bob, "person.merge", new, 1, into=str(people[3].id))
    edit(video, bob, "correction.create", uuid.uuid4(), person=str(people[2].id), start=50, end=90, kind="camera")
    edit(video, bob, "coverage.create", uuid.uuid4(), persons=[], start=0, end=500, modality="gaze")
    assert Edit.objects.filter(video=video, user=bob).count() == 31


@pytest.fixture
def video(people: SimpleNamespace, tmp_path: Path) -> Video:
    video = make_filmed_video(people.one)
    assert acceptance.settle(run=add_run(video, tmp_path / "first"), user=None)
    return Video.objects.select_related("run").get(id=video.id)


def test_a_second_run_of_an_untouched_video_is_taken_and_changes_no_event(video: Video, tmp_path: Path) -> None:
    before = set(Event.objects.values_list("id", "type", "start", "end"))
    assert len(before) > 20
    assert acceptance.settle(run=add_run(video, tmp_path / "second", first_track=40), user=None)
    assert set(Event.objects.values_list("id", "type", "start", "end")) == before
    assert Person.objects.count() == 4


def test_every_human_edit_survives_a_run_that_sees_things_differently(
    video: Video, people: SimpleNamespace, tmp_path: Path
) -> None:
    thirty_edits(video, people.bob)
    before = said(video)
    rejected = {
        (e.type, e.start, e.end) for e in Event.objects.filter(video=video, status="rejected")
    }  # fmt: skip
    # other raw ids, boxes a little to the right, the same looks
    run = add_run(video, tmp_path / "second", first_track=40, shift=0.01)
    assert not acceptance.settle(run=run, user=None)  # it waits for a human
    assert said(video) == before
    acceptance.accept(run=Run.objects.get(id=run.id), user=people.cora)
    assert said(video) == before
    waiting = Event.objects.filter(video=video, set__kind="proposal")
    assert not rejected & set(waiting.values_list("type", "start", "end"))
    spoken = Event.objects.filter(video=video, set__kind="working")
    doubled = [
        (a.id, b.id)
        for a in spoken
        for b in waiting
        if a.type == b.type
        and {p.person_id for p in a.participations.all()} == {p.person_id for p in b.participations.all()}
        and min(a.end, b.end) - max(a.start, b.start) > 0.5 * (max(a.end, b.end) - min(a.start, b.start))
    ]
    assert not doubled
    assert Video.objects.get(id=video.id).run_id == run.id


def test_what_the_new_run_no_longer_sees_is_listed_first_and_stays(
    video: Video, people: SimpleNamespace, tmp_path: Path
) -> None:
    thirty_edits(video, people.bob)
    before = said(video)
    run = add_run(
        video, tmp_path / "second", people=2, first_track=40, seed=9, shift=-0.125
    )  # boxes of persons 0 and 2
    compare(run)
    conflicts = Run.objects.get(id=run.id).report["conflicts"]
    assert {c["kind"] for c in conflicts} >= {"person", "event"}
    assert all(c["sentence"].endswith(".") and isinstance(c["frame"], int) for c in conflicts)
    acceptance.accept(run=Run.objects.get(id=run.id), user=people.cora)
    after = said(video)
    assert after["events"] == before["events"]
    assert {k: v for k, v in after["persons"].items() if k in before["persons"]} == before["persons"]


def test_the_numbers_behind_a_proposal_name_people_by_the_pages_ids(video: Video) -> None:
    people = {str(id) for id in Person.objects.values_list("id", flat=True)}
    named = 0
    for event in Event.objects.filter(video=video).prefetch_related("participations"):
        roles = {p.role: str(p.person_id) for p in event.participations.all()}
        for role in ("leader", "follower"):
            if role in roles:
                assert event.details[f"{role}_id"] == roles[role]
                named += 1
        for key, value in event.details.items():
            if key.startswith("person_") and isinstance(value, dict):
                assert set(value) <= people
                named += 1
    assert named


def test_a_split_by_hand_outlives_run_after_run(video: Video, people: SimpleNamespace, tmp_path: Path) -> None:
    """The second run inherits the cut and so does the third, though neither was split by hand itself."""
    person = Person.objects.get(video=video, number=3)
    tracklet = Tracklet.objects.get(run=video.run, person=person)
    new = uuid.uuid4()
    edit(video, people.bob, "person.split", person.id, 1, tracklets=[str(tracklet.id)], at=700, new=str(new))
    for turn, first in enumerate((40, 80)):
        run = add_run(video, tmp_path / f"again-{turn}", first_track=first)
        compare(run)
        acceptance.accept(run=Run.objects.get(id=run.id), user=people.cora)
        found = Tracklet.objects.filter(run=run, track=first + 3).order_by("start")
        assert [(t.start, t.end, t.person_id) for t in found] == [(0, 700, person.id), (700, 1500, new)]


def test_edits_after_the_report_are_shown_before_a_run_is_taken(
    video: Video, people: SimpleNamespace, tmp_path: Path
) -> None:
    edit(video, people.bob, "person.update", Person.objects.get(video=video, number=0).id, 1, name="Ann")
    run = add_run(video, tmp_path / "second", people=2, first_track=40, seed=9, shift=-0.125)
    assert not acceptance.settle(run=run, user=None)
    event = Event.objects.filter(video=video, participations__person__number=3).first()
    assert event is not None
    edit(video, people.bob, "event.update", event.id, 1, status="confirmed")
    with pytest.raises(Refused, match="1 more edits no longer fit"):
        acceptance.accept(run=Run.objects.get(id=run.id), user=people.cora)
    assert Run.objects.get(id=run.id).state == "layer"
    acceptance.accept(run=Run.objects.get(id=run.id), user=people.cora)  # now they were shown
    assert Run.objects.get(id=run.id).state == "accepted"


def test_an_event_that_a_new_cut_runs_through_is_listed_and_can_still_be_changed(
    video: Video, people: SimpleNamespace, tmp_path: Path
) -> None:
    ann, ben = Person.objects.filter(video=video, number__lt=2)
    id = uuid.uuid4()
    roles = [[str(ann.id), "member"], [str(ben.id), "member"]]
    edit(video, people.bob, "event.create", id, type="mutual_gaze", start=600, end=800, participants=roles)
    run = add_run(video, tmp_path / "second", first_track=40)
    run.manifest["shots"] = [{"start": 0, "end": 700}, {"start": 700, "end": 1500}]
    run.save()
    compare(run)
    conflicts = Run.objects.get(id=run.id).report["conflicts"]
    assert [c["id"] for c in conflicts] == [str(id)] and "cut at frame 700" in conflicts[0]["sentence"]
    acceptance.accept(run=Run.objects.get(id=run.id), user=people.cora)
    version = Event.objects.get(id=id).version
    edit(video, people.bob, "event.update", id, version, end=750)  # smaller, though still over the cut
    with pytest.raises(Refused, match="cut at frame 700"):
        edit(video, people.bob, "event.update", id, version + 1, end=790)


def test_a_merge_does_not_make_events_look_edited_or_stale(video: Video, people: SimpleNamespace) -> None:
    event = Event.objects.filter(video=video, participations__person__number=3).first()
    assert event is not None
    edit(video, people.bob, "event.update", event.id, 1, status="confirmed")
    ghost = Person.objects.create(video=video, number=99)
    edit(video, people.bob, "person.merge", Person.objects.get(video=video, number=3).id, 1, into=str(ghost.id))
    assert derivation.is_due(Video.objects.get(id=video.id))
    found = derive(video)
    derivation.apply(derivation=found, user=people.bob)
    assert not derivation.is_due(Video.objects.get(id=video.id))
    for row in map(rows.event_row, Event.objects.filter(video=video).select_related("set")):
        assert not row["stale"] and not row["edited"]
