"""Tiny models: the folders load as the real ones do, one seed makes one model, and they say what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from ml import torchside
from ml.training import tiny

pytestmark = pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed")
SAID = "<think>\nPerson 1 looks at Person 12 from 0.5 s.\n</think>\n<answer>B</answer>"


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_a_folder_loads_as_the_real_one_does(family: str, tmp_path: Path) -> None:
    torch, transformers = torchside.load()
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    folder, again, other = (tiny.build(family, tmp_path / str(n), seed=seed) for n, seed in enumerate((0, 0, 1)))
    assert torch.equal(state, torch.random.get_rng_state())  # what the caller draws next is as it was
    weights = [(path / "model.safetensors").read_bytes() for path in (folder, again, other)]
    assert weights[0] == weights[1] != weights[2]
    assert all((again / path.name).read_bytes() == path.read_bytes() for path in folder.iterdir())
    assert tiny.is_tiny(folder) and not tiny.is_tiny(tmp_path)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2_000_000
    if family == "qwen3":
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    else:
        tokenizer = transformers.AutoProcessor.from_pretrained(folder).tokenizer
        model = transformers.AutoModelForImageTextToText.from_pretrained(folder)
    assert 100_000 < sum(one.numel() for one in model.parameters()) < 350_000
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id == tokenizer.convert_tokens_to_ids(tiny.END)
    ids = tokenizer(SAID)["input_ids"]
    assert tokenizer.decode(ids) == SAID
    assert [tokenizer.convert_ids_to_tokens(ids)[at] for at in (0, -1)] == ["<think>", "</answer>"]


def test_a_template_that_can_open_the_thoughts_is_told_to(tmp_path: Path) -> None:
    from ml.evaluation.local import rendered
    from ml.training.grpo import opened

    _, transformers = torchside.load()
    turn = [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}]
    for family, by_default in (("qwen3_5", True), ("qwen3_5", False), ("qwen3-vl", None)):
        processor = transformers.AutoProcessor.from_pretrained(tiny.build(family, tmp_path / f"{family}{by_default}"))
        if by_default is False:  # as the smaller ones come
            processor.chat_template = tiny.template("qwen3_5_nothink").read_text()
        opens, closed = (rendered(processor, turn, thinking=thinking) for thinking in (True, False))
        if by_default is None:
            assert opens == closed and opens.endswith("<|im_start|>assistant\n") and opened(processor) == ""
        else:
            assert opens.endswith("<|im_start|>assistant\n<think>\n") and opened(processor) == "<think>\n"
            assert closed.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_mistakes_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("mine")
    assert tiny.main(["--family", "qwen3", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path} is there and is no empty folder.\n"
    assert (tmp_path / "x").read_text() == "mine"
    with pytest.raises(ValueError, match="There is no family 'qwen'; there are qwen3-vl, qwen3_5, qwen3."):
        tiny.build("qwen", tmp_path / "y")
