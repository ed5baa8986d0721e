"""The summariser is taught from corrected packages: what it has to write makes the package again, and it loads."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ml import torchside
from ml.evidence import package as packages
from ml.evidence.reading import parsed
from ml.evidence.summarisers import by_model
from ml.evidence.summarisers.rules import Rules
from ml.formats.errors import FormatError
from ml.training import configs, folder, summariser
from ml.training.folder import RunFolder

TEXT = (
    "<think>Person 1 looks at Person 2 from 1.0 s to 2.5 s. Then Person 2 picks up a red cup. "
    "She seems to be happy.</think><answer>B</answer>"
)


def line(text: str = TEXT) -> dict[str, object]:
    """A reply with a package that somebody corrected: the first claim bears the answer and the last does not."""
    made = Rules().summarise(text, question="Who holds the cup?", options=("Person 1", "Person 2"))
    claims = tuple(replace(claim, load_bearing=claim.id == "c1") for claim in made.claims)
    corrected = replace(made, claims=claims)
    return {
        "text": text,
        "package": packages.to_json(corrected),
        "question": "Who holds the cup?",
        "options": ["Person 1", "Person 2"],
    }


def test_what_the_model_should_write_makes_the_package_again() -> None:
    told = line()
    example = summariser.example_of(json.loads(json.dumps(told)))
    want = packages.parse(told["package"])
    found = by_model.package(
        TEXT, parsed(TEXT), by_model.sheet(example.sheet), {}, raw="", repairs=(), duration_s=None, vocabulary=None
    )
    assert len(want.claims) == 3 and any(claim.phrases for claim in want.claims)
    assert [claim.span for claim in found.claims] == [claim.span for claim in want.claims]
    for name in ("text", "type", "polarity", "persons", "load_bearing", "time", "statement"):
        assert [getattr(claim, name) for claim in found.claims] == [getattr(claim, name) for claim in want.claims], name
    heads = [[(one.text, one.head, one.singular) for one in claim.phrases] for claim in want.claims]
    assert [[(one.text, one.head, one.singular) for one in claim.phrases] for claim in found.claims] == heads
    assert "Who holds the cup?" in example.asked and "Person 1 | Person 2" in example.asked


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    config = configs.load("tiny-cpu", "summariser")
    path = tmp_path / "packages.jsonl"
    broken = line() | {"text": TEXT + " "}
    path.write_text(json.dumps(line()) + "\n" + json.dumps(broken) + "\n")
    with pytest.raises(FormatError, match=r"packages.jsonl, line 2: rationale_sha256: the package was made of another"):
        summariser.examples(path, config)
    path.write_text("")
    with pytest.raises(FormatError, match="packages.jsonl is empty."):
        summariser.examples(path, config)


@pytest.mark.long
@pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed")
@pytest.mark.usefixtures("training_process")
def test_it_is_trained_with_lora_and_loads_as_the_local_summariser(
    tiny_model: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ml.evidence.summarisers.local import Local
    from ml.evidence.summarisers.protocol import BrokenOutput

    path, out = tmp_path / "packages.jsonl", tmp_path / "run"
    path.write_text("".join(json.dumps(line(TEXT.replace("red", word))) + "\n" for word in ("red", "blue", "green")))
    model = tiny_model("qwen3")
    arguments = ["--config", "tiny-cpu", "--snapshot", str(path), "--model", str(model), "--out", str(out)]
    assert summariser.main(arguments) == 0
    assert RunFolder(out).state() == folder.State("done", 4, 4)
    losses = [one["values"]["loss"] for one in folder.read_lines(RunFolder(out).metrics)]
    assert losses[-1] < losses[0]
    for local in (Local(out / "final", max_tokens=8), Local(model, out / "adapter", max_tokens=8)):
        with pytest.raises(BrokenOutput):  # it is loaded and asked, and a tiny one writes no package
            local.summarise(TEXT)
    assert summariser.main([*arguments[:-1], str(tmp_path / "short"), "--set", "text.most_tokens=16"]) == 2
    assert "3 of 3 replies are longer than text.most_tokens (16); the shortest has" in capsys.readouterr().err
