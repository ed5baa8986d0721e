"""Edits: applied once, checked by version, undoable, counted; two people cannot overwrite each other."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404

from tests.webapp.factories import edit, make_person, make_proposal, make_run, make_tracklet, make_video
from webapp.events import models
from webapp.events.ledger import EditRequest, answer, apply_edit, comment
from webapp.events.models import Edit, Event
from webapp.lib import history
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Video
from webapp.library.services import delete_video
from webapp.tracks.models import IdentityProposal, Person, Tracklet

pytestmark = pytest.mark.django_db
EventHistory: Any = vars(models)["EventEvent"]  # made by pghistory


@pytest.fixture
def video(project: Any) -> Video:
    return make_video(project)


@pytest.fixture
def pair(video: Video) -> tuple[Person, Person]:
    return make_person(video), make_person(video)


def roles(pair: tuple[Person, Person]) -> list[list[str]]:
    return [[str(p.id), "member"] for p in pair]


def fresh(video: Video) -> Video:
    return Video.objects.get(id=video.id)


def test_confirming_a_proposal_keeps_its_id_and_moves_it_to_the_working_set(video: Video, pair: Any, bob: Any) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    edit(video, bob, "event.update", proposal.id, 1, status="confirmed")
    event = Event.objects.get(id=proposal.id)
    assert (event.set.kind, event.status, event.version, event.changed_by) == ("working", "confirmed", 2, bob)
    assert (fresh(video).proposed_count, fresh(video).reviewed_count, fresh(video).revision) == (0, 1, 1)


def test_a_retried_save_is_the_same_save(video: Video, pair: Any, bob: Any) -> None:
    fields = {"type": "mutual_gaze", "start": 5, "end": 9, "participants": roles(pair)}
    wanted = EditRequest(uuid.uuid4(), "event.create", uuid.uuid4(), None, fields)
    first = answer(apply_edit(video_id=video.id, user=bob, edit=wanted))
    second = answer(apply_edit(video_id=video.id, user=bob, edit=wanted))
    assert first == second
    assert (Event.objects.count(), Edit.objects.count(), fresh(video).revision) == (1, 1, 1)


def test_a_retried_save_stays_the_same_when_it_could_be_made_anew(video: Video, pair: Any, bob: Any) -> None:
    """The event was deleted since, so nothing but the edit's id tells that it was made before."""
    fields = {"type": "mutual_gaze", "start": 5, "end": 9, "participants": roles(pair)}
    wanted = EditRequest(uuid.uuid4(), "event.create", uuid.uuid4(), None, fields)
    first = answer(apply_edit(video_id=video.id, user=bob, edit=wanted))
    edit(video, bob, "event.delete", wanted.object, 1)
    assert answer(apply_edit(video_id=video.id, user=bob, edit=wanted)) == first
    assert (Event.objects.count(), Edit.objects.count(), fresh(video).revision) == (0, 2, 2)


def test_an_edit_id_belongs_to_whoever_used_it_first(video: Video, pair: Any, bob: Any, rita: Any) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    done = edit(video, bob, "event.update", proposal.id, 1, end=50)
    for version in (1, 2):  # as a copy of the edit, and as an edit that would fit
        wanted = EditRequest(done.id, "event.update", proposal.id, version, {"end": 40})
        with pytest.raises(Refused, match="taken"):
            apply_edit(video_id=video.id, user=rita, edit=wanted)
    assert Event.objects.get(id=proposal.id).end == 50


def test_an_outsider_and_a_viewer_change_nothing(video: Video, pair: Any, people: Any) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    for user, error in ((people.charlie, Http404), (people.vera, PermissionDenied)):
        with pytest.raises(error):
            edit(video, user, "event.update", proposal.id, 1, end=50)
    assert (Event.objects.get(id=proposal.id).end, fresh(video).revision) == (60, 0)


