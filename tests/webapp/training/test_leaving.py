"""Runs that leave for a cluster and come back, and final models that are taken out."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from asgiref.sync import async_to_sync
from django.db import transaction

from ml.training import configs, folder
from ml.training.folder import RunFolder, State
from tests.webapp.training import made
from webapp.lib.errors import Refused
from webapp.runs import exporting, folders, queries
from webapp.runs.importing import import_folder
from webapp.runs.models import DatasetSnapshot, SnapshotItem, TrainingRun


@pytest.fixture
def snapshot(people: SimpleNamespace) -> DatasetSnapshot:
    return made.snapshot(people.one)


@pytest.fixture
def exported(snapshot: DatasetSnapshot, tmp_path: Path) -> Path:
    """A draft as a cluster was given it."""
    run = made.run(snapshot, overrides={"train.max_steps": 3}, name="From afar")
    return exporting.write_folder(exporting.for_cluster(run), tmp_path)


def trained(exported: Path) -> Path:
    """What a cluster makes of it: three steps, a checkpoint and a final model."""
    run = RunFolder(exported / "run").made()
    config = configs.load(exported / "config.yaml", "grpo")
    folder.write_bytes(run.config, configs.dump(config).encode())
    told = json.loads((exported / "sightline.json").read_text())
    about = {"stage": "grpo", "snapshot": {"hash": told["snapshot"]}, "model": {"name": "Qwen3-VL"}, "seed": 0}
    folder.write_json(run.facts, about)
    values = [{"loss": 1.0 / step, "kl": None} for step in (1, 2, 3)]
    folder.append(
        run.metrics, [{"step": n, "max_steps": 3, "time": 1e9 + n, "values": v} for n, v in enumerate(values, 1)]
    )
    answers = [
        {"text": t, "tokens": 3, "clipped": False, "advantage": 0.1, "rewards": {"accuracy": float(t == "A")}}
        for t in "AB"
    ]
    line = {"step": 3, "row": made.row(0).id, "category": "c", "question": "Who?", "options": ["x", "y"], "answer": "A"}
    folder.append(run.rollouts, [line | {"completions": answers}])
    for place in (run.step_folder(2), run.final):
        place.mkdir(parents=True)
        (place / "model.safetensors").write_bytes(b"weights")
        (place / "optimizer.pt").write_bytes(b"\x80pickle")
    run.complete(2)
    run.log.write_text("said\n")
    run.set_state(State("done", 3, 3, 1, None, ""))
    return run.path


def members(answer: Any) -> dict[str, bytes]:
    """Contents of a tar file by name, as it is streamed."""

    async def whole() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    data = async_to_sync(whole)()
    with tarfile.open(fileobj=io.BytesIO(data)) as found:
        return {one.name: found.extractfile(one).read() for one in found}  # type: ignore[union-attr]


def test_an_exported_run_holds_all_that_training_needs(exported: Path, snapshot: DatasetSnapshot) -> None:
    assert sorted(path.name for path in exported.iterdir()) == [
        "README.txt", "config.yaml", "sightline.json", "snapshot", "train.sh",
    ]  # fmt: skip
    assert exported.name == "one-run-1"
    config = configs.load(exported / "config.yaml", "grpo")
    assert config.train.max_steps == 3 and config.rollouts.num_generations == 8
    assert "paths" not in yaml.safe_load((exported / "config.yaml").read_text())
    rows = (folders.snapshot(snapshot.id) / "rows.jsonl").read_bytes()
    assert (exported / "snapshot/rows.jsonl").read_bytes() == rows
    assert len(list((exported / "snapshot/clips").iterdir())) == 6
    assert "ml.training.grpo --config config.yaml --snapshot snapshot" in (exported / "train.sh").read_text()


def test_the_same_comes_as_a_tar_file(exported: Path, people: SimpleNamespace, as_user: Any) -> None:
    answer = as_user(people.alice).get("/api/v1/projects/one/runs/1/export")
    found = members(answer)
    assert found["one-run-1/config.yaml"].startswith(b"stage: grpo\npreset: tiny-cpu\nmodel:\n")
    files = {f"one-run-1/{p.relative_to(exported)}": p.read_bytes() for p in exported.rglob("*") if p.is_file()}
    assert found == files and answer["Content-Disposition"].endswith("one-run-1.tar")
    assert as_user(people.cora).get("/api/v1/projects/one/runs/1/export").status_code == 403


def test_a_withdrawn_snapshot_does_not_leave(exported: Path, people: SimpleNamespace, as_user: Any) -> None:
    DatasetSnapshot.objects.update(withdrawn=True)
    answer = as_user(people.alice).get("/api/v1/projects/one/runs/1/export")
    assert answer.status_code == 422 and "was withdrawn" in answer.json()["error"]


def test_a_run_comes_back_whole(exported: Path, people: SimpleNamespace) -> None:
    trained(exported)
    run = import_folder(folder=exported, project=people.one, user=people.alice)
    assert (run.number, run.name, run.state, run.step, run.imported) == (2, "From afar", "done", 3, True)
    assert run.cloned_from and run.cloned_from.number == 1 and run.snapshot.number == 1
    assert run.config["train"]["max_steps"] == 3 and run.base_model == "Qwen3-VL"
    assert queries.metric_columns(run)["columns"] == {"step": [1, 2, 3], "loss": [1.0, 0.5, 1 / 3], "kl": [None] * 3}
    rollout = run.rollouts.get()
    assert rollout.disagreement == 0.5 and rollout.row["gt_events"]  # accuracy 1 and 0, weight 1
    assert list(run.checkpoints.values_list("path", "final")) == [("checkpoints/checkpoint-2", False), ("final", True)]
    assert run.log == "said\n" and run.started is not None
    kept = {path.name for path in folders.run(run.id).rglob("*") if path.is_file()}
    assert "optimizer.pt" not in kept and {"model.safetensors", "COMPLETE", "log.txt"} <= kept  # nothing pickled
    may = queries.run_row(run, "admin")["may"]
    assert (may["resume"], may["download"], may["clone"]) == (False, True, True)


@pytest.mark.parametrize(
    "name", ["log.txt", "metrics.jsonl", "final", "checkpoints/checkpoint-2", "final/notes.txt", "."]
)
def test_a_folder_with_links_is_not_taken(
    exported: Path, people: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    """What a link leads to may be any file of the server, which a page would show then."""
    run = trained(exported)
    place = (run / name).resolve() if name != "." else run
    outside = tmp_path_factory.mktemp("outside") / "kept"
    if place.exists():
        place.rename(outside)
    else:
        outside.write_text("secret")
    place.symlink_to(outside)
    with pytest.raises(Refused, match="is a link; copy the folder"):
        import_folder(folder=exported, project=people.one, user=None)
    assert TrainingRun.objects.count() == 1 and not list(folders.run("x").parent.glob("*/log.txt"))


def test_text_that_no_column_holds_is_refused_in_a_sentence(exported: Path, people: SimpleNamespace) -> None:
    run = trained(exported)
    told = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(told | {"command": "a\0b"}))
    with pytest.raises(Refused, match="such as a NUL"), transaction.atomic():
        import_folder(folder=exported, project=people.one, user=None)


def test_what_began_with_another_runs_weights_says_so_when_it_comes_back(
    snapshot: DatasetSnapshot, people: SimpleNamespace, tmp_path: Path
) -> None:
    warm = made.run(snapshot)
    TrainingRun.objects.filter(id=warm.id).update(state="done", withdrawn=True)
    warm.refresh_from_db()
    (folders.run(warm.id) / "final").mkdir(parents=True)
    run = made.run(snapshot, base_model="", parent=warm, overrides={"train.max_steps": 3})
    out = exporting.write_folder(exporting.for_cluster(run), tmp_path)
    trained(out)
    back = import_folder(folder=out, project=people.one, user=None)
    assert (back.parent, back.base_model, back.withdrawn) == (warm, "", True)


def test_the_final_model_is_streamed(exported: Path, people: SimpleNamespace, as_user: Any) -> None:
    trained(exported)
    import_folder(folder=exported, project=people.one, user=None)
    found = members(as_user(people.alice).get("/api/v1/projects/one/runs/2/final"))
    assert found == {"one-run-2-final/model.safetensors": b"weights"}
    draft = as_user(people.alice).get("/api/v1/projects/one/runs/1/final")
    assert (draft.status_code, draft.json()["error"]) == (422, "Run 1 has no final model.")


def no_state(run: Path) -> None:
    (run / "state.json").unlink()


def still_running(run: Path) -> None:
    RunFolder(run).set_state(State("running", 2, 3))


def other_snapshot(run: Path) -> None:
    told = json.loads((run / "run.json").read_text())
    folder.write_json(run / "run.json", told | {"snapshot": {"hash": "ff" * 32}})


def no_object(run: Path) -> None:
    (run / "run.json").write_text("[]")


def broken_config(run: Path) -> None:
    (run / "config.yaml").write_text("stage: grpo\ntrain: {max_steps: many}\n")


def broken_metric(run: Path) -> None:
    folder.append(run / "metrics.jsonl", [{"step": 4, "time": 1, "values": [1]}])


def broken_rollout(run: Path) -> None:
    folder.append(run / "rollouts.jsonl", [{"step": 4, "row": "r", "completions": [{"text": 3}]}])


def another_stage(run: Path) -> None:
    told = json.loads((run / "run.json").read_text())
    folder.write_json(run / "run.json", told | {"stage": "summariser"})


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (no_state, "has no state.json"),
        (still_running, "has not ended: it is running"),
        (other_snapshot, "hash ffffffffffff…, which the project One does not have"),
        (no_object, "run.json"),
        (broken_config, "train.max_steps must be a number, not 'many'"),
        (broken_metric, "metrics.jsonl, step 4: values"),
        (broken_rollout, r"rollouts.jsonl, step 4: completions\[0\].text"),
        (another_stage, "the stage 'summariser' cannot be shown"),
    ],
)
def test_a_folder_that_is_none_is_refused_and_leaves_nothing(
    exported: Path, people: SimpleNamespace, spoil: Any, sentence: str
) -> None:
    spoil(trained(exported))
    with pytest.raises(Refused, match=sentence):
        import_folder(folder=exported / "run", project=people.one, user=None)
    assert TrainingRun.objects.count() == 1
    assert not folders.run("x").parent.exists() or not list(folders.run("x").parent.iterdir())


def test_the_same_folder_comes_in_once(exported: Path, people: SimpleNamespace) -> None:
    trained(exported)
    import_folder(folder=exported, project=people.one, user=None)
    with pytest.raises(Refused, match="it is run 2"):
        import_folder(folder=exported, project=people.one, user=None)


def test_what_was_withdrawn_meanwhile_does_not_come_back(exported: Path, people: SimpleNamespace) -> None:
    trained(exported)
    SnapshotItem.objects.filter(item_hash=made.row(0).id).update(withdrawn=True, row={})
    DatasetSnapshot.objects.update(withdrawn=True)
    run = import_folder(folder=exported, project=people.one, user=None)
    assert run.withdrawn and not run.rollouts.exists()
    assert made.row(0).id not in (folders.run(run.id) / "rollouts.jsonl").read_text()
