"""The workspace's endpoints over HTTP: what comes back, and in which words a request is turned away."""

from __future__ import annotations

import json
import uuid
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.webapp.factories import edit, make_person, make_proposal, make_run, make_tracklet, make_video
from tests.webapp.runs import make_filmed_video
from webapp.events import queries
from webapp.events.models import Coverage, Derivation, Event
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video

pytestmark = pytest.mark.django_db


@pytest.fixture
def video(project: Any) -> Video:
    video = make_video(project)
    ann, ben = make_person(video, name="Ann"), make_person(video)
    run = make_run(video)
    make_tracklet(run, ann, 3, 0, 150)
    make_tracklet(run, ben, 4, 0, 150)
    return video


@pytest.fixture
def pair(video: Video) -> list[Any]:
    return list(video.persons.order_by("number"))


@pytest.fixture
def proposal(video: Video, pair: Any) -> Event:
    return make_proposal(video, "mutual_gaze", 10, 60, [(p, "member") for p in pair], confidence=0.7)


def post(client: Any, url: str, data: Any) -> Any:
    return client.post(url, json.dumps(data), content_type="application/json")


def send(client: Any, video: Video, kind: str, object: Any, version: int | None, /, **fields: Any) -> Any:
    body = {"id": str(uuid.uuid4()), "kind": kind, "object": str(object), "version": version, "fields": fields}
    return post(client, f"/api/v1/videos/{video.id}/edits", body)


def test_the_bundle_holds_everything_in_columns(
    video: Video, pair: Any, proposal: Event, people: SimpleNamespace, as_user: Any
) -> None:
    edit(video, people.bob, "event.update", proposal.id, 1, start=12, status="confirmed")
    found = as_user(people.vera).get(f"/api/v1/videos/{video.id}/bundle").json()
    assert found["video"]["revision"] == 1 and found["video"]["shots"] == [0, 150, 250]
    assert [(p["number"], p["name"]) for p in found["persons"]] == [(0, "Ann"), (1, "")]
    assert (found["tracklets"]["track"], found["tracklets"]["end"]) == ([3, 4], [150, 150])
    columns = found["events"]
    assert {name: columns[name] for name in ("id", "set", "start", "end", "status", "edited", "stale", "version")} == {
        "id": [str(proposal.id)],
        "set": ["working"],
        "start": [12],
        "end": [60],
        "status": ["confirmed"],
        "edited": [True],
        "stale": [False],
        "version": [2],
    }
    assert columns["participants"] == [sorted([str(p.id), "member"] for p in pair)]
    assert found["me"]["actions"] == ["view"]
    assert found["run"]["tracks_url"].endswith("/tracks.bin")


def test_the_bundle_takes_as_many_queries_for_500_events_as_for_one(
    video: Video, pair: Any, people: SimpleNamespace, as_user: Any, django_assert_num_queries: Any
) -> None:
    client = as_user(people.vera)
    url = f"/api/v1/videos/{video.id}/bundle"
    make_proposal(video, "mutual_gaze", 1, 5, [(p, "member") for p in pair])
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as few:
        client.get(url)
    for start in range(100):
        make_proposal(video, "mutual_gaze", start, start + 9, [(p, "member") for p in pair])
    with django_assert_num_queries(len(few)):
        client.get(url)
    assert len(few) <= 15


def test_an_edit_answers_with_the_changed_rows(video: Video, proposal: Event, people: Any, as_user: Any) -> None:
    answer = send(as_user(people.bob), video, "event.update", proposal.id, 1, status="rejected")
    assert answer.status_code == 200
    (change,) = answer.json()["changes"]
    assert (change["before"]["status"], change["after"]["status"], change["after"]["version"]) == (
        "proposed",
        "rejected",
        2,
    )
    assert "machine" not in change["after"]


