"""`manage.py audit` from its words to its exit code; the worker it waits for is this process, the grounder scripted."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from ml.evidence.grounding import registry
from ml.evidence.grounding.registry import About
from tests.workers.scripted_grounder import TEXTS, Scripted, make_video
from tests.workers.test_evidence_folder import folder_of
from webapp.audit.models import Audit, Claim, MachineVerdict, Response
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Project, Video
from workers import attempt
from workers.tasks import auditing

CLAIMS = 6  # of both texts


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    @contextmanager
    def studio(data: Path, what: str, queues: tuple[str, ...]) -> Iterator[Callable[[], None]]:
        yield work

    monkeypatch.setattr("webapp.studio.management.commands.audit.studio", studio)
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    scripted = About("tests.workers.scripted_grounder", "Scripted", "Scripted.")
    monkeypatch.setitem(registry.GROUNDERS, "embedded", scripted)
    monkeypatch.setattr(Scripted, "during", staticmethod(lambda footage, queries: None))
    monkeypatch.setattr(Scripted, "journal", tmp_path / "journal")
    return make_video(project, tmp_path / "run")


def work() -> None:
    """What a worker does while the command waits."""
    for job in Job.objects.filter(kind="audit", state="queued"):
        attempt.run(str(job.id), f"work{os.getpid()}@here", auditing.audit, auditing.tidy)


def file_of(folder: Path, *texts: str, **more: Any) -> Path:
    path = folder / "said.jsonl"
    line = {"video": "row.mp4", "clip_start": 0.0, "clip_end": 8.0, "rendering": "tags", "question": "Who?"}
    rows = [line | {"options": ["Person 1", "Person 2"], "answer": "A", "model": f"m-{n % 2}"} for n in range(9)]
    path.write_text("".join(json.dumps(row | {"text": t} | more) + "\n" for row, t in zip(rows, texts, strict=False)))
    return path


def command(*words: Any) -> int:
    """The exit code."""
    try:
        call_command("audit", *map(str, words))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def looked_for() -> list[str]:
    assert Scripted.journal is not None
    lines = Scripted.journal.read_text().splitlines() if Scripted.journal.exists() else []
    return [line for line in lines if line.startswith("begin")]


def test_a_file_is_audited_once_and_told_as_json(video: Video, tmp_path: Path, capsys: Any) -> None:
    path = file_of(tmp_path, *TEXTS)
    assert command(path, "--project", "one", "--name", "Mine", "--json", tmp_path / "out.json") == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["name"], found["responses"], found["failed"], found["claims"]) == ("Mine", 2, 0, CLAIMS)
    kept = MachineVerdict.objects.values_list("name", flat=True)
    assert sum(found["verdicts"].values()) == CLAIMS and set(found["verdicts"]) == set(kept)
    listed = {(row["model"], row["claim"]): row["verdict"] for row in found["report"]["claims"]}
    rows = MachineVerdict.objects.values_list("claim__response__model", "claim__name", "name")
    assert listed == {(model, claim): name for model, claim, name in rows}  # the same as the page's
    before, told = len(looked_for()), capsys.readouterr().err
    assert "Audit 1, Mine: 2 new responses" in told and "not groundable" in told and "Traceback" not in told
    assert command(path, "--project", "one", "--json", "-") == 0
    again = capsys.readouterr()
    assert json.loads(again.out)["verdicts"] == found["verdicts"] and "(2 were there already)" in again.err
    assert len(looked_for()) == before and Audit.objects.count() == 1


def test_a_finished_run_folder_needs_no_work(video: Video, tmp_path: Path, capsys: Any) -> None:
    folder = folder_of(video, tmp_path / "out")
    assert command(folder, "--project", "one", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdicts"] == {"not_groundable": 1, "weak": 1} and not looked_for()
    assert command(folder, "--project", "one", "--grounder", "sam3") == 2
    assert "was made with embedded, not with sam3" in capsys.readouterr().err


def test_after_a_kill_the_same_command_does_the_rest_only(
    video: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scripted, "delay_s", 0.05)
    path = file_of(tmp_path, *TEXTS)
    connection.close()
    child = os.fork()
    if child == 0:
        try:
            command(path, "--project", "one")
        finally:
            os._exit(0)
    while len(looked_for()) < 3:
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the command ended before it could be killed"
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    done = dict(MachineVerdict.objects.values_list("id", "name"))
    assert 0 < len(done) < CLAIMS
    for job in Job.objects.filter(state="running"):
        jobs.release(job=job, reason="killed")  # what the studio does when it starts again
    assert command(path, "--project", "one") == 0
    assert done.items() <= dict(MachineVerdict.objects.values_list("id", "name")).items()
    assert Response.objects.filter(state="done").count() == 2 and Claim.objects.count() == CLAIMS
    wanted = Claim.objects.filter(groundings__isnull=False).count()
    assert len(looked_for()) <= wanted + 1  # at most what was under way is looked for again


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.jsonl"], "There is no file or folder nowhere.jsonl."),
        (["said.jsonl", "--summariser", "best"], "There is no summariser 'best'; there is: rules, smollm,"),
        (["said.jsonl", "--grounder", "best"], "There is no grounder 'best'; there is: embedded,"),
        (["said.jsonl", "--raters", "0"], "Between 1 and 10 people rate each response."),
        (["said.jsonl", "--delete"], "No multimodal endpoint is set up here"),
        (["said.jsonl", "--json", "no/where.json"], "The results cannot be written to no/where.json"),
        (["broken.jsonl"], "broken.jsonl, line 1"),
        (["other.jsonl"], "other.jsonl, line 1: there is no video 'nowhere.mp4' in this project"),
        (["folder"], "has no run.json"),
        (["said.jsonl", "--project", "nosuch"], "There is no project 'nosuch'."),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    video: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, words: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIGHTLINE_ENDPOINT_URL", raising=False)
    file_of(tmp_path, *TEXTS)
    (tmp_path / "broken.jsonl").write_text("no json\n")
    (tmp_path / "folder").mkdir()
    file_of(tmp_path / "folder", *TEXTS, video="nowhere.mp4").rename(tmp_path / "other.jsonl")
    assert command(words[0], "--project", "one", *words[1:]) == 2
    told = capsys.readouterr().err
    assert sentence in told and "Traceback" not in told and len(told.strip().splitlines()) == 1
    assert not Audit.objects.exists() and Project.objects.count() == 1
    assert not Job.objects.filter(kind="audit").exists()


def test_a_response_that_makes_no_package_is_named_and_the_code_says_so(
    video: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from ml.evidence.summarisers.protocol import BrokenOutput
    from ml.evidence.summarisers.rules import Rules

    def broken(self: Any, text: str, **more: Any) -> Any:
        raise BrokenOutput("The model wrote no JSON, also when asked again.", "Sure!")

    monkeypatch.setattr(Rules, "summarise", broken)
    assert command(file_of(tmp_path, *TEXTS), "--project", "one", "--json", tmp_path / "out.json") == 2
    told = capsys.readouterr().err
    assert "Response 1: The model wrote no JSON" in told and "2 of 2 responses could not be processed" in told
    assert not (tmp_path / "out.json").exists()
