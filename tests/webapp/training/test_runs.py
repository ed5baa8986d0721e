"""Snapshots and runs as people make, start, stop and delete them: what is refused, and what happens once only."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.db import close_old_connections, connection, transaction

from tests.webapp.training import made
from webapp.bench.models import Release
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Project
from webapp.runs import evaluating, folders, recording, services
from webapp.runs.models import DatasetSnapshot, Evaluation, TrainingRun


@pytest.fixture
def draft(people: SimpleNamespace) -> TrainingRun:
    return made.run(made.snapshot(people.one))


def refused(sentence: str, act: Any, **given: Any) -> None:
    with pytest.raises(Refused, match=sentence):
        act(**given)


def start(run: TrainingRun) -> TrainingRun:
    return services.start(run=run, user=None, version=run.version)


def working(run: TrainingRun) -> Job:
    """The run's job as a worker has claimed it."""
    run.refresh_from_db()
    job = jobs.claim(job_id=run.job_id, worker="w@elsewhere/1-1")  # type: ignore[arg-type]
    assert job is not None
    recording.begin_training(job=job, run_id=run.id)
    return job


def test_a_snapshot_is_asked_for_once_with_what_it_is_of(people: SimpleNamespace) -> None:
    release = Release.objects.create(project=people.one, number=1, sha256="ab" * 32)
    one = services.create_snapshot(project=people.one, user=people.alice, releases=[release], seed=3)
    assert (one.number, one.name, one.state, one.job.kind) == (1, "Snapshot 1", "queued", "snapshot")  # type: ignore[union-attr]
    assert one.sources == {"releases": [str(release.id)], "questions": False}
    give = {"project": people.one, "user": people.alice}
    refused("at least one release", services.create_snapshot, **give)
    refused("no accepted question", services.create_snapshot, **give, questions=True)
    refused("0 to 0.9", services.create_snapshot, **give, releases=[release], validation_share=1.0)
    refused("whole number", services.create_snapshot, **give, releases=[release], seed=True)
    theirs = Release.objects.create(project=people.two, number=1, sha256="cd" * 32)
    refused("another project", services.create_snapshot, **give, releases=[theirs])


def test_a_cancelled_snapshot_says_so_and_goes(people: SimpleNamespace) -> None:
    release = Release.objects.create(project=people.one, number=1, sha256="ab" * 32)
    one = services.create_snapshot(project=people.one, user=None, releases=[release])
    refused("being built", services.delete_snapshot, snapshot=one)
    assert one.job is not None
    jobs.cancel(job=one.job, user=None)
    one.refresh_from_db()
    assert (one.state, one.error) == ("failed", "The making of this snapshot was cancelled.")
    services.delete_snapshot(snapshot=one)
    two = services.create_snapshot(project=people.one, user=None, releases=[release])
    assert two.number == 2  # a number is not given again


def test_a_run_keeps_its_settings_as_resolved(people: SimpleNamespace, draft: TrainingRun) -> None:
    assert (draft.number, draft.state, draft.max_steps, draft.seed) == (1, "draft", 4, 0)
    other = made.run(draft.snapshot, ready=False, overrides={"train.max_steps": "9"}, seed=5)
    assert (other.number, other.max_steps, other.seed) == (2, 9, 5)
    assert other.config["train"]["max_steps"] == 9 and "paths" not in other.config
    assert other.overrides == {"train.max_steps": "9", "train.seed": 5}
    assert other.preflight["state"] == "queued" and Job.objects.get(id=other.preflight["job"]).kind == "preflight"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"stage": "dpo"}, "no stage 'dpo'"),
        ({"preset": "../tiny-cpu"}, "no preset"),
        ({"preset": "/etc/passwd"}, "no preset"),
        ({"overrides": {"train.max_step": 3}}, "train.max_step'"),
        ({"overrides": {"train.learning_rate": "fast"}}, "must be a number"),
        ({"overrides": {"paths.model": "/etc"}}, "paths.model is not for you"),
        ({"overrides": {"rollouts.num_generations": 7}}, "must be a multiple of"),
        ({"base_model": ""}, "Choose a model"),
        ({"base_model": "../models/tiny"}, "no model '../models/tiny'"),
        ({"base_model": "/etc"}, "no model '/etc'"),
        ({"name": "x" * 121}, "at most 120"),
        ({"name": "a\0b"}, "at most 120"),
        ({"seed": -1}, "whole number"),
    ],
)
def test_a_run_that_could_not_be_started_is_no_draft(people: SimpleNamespace, given: Any, sentence: str) -> None:
    refused(sentence, made.run, made=made.snapshot(people.one), **given)
    assert not TrainingRun.objects.exists()


