"""The model that is trained: loaded, its vision part frozen or small matrices put beside its weights, saved at the end.

Weights are kept in bfloat16 where something else keeps exact ones (LoRA's matrices, DeepSpeed's copies), in float32
otherwise; `model.precision` says what they are computed in.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

from ml import torchside
from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.training import folder
from ml.training.configs import Config
from ml.training.launch import ZERO2
from ml.training.session import CannotTrain, Session
from ml.training.tiny import LABEL, is_tiny

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj", "in_proj_qkv", "in_proj_z", "out_proj")  # the last: Qwen3.5's
MLP = ("gate_proj", "up_proj", "down_proj")


def prepare(session: Session) -> Any:
    """torch, ready: threads, sharing without compilation, quiet libraries. Raises MissingPackages."""
    torch, transformers = torchside.load("Training")
    if session.config.model.threads:
        torch.set_num_threads(session.config.model.threads)
    transformers.utils.logging.disable_progress_bar()
    for module in ("torch.distributed", "transformers.modeling_utils"):  # what they tell each other
        warnings.filterwarnings("ignore", category=FutureWarning, module=module)
    if session.config.train.parallel == "zero2" and on_cpu(session.config):
        import deepspeed

        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # gloo instead of four minutes of compiling
    return torch


def on_cpu(config: Config) -> bool:
    """Whether the run computes on the CPU: it is told to, or there is no GPU."""
    torch, _ = torchside.load("Training")
    return config.model.device == "cpu" or not torch.cuda.is_available()


def load(session: Session) -> tuple[Any, Any]:
    """Model and processor of images and text. Raises FormatError: the folder holds no such model."""
    torch, transformers = torchside.load("Training")
    from safetensors import SafetensorError  # weights that are cut short

    config = session.config
    try:
        processor = transformers.AutoProcessor.from_pretrained(
            session.model,
            local_files_only=True,
            trust_remote_code=False,
            padding_side="left",
            truncation_side="left",
        )
        model = transformers.AutoModelForImageTextToText.from_pretrained(
            session.model,
            trust_remote_code=False,
            use_safetensors=True,  # never weights that have to be unpickled
            **_options(torch, config),
        )
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        raise _unreadable(session.model, "a model of images and text", error) from error
    if not hasattr(processor, "image_processor"):
        raise FormatError(f"{session.model} has no processor of images.")
    size = processor.image_processor.size
    least = min(size["shortest_edge"], config.frames.most_pixels)
    processor.image_processor.size = {"shortest_edge": least, "longest_edge": config.frames.most_pixels}
    if config.model.freeze_vision:
        freeze(model)
    return model, processor


def load_language(session: Session) -> tuple[Any, Any]:
    """A causal language model and its tokenizer. Raises FormatError."""
    torch, transformers = torchside.load("Training")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            session.model, local_files_only=True, trust_remote_code=False
        )
        model = transformers.AutoModelForCausalLM.from_pretrained(
            session.model, trust_remote_code=False, use_safetensors=True, **_options(torch, session.config)
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise _unreadable(session.model, "a language model", error) from error
    return model, tokenizer


def _options(torch: Any, config: Config) -> dict[str, Any]:
    half = config.model.precision == "bf16" and (config.lora.enabled or config.train.parallel == "zero2")
    return {
        "local_files_only": True,
        "dtype": torch.bfloat16 if half else torch.float32,
        "attn_implementation": config.model.attention,
    }


def _unreadable(path: Path, what: str, error: Exception) -> FormatError:
    return FormatError(f"{path} cannot be loaded as {what} ({' '.join(str(error).split())[:200]}).")


def freeze(model: Any) -> None:
    """Leave vision tower and projector as they are. Raises CannotTrain: the model has none by that name."""
    found = [weight for name, weight in model.named_parameters() if "visual." in name]
    if not found:
        raise CannotTrain("The model has no vision tower named visual; model.freeze_vision=false trains all of it.")
    for weight in found:
        weight.requires_grad_(False)


def lora(config: Config, *, vision: bool = True) -> Any:
    """PEFT's configuration, or None where all weights are trained. `vision`: the language model is a part of it."""
    if not config.lora.enabled:
        return None
    from peft import LoraConfig

    layers = ATTENTION + (MLP if config.lora.target == "attention+mlp" else ())
    return LoraConfig(
        r=config.lora.rank,
        lora_alpha=config.lora.alpha,
        lora_dropout=config.lora.dropout,
        task_type="CAUSAL_LM",
        target_modules=rf".*{'language_model.*' if vision else ''}\.({'|'.join(layers)})",
    )


def arguments(session: Session) -> dict[str, Any]:
    """What SFTConfig and GRPOConfig share."""
    config, train = session.config, session.config.train
    cpu = on_cpu(config)
    return {
        "output_dir": str(session.folder.checkpoints),
        "num_train_epochs": train.epochs,
        "max_steps": train.max_steps or -1,
        "learning_rate": train.learning_rate,
        "lr_scheduler_type": train.schedule,
        "warmup_steps": train.warmup_steps,
        "weight_decay": train.weight_decay,
        "max_grad_norm": train.max_grad_norm,
        "per_device_train_batch_size": train.per_device_batch,
        "gradient_accumulation_steps": train.accumulation,
        "bf16": config.model.precision == "bf16",
        "use_cpu": cpu,
        "ddp_backend": "gloo" if cpu and session.world > 1 else None,
        "deepspeed": str(ZERO2) if train.parallel == "zero2" else None,
        "activation_checkpointing": config.model.checkpointing,
        "optim": "adamw_torch",
        "seed": train.seed,
        "data_seed": train.seed,
        "logging_steps": config.run.log_steps,
        "logging_nan_inf_filter": False,  # a loss that is no number is told, not smoothed over
        "save_strategy": "steps",
        "save_steps": config.run.save_steps,
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_num_workers": train.workers,
    }


def save_final(trainer: Any, session: Session) -> None:
    """Write RUN/final, whole or not at all: a model that loads without what it was trained from.

    With LoRA the matrices are worked into the weights there, and are in RUN/adapter on their own.
    """
    draft, adapter = (session.folder.path / name for name in (".final", "adapter"))
    if session.main:
        for path in (draft, session.folder.final):
            shutil.rmtree(path, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    if session.config.lora.enabled:
        trainer.save_model(str(adapter))
        trainer.accelerator.wait_for_everyone()
        if session.main:
            merged = trainer.accelerator.unwrap_model(trainer.model).merge_and_unload()
            merged.save_pretrained(draft)
            trainer.processing_class.save_pretrained(draft)
    else:
        trainer.save_model(str(draft))
        trainer.accelerator.wait_for_everyone()
    if session.main:
        for made in (draft, adapter):
            (made / "training_args.bin").unlink(missing_ok=True)  # pickled; all of it is in config.yaml
        folder.write_json(draft / "sightline.json", _origin(session))
        if is_tiny(session.model):
            (draft / "README.md").write_text(f"Trained from a tiny model: {LABEL}. Its answers mean nothing.\n")
        draft.rename(session.folder.final)
    trainer.accelerator.wait_for_everyone()


def _origin(session: Session) -> dict[str, Any]:
    """What a model that leaves the studio says of itself: what it was trained from, on what, and how."""
    facts = read_as.mapping(read_as.load(session.folder.facts.read_bytes()), session.folder.facts.name)
    kept = ("stage", "preset", "changed", "seed", "snapshot", "model", "rows", "versions")
    return {name: facts[name] for name in kept}
