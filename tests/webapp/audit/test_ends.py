"""An audit that ends or changes while people and machines are at it, and what models write that no column holds."""

from __future__ import annotations

from threading import Event, Thread
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from tests.webapp.audit.made import Scene, draft, make_audit, make_scene, process
from webapp.audit import producing, rating, recording, reprompting, services
from webapp.audit.models import Audit, Claim, HumanVerdict, Package, Rating, Response
from webapp.lib.errors import Refused

pytestmark = pytest.mark.django_db


def rate(scene: Scene, user: Any, verdict: str = "supported") -> None:
    rating.take(response=scene.response, user=user)
    for claim in scene.claims:
        rating.say(claim=claim, user=user, id=uuid4(), version=None, verdict=verdict)
    rating.complete(response=scene.response, user=user)


def test_a_place_somebody_holds_counts_when_raters_become_fewer(people: SimpleNamespace, video: Any) -> None:
    scene = make_scene(video, people.cora, raters=3)
    rate(scene, people.cora)
    rate(scene, people.rita)
    rating.take(response=scene.response, user=people.root)
    with pytest.raises(Refused, match="just now"):
        services.configure(audit=scene.audit, user=people.cora, version=1, changes={"raters": 2})
    rating.give_back(response=scene.response, user=people.root)
    changed = services.configure(audit=scene.audit, user=people.cora, version=1, changes={"raters": 2})
    assert changed.raters == 2 and not rating.has_place(scene.response, people.root)


def test_nothing_is_written_into_a_finished_audit(people: SimpleNamespace, video: Any) -> None:
    """Its work is cancelled, and what a machine has found by then is turned away."""
    made = services.create_audit(project=video.project, user=people.cora, source="file:x", drafts=[draft(video)])
    job = services.request_audit(audit=made.audit, user=people.cora)
    scene = make_scene(video, people.cora)
    rating.take(response=scene.response, user=people.rita)
    wording, other = reprompting.request_reprompt(claim=scene.claims[0], user=people.rita, id=uuid4(), text="red dog")
    for audit in (made.audit, scene.audit):
        services.finish(audit=audit, user=people.cora, version=1, force=True)
    for one in (job, other):
        assert one is not None
        one.refresh_from_db()
        assert one.state == "cancelled"
    with pytest.raises(recording.Gone):
        process(made.audit.responses.get())
    assert not Package.objects.filter(response__audit=made.audit).exists()
    with pytest.raises(recording.Gone):
        recording.keep_reprompt(
            reprompt_id=wording.id, found=None, judged=recording.Judged("supported", "r", "", {}, {})
        )


def test_a_response_that_raters_have_stays_theirs_when_looking_again_fails(
    scene: Scene, people: SimpleNamespace
) -> None:
    rating.take(response=scene.response, user=people.rita)
    recording.fail_response(response_id=scene.response.id, error="The file cannot be read.")
    scene.response.refresh_from_db()
    assert scene.response.state == Response.State.DONE and scene.response.error == "The file cannot be read."
    held = rating.next_response(audit=scene.audit, user=people.rita)
    assert held is not None and held.response_id == scene.response.id


def test_characters_no_column_holds_cost_no_reply(people: SimpleNamespace, video: Any) -> None:
    """A NUL or half a character in a reply or a summariser's output is one replacement character each."""
    audit = make_audit(video, people.cora)
    wanted = draft(video, text="a\0b\ud800c", options=["\0", "y"], provenance={"\0": ["\udfff"]}, digest="1" * 64)
    producing.keep_response(audit=audit, draft=wanted)
    kept = Response.objects.get(digest="1" * 64)
    assert (kept.text, kept.options, kept.provenance) == ("a\ufffdb\ufffdc", ["\ufffd", "y"], {"\ufffd": ["\ufffd"]})
    recording.fail_response(response_id=kept.id, error="It wrote \0.", raw='{"claims": \0')
    kept.refresh_from_db()
    assert kept.error == "It wrote \ufffd." and kept.package.raw == '{"claims": \ufffd'


