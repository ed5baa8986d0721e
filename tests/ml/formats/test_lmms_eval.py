"""The lmms-eval task: reading what we write, the sentence for each fault, and what its functions answer."""

from __future__ import annotations

import random
import types
from pathlib import Path
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.formats.lmms_eval import Metric, Task, build, parse, utils
from ml.text import answers
from tests.ml.formats.damage import damaged

TASK = Task(
    "bench_r1_test",
    "parquet",
    1.0,
    process_docs="utils.process_docs",
    dataset_kwargs={"data_files": {"test": "data/test.parquet"}},
    metrics=[Metric("accuracy", "utils.mean"), Metric("cost", "utils.costs", False)],
    extra={"tag": ["social", "ja: nein"]},
)


def test_writing_and_reading_again_changes_nothing() -> None:
    assert parse(build(TASK)) == TASK
    assert parse(build(TASK).encode()) == TASK
    assert build(parse(build(TASK))) == build(TASK)


def test_functions_carry_the_tag_of_the_field() -> None:
    text = build(TASK)
    assert "doc_to_visual: !function 'utils.doc_to_visual'" in text or "!function utils.doc_to_visual" in text


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("task: bench_r1_test", "job: x", "The field task is missing."),
        ("test_split: test", "test_split: [test]", "test_split: expected a string, found"),
        ("version: 1.0", "version: one", "metadata.version: expected a number, found"),
        ("higher_is_better: true", "higher_is_better: 1", "metric_list[0].higher_is_better: expected true or false"),
        ("utils.doc_to_text", "doc to text", "doc_to_text: expected a function (!function module.name), found"),
        ("output_type: generate_until", "output_type: *x", "line "),
        ("task: bench_r1_test", "task: 'a", "line "),
        ("task: bench_r1_test", "task: !!python/object:os.system a", "line "),
        ("tag:", "2026-01-01:", "the file: a key must be text, not"),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_place(old: str, new: str, sentence: str) -> None:
    text = build(TASK)
    assert old in text
    with pytest.raises(FormatError) as caught:
        parse(text.replace(old, new, 1))
    said = str(caught.value)
    assert said.startswith(sentence) and said.endswith(".") and "\n" not in said


def test_a_small_file_that_would_grow_is_refused() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{b}, *{b}]\n" for b, c in zip("abcdefgh", "bcdefghi", strict=True))
    with pytest.raises(FormatError, match=r"an alias \(\*a\) is not read here"):
        parse(bomb)
    with pytest.raises(FormatError, match="nested too deeply"):
        parse("[" * 100 + "]" * 100)


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_file_is_read_or_refused_with_a_sentence(seed: int) -> None:
    data = damaged(build(TASK), random.Random(seed))
    try:
        task = parse(data)
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
    else:
        assert parse(build(task)) == task


# ---------------------------------------------------------------------------------------------------------------------
# Functions


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """utils.py as a user imports it."""
    folder = tmp_path_factory.mktemp("release") / "lmms_eval"
    folder.mkdir()
    module = types.ModuleType("utils")
    module.__file__ = str(folder / "utils.py")
    exec(compile(utils(), module.__file__, "exec"), module.__dict__)
    return module


DOC = {"question": "Who?", "options": ["One", "Two", "Three", "Four"], "answer": "B", "video": "video/a.mp4",
       "category": "mutual_gaze", "difficulty": "medium"}  # fmt: skip


def test_the_functions_ask_and_score(made: Any) -> None:
    assert Path(made.doc_to_visual(DOC)[0]).parts[-2:] == ("video", "a.mp4")
    prompts = {"pre_prompt": "See. ", "post_prompt": " Now."}
    assert made.doc_to_text(DOC, prompts) == "See. Who?\nA) One\nB) Two\nC) Three\nD) Four Now."
    assert made.doc_to_target(DOC) == "B"
    kinds = [{"kind": kind} for kind in ("single", "open", "yes_no", "number", "multiple")]
    dataset = types.SimpleNamespace(filter=lambda keep: [doc["kind"] for doc in kinds if keep(doc)])
    assert made.process_docs(dataset) == ["single", "yes_no"]
    right, wrong = made.process_results(DOC, ["B"]), made.process_results(DOC, ["<answer>C</answer>"])
    assert right["accuracy"]["score"] == 1.0 and wrong["accuracy"]["score"] == 0.0
    assert made.mean([right["accuracy"], wrong["accuracy"]]) == 50.0


@pytest.mark.parametrize(
    "text",
    ["B", "B)", "<answer>B</answer>", "<think>A) no</think>\nB. Person 2", "<think>C</think><answer> B </answer>",
     "\\boxed{B}", "I say (C).", "It is B) since A is not", "Because", "", "none", "<answer>x</answer> D)", "E"],
)  # fmt: skip
def test_the_letter_is_the_one_that_the_studio_reads(made: Any, text: str) -> None:
    assert made.letter_of(text, 4) == answers.letter(text), text