def test_a_stale_edit_answers_409_with_both_versions(video: Video, proposal: Event, people: Any, as_user: Any) -> None:
    edit(video, people.rita, "event.update", proposal.id, 1, end=50)
    answer = send(as_user(people.bob), video, "event.update", proposal.id, 1, end=40)
    assert answer.status_code == 409
    conflict = answer.json()["conflict"]
    assert (conflict["theirs"]["end"], conflict["theirs"]["version"], conflict["mine"], conflict["base"]) == (
        50,
        2,
        {"end": 40},
        1,
    )
    assert conflict["by"] == "rita"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "event.update", "version": None, "fields": {}}, "version"),
        ({"kind": "event.explode", "version": 1, "fields": {}}, "kind"),
        ({"kind": "event.update", "version": 1, "fields": {"end": "soon"}}, "end"),
    ],
)
def test_nonsense_answers_422_with_a_sentence_and_the_field(
    video: Video, proposal: Event, people: Any, as_user: Any, body: Any, field: str
) -> None:
    whole = {"id": str(uuid.uuid4()), "object": str(proposal.id), **body}
    answer = post(as_user(people.bob), f"/api/v1/videos/{video.id}/edits", whole)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("body", ["", "{", "[]", '{"id": 3}', '{"id": "x", "kind": "event.update", "object": "y"}'])
def test_a_broken_body_is_no_server_error(video: Video, people: Any, as_user: Any, body: str) -> None:
    answer = as_user(people.bob).post(f"/api/v1/videos/{video.id}/edits", body, content_type="application/json")
    assert answer.status_code in (400, 422) and answer.json()["error"]


@pytest.mark.parametrize(("who", "status"), [("vera", 403), ("charlie", 404), (None, 401), ("bob", 200), ("root", 200)])
def test_who_may_save(
    video: Video, proposal: Event, people: Any, as_user: Any, client: Any, who: str | None, status: int
) -> None:
    browser = as_user(getattr(people, who)) if who else client
    assert send(browser, video, "event.update", proposal.id, 1, status="confirmed").status_code == status
    assert Event.objects.get(id=proposal.id).status == ("confirmed" if status == 200 else "proposed")


def test_saving_needs_the_csrf_token(video: Video, proposal: Event, people: Any, as_user: Any) -> None:
    browser = as_user(people.bob, enforce_csrf_checks=True)
    assert send(browser, video, "event.update", proposal.id, 1, status="confirmed").status_code == 403


def test_changes_since_a_revision(video: Video, proposal: Event, people: Any, as_user: Any) -> None:
    edit(video, people.bob, "event.update", proposal.id, 1, end=50)
    edit(video, people.rita, "event.update", proposal.id, 2, note="short")
    found = as_user(people.vera).get(f"/api/v1/videos/{video.id}/changes?since=1").json()
    assert (found["revision"], [e["user"] for e in found["edits"]]) == (2, ["rita"])
    assert found["edits"][0]["changes"][0]["after"]["note"] == "short"


def test_a_page_that_missed_too_much_is_told_to_load_anew(
    video: Video, proposal: Event, people: Any, as_user: Any, monkeypatch: Any
) -> None:
    """Three edits of one change each; at most two changes are sent."""
    monkeypatch.setattr(queries, "MANY_CHANGES", 2)
    for version in (1, 2, 3):
        edit(video, people.bob, "event.update", proposal.id, version, end=50 - version)
    reader = as_user(people.vera)
    told = [reader.get(f"/api/v1/videos/{video.id}/changes?since={since}").json() for since in (0, 1, 3)]
    assert [(one["reload"], len(one["edits"]), one["revision"]) for one in told] == [
        (True, 0, 3),
        (False, 2, 3),
        (False, 0, 3),
    ]


def test_one_edit_with_too_many_changes_is_not_sent(
    video: Video, pair: Any, people: Any, as_user: Any, monkeypatch: Any
) -> None:
    """A split of a person changes the person, makes another, and moves a tracklet: three changes."""
    monkeypatch.setattr(queries, "MANY_CHANGES", 2)
    tracklet = pair[0].tracklets.get()
    edit(video, people.bob, "person.split", pair[0].id, 1, tracklets=[str(tracklet.id)], at=None, new=str(uuid.uuid4()))
    found = as_user(people.vera).get(f"/api/v1/videos/{video.id}/changes?since=0").json()
    assert (found["reload"], found["edits"]) == (True, [])


