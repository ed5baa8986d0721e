"""`manage.py snapshot`, `train` and `import-training`: what they make, print and refuse. The test is studio and worker;
that commands attach to a running studio or start one of their own is tested with the others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from tests.webapp.training import made
from tests.workers import training_double as double
from tests.workers.test_snapshotting import cut, scenes  # noqa: F401  a fixture
from webapp.jobs.models import Job
from webapp.library.models import Project
from webapp.runs import folders, recording
from webapp.runs.models import DatasetSnapshot, TrainingRun
from webapp.studio.follow import follow
from workers import attempt
from workers.tasks import snapshotting, training

COMMANDS = ("snapshot", "train", "import-training")
WORK = {"snapshot": snapshotting.work, "train": training.work}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No studio is started; whoever follows a job does it first."""

    @contextmanager
    def here(*_: Any, **__: Any) -> Iterator[Callable[[], None]]:
        yield lambda: None

    def work_and_follow(id: Any, *rest: Any) -> Job:
        job = Job.objects.get(id=id)
        attempt.run(str(id), "here@elsewhere", WORK.get(job.kind, looked), lambda job, folder: None)
        return follow(id, *rest)

    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    for name in COMMANDS:
        module = import_module(f"webapp.studio.management.commands.{name}")
        monkeypatch.setattr(module, "studio", here)
        if hasattr(module, "follow"):
            monkeypatch.setattr(module, "follow", work_and_follow)
    monkeypatch.setattr(training, "command", training.command)
    double.install()
    double.behave(step_s=0.0)
    yield
    double.note().unlink(missing_ok=True)
    for folder in ("snapshots", "runs", "models"):
        folders.remove(Path(settings.DATA) / folder)


def looked(attempt: attempt.Attempt) -> None:
    """A preflight that finds nothing wrong: what it really looks at is tested with `ml`."""
    run = TrainingRun.objects.get(id=attempt.job.parameters["run"])
    told = {"errors": [], "warnings": ["Few items."], "sentences": ["Frames as images cost twice the paper's tokens."]}
    key = attempt.job.parameters["for"]
    attempt.finish({}, ending=lambda: recording.keep_preflight(run_id=run.id, key=key, told=told))


def run_command(*words: str) -> int:
    try:
        call_command(*words)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_a_snapshot_of_the_newest_release(project: Project, scenes: Any, tmp_path: Path, capsys: Any) -> None:  # noqa: F811
    release = cut(project)
    out = tmp_path / "facts.json"
    assert run_command("snapshot", "one", "--validation-share", "0.4", "--json", str(out)) == 0
    assert "Snapshot 1: 3 items to train on, 3 to validate" in capsys.readouterr().err
    told = json.loads(out.read_text())
    assert told["number"] == 1 and told["hash"] == DatasetSnapshot.objects.get().hash
    assert told["created_from"][0]["release"]["hash"] == release.sha256
    for words, sentence in (
        (("nowhere",), "There is no project 'nowhere'."),
        (("one", "--release", "7"), "One has no release 7."),
        (("one", "--validation-share", "2"), "The validation share is a number from 0 to 0.9."),
    ):
        assert run_command("snapshot", *words) == 2
        assert sentence in capsys.readouterr().err


def test_training_to_the_end(project: Project, tmp_path: Path, capsys: Any) -> None:
    made.snapshot(project)
    out = tmp_path / "run.json"
    words = ("train", "one", "--model", made.model(), "--set", "train.max_steps=5", "--name", "By hand")
    assert run_command(*words, "--json", str(out)) == 0
    told, said = json.loads(out.read_text()), capsys.readouterr().err
    assert (told["number"], told["name"], told["state"], told["step"], told["reward"]) == (1, "By hand", "done", 5, 5.0)
    assert "Run 1 is done at step 5 of 5." in said and "twice the paper's tokens" in said and "Few items." in said
    assert run_command("train", "one", "--parent", "1") == 0
    assert TrainingRun.objects.get(number=2).parent == TrainingRun.objects.get(number=1)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--model", "nobody"), "There is no model 'nobody'"),
        (("--parent", "9"), "One has no run 9."),
        (("--model", "tiny", "--snapshot", "4"), "One has no snapshot 4."),
        (("--model", "tiny", "--set", "train.max_steps"), "--set takes NAME=VALUE"),
        (("--model", "tiny", "--set", "train.max_steps=many"), "train.max_steps must be a number"),
        (("--model", "tiny", "--preset", "huge"), "There is no preset 'huge'"),
    ],
)
def test_training_refuses_in_a_sentence(project: Project, words: tuple[str, ...], sentence: str, capsys: Any) -> None:
    made.snapshot(project)
    made.model()
    assert run_command("train", "one", *words) == 2
    assert sentence in capsys.readouterr().err and not TrainingRun.objects.exists()


def test_what_fails_is_the_commands_sentence(project: Project, capsys: Any) -> None:
    made.snapshot(project)
    double.behave(crash_at=2)
    assert run_command("train", "one", "--model", made.model()) == 2
    assert "ValueError: on purpose" in capsys.readouterr().err


def test_a_run_leaves_for_a_cluster_and_comes_back(project: Project, tmp_path: Path, capsys: Any) -> None:
    made.snapshot(project)
    out = tmp_path / "for the cluster"
    assert run_command("train", "one", "--model", made.model(), "--export", str(out)) == 0
    assert TrainingRun.objects.get().state == "draft" and "README.txt" in capsys.readouterr().err
    script = (out / "train.sh").read_text().splitlines()[-1].removeprefix("exec python -m ml.training.grpo ")
    words = [str(settings.BASE_MODELS[-1] / "tiny") if word == '"$MODEL"' else word for word in script.split()]
    cluster(out, words)
    assert run_command("import-training", str(out), "--project", "one", "--json", str(tmp_path / "back.json")) == 0
    told = json.loads((tmp_path / "back.json").read_text())
    assert (told["number"], told["state"], told["step"], told["metrics"], told["rollouts"]) == (2, "done", 4, 4, 8)
    assert run_command("import-training", str(out), "--project", "one") == 2
    assert "it is run 2" in capsys.readouterr().err
    assert run_command("import-training", str(tmp_path / "nothing"), "--project", "one") == 2


def cluster(out: Path, words: list[str]) -> None:
    """Train in the exported folder, as train.sh does; the double in place of the real training."""
    double.folder.write_json(out.parent / double.NOTE, {"step_s": 0.0})
    command = [sys.executable, "-m", "tests.workers.training_double", *words]
    env = {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "PATH": "/usr/bin"}
    (out / "run").mkdir()
    command[command.index("run")] = str(out / "run")
    subprocess.run(command, cwd=out, env=env, check=True)
