"""What a run will take, worked out from the model's files and the configuration: memory, time, tokens of a picture.

All of it is arithmetic on headers and configuration files; no weights are read and torch is not needed. Memory and time
are rough: the formulas stand with the functions, and whoever shows a number says that it is an estimate.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.training.configs import Config
from ml.training.policy import ATTENTION, MLP

GB = 1e9
LARGEST_HEADER = 100 * 2**20
# of activations that one layer keeps for a token and a unit of width, in 16 bits, without the square of attention
# (Korthikanti et al. 2022, arXiv 2205.05198: 34 s b h)
LAYER_BYTES = 34
FIXED = {"gpu": 2.0 * GB, "cpu": 0.5 * GB}  # libraries, kernels, buffers


# ---------------------------------------------------------------------------------------------------------------------
# The model


@dataclass(frozen=True)
class Shape:
    """A model's sizes. `matrices`: (out, in) of its language part's weights by name. `limit`: tokens of a sequence at
    most, None where it is not told. `attending`: layers that keep keys and values. `least`: area of a picture at least,
    in pixels."""

    language: int
    vision: int
    matrices: Mapping[str, tuple[int, int]]
    layers: int
    attending: int
    width: int
    kv_width: int
    vocabulary: int
    limit: int | None = None
    patch: int = 16
    merge: int = 2
    least: int = 65536

    @property
    def all(self) -> int:
        return self.language + self.vision


def shape_of(folder: Path) -> Shape:
    """The sizes of a model's folder. Raises FormatError: there are no weights, or no configuration of a model."""
    config = _json(folder / "config.json")
    text = read_as.mapping(config.get("text_config", config), f"{folder / 'config.json'}: text_config")
    sizes = dict(_weights(folder))
    vision = sum(math.prod(size) for name, size in sizes.items() if "visual." in name)
    try:
        layers, width = int(text["num_hidden_layers"]), int(text["hidden_size"])
        heads = int(text["num_attention_heads"])
        head = int(text.get("head_dim") or width // heads)
        kinds = text.get("layer_types") or ["full_attention"] * layers
        patch, merge, least = _pictures(folder, config)
        return Shape(
            language=sum(math.prod(size) for size in sizes.values()) - vision,
            vision=vision,
            matrices={n: (s[0], s[1]) for n, s in sizes.items() if len(s) == 2 and "visual." not in n},
            layers=layers,
            attending=sum("linear" not in str(kind) for kind in kinds),
            width=width,
            kv_width=int(text.get("num_key_value_heads") or heads) * head,
            vocabulary=int(text["vocab_size"]),
            limit=None if text.get("max_position_embeddings") is None else int(text["max_position_embeddings"]),
            patch=patch,
            merge=merge,
            least=least,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{folder / 'config.json'} does not tell the sizes of a language model ({error}).") from error


def _json(path: Path) -> Mapping[str, Any]:
    try:
        return read_as.mapping(read_as.load(path.read_bytes()), str(path))
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}.") from error


def _weights(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of every weight, from the headers of the safetensors files."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise FormatError(f"{folder} holds no weights as safetensors.")
    for path in files:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > LARGEST_HEADER:
                raise FormatError(f"{path} is no safetensors file.")
            try:
                header = json.loads(file.read(size))
                for name, told in header.items():
                    if name != "__metadata__":
                        yield name, tuple(int(side) for side in told["shape"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise FormatError(f"{path} is no safetensors file.") from error


def _pictures(folder: Path, config: Mapping[str, Any]) -> tuple[int, int, int]:
    """Patch, merge and least area of the image processor; from the model's configuration where it has no file."""
    tower = config.get("vision_config") or {}
    told: Mapping[str, Any] = {}
    for name in ("preprocessor_config.json", "processor_config.json"):
        if (folder / name).is_file():
            found = _json(folder / name)
            told = found.get("image_processor", found)
            break
    size = told.get("size") or {}
    least = size.get("shortest_edge") or told.get("min_pixels") or 65536
    patch = told.get("patch_size") or tower.get("patch_size") or 16
    merge = told.get("merge_size") or tower.get("spatial_merge_size") or 2
    return int(patch), int(merge), int(least)


def picture_tokens(width: int, height: int, config: Config, shape: Shape | None) -> int:
    """Tokens of one frame, as the processor makes them: sides rounded to whole cells within the allowed area.

    `width`, `height`: of the clip, in pixels. Without a shape a cell is 32 x 32 pixels (Qwen3-VL).
    """
    patch, merge, least = (shape.patch, shape.merge, shape.least) if shape else (16, 2, 65536)
    cell, most = patch * merge, config.frames.most_pixels
    least = min(least, most)
    if max(width, height) > config.frames.longest:
        scale = config.frames.longest / max(width, height)
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
    high, wide = round(height / cell) * cell, round(width / cell) * cell
    if high * wide > most:
        beta = math.sqrt(height * width / most)
        high, wide = (max(cell, math.floor(side / beta / cell) * cell) for side in (height, width))
    elif high * wide < least:
        beta = math.sqrt(least / (height * width))
        high, wide = (math.ceil(side * beta / cell) * cell for side in (height, width))
    return high // cell * (wide // cell)


# ---------------------------------------------------------------------------------------------------------------------
# Memory


def trained(shape: Shape, config: Config) -> int:
    """How many numbers are trained: rank x (in + out) for each adapted matrix, or all weights but frozen ones."""
    if config.lora.enabled:
        names = ATTENTION + (MLP if config.lora.target == "attention+mlp" else ())
        pattern = re.compile(rf".*\.({'|'.join(names)})\.weight")
        return config.lora.rank * sum(sum(size) for name, size in shape.matrices.items() if pattern.fullmatch(name))
    return shape.language + (0 if config.model.freeze_vision else shape.vision)


def memory(shape: Shape, config: Config, longest: int) -> dict[str, float]:
    """Bytes one process needs, by part, and their "total"; an estimate, `longest` the tokens of the longest sequence.

    With P weights of which T are trained, N processes, b bytes of a number in computing (2 in bf16, else 4):

        weights      w P, w = 2 where something else keeps exact ones (LoRA, ZeRO-2 in bf16), else 4
        gradients    w T (LoRA's matrices: 4 T), divided by N under ZeRO-2
        optimizer    AdamW's two moments, 8 T; under ZeRO-2 with its exact copy 12 T / N
        reference    w P more in GRPO with beta > 0 and all weights trained (LoRA switches its matrices off instead)
        activations  tokens x layers x width x b with checkpointing plus one layer's 17 b a unit, without it those
                     17 b of every layer; and logits in b + 4 bytes a word of the vocabulary, for the tokens that count
        generation   GRPO: keys and values, 2 b x attending layers x their width, of all sequences a process samples
        fixed        2 GB on a GPU, 0.5 GB without

    Tokens: `longest` x the batch of one process. Activations and generation are not there at once: the larger counts.
    What vLLM takes is not in it.
    """
    train, many = config.train, config.train.processes
    b = 2 if config.model.precision == "bf16" else 4
    zero = train.parallel == "zero2"
    w = 2 if b == 2 and (config.lora.enabled or zero) else 4
    count, share = trained(shape, config), many if zero else 1
    grpo = config.stage == "grpo"
    sequence = longest + (config.rollouts.max_new_tokens if grpo else 0)
    tokens = sequence * train.per_device_batch
    layer = LAYER_BYTES / 2 * b * shape.width
    kept = shape.layers * shape.width * b + layer if config.model.checkpointing else shape.layers * layer
    counted = config.rollouts.max_new_tokens * train.per_device_batch if grpo else tokens
    working = tokens * kept + counted * shape.vocabulary * (b + 4)
    sampled = sequence * train.per_device_batch * train.accumulation
    caching = 2.0 * b * shape.attending * shape.kv_width * sampled if grpo and not config.rollouts.use_vllm else 0.0
    parts = {
        "weights": float(w * shape.all),
        "gradients": (4 if config.lora.enabled else w) * count / share,
        "optimizer": (12 if zero else 8) * count / share,
        "reference": float(w * shape.all) if grpo and config.grpo.beta > 0 and not config.lora.enabled else 0.0,
        "activations": float(working),
        "generation": caching,
        "fixed": FIXED["cpu" if config.model.device == "cpu" else "gpu"],
    }
    return parts | {"total": sum(parts.values()) - min(parts["activations"], parts["generation"])}


# ---------------------------------------------------------------------------------------------------------------------
# Time


@dataclass(frozen=True)
class Speed:
    """What a machine is assumed to do, each process: `flops` a second in training, `bandwidth` bytes a second when it
    samples word by word and `least_s` a word at least, `frame_s` to decode a frame, `step_s` a step and `start_s` once
    beside all that."""

    name: str
    flops: float
    bandwidth: float
    least_s: float
    frame_s: float
    step_s: float
    start_s: float

    @property
    def sentence(self) -> str:
        return (
            f"The time is an estimate for {self.name}: {self.flops / 1e12:.3g} TFLOP/s in training, "
            f"{self.bandwidth / 1e12:.2g} TB/s and at least {1000 * self.least_s:.0f} ms for each word sampled, and "
            "every rollout as long as it may be."
        )


GPU = Speed("one GPU of the H200 kind per process", 4e14, 2.4e12, 0.03, 0.005, 0.5, 120.0)
CPU = Speed("one core per process", 2e10, 5e9, 0.01, 0.005, 0.1, 15.0)


def step_seconds(shape: Shape, config: Config, tokens: float, frames: float, speed: Speed | None = None) -> float:
    """Seconds of a step; `tokens`, `frames` of a sequence on average. An estimate.

    A token costs forward F = 2 (P + tokens x width x layers) operations, backward as many for what it goes through and
    again for what is trained; checkpointing adds F, a reference model F. Sampling costs for each of the most new tokens
    the reading of the weights and of half the keys and values of all sequences, at least `least_s`.
    """
    speed = speed or (CPU if config.model.device == "cpu" else GPU)
    grpo, train = config.stage == "grpo", config.train
    sequences = train.per_device_batch * train.accumulation
    new = config.rollouts.max_new_tokens if grpo else 0
    length = tokens + new
    forward = 2.0 * (shape.language + length * shape.width * shape.layers)
    times = 2 + (0 if config.lora.enabled else 1) + bool(config.model.checkpointing)
    times += bool(grpo and config.grpo.beta > 0)
    # the vision tower works on merge^2 patches for each token, and more than forward only where it is trained
    tower = 2.0 * shape.vision * shape.merge**2 * (1 if config.model.freeze_vision else times)
    computing = sequences * length * (times * forward + tower) / speed.flops
    b = 2 if config.model.precision == "bf16" else 4
    cache = 2.0 * b * shape.attending * shape.kv_width * length * sequences
    sampling = new * max(speed.least_s, (b * shape.language + cache / 2) / speed.bandwidth)
    clips = sequences / config.rollouts.num_generations if grpo else sequences
    return computing + sampling + clips * frames * speed.frame_s + speed.step_s
