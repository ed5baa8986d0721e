"""What pages read of runs: columns that stay small, rollouts in their order, lineage both ways, a fixed cost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.http import Http404

from tests.webapp.training import made
from webapp.bench.models import Release, ReleaseItem
from webapp.runs import folders, queries, recording
from webapp.runs.models import DatasetSnapshot, Metric, Rollout, TrainingRun


@pytest.fixture
def snapshot(people: SimpleNamespace) -> DatasetSnapshot:
    return made.snapshot(people.one)


@pytest.fixture
def run(snapshot: DatasetSnapshot) -> TrainingRun:
    return made.run(snapshot)


def log(run: TrainingRun, *steps: int, **values: Any) -> None:
    recording.keep_metrics(run=run, lines=[{"step": s, "time": s, "values": values or {"loss": s / 2}} for s in steps])


def test_columns_hold_every_step_and_what_was_not_logged_is_null(run: TrainingRun) -> None:
    log(run, 1, 2, loss=1.0, kl=None)
    log(run, 3, loss=0.5, reward=float("nan"))
    found = queries.metric_columns(run)
    assert found["columns"] == {
        "step": [1, 2, 3], "loss": [1.0, 1.0, 0.5], "kl": [None] * 3, "reward": [None] * 3,
    }  # fmt: skip
    assert (found["every"], found["last"]) == (1, 3)
    assert queries.metric_columns(run, since=2)["columns"]["step"] == [3]
    assert queries.metric_columns(run, since=3) == {"columns": {"step": []}, "every": 1, "last": None}


@pytest.mark.parametrize(("count", "most", "every"), [(20, 20, 1), (21, 20, 2), (100, 7, 15), (5, 1, 5)])
def test_many_steps_are_thinned_evenly_and_keep_the_last(run: TrainingRun, count: int, most: int, every: int) -> None:
    log(run, *range(1, count + 1))
    found = queries.metric_columns(run, most=most)
    steps = found["columns"]["step"]
    assert found["every"] == every and steps[-1] == count and len(steps) <= most
    assert all(b - a == every for a, b in zip(steps, steps[1:], strict=False))


def test_a_step_written_again_is_one_row(run: TrainingRun) -> None:
    log(run, 1, 2, loss=1.0)
    log(run, 2, 2, loss=3.0)
    assert list(Metric.objects.order_by("step").values_list("step", "values")) == [
        (1, {"loss": 1.0}),
        (2, {"loss": 3.0}),
    ]


def rollouts(run: TrainingRun, *told: tuple[int, int, list[float]]) -> None:
    """(item, step, rewards of its answers)"""
    lines = [
        {
            "step": step, "row": made.row(item).id, "category": made.row(item).category, "question": "Who?",
            "options": ["a"], "answer": "A",
            "completions": [
                {"text": "so \0 \ud800", "tokens": 1, "clipped": False, "advantage": 0, "rewards": {"accuracy": value}}
                for value in values
            ],
        }
        for item, step, values in told
    ]  # fmt: skip
    recording.keep_rollouts(run=run, lines=lines, weights={"accuracy": 2.0})


def test_rollouts_sort_by_disagreement_and_by_step_within_a_category(run: TrainingRun) -> None:
    rollouts(run, (0, 1, [0, 1]), (1, 1, [1, 1]), (0, 2, [0, 0]), (2, 2, [0, 4]), (1, 3, [0, 2]))
    assert [r.disagreement for r in queries.rollout_page(run, sort="disagreement")[0]] == [4, 2, 1, 0, 0]
    assert [r.step for r in queries.rollout_page(run, sort="step")[0]] == [3, 2, 2, 1, 1]
    gaze, count = queries.rollout_page(run, category="gaze_target", sort="disagreement")
    assert count == 3 and [r.disagreement for r in gaze] == [4, 1, 0]
    assert queries.rollout_categories(run) == [("gaze_target", 3), ("mutual_gaze", 2)]
    first, count = queries.rollout_page(run, sort="step", page=2, size=2)
    assert count == 5 and [r.step for r in first] == [2, 1]
    assert gaze[0].completions[0]["text"] == "so � ?"  # what no column holds
    told = queries.rollout_row(gaze[0])
    assert told["gt_events"] == [{"source": "gaze", "persons": [0, 3], "start": 1.0, "end": 2.0}]


def test_what_is_taken_off_for_length_counts_among_the_rewards(run: TrainingRun, people: SimpleNamespace) -> None:
    weights = recording.weights_of(run)
    assert weights == {"accuracy": 1.0, "format-grasp": 0.1, "grounding-tag": 0.05, "sgr-release": 0.2, "overlong": 1.0}
    answers: list[dict[str, Any]] = [
        {"rewards": {"accuracy": 1.0, "overlong": -1.0}},
        {"rewards": {"accuracy": 0.0, "sgr-release": None}},
    ]
    assert recording.disagreement(answers, weights) == 0
    odd = [{"rewards": {"accuracy": one}} for one in ("x", [1], float("inf"), 10**400)]
    assert recording.disagreement([*odd, {"rewards": {"accuracy": 5.0}}], weights) == 2.0  # what is no number adds 0
    assert recording.finite({"loss": -(10**400), "reward": 1, "kl": "x"}) == {"loss": None, "reward": 1, "kl": None}
    assert recording.weights_of(made.run(run.snapshot, stage="sft")) == {}


def test_a_rollout_of_an_item_the_snapshot_has_not_is_no_row(run: TrainingRun) -> None:
    rollouts(run, (77, 1, [0, 1]))
    assert not Rollout.objects.exists()


def test_the_log_is_told_from_where_somebody_is(run: TrainingRun) -> None:
    run.log, run.log_bytes = "d\nef\n", 100  # 95 bytes before it were dropped
    assert queries.log_tail(run, 0) == {"text": "d\nef\n", "at": 100}
    assert queries.log_tail(run, 97) == {"text": "ef\n", "at": 100}
    assert queries.log_tail(run, 100) == {"text": "", "at": 100}


def test_lineage_goes_both_ways(snapshot: DatasetSnapshot, run: TrainingRun) -> None:
    items = {one.item_hash: one for one in snapshot.items.select_related("question")}
    release = Release.objects.create(project=run.project, number=1, sha256="ab" * 32)
    snapshot.items.filter(item_hash=made.row(0).id).update(release=release)
    snapshot.sources = {"releases": [str(release.id)], "questions": True}
    snapshot.save()
    told = queries.lineage_of(run)
    assert told["snapshot"]["number"] == 1 and told["items"] == 6
    assert told["releases"] == [{"number": 1, "sha256": "ab" * 32, "items": 1}]
    assert told["snapshot"]["from_questions"] == 5
    rows, count = queries.revisions_of(snapshot)
    assert count == 6 and {row["item"] for row in rows} == set(items)
    trained, kept_back = items[made.row(0).id].question, items[made.row(5).id].question
    assert trained is not None and kept_back is not None
    assert queries.runs_that_saw(trained) == []  # a draft saw nothing
    TrainingRun.objects.filter(id=run.id).update(attempt=1)
    assert queries.runs_that_saw(trained) == [run]
    assert queries.runs_that_saw(kept_back) == []  # it validates


def test_a_leaderboard_can_say_what_a_run_trained_on(snapshot: DatasetSnapshot, run: TrainingRun) -> None:
    release = Release.objects.create(project=run.project, number=1, sha256="ab" * 32)
    items = {one.item_hash: one for one in snapshot.items.all()}
    for position, number in enumerate((0, 1, 5)):  # 5 validates
        question = items[made.row(number).id].question
        ReleaseItem.objects.create(
            release=release, question=question, position=position, question_version=1, item={}, sha256=f"{number:064x}"
        )
    assert queries.seen_in_training(release, {run.id}) == {run.id: 2}
    other = made.snapshot(run.project)
    warm, child = made.run(other), made.run(other)  # SFT, then GRPO on the same snapshot
    TrainingRun.objects.filter(id=warm.id).update(parent=run)
    TrainingRun.objects.filter(id=child.id).update(parent=warm)
    other.items.all().delete()  # nothing of the release is in theirs
    assert queries.seen_in_training(release, {warm.id, child.id}) == {warm.id: 2, child.id: 2}  # by the first weights
    assert queries.seen_in_training(release, set()) == {}


def test_a_run_that_is_gone_by_now_is_not_found(run: TrainingRun) -> None:
    TrainingRun.objects.filter(id=run.id).delete()
    with pytest.raises(Http404, match="no such run"):
        queries.run_row(run)


def test_a_row_does_not_read_what_grows(run: TrainingRun) -> None:
    with count_queries() as asked:
        queries.run_row(run, "admin")
        queries.runs_of(run.project)
    read = " ".join(one["sql"] for one in asked)
    assert '"runs_trainingrun"."state"' in read
    for column in ("facts", "log", "about"):
        assert f'."{column}"' not in read


def test_snapshots_are_counted_without_reading_them(people: SimpleNamespace, snapshot: DatasetSnapshot) -> None:
    DatasetSnapshot.objects.create(project=people.one, number=9, name="x")
    assert queries.snapshot_counts(people.one) == (2, 1)


def test_compared_runs_tell_what_differs(snapshot: DatasetSnapshot) -> None:
    one = made.run(snapshot)
    two = made.run(snapshot, overrides={"train.learning_rate": 0.5, "grpo.beta": 0.0})
    log(one, 1, 2)
    first, second = queries.compared(queries.runs_to_compare(snapshot.project, [two.number, one.number, 99]))
    assert (first["number"], second["number"]) == (2, 1)
    assert first["settings"] == {"train.learning_rate": 0.5, "grpo.beta": 0.0}
    assert second["settings"] == {"train.learning_rate": 1e-3, "grpo.beta": 0.05}
    assert second["metrics"]["step"] == [1, 2] and first["metrics"] == {"step": []}


def test_lists_cost_the_same_for_ten_as_for_one(
    people: SimpleNamespace, snapshot: DatasetSnapshot, as_user: Any
) -> None:
    client = as_user(people.vera)
    for address in ("runs", "snapshots", "runs/1/state", "runs/1/lineage", "runs/compare?runs=1"):
        made_runs = TrainingRun.objects.count()
        if not made_runs:
            log(made.run(snapshot), 1, 2)
        with count_queries() as once:
            assert client.get(f"/api/v1/projects/one/{address}").status_code == 200
        for _ in range(3):
            log(made.run(made.snapshot(people.one)), 1)
        with count_queries() as again:
            client.get(f"/api/v1/projects/one/{address}")
        assert len(again) == len(once) <= 14, (address, len(once), len(again))


def count_queries() -> Any:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    return CaptureQueriesContext(connection)


def test_may_says_what_a_role_may_do_now(run: TrainingRun) -> None:
    def may(role: Any, **now: Any) -> set[str]:
        TrainingRun.objects.filter(id=run.id).update(**now)
        return {name for name, yes in queries.run_row(run, role)["may"].items() if yes}

    assert may("viewer") == set()
    assert may("curator") == {"rollouts", "log"}
    assert may("admin") == {"start", "change", "clone", "delete", "export", "rollouts", "log"}
    assert may("admin", state="running") == {"stop", "kill", "clone", "export", "rollouts", "log"}
    assert may("admin", state="stopping") == {"kill", "clone", "export", "rollouts", "log"}
    (folders.run(run.id) / "final").mkdir(parents=True)
    done = {"clone", "delete", "download", "export", "rollouts", "log", "evaluate"}
    assert may("admin", state="done") == done
    assert may("admin", state="stopped") == done | {"resume"}