def test_frame_times_are_asked_for_again_and_sent_when_they_differ(people: Any, as_user: Any) -> None:
    """A second import may index the same file better: 25 frames a second first, 50 afterwards."""
    video = make_filmed_video(people.one, frames=4)
    reader, address = as_user(people.vera), f"/api/v1/videos/{video.id}/frames"
    first = reader.get(address)
    assert np.frombuffer(first.content, "<f8").tolist() == [0, 0.04, 0.08, 0.12, 0.16]
    assert first["Cache-Control"] == "private, no-cache"
    same = reader.get(address, headers={"If-None-Match": first["ETag"]})
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", first["ETag"])
    path = storage.local_path(f"blobs/{video.blob_id}/frames.npz")
    assert path is not None
    np.savez(path, pts=np.arange(5), time_base=np.array([1, 50]), counts=np.zeros(3, np.int64))
    anew = reader.get(address, headers={"If-None-Match": first["ETag"]})
    assert (anew.status_code, np.frombuffer(anew.content, "<f8").tolist()) == (200, [0, 0.02, 0.04, 0.06, 0.08])


def test_an_event_tells_its_story(video: Video, proposal: Event, people: Any, as_user: Any) -> None:
    edit(video, people.bob, "event.update", proposal.id, 1, end=50)
    url = f"/api/v1/events/{proposal.id}"
    comment = {"id": str(uuid.uuid4()), "text": "<script>alert(1)</script> sure?"}
    assert post(as_user(people.bob), f"{url}/comments", comment).status_code == 200
    assert post(as_user(people.bob), f"{url}/comments", comment).status_code == 200  # a retry is the same comment
    found = as_user(people.vera).get(url).json()
    assert [c["text"] for c in found["comments"]] == [comment["text"]]
    assert found["history"][0]["what"] == {"end": [60, 50]} and found["history"][0]["who"] == "bob"
    assert post(as_user(people.vera), f"{url}/comments", comment | {"id": str(uuid.uuid4())}).status_code == 403
    assert as_user(people.charlie).get(url).status_code == 404


def test_triage_starts_with_the_least_certain_and_skips(video: Video, pair: Any, people: Any, as_user: Any) -> None:
    both = [(p, "member") for p in pair]
    sure = make_proposal(video, "mutual_gaze", 1, 9, both, confidence=0.9)
    unsure = make_proposal(video, "joint_attention", 20, 29, both, confidence=0.3)
    done = make_proposal(video, "mutual_gaze", 30, 39, both, confidence=0.1)
    edit(video, people.bob, "event.update", done.id, 1, status="confirmed")
    client = as_user(people.bob)
    found = client.get("/api/v1/projects/one/triage").json()
    assert [i["event"] for i in found["items"]] == [str(unsure.id), str(sure.id)]
    found = client.get(f"/api/v1/projects/one/triage?skip={unsure.id}&type=mutual_gaze").json()
    assert [i["event"] for i in found["items"]] == [str(sure.id)]
    assert client.get("/api/v1/projects/one/triage?skip=nonsense").status_code == 422


def test_a_difference_is_applied_once_and_only_while_it_is_true(
    video: Video, pair: Any, people: Any, as_user: Any
) -> None:
    machine = {
        "type": "mutual_gaze", "start": 5, "end": 25, "confidence": 0.8, "details": {"threshold": 0.1},
        "roles": sorted([str(p.id), "member"] for p in pair), "preset": "strict", "run": str(video.run_id),
    }  # fmt: skip
    difference = {"added": [machine], "changed": [], "removed": [], "attached": []}
    first = Derivation.objects.create(video=video, run=video.runs.get(), revision=0, difference=difference)
    client = as_user(people.bob)
    assert client.get(f"/api/v1/derivations/{first.id}").json()["current"] is True
    assert client.post(f"/api/v1/derivations/{first.id}/apply").json() == {"revision": 1}
    event = Event.objects.get()
    assert (event.start, event.end, event.status, event.set.kind) == (5, 25, "proposed", "proposal")
    assert Video.objects.get(id=video.id).proposed_count == 1
    assert client.post(f"/api/v1/derivations/{first.id}/apply").status_code == 409
    second = Derivation.objects.create(video=video, run=video.runs.get(), revision=0, difference=difference)
    assert client.post(f"/api/v1/derivations/{second.id}/apply").status_code == 409
    assert Event.objects.count() == 1


