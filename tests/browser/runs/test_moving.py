"""A run's page while the run moves: live curves, lost connections, a second admin, keys, sizes. Runs are rows here."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.browser.runs import seed
from tests.browser.test_pages import NAMELESS, ONE_SCROLLBAR, TOO_SMALL, sideways
from webapp.runs.models import Metric, Rollout, SnapshotItem, TrainingRun

READY = "#run[data-ready=all]"


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


@pytest.fixture
def run(crew: SimpleNamespace) -> TrainingRun:
    return seed.make_run(seed.make_snapshot(crew.project, crew.alice), crew.alice, steps=10)


def come_to(page: Any, steps: int) -> None:
    """Wait until every curve has so many points."""
    page.wait_for_function(
        "(n) => [...document.querySelectorAll('.chart')].every(({ dataset }) => dataset.points === String(n))"
        " && document.querySelectorAll('.chart').length > 3",
        arg=steps,
    )


def test_curves_follow_the_run_through_sleep_and_back_to_a_checkpoint(
    visit: Any, crew: SimpleNamespace, studio: Any, run: TrainingRun
) -> None:
    visitor = visit(crew.vera)
    page = visitor.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/metrics?" in request.url else None)
    page.goto(f"{studio.address}/p/one/runs/1/")
    page.wait_for_selector(READY)
    come_to(page, 10)
    assert page.inner_text("#run-step") == "step 10 of 200"
    seed.log_steps(run, 11, 20)
    come_to(page, 20)
    assert "since=10" in asked[-1]  # what is here already is not asked for again
    # the lid is closed: nothing comes through; then it is opened
    visitor.context.set_offline(True)
    seed.log_steps(run, 21, 25)
    page.wait_for_timeout(1200)
    assert page.locator('.chart[data-points="20"]').count() > 3
    visitor.context.set_offline(False)
    come_to(page, 25)
    # a worker died: another attempt goes on from the checkpoint at step 12
    Metric.objects.filter(run=run, step__gt=12).delete()
    TrainingRun.objects.filter(id=run.id).update(attempt=2, resumed_from=12, step=12)
    page.get_by_text("attempt 2, from the checkpoint at step 12").wait_for()
    come_to(page, 12)
    seed.log_steps(run, 13, 13)
    TrainingRun.objects.filter(id=run.id).update(state="done")
    page.locator(".run-head .badge", has_text="Done").wait_for()
    come_to(page, 13)


def test_where_no_stream_gets_through_it_is_asked_for(
    visit: Any, crew: SimpleNamespace, studio: Any, run: TrainingRun
) -> None:
    page = visit(crew.vera).page
    page.route("**/stream", lambda route: route.fulfill(status=503, body="no"))
    page.goto(f"{studio.address}/p/one/runs/1/")
    page.wait_for_selector(READY)
    seed.log_steps(run, 11, 14)
    come_to(page, 14)
    page.get_by_text("step 14 of 200").wait_for()


def test_an_old_press_changes_nothing_and_says_what_the_run_is(
    visit: Any, crew: SimpleNamespace, studio: Any, run: TrainingRun
) -> None:
    """Two admins; the page of the second one has heard nothing of what the first one did."""
    TrainingRun.objects.update(state="stopped")
    first, second = visit(crew.alice).page, visit(crew.alice).page
    for pattern in ("**/stream", "**/state"):
        second.route(pattern, lambda route: route.abort())
    for page in (first, second):
        page.goto(f"{studio.address}/p/one/runs/1/")
        page.wait_for_selector(READY)
    first.get_by_role("button", name="Resume").click()
    first.locator(".run-head .badge", has_text="Waiting").wait_for()
    run.refresh_from_db()
    before = (run.version, run.job_id)
    second.get_by_role("button", name="Resume").click()
    second.locator(".toast", has_text="Somebody else was quicker: run 1 is queued now.").wait_for()
    second.locator(".run-head .badge", has_text="Waiting").wait_for()
    run.refresh_from_db()
    assert (run.version, run.job_id) == before
    # deleting wants the name, and is not offered while it waits
    first.locator("summary[aria-label^='More']").click()
    assert first.locator("[data-dialog=delete]").is_disabled()


def test_a_curve_is_read_by_keys_as_a_table_and_as_a_file(
    visit: Any, crew: SimpleNamespace, studio: Any, run: TrainingRun
) -> None:
    page = visit(crew.vera).page
    page.goto(f"{studio.address}/p/one/runs/1/")
    page.wait_for_selector(READY)
    loss, kl = (page.locator(f'.chart[data-metric="{name}"]') for name in ("loss", "kl"))
    values = [seed.values_at(step, 1)["loss"] for step in range(1, 11)]
    assert loss.locator(".chart-reading").inner_text() == f"step 10 · {number(values[9])}"
    loss.focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert loss.locator(".chart-reading").inner_text() == f"step 4 · {number(values[3])}"
    assert kl.locator(".chart-reading").inner_text().startswith("step 4 · ")  # one cursor for all
    page.keyboard.press("Escape")
    assert loss.locator(".chart-reading").inner_text().startswith("step 10 · ")
    loss.get_by_role("button", name="Table").click()
    rows = loss.locator("tbody tr")
    assert [rows.nth(n).inner_text().split() for n in (0, 9)] == [["10", number(values[9])], ["1", number(values[0])]]
    with page.expect_download() as waited:
        page.locator('.chart[data-metric="reward"]').get_by_role("link", name="CSV").click()
    told = list(csv.DictReader(Path(waited.value.path()).read_text().splitlines()))
    assert list(told[0]) == ["step", "time", "reward", "reward_std"] and len(told) == 10
    assert float(told[6]["reward"]) == pytest.approx(seed.values_at(7, 1)["reward"])


def number(value: float) -> str:
    """Three digits that count."""
    return f"{float(f'{value:.3g}'):g}"


def test_alarm_lines_are_told_in_words(visit: Any, crew: SimpleNamespace, studio: Any, run: TrainingRun) -> None:
    """Names everyone rises over 50 % only late: at step 100 it is near 10 % + 60 % x (1 - e^-1.67), at step 10 22 %."""
    page = visit(crew.rita).page
    page.goto(f"{studio.address}/p/one/runs/1/?show=watch")
    page.wait_for_selector(READY)
    mark = page.locator("[data-alarm-of='watch/names_everyone']")
    assert mark.inner_text() == "within its line" and page.locator("#alarms").is_hidden()
    seed.log_steps(run, 11, 100)
    page.locator("[data-alarm-of='watch/names_everyone'][data-alarm=alarm]").wait_for()
    assert page.inner_text("#alarms") == "1" and "heuristics" in page.inner_text("#run")
    page.goto(f"{studio.address}/p/one/runs/1/")
    page.locator("#alarms:not([hidden])").wait_for()


def test_settings_are_marked_and_sent_where_they_differ(
    visit: Any, crew: SimpleNamespace, studio: Any, run: TrainingRun
) -> None:
    from tests.webapp.training import made

    made.model()
    page = visit(crew.alice).page
    page.goto(f"{studio.address}/p/one/runs/new/")
    assert page.inner_text("#changed-count") == "Nothing changed"
    seed_field = page.locator("[name='set.train.seed']")
    seed_field.fill("5")
    page.get_by_text("1 changed").wait_for()
    page.locator("#id_preset").select_option("tiny-cpu")
    page.locator("[name='set.train.learning_rate'][data-preset='0.001']").wait_for()
    assert seed_field.input_value() == "5" and page.inner_text("#changed-count") == "1 changed"
    page.locator(".setting", has=seed_field).get_by_role("button", name=re.compile("preset: 0")).click()
    assert seed_field.input_value() == "0" and page.inner_text("#changed-count") == "Nothing changed"
    page.locator("[name='set.rollouts.temperature']").evaluate("e => e.closest('details').open = true")
    page.fill("[name='set.rollouts.temperature']", "0.7")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.get_by_role("button", name="Make a draft").click()
    assert re.findall(r"set\.[a-z._]+", sent.value.post_data) == ["set.rollouts.temperature"]
    page.wait_for_url("**/runs/2/")
    assert TrainingRun.objects.get(number=2).overrides == {"rollouts.temperature": 0.7}
    # the look at it comes by itself
    page.get_by_text("Counting tokens").wait_for()
    told = {"state": "done", "for": "x", "errors": ["The model's folder is gone."], "warnings": [], "train": 36}
    TrainingRun.objects.filter(number=2).update(preflight=told)
    page.get_by_text("The model's folder is gone.").wait_for()
    assert page.get_by_role("button", name="Start").is_disabled()


def test_a_questions_panel_names_the_runs_that_trained_on_it(
    visit: Any, crew: SimpleNamespace, run: TrainingRun
) -> None:
    from tests.browser.bench import seed as bench

    video = bench.make_video(crew.project)
    question = bench.signed_question(video, crew.alice)
    SnapshotItem.objects.update(question=question)
    page = visit(crew.vera).open(video, f"?question={question.id}")
    page.get_by_role("link", name="Run 1: Grounding 1").click()
    page.wait_for_selector(READY)
    assert page.url.endswith("/p/one/runs/1/")


@pytest.mark.bench
def test_ten_thousand_steps_are_drawn_in_a_second(
    visit: Any, crew: SimpleNamespace, studio: Any, run: TrainingRun, figure: Any
) -> None:
    """23 metrics at each of them, thinned by the server."""
    for first in range(11, 10_001, 1000):
        seed.log_steps(run, first, min(first + 999, 10_000))
    page = visit(crew.vera).page
    took = []
    for _ in range(3):
        page.goto(f"{studio.address}/p/one/runs/1/")
        page.wait_for_selector(READY)
        took.append(page.evaluate("performance.getEntriesByName('run-ready')[0].startTime"))
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert int(page.get_attribute(".chart", "data-points")) >= 1000
    figure("run page: 10,000 steps x 23 metrics: curves drawn after the click", min(took), "ms", budget=1000)
    figure("run page: first paint", painted, "ms", budget=500)
    assert min(took) < 3 * 1000


@pytest.mark.parametrize(("width", "height", "scheme"), [(1440, 900, "dark"), (1024, 768, "light")])
def test_every_page_fits_and_can_be_used(
    visit: Callable[..., Any],
    crew: SimpleNamespace,
    studio: Any,
    run: TrainingRun,
    width: int,
    height: int,
    scheme: Any,
) -> None:
    from tests.webapp.training import made

    made.model()
    seed.keep_rollout(run, 4)
    seed.make_run(run.snapshot, crew.alice, steps=5, state="failed", error="It died. " * 20, name="A long name " * 9)
    rollout = Rollout.objects.get()
    page = visit(crew.alice, viewport={"width": width, "height": height}, color_scheme=scheme).page
    runs = "/p/one/runs/"
    for address in (
        runs, f"{runs}1/", f"{runs}2/", f"{runs}1/?show=watch", f"{runs}1/?show=lineage", f"{runs}1/rollouts/",
        f"{runs}1/rollouts/{rollout.id}/", f"{runs}new/", f"{runs}compare/?runs=1,2", "/p/one/snapshots/",
        "/p/one/snapshots/1/",
    ):  # fmt: skip
        page.goto(f"{studio.address}{address}")
        if address.endswith(("1/", "2/", "watch")) and runs in address and "rollouts" not in address:
            page.wait_for_selector(READY)
        assert not sideways(page), address
        assert page.evaluate(ONE_SCROLLBAR), address
        assert page.evaluate(NAMELESS) == [], address
        assert page.evaluate(TOO_SMALL) == [], address
        assert page.locator(".rail [aria-current]").count() == 1, address
