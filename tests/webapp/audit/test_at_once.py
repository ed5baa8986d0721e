"""Many people at the same moment, each on a connection of their own: places, two tabs, two clicks on start."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.webapp.audit.made import make_audit
from tests.webapp.bench.test_queue_race import at_once
from webapp.accounts.models import User
from webapp.audit import rating, services
from webapp.audit.models import Claim, HumanVerdict, Rating
from webapp.jobs.models import Job
from webapp.lib.errors import Refused, Stale

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = 16


@pytest.fixture
def crowd(people: SimpleNamespace) -> list[User]:
    return [User.objects.create(username=f"auditor-{n}") for n in range(PEOPLE)]


def test_each_response_still_goes_to_exactly_two(people: SimpleNamespace, video: Any, crowd: list[User]) -> None:
    audit = make_audit(video, people.cora, responses=5)

    def ask(user: User) -> UUID | None:
        seat = rating.next_response(audit=audit, user=user)
        return seat.response_id if seat else None

    given = Counter(at_once(crowd, ask))
    assert given.pop(None) == PEOPLE - 10 and set(given.values()) == {2} and len(given) == 5
    assert Rating.objects.count() == 10


def test_two_tabs_and_two_clicks_lose_nothing(people: SimpleNamespace, video: Any) -> None:
    """One person's verdict from eight tabs at once: one is kept, the others are told; one job for eight starts."""
    audit = make_audit(video, people.cora)
    rating.next_response(audit=audit, user=people.rita)
    claim = Claim.objects.select_related("response__audit").filter(response__audit=audit).first()
    assert claim is not None

    def say(user: User) -> str:
        try:
            rating.say(claim=claim, user=user, id=uuid4(), version=None, verdict="supported", reason=str(uuid4()))
        except (Stale, Refused) as error:
            return type(error).__name__
        return "kept"

    told = Counter(at_once([people.rita] * 8, say))
    assert told == {"kept": 1, "Stale": 7} and HumanVerdict.objects.count() == 1
    at_once([people.cora] * 8, lambda user: services.request_audit(audit=audit, user=user).id)
    assert Job.objects.filter(kind="audit").count() == 1