def test_removed_and_changed_never_touch_what_a_human_said(
    video: Video, pair: Any, proposal: Event, people: Any, as_user: Any
) -> None:
    edit(video, people.bob, "event.update", proposal.id, 1, status="confirmed")
    machine = dict(proposal.machine or {}) | {"start": 0, "end": 149}
    difference = {
        "added": [], "changed": [{"id": str(proposal.id), "machine": machine}], "removed": [str(proposal.id)],
        "attached": [],
    }  # fmt: skip
    found = Derivation.objects.create(video=video, run=video.runs.get(), revision=1, difference=difference)
    as_user(people.bob).post(f"/api/v1/derivations/{found.id}/apply")
    event = Event.objects.get(id=proposal.id)
    assert (event.start, event.end, event.status) == (10, 60, "confirmed")


def test_a_human_event_learns_what_the_rules_say_now(video: Video, proposal: Event, people: Any, as_user: Any) -> None:
    edit(video, people.bob, "event.update", proposal.id, 1, status="confirmed")
    moved = dict(proposal.machine or {}) | {"start": 20}
    difference = {"added": [], "changed": [], "removed": [], "attached": [{"id": str(proposal.id), "machine": moved}]}
    found = Derivation.objects.create(video=video, run=video.runs.get(), revision=1, difference=difference)
    client = as_user(people.bob)
    client.post(f"/api/v1/derivations/{found.id}/apply")
    row = client.get(f"/api/v1/events/{proposal.id}").json()
    assert (row["start"], row["stale"], row["machine"]["start"], row["version"]) == (10, True, 20, 3)
    answer = send(client, video, "event.update", proposal.id, 3, note="still right")
    assert answer.json()["changes"][0]["after"]["stale"] is False


def test_triage_page_lists_what_waits(video: Video, proposal: Event, people: Any, as_user: Any) -> None:
    page = as_user(people.bob).get("/p/one/triage/")
    assert page.status_code == 200 and b"Mutual gaze" in page.content
    go = as_user(people.bob).get("/p/one/triage/?start=1")
    assert go.status_code == 302 and str(proposal.id) in go["Location"]
    assert as_user(people.vera).get("/p/one/triage/").status_code == 403


def test_triage_counts_stop_at_a_limit(video: Video, pair: Any, people: Any, as_user: Any, monkeypatch: Any) -> None:
    """Four wait here: three shifts, one more than is counted, and one mutual gaze; others wait in another project."""
    ann, ben = pair
    monkeypatch.setattr(queries, "TRIAGE_COUNT_LIMIT", 2)
    for start in (10, 20, 30):
        make_proposal(video, "sudden_gaze_shift", start, start + 5, [(ann, "member")])
    make_proposal(video, "mutual_gaze", 10, 60, [(ann, "member"), (ben, "member")])
    confirmed = make_proposal(video, "mutual_gaze", 70, 90, [(ann, "member"), (ben, "member")])
    edit(video, people.bob, "event.update", confirmed.id, 1, status="confirmed")
    other = make_video(people.two)
    make_proposal(other, "joint_attention", 1, 5, [(make_person(other), "member")])
    Video.objects.filter(id=video.id).update(proposed_count=4)  # as the services count them
    assert queries.triage_counts(people.one) == {"mutual_gaze": 1, "sudden_gaze_shift": 3}
    client = as_user(people.bob)
    for address, words in (("", "4 wait "), ("?type=mutual_gaze", "1 waits "), ("?type=sudden_gaze_shift", "2+ wait ")):
        assert f"{words}for a word" in client.get(f"/p/one/triage/{address}").content.decode()