def test_a_run_needs_a_whole_snapshot_of_its_project_with_rows_of_its_stage(people: SimpleNamespace) -> None:
    whole = made.snapshot(people.one)
    theirs = made.snapshot(people.two)
    give = {"stage": "grpo", "preset": "tiny-cpu", "base_model": made.model(), "user": None, "project": people.one}
    refused("its own project", services.create_run, **give, snapshot=theirs)
    whole.withdrawn = True
    refused("was withdrawn", services.create_run, **give, snapshot=whole)
    whole.withdrawn, whole.state = False, "building"
    refused("not ready: it is building", services.create_run, **give, snapshot=whole)
    whole.state, whole.facts["counts"]["train"]["sft"] = "ready", 0
    refused("no items with a reasoning trace", services.create_run, **(give | {"stage": "sft"}), snapshot=whole)


def test_it_starts_only_after_a_fresh_preflight_without_errors(draft: TrainingRun) -> None:
    key = draft.preflight["for"]
    for preflight, sentence in (
        ({}, "Something changed"),
        ({"state": "queued", "for": key}, "not done yet"),
        ({"state": "failed", "for": key, "error": "It broke."}, "It broke."),
        ({"state": "done", "for": "another", "errors": []}, "Something changed"),
        ({"state": "done", "for": key, "errors": ["Too long."]}, "says no: Too long."),
    ):
        TrainingRun.objects.filter(id=draft.id).update(preflight=preflight)
        draft.refresh_from_db()
        refused(sentence, start, run=draft)
    assert not Job.objects.filter(kind="train").exists()
    changed = services.change_draft(run=draft, user=None, version=1, changes={"overrides": {"train.max_steps": 8}})
    assert changed.preflight["state"] == "queued" and changed.preflight["for"] != key and changed.max_steps == 8
    recording.keep_preflight(run_id=draft.id, key=key, told={"errors": []})  # of what it was before
    changed.refresh_from_db()
    assert changed.preflight["state"] == "queued"
    recording.keep_preflight(run_id=draft.id, key=changed.preflight["for"], told={"errors": [], "steps": 8})
    changed.refresh_from_db()
    assert (start(changed).state, changed.preflight["steps"]) == ("queued", 8)


def test_two_admins_or_a_double_click_start_it_once(draft: TrainingRun) -> None:
    mine, theirs = (TrainingRun.objects.get(id=draft.id) for _ in range(2))
    assert start(mine).version == 2
    with pytest.raises(Stale) as stale:
        start(theirs)
    assert stale.value.theirs == {"version": 2, "state": "queued"}
    refused("was started already: it is queued", start, run=TrainingRun.objects.get(id=draft.id))
    assert Job.objects.filter(kind="train").count() == 1


@pytest.mark.django_db(transaction=True)
def test_ten_at_the_same_moment_start_it_once(transactional_db: None) -> None:
    project = Project.objects.create(slug="one", name="One")
    draft = made.run(made.snapshot(project))
    barrier, came = threading.Barrier(10), []

    def press() -> None:
        close_old_connections()
        barrier.wait()
        try:
            came.append(start(draft).state)
        except (Stale, Refused):
            came.append("no")
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(came) == ["no"] * 9 + ["queued"] and Job.objects.filter(kind="train").count() == 1


def test_a_run_that_waits_stops_at_once_and_is_a_draft_again(draft: TrainingRun) -> None:
    run = start(draft)
    run = services.stop(run=run, user=None, version=run.version)
    assert run.state == "draft" and Job.objects.get(kind="train").state == "cancelled"
    assert start(run).state == "queued"


def test_a_stop_is_heard_by_the_worker_at_its_next_look(draft: TrainingRun) -> None:
    job = working(start(draft))
    run = TrainingRun.objects.get(id=draft.id)
    assert (run.state, run.started is not None) == ("running", True)
    news = recording.News(state={"step": 1, "max_steps": 4, "attempt": 1, "resumed_from": None})
    assert recording.keep_news(job=job, run_id=run.id, news=news, weights={}) == "running"
    services.stop(run=run, user=None, version=run.version)
    assert recording.keep_news(job=job, run_id=run.id, news=news, weights={}) == "stopping"
    run.refresh_from_db()
    assert services.stop(run=run, user=None, version=run.version).state == "stopping"  # again is once


