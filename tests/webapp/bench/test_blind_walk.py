"""Every address that answers, read by everybody before and after somebody else answered: not a byte may differ."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import get_resolver

from tests.webapp.bench.scene import Scene, make_questions, say
from webapp.accounts.models import Membership, User
from webapp.bench import requests

pytestmark = [pytest.mark.django_db, pytest.mark.long]
LISTS = ("?state=answering", "?state=disputed", "?state=accepted", "?sort=state", "?sort=-state", "?stale=1")
FRESH = re.compile(  # tokens and clocks
    rb"""csrfmiddlewaretoken" value="[^"]+"|X-CSRFToken": "[^"]+"|"csrf": ?"[^"]+"|data-now="[^"]+"|"""
    rb""""(?:until|left_s|now)": ?[^,}]+|nonce-[\w+/=-]+|nonce="[^"]+\""""
)


def patterns(resolver: Any, base: str = "") -> Iterator[str]:
    for one in resolver.url_patterns:
        address = base + str(one.pattern).lstrip("^").rstrip("$")
        if hasattr(one, "url_patterns"):
            yield from patterns(one, address)
        else:
            yield address


def addresses(values: dict[str, Any]) -> list[str]:
    def filled(match: re.Match[str]) -> str:
        kind, _, name = match[1].rpartition(":")
        return str(values.get(name) or {"uuid": uuid.UUID(int=5), "int": 1}.get(kind, "x"))

    found = {"/" + re.sub(r"<([^>]+)>", filled, one) for one in patterns(get_resolver())}
    lists = [base + query for base in ("/p/one/bench/", "/api/v1/projects/one/questions") for query in LISTS]
    return [one for one in sorted(found) if "stream" not in one and "logout" not in one] + lists


def test_an_answer_is_seen_nowhere(people: SimpleNamespace, scene: Scene, as_user: Any) -> None:
    question, other = make_questions(scene, 2)
    job = requests.request_proofs_of_project(project=people.one, user=people.cora)
    values = {"slug": "one", "question_id": question.id, "video_id": scene.video.id, "job_id": job.id}
    every = addresses(values | {"run_id": scene.run.id, "username": "bob"})
    readers = [people.vera, people.bob, people.rita]

    def read(addresses: list[str]) -> dict[tuple[str, str], bytes]:
        found = {}
        for user in readers:
            client = as_user(user)
            for address in addresses:
                answer = client.get(address)
                if answer.status_code == 200 and not answer.streaming:
                    found[user.username, address] = FRESH.sub(b"", answer.content)
        return found

    told = sorted({address for _, address in read(every)})
    ann = User.objects.create(username="ann")
    Membership.objects.create(project=people.one, user=ann, role="annotator")
    first, second = read(told), read(told)
    steady = [at for at in first if first[at] == second[at]]
    assert len(steady) > 100 and len(steady) >= len(first) - 6  # a page may have a token of its own
    say(question, ann, "a")
    say(other, ann, "b")  # the key
    after = read(told)
    assert [at for at in steady if first[at] != after[at]] == []
