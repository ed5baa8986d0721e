"""Rows of jobs say what they work on, to those who may know of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from tests.webapp.audit.made import Scene, make_scene
from webapp.audit import importing, services
from webapp.jobs import queries
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Video

pytestmark = pytest.mark.django_db


@pytest.fixture
def scene(video: Video, people: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    return make_scene(video, people.cora)


def names(job: Job, who: Any, as_user: Any) -> tuple[str, str, bool]:
    """What the API, the stream's rows and the page call it."""
    client = as_user(who)
    told = client.get(f"/api/v1/jobs/{job.id}").json()["name"]
    (listed,) = [row["name"] for row in client.get("/api/v1/jobs?project=one").json() if row["id"] == str(job.id)]
    assert listed == told
    return told, listed, bool(told) and f">{told}<" in client.get("/p/one/jobs/").content.decode()


def test_jobs_of_an_audit_bear_its_name_for_those_who_may_see_it(
    scene: Scene, people: SimpleNamespace, as_user: Any
) -> None:
    job = services.request_audit(audit=scene.audit, user=people.cora)
    own = (scene.audit.name, scene.audit.name, True)
    assert names(job, people.rita, as_user) == own
    for nobody in (people.vera, people.bob):  # they do not see an open audit at all
        assert names(job, nobody, as_user) == ("", "", False)
        assert scene.audit.name not in as_user(nobody).get("/p/one/jobs/").content.decode()
    scene.audit.refresh_from_db()
    services.finish(audit=scene.audit, user=people.cora, version=scene.audit.version, force=True)
    assert names(job, people.vera, as_user) == own


def test_imports_and_releases_are_named_and_what_has_a_video_is_not_asked_for(
    scene: Scene, people: SimpleNamespace, as_user: Any, django_assert_num_queries: Any
) -> None:
    given = {"shown": "many.jsonl", "stored": ""}
    job = jobs.create(project=people.one, kind=importing.KIND, queue="cpu", parameters=given)
    assert names(job, people.cora, as_user)[0] == "many.jsonl" and names(job, people.vera, as_user)[0] == ""
    Job.objects.filter(id=job.id).update(result={"audit": str(scene.audit.id)})
    assert names(job, people.cora, as_user)[0] == scene.audit.name
    gone = jobs.create(project=people.one, kind="audit", queue="gpu", parameters={"audit": str(uuid4())})
    assert names(gone, people.root, as_user)[0] == ""
    release = jobs.create(project=people.one, kind="release", queue="cpu", parameters={"notes": ""})
    Job.objects.filter(id=release.id).update(result={"number": 3}, state="done")
    assert names(release, people.vera, as_user) == ("Release 3", "Release 3", True)
    of_video = jobs.create(project=people.one, kind="import", queue="cpu", video=scene.response.video)
    with django_assert_num_queries(0):
        assert queries.subjects_of([of_video], people.vera) == {}
