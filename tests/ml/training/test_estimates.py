"""Sizes of a model from its files, tokens of a picture, memory and time: against values worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ml import torchside
from ml.formats.errors import FormatError
from ml.training import configs, estimates
from ml.training.estimates import Shape, Speed

PREFIX = "model.language_model.layers.0"
SHAPE = Shape(
    language=1000,
    vision=200,
    matrices={
        f"{PREFIX}.self_attn.q_proj.weight": (8, 6), f"{PREFIX}.mlp.down_proj.weight": (6, 4), "lm_head": (50, 10),
    },
    layers=2, attending=1, width=10, kv_width=4, vocabulary=50,
)  # fmt: skip
TEXT: dict[str, Any] = {
    "num_hidden_layers": 4, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 99,
    "max_position_embeddings": 4096, "layer_types": ["linear_attention"] * 3 + ["full_attention"],
}  # fmt: skip


def model(folder: Path, text: dict[str, Any] = TEXT, vision: bool = True) -> Path:
    """A model's folder with headers and no numbers behind them, in two files as large models have them."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"text_config": text, "vision_config": {"patch_size": 14}}))
    tower = {"model.visual.patch_embed.weight": [32, 3, 2, 16, 16]} if vision else {}
    files = [
        {f"{PREFIX}.self_attn.q_proj.weight": [32, 32], "model.language_model.norm.weight": [32]},
        {f"{PREFIX}.mlp.up_proj.weight": [64, 32], **tower},
    ]
    for at, shapes in enumerate(files):
        header = {name: {"dtype": "BF16", "shape": size, "data_offsets": [0, 0]} for name, size in shapes.items()}
        data = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
        (folder / f"model-{at}.safetensors").write_bytes(len(data).to_bytes(8, "little") + data)
    return folder


def test_sizes_come_from_headers_and_configuration(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    found = estimates.shape_of(folder)
    assert (found.language, found.vision) == (32 * 32 + 32 + 64 * 32, 32 * 3 * 2 * 16 * 16)
    assert (found.layers, found.attending, found.width, found.kv_width) == (4, 1, 32, 2 * 8)
    assert (found.vocabulary, found.limit, found.patch, found.merge, found.least) == (99, 4096, 14, 2, 65536)
    (folder / "preprocessor_config.json").write_text(
        json.dumps({"patch_size": 16, "merge_size": 4, "min_pixels": 1024})
    )
    found = estimates.shape_of(folder)
    assert (found.patch, found.merge, found.least) == (16, 4, 1024)
    told = {"image_processor": {"patch_size": 16, "size": {"shortest_edge": 2048, "longest_edge": 9}}}
    (folder / "preprocessor_config.json").rename(folder / "processor_config.json").write_text(json.dumps(told))
    assert estimates.shape_of(folder).least == 2048


def test_a_folder_that_is_no_model_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"config.json: No such file"):
        estimates.shape_of(tmp_path)
    folder = model(tmp_path / "m", {name: value for name, value in TEXT.items() if name != "hidden_size"})
    with pytest.raises(FormatError, match="does not tell the sizes of a language model"):
        estimates.shape_of(folder)
    (folder / "model-0.safetensors").write_bytes(b"\xff" * 40)
    with pytest.raises(FormatError, match="model-0.safetensors is no safetensors file"):
        estimates.shape_of(folder)
    for path in folder.glob("*.safetensors"):
        path.unlink()
    with pytest.raises(FormatError, match="holds no weights as safetensors"):
        estimates.shape_of(folder)


SIZES = [
    # 768 x 432 is above 262144 px by 1.125 squared: 682.7 x 384, down to 21 x 12 cells
    (1920, 1080, 768, 262144, 65536, 21 * 12),
    (64, 48, 768, 4096, 1024, 2 * 2),  # 1.5 cells are rounded to 2
    # below 65536 px: by 4.619 up, 295.6 x 221.7, to 10 x 7 cells
    (64, 48, 768, 262144, 65536, 10 * 7),
    (64, 48, 768, 2048, 65536, 1),  # the least is at most the most: 52.3 x 39.2, down to 1 x 1
    (320, 180, 160, 262144, 1024, 5 * 3),  # 160 x 90: 90 is nearer to 3 cells
]


