"""Building a snapshot from releases and accepted questions: what goes in, where each row is from, and every ending. The
test is the worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import transaction

from ml.training import rows as training_rows
from ml.training import snapshot as building
from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import Scene, make_scene
from webapp.accounts.models import User
from webapp.bench import releases
from webapp.bench.models import Release
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Project, Video
from webapp.library.services import delete_video
from webapp.runs import folders, services
from webapp.runs.models import DatasetSnapshot, SnapshotItem
from workers import attempt
from workers.tasks import snapshotting


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    yield
    folders.remove(Path(settings.DATA) / "snapshots")


@pytest.fixture
def scenes(project: Project) -> list[Scene]:
    """Two videos of a recording each, with three accepted questions each."""
    bob = User.objects.create(username="bob", is_superuser=True)
    made = [make_scene(project, bob, source_recording=f"tape {n}") for n in range(2)]
    for scene in made:
        accept(scene, 3)
    return made


def cut(project: Project) -> Release:
    with transaction.atomic():
        return releases.keep(made=releases.draft(project=project), user=None, id=uuid4())


def build(project: Project, **wanted: Any) -> tuple[DatasetSnapshot, Job]:
    made = services.create_snapshot(project=project, user=None, **({"validation_share": 0.4} | wanted))
    attempt.run(str(made.job_id), "here@elsewhere", snapshotting.work, snapshotting.tidy)
    made.refresh_from_db()
    return made, Job.objects.get(id=made.job_id)  # type: ignore[misc]


def test_a_release_becomes_rows_with_their_origin(project: Project, scenes: list[Scene]) -> None:
    release = cut(project)
    made, job = build(project, releases=[release])
    assert (made.state, made.error, job.state) == ("ready", "", "done"), job.log
    folder = folders.snapshot(made.id)
    assert building.check(folder)["hash"] == made.hash == job.result["hash"]
    found = training_rows.read(folder)
    frozen = {one.sha256: one for one in release.items.all()}
    assert {row.id for row in found} == set(frozen)
    # a recording is in one split only
    splits = {row.recording: {one.split for one in found if one.recording == row.recording} for row in found}
    assert splits.keys() == {"tape 0", "tape 1"} and sorted(map(list, splits.values())) == [["train"], ["validation"]]
    for item in SnapshotItem.objects.filter(snapshot=made):
        of = frozen[item.item_hash]
        assert (item.question_id, item.question_version, item.release_id) == (
            of.question_id,
            of.question_version,
            release.id,
        )
        assert str(item.video_id) == of.item["provenance"]["video"]
        assert item.row["question"] == of.item["question"] and "reasoning" not in item.row and "clip" not in item.row
    assert made.facts["created_from"] == [{"release": {"project": "one", "number": 1, "hash": release.sha256}}]
    assert made.facts["counts"]["train"]["grpo"] == 3


def test_the_same_items_have_the_same_hash(project: Project, scenes: list[Scene]) -> None:
    release = cut(project)
    first, second = (build(project, releases=[release], seed=4)[0] for _ in range(2))
    asked, _ = build(project, questions=True, seed=4)
    other, _ = build(project, releases=[release], seed=5, validation_share=0.0)
    assert first.hash == second.hash == asked.hash != other.hash
    assert asked.facts["created_from"] == [{"project": "one", "items": 6}]
    assert set(asked.items.values_list("release", flat=True)) == {None}


def test_what_was_retired_withdrawn_or_superseded_stays_out_and_is_counted(
    project: Project, scenes: list[Scene]
) -> None:
    first = cut(project)
    question = releases.accepted(project).order_by("number").first()
    question.text = question.text.replace("who", "Who now")
    question.version += 1
    question.save()
    second = cut(project)
    retired = second.items.order_by("position")[1]
    releases.retire(item=retired, user=scenes[0].user, reason="Unclear.")
    made, _ = build(project, releases=[first, second])
    kept = set(made.items.values_list("item_hash", flat=True))
    newest = second.items.get(question=question).sha256
    assert newest in kept and first.items.get(question=question).sha256 not in kept and retired.sha256 not in kept
    assert len(kept) == 5
    told = made.facts["left_out"]
    assert told[snapshotting.RETIRED] == 2 and told[building.SUPERSEDED] == 1 and told[building.TWICE] == 4
    delete_video(video=scenes[1].video)
    again, _ = build(project, releases=[second])
    assert again.items.count() == 2 and again.facts["left_out"][snapshotting.WITHDRAWN] == 3


def test_a_clip_that_is_gone_is_said_and_nothing_is_left(project: Project, scenes: list[Scene]) -> None:
    from webapp.bench.models import Clip
    from webapp.lib import storage

    release = cut(project)
    clip = Clip.objects.filter(video=scenes[0].video).get()
    storage.delete_tree(f"{clip.folder}/clip.mp4")
    made, job = build(project, releases=[release])
    assert (made.state, job.state) == ("failed", "failed") and made.error == job.error
    assert "clip" in made.error and job.result["reason"] == "input"
    assert not folders.snapshot(made.id).exists() and not made.items.exists()


def test_a_video_withdrawn_while_it_is_built_is_in_no_snapshot(
    project: Project, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = cut(project)
    real = building.build

    def late(*given: Any, **named: Any) -> Any:
        facts = real(*given, **named)
        delete_video(video=Video.objects.get(id=scenes[0].video.id))
        return facts

    monkeypatch.setattr(building, "build", late)
    made, job = build(project, releases=[release])
    assert (made.state, job.state) == ("failed", "failed") and "make it again" in made.error
    assert not folders.snapshot(made.id).exists() and not made.items.exists()
    monkeypatch.undo()
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    jobs.retry(job=job, user=None)
    attempt.run(str(job.id), "here@elsewhere", snapshotting.work, snapshotting.tidy)
    made.refresh_from_db()
    assert made.state == "ready" and made.items.count() == 3


def test_an_attempt_that_died_at_its_end_is_done_again(
    project: Project, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = cut(project)
    with monkeypatch.context() as patch:
        patch.setattr(attempt.Attempt, "finish", lambda *_: (_ for _ in ()).throw(jobs.ClaimLost("killed")))
        made, job = build(project, releases=[release])
    assert made.state == "building" and folders.snapshot(made.id).exists()
    with transaction.atomic():
        jobs.release(job=Job.objects.select_for_update().get(id=job.id), reason="The worker died.")
    made.refresh_from_db()
    assert made.state == "queued"
    attempt.run(str(job.id), "here@elsewhere", snapshotting.work, snapshotting.tidy)
    made.refresh_from_db()
    assert made.state == "ready" and made.items.count() == 6
    lines = (folders.snapshot(made.id) / "rows.jsonl").read_text().splitlines()
    assert {json.loads(line)["id"] for line in lines} == set(made.items.values_list("item_hash", flat=True))