def test_only_what_is_over_goes_on_and_only_what_does_not_run_is_deleted(draft: TrainingRun) -> None:
    refused("Only a stopped or failed run", services.resume, run=draft, user=None, version=1)
    job = working(start(draft))
    run = TrainingRun.objects.get(id=draft.id)
    refused("stop it first", services.delete, run=run, version=run.version)
    refused("no draft any more", services.change_draft, run=run, user=None, version=run.version, changes={})
    jobs.fail(job=job, error="It broke.")
    run.refresh_from_db()
    assert (run.state, run.error) == ("failed", "It broke.")
    run = services.resume(run=run, user=None, version=run.version)
    assert run.state == "queued" and run.error == "" and run.job_id != job.id
    jobs.cancel(job=Job.objects.get(id=run.job_id), user=None)  # type: ignore[misc]
    run.refresh_from_db()
    folders.run(run.id).mkdir(parents=True)
    services.delete(run=run, version=run.version)
    assert not TrainingRun.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_files_go_with_a_run_and_a_snapshot(transactional_db: None) -> None:
    snapshot = made.snapshot(Project.objects.create(slug="one", name="One"))
    draft = made.run(snapshot)
    (folders.run(draft.id) / "final").mkdir(parents=True)
    refused("Run 1 was made with this snapshot", services.delete_snapshot, snapshot=snapshot)
    services.delete(run=draft, version=draft.version)
    services.delete_snapshot(snapshot=snapshot)
    assert not folders.run(draft.id).exists() and not folders.snapshot(snapshot.id).exists()


def test_a_run_can_begin_with_the_final_model_of_another(people: SimpleNamespace, draft: TrainingRun) -> None:
    refused("has no final model; it is draft", made.run, made=draft.snapshot, base_model="", parent=draft)
    TrainingRun.objects.filter(id=draft.id).update(state="done")
    draft.refresh_from_db()
    (folders.run(draft.id) / "final").mkdir(parents=True)
    child = made.run(draft.snapshot, base_model="", parent=draft)
    assert child.parent == draft
    refused("Run 2 begins with this run's model", services.delete, run=draft, version=draft.version)
    other = made.snapshot(people.two)
    refused("of its own project", made.run, made=other, base_model="", parent=draft)


def test_what_begins_with_flagged_weights_is_flagged(people: SimpleNamespace, draft: TrainingRun) -> None:
    """Also where it is made after the withdrawal; a draft that is given clean weights has learned nothing of it."""
    TrainingRun.objects.filter(id=draft.id).update(state="done", withdrawn=True)
    draft.refresh_from_db()
    (folders.run(draft.id) / "final").mkdir(parents=True)
    child = made.run(draft.snapshot, base_model="", parent=draft)
    assert child.withdrawn
    changed = services.change_draft(
        run=child, user=None, version=1, changes={"parent": None, "base_model": made.model()}
    )
    assert not changed.withdrawn
    other = made.run(draft.snapshot, base_model="", parent=draft)
    TrainingRun.objects.filter(id=other.id).update(withdrawn=False)  # made a moment before the withdrawal
    other.refresh_from_db()
    assert start(other).withdrawn


def test_a_run_whose_model_is_asked_neither_goes_nor_goes_on(people: SimpleNamespace, draft: TrainingRun) -> None:
    job = working(start(draft))
    jobs.fail(job=job, error="It broke.")
    run = TrainingRun.objects.get(id=draft.id)
    run.checkpoints.create(step=2, path="checkpoints/checkpoint-2")
    release = Release.objects.create(project=people.one, number=1, sha256="ab" * 32)
    made_of = evaluating.start(project=people.one, user=None, release=release, model="run:1:2")
    sentence = "Evaluation 1 asks a model of run 1"
    refused(sentence, services.resume, run=run, user=None, version=run.version)
    refused(sentence, services.delete, run=run, version=run.version)
    refused(sentence, jobs.retry, job=job, user=None)
    job.refresh_from_db()
    assert job.state == "failed"
    evaluating.stop(evaluation=made_of, user=None)
    run = services.resume(run=run, user=None, version=run.version)
    made_of.refresh_from_db()
    evaluating.again(evaluation=made_of, user=None)  # its worker refuses then
    refused("still training", evaluating.model_of, evaluation=Evaluation.objects.get(id=made_of.id))


def test_a_model_is_not_asked_of_a_run_that_went_on_meanwhile(people: SimpleNamespace, draft: TrainingRun) -> None:
    TrainingRun.objects.filter(id=draft.id).update(state="stopped")
    draft.checkpoints.create(step=2, path="checkpoints/checkpoint-2")
    release = Release.objects.create(project=people.one, number=1, sha256="ab" * 32)
    who = evaluating.chosen(people.one, "run:1:2")
    TrainingRun.objects.filter(id=draft.id).update(state="running")
    with pytest.raises(Refused, match="still training"):
        evaluating._start(uuid4(), people.one, None, release, who, "", "", {"seed": 0})
    assert not Evaluation.objects.exists()


