"""Every address of an open audit, for everybody, before and after a rater has said all: not one byte of it changes."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from tests.webapp.audit.made import Scene, make_scene, relevance_of
from webapp.audit import masking, rating, recording, reprompting

pytestmark = pytest.mark.django_db
API = "/api/v1"
OTHERWISE = re.compile(
    r'[A-Za-z0-9]{64}|"left_s": ?[\d.]+|"until": ?"[^"]*"|(?:nonce|data-now)="[^"]*"|"seconds": [\d.]+'
)
# what nobody but the first rater may read: their words, and the machine's, whose sentence and rule these are
SECRETS = ("The arm is not there", "black dog", '"mask_wrong"', "some_rule", "Because.", "wrong_person")


def addresses(scene: Scene, job: Any) -> list[str]:
    page, response = f"/p/one/audits/{scene.audit.number}/", scene.response.id
    parts = [f"{page}?show={part}" for part in ("all", "open", "mine", "disputed", "failed")]
    files = [f"{page}report/{kind}" for kind in ("json", "csv", "html")]
    api = f"{API}/audits/{scene.audit.id}"
    task = f"{API}/audit/responses/{response}"
    return [
        "/", "/p/one/", "/p/one/jobs/", "/p/one/audits/", page, *parts, f"{page}adjudicate/",
        f"{page}adjudicate/?response={response}", f"{page}report/", *files, f"/audit/responses/{response}/",
        f"{API}/projects/one/audits", api, f"{api}/disputes", f"{api}/report", f"{api}/agreement",
        f"{api}/compare/{scene.audit.id}", task, f"{task}?adjudicate=1", f"{task}/masks",
        *(f"{API}/audit/claims/{claim.id}/masks" for claim in scene.claims), f"{API}/jobs?project=one",
        f"{API}/jobs/{job.id}",
    ]  # fmt: skip


def read(client: Any, address: str) -> tuple[int, str, str]:
    answer = client.get(address)
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return answer.status_code, answer.headers.get("ETag", ""), OTHERWISE.sub("", body.decode())


def test_what_a_rater_says_changes_nothing_that_others_read(people: SimpleNamespace, video: Any, as_user: Any) -> None:
    from webapp.accounts.models import Membership, User

    ruth = User.objects.create(username="ruth")
    Membership.objects.create(project=people.one, user=ruth, role="reviewer")
    scene = make_scene(video, people.alice)
    for user in (people.rita, ruth):
        rating.take(response=scene.response, user=user)
    wording, job = reprompting.request_reprompt(claim=scene.claims[0], user=people.rita, id=uuid4(), text="a black dog")
    clients = {user.username: as_user(user) for user in (people.vera, people.bob, ruth, people.cora, people.charlie)}
    walk = {(name, address): client for name, client in clients.items() for address in addresses(scene, job)}
    before = {key: read(client, key[1]) for key, client in walk.items()}
    for claim in scene.claims:
        rating.say(
            claim=claim, user=people.rita, id=uuid4(), version=None, verdict="mask_wrong",
            relevance=relevance_of(claim), reason="The arm is not there.",
        )  # fmt: skip
    rating.reveal(claim=scene.claims[0], user=people.rita)
    wanted = masking.Wanted(uuid4(), "phrase-1", 1, 125, "delete")
    masking.edit(claim=scene.claims[0], user=people.rita, id=uuid4(), kind="delete", edits=[wanted])
    judged = recording.Judged("supported", "some_rule", "Because.", {}, {})
    recording.keep_reprompt(reprompt_id=wording.id, found=recording.Found(), judged=judged)
    rating.complete(response=scene.response, user=people.rita)
    for key, client in walk.items():
        after = read(client, key[1])
        assert after == before[key], key
        assert not [secret for secret in SECRETS if secret in after[2]], key
    own = read(as_user(people.rita), f"{API}/audit/responses/{scene.response.id}")[2]
    assert all(secret in own for secret in SECRETS[:5])  # the walk would have seen it
