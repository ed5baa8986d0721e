"""The audit task: from responses to verdicts, and every way in which that can end. The test is the worker.

The grounder is a scripted one; the embedded one is tested on pictures elsewhere.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from ml.evidence.grounding import registry
from ml.evidence.grounding.registry import About
from tests.workers.scripted_grounder import Scripted, make_audit, make_video
from webapp.audit import services
from webapp.audit.models import Audit, Claim, Grounding, MachineVerdict, Package, Response
from webapp.jobs import broker
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library.models import Project, Video
from webapp.library.services import delete_video
from workers import attempt
from workers.tasks import auditing


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    monkeypatch.setattr(broker, "send", lambda **_: True)
    monkeypatch.setitem(
        registry.GROUNDERS, "embedded", About("tests.workers.scripted_grounder", "Scripted", "Scripted.")
    )
    monkeypatch.setattr(Scripted, "during", staticmethod(lambda footage, queries: None))
    monkeypatch.setattr(Scripted, "journal", tmp_path / "journal")
    monkeypatch.setattr(Scripted, "delay_s", 0.0)
    return make_video(project, tmp_path / "run")


def do(audit: Audit, job: Job | None = None) -> Job:
    job = job or services.request_audit(audit=audit, user=None)
    attempt.run(str(job.id), "here@elsewhere", auditing.audit, auditing.tidy)
    job.refresh_from_db()
    return job


def verdicts(audit: Audit) -> list[tuple[int, str, str]]:
    rows = MachineVerdict.objects.filter(claim__response__audit=audit, reprompt=None)
    rows = rows.order_by("claim__response__position", "claim__position")
    return list(rows.values_list("claim__response__position", "claim__name", "name"))


def journal(word: str) -> list[str]:
    assert Scripted.journal is not None
    lines = Scripted.journal.read_text().splitlines() if Scripted.journal.exists() else []
    return [line.partition(" ")[2] for line in lines if line.startswith(word)]


def assert_whole(audit: Audit) -> None:
    """Nothing half of anything: a package has all its claims, a settled claim its verdict and its masks on disk."""
    for package in Package.objects.filter(response__audit=audit).exclude(tree={}):
        names = list(Claim.objects.filter(response=package.response).values_list("name", flat=True))
        assert names == [claim["id"] for claim in package.tree["claims"]]
    for claim in Claim.objects.filter(response__audit=audit, settled=True).select_related("response"):
        assert MachineVerdict.objects.filter(claim=claim, reprompt=None).count() == 1
        for grounding in Grounding.objects.filter(claim=claim).exclude(columns=""):
            path = storage.local_path(f"{claim.response.folder}/{grounding.columns}")
            assert path is not None
            stored = json.loads(path.read_text())
            assert set(stored["query"]) <= {query["id"] for query in grounding.queries}
    for response in Response.objects.filter(audit=audit, state="done"):
        assert Package.objects.filter(response=response).exists()
        assert not Claim.objects.filter(response=response, settled=False).exists()


def test_responses_become_claims_with_verdicts_masks_and_their_provenance(video: Video) -> None:
    audit = make_audit(video)
    job = do(audit)
    assert (job.state, job.error) == ("done", "")
    assert job.result["responses"] == 2 and job.result["done"] == 2 and "verdicts" not in json.dumps(job.result)
    said = verdicts(audit)
    assert said[1] == (1, "c2", "unsupported")  # a dog: the grounder knows the word and finds none
    assert said[2] == (1, "c3", "not_groundable")  # what somebody feels
    claim = Claim.objects.get(response__audit=audit, response__position=1, name="c1")
    assert claim.window == [25, 26]  # 1.0 s at 25 a second
    grounding = Grounding.objects.get(claim=claim)
    assert grounding.provenance["grounder"]["version"] == "9" and grounding.provenance["run"] == str(video.run_id)
    assert grounding.provenance["video"] == video.blob_id and grounding.looked
    assert_whole(audit)
    rerun = services.request_audit(audit=audit, user=None)
    begun = len(journal("begin"))
    assert do(audit, rerun).result["responses"] == 0 and len(journal("begin")) == begun  # nothing is left to do


def test_a_grounder_that_fails_spoils_one_claim_and_trying_again_does_that_one_only(video: Video) -> None:
    audit = make_audit(video)

    def fail(footage: Any, queries: Any) -> None:
        if any("dog" in query.text for query in queries):
            raise RuntimeError("out of memory")

    Scripted.during = staticmethod(fail)
    assert do(audit).state == "done"
    failed = MachineVerdict.objects.get(claim__response__audit=audit, name="error")
    assert "out of memory" in failed.sentence and failed.claim.name == "c2"
    assert Response.objects.filter(audit=audit, state="done").count() == 2
    Scripted.during = staticmethod(lambda footage, queries: None)
    before = len(journal("begin"))
    do(audit)
    assert [line for line in journal("begin")[before:] if "dog" not in line] == []
    assert ("unsupported" in {name for *_, name in verdicts(audit)}) and not any(
        name == "error" for *_, name in verdicts(audit)
    )


def test_a_full_disk_says_so_and_the_rest_is_done_later(video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = make_audit(video)
    put, count = storage.put, Counter[str]()

    def full(path: Path, name: str, **more: Any) -> None:
        count["put"] += 1
        if count["put"] > 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        put(path, name, **more)

    monkeypatch.setattr(storage, "put", full)
    job = do(audit)
    assert job.state == "failed" and "is full" in job.error and job.result["reason"] == "disk"
    assert_whole(audit)
    done = len(verdicts(audit))
    monkeypatch.setattr(storage, "put", put)
    ends = Counter(journal("end"))
    assert do(audit).state == "done"
    assert_whole(audit)
    assert len(verdicts(audit)) > done
    again = sum(Counter(journal("end"))[line] - n for line, n in ends.items())
    assert again <= 1  # only the claim that could not be stored is looked for again


def test_a_reply_no_package_can_be_made_of_keeps_its_reason_and_the_raw_text(
    video: Video, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ml.evidence.summarisers.protocol import BrokenOutput
    from ml.evidence.summarisers.rules import Rules

    summarise = Rules.summarise

    def broken(self: Any, text: str, **more: Any) -> Any:
        if "dog" in text:
            raise BrokenOutput("The model wrote no JSON, also when asked again.", "Sure! Here you go")
        return summarise(self, text, **more)

    monkeypatch.setattr(Rules, "summarise", broken)
    audit = make_audit(video)
    job = do(audit)
    assert job.state == "failed" and "1 of 2 responses" in job.error and "the first is response 1" in job.error
    first, second = Response.objects.filter(audit=audit).select_related("package").order_by("position")
    assert (first.state, second.state) == ("failed", "done") and "no JSON" in first.error
    assert first.package.raw == "Sure! Here you go" and first.package.tree == {} and not first.claims.exists()
    monkeypatch.setattr(Rules, "summarise", summarise)
    assert do(audit).state == "done" and Response.objects.filter(audit=audit, state="done").count() == 2


def test_a_cancel_stops_within_seconds_and_a_withdrawal_leaves_nothing(video: Video) -> None:
    audit = make_audit(video)
    job = services.request_audit(audit=audit, user=None)

    def cancel(footage: Any, queries: Any) -> None:
        if any("dog" in query.text for query in queries):
            jobs.cancel(job=job, user=None)
            time.sleep(1.5)  # the heartbeat hears of it

    Scripted.during = staticmethod(cancel)
    began = time.monotonic()
    assert do(audit, job).state == "cancelled" and time.monotonic() - began < 10
    assert_whole(audit)
    assert [name for _, name, _ in verdicts(audit)] == ["c1"]

    def withdraw(footage: Any, queries: Any) -> None:
        if Video.objects.filter(id=video.id).exists():
            delete_video(video=video)

    Scripted.during = staticmethod(withdraw)
    job = do(audit)
    assert not Response.objects.exists() and not Claim.objects.exists()
    folder = storage.local_path("responses")
    assert folder is None or not folder.exists() or not any(folder.iterdir())
    assert job.state == "done" and job.result["gone"] == 2


# ---------------------------------------------------------------------------------------------------------------------
# kill -9


def kill_at(job: Job, lines: int, after_s: float) -> None:
    """Let a process of its own do the job, and kill it some time after the grounder's journal has so many lines."""
    connection.close()
    child = os.fork()
    if child == 0:
        try:
            attempt.run(str(job.id), f"kill{os.getpid()}@here", auditing.audit, auditing.tidy)
        finally:
            os._exit(0)
    while len(journal("")) < lines:
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the work ended before it could be killed"
        time.sleep(0.005)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def survive(video: Video, monkeypatch: pytest.MonkeyPatch, kills: int, seed: int) -> None:
    """Kill the work at random moments, then let it end: nothing is half there, nothing is lost or done twice."""
    monkeypatch.setattr(jobs, "ATTEMPTS", kills + 2)
    monkeypatch.setattr(Scripted, "delay_s", 0.05)
    texts = [f"Person 1 is visible at 1.0 s. A dog lies on floor {n}. Person 2 is visible." for n in range(8)]
    audit = make_audit(video, texts)
    job = services.request_audit(audit=audit, user=None)
    chance = random.Random(seed)
    known: dict[Any, str] = {}
    for lines in sorted(chance.sample(range(1, 40), kills)):  # 24 claims are looked for, with two lines each
        kill_at(job, lines, chance.uniform(0, 0.1))
        assert_whole(audit)
        now = dict(MachineVerdict.objects.filter(claim__response__audit=audit).values_list("id", "name"))
        assert known.items() <= now.items()  # no verdict that was there is gone or another
        known = now
        rows = Job.objects.filter(id=job.id, state="running")
        with transaction.atomic():
            for row in rows.select_for_update():
                jobs.release(job=row, reason="killed")
    assert do(audit, job).state == "done"
    assert_whole(audit)
    assert Response.objects.filter(audit=audit, state="done").count() == 8
    assert len(journal("end")) <= 24 + kills  # at most what was under way at a kill is looked for again


def test_what_a_killed_grounder_had_done_stays_done(video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    survive(video, monkeypatch, kills=3, seed=4)


@pytest.mark.long
def test_twenty_kills_at_random_moments(video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    survive(video, monkeypatch, kills=20, seed=20)
