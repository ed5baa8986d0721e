"""The demo's bench, made here from the drawn scene's files: everything but pictures, clips and the broker is real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from rich.console import Console

from ml.formats import grasp_events, grasp_gaze, grasp_gestures
from ml.formats.hashing import sha256_of
from ml.synthetic import files
from ml.synthetic.motion import move
from ml.synthetic.table_talk import table_talk
from ml.synthetic.truth import happenings
from tests.webapp.bench.scene import Pretended, run_job
from webapp.accounts.models import LoginLink, User
from webapp.bench import clips
from webapp.bench.models import Adjudication, Answer, Clip, Question, Release, ReleaseItem
from webapp.events.models import Coverage, Event
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Blob, Project, Video
from webapp.studio import demo_bench

pytestmark = pytest.mark.django_db
COUNTED = (Video, Event, Coverage, Question, Answer, Adjudication, Clip, Release, ReleaseItem, User)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The drawn scene's files; in the video's place a few bytes."""
    place = tmp_path_factory.mktemp("talk")
    scene = table_talk()
    trees = {
        "gaze": grasp_gaze.build(files.gaze_file(scene, move(scene), "table-talk.mp4")),
        "events": grasp_events.build(files.events_file(scene, "table-talk.mp4")),
        "gestures": grasp_gestures.build(files.gestures_file(scene, "table-talk.mp4")),
    }
    for kind, tree in trees.items():
        (place / f"table-talk_{kind}.json").write_text(json.dumps(tree))
    (place / "table-talk.mp4").write_bytes(b"a drawn video")
    return place


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Project]:
    """A project in which imports, jobs and clips are done at once."""
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    monkeypatch.setattr(demo_bench, "import_one", imported)
    monkeypatch.setattr(demo_bench, "follow", lambda id, *_: done(Job.objects.get(id=id), tmp_path))
    monkeypatch.setattr(clips, "ensure_clip", cut(clips.ensure_clip))
    yield Project.objects.create(slug="demo", name="Demo")


def imported(project: Project, entry: Any, *_: Any) -> Video:
    times = BytesIO()
    np.savez(times, pts=np.arange(1601), time_base=np.array([1, 25]), counts=np.zeros(3, np.int64))
    blob = Blob.objects.create(sha256=sha256_of(entry.path), bytes=1, suffix=".mp4", ready=True)
    default_storage.save(f"{blob.folder}/frames.npz", ContentFile(times.getvalue()))
    return Video.objects.create(
        project=project, blob=blob, name=entry.name, state="ready", frames=1600, width=1280, height=720,
        duration_s=64.0, has_pixels=True, shots=[0], source_recording=entry.provenance["source_recording"],
    )  # fmt: skip


def done(job: Job, place: Path) -> Job:
    if job.kind != "release":
        return run_job(job)
    from workers.tasks import releasing

    attempt: Any = Pretended(jobs.claim(job_id=job.id, worker="here") or job)
    attempt.folder = place
    releasing.work(attempt)
    job.refresh_from_db()
    return job


def cut(real: Any) -> Any:
    def at_once(**wanted: Any) -> Clip:
        clip: Clip = real(**wanted)
        facts = {"sha256": "00" * 32, "bytes": 1, "frames": clip.end - clip.start, "width": 1280, "height": 720}
        Clip.objects.filter(id=clip.id).update(ready=True, facts=facts | {"duration_s": (clip.end - clip.start) / 25})
        return clip

    return at_once


def make(project: Project, folder: Path) -> None:
    demo_bench.make(project=project, folder=folder, screen=Console(quiet=True), look_after=lambda: None)


def test_the_demo_bench_has_something_on_every_page(project: Project, folder: Path) -> None:
    assert not demo_bench.is_there(project)
    make(project, folder)
    assert demo_bench.is_there(project)
    has_questions_of_every_state(project)
    has_what_was_drawn(Video.objects.get(project=project))
    nobody_can_log_in()
    before = [model._default_manager.count() for model in COUNTED]
    make(project, folder)
    assert [model._default_manager.count() for model in COUNTED] == before  # nothing is made twice


def has_questions_of_every_state(project: Project) -> None:
    states = {state: Question.objects.filter(project=project, state=state).count() for state in Question.State.values}
    assert states["answering"] == demo_bench.WAITING and states["draft"] > 20
    assert states["disputed"] == 2 and states["rejected"] == 1
    assert states["accepted"] == demo_bench.ANSWERED - 3
    assert {adjudication.verdict for adjudication in Adjudication.objects.all()} == {"accept", "reject"}
    assert Answer.objects.count() == 2 * demo_bench.ANSWERED
    release = Release.objects.get(project=project)
    assert release.items.count() == states["accepted"] and release.number == 1
    assert "simulated" in release.notes
    assert len(set(Question.objects.filter(state="accepted").values_list("category", flat=True))) >= 13


def has_what_was_drawn(video: Video) -> None:
    numbers = {str(person.id): person.number for person in video.persons.all()}
    confirmed = Event.objects.filter(video=video, status="confirmed").prefetch_related("participations")
    found = {
        (e.type, e.start, e.end, tuple(sorted((numbers[str(p.person_id)], p.role) for p in e.participations.all())))
        for e in confirmed
    }
    truth = table_talk().truth
    wanted = {
        (e.type, e.start, e.end, tuple(sorted((truth.numbers[column], role) for column, role in e.roles)))
        for e in happenings(truth)
    }
    assert found == wanted
    assert not Event.objects.filter(video=video, status="proposed").exists()
    assert {row.modality for row in Coverage.objects.filter(video=video, start=0, end=1600)} == {"gaze", "gesture"}
    pointing = Event.objects.filter(video=video, type="pointing", start=165).get()
    assert (pointing.details["target_kind"], pointing.details["target_description"]) == ("location", "the window")


def nobody_can_log_in() -> None:
    people = User.objects.filter(username__startswith="demo-")
    assert people.count() == 4
    for user in people:
        assert "simulated" in user.shown_name
        assert not user.is_active and not user.has_usable_password() and not user.is_superuser
    assert not LoginLink.objects.filter(user__in=people).exists()


def test_a_start_that_was_cut_short_again_and_again_is_carried_on(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in ("mark", "asked", "answer_all", "decide", "cut_clips"):
        with monkeypatch.context() as patch:
            patch.setattr(demo_bench, step, interrupted)
            with pytest.raises(KeyboardInterrupt):
                make(project, folder)
        assert not demo_bench.is_there(project)
    make(project, folder)
    has_questions_of_every_state(project)


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_questions_are_picked_by_category_in_turn() -> None:
    made: list[Any] = [SimpleNamespace(category=c, number=n) for n, c in enumerate("aaabbc")]
    assert [q.number for q in demo_bench.pick(made, 4)] == [0, 3, 5, 1]
