"""Who answers: files, the endpoint over real HTTP, a local model by a double; and the log of lmms-eval."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ml.evaluation import local, models, prompts
from ml.evaluation.frames import Look, Shown
from ml.evaluation.models import MISSING, Asking, Predictions, Reply, open_model, out_of_memory
from ml.formats import lmms_log
from ml.formats.errors import FormatError
from tests.ml.endpoint.server import Server, fails, said, says
from tests.ml.evaluation.samples import bench, item

BENCH = bench(item("q1"), item("q2", "C"), item("q3", "A,B", kind="letters"))


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# --- a file ----------------------------------------------------------------------------------------------------------


def test_predictions_by_any_name_of_id_and_reply(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "p.jsonl",
        {"id": "q1", "text": "<answer>B</answer>", "model": "m1"},
        {"qid": "q2", "letter": "C"},
        {"id": "q9", "text": "B"},
    )
    found = Predictions(path, BENCH)
    assert [found.answer(one).text for one in BENCH.items[:2]] == ["<answer>B</answer>", "C"]
    assert found.answer(BENCH.items[2]).error == MISSING
    told = found.describe()
    assert told["name"] == "m1" and told["unknown_ids"] == 1 and len(told["sha256"]) == 64


def test_an_error_in_a_file_is_an_error_and_no_text_is_an_empty_reply(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.json", {"id": "q1", "error": "CUDA out of memory"}, {"id": "q2", "response": None})
    found = Predictions(path, BENCH)
    assert found.answer(BENCH.items[0]).error == "CUDA out of memory"
    assert found.answer(BENCH.items[1]) == Reply("q2")


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"text": "B"}, "line 1: the field id is missing"),
        ({"id": "q1"}, "line 1: the field text is missing"),
        ({"id": ["q1"], "text": "B"}, "line 1: id: expected text or a number"),
        ({"id": "q1", "text": ["B"]}, "line 1: text: expected a string"),
        ({"id": "other", "text": "B"}, "none of its 1 ids is an item of hand-made"),
        ({"doc_id": 0, "target": "D", "filtered_resps": ["B"]}, 'target: "D" is not the key B of the item q1'),
        ({"doc_id": 7, "target": "D", "filtered_resps": ["B"]}, "doc_id: 7 is beyond the 3 items"),
    ],
)
def test_broken_predictions_are_said(tmp_path: Path, row: Any, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        Predictions(lines(tmp_path / "p.jsonl", row), BENCH)


def test_an_item_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 2: the item q1 is there twice"):
        Predictions(lines(tmp_path / "p.jsonl", {"id": "q1", "text": "A"}, {"id": "q1", "text": "B"}), BENCH)


def test_samples_of_lmms_eval_are_predictions(tmp_path: Path) -> None:
    whole = {"doc_id": 1, "target": "C", "resps": [["<think>..</think>C"]], "filtered_resps": ["C"], "accuracy": 1}
    short = {"doc_id": 2, "target": "A,B", "filtered_resps": [["A"]]}
    found = Predictions(lines(tmp_path / "s.jsonl", whole, short), BENCH)
    assert [found.answer(one).text for one in BENCH.items[1:]] == ["<think>..</think>C", "A"]


def test_the_log_of_a_sample_is_read_back() -> None:
    sample = lmms_log.Sample(3, "B", "I say B", "B", "Who?", {"id": "q"}, {"accuracy": {"score": 1.0}})
    tree = json.loads(json.dumps(lmms_log.build_sample(sample)))
    assert lmms_log.is_sample(tree) and tree["resps"] == [["I say B"]] and tree["filtered_resps"] == ["B"]
    assert lmms_log.parse_sample(tree) == replace(sample, doc=None, metrics={})
    assert {len(tree[name]) for name in ("doc_hash", "prompt_hash", "target_hash")} == {64}
    same = lmms_log.build_sample(replace(sample, text="B"))
    assert "resps" not in same  # as they leave it out where filtering changed nothing
    with pytest.raises(FormatError, match="target is no name of a metric"):
        lmms_log.build_sample(replace(sample, metrics={"target": 1}))
    with pytest.raises(FormatError, match="doc_id: expected a whole number"):
        lmms_log.parse_sample({"doc_id": "x", "target": "B", "resps": []})


def test_what_is_no_model_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(BENCH, None)
    with pytest.raises(FormatError, match="has no config.json"):
        open_model(str(tmp_path), asking)
    with pytest.raises(FormatError, match="neither a file of predictions, a model folder, nor 'endpoint'"):
        open_model("nowhere", asking)
    monkeypatch.delenv("SIGHTLINE_ENDPOINT_URL", raising=False)
    with pytest.raises(ValueError, match="No multimodal endpoint is set up"):
        open_model("endpoint", asking)


# --- the endpoint ----------------------------------------------------------------------------------------------------


def asked(monkeypatch: pytest.MonkeyPatch, shown: Callable[..., list[Shown]]) -> Asking:
    monkeypatch.setattr(models, "shown", shown)
    return Asking(BENCH, Look())


def test_the_endpoint_sees_pictures_with_times_and_is_greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = asked(monkeypatch, lambda *_: [Shown(0.5, b"\xff\xd8one"), Shown(1.5, b"\xff\xd8two")])
    one = item("q1", video="c.mp4", context=("P0: Hi.",))
    with Server([says("<think>x</think><answer>B")]) as server:
        model = models.ByEndpoint(server.config(), asking)
        reply = model.answer(one)
        model.close()
    body = server.asked[0]
    assert (body["temperature"], body["max_tokens"], body["stop"]) == (0.0, 2048, ["</answer>"])
    parts = body["messages"][1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "image_url", "text"]
    assert [parts[0]["text"], parts[2]["text"]] == ["<0.5 seconds>", "<1.5 seconds>"]
    words = said(body)
    assert all(line in words for line in ("P0: Hi.", "A) Person 1", "D) no one", "<gaze>", "<gesture>", one.question))
    assert reply.text == "<think>x</think><answer>B</answer>"  # the tag at which the server stopped
    assert (reply.frames, reply.model, reply.error, reply.finish) == (2, "scripted-1", None, "stop")
    assert reply.prompt is not None and len(reply.prompt) == 64


def test_text_only_shows_nothing_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server([says("B")]) as server:
        model = models.ByEndpoint(server.config(), Asking(BENCH, None, reasoning=False))
        reply = model.answer(item("q1", video="c.mp4"))
        model.close()
    assert prompts.NOT_SHOWN in said(server.asked[0]) and server.asked[0]["max_tokens"] == 64
    assert len(server.asked[0]["messages"][1]["content"]) == 1 and reply.frames == 0


def test_a_failing_endpoint_and_a_broken_video_are_errors_of_the_item(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> list[Shown]:
        raise FormatError("The video c.mp4 of the item q1 is not below /v.")

    with Server([fails(400, "too many pictures"), says("no", reason="content_filter")]) as server:
        model = models.ByEndpoint(server.config(), asked(monkeypatch, lambda *_: []))
        reply = model.answer(item("q1", video="c.mp4"))
        assert reply.error is not None and "too many pictures" in reply.error and not reply.text
        held = model.answer(item("q1", video="c.mp4"))
        assert held.error is not None and "held the reply back" in held.error and not held.text
        monkeypatch.setattr(models, "shown", broken)
        again = model.answer(item("q1", video="c.mp4"))
        model.close()
    assert again.error is not None and "not below /v" in again.error and len(server.asked) == 2


# --- a folder --------------------------------------------------------------------------------------------------------


class Full(RuntimeError):
    """As torch names it."""


def folder(path: Path) -> Path:
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"weights")
    return path


@pytest.fixture
def local_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> local.LocalModel:
    monkeypatch.setattr(local.torchside, "missing", lambda: [])
    monkeypatch.setattr(local.LocalModel, "free", lambda self: None)
    found = open_model(str(folder(tmp_path / "tiny")), Asking(BENCH, None))
    assert isinstance(found, local.LocalModel)
    return found


def test_a_folder_answers(local_model: local.LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "generate", lambda item, pictures: ("<answer>B", "stop"))
    reply = local_model.answer(item("q1"))
    assert (reply.text, reply.finish, reply.error) == ("<answer>B</answer>", "stop", None)
    monkeypatch.setattr(local_model, "generate", lambda item, pictures: ("<answer>B", "length"))
    assert local_model.answer(item("q1")).text == "<answer>B"  # what it would have gone on with is not known
    parts = local_model.messages(item("q1"), [Shown(0.25, b""), Shown(0.75, b"")])[1]["content"]
    assert [part["type"] for part in parts] == ["text", "image", "text", "image", "text"]
    assert parts[1] == {"type": "image"}  # no image key: Arrow would fill nulls into every part


@pytest.mark.parametrize(
    "error",
    [MemoryError(), Full("CUDA out of memory. Tried to allocate 2 GiB"), type("OutOfMemoryError", (Full,), {})()],
)
def test_running_out_of_memory_is_an_error_never_a_wrong_answer(
    local_model: local.LocalModel, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(local_model, "generate", fail)
    reply = local_model.answer(item("q1"))
    assert out_of_memory(error) and reply.error is not None and reply.error.startswith("Memory ran out")
    monkeypatch.setattr(local_model, "generate", lambda *_: (_ for _ in ()).throw(Full("shapes differ")))
    with pytest.raises(Full, match="shapes differ"):  # anything else is a fault of ours, and is not swallowed
        local_model.answer(item("q1"))


def test_the_fingerprint_of_a_folder_knows_its_weights(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "a"), folder(tmp_path / "b")
    assert local.fingerprint(one) == local.fingerprint(other)
    (other / "model.safetensors").write_bytes(b"weighty")
    assert local.fingerprint(one) != local.fingerprint(other)


def test_missing_packages_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.torchside, "missing", lambda: ["torch"])
    with pytest.raises(ValueError, match="needs torch; install them with `make ml`"):
        open_model(str(folder(tmp_path / "tiny")), Asking(BENCH, None))
