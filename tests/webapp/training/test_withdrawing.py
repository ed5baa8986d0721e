"""A person in the picture says no: what training has of the video goes, and what learned from it is flagged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from tests.webapp.factories import make_video
from tests.webapp.training import made
from webapp.jobs import services as jobs
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from webapp.library.services import delete_video
from webapp.runs import folders, queries, recording, services, withdrawal
from webapp.runs.models import Checkpoint, DatasetSnapshot, Evaluation, Rollout, SnapshotItem, TrainingRun

GONE, KEPT = made.row(0), made.row(1)


@pytest.fixture
def project(transactional_db: None) -> Project:
    return Project.objects.create(slug="one", name="One")


@pytest.fixture
def video(project: Project) -> Video:
    return make_video(project, name="withdrawn.mp4")


@pytest.fixture
def run(project: Project, video: Video) -> TrainingRun:
    """A run that runs, with rollouts and a checkpoint, on a snapshot whose first row is of the video."""
    draft = made.run(made.snapshot(project, video=video))
    found = services.start(run=draft, user=None, version=draft.version)
    job = jobs.claim(job_id=found.job_id, worker="w@elsewhere/1-1")  # type: ignore[arg-type]
    assert job is not None
    recording.begin_training(job=job, run_id=found.id)
    lines = [rollout(row.id, step) for row in (GONE, KEPT) for step in (1, 2)]
    news = recording.News(
        state={"step": 2, "max_steps": 4, "attempt": 1, "resumed_from": None},
        rollouts=lines,
        checkpoints=[{"step": 2, "path": "checkpoints/checkpoint-2", "bytes": 1}],
        log="a row\n",
        log_bytes=6,
    )
    recording.keep_news(job=job, run_id=found.id, news=news, weights={"accuracy": 1.0})
    folder = folders.run(found.id)
    (folder / "frames").mkdir(parents=True)
    (folder / "frames/a.jpg").write_bytes(b"face")
    (folder / "log.txt").write_text("a row\n")
    (folder / "rollouts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found.refresh_from_db()
    return found


def rollout(row: str, step: int) -> dict[str, Any]:
    answers = [
        {"text": "A", "tokens": 1, "clipped": False, "advantage": 0.0, "rewards": {"accuracy": n}} for n in (0, 1)
    ]
    return {
        "step": step,
        "row": row,
        "category": "c",
        "question": "Who?",
        "options": ["a", "b"],
        "answer": "A",
        "completions": answers,
    }


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_rows_clips_and_rollouts_of_the_video_are_erased(run: TrainingRun, video: Video) -> None:
    snapshot = folders.snapshot(run.snapshot_id)
    before = everything(snapshot) + everything(folders.run(run.id))
    assert before.count(GONE.id.encode()) == 3 and made.clip_bytes(0) in before and b"face" in before
    delete_video(video=video)
    after = everything(snapshot) + everything(folders.run(run.id))
    assert GONE.id.encode() not in after and made.clip_bytes(0) not in after and b"face" not in after
    assert after.count(KEPT.id.encode()) == 3 and made.clip_bytes(1) in after
    assert not (snapshot / GONE.clip.file).exists() and (snapshot / KEPT.clip.file).exists()
    item = SnapshotItem.objects.get(snapshot=run.snapshot, item_hash=GONE.id)  # the hash and the word stay
    assert (item.withdrawn, item.row, item.video, item.question) == (True, {}, None, None)
    assert set(Rollout.objects.values_list("item_hash", flat=True)) == {KEPT.id}
    run.refresh_from_db()
    assert run.log == ""


def test_what_learned_from_it_is_flagged_and_what_runs_is_ended(
    run: TrainingRun, project: Project, video: Video
) -> None:
    other = made.run(made.snapshot(project))
    TrainingRun.objects.filter(id=other.id).update(parent=run, base_model="")
    release = project.releases.create(number=1, sha256="ab" * 32)
    Evaluation.objects.create(project=project, number=1, name="e", model_kind="run", run=run, release=release)
    delete_video(video=video)
    run.refresh_from_db()
    other.refresh_from_db()
    assert (run.withdrawn, other.withdrawn, run.snapshot.withdrawn) == (True, True, True)
    assert not other.snapshot.withdrawn  # it began with flagged weights, on clean data
    assert Checkpoint.objects.get(run=run).withdrawn and Evaluation.objects.get().withdrawn
    assert run.job is not None and run.job.cancel_requested  # its worker ends it within seconds
    with pytest.raises(jobs.ClaimLost):  # and writes no rollout more
        jobs.cancelled(job=run.job)
        recording.keep_news(job=run.job, run_id=run.id, news=recording.News(), weights={})
    run.refresh_from_db()
    assert run.state == "stopped" and not queries.run_row(run, "admin")["may"]["resume"]
    for act in (services.resume, services.start):
        TrainingRun.objects.filter(id=run.id).update(state="stopped" if act is services.resume else "draft")
        run.refresh_from_db()
        run.preflight = {"state": "done", "for": services.preflight_key(run), "errors": []}
        run.save()
        with pytest.raises(Refused, match="was withdrawn"):
            act(run=run, user=None, version=run.version)


def test_words_of_its_jobs_are_forgotten(run: TrainingRun, video: Video) -> None:
    """A traceback, or a refusal, may quote the row it stopped at."""
    assert run.job is not None
    jobs.fail(job=run.job, error="Row 1: Who looks at Ann?", reason="fault", lines="KeyError: 'Ann'\n")
    delete_video(video=video)
    run.job.refresh_from_db()
    assert (run.job.log, run.job.error) == ("", withdrawal.FORGOTTEN)


def test_names_of_its_recording_go_from_what_is_told_of_the_snapshot(run: TrainingRun, video: Video) -> None:
    """Not those that another video's rows keep; a preflight repeats the leaks, so it goes."""
    snapshot = run.snapshot
    lost, kept = "The recording “recording 0” is in both splits.", "Item a shares 2 s of “recording 1”."
    snapshot.facts |= {
        "recordings": {"train": ["recording 0", "recording 1"], "validation": ["recording 0"]},
        "leaks": [lost, kept, "Items show the same 1 s of “withdrawn.mp4”."],
    }
    snapshot.save()
    place = folders.snapshot(snapshot.id) / "snapshot.json"
    place.write_text(json.dumps(snapshot.facts))
    TrainingRun.objects.filter(id=run.id).update(preflight={"state": "done", "warnings": [lost]})
    delete_video(video=video)
    snapshot.refresh_from_db()
    run.refresh_from_db()
    assert snapshot.facts["recordings"] == {"train": ["recording 1"], "validation": []}
    assert snapshot.facts["leaks"] == [kept] and snapshot.facts["counts"]["train"]["items"] == 5
    assert json.loads(place.read_text()) == snapshot.facts
    assert run.preflight["state"] == "failed" and lost not in json.dumps(run.preflight)


