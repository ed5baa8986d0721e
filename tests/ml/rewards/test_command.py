"""The command line, and how long rewards take."""

from __future__ import annotations

import json
import re
import time
from dataclasses import fields
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest

from ml.rewards import registry
from ml.rewards.__main__ import main
from ml.rewards.rows import Row, Truth
from tests.figures import Record

ROWS: list[dict[str, Any]] = [
    {
        "question": "Whom does Person 1 look at?",
        "completion": "<think><gaze>Person 1 looks at Person 3 from 3.0 s to 5.0 s.</gaze></think><answer>B</answer>",
        "answer": "B",
        "gt_events": [{"source": "gaze", "persons": [1, 3], "start": 3.0, "end": 5.0}],
        "visible_persons": [1, 2, 3, 4, 5],
    },
    {"question": "What does Person 2 do?", "completion": "<answer>A</answer>", "answer": "B"},
]


def test_score_writes_one_object_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.json"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert main(["score", str(rows), "--reward", "accuracy", "sgr-strict", "--json", str(out)]) == 0
    assert json.loads(out.read_text()) == [
        {"accuracy": 1.0, "sgr-strict": 1.0},
        {"accuracy": 0.0, "sgr-strict": None},
    ]
    assert "SGR coverage 0.500" in capsys.readouterr().out


def test_a_preset_is_the_papers_weighted_sum(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.json"
    rows.write_text(json.dumps(ROWS[0]))
    assert main(["score", str(rows), "--preset", "grasp", "--json", str(out)]) == 0
    assert json.loads(out.read_text())[0]["grasp"] == pytest.approx(1.0 + 0.1 + 0.05 + 0.2)


def test_explain_marks_every_mention(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.json"
    rows.write_text(json.dumps(ROWS[0]))
    assert main(["explain", str(rows), "--json", str(out)]) == 0
    marks = json.loads(out.read_text())[0]["marks"]
    text = ROWS[0]["completion"]
    assert [(text[m["start"] : m["end"]], m["counted"], m["credit"]) for m in marks] == [
        ("Person 1", "asked", 0.0),
        ("Person 3", "target", 1.0),
    ]


def test_explain_counts_from_one_and_says_why_there_is_no_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert main(["explain", str(rows)]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("row ")]
    assert heads[0].startswith("row 1: sgr-release 1.000, ") and "(no event" not in heads[0]
    none = ", ".join(f"{name} no value" for name in ("sgr-release", "sgr-paper", "sgr-strict"))
    assert heads[1:] == [f"row 2: {none} (no event with a person whom the question does not name)"]


@pytest.mark.parametrize("command", ["score", "explain"])
def test_help_tells_every_field_of_a_row(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of `Row`, as they are written in a file."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = capsys.readouterr().out
    written = {"events": "gt_events", "visible": "visible_persons"}
    for field in fields(Row):
        assert re.search(rf"^  (?:\w+, )?{written.get(field.name, field.name)}\b", told, re.MULTILINE), field.name


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ("", [], "rows.jsonl is empty."),
        ("{", [], "not valid JSON"),
        ('{"completion": 1}\n', [], "completion: expected text, found 1."),
        ('{"completion": ""}\n', ["--reward", "nonsense"], "There is no reward 'nonsense'; there are accuracy"),
        ('{"completion": ""}\n', ["--reward", "comparative-judge"], "compares completions of one prompt"),
    ],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, arguments: list[str], sentence: str
) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.json"
    rows.write_text(content)
    assert main(["score", str(rows), *arguments, "--json", str(out)]) == 2
    told = capsys.readouterr().err
    assert sentence in told and told.count("\n") == 1 and not out.exists()


@pytest.mark.measured
def test_eight_rollouts_of_a_thousand_prompts_take_under_a_second(figure: Record) -> None:
    strict, released = [median([seconds(form, run) for run in range(5)]) for form in ("sgr-strict", "sgr-release")]
    figure("accuracy, format, SGR strict: 8 x 1,000 completions", strict, "s", budget=1.0)
    figure("accuracy, format, SGR released: 8 x 1,000 completions", released, "s", budget=1.0)
    assert strict < 3.0 and released < 3.0


def seconds(form: str, run: int) -> float:
    """CPU seconds of scoring completions that nothing was worked out for, also not in an earlier run."""
    rng = Random(run)
    rows = [completion(rng, 60 * run + prompt % 50) for prompt in range(1000) for _ in range(8)]
    began = time.process_time()
    registry.score(rows, ["accuracy", "format-grasp", "grounding-tag", form])
    return time.process_time() - began


def completion(rng: Random, at: int) -> Row:
    """About 600 characters with three blocks, two of them with times from second `at` on; hardly a sentence twice."""
    a, b, c = (rng.randrange(6) for _ in range(3))
    t, u = at + rng.randrange(5) / 10, at + 2 + rng.randrange(5) / 10
    text = (
        f"<think>\nI look at the time from {t:.1f} s to {u + 2:.1f} s. {'The scene is calm and people talk. ' * 6}\n"
        f"<gaze>Person {a} and Person {b} look at each other from {t:.1f} s to {u:.1f} s.</gaze>\n"
        f"<gesture>Person {b} points at Person {c} from {u:.1f} s to {u + 1:.1f} s.</gesture>\n"
        f"<gaze>Persons {a}, {b} and {c} look at the same spot.</gaze>\n"
        f"So the answer is: Person {c}.\n</think>\n<answer>{rng.choice('ABCD')}</answer>"
    )
    events = (Truth("gaze", frozenset({0, 1}), (at, at + 2)), Truth("gesture", frozenset({1, 2}), (at + 2, at + 3)))
    return Row(text, "Whom does Person 0 look at?", "B", events, frozenset(range(6)))
