"""Evaluations by the worker's task: a file, an endpoint over real HTTP, weights in a process of their own; killed,
stopped, gone on with, and on a release that loses items meanwhile. Figures are counted by hand."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction

from tests.clips import make
from tests.ml.endpoint.server import KEY, Answer, Server, fails, says
from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import make_scene
from tests.workers.conftest import Worker, wait_for
from tests.workers.killing import finish
from webapp.accounts.models import User
from webapp.bench import releases
from webapp.bench.models import Clip, Release
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Project, Video
from webapp.library.services import delete_video
from webapp.runs import evaluating, folders
from webapp.runs.models import Evaluation
from workers.attempt import run
from workers.tasks import evaluating as task

GROUNDED = "<think><gaze>Person 2 follows.</gaze></think><answer>{}</answer>"


@pytest.fixture(autouse=True)
def own_folders() -> Iterator[None]:
    yield
    for name in ("evaluations", "models"):
        folders.remove(Path(settings.DATA) / name)


@pytest.fixture
def bob(project: Project) -> User:
    return User.objects.create(username="bob", is_superuser=True)


@pytest.fixture
def release(project: Project, bob: User, monkeypatch: pytest.MonkeyPatch) -> Release:
    """Twelve items of two tapes, six each; each has four options and one key."""
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    for n in range(2):
        accept(make_scene(project, bob, source_recording=f"tape {n}"), 6)
    made = releases.draft(project=project)
    with transaction.atomic():
        return releases.keep(made=made, user=bob, id=Release().id)


def keys(release: Release) -> dict[str, str]:
    return {row.item["id"]: row.item["answer"] for row in release.items.order_by("position")}


def other(letter: str) -> str:
    return "A" if letter != "A" else "B"


def start(release: Release, model: str, **more: Any) -> Evaluation:
    return evaluating.start(project=release.project, user=None, release=release, model=model, **more)


def upload(lines: Sequence[dict[str, str]]) -> Any:
    return SimpleUploadedFile("mine.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())


def do(evaluation: Evaluation) -> Evaluation:
    """An attempt at its job, in this process."""
    run(str(evaluation.job_id), "test@here", task.work, task.tidy)
    evaluation.refresh_from_db()
    return evaluation


def recount(evaluation: Evaluation) -> Evaluation:
    for job in Job.objects.filter(kind="evaluate", state="queued", parameters__recount=True):
        run(str(job.id), "test@here", task.work, task.tidy)
        job.refresh_from_db()
        assert job.state == "done", job.error
    evaluation.refresh_from_db()
    return evaluation


def replied(evaluation: Evaluation) -> list[str]:
    path = folders.evaluation(evaluation.id) / "replies.jsonl"
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


# ---------------------------------------------------------------------------------------------------------------------
# A file


def test_a_file_is_counted_kept_and_forgotten(release: Release) -> None:
    """Of twelve: seven right by the tag, one by the lenient reading alone, two wrong, one silent, one missing: 7 of 11
    replies are right, 8 of 11 leniently, and 7 of 12 if the missing one were wrong."""
    told = keys(release)
    ids = list(told)
    said = {id: GROUNDED.format(told[id]) for id in ids[:7]} | {ids[7]: f"<think>x</think>({told[ids[7]].lower()})"}
    said |= {id: GROUNDED.format(other(told[id])) for id in ids[8:10]} | {ids[10]: "<think>x</think>hm"}
    lines = [{"id": id, "text": text} for id, text in said.items()]
    made = do(start(release, "predictions", file=upload([*lines, {"id": "q99999", "text": "A"}]), name="--mine"))
    assert (made.state, made.error, made.results["model"]["name"]) == ("done", "", "--mine")
    overall = made.results["overall"]
    counts = {name: overall[name] for name in ("n", "right", "wrong", "unanswered", "error", "missing", "videos")}
    assert counts == {"n": 12, "right": 7, "wrong": 2, "unanswered": 2, "error": 0, "missing": 1, "videos": 2}
    values = {name: round(overall["accuracy"][name]["value"], 6) for name in ("strict", "released", "lenient")}
    assert values == {"strict": round(7 / 11, 6), "released": round(7 / 11, 6), "lenient": round(8 / 11, 6)}
    assert overall["at_least"] == pytest.approx(7 / 12)
    assert "1 predictions are of items that are not asked here." in made.results["notes"]
    assert made.results["bench"]["number"] == 1 and made.results["out"] == {"withdrawn": 0, "retired": 0}
    # Person 2 follows in the events of every item, Person 0 is named by its question: nine replies name him alone
    assert made.results["grounded"]["precision"]["value"] == 1.0 and made.results["grounded"]["n"] == 9
    assert made.results["points"] == [
        {"name": "gaze_following", "n": 9, "precision": 1.0, "accuracy": pytest.approx(7 / 9)}
    ]
    folder = folders.evaluation(made.id)
    assert {path.name for path in folder.iterdir()} >= {"results.json", "items.jsonl", "replies.jsonl", "lmms_eval"}
    assert evaluating.given_file(made) is None and not (Path(settings.DATA) / "work" / str(made.job_id)).exists()
    assert made.job is not None and Job.objects.get(id=made.job.id).result["items"] == 12


def test_a_file_that_is_none_says_where_without_our_folders(release: Release) -> None:
    broken = SimpleUploadedFile("mine.jsonl", b'{"id": "q00001", "text": "A"}\nnot json\n')
    made = do(start(release, "predictions", file=broken))
    assert made.state == "failed" and "line 2" in made.error and str(settings.DATA) not in made.error
    strange = do(start(release, "predictions", file=upload([{"id": "x", "text": "A"}])))
    assert strange.error == "mine.jsonl: none of its 1 ids is an item of one r1."


@pytest.mark.long
def test_a_real_worker_does_it(project: Project, bob: User, worker: Worker) -> None:
    accept(make_scene(project, bob, source_recording="tape"), 2)
    accept(make_scene(project, bob, source_recording="other tape"), 2)
    cut = finish(releases.cut(project=project, user=bob))
    release = Release.objects.get(id=cut.result["release"])
    made = start(release, "predictions", file=upload([{"id": id, "text": key} for id, key in keys(release).items()]))
    wait_for(lambda: Evaluation.objects.filter(id=made.id, state="done").exists(), 60, "the evaluation")
    made.refresh_from_db()
    assert made.results["overall"]["right"] == 4


# ---------------------------------------------------------------------------------------------------------------------
# An endpoint


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Server]]:
    running: list[Server] = []

    def serve(script: Any) -> Server:
        running.append(Server(script).__enter__())
        values = {"URL": running[-1].config().url, "MODEL": "m-1", "KEY": KEY, "RATE": "6000", "ATTEMPTS": "1"}
        for name, value in (values | {"TIMEOUT": "2"}).items():
            monkeypatch.setenv(f"SIGHTLINE_ENDPOINT_{name}", value)
        return running[-1]

    yield serve
    for server in running:
        server.__exit__(None, None, None)


def test_an_endpoint_that_fails_is_gone_on_with_and_asked_nothing_twice(
    release: Release, served: Callable[[Any], Server]
) -> None:
    """The server stops at the closing tag and leaves it out, and the fourth reply is cut off before its answer."""
    told = keys(release)
    ids = list(told)
    words = [says(f"<think>x</think><answer>{told[id]}") for id in ids[:3]] + [says("<answer>", reason="length")]
    first = served([*words, *[fails(500, "broken")] * 5])
    made = do(start(release, "endpoint", control="text-only"))
    assert made.state == "failed" and made.error.startswith("5 items in a row failed")
    assert len(first.asked) == 9 and "The clip is not shown" in first.asked[0]["messages"][1]["content"][0]["text"]
    rest = served(lambda body: says(f"<think>x</think><answer>{key_in(body, release)}"))
    evaluating.again(evaluation=Evaluation.objects.get(id=made.id), user=None)
    made = do(made)
    assert made.state == "done" and len(rest.asked) == 8
    overall = made.results["overall"]
    assert (overall["right"], overall["unanswered"], overall["n"]) == (11, 1, 12)
    assert overall["accuracy"]["strict"]["value"] == pytest.approx(11 / 12)
    assert made.results["model"] == {"kind": "endpoint", "name": "m-1", "url": made.results["model"]["url"]}
    assert "1 replies were cut off at the most tokens allowed." in made.results["notes"]
    assert made.results["served"] == ["scripted-1"] and KEY not in json.dumps(made.results)


def test_an_endpoint_is_shown_the_clips_and_under_a_control_those_of_another_tape(
    project: Project, bob: User, served: Callable[[Any], Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    film = make("bframes", tmp_path).path.read_bytes()
    for n in range(2):
        accept(make_scene(project, bob, source_recording=f"tape {n}"), 1)
    for clip in Clip.objects.all():
        default_storage.delete(f"{clip.folder}/clip.mp4")
        default_storage.save(f"{clip.folder}/clip.mp4", ContentFile(film))
        clip.facts |= {"sha256": hashlib.sha256(film).hexdigest(), "bytes": len(film)}
        clip.save()
    with transaction.atomic():
        release = releases.keep(made=releases.draft(project=project), user=bob, id=Release().id)
    server = served(lambda body: says(f"<answer>{key_in(body, release)}</answer>"))
    plain = do(start(release, "endpoint", settings=evaluating.Settings(frames=4)))
    other = do(start(release, "endpoint", control="shuffled-video", settings=evaluating.Settings(frames=4)))
    assert (plain.state, plain.results["overall"]["right"], other.state) == ("done", 2, "done"), plain.error
    for body in server.asked:
        parts = body["messages"][1]["content"]
        pictures = [part for part in parts if part["type"] == "image_url"]
        assert len(server.asked) == 4 and len(pictures) == 4 and parts[0]["text"].endswith(" seconds>")
    assert other.results["control"]["name"] == "shuffled-video" and other.results["published"] is None
    assert not (Path(settings.DATA) / "work" / str(plain.job_id)).exists()  # the copies of clips are gone


def key_in(body: dict[str, Any], release: Release) -> str:
    """The key of the item that is asked about."""
    said = body["messages"][1]["content"][-1]["text"]
    return next(str(row.item["answer"]) for row in release.items.all() if row.item["question"] in said)


def test_what_is_retired_and_withdrawn_while_it_is_asked_is_left_out(
    release: Release, bob: User, served: Callable[[Any], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "LOOK_S", 0.0)
    asked: list[str] = []
    gone = Video.objects.get(source_recording="tape 1")

    def answer(body: dict[str, Any]) -> Answer:
        key = key_in(body, release)
        asked.append(key)
        if len(asked) in (2, 4):
            change = threading.Thread(target=changes[len(asked)])  # of another process, as far as the worker knows
            change.start()
            change.join()
        return says(f"<answer>{key}</answer>")

    def apart(action: Callable[[], Any]) -> Callable[[], None]:
        def done() -> None:
            action()
            connection.close()

        return done

    item = release.items.get(position=6)
    changes = {
        2: apart(lambda: releases.retire(item=item, user=bob, reason="A mirror.")),
        4: apart(lambda: delete_video(video=gone)),
    }
    served(answer)
    made = do(start(release, "endpoint", control="text-only"))
    assert made.state == "done" and made.results["out"] == {"withdrawn": 6, "retired": 1}
    assert made.results["overall"]["n"] == 5 and len(asked) == 5  # nobody was asked twice
    left = [row.item["id"] for row in release.items.order_by("position") if "id" in row.item][:5]
    assert replied(made) == left and made.withdrawn


# ---------------------------------------------------------------------------------------------------------------------
# Counted again


def test_a_finished_one_is_counted_again_without_what_was_withdrawn(release: Release) -> None:
    """All of tape 0 is right, of tape 1 four of six: 10 of 12 before, and 6 of 6 once tape 1 is gone."""
    told = keys(release)
    ids = list(told)
    lines = [{"id": id, "text": GROUNDED.format(told[id] if at < 10 else other(told[id]))} for at, id in enumerate(ids)]
    made = do(start(release, "predictions", file=upload(lines)))
    assert made.results["overall"]["accuracy"]["released"]["value"] == pytest.approx(10 / 12)
    tape = {row.item["id"]: row.item["video"]["recording"] for row in release.items.all()}
    delete_video(video=Video.objects.get(source_recording="tape 1"))
    assert all(tape[id] == "tape 0" for id in replied(made))  # at once, before anything is counted
    made = recount(made)
    overall = made.results["overall"]
    right = sum(told[id] in line["text"][-10:] for id, line in zip(ids, lines, strict=True) if tape[id] == "tape 0")
    assert (overall["n"], overall["right"], overall["videos"]) == (6, right, 1)
    assert overall["accuracy"]["released"]["low"] is None  # one recording is left: no interval
    assert made.state == "done" and made.results["out"] == {"withdrawn": 6, "retired": 0}
    assert len(list((folders.evaluation(made.id) / "lmms_eval").iterdir())) == 2  # written anew


def test_a_recount_under_a_control_asks_nobody(release: Release, served: Callable[[Any], Server], bob: User) -> None:
    served(lambda body: says("<answer>A</answer>"))
    made = do(start(release, "endpoint", control="text-only"))
    right = sum(key == "A" for key in keys(release).values())
    assert made.results["overall"]["right"] == right
    again = served([])
    item = next(row for row in release.items.all() if row.item["answer"] == "A")
    releases.retire(item=item, user=bob, reason="A mirror.")
    evaluating.recount(evaluation=made)
    made = recount(made)
    assert not again.asked and (made.results["overall"]["n"], made.results["overall"]["right"]) == (11, right - 1)
    assert made.results["control"]["name"] == "text-only" and made.results["model"]["kind"] == "endpoint"


# ---------------------------------------------------------------------------------------------------------------------
# Weights


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is listed as a model; the process that would load it is `scripted_evaluation`."""
    folder = Path(settings.DATA) / "models" / "tiny"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"0")
    (folder / "seconds").write_text("0")
    monkeypatch.setattr(settings, "BASE_MODELS", [folder.parent])
    monkeypatch.setattr(task, "MODULE", "tests.workers.scripted_evaluation")
    return folder