def test_triage_names_the_people_and_through_a_merge_the_one_who_stays(
    video: Video, pair: Any, people: Any, as_user: Any, django_assert_max_num_queries: Any
) -> None:
    ann, ben = pair
    twin, twins_twin = make_person(video), make_person(video)
    make_proposal(video, "mutual_gaze", 10, 60, [(twins_twin, "member"), (ben, "member")], confidence=0.2)
    make_proposal(video, "gaze_following", 70, 90, [(ben, "leader"), (ann, "follower")], confidence=0.3)
    edit(video, people.bob, "person.merge", twins_twin.id, 1, into=str(twin.id))
    edit(video, people.bob, "person.merge", twin.id, 1, into=str(ann.id))
    client = as_user(people.bob)
    items = client.get("/api/v1/projects/one/triage").json()["items"]
    assert [item["people"] for item in items] == [["Ann", "Person 1"], ["Ann", "Person 1"]]
    with django_assert_max_num_queries(12):
        page = client.get("/p/one/triage/").content.decode()
    assert page.count("<td>Ann, Person 1</td>") == 2 and "20 %" in page


def test_asking_twice_for_a_derivation_queues_one(video: Video, people: Any, as_user: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    client = as_user(people.bob)
    asked = [post(client, f"/api/v1/videos/{video.id}/derive", {}).json()["job"] for _ in range(2)]
    assert asked[0] == asked[1]


def test_an_edit_of_somebody_else_is_not_saved_under_this_login(
    video: Video, proposal: Event, people: Any, as_user: Any
) -> None:
    """Alice's queue outlived her login; Bob logged in since."""
    body = {"id": str(uuid.uuid4()), "kind": "event.update", "object": str(proposal.id), "version": 1,
            "fields": {"status": "confirmed"}, "user": people.alice.id}  # fmt: skip
    url = f"/api/v1/videos/{video.id}/edits"
    assert post(as_user(people.bob), url, body).status_code == 401
    assert Event.objects.get(id=proposal.id).status == "proposed"
    assert post(as_user(people.alice), url, body).status_code == 200


def test_other_rules_need_a_curator(video: Video, people: Any, as_user: Any) -> None:
    url = f"/api/v1/videos/{video.id}/derive"
    assert post(as_user(people.bob), url, {}).status_code == 200
    assert post(as_user(people.bob), url, {"preset": "strict", "min_confidence": 1}).status_code == 403
    assert post(as_user(people.bob), url, {"preset": "grasp-compat"}).status_code == 403
    assert post(as_user(people.cora), url, {"preset": "grasp-compat"}).status_code == 200
    assert post(as_user(people.cora), url, {"preset": "guess"}).status_code == 422


def test_a_history_entry_holds_the_row_to_restore(video: Video, proposal: Event, people: Any, as_user: Any) -> None:
    edit(video, people.bob, "event.update", proposal.id, 1, end=50)
    edit(video, people.bob, "event.update", proposal.id, 2, end=40)
    history = as_user(people.bob).get(f"/api/v1/events/{proposal.id}").json()["history"]
    assert [(entry["row"]["end"], entry["row"]["version"]) for entry in history] == [(40, 3), (50, 2)]


def test_undoable_is_what_a_page_would_have_on_its_stack(
    video: Video, proposal: Event, people: Any, as_user: Any
) -> None:
    """bob trims, confirms, undoes the confirmation; rita's edit is hers. Then the redo, then a fresh edit."""

    def stack(user: Any) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        found = as_user(user).get(f"/api/v1/videos/{video.id}/undoable").json()
        return tuple([(one["id"], one["kind"]) for one in found[name]] for name in ("done", "undone"))  # type: ignore

    trim = edit(video, people.bob, "event.update", proposal.id, 1, end=50)
    word = edit(video, people.bob, "event.update", proposal.id, 2, status="confirmed")
    undo = edit(video, people.bob, "undo", word.id)
    assert stack(people.bob) == ([(str(trim.id), "event.update")], [(str(undo.id), "event.update")])
    note = edit(video, people.rita, "event.update", proposal.id, 4, note="short")
    assert stack(people.rita) == ([(str(note.id), "event.update")], [])
    edit(video, people.rita, "undo", note.id)
    redo = edit(video, people.bob, "undo", undo.id)
    done = [(str(trim.id), "event.update"), (str(redo.id), "event.update")]
    assert stack(people.bob) == (done, [])
    edit(video, people.bob, "undo", redo.id)
    fresh = edit(video, people.bob, "event.update", proposal.id, 8, note="n")
    assert stack(people.bob) == ([done[0], (str(fresh.id), "event.update")], [])
    (change,) = as_user(people.bob).get(f"/api/v1/videos/{video.id}/undoable").json()["done"][-1]["changes"]
    assert (change["before"]["note"], change["after"]["note"], "machine" in change["after"]) == ("", "n", False)


def test_what_cannot_be_stored_is_refused_in_words(video: Video, people: Any, as_user: Any, settings: Any) -> None:
    client = as_user(people.cora)
    for address in ("/api/v1/projects/one/triage?type=%00", "/api/v1/jobs?project=%00"):
        answer = client.get(address)
        assert answer.status_code == 422 and "cannot be stored" in answer.json()["error"], address
    assert as_user(people.root).get("/users/?q=%00bob").status_code == 200
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = json.dumps({"fields": "x" * 2000})
    answer = client.post(f"/api/v1/videos/{video.id}/edits", body, content_type="application/json")
    assert answer.status_code == 413 and "larger than" in answer.json()["error"]
    page = client.post("/me/name/", {"display_name": "x" * 2000})
    assert page.status_code == 413 and "larger than" in page.content.decode()


def test_one_person_is_not_two_in_an_event(video: Video, pair: Any, people: Any, as_user: Any) -> None:
    ann, ben = pair
    client = as_user(people.bob)
    also_ann = make_person(video)
    edit(video, people.bob, "person.merge", also_ann.id, 1, into=str(ann.id))
    wrong = [
        ("gaze_following", [[ann, "leader"], [ann, "follower"]], "one role"),
        ("mutual_gaze", [[ann, "member"], [ann, "member"]], "one role"),
        ("mutual_gaze", [[ann, "member"], [also_ann, "member"]], "merged into one"),
    ]
    for type, roles, words in wrong:
        fields = {"type": type, "modality": "gaze", "start": 10, "end": 20,
                  "participants": [[str(person.id), role] for person, role in roles]}  # fmt: skip
        body = {"id": str(uuid.uuid4()), "kind": "event.create", "object": str(uuid.uuid4()), "version": None,
                "fields": fields}  # fmt: skip
        answer = post(client, f"/api/v1/videos/{video.id}/edits", body)
        assert answer.status_code == 422 and words in answer.json()["error"]
    assert not Event.objects.filter(video=video, origin="human").exists()


def test_undo_brings_no_coverage_back_of_somebody_who_is_gone(video: Video, pair: Any, people: Any) -> None:
    ann, _ = pair
    other, covering = uuid.uuid4(), uuid.uuid4()
    tracklet = make_tracklet(video.runs.get(), ann, 9, 0, 50)
    split = edit(video, people.bob, "person.split", ann.id, 1, tracklets=[str(tracklet.id)], at=None, new=str(other))
    where = {"persons": [str(other)], "modality": "gaze", "start": 0, "end": 50}
    edit(video, people.bob, "coverage.create", covering, None, **where)
    gone = edit(video, people.bob, "coverage.delete", covering, 1)
    edit(video, people.bob, "undo", split.id, None)
    with pytest.raises(Refused, match="not in this video"):
        edit(video, people.bob, "undo", gone.id, None)
    assert not Coverage.objects.filter(video=video).exists()
