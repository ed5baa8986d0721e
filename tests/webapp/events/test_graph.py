"""The social graph of a video over the API: whose events, which links, and what the page is not told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.webapp.factories import make_person, make_video
from webapp.events.models import AnnotationSet, Event, Participation
from webapp.events.rows import set_of


@pytest.fixture
def scene(people: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """25 frames a second from media second 10 on; Person 0 and 1 look at each other at 4-8 s; 0 points at 1 at 6-7 s,
    1 shows 2 something at 10-11 s, 2 reaches at 20-21 s.
    """
    video = make_video(people.one, frames=600, shots=(0,))
    monkeypatch.setattr("webapp.events.graph.frame_seconds", lambda _: 10 + np.arange(601) / 25)
    who = [make_person(video) for _ in range(3)]
    add = {
        "mutual": event(video, "mutual_gaze", 100, 200, [(who[0], "member"), (who[1], "member")]),
        "pointing": event(video, "pointing", 150, 175, [(who[0], "initiator"), (who[1], "target")]),
        "showing": event(video, "showing", 250, 275, [(who[1], "initiator"), (who[2], "target")]),
        "reaching": event(video, "reaching", 500, 525, [(who[2], "initiator")]),
    }
    return SimpleNamespace(video=video, who=who, **add)


def event(video: Any, type: str, start: int, end: int, roles: list[Any], **more: Any) -> Event:
    values = {"set": set_of(video, "working"), "status": "confirmed", "origin": "human"} | more
    modality = "gesture" if type in ("pointing", "showing", "giving", "reaching") else "gaze"
    made = Event.objects.create(video=video, modality=modality, type=type, start=start, end=end, **values)
    Participation.objects.bulk_create(Participation(event=made, person=p, role=r) for p, r in roles)
    return made


def ask(client: Any, video: Any, query: str = "") -> Any:
    return client.get(f"/api/v1/videos/{video.id}/graph{query}")


def linked(data: Any) -> list[tuple[str, str, str, float]]:
    types, links = data["events"]["type"], data["links"]
    columns = (links["gaze"], links["gesture"], links["relation"], links["seconds"])
    return [(types[a], types[b], relation, seconds) for a, b, relation, seconds in zip(*columns, strict=True)]


def test_events_and_links_come_as_columns(people: SimpleNamespace, scene: SimpleNamespace, as_user: Any) -> None:
    data = ask(as_user(people.vera), scene.video).json()
    assert data["events"]["type"] == ["mutual_gaze", "pointing", "showing", "reaching"]
    assert data["events"]["start"] == [100, 150, 250, 500]
    assert data["events"]["start_s"] == [4.0, 6.0, 10.0, 20.0]  # from the first frame on, not media seconds
    ids = [str(person.id) for person in scene.who]
    assert data["events"]["participants"][1] == [
        list(pair) for pair in sorted([(ids[0], "initiator"), (ids[1], "target")])
    ]
    assert linked(data) == [("mutual_gaze", "pointing", "overlap", 1.0), ("mutual_gaze", "showing", "adjacent", 2.0)]


def test_a_span_holds_the_events_that_reach_into_it(
    people: SimpleNamespace, scene: SimpleNamespace, as_user: Any
) -> None:
    client = as_user(people.vera)
    assert ask(client, scene.video, "?start=199&end=251").json()["events"]["type"] == ["mutual_gaze", "showing"]
    assert ask(client, scene.video, "?start=200&end=250").json()["events"]["id"] == []
    for query in ("?start=10&end=10", "?start=-1", "?start=x", "?preset=loose"):
        answer = ask(client, scene.video, query)
        assert answer.status_code == 422 and answer.json()["error"].endswith("."), query


def test_rejected_events_and_other_peoples_sets_are_no_part_of_it(
    people: SimpleNamespace, scene: SimpleNamespace, as_user: Any
) -> None:
    Event.objects.filter(id=scene.pointing.id).update(status="rejected")
    own = AnnotationSet.objects.create(video=scene.video, kind="annotator", user=people.bob)
    event(scene.video, "giving", 100, 200, [(scene.who[0], "initiator")], set=own)
    assert ask(as_user(people.vera), scene.video).json()["events"]["type"] == ["mutual_gaze", "showing", "reaching"]


def test_somebody_merged_is_the_other_one(people: SimpleNamespace, scene: SimpleNamespace, as_user: Any) -> None:
    scene.who[2].merged_into = scene.who[0]
    scene.who[2].save()
    data = ask(as_user(people.vera), scene.video).json()
    assert {p for pairs in data["events"]["participants"] for p, _ in pairs} == {str(p.id) for p in scene.who[:2]}


def test_the_released_rule_needs_no_shared_person(
    people: SimpleNamespace, scene: SimpleNamespace, as_user: Any
) -> None:
    event(scene.video, "reaching", 190, 195, [(scene.who[2], "initiator")])
    client = as_user(people.vera)
    assert len(linked(ask(client, scene.video).json())) == 2
    assert len(linked(ask(client, scene.video, "?preset=grasp-compat").json())) == 3


def test_it_asks_the_database_a_fixed_number_of_times(
    people: SimpleNamespace, scene: SimpleNamespace, as_user: Any, django_assert_max_num_queries: Any
) -> None:
    for start in range(0, 500, 5):
        event(scene.video, "pointing", start, start + 5, [(scene.who[0], "initiator")])
    client = as_user(people.vera)
    with django_assert_max_num_queries(7):
        assert ask(client, scene.video).status_code == 200


@pytest.mark.parametrize("verb", ["post", "put", "patch", "delete"])
def test_it_only_reads(people: SimpleNamespace, scene: SimpleNamespace, as_user: Any, verb: str) -> None:
    answer = getattr(as_user(people.alice), verb)(f"/api/v1/videos/{scene.video.id}/graph")
    assert answer.status_code == 405
