"""The audit's pages: who sees what of an open audit, importing a file, taking places, and what lists cost."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.webapp.audit import made
from webapp.audit import queries, rating, tallies
from webapp.audit.models import Audit, Rating, Response
from webapp.tracks.models import Person


@pytest.fixture
def scene(people: SimpleNamespace, video: Any) -> made.Scene:
    return made.make_scene(video, people.cora)


def words(client: Any, address: str) -> str:
    return str(client.get(address).content.decode())


def test_an_open_audit_is_listed_for_reviewers_only(scene: made.Scene, people: SimpleNamespace, as_user: Any) -> None:
    assert "Audit 1" in words(as_user(people.rita), "/p/one/audits/")
    told = words(as_user(people.bob), "/p/one/audits/")
    assert "Audit 1" not in told and "until then only who judges in them sees them" in told
    for address in ("/p/one/audits/1/", "/p/one/audits/1/report/", f"/audit/responses/{scene.response.id}/"):
        assert as_user(people.bob).get(address).status_code == 403
        assert as_user(people.rita).get(address).status_code == 200


def test_pages_of_an_open_audit_tell_no_verdict(scene: made.Scene, people: SimpleNamespace, as_user: Any) -> None:
    """Neither what another person said, nor the machine, nor whether the answer is right."""
    rating.take(response=scene.response, user=people.cora)
    claim = scene.claims[0]
    rating.say(
        claim=claim, user=people.cora, id=claim.id, version=None, verdict="contradicted", reason="Of all things."
    )
    for address in (
        "/p/one/audits/",
        "/p/one/audits/1/",
        "/p/one/audits/1/report/",
        f"/audit/responses/{scene.response.id}/",
    ):
        told = words(as_user(people.rita), address)
        for hidden in ("contradicted", "Of all things", "some_rule", "wrong_person", "badge-danger"):
            assert hidden not in told, (address, hidden)


def test_a_finished_audit_tells_whether_the_answer_is_right(
    scene: made.Scene, people: SimpleNamespace, as_user: Any
) -> None:
    address = f"/audit/responses/{scene.response.id}/"
    assert "hidden until the audit is finished" in words(as_user(people.rita), address)
    Audit.objects.update(state="finished")
    told = words(as_user(people.vera), address)
    assert '<span class="badge badge-danger">wrong</span>' in told and '<li class="is-key">Person 1</li>' in told


def test_a_place_is_taken_once_and_given_back(scene: made.Scene, people: SimpleNamespace, as_user: Any) -> None:
    client = as_user(people.rita)
    address = f"/audit/responses/{scene.response.id}/"
    assert "Take this response" in words(client, address)
    assert client.post("/p/one/audits/1/next/")["Location"] == address
    assert client.post(f"{address}take/")["Location"] == address
    assert Rating.objects.get().user == people.rita and '"rates": true' in words(client, address)
    client.post(f"{address}give-back/")
    assert rating.seat_of(scene.response, people.rita) is None


def test_a_file_with_a_fault_is_refused_with_its_place(people: SimpleNamespace, video: Any, as_user: Any) -> None:
    file = SimpleUploadedFile("r.jsonl", b'{"video": "nowhere.mp4"}\n')
    answer = as_user(people.cora).post(
        "/p/one/audits/new/", {"file": file, "summariser": "rules", "grounder": "embedded", "raters": 2}
    )
    assert answer.status_code == 422 and "field-error" in answer.content.decode()
    assert not Audit.objects.exists()
    assert "This field is required" in as_user(people.cora).post("/p/one/audits/new/", {}).content.decode()


def test_the_line_that_the_page_shows_is_one_that_it_takes(people: SimpleNamespace, video: Any, as_user: Any) -> None:
    """As it stands in the page, for a video of that name with these people; of it nothing but what the page calls
    required may be missing."""
    client = as_user(people.cora)
    told = words(client, "/p/one/audits/new/")
    found = re.search(r'<pre class="mono sample" id="sample">(.*?)</pre>', told, re.DOTALL)
    assert found is not None
    line = unescape(found[1])
    tree = json.loads(line)
    assert "\n" not in line and tree["key"]
    required = re.findall(r"<code>(\w+)</code>", told.partition("Required: ")[2].partition(".")[0])
    made.give_frames(video)
    type(video).objects.update(name=tree["video"])
    for number in tree["person_map"].values():
        Person.objects.create(video=video, number=number)

    def sent(text: str) -> Any:
        file = SimpleUploadedFile("r.jsonl", text.encode())
        how = {"summariser": "rules", "grounder": "embedded", "raters": 2}
        return client.post("/p/one/audits/new/", {"file": file} | how)

    assert sent(line)["Location"] == "/p/one/audits/1/"
    response = Response.objects.get()
    assert (response.answer, response.letters, response.key, response.correct) == ("B", ["B"], ["B"], True)
    assert (response.start, response.end) == (100, 300)  # 4 to 12 s at 25 frames a second
    assert sent(json.dumps({name: tree[name] for name in required}))["Location"] == "/p/one/audits/2/"
    for name in required:
        answer = sent(json.dumps({other: tree[other] for other in required if other != name}))
        assert answer.status_code == 422 and name in answer.content.decode(), name


def test_what_is_not_set_up_cannot_be_chosen(
    people: SimpleNamespace, video: Any, as_user: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("BROKER_URL", raising=False)
    monkeypatch.delenv("SIGHTLINE_SUMMARISER_MODEL", raising=False)
    monkeypatch.setenv("SIGHTLINE_SAM3_WEIGHTS", str(tmp_path))
    client = as_user(people.cora)
    told = words(client, "/p/one/audits/new/")
    assert re.search(r'<option value="local"[^>]* disabled', told) and "SIGHTLINE_SUMMARISER_MODEL" in told
    assert re.search(r'<option value="sam3-official"[^>]* disabled', told)
    assert not re.search(r'<option value="(rules|embedded)"[^>]* disabled', told)
    file = SimpleUploadedFile("r.jsonl", b"{}")
    how = {"summariser": "local", "grounder": "sam3-official", "raters": 2}
    answer = client.post("/p/one/audits/new/", {"file": file} | how)
    text = answer.content.decode()
    assert answer.status_code == 422 and "local is not set up here" in text and "sam3-official is not set up" in text


def test_a_model_is_asked_only_where_one_is_set_up(
    people: SimpleNamespace, video: Any, as_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, wanted = as_user(people.cora), {"summariser": "rules", "grounder": "embedded", "raters": 2}
    wanted["model"] = "endpoint"
    monkeypatch.delenv("SIGHTLINE_ENDPOINT_URL", raising=False)
    told = words(client, "/p/one/audits/new/")
    assert "Or have a model answer" not in told and 'name="deletion"' not in told
    assert client.post("/p/one/audits/produce/", wanted).status_code == 422
    monkeypatch.setenv("SIGHTLINE_ENDPOINT_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("SIGHTLINE_ENDPOINT_MODEL", "some-model")
    monkeypatch.setenv("SIGHTLINE_ENDPOINT_PRICE_IN", "2.5")
    monkeypatch.setenv("SIGHTLINE_LOCAL_MODEL", "/models/some-vlm")
    told = words(client, "/p/one/audits/new/")
    assert "Or have a model answer" in told and "some-vlm: on this machine" in told and "/models" not in told
    assert told.count('name="deletion"') == 2 and "3 more times" in told and "2.5 per million tokens sent" in told
    answer = client.post("/p/one/audits/produce/", wanted)
    assert answer.status_code == 422 and "There is no accepted question with pictures" in answer.content.decode()


def test_settings_and_the_end_of_an_audit(scene: made.Scene, people: SimpleNamespace, as_user: Any) -> None:
    client = as_user(people.cora)
    client.post("/p/one/audits/1/settings/", {"name": "Omni", "raters": 1, "version": 1})
    audit = Audit.objects.get()
    assert (audit.name, audit.raters, audit.version) == ("Omni", 1, 2)
    answer = client.post("/p/one/audits/1/settings/", {"name": "Other", "raters": 1, "version": 1}, follow=True)
    assert "in the meantime" in answer.content.decode()
    answer = client.post("/p/one/audits/1/finish/", {"version": 2}, follow=True)
    assert "Not everything is done: 1 response is not rated by all." in answer.content.decode()
    client.post("/p/one/audits/1/finish/", {"version": 2, "force": "1"})
    assert Audit.objects.get().state == "finished"
    assert "The report is being made" in words(client, "/p/one/audits/1/report/")


def test_the_list_of_responses_is_paged_and_parted(
    people: SimpleNamespace, video: Any, as_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five responses, one rater each: rita completed 1 and holds 2, cora holds 3, 4 failed; 5 is free."""
    monkeypatch.setattr(queries, "PAGE", 2)
    audit = made.make_audit(video, people.cora, responses=5, raters=1)
    one, two, three, four, _ = audit.responses.order_by("position")
    for response, user in ((one, people.rita), (two, people.rita), (three, people.cora)):
        rating.take(response=response, user=user)
    for claim in one.claims.select_related("response__audit"):
        rating.say(claim=claim, user=people.rita, id=uuid4(), version=None, verdict="supported")
    rating.complete(response=one, user=people.rita)
    tallies.change_state(four, Response.State.FAILED)
    four.save()
    client = as_user(people.rita)

    def listed(part: str, first: int = 0) -> list[int]:
        found = client.get(f"/api/v1/audits/{audit.id}?part={part}&first={first}").json()
        assert found["tallies"] == {"all": 5, "open": 1, "mine": 2, "disputed": 0, "failed": 1}
        return [row["position"] for row in found["list"]]

    assert [listed("all", first) for first in (0, 2, 4, 6)] == [[1, 2], [3, 4], [5], [1, 2]]
    assert [listed(part) for part in ("open", "mine", "failed", "disputed")] == [[5], [1, 2], [4], []]
    rows = client.get(f"/api/v1/audits/{audit.id}").json()["list"]
    assert [(row["mine"], row["places"], row["claims"]) for row in rows] == [("completed", 0, 3), ("begun", 0, 3)]
    assert client.get(f"/api/v1/audits/{audit.id}?part=other").status_code == 422
    told = words(client, "/p/one/audits/1/?show=all&from=2")
    assert 'rel="prev"' in told and 'rel="next"' in told and "5 responses" in told


def test_the_lists_ask_a_fixed_number_of_questions(
    people: SimpleNamespace, video: Any, as_user: Any, django_assert_max_num_queries: Any
) -> None:
    made.make_audit(video, people.cora, responses=2)
    made.make_audit(video, people.cora, responses=6)
    client = as_user(people.rita)
    with django_assert_max_num_queries(20):
        client.get("/p/one/audits/")
    with django_assert_max_num_queries(26):
        client.get("/p/one/audits/2/")
