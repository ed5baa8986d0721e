"""What the pages of a large audit cost: 100,000 responses with ten claims each, two people at work."""

from __future__ import annotations

import time
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from tests.figures import Record
from tests.webapp.audit import made
from webapp.audit import rating
from webapp.audit.models import Claim, HumanVerdict, Rating, Response

RESPONSES, CLAIMS = 100_000, 10
MODELS = 20
RATED, DIFFER = 2000, 200  # responses that both have rated, and those on whose first claim they differ


def copies(kind: Any, source: str, **values: str) -> None:
    """Insert a row of `kind` for every row of `source`, which names the template t; other columns are t's."""
    columns = [field.column for field in kind._meta.concrete_fields if values.get(field.column) != "DEFAULT"]
    listed = ", ".join(f'"{column}"' for column in columns)
    told = ", ".join(values.get(column, f't."{column}"') for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(f'INSERT INTO "{kind._meta.db_table}" ({listed}) SELECT {told} FROM {source}')


def fill(scene: made.Scene, first: Any, second: Any) -> None:
    Claim.objects.exclude(id=scene.claims[0].id).delete()
    size = f"audit_response t, generate_series(2, {RESPONSES}) n"
    copies(Response, size, id="gen_random_uuid()", position="n", digest="n::text", model=f"'m-' || n % {MODELS}")
    rest = f"audit_claim t, audit_response r, generate_series(1, {CLAIMS}) n WHERE r.id <> t.response_id"
    copies(Claim, rest, id="gen_random_uuid()", response_id="r.id", name="'c' || n", position="n")
    mine = scene.response
    for user, verdict in ((first, "supported"), (second, "contradicted")):
        seat = Rating.objects.create(response=mine, user=user, until=mine.created, completed=mine.created)
        rated = f"audit_rating t, audit_response r WHERE t.id = {seat.pk} AND r.position BETWEEN 2 AND {RATED}"
        copies(Rating, rated, id="DEFAULT", response_id="r.id")
        word = HumanVerdict.objects.create(
            claim=scene.claims[0], video=mine.video, user=user, verdict=verdict, blind_verdict=verdict
        )
        claims = f"""audit_humanverdict t, audit_claim c JOIN audit_response r ON r.id = c.response_id
            WHERE t.id = '{word.id}' AND c.position = 1 AND r.position BETWEEN 2 AND {DIFFER}"""
        copies(HumanVerdict, claims, id="gen_random_uuid()", claim_id="c.id")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM audit_tally")  # what the services count as they write
        rows = f"""SELECT audit_id, video_id, model, count(*), count(*), 0, {CLAIMS} * count(*)
            FROM audit_response GROUP BY 1, 2, 3"""
        columns = "audit_id, video_id, model, responses, processed, failed, claims"
        cursor.execute(f"INSERT INTO audit_tally ({columns}) {rows}")
        cursor.execute("ANALYZE audit_response, audit_claim, audit_rating, audit_humanverdict, audit_tally")
    rating.judge(scene.audit.id)
    assert Response.objects.filter(judged=True).count() == RATED
    assert Claim.objects.filter(disputed=True).count() == DIFFER


@pytest.mark.bench
def test_pages_of_a_large_audit_stay_within_their_budget(
    scene: made.Scene, people: SimpleNamespace, as_user: Any, figure: Record
) -> None:
    fill(scene, people.cora, people.alice)
    counted = Response.objects.count(), Claim.objects.count()
    client, audit = as_user(people.rita), scene.audit
    took: dict[str, float] = {}
    for what, address in (
        ("list of audits", "/p/one/audits/"),
        ("audit's first responses", "/p/one/audits/1/"),
        ("audit's last responses", f"/p/one/audits/1/?from={RESPONSES - 100}"),
        ("disputed responses", "/p/one/audits/1/?show=disputed"),
        ("responses by the API", f"/api/v1/audits/{audit.id}"),
        ("one response", f"/api/v1/audit/responses/{scene.response.id}"),
    ):
        times = []
        for _ in range(6):
            began = time.perf_counter()
            assert client.get(address).status_code == 200, address
            times.append(1000 * (time.perf_counter() - began))
        took[what] = median(times[1:])  # the first loads templates
        note = f"{counted[0]:,} responses, {counted[1]:,} claims; median of 5"
        figure(f"audit: {what}", took[what], "ms", budget=100, note=note)
    assert max(took.values()) < 10 * 100
