"""The clip task, run in this process against the real database: from a question to two files and a ready row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests import clips
from tests.workers import filmed
from webapp.bench.clips import ensure_clip, stored_clock
from webapp.bench.models import Bench, Clip, Question
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.library.models import Project
from webapp.tracks.models import Run
from workers.attempt import run, scratch
from workers.tasks import clipping

START, END = 40, 100


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[clips.Clip, Path]:
    return filmed.source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def question(transactional_db: None, source: tuple[clips.Clip, Path], tmp_path: Path, monkeypatch: Any) -> Question:
    """About 2 people who were looked for on every fifth frame of a video whose rate varies."""
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    video = filmed.make(Project.objects.create(slug="one", name="One"), *source, tmp_path)
    return Question.objects.create(
        project=video.project, video=video, number=1, category="mutual_gaze", difficulty="medium", text="Who?",
        start=START, end=END,
    )  # fmt: skip


def cut(question: Question, **settings: Any) -> tuple[Clip, Job]:
    """The question's clip, after its job was run."""
    bench = Bench.objects.update_or_create(project=question.project, defaults={"pad_before_s": 0, **settings})[0]
    clip = ensure_clip(question=question, bench=bench)
    job = Job.objects.filter(kind="clip").latest("created")
    run(str(job.id), "test@here", clipping.work, clipping.tidy)
    clip.refresh_from_db()
    job.refresh_from_db()
    return clip, job


def test_a_question_gets_its_clip(question: Question, source: tuple[clips.Clip, Path]) -> None:
    clip, job = cut(question, pad_after_s=0)
    assert (job.state, job.error, clip.ready, clip.error) == ("done", "", True, "")
    truth = source[0]
    with storage.local(f"{clip.folder}/clip.mp4") as path, av.open(str(path)) as file:
        numbers = [clips.read_number(f.to_ndarray(format="bgr24")) for f in file.decode(video=0)]
        assert path.stat().st_size == clip.facts["bytes"]
    assert numbers == truth.numbers[START:END]  # boxes and tags leave enough of the number to be read
    clock = stored_clock(clip)
    times = [float(time - truth.times[START]) for time in truth.times[START:END]]
    np.testing.assert_allclose(clock.seconds, times, atol=1e-9)
    assert [clock.source(t) for t in times] == list(range(START, END))
    assert job.result["bytes"] == clip.facts["bytes"] and "clip" in dict(job.stages)
    assert not scratch(job.id).exists()


def test_a_message_that_comes_again_cuts_nothing_again(question: Question) -> None:
    clip, job = cut(question)
    before = clip.facts
    again = jobs.create(project=question.project, kind="clip", queue="cpu", video=question.video,
                        parameters=job.parameters)  # fmt: skip
    run(str(again.id), "test@here", clipping.work, clipping.tidy)
    again.refresh_from_db()
    clip.refresh_from_db()
    assert again.state == "done" and "clip" not in dict(again.stages) and clip.facts == before
    assert storage.local_path(f"{clip.folder}/clip.mp4").exists()  # type: ignore[union-attr]


def test_a_file_that_is_gone_is_a_sentence_and_leaves_nothing(question: Question) -> None:
    assert question.video.blob is not None
    storage.delete_tree(question.video.blob.original)
    clip, job = cut(question, rendering="grasp", blur_faces=True)
    assert job.state == "failed" and "there is no such file" in job.error and clip.error == job.error
    assert not clip.ready and not storage.local_path(clip.folder).exists()  # type: ignore[union-attr]


def test_a_run_that_is_gone_is_a_sentence(question: Question) -> None:
    bench = Bench.objects.create(project=question.project)
    ensure_clip(question=question, bench=bench)
    Run.objects.all().delete()
    job = Job.objects.get(kind="clip")
    run(str(job.id), "test@here", clipping.work, clipping.tidy)
    job.refresh_from_db()
    assert job.error == "The run that says who is where is gone; ask for the clip again."


def test_a_job_that_is_over_leaves_another_ones_files_alone(question: Question, tmp_path: Path) -> None:
    """A cancelled job's message comes again while the next job has stored half of the clip."""
    clip = ensure_clip(question=question, bench=Bench.objects.create(project=question.project))
    first = Job.objects.get(kind="clip")
    jobs.cancel(job=first, user=None)
    ensure_clip(question=question, bench=Bench.objects.get(project=question.project))
    second = Job.objects.get(kind="clip", state="queued")
    half = tmp_path / "frames.npz"
    half.write_bytes(b"half of it")
    storage.put(half, f"{clip.folder}/frames.npz")
    run(str(first.id), "test@here", clipping.work, clipping.tidy)
    assert storage.local_path(f"{clip.folder}/frames.npz").exists()  # type: ignore[union-attr]
    jobs.cancel(job=second, user=None)
    run(str(second.id), "test@here", clipping.work, clipping.tidy)
    assert not storage.local_path(clip.folder).exists()  # type: ignore[union-attr]