@pytest.mark.long
def test_weights_are_asked_in_their_own_process_which_may_be_killed(release: Release, weights: Path) -> None:
    (weights / "cut").touch()
    made = do(start(release, "folder:tiny", control="text-only"))
    assert made.job is not None and made.job.queue == "train"
    assert made.state == "failed" and "ended from outside (signal 9)" in made.error and len(replied(made)) == 1
    (weights / "cut").unlink()
    evaluating.again(evaluation=Evaluation.objects.get(id=made.id), user=None)
    made = do(made)
    asked = (weights / "asked").read_text().split()
    assert made.state == "done" and len(asked) == 13  # the one it died at twice, no other
    right = sum(key == "B" for key in keys(release).values())
    assert (made.results["overall"]["right"], made.results["model"]["name"]) == (right, "tiny")
    assert len(made.results["model"]["fingerprint"]) == 64


def test_stopped_it_ends_within_seconds_with_its_process_and_keeps_what_was_said(
    release: Release, weights: Path
) -> None:
    (weights / "seconds").write_text("0.5")
    made = start(release, "folder:tiny", control="text-only")

    def stop() -> None:
        wait_for(lambda: (folders.evaluation(made.id) / "replies.jsonl").exists() and bool(replied(made)), 60, "one")
        stopped.append(time.monotonic())
        jobs.cancel(job=Job.objects.get(parameters__evaluation=str(made.id)), user=None)
        connection.close()

    stopped: list[float] = []
    stopper = threading.Thread(target=stop)
    stopper.start()
    made = do(made)
    took = time.monotonic() - stopped[0]
    stopper.join()
    assert made.state == "cancelled" and took < 10 and 1 <= len(replied(made)) < 12
    before = len((weights / "asked").read_text().split())
    time.sleep(1)
    assert len((weights / "asked").read_text().split()) == before  # nobody asks any more


@pytest.mark.long
def test_a_real_tiny_model_is_asked(release: Release, weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random weights say nothing that is an answer, or now and then the right letter by chance: it runs, no more."""
    tiny = pytest.importorskip("ml.training.tiny")
    monkeypatch.setattr(task, "MODULE", "ml.evaluation.run")
    tiny.build("qwen3-vl", weights.parent / "random")
    asked = evaluating.Settings(tokens=8, limit=2)
    made = do(start(release, "folder:random", control="text-only", settings=asked))
    assert made.state == "done", made.error
    overall = made.results["overall"]
    assert overall["n"] == 2 == overall["right"] + overall["wrong"] + overall["unanswered"]
    assert made.results["settings"]["tokens"] == 8 and len(made.results["model"]["fingerprint"]) == 64


@pytest.mark.long
def test_a_folder_that_cannot_be_loaded_says_so(
    release: Release, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "MODULE", "ml.evaluation.run")
    made = do(start(release, "folder:tiny", control="text-only"))
    assert made.state == "failed" and ("cannot be loaded as a model" in made.error or "make ml" in made.error)
