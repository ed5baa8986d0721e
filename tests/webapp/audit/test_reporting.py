"""What the rows of a report count of what people said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from ml.evidence import report
from tests.webapp.audit.made import Scene, query
from webapp.audit import agreeing, rating, reporting
from webapp.audit.models import Grounding, Package, Reprompt
from webapp.lib.errors import Refused

pytestmark = pytest.mark.django_db


def test_relevance_is_said_and_counted_only_where_there_is_a_mask(scene: Scene, people: SimpleNamespace) -> None:
    """The machine has a mask of the first claim's phrase, of the second's control only, and none of the third."""
    control = [query("phrase-1", "dog", "phrase", []), query("negative-1", "cat", "negative", [125])]
    Grounding.objects.filter(claim=scene.claims[1]).update(queries=control)
    wording = Reprompt.objects.create(video=scene.response.video, claim=scene.claims[2], user=people.rita, text="a cat")
    Grounding.objects.create(
        claim=scene.claims[2],
        reprompt=wording,
        columns="c3.json",
        queries=[query("phrase-1", "cat", "reprompt", [125])],
    )
    for user, has in ((people.cora, [True, False, False]), (people.rita, [True, False, True])):
        rating.take(response=scene.response, user=user)
        for claim, one in zip(scene.claims, has, strict=True):
            words = {"claim": claim, "user": user, "id": uuid4(), "version": None, "verdict": "supported"}
            if not one:
                with pytest.raises(Refused, match="no mask, so there is no relevance") as refused:
                    rating.say(**words, relevance="relevant")
                assert refused.value.field == "relevance"
            rating.say(**words, relevance="relevant" if one else "")
        rating.complete(response=scene.response, user=user)
    rows = reporting.rows_of(scene.audit)
    assert [len(claim["relevance"]) for claim in rows[0]["claims"]] == [2, 0, 1]
    assert [row["units"] for row in agreeing.agreement_of(rows)] == [3, 1]
    third = {"user": people.alice, "id": uuid4(), "verdict": "supported", "reason": "So.", "relevance": "partly"}
    with pytest.raises(Refused, match="no mask, so there is no relevance"):
        rating.need_mask(scene.claims[1], None)
    rating.adjudicate(claim=scene.claims[2], **third)  # they differ in relevance, and a third person sees all wordings


def test_what_is_groundable_and_what_is_not_add_up(scene: Scene) -> None:
    """Three claims; the verdict of one is that no mask can tell, though its words could be looked for."""
    rows = reporting.rows_of(scene.audit)
    rows[0]["claims"][2]["verdict"] = "not_groundable"
    assert all(claim["groundable"] for claim in rows[0]["claims"])
    group = report.build(rows)["groups"][0]
    told = group["measures"]["groundable_rate"]
    assert (told["k"], told["n"], group["verdicts"]["not_groundable"]) == (2, 3, 1)


def test_claims_beyond_the_limit_are_told_at_the_response_and_in_the_report(
    scene: Scene, people: SimpleNamespace, as_user: Any
) -> None:
    assert not any("left out" in note for note in reporting.about(scene.audit)["notes"])
    Package.objects.filter(response=scene.response).update(tree={"v": 1, "dropped": 13_700})
    page = as_user(people.rita).get(f"/audit/responses/{scene.response.id}/").content.decode()
    assert "The reply makes 13,700 more claims." in page and "the first 3 are looked at" in page
    notes = reporting.about(scene.audit)["notes"]
    assert notes == ["Of a reply the first 300 claims are looked at: 13,700 claims of 1 reply were left out."]
