"""The demo's training run: what it needs is there, fetched, or missed in a sentence; nothing half made is left."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.webapp.training import made
from webapp.runs.basemodels import base_models
from webapp.runs.models import DatasetSnapshot, TrainingRun
from webapp.studio import demo_runs
from webapp.studio.errors import StudioError

pytestmark = pytest.mark.django_db


def screen() -> Console:
    return Console(file=StringIO(), width=200)


@pytest.fixture(autouse=True)
def models(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    settings.DATA = tmp_path
    settings.BASE_MODELS = [tmp_path / "models"]
    return tmp_path / "models"


def test_without_a_release_it_says_so(people: SimpleNamespace) -> None:
    with pytest.raises(StudioError, match="The demo has no release to train on"):
        demo_runs.make(project=people.one, screen=screen(), look_after=lambda: None)


def test_packages_that_are_missing_are_installed_by_make(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = [["torch"], []]
    asked: list[Any] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(demo_runs, "missing", lambda: absent.pop(0))
    monkeypatch.setattr(demo_runs.subprocess, "run", run)
    told = screen()
    demo_runs.install(told)
    assert [command[1:] for command in asked] == [["-s", "ml"]]
    assert "1.5 GB" in told.file.getvalue()  # type: ignore[attr-defined]


def test_an_installation_that_fails_names_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = SimpleNamespace(returncode=2, stderr="make: ***\nNo space left on device\n", stdout="")
    monkeypatch.setattr(demo_runs, "missing", lambda: ["torch"])
    monkeypatch.setattr(demo_runs.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(StudioError, match="No space left on device"):
        demo_runs.install(screen())
    monkeypatch.setattr(demo_runs.shutil, "which", lambda _: None)
    with pytest.raises(StudioError, match="make is not installed"):
        demo_runs.install(screen())


def test_a_model_is_there_whole_or_not_at_all(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.run
    breaks = [sys.executable, "-c", "import sys; sys.exit('No space left on device')"]

    def break_off(command: list[str], **told: Any) -> Any:
        Path(command[-1]).mkdir(parents=True)
        (Path(command[-1]) / "config.json").write_text("{")
        return real(breaks, **told)

    monkeypatch.setattr(demo_runs.subprocess, "run", break_off)
    with pytest.raises(StudioError, match="No space left"):
        demo_runs.build_model()
    assert base_models() == []

    def build(command: list[str], **_: Any) -> Any:
        assert not Path(command[-1]).exists()  # what was broken off is gone
        made.model(demo_runs.MODEL)
        (models / demo_runs.MODEL).rename(command[-1])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(demo_runs.subprocess, "run", build)
    demo_runs.build_model()
    assert [one["name"] for one in base_models()] == [demo_runs.MODEL]
    monkeypatch.setattr(demo_runs.subprocess, "run", lambda *_, **__: pytest.fail("it is there already"))
    demo_runs.build_model()


def test_a_start_that_was_cut_short_goes_on_with_the_same_run(
    people: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut short after the draft, and again while it trains: never a second run."""
    made.model(demo_runs.MODEL)
    snapshot = made.snapshot(people.one)
    DatasetSnapshot.objects.filter(id=snapshot.id).update(name=demo_runs.SNAPSHOT)

    def stop(*_: Any) -> None:
        raise StudioError("cut short")

    monkeypatch.setattr(demo_runs, "wait_for_look", stop)
    for _ in range(2):
        with pytest.raises(StudioError, match="cut short"):
            demo_runs.trained(people.one, snapshot, screen(), lambda: None)
    assert TrainingRun.objects.get().state == "draft"
    monkeypatch.setattr(demo_runs, "wait_for_look", lambda run, *_: None)
    monkeypatch.setattr(demo_runs.services, "need_preflight", lambda run: None)
    monkeypatch.setattr(demo_runs, "follow", stop)
    for _ in range(2):
        with pytest.raises(StudioError, match="cut short"):
            demo_runs.trained(people.one, snapshot, screen(), lambda: None)
    run = TrainingRun.objects.get()
    assert (run.state, run.name, run.base_model) == ("queued", demo_runs.RUN, demo_runs.MODEL)
