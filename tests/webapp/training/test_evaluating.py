"""Evaluations are started once, by what is there; they follow their jobs, and lose what is withdrawn."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from tests.webapp.training import evaluated
from webapp.bench.models import Release
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.services import delete_video
from webapp.runs import evaluating, folders
from webapp.runs.models import Checkpoint, DatasetSnapshot, Evaluation, TrainingRun

pytestmark = pytest.mark.django_db


@pytest.fixture
def release(people: SimpleNamespace) -> Release:
    return evaluated.make_release(people.one)


@pytest.fixture
def run(people: SimpleNamespace) -> TrainingRun:
    """A run with a checkpoint at step 2 and its final model at step 4."""
    snapshot = DatasetSnapshot.objects.create(project=people.one, number=1, name="s", state="ready")
    made = TrainingRun.objects.create(
        project=people.one, number=7, name="warm", stage="sft", snapshot=snapshot, preset="tiny-cpu", state="done"
    )
    Checkpoint.objects.create(run=made, step=2, path="checkpoints/checkpoint-2")
    Checkpoint.objects.create(run=made, step=4, path="final", final=True)
    return made


def upload(text: str = '{"id": "q00001", "text": "<answer>B</answer>"}\n', name: str = "my model.jsonl") -> Any:
    return SimpleUploadedFile(name, text.encode())


def start(people: SimpleNamespace, release: Release, model: str, **more: Any) -> Evaluation:
    return evaluating.start(project=people.one, user=people.alice, release=release, model=model, **more)


def test_two_clicks_start_one(people: SimpleNamespace, release: Release, run: TrainingRun) -> None:
    first = start(people, release, "run:7")
    again = start(people, release, "run:7")
    other = start(people, release, "run:7", control="text-only")
    assert again.id == first.id and other.id != first.id and (first.number, other.number) == (1, 2)
    assert Job.objects.filter(kind="evaluate").count() == 2
    assert first.job is not None and (first.job.queue, first.model) == ("train", "warm (final)")
    assert first.run == run and first.checkpoint is None


def test_the_same_file_twice_is_one_and_leaves_one_folder(people: SimpleNamespace, release: Release) -> None:
    first = start(people, release, "predictions", file=upload())
    again = start(people, release, "predictions", file=upload())
    assert again.id == first.id and first.job is not None and first.job.queue == "cpu"
    assert [path.name for path in folders.evaluation("x").parent.iterdir()] == [str(first.id)]
    given = evaluating.given_file(first)
    assert given is not None and given.name == "my_model.jsonl" and first.name == "my_model"


def test_the_same_replies_are_not_counted_as_asked_in_two_ways(people: SimpleNamespace, release: Release) -> None:
    start(people, release, "predictions", file=upload())
    with pytest.raises(Refused, match="Evaluation 1 counts this very file without a control"):
        start(people, release, "predictions", file=upload(), control="text-only")
    assert Evaluation.objects.count() == 1


def test_a_checkpoint_is_named_by_its_step(people: SimpleNamespace, release: Release, run: TrainingRun) -> None:
    made = start(people, release, "run:7:2")
    assert (made.checkpoint, made.model) == (2, "warm (step 2)")
    assert evaluating.model_of(made) == str(folders.run(run.id) / "checkpoints/checkpoint-2")
    final = start(people, release, "run:7")
    assert evaluating.model_of(final) == str(folders.run(run.id) / "final")
    words = [word for _, choices in evaluating.offered(people.one) for word, _ in choices]
    assert {"run:7", "run:7:2", "predictions"} <= set(words) and "endpoint" not in words


@pytest.mark.parametrize(
    ("model", "more", "sentence"),
    [
        ("run:8", {}, "There is no run 8"),
        ("run:7:3", {}, "Run 7 has no complete checkpoint at step 3"),
        ("run:x", {}, "named as run:3"),
        ("folder:../../etc", {}, "There is no model '../../etc'"),
        ("/etc/passwd", {}, "no model '/etc/passwd' to evaluate"),
        ("endpoint", {}, "No multimodal endpoint"),
        ("predictions", {}, "Choose the file"),
        ("predictions", {"file": upload("")}, "The file is empty"),
        ("run:7", {"control": "blind"}, "no control 'blind'"),
        ("run:7", {"settings": evaluating.Settings(frames=0)}, "between 1 and 240"),
        ("run:7", {"settings": evaluating.Settings(limit=0)}, "The number of items lies between"),
        ("run:7", {"name": "x\0"}, "A name has at most 120 characters"),
    ],
)  # fmt: skip
def test_it_refuses_in_a_sentence_and_leaves_nothing(
    people: SimpleNamespace, release: Release, run: TrainingRun, model: str, more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        start(people, release, model, **more)
    assert not Evaluation.objects.exists() and not Job.objects.exists()
    assert not folders.evaluation("x").parent.exists() or not list(folders.evaluation("x").parent.iterdir())


def test_a_run_that_trains_is_left_alone(people: SimpleNamespace, release: Release, run: TrainingRun) -> None:
    TrainingRun.objects.update(state="running")
    with pytest.raises(Refused, match="still training"):
        start(people, release, "run:7:2")
    assert "run:7:2" not in [word for _, choices in evaluating.offered(people.one) for word, _ in choices]


def test_another_project_has_neither_release_nor_run(
    people: SimpleNamespace, release: Release, run: TrainingRun
) -> None:
    with pytest.raises(Refused, match="another project"):
        evaluating.start(project=people.two, user=people.charlie, release=release, model="predictions", file=upload())
    with pytest.raises(Refused, match="no run 7"):
        evaluating.start(project=people.two, user=people.charlie, release=release, model="run:7")


def test_it_follows_its_job(people: SimpleNamespace, release: Release) -> None:
    made = start(people, release, "predictions", file=upload())

    def state() -> str:
        made.refresh_from_db()
        return made.state

    assert made.job is not None
    claimed = jobs.claim(job_id=made.job.id, worker="w@h/1")
    assert claimed is not None
    evaluating.began(evaluation_id=made.id)
    assert state() == "running"
    jobs.fail(job=claimed, error="The model is broken.")
    assert state() == "failed" and made.error == "The model is broken."
    evaluating.again(evaluation=Evaluation.objects.get(id=made.id), user=people.alice)
    assert state() == "queued" and made.error == ""
    evaluating.stop(evaluation=Evaluation.objects.get(id=made.id), user=people.alice)
    assert state() == "cancelled"
    with pytest.raises(Refused, match="over already"):
        evaluating.stop(evaluation=Evaluation.objects.get(id=made.id), user=people.alice)


def test_results_counted_under_an_older_release_are_refused(people: SimpleNamespace, release: Release) -> None:
    made = evaluated.evaluate(release, evaluated.replies_of(evaluated.RIGHT))
    was = evaluating.standing(release.id)
    assert was == {"withdrawn": 0, "retired": 0} and made.state == "done"
    release.items.filter(position=1).update(retired=timezone.now(), retired_why="mirror")
    with pytest.raises(evaluating.Changed):
        evaluating.keep(evaluation_id=made.id, results={}, out=was)
    made.refresh_from_db()
    assert made.results["overall"]["n"] == 12


def test_a_rewritten_release_has_its_evaluations_counted_again_once(people: SimpleNamespace, release: Release) -> None:
    made = evaluated.evaluate(release, evaluated.replies_of(evaluated.RIGHT))
    rewritten = Job(kind="release", state="done", parameters={"rewrite": str(release.id), "erased": False})
    evaluating.follow_release(rewritten)
    assert not Job.objects.exists()  # nothing went away
    release.items.filter(position=1).update(retired=timezone.now(), retired_why="mirror")
    for _ in range(2):
        evaluating.follow_release(rewritten)
    job = Job.objects.get()
    assert (job.kind, job.queue, job.parameters) == ("evaluate", "cpu", {"evaluation": str(made.id), "recount": True})


def test_the_lines_of_withdrawn_items_are_erased_and_a_recount_is_queued(
    people: SimpleNamespace, release: Release, video: Any, django_capture_on_commit_callbacks: Any
) -> None:
    for row in release.items.filter(position__in=(2, 3)):
        row.item = row.item | {"provenance": {"video": str(video.id)}}
        row.save()
    made = evaluated.evaluate(release, evaluated.replies_of(evaluated.RIGHT))
    untouched = evaluated.evaluate(evaluated.make_release(people.one, 2), evaluated.replies_of(evaluated.WRONG))
    with django_capture_on_commit_callbacks(execute=True):
        delete_video(video=video)
    folder = folders.evaluation(made.id)
    for name in evaluating.ITEM_FILES:
        lines = [json.loads(line)["id"] for line in (folder / name).read_text().splitlines()]
        assert lines == [id for id in evaluated.IDS if id not in ("q00002", "q00003")], name
    assert "q00002" not in "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    assert not (folder / "lmms_eval").exists() and (folders.evaluation(untouched.id) / "lmms_eval").exists()
    made.refresh_from_db()
    untouched.refresh_from_db()
    assert made.withdrawn and not untouched.withdrawn
    assert Job.objects.filter(kind="evaluate", parameters__evaluation=str(made.id), parameters__recount=True).count()