def test_an_edit_from_an_old_version_is_refused_with_the_newer_row(
    video: Video, pair: Any, bob: Any, rita: Any
) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    edit(video, bob, "event.update", proposal.id, 1, end=50)
    with pytest.raises(Stale) as caught:
        edit(video, rita, "event.update", proposal.id, 1, end=40)
    assert caught.value.theirs is not None
    assert (caught.value.theirs["end"], caught.value.theirs["version"]) == (50, 2)
    assert Event.objects.get(id=proposal.id).end == 50


def test_an_edit_of_a_deleted_event_is_stale_not_an_error(video: Video, pair: Any, bob: Any) -> None:
    id = uuid.uuid4()
    edit(video, bob, "event.create", id, type="mutual_gaze", start=1, end=4, participants=roles(pair))
    edit(video, bob, "event.delete", id, 1)
    with pytest.raises(Stale) as caught:
        edit(video, bob, "event.update", id, 1, end=3)
    assert caught.value.theirs is None


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"start": 140, "end": 160}, "end", "cut at frame 150"),
        ({"start": 20, "end": 20}, "start", "empty"),
        ({"start": -1, "end": 4}, "start", "before the video"),
        ({"start": 540, "end": 551}, "end", "550 frames"),
        ({"start": 1.5, "end": 4}, "start", "frame number"),
        ({"start": True, "end": 4}, "start", "frame number"),
        ({"type": "wink"}, "type", "not a type"),
        ({"participants": []}, "participants", "needs 2 member"),
        ({"participants": [["no-id", "member"]]}, "participants", "not an id"),
        ({"participants": [[str(uuid.UUID(int=1)), "member"]]}, "participants", "not in this video"),
        ({"status": "maybe"}, "status", "not a status"),
        ({"colour": "red"}, "colour", "no field"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(
    video: Video, pair: Any, bob: Any, fields: Any, field: str, words: str
) -> None:
    good = {"type": "mutual_gaze", "start": 5, "end": 9, "participants": roles(pair)}
    with pytest.raises(Refused) as caught:
        edit(video, bob, "event.create", uuid.uuid4(), **(good | fields))
    assert caught.value.field == field
    assert words in caught.value.sentence
    assert not Event.objects.exists() and fresh(video).revision == 0


def test_a_span_may_touch_a_cut_from_both_sides(video: Video, pair: Any, bob: Any) -> None:
    for start, end in ((140, 150), (150, 160), (250, 550)):
        edit(
            video, bob, "event.create", uuid.uuid4(), type="mutual_gaze", start=start, end=end, participants=roles(pair)
        )
    assert Event.objects.count() == 3


def test_a_proposal_cannot_be_deleted(video: Video, pair: Any, bob: Any) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    with pytest.raises(Refused):
        edit(video, bob, "event.delete", proposal.id, 1)


def test_undo_and_redo_restore_every_field(video: Video, pair: Any, bob: Any) -> None:
    third = make_person(video)
    proposal = make_proposal(video, "joint_attention", 10, 60, [(p, "member") for p in pair])
    people = [[str(pair[0].id), "member"], [str(third.id), "member"]]
    change = edit(
        video, bob, "event.update", proposal.id, 1,
        status="confirmed", start=12, end=50, participants=people, note="clear",
    )  # fmt: skip
    undo = edit(video, bob, "undo", change.id)
    event = Event.objects.get(id=proposal.id)
    assert (event.set.kind, event.status, event.start, event.end, event.note) == ("proposal", "proposed", 10, 60, "")
    assert {p.person_id for p in event.participations.all()} == {p.id for p in pair}
    assert event.version == 3
    edit(video, bob, "undo", undo.id)
    event = Event.objects.get(id=proposal.id)
    assert (event.set.kind, event.status, event.start, event.end, event.note) == (
        "working",
        "confirmed",
        12,
        50,
        "clear",
    )
    assert {p.person_id for p in event.participations.all()} == {pair[0].id, third.id}
    assert (fresh(video).proposed_count, fresh(video).reviewed_count) == (0, 1)


def test_undo_of_a_deletion_brings_the_event_back_under_its_id(video: Video, pair: Any, bob: Any) -> None:
    id = uuid.uuid4()
    edit(video, bob, "event.create", id, type="mutual_gaze", start=1, end=4, participants=roles(pair), note="n")
    deletion = edit(video, bob, "event.delete", id, 1)
    edit(video, bob, "undo", deletion.id)
    event = Event.objects.get(id=id)
    assert (event.start, event.end, event.note, event.version) == (1, 4, "n", 2)


def test_undo_of_an_edit_somebody_built_upon_is_stale(video: Video, pair: Any, bob: Any, rita: Any) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    mine = edit(video, bob, "event.update", proposal.id, 1, end=50)
    edit(video, rita, "event.update", proposal.id, 2, note="short")
    with pytest.raises(Stale):
        edit(video, bob, "undo", mine.id)
    assert Event.objects.get(id=proposal.id).end == 50


def test_the_same_edit_is_not_undone_twice(video: Video, pair: Any, bob: Any) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    mine = edit(video, bob, "event.update", proposal.id, 1, end=50)
    edit(video, bob, "undo", mine.id)
    with pytest.raises(Refused):
        edit(video, bob, "undo", mine.id)


# ---------------------------------------------------------------------------------------------------------------------
# Identity


def test_split_cuts_a_tracklet_and_undo_joins_it(video: Video, bob: Any) -> None:
    person = make_person(video)
    tracklet = make_tracklet(make_run(video), person, 7, 0, 150)
    new = uuid.uuid4()
    split = edit(video, bob, "person.split", person.id, 1, tracklets=[str(tracklet.id)], at=60, new=str(new))
    rows = sorted(Tracklet.objects.values_list("start", "end", "person_id", "human"))
    assert rows == [(0, 60, person.id, True), (60, 150, new, True)]
    assert Person.objects.get(id=new).number == 1
    edit(video, bob, "undo", split.id)
    assert list(Tracklet.objects.values_list("start", "end", "person_id", "human")) == [(0, 150, person.id, False)]
    assert not Person.objects.filter(id=new).exists()


def test_a_number_is_never_given_twice(video: Video, bob: Any) -> None:
    person = make_person(video)
    tracklet = make_tracklet(make_run(video), person, 7, 0, 150)
    for expected in (1, 2):
        new = uuid.uuid4()
        version = Person.objects.get(id=person.id).version
        split = edit(video, bob, "person.split", person.id, version, tracklets=[str(tracklet.id)], at=60, new=str(new))
        assert Person.objects.get(id=new).number == expected
        edit(video, bob, "undo", split.id)


def test_undo_of_a_split_does_not_take_later_work_with_it(video: Video, pair: Any, bob: Any) -> None:
    tracklet = make_tracklet(make_run(video), pair[0], 7, 0, 150)
    new = uuid.uuid4()
    split = edit(video, bob, "person.split", pair[0].id, 1, tracklets=[str(tracklet.id)], at=60, new=str(new))
    people = [[str(new), "member"], [str(pair[1].id), "member"]]
    edit(video, bob, "event.create", uuid.uuid4(), type="mutual_gaze", start=70, end=80, participants=people)
    with pytest.raises(Refused, match="later edits"):
        edit(video, bob, "undo", split.id)
    assert Event.objects.count() == 1 and Person.objects.filter(id=new).exists()


def test_merge_is_an_alias_and_comes_apart_again(video: Video, pair: Any, bob: Any) -> None:
    a, b = pair
    make_tracklet(make_run(video), b, 7, 0, 150)
    merge = edit(video, bob, "person.merge", b.id, 1, into=str(a.id))
    assert Person.objects.get(id=b.id).merged_into_id == a.id
    with pytest.raises(Refused, match="already"):
        edit(video, bob, "person.merge", a.id, 1, into=str(b.id))
    edit(video, bob, "undo", merge.id)
    assert Person.objects.get(id=b.id).merged_into_id is None
    assert Tracklet.objects.get().person_id == b.id


def test_saying_same_merges_the_higher_number_into_the_lower(video: Video, pair: Any, bob: Any) -> None:
    asked = IdentityProposal.objects.create(video=video, first=pair[0], second=pair[1], similarity=0.61)
    said = edit(video, bob, "identity.answer", asked.id, 1, state="same")
    assert Person.objects.get(id=pair[1].id).merged_into_id == pair[0].id
    edit(video, bob, "undo", said.id)
    assert Person.objects.get(id=pair[1].id).merged_into_id is None
    assert IdentityProposal.objects.get().state == "open"


# ---------------------------------------------------------------------------------------------------------------------
# Other videos, other people, many at once


def test_rows_of_another_video_are_out_of_reach(video: Video, pair: Any, project: Any, bob: Any) -> None:
    other = make_video(project, name="other")
    theirs = make_proposal(other, "mutual_gaze", 1, 9, [(make_person(other), "member"), (make_person(other), "member")])
    with pytest.raises(Stale):
        edit(video, bob, "event.update", theirs.id, 1, status="confirmed")
    with pytest.raises(Refused, match="not in this video"):
        stranger = str(theirs.participations.all()[0].person_id)
        edit(
            video, bob, "event.create", uuid.uuid4(), type="mutual_gaze", start=1, end=4,
            participants=[[stranger, "member"], [str(pair[0].id), "member"]],
        )  # fmt: skip


def test_history_is_written_by_the_database_even_past_the_services(video: Video, pair: Any, bob: Any) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    edit(video, bob, "event.update", proposal.id, 1, end=50)
    Event.objects.filter(id=proposal.id).update(end=40)
    Event.objects.filter(id=proposal.id).delete()
    history = EventHistory.objects.filter(pgh_obj_id=proposal.id).order_by("pgh_id")
    assert [(h.pgh_label, h.end) for h in history] == [("insert", 60), ("update", 50), ("update", 40), ("delete", 40)]
    assert history[1].pgh_context.metadata["user"] == bob.pk


@pytest.mark.django_db(transaction=True)
def test_twenty_clients_at_once_lose_nothing(project: Any, bob: Any) -> None:
    """Each client trims its own event 10 times and all of them fight over one: no accepted edit is lost."""
    video = make_video(project)
    people = [(make_person(video), "member") for _ in range(2)]
    own = [make_proposal(video, "mutual_gaze", 0, 100, people) for _ in range(20)]
    shared = make_proposal(video, "mutual_gaze", 0, 100, people)

    def client(number: int) -> int:
        accepted = 0
        for step in range(10):
            edit(video, bob, "event.update", own[number].id, 1 + step, end=99 - step)
            try:
                edit(video, bob, "event.update", shared.id, Event.objects.get(id=shared.id).version, note=f"{number}")
                accepted += 1
            except Stale:
                pass
        connection.close()
        return accepted

    with ThreadPoolExecutor(8) as pool:
        accepted = sum(pool.map(client, range(20)))
    assert [Event.objects.get(id=e.id).end for e in own] == [90] * 20
    assert Event.objects.get(id=shared.id).version == 1 + accepted
    assert fresh(video).revision == 200 + accepted == Edit.objects.count()
    assert sorted(Edit.objects.values_list("revision", flat=True)) == list(range(1, 201 + accepted))


def test_comments_outlive_a_deletion_that_is_undone(video: Video, pair: Any, bob: Any) -> None:
    id = uuid.uuid4()
    edit(video, bob, "event.create", id, type="mutual_gaze", start=1, end=4, participants=roles(pair))
    comment(event=Event.objects.get(id=id), user=bob, id=uuid.uuid4(), text="sure?")
    deletion = edit(video, bob, "event.delete", id, 1)
    edit(video, bob, "undo", deletion.id)
    assert [c.text for c in Event.objects.get(id=id).comments.all()] == ["sure?"]


def test_a_proposal_somebody_spoke_about_is_kept(video: Video, pair: Any, bob: Any) -> None:
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    comment(event=proposal, user=bob, id=uuid.uuid4(), text="sure?")
    event = Event.objects.get(id=proposal.id)
    assert (event.set.kind, event.status, event.version) == ("working", "proposed", 2)
    comment(event=event, user=bob, id=uuid.uuid4(), text="yes")
    assert Event.objects.get(id=proposal.id).version == 2


@pytest.mark.parametrize("use", ["looked at", "covered"])
def test_undo_of_a_split_sees_every_way_a_person_is_used(video: Video, pair: Any, bob: Any, use: str) -> None:
    tracklet = make_tracklet(make_run(video), pair[0], 7, 0, 150)
    new = str(uuid.uuid4())
    split = edit(video, bob, "person.split", pair[0].id, 1, tracklets=[str(tracklet.id)], at=60, new=new)
    span = {"start": 70, "end": 80}
    if use == "looked at":
        person = str(pair[1].id)
        edit(video, bob, "correction.create", uuid.uuid4(), person=person, kind="person", target_person=new, **span)
    else:
        edit(video, bob, "coverage.create", uuid.uuid4(), persons=[new], modality="gaze", **span)
    with pytest.raises(Refused, match="later edits"):
        edit(video, bob, "undo", split.id)


def test_an_undo_that_needs_somebody_who_is_gone_is_refused(video: Video, pair: Any, bob: Any, rita: Any) -> None:
    tracklet = make_tracklet(make_run(video), pair[0], 7, 0, 150)
    new = uuid.uuid4()
    split = edit(video, bob, "person.split", pair[0].id, 1, tracklets=[str(tracklet.id)], at=60, new=str(new))
    people = [[str(new), "member"], [str(pair[1].id), "member"]]
    id = uuid.uuid4()
    edit(video, rita, "event.create", id, type="mutual_gaze", start=70, end=80, participants=people)
    deletion = edit(video, rita, "event.delete", id, 1)
    edit(video, bob, "undo", split.id)
    with pytest.raises(Refused, match="no longer there"):
        edit(video, rita, "undo", deletion.id)
    assert not Event.objects.exists()


@pytest.mark.parametrize("note", ["\x00", "half \ud83d of a pair"])
def test_text_the_database_cannot_hold_is_refused(video: Video, pair: Any, bob: Any, note: str) -> None:
    fields = {"type": "mutual_gaze", "start": 5, "end": 9, "participants": roles(pair), "note": note}
    with pytest.raises(Refused):
        edit(video, bob, "event.create", uuid.uuid4(), **fields)


def test_the_number_of_persons_follows_merges_and_undo(video: Video, pair: Any, bob: Any) -> None:
    merge = edit(video, bob, "person.merge", pair[1].id, 1, into=str(pair[0].id))
    assert fresh(video).person_count == 1
    edit(video, bob, "undo", merge.id)
    assert fresh(video).person_count == 2


def test_an_erased_video_leaves_no_history(video: Video, pair: Any, bob: Any) -> None:
    make_tracklet(make_run(video), pair[0], 7, 0, 150)
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair])
    edit(video, bob, "event.update", proposal.id, 1, note="seen on camera")
    edit(video, bob, "person.update", pair[0].id, 1, name="Ann")
    other = make_video(video.project, name="other")
    make_person(other, name="Ben")
    delete_video(video=video)
    with connection.cursor() as cursor:
        for table in history.TABLES:
            cursor.execute(f"SELECT count(*) FROM {table}")
            assert cursor.fetchone() == (1 if table == "tracks_personevent" else 0,), table


def test_two_who_were_called_the_same_are_not_called_different_while_merged(video: Video, pair: Any, bob: Any) -> None:
    asked = IdentityProposal.objects.create(video=video, first=pair[0], second=pair[1], similarity=0.6)
    merged = edit(video, bob, "identity.answer", asked.id, 1, state="same")
    with pytest.raises(Refused, match="Undo the merge first"):
        edit(video, bob, "identity.answer", asked.id, 2, state="different")
    asked.refresh_from_db()
    assert (asked.state, asked.version) == ("same", 2)
    edit(video, bob, "undo", merged.id)
    edit(video, bob, "identity.answer", asked.id, 3, state="different")
    asked.refresh_from_db()
    assert (asked.state, Person.objects.get(id=pair[1].id).merged_into) == ("different", None)
