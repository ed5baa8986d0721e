"""Files of very many responses: a job places them batch by batch and writes them all at once, or none."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client

from tests.webapp.audit.made import give_frames
from tests.webapp.conftest import people, video
from tests.webapp.exchange.test_responses import ROW
from tests.webapp.factories import make_person
from webapp.audit import importing, services
from webapp.audit.models import Audit, Response
from webapp.exchange import responses
from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library.models import Project, Video
from workers import attempt
from workers.tasks import importing_responses as task

__all__ = ["people", "place", "video"]
ADDRESS = "/api/v1/projects/one/audits"
ROWS = [ROW | {"text": f"<think>{n}: Person 2 looks at Person 1.</think><answer>B</answer>"} for n in range(7)]


@pytest.fixture
def place(transactional_db: None, people: Any, video: Video, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Files of four responses are long, and are placed by twos."""
    monkeypatch.setattr(broker, "send", lambda **_: True)
    monkeypatch.setattr(responses, "AT_ONCE", 3)
    monkeypatch.setattr(task, "BATCH", 2)
    give_frames(video)
    for _ in range(2):
        make_person(video)
    client = Client()
    client.force_login(people.cora)
    return SimpleNamespace(project=people.one, user=people.cora, video=video, client=client)


def post(place: Any, rows: list[dict[str, Any]] = ROWS) -> dict[str, Any]:
    file = SimpleUploadedFile("many.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows).encode())
    answer = place.client.post(ADDRESS, {"file": file, "name": "Many", "raters": 3})
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def do(job_id: str) -> Job:
    attempt.run(job_id, "here@elsewhere", task.work, task.tidy)
    return Job.objects.get(id=job_id)


def kept() -> list[Path]:
    folder = storage.local_path("imports")
    assert folder is not None
    return [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []


def test_many_responses_come_in_by_a_job_as_few_do_at_once(
    place: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = post(place)
    assert told == {"audit": None, "made": None, "known": None, "importing": True, "job": told["job"]}
    assert not Audit.objects.exists() and post(place)["job"] == told["job"]  # the same again is that job
    client = place.client
    assert client.get(ADDRESS).json() == {"audits": [], "importing": [told["job"]]}
    page = client.get("/p/one/audits/").content.decode()
    assert ">many.jsonl<" in page and "is being imported; the audit is here once all of it is in" in page
    assert len(kept()) == 1
    job = do(told["job"])
    assert (job.state, job.error) == ("done", "") and [stage for stage, _ in job.stages] == ["read", "check", "write"]
    audit = Audit.objects.get()
    assert job.result["audit"] == str(audit.id) and (job.result["made"], job.result["known"]) == (7, 0)
    assert (audit.name, audit.raters, audit.number) == ("Many", 3, 1)
    assert Job.objects.get(kind="audit").parameters == {"audit": str(audit.id)}  # goes on by itself
    assert kept() == [] and client.get(ADDRESS).json()["audits"][0]["responses"] == 7
    assert post(place)["importing"] and do(str(Job.objects.get(state="queued", kind=importing.KIND).id))
    assert Job.objects.filter(kind=importing.KIND).latest("created").result["known"] == 7

    columns = [f.name for f in Response._meta.fields if f.name not in ("id", "audit", "created")]
    found = list(audit.responses.values(*columns))
    audit.delete()
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    at_once = responses.import_file(path=path, project=place.project, user=None)
    assert found == list(at_once.audit.responses.values(*columns))


def test_a_fault_in_the_last_line_refuses_all_and_can_be_mended_and_tried_again(place: Any) -> None:
    told = post(place, [*ROWS, ROW | {"video": "late.mp4"}])
    job = do(told["job"])
    assert job.state == "failed" and "many.jsonl, line 8: there is no video 'late.mp4'" in job.error
    assert "Nothing was imported." in job.error and not Audit.objects.exists() and not Response.objects.exists()
    page = place.client.get("/p/one/audits/").content.decode()
    assert "Import failed." in page and "line 8" in page
    Video.objects.filter(id=place.video.id).update(name="late.mp4")  # both names end in the same video no more
    jobs.retry(job=job, user=place.user)
    assert "line 1: there is no video 'clip.mp4'" in do(told["job"]).error
    Video.objects.filter(id=place.video.id).update(name="clip.mp4")
    importing.forget_old(project=place.project)
    assert len(kept()) == 1  # it failed just now
    Job.objects.filter(id=job.id).update(ended="2020-01-01T00:00:00Z")
    importing.forget_old(project=place.project)
    assert kept() == []
    jobs.retry(job=Job.objects.get(id=job.id), user=place.user)
    assert do(told["job"]).error == "The file is not here any more; bring it in again."


@pytest.mark.parametrize(("stage", "calls"), [("place", 3), ("write", 2)])
def test_a_killed_import_has_written_nothing_and_goes_on(
    place: Any, monkeypatch: pytest.MonkeyPatch, stage: str, calls: int
) -> None:
    told = post(place)
    module, name = (responses, "placed") if stage == "place" else (services, "_add")
    real, count = getattr(module, name), [0]

    def dies(*given: Any, **more: Any) -> Any:
        count[0] += 1
        if count[0] == calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **more)

    connection.close()
    child = os.fork()
    if child == 0:
        setattr(module, name, dies)
        attempt.run(told["job"], f"kill{os.getpid()}@here", task.work, task.tidy)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not Response.objects.exists() and not Audit.objects.exists()
    with transaction.atomic():
        jobs.release(job=Job.objects.select_for_update().get(id=told["job"]), reason="killed")

    def counts(*given: Any, **more: Any) -> Any:
        count.append(1)
        return real(*given, **more)

    monkeypatch.setattr(module, name, counts)
    assert do(told["job"]).state == "done"
    assert list(Response.objects.order_by("position").values_list("position", flat=True)) == list(range(1, 8))
    assert stage == "write" or len(count) - 1 == 2  # of the four batches two were placed before the kill


def test_while_it_writes_the_project_is_free_and_a_cancel_leaves_nothing(
    place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = post(place)
    real, locked = services._add, []

    def watch() -> None:
        try:
            with transaction.atomic():
                rows = Project.objects.select_for_update(nowait=True).filter(id=place.project.id)
                videos = Video.objects.select_for_update(nowait=True, no_key=True).filter(id=place.video.id)
                locked.append((rows.count(), len(rows), len(videos), Response.objects.count()))
            jobs.cancel(job=Job.objects.get(id=told["job"]), user=place.user)
        finally:
            connection.close()

    def slowly(*given: Any, **more: Any) -> Any:
        made = real(*given, **more)
        if not locked:
            thread = threading.Thread(target=watch)
            thread.start()
            thread.join()
            cancelled.wait(2)  # the heartbeat hears of it
        return made

    cancelled = threading.Event()
    monkeypatch.setattr(services, "_add", slowly)
    assert do(told["job"]).state == "cancelled"
    assert locked == [(1, 1, 1, 0)]  # somebody else could lock both, and saw none of the responses
    assert not Response.objects.exists() and not Audit.objects.exists() and kept() == []