def test_who_sees_the_key_while_rating_rates_no_more(people: SimpleNamespace, video: Any) -> None:
    from webapp.bench import services as bench
    from webapp.bench.models import Question

    question = Question.objects.create(
        project=video.project, video=video, number=1, category="LAH", kind="single", text="Who?", options=[], key=["A"],
        start=100, end=200, state="accepted", created_by=people.cora, changed_by=people.cora,
    )  # fmt: skip
    scene = make_scene(video, people.cora, question=question.id)
    rating.take(response=scene.response, user=people.rita)
    rating.say(claim=scene.claims[0], user=people.rita, id=uuid4(), version=None, verdict="supported")
    bench.reveal(questions=[question], user=people.rita)
    with pytest.raises(Refused, match="seen the key"):
        rating.say(claim=scene.claims[1], user=people.rita, id=uuid4(), version=None, verdict="supported")
    assert HumanVerdict.objects.count() == 1 and not Rating.objects.filter(completed__isnull=False).exists()


@pytest.mark.django_db(transaction=True)
def test_a_verdict_waits_for_an_end_that_is_under_way(people: SimpleNamespace, video: Any) -> None:
    scene = make_scene(video, people.cora)
    rating.take(response=scene.response, user=people.rita)
    claim = Claim.objects.select_related("response__audit").get(id=scene.claims[0].id)
    begun, told = Event(), []

    def say() -> None:
        begun.wait(10)
        try:
            rating.say(claim=claim, user=people.rita, id=uuid4(), version=None, verdict="supported")
        except Refused as refused:
            told.append(refused.sentence)
        finally:
            connection.close()

    thread = Thread(target=say)
    thread.start()
    with transaction.atomic():
        services.finish(audit=scene.audit, user=people.cora, version=1, force=True)
        begun.set()
        thread.join(0.5)
        assert thread.is_alive()  # neither refused on what was, nor written behind the report's back
    thread.join(10)
    assert told and "finished" in told[0] and not HumanVerdict.objects.exists()
    assert Audit.objects.get(id=scene.audit.id).state == "finished"


def test_a_number_of_thousands_of_digits_is_no_person(people: SimpleNamespace, video: Any, as_user: Any) -> None:
    import json

    from django.core.files.uploadedfile import SimpleUploadedFile

    from tests.webapp.audit.made import give_frames

    give_frames(video)
    line = {
        "video": "clip",
        "rendering": "tags",
        "person_map": {"1": "9" * 5000},
        "question": "?",
        "model": "m",
        "text": "x",
    }
    file = SimpleUploadedFile("r.jsonl", json.dumps(line | {"model": "m", "text": "x"}).encode())
    answer = as_user(people.cora).post("/api/v1/projects/one/audits", {"file": file})
    assert answer.status_code == 422 and answer.json()["error"].startswith("r.jsonl, line 1: the tag '1' stands for")


def test_files_that_are_gone_from_the_store_are_a_sentence(scene: Scene, people: SimpleNamespace, as_user: Any) -> None:
    import json

    from tests.webapp.audit.made import FULL, SIZE
    from webapp.audit import masking
    from webapp.lib import storage

    client, claim = as_user(people.rita), scene.claims[0]
    rating.take(response=scene.response, user=people.rita)
    drawn = masking.Wanted(uuid4(), "phrase-1", 1, 125, "draw", None, SIZE, FULL)
    masking.edit(claim=claim, user=people.rita, id=uuid4(), kind="brush", edits=[drawn])
    path = storage.local_path(f"{scene.response.folder}/c1.json")
    assert path is not None
    for break_it in (lambda: path.write_text("{"), path.unlink):
        break_it()
        assert client.get(f"/api/v1/audit/responses/{scene.response.id}/masks").status_code == 404
        wanted = {"id": str(uuid4()), "query": "phrase-1", "object": 1, "frames": [126]}
        answer = client.post(
            f"/api/v1/audit/claims/{claim.id}/masks/propagate", json.dumps(wanted), content_type="application/json"
        )
        assert answer.status_code == 422 and "claim 1 of response 1" in answer.json()["error"]
    Audit.objects.update(state="finished", report={"v": 1})
    assert client.get(f"/api/v1/audits/{scene.audit.id}/report").json() == {"report": None, "job": None}
    assert client.get(f"/p/one/audits/{scene.audit.number}/report/").status_code == 200
