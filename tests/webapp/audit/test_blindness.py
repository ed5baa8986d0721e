"""What an open audit tells whom, over every address that answers with something of it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from tests.webapp.audit.made import Scene, relevance_of
from webapp.audit import rating
from webapp.audit.models import Audit

pytestmark = pytest.mark.django_db
API = "/api/v1"
SECRET = "The arm is not where the mask is."  # what the first rater says
MACHINE = "Because."  # the sentence of every verdict of the machine


@pytest.fixture
def rated(scene: Scene, people: SimpleNamespace) -> Scene:
    """The first rater is done with everything, and has corrected a mask; the second has said nothing."""
    from webapp.audit import masking

    rating.next_response(audit=scene.audit, user=people.cora)
    for claim in scene.claims:
        rating.say(
            claim=claim, user=people.cora, id=uuid4(), version=None, verdict="mask_wrong",
            relevance=relevance_of(claim), reason=SECRET,
        )  # fmt: skip
    wanted = masking.Wanted(uuid4(), "phrase-1", 1, 125, "delete")
    masking.edit(claim=scene.claims[0], user=people.cora, id=uuid4(), kind="delete", edits=[wanted])
    rating.complete(response=scene.response, user=people.cora)
    rating.next_response(audit=scene.audit, user=people.rita)
    return scene


def addresses(scene: Scene) -> list[str]:
    audit, response = scene.audit.id, scene.response.id
    claims = [f"{API}/audit/claims/{claim.id}/masks" for claim in scene.claims]
    return [
        f"{API}/projects/one/audits", f"{API}/audits/{audit}", f"{API}/audits/{audit}/disputes",
        f"{API}/audits/{audit}/report", f"{API}/audits/{audit}/agreement", f"{API}/audit/responses/{response}",
        f"{API}/audit/responses/{response}?adjudicate=1", f"{API}/audit/responses/{response}/masks", *claims,
        f"{API}/jobs?project=one",
    ]  # fmt: skip


def all_of(client: Any, scene: Scene) -> str:
    return "\n".join(client.get(address).content.decode() for address in addresses(scene))


def test_a_rater_is_told_nothing_of_what_others_and_the_machine_said(
    rated: Scene, people: SimpleNamespace, as_user: Any
) -> None:
    client = as_user(people.rita)
    told = all_of(client, rated)
    assert SECRET not in told and MACHINE not in told and "mask_wrong" not in told and "wrong_person" not in told
    task = client.get(f"{API}/audit/responses/{rated.response.id}").json()
    assert not {"correct", "key", "ratings"} & task.keys()
    for claim in task["claims"]:
        assert claim["verdict"] is None and claim["edits"] == []
        assert not {"machine", "others", "adjudication"} & claim.keys()


def test_the_machine_speaks_after_ones_own_word_and_of_that_claim_only(
    rated: Scene, people: SimpleNamespace, as_user: Any
) -> None:
    client = as_user(people.rita)
    first = rated.claims[0]
    assert client.post(f"{API}/audit/claims/{first.id}/reveal").status_code == 422
    words: dict[str, Any] = {"id": str(uuid4()), "version": None, "verdict": "supported", "relevance": "relevant"}
    put = f"{API}/audit/claims/{first.id}/verdict"
    said = client.put(put, json.dumps(words), content_type="application/json").json()
    assert said["machine"] is None and said["left"] == 2 and said["mine"]["version"] == 1
    assert MACHINE not in all_of(client, rated)  # given, but not asked for: it can still be taken back
    said = client.put(put, json.dumps(words | {"reveal": True}), content_type="application/json").json()
    assert said["machine"]["name"] == "supported" and said["machine"]["sentence"] == MACHINE
    task = client.get(f"{API}/audit/responses/{rated.response.id}").json()
    assert ["machine" in claim for claim in task["claims"]] == [True, False, False]
    assert SECRET not in all_of(client, rated)


def test_only_a_third_person_sees_what_raters_said_and_only_once_they_are_done(
    rated: Scene, people: SimpleNamespace, as_user: Any
) -> None:
    address = f"{API}/audit/responses/{rated.response.id}?adjudicate=1"
    third = as_user(people.alice)
    assert third.get(address).status_code == 403  # one of two is done
    for claim in rated.claims:
        rating.say(
            claim=claim, user=people.rita, id=uuid4(), version=None, verdict="supported", relevance=relevance_of(claim)
        )
    rating.complete(response=rated.response, user=people.rita)
    assert as_user(people.rita).get(address).status_code == 403
    task = third.get(address).json()
    words = [sorted(other["verdict"] for other in claim["others"]) for claim in task["claims"]]
    assert words == [["mask_wrong", "supported"]] * 3
    assert task["claims"][0]["edits"][0]["user"] == "cora"
    assert not {"correct", "key"} & task.keys()  # who is right is nobody's yet
    assert not any("machine" in claim for claim in task["claims"])  # nor the machine's word, before the decision
    decision = {"id": str(uuid4()), "verdict": "supported", "reason": "It is there."}
    decide = f"{API}/audit/claims/{rated.claims[1].id}/adjudicate"
    decided = third.post(decide, json.dumps(decision), content_type="application/json").json()
    assert decided["machine"]["name"] == "unsupported"
    task = third.get(address).json()
    assert ["machine" in claim for claim in task["claims"]] == [False, True, False]
    disputes = third.get(f"{API}/audits/{rated.audit.id}/disputes").json()["disputes"]
    assert [one["name"] for one in disputes] == ["c1", "c3"]
    assert {word["verdict"] for word in disputes[0]["verdicts"]} == {"mask_wrong", "supported"}
    for rater in (people.cora, people.rita):
        assert as_user(rater).get(f"{API}/audits/{rated.audit.id}/disputes").json() == {"disputes": []}


def test_an_open_audit_is_for_reviewers_and_a_finished_one_for_everybody(
    rated: Scene, people: SimpleNamespace, as_user: Any
) -> None:
    viewer = as_user(people.vera)
    assert viewer.get(f"{API}/projects/one/audits").json() == {"audits": [], "importing": []}
    one = f"{API}/audit/responses/{rated.response.id}"
    assert [viewer.get(a).status_code for a in (f"{API}/audits/{rated.audit.id}", one, f"{one}/masks")] == [403] * 3
    Audit.objects.update(state="finished")
    task = viewer.get(one).json()
    assert task["correct"] is False and task["key"] == ["A"]
    assert [claim["machine"]["name"] for claim in task["claims"]] == ["supported", "unsupported", "wrong_person"]
    assert [other["reason"] for claim in task["claims"] for other in claim["others"]] == [SECRET] * 3
    assert viewer.post(f"{API}/audits/{rated.audit.id}/next").status_code == 403
    assert len(viewer.get(f"{one}/masks").json()["frame"]) == 2


def test_masks_come_as_columns_in_one_answer(scene: Scene, people: SimpleNamespace, as_user: Any) -> None:
    found = as_user(people.rita).get(f"{API}/audit/responses/{scene.response.id}/masks").json()
    assert found["size"] == [4, 6] and found["claims"] == [str(claim.id) for claim in scene.claims]
    assert found["frame"] == [125, 130] and found["claim"] == [0, 0] and found["q"] == [0, 0]
    assert found["query"][0] == {"claim": 0, "id": "phrase-1", "role": "phrase", "text": "person", "reprompt": None}


def test_pages_cost_the_same_however_much_there_is(people: SimpleNamespace, video: Any, as_user: Any) -> None:
    """Nine times as many responses, in as many audits again: not one query more."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from tests.webapp.audit.made import make_audit

    client = as_user(people.rita)

    def cost() -> list[int]:
        audit = Audit.objects.order_by("-number").first()
        assert audit is not None
        response = audit.responses.first()
        assert response is not None
        found = []
        for address in ("projects/one/audits", f"audits/{audit.id}", f"audit/responses/{response.id}"):
            with CaptureQueriesContext(connection) as seen:
                assert client.get(f"{API}/{address}").status_code == 200
            found.append(len(seen))
        return found

    make_audit(video, people.cora)
    first = cost()
    make_audit(video, people.cora, responses=9)
    make_audit(video, people.cora, responses=3)
    assert cost() == first
    assert max(first) <= 32
