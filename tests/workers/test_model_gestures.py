"""Gestures through an endpoint, from the request to proposals; the endpoint is a scripted server over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import clips
from tests.ml.endpoint.server import KEY, Server, fails, says
from tests.workers import filmed
from webapp.events.gesturing import request_gestures
from webapp.events.models import Event
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library.models import Project, Video
from workers.attempt import run
from workers.tasks import gesturing

FOUND = {
    "type": "pointing", "initiator": "P0", "start_s": 1.0, "end_s": 2.5, "target_kind": "person",
    "target_person": "P1", "target_description": "the other one", "confidence": 0.9,
}  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[clips.Clip, Path]:
    return filmed.source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def video(project: Project, source: tuple[clips.Clip, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    made = filmed.make(project, *source, tmp_path)
    assert made.run is not None
    made.run.manifest["shots"] = [{"start": 0, "end": filmed.FRAMES}]
    made.run.save()
    return made


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Server]]:
    running: list[Server] = []

    def start(script: Any) -> Server:
        running.append(Server(script).__enter__())
        for name, value in (("URL", running[-1].config().url), ("MODEL", "m-1"), ("KEY", KEY), ("RATE", "6000")):
            monkeypatch.setenv(f"SIGHTLINE_ENDPOINT_{name}", value)
        return running[-1]

    yield start
    for server in running:
        server.__exit__(None, None, None)


def do(video: Video) -> Job:
    job = request_gestures(video=video, user=None, detector="mllm")
    run(str(job.id), "test@here", gesturing.work)
    job.refresh_from_db()
    return job


def test_what_the_model_found_becomes_proposals(video: Video, served: Callable[[Any], Server]) -> None:
    """Seen from 1.0 to 2.5 s at 2 pictures a second; the rate falls from 30 to 10 at 2.0 s: frame 30 is shown at 1.0,
    frame 70 at 3.0 s, where it is over."""
    script = [
        says({"gestures": [FOUND, FOUND | {"type": "giving", "initiator": "P7"}]}),
        says({"faults": [], "gestures": [FOUND]}),
    ]
    server = served(script)
    job = do(video)
    assert (job.state, job.error) == ("done", "")
    event = Event.objects.get()
    assert (event.modality, event.type, event.start, event.end) == ("gesture", "pointing", 30, 70)
    assert (event.origin, event.status) == ("model", "proposed")
    roles = {p.role: p.person.number for p in event.participations.all()}
    assert roles == {"initiator": 0, "target": 1} and len(server.asked) == 2
    assert job.result["spent"]["calls"] == 2 and "nobody with the tag P7" in job.result["notes"][0]
    assert video.run is not None
    with storage.local(f"{video.run.folder}/gestures-mllm.json") as path:
        kept = json.loads(path.read_text())
    assert [r["round"] for r in kept["shots"][0]["rounds"]] == [0, 1]  # every round is kept
    assert KEY not in json.dumps(kept) + json.dumps(job.result) + job.log


def test_an_endpoint_that_says_no_is_one_sentence(video: Video, served: Callable[[Any], Server]) -> None:
    served([fails(401, KEY)])
    job = do(video)
    assert job.state == "failed" and job.error.endswith("does not accept the configured key (401).")
    assert job.result["reason"] == "endpoint" and KEY not in job.error + job.log and not Event.objects.exists()
