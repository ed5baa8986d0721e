"""The settings of a training run, by sections: what each is, what it may be, and its default.

`ml.training.configs` reads, checks and writes them. Numbers with "GRASP" beside them are those of the released training
(hyper-parameters as its release has them). No torch here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ml.rewards import registry

STAGES = ("sft", "grpo", "summariser")


def setting(
    default: Any,
    help: str,
    *,
    unit: str = "",
    choices: Sequence[str] = (),
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
) -> Any:
    """A field with what a form and a check need to know of it. `least`, `above` (exclusive), `most`: of numbers."""
    told = {"help": help, "unit": unit, "choices": tuple(choices), "least": least, "above": above, "most": most}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=told)
    return field(default=default, metadata=told)


@dataclass(frozen=True)
class Paths:
    """Where data, start weights and the run's folder are; the command line's --snapshot, --model, --out go first."""

    snapshot: str = setting("", "Folder of the data snapshot (for the summariser: a file of packages).")
    model: str = setting("", "Folder of the model whose weights the run begins with.")
    out: str = setting("", "Folder of the run.")


@dataclass(frozen=True)
class Model:
    """How the model is computed, and what of it is trained."""

    precision: str = setting("bf16", "Numbers the weights are computed in; a GPU takes bf16.", choices=("bf16", "fp32"))
    attention: str = setting(
        "sdpa",
        "How attention is computed; flash_attention_2 needs its own package and a GPU.",
        choices=("sdpa", "flash_attention_2", "eager"),
    )
    device: str = setting("auto", "auto takes GPUs where there are any; cpu never does.", choices=("auto", "cpu"))
    threads: int = setting(0, "Threads of the CPU per process; 0 leaves it to torch.", least=0, most=1024)
    freeze_vision: bool = setting(True, "Keep vision tower and projector as they are, as GRASP does.")
    checkpointing: bool = setting(True, "Compute activations again in the backward pass: less memory, more time.")


@dataclass(frozen=True)
class Lora:
    """Small matrices beside the weights (LoRA)."""

    enabled: bool = setting(False, "Train small matrices beside the weights instead of all weights; not the paper's.")
    rank: int = setting(16, "Rank of the matrices.", least=1, most=1024)
    alpha: int = setting(32, "Scale of the matrices: alpha / rank.", least=1, most=4096)
    dropout: float = setting(0.0, "Dropout before the matrices.", least=0, most=0.9)
    target: str = setting(
        "attention+mlp", "Which layers of the language model get them.", choices=("attention+mlp", "attention")
    )


@dataclass(frozen=True)
class Frames:
    """What is shown of a clip: how many frames, in seconds of its clock, and how large."""

    rate: float = setting(2.0, "Frames per second at most.", unit="1/s", above=0, most=60)
    most: int = setting(512, "Frames of a clip at most; an even number is taken.", unit="frames", least=2, most=4096)
    longest: int = setting(768, "Longer side of a decoded frame at most.", unit="px", least=16, most=8192)
    most_pixels: int = setting(
        256 * 32 * 32, "Area of a frame at most; 32 x 32 px are one token.", unit="px", least=32 * 32, most=2**24
    )


@dataclass(frozen=True)
class Train:
    """Optimiser, batch, order of the items, seed."""

    epochs: float = setting(1.0, "Passes over the data; not used where max_steps is set.", above=0, most=1000)
    max_steps: int = setting(0, "Steps in all; 0 goes by epochs.", unit="steps", least=0, most=10_000_000)
    learning_rate: float = setting(1e-5, "Learning rate at its highest.", above=0, most=1)
    schedule: str = setting(
        "cosine", "How the learning rate goes on.", choices=("cosine", "linear", "constant_with_warmup")
    )
    warmup_steps: int = setting(0, "Steps in which the learning rate rises from 0.", unit="steps", least=0, most=10**6)
    weight_decay: float = setting(1e-3, "Weight decay of AdamW.", least=0, most=1)
    max_grad_norm: float = setting(1.0, "Norm at which gradients are clipped.", above=0, most=1e6)
    per_device_batch: int = setting(
        1, "Items (grpo: completions) that one process handles at once.", least=1, most=4096
    )
    accumulation: int = setting(1, "Such batches in one step.", least=1, most=4096)
    processes: int = setting(1, "Processes of the run; on GPUs one for each.", least=1, most=1024)
    parallel: str = setting(
        "none",
        "How several processes share the work: none copies everything to each (DDP), zero2 splits gradients and "
        "optimizer (DeepSpeed ZeRO-2).",
        choices=("none", "zero2"),
    )
    order: str = setting(
        "shuffled",
        "Order of the items: shuffled; length-grouped puts items of similar length into one step; curriculum goes "
        "from easy over medium to hard.",
        choices=("shuffled", "length-grouped", "curriculum"),
    )
    workers: int = setting(0, "Processes that decode frames ahead, for each training process.", least=0, most=64)
    seed: int = setting(0, "Seed of everything that is drawn.", least=0, most=2**31 - 1)


@dataclass(frozen=True)
class Rollouts:
    """How completions are sampled, and what long ones cost."""

    num_generations: int = setting(8, "Completions of each prompt (K).", least=2, most=1024)
    max_new_tokens: int = setting(1024, "Tokens of a completion at most.", unit="tokens", least=1, most=65536)
    temperature: float = setting(1.0, "Temperature of sampling.", above=0, most=10)
    top_p: float = setting(1.0, "Share of probability that is sampled from.", above=0, most=1)
    top_k: int = setting(0, "Number of tokens that are sampled from; 0 takes all.", least=0, most=10**6)
    overlong_tokens: int = setting(
        256, "The penalty on long completions rises over this many last tokens; 0 has none.", unit="tokens", least=0
    )
    overlong_penalty: float = setting(1.0, "The penalty at full length.", least=0, most=100)
    use_vllm: bool = setting(False, "Sample with vLLM in the same process; a package of its own, GPU only.")
    vllm_memory: float = setting(0.3, "Share of a GPU's memory that vLLM may take.", above=0, most=0.95)


@dataclass(frozen=True)
class Grpo:
    """What is made of rewards: advantages and loss."""

    advantage: str = setting(
        "released",
        "released: each reward centred in its group, not divided, weighted, summed, clipped (GRASP). group: the "
        "weighted sum centred and divided by the group's standard deviation (TRL). batch: by the batch's. none: "
        "centred only.",
        choices=("released", "group", "batch", "none"),
    )
    advantage_clip: float = setting(5.0, "Bound of the released advantage, both ways.", above=0, most=1e6)
    beta: float = setting(0.05, "Weight of the KL term to the start model; 0 leaves that model out.", least=0, most=10)
    loss: str = setting(
        "grpo",
        "How tokens are averaged: grpo per completion (GRASP), dapo over all tokens, dr_grpo by the greatest length.",
        choices=("grpo", "dapo", "dr_grpo"),
    )


@dataclass(frozen=True)
class Rewards:
    """Which rewards count how much."""

    preset: str = setting("grasp", "Rewards and weights of a paper.", choices=tuple(registry.PRESETS))
    weights: dict[str, float] = setting(
        {}, "Rewards by name with their weights, in place of the preset's where any is given."
    )

    def chosen(self) -> dict[str, float]:
        """Reward name -> weight; those of weight 0 are computed and logged, too."""
        return dict(self.weights or registry.PRESETS[self.preset])


@dataclass(frozen=True)
class Run:
    """How often something is written."""

    log_steps: int = setting(1, "A line of metrics after this many steps.", unit="steps", least=1, most=10_000)
    save_steps: int = setting(100, "A checkpoint after this many steps.", unit="steps", least=1, most=10**6)
    keep_checkpoints: int = setting(3, "Newest checkpoints kept; 0 keeps all.", least=0, most=10_000)
    rollout_steps: int = setting(1, "Rollouts are written after this many steps.", unit="steps", least=1, most=10**6)
    tensorboard: bool = setting(True, "Write the metrics for TensorBoard, too.")


@dataclass(frozen=True)
class Text:
    """What the summariser is given."""

    most_tokens: int = setting(2048, "Rationale and package together at most.", unit="tokens", least=16, most=131072)


SECTIONS: dict[str, tuple[type, tuple[str, ...]]] = {  # name -> its class, and the stages that use it
    "paths": (Paths, STAGES),
    "model": (Model, STAGES),
    "lora": (Lora, STAGES),
    "frames": (Frames, ("sft", "grpo")),
    "text": (Text, ("summariser",)),
    "train": (Train, STAGES),
    "rollouts": (Rollouts, ("grpo",)),
    "grpo": (Grpo, ("grpo",)),
    "rewards": (Rewards, ("grpo",)),
    "run": (Run, STAGES),
}

GROUPS = {
    "model": "Model",
    "lora": "LoRA",
    "frames": "Frames",
    "text": "Text",
    "train": "Optimiser and batch",
    "rollouts": "Rollouts",
    "grpo": "GRPO",
    "rewards": "Rewards",
    "run": "Run",
}