def test_other_snapshots_are_left_alone(run: TrainingRun, project: Project) -> None:
    stranger = make_video(project, name="stranger.mp4")
    delete_video(video=stranger)
    run.refresh_from_db()
    assert not run.withdrawn and Rollout.objects.count() == 4
    assert SnapshotItem.objects.filter(withdrawn=True).count() == 0


def test_an_erasure_that_was_cut_short_is_made_good_at_the_next_start(
    run: TrainingRun, video: Video, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(withdrawal, "erase", lambda _: None)  # killed between the commit and the files
        delete_video(video=video)
    assert (folders.snapshot(run.snapshot_id) / GONE.clip.file).exists()
    stray = folders.run("00000000-0000-0000-0000-000000000000")
    stray.mkdir()
    withdrawal.sweep()
    assert GONE.id.encode() not in everything(folders.snapshot(run.snapshot_id)) + everything(folders.run(run.id))
    assert not stray.exists() and folders.run(run.id).exists()


def test_a_video_that_goes_while_its_snapshot_is_built_is_in_none(project: Project, video: Video) -> None:
    made_of = DatasetSnapshot.objects.create(project=project, number=9, name="x")
    origin = recording.Origin(None, 1, video.id, None)
    delete_video(video=video)
    with transaction.atomic(), pytest.raises(Refused, match="was withdrawn or deleted while it was built"):
        recording.hold_videos(ids={origin.video})
    assert not made_of.items.exists()