def test_a_job_that_was_cancelled_does_not_train_a_draft_that_was_changed_since(draft: TrainingRun) -> None:
    run = start(draft)
    old = Job.objects.get(id=run.job_id)  # type: ignore[misc]
    jobs.cancel(job=old, user=None)
    run.refresh_from_db()
    assert (run.state, run.job) == ("draft", None)
    services.change_draft(run=run, user=None, version=run.version, changes={"overrides": {"train.max_steps": 8}})
    jobs.retry(job=old, user=None)
    run.refresh_from_db()
    assert run.state == "draft"  # its new preflight is not through
    job = jobs.claim(job_id=old.id, worker="w@elsewhere/1-1")
    assert job is not None
    refused("does not wait for this job", recording.begin_training, job=job, run_id=run.id)


def test_a_preflight_of_what_the_draft_was_ends_in_a_sentence(draft: TrainingRun) -> None:
    """Changed to and fro while a job looks: that job's answer is to another question, and nobody waits for ever."""
    job = services.request_preflight(run=draft, user=None)
    jobs.claim(job_id=job.id, worker="w@elsewhere/1-1")
    job.refresh_from_db()
    with transaction.atomic():
        jobs.finish(job=job, result={"outdated": True})
    draft.refresh_from_db()
    assert (draft.preflight["state"], draft.preflight["error"]) == ("failed", recording.CHANGED)
    job = services.request_preflight(run=draft, user=None)
    jobs.claim(job_id=job.id, worker="w@elsewhere/1-1")
    job.refresh_from_db()
    with transaction.atomic():
        recording.keep_preflight(run_id=draft.id, key=job.parameters["for"], told={"errors": []})
        jobs.finish(job=job, result={})
    draft.refresh_from_db()
    assert draft.preflight["state"] == "done"


def test_a_snapshot_deleted_while_a_run_is_made_of_it_is_said(people: SimpleNamespace) -> None:
    snapshot = made.snapshot(people.one)
    DatasetSnapshot.objects.filter(id=snapshot.id).delete()
    refused("Snapshot 1 was deleted meanwhile", made.run, made=snapshot)


def test_a_clone_is_a_draft_with_the_same_settings(draft: TrainingRun) -> None:
    run = services.change_draft(run=draft, user=None, version=1, changes={"overrides": {"train.max_steps": 9}})
    again = services.clone(run=run, user=None)
    assert (again.number, again.state, again.cloned_from, again.config) == (2, "draft", run, run.config)
    assert again.name == "Run 1 (again)" and again.preflight["state"] == "queued"


def test_a_curator_cannot_start_a_training_by_the_back_door(
    people: SimpleNamespace, draft: TrainingRun, as_user: Any
) -> None:
    """Retrying or cancelling a job of a run is training, too."""
    job = working(start(draft))
    jobs.fail(job=job, error="It broke.")
    for who, status in ((people.cora, 403), (people.alice, 200)):
        assert as_user(who).post(f"/api/v1/jobs/{job.id}/retry").status_code == status
    draft.refresh_from_db()
    assert draft.state == "queued"
    assert as_user(people.cora).post(f"/api/v1/jobs/{job.id}/cancel").status_code == 403


def test_a_conflict_says_what_the_run_is_now(people: SimpleNamespace, draft: TrainingRun, as_user: Any) -> None:
    client = as_user(people.alice)
    address = f"/api/v1/projects/one/runs/{draft.number}"
    first = client.post(f"{address}/start", {"version": 1}, content_type="application/json")
    again = client.post(f"{address}/start", {"version": 1}, content_type="application/json")
    assert first.status_code == 200 and first.json()["state"] == "queued" and first.json()["may"]["stop"]
    assert (again.status_code, again.json()) == (409, {"error": "Somebody else was quicker: run 1 is queued now."})


def test_what_a_training_job_logged_is_for_reviewers(people: SimpleNamespace, draft: TrainingRun, as_user: Any) -> None:
    """A traceback may quote an item with its key; whether the job failed, and why, everybody may know."""
    job = working(start(draft))
    jobs.fail(job=job, error="It broke.", lines="the key is B")
    for who, shown in ((people.vera, False), (people.bob, False), (people.rita, True)):
        told = as_user(who).get(f"/api/v1/jobs/{job.id}").json()
        assert ("the key is B" in told["log"]) == shown and told["error"] == "It broke."