@pytest.mark.parametrize(("width", "height", "longest", "most", "least", "tokens"), SIZES)
def test_tokens_of_a_picture(width: int, height: int, longest: int, most: int, least: int, tokens: int) -> None:
    config = configs.load("lora-1gpu", "sft", {"frames.longest": longest, "frames.most_pixels": most})
    assert estimates.picture_tokens(width, height, config, replace(SHAPE, least=least)) == tokens
    assert estimates.picture_tokens(height, width, config, replace(SHAPE, least=least)) == tokens


@pytest.mark.long
def test_the_processor_makes_as_many() -> None:
    if torchside.missing():
        pytest.skip("needs `make ml`")
    import numpy as np

    _, transformers = torchside.load()
    for width, height, longest, most, least, tokens in SIZES:
        scale = min(1.0, longest / max(width, height))
        picture = np.zeros((round(height * scale), round(width * scale), 3), np.uint8)
        size = {"shortest_edge": min(least, most), "longest_edge": most}
        made = transformers.Qwen2VLImageProcessor(patch_size=16, merge_size=2, temporal_patch_size=2, size=size)
        _, high, wide = made(images=[picture], return_tensors="pt")["image_grid_thw"][0].tolist()
        assert high * wide // 4 == tokens


def test_memory_of_a_plain_run() -> None:
    config = configs.load("tiny-cpu", "sft")  # 2 items at once, fp32, no checkpointing, vision frozen
    assert estimates.memory(SHAPE, config, 100) == {
        "weights": 4 * 1200,
        "gradients": 4 * 1000,
        "optimizer": 8 * 1000,
        "reference": 0,
        "activations": 200 * (2 * 17 * 4 * 10) + 200 * 50 * 8,
        "generation": 0,
        "fixed": 5e8,
        "total": 4800 + 4000 + 8000 + 352_000 + 5e8,
    }


def test_memory_of_the_papers_run() -> None:
    config = configs.load("paper-8xH200", "grpo")  # 4 completions at once x 8, 8 processes, ZeRO-2, beta 0.05
    found = estimates.memory(SHAPE, config, 100)
    activations = 1124 * 4 * (2 * 10 * 2 + 34 * 10) + 1024 * 4 * 50 * 6
    caching = 2 * 2 * 1 * 4 * 1124 * 32  # keys and values of 32 sequences
    assert found == {
        "weights": 2400, "gradients": 250, "optimizer": 1500, "reference": 2400, "activations": activations,
        "generation": caching, "fixed": 2e9, "total": 2400 + 250 + 1500 + 2400 + activations + 2e9,
    }  # fmt: skip
    assert estimates.memory(SHAPE, configs.apply(config, {"grpo.beta": 0}), 100)["reference"] == 0
    everything = configs.apply(config, {"model.freeze_vision": False})
    assert estimates.memory(SHAPE, everything, 100)["gradients"] == 2 * 1200 / 8


def test_memory_of_small_matrices() -> None:
    config = configs.load("lora-1gpu", "grpo")
    assert estimates.trained(SHAPE, config) == 16 * (8 + 6 + 6 + 4)
    assert estimates.trained(SHAPE, configs.apply(config, {"lora.target": "attention"})) == 16 * (8 + 6)
    found = estimates.memory(SHAPE, config, 100)
    assert (found["weights"], found["gradients"], found["optimizer"]) == (2400, 4 * 384, 8 * 384)
    assert found["reference"] == 0  # the matrices are switched off instead


def test_time_of_a_step() -> None:
    config = configs.load("tiny-cpu", "grpo")  # 16 completions of 24 tokens, 2 prompts, beta 0.05
    speed = Speed("x", flops=1e6, bandwidth=1e6, least_s=0.01, frame_s=0.5, step_s=1.0, start_s=9.0)
    forward = 2 * (1000 + 100 * 10 * 2)
    computing = 16 * 100 * (4 * forward + 2 * 200 * 4) / 1e6  # forward, backward twice, reference; the tower forward
    sampling = 24 * (4 * 1000 + 2 * 4 * 1 * 4 * 100 * 16 / 2) / 1e6
    found = estimates.step_seconds(SHAPE, config, 76, 3, speed)
    assert found == pytest.approx(computing + sampling + 2 * 3 * 0.5 + 1.0)
    assert found == pytest.approx(45.6704)
