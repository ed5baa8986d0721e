"""Training from the browser: from a release to the benchmark's table with a tiny model that really trains."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ml import torchside
from tests.browser.runs import seed
from tests.workers.conftest import Worker
from webapp.runs.models import Evaluation, Rollout, TrainingRun

BUSY_MS = 120_000  # for what takes seconds on a machine that is not busy
READY = "#run[data-ready=all]"


@pytest.fixture
def model() -> Iterator[subprocess.Popen[bytes]]:
    """A tiny model of random weights comes to be among the configured ones, in a process of its own."""
    from django.conf import settings

    out = settings.BASE_MODELS[-1] / "tiny"
    out.parent.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen([sys.executable, "-m", "ml.training.tiny", "--family", "qwen3-vl", str(out)]) as building:
        yield building


def points(page: Any, metric: str = "reward") -> int:
    return int(page.get_attribute(f'.chart[data-metric="{metric}"]', "data-points") or 0)


@pytest.mark.skipif(bool(torchside.missing()), reason="torch is not installed")
@pytest.mark.timeout(600)
def test_from_a_release_to_the_table(
    model: subprocess.Popen[bytes], visit: Any, crew: SimpleNamespace, studio: Any, worker: Worker, tmp_path: Path
) -> None:
    seed.make_release(crew.project, crew.alice, tmp_path)
    assert model.wait(BUSY_MS / 1000) == 0
    page = visit(crew.alice).page
    page.set_default_timeout(BUSY_MS)
    began = time.monotonic()
    told: list[str] = []

    def mark(what: str) -> None:
        told.append(f"{what} {time.monotonic() - began:.1f}")

    # a snapshot of the release
    page.goto(f"{studio.address}/p/one/runs/")
    page.get_by_role("link", name="Snapshots").last.click()
    page.get_by_role("button", name="Make the first snapshot").click()
    page.get_by_label("Release 1").check()
    page.get_by_label("Share for validation").fill("0.3")
    page.get_by_role("button", name="Make it").click()
    page.locator("[data-snapshot='1'] .badge-ok").wait_for()
    mark("snapshot")

    # a draft, its preflight, and the start
    page.get_by_role("link", name="Snapshot 1").click()
    page.get_by_role("link", name="New run on it").click()
    page.locator("#id_preset").select_option("tiny-cpu")
    page.locator("[name='set.train.max_steps'][data-preset='4']").fill("12")
    page.get_by_text("1 changed").wait_for()
    page.locator("#id_name").fill("Tiny")
    page.get_by_role("button", name="Make a draft").click()
    start = page.get_by_role("button", name="Start")
    assert start.is_disabled()
    page.locator("#preflight .preflight-facts").wait_for()
    words = page.inner_text("#preflight")
    assert "twice the" in words and "SGR coverage" in words and "Memory of a process" in words
    mark("preflight")
    page.locator("[data-act=start]:not([disabled])").click()
    page.locator(".run-head .badge", has_text=re.compile("Waiting|Running")).wait_for()
    mark("queued")

    # the curves move
    page.wait_for_selector(f'{READY} .chart[data-metric="reward"]')
    first = points(page)
    page.wait_for_function(f"() => Number(document.querySelector('.chart').dataset.points) > {first}")
    mark("moving")
    assert "Reward" in page.inner_text('.chart[data-metric="reward"] .chart-title')

    # stopped with a checkpoint, it goes on from there
    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Stop with a checkpoint").click()
    page.locator(".run-head .badge", has_text="Stopped").wait_for()
    mark("stopped")
    run = TrainingRun.objects.get()
    assert (run.state, run.overrides) == ("stopped", {"train.max_steps": 12}) and 1 <= run.step < 12

    # what it answered
    page.get_by_role("link", name="Rollouts").click()
    page.locator("[data-rollout] .row-link").first.click()
    page.locator(".answers > .answer").nth(7).wait_for()
    assert page.locator(".answers > .answer").count() == 8
    shown = Rollout.objects.get(id=int(page.url.partition("/rollouts/")[2].split("/")[0]))
    totals = [float(word) for word in page.locator(".answer-total").all_inner_texts()]
    assert totals == pytest.approx([total(one) for one in shown.completions], abs=0.005)
    page.go_back()
    page.get_by_role("link", name="Curves").click()

    page.get_by_role("button", name="Resume").click()
    page.locator(".run-head .badge", has_text="Done").wait_for()
    mark("done")
    run.refresh_from_db()
    assert (run.state, run.step, run.attempt) == ("done", 12, 2) and run.resumed_from
    page.wait_for_function("() => document.querySelector('.chart')?.dataset.points === '12'")

    # and into the table
    page.get_by_role("link", name="Evaluate…").click()
    assert page.locator("#id_model").input_value() == "run:1"
    page.get_by_label("Only so many items").fill("3")
    page.get_by_role("button", name="Evaluate").click()
    page.wait_for_url("**/evaluations/1/")
    page.locator(".badge-ok").first.wait_for()
    mark("evaluated")
    page.goto(f"{studio.address}/p/one/leaderboard/")
    row = page.locator("table tbody tr", has_text="Tiny")
    row.wait_for()
    assert Evaluation.objects.get().results["overall"]["n"] == 3
    print(", ".join(told))


def total(completion: dict[str, Any]) -> float:
    """By hand: the weights of GRASP's rewards, and the penalty on length."""
    weights = {"accuracy": 1.0, "format-grasp": 0.1, "grounding-tag": 0.05, "sgr-release": 0.2, "overlong": 1.0}
    return float(sum(weights[name] * value for name, value in completion["rewards"].items() if value is not None))
