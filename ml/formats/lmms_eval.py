"""An lmms-eval task: a YAML file, and beside it `utils.py` with the functions it names.

Layout of the YAML: `dataset_path, dataset_kwargs, task, test_split, [process_docs], output_type, doc_to_visual,
doc_to_text, doc_to_target, generation_kwargs, process_results, metric_list [{metric, aggregation, higher_is_better}],
lmms_eval_specific_kwargs {default: {pre_prompt, post_prompt}}, metadata {version}`. Functions are named with the tag
`!function module.name`. Fields beyond these are kept (`extra`).

The functions score as GRASP does: the letter is taken from the text after the last closing think tag, in the order of
`ml.text.answers`, and must match exactly. Reading is `parse`, writing is `build`; `utils` is the text of utils.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ml.formats import frontmatter
from ml.formats import jsonfields as read
from ml.formats.errors import FormatError
from ml.formats.frontmatter import Function

FIELDS = (
    "dataset_path", "dataset_kwargs", "task", "test_split", "process_docs", "output_type", "doc_to_visual",
    "doc_to_text", "doc_to_target", "generation_kwargs", "process_results", "metric_list",
    "lmms_eval_specific_kwargs", "metadata",
)  # fmt: skip
FUNCTIONS = ("doc_to_visual", "doc_to_text", "doc_to_target", "process_results")
PRE_PROMPT = "Watch the video and answer the question about the people in it.\n"
POST_PROMPT = "\nAnswer with the letter of the right option only."


@dataclass
class Metric:
    metric: str
    aggregation: str
    higher_is_better: bool = True


@dataclass
class Task:
    """One task. Functions by name, as utils.<name>; `version` of the task, not of lmms-eval."""

    task: str
    dataset_path: str
    version: float
    test_split: str = "test"
    dataset_kwargs: dict[str, Any] = field(default_factory=dict)
    process_docs: str = ""  # which items are asked; all of them where no function is named
    output_type: str = "generate_until"
    doc_to_visual: str = "utils.doc_to_visual"
    doc_to_text: str = "utils.doc_to_text"
    doc_to_target: str = "utils.doc_to_target"
    process_results: str = "utils.process_results"
    generation_kwargs: dict[str, Any] = field(
        default_factory=lambda: {"max_new_tokens": 64, "temperature": 0, "do_sample": False}
    )
    metrics: list[Metric] = field(default_factory=lambda: [Metric("accuracy", "utils.mean")])
    pre_prompt: str = PRE_PROMPT
    post_prompt: str = POST_PROMPT
    extra: dict[str, Any] = field(default_factory=dict)


def build(task: Task) -> str:
    """The text of the YAML file; `parse` of it gives an equal `Task`."""
    tree = {
        "dataset_path": task.dataset_path,
        "dataset_kwargs": task.dataset_kwargs,
        "task": task.task,
        "test_split": task.test_split,
        **({"process_docs": Function(task.process_docs)} if task.process_docs else {}),
        "output_type": task.output_type,
        **{name: Function(getattr(task, name)) for name in FUNCTIONS[:3]},
        "generation_kwargs": task.generation_kwargs,
        "process_results": Function(task.process_results),
        "metric_list": [
            {"metric": one.metric, "aggregation": Function(one.aggregation), "higher_is_better": one.higher_is_better}
            for one in task.metrics
        ],
        "lmms_eval_specific_kwargs": {"default": {"pre_prompt": task.pre_prompt, "post_prompt": task.post_prompt}},
        **task.extra,
        "metadata": {"version": task.version},
    }
    return frontmatter.dump(tree)


def parse(data: bytes | str) -> Task:
    """Read and check one task file; `FormatError` names the place and the cause."""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise FormatError(f"The file is not UTF-8 text: byte {error.start} cannot be read.") from error
    tree = read.mapping(frontmatter.load(text, functions=True), "the file")
    prompts = read.mapping(read.member(tree, "lmms_eval_specific_kwargs", ""), "lmms_eval_specific_kwargs")
    where = "lmms_eval_specific_kwargs.default"
    prompts = read.mapping(read.member(prompts, "default", "lmms_eval_specific_kwargs"), where)
    metrics = read.sequence(read.member(tree, "metric_list", ""), "metric_list")
    metadata = read.mapping(read.member(tree, "metadata", ""), "metadata")
    return Task(
        task=_text(tree, "task", ""),
        dataset_path=_text(tree, "dataset_path", ""),
        test_split=_text(tree, "test_split", ""),
        process_docs=_function(tree, "process_docs", "") if "process_docs" in tree else "",
        output_type=_text(tree, "output_type", ""),
        dataset_kwargs=_tree(tree, "dataset_kwargs"),
        generation_kwargs=_tree(tree, "generation_kwargs"),
        doc_to_visual=_function(tree, "doc_to_visual", ""),
        doc_to_text=_function(tree, "doc_to_text", ""),
        doc_to_target=_function(tree, "doc_to_target", ""),
        process_results=_function(tree, "process_results", ""),
        version=read.number(read.member(metadata, "version", "metadata"), "metadata.version"),
        metrics=[_metric(one, f"metric_list[{at}]") for at, one in enumerate(metrics)],
        pre_prompt=_text(prompts, "pre_prompt", where),
        post_prompt=_text(prompts, "post_prompt", where),
        extra={key: _extra(tree[key], key) for key in tree if key not in FIELDS},
    )


def _extra(value: Any, place: str) -> Any:
    return read.plain(value, read.step("", place))


def _text(tree: Any, key: str, place: str) -> str:
    value = read.member(tree, key, place)
    if isinstance(value, Function):
        raise FormatError(f"{read.step(place, key)}: expected text, found a function.")
    return read.text(value, read.step(place, key))


def _tree(tree: Any, key: str) -> dict[str, Any]:
    return dict(read.mapping(read.plain(read.member(tree, key, ""), key), key))


def _function(tree: Any, key: str, place: str) -> str:
    value, where = read.member(tree, key, place), read.step(place, key)
    if not isinstance(value, Function):
        raise read.fail(where, "a function (!function module.name)", value)
    module, dot, name = str(value).rpartition(".")
    if not dot or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise read.fail(where, "a function (!function module.name)", str(value))
    return str(value)


def _metric(value: Any, place: str) -> Metric:
    tree = read.mapping(value, place)
    higher = read.member(tree, "higher_is_better", place)
    if not isinstance(higher, bool):
        raise read.fail(f"{place}.higher_is_better", "true or false", higher)
    return Metric(_text(tree, "metric", place), _function(tree, "aggregation", place), higher)


UTILS = '''"""Functions of an lmms-eval task over the items of this release that ask for a letter. Needs Python only."""

import os
import re
from pathlib import Path

ROOT = Path(os.environ.get("SIGHTLINE_RELEASE", Path(__file__).resolve().parents[1]))
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def process_docs(dataset):
    """The items that ask for one letter."""
    return dataset.filter(lambda doc: doc["kind"] in ("single", "yes_no"))


def doc_to_visual(doc):
    """The path of the clip: below the release folder, or below the folder that SIGHTLINE_RELEASE names."""
    return [str(ROOT / doc["video"])]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    """The question and its options, one a line."""
    prompts = lmms_eval_specific_kwargs or {}
    options = [f"{letter}) {text}" for letter, text in zip(LETTERS, doc["options"])]
    lines = "\\n".join([doc["question"], *options])
    return prompts.get("pre_prompt", "") + lines + prompts.get("post_prompt", "")


def doc_to_target(doc):
    return doc["answer"]


def letter_of(text, count):
    """The letter a response names, as GRASP reads it: after the last closing think tag, in the answer tag, boxed, as
    X) or X., else the first character. None where that is no letter of an option."""
    letters = LETTERS[:count]
    text = re.split(r"</think>", text)[-1].strip()
    tag = re.search(r"<answer>\\s*(.)", text, re.DOTALL)
    if tag and tag[1] in letters:
        return tag[1]
    boxed = re.search(r"\\\\boxed\\{\\s*(.)", text)
    if boxed and boxed[1] in letters:
        return boxed[1]
    for letter in letters:
        if re.search(rf"(?<![A-Za-z]){letter}[).]", text):
            return letter
    return text[0] if text and text[0] in letters else None


def process_results(doc, results):
    """Whether the letter is right; the category and the difficulty go along for tables."""
    right = letter_of(results[0], len(doc["options"])) == doc["answer"]
    return {"accuracy": {"score": float(right), "category": doc["category"], "difficulty": doc["difficulty"]}}


def mean(results):
    """Accuracy in per cent over all items."""
    return 100 * sum(one["score"] for one in results) / max(1, len(results))
'''


def utils() -> str:
    """The text of utils.py."""
    return UTILS
