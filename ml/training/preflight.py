"""Before a run: what it will be given, how large it is, what it takes, and what speaks against it.

    told = preflight(read(snapshot), config, tokenizer_of(model), model=model, snapshot=snapshot)

    {"items", "train", "validation",             rows of the stage: in both splits, and in each
     "recordings": {"train", "validation"},
     "clips": {"files", "bytes", "missing"},     of the training rows
     "frames": {"median", "most", "capped"},     of a row; rows too long for the full rate
     "tokens": {"text", "text_p95", "text_max",  of the words of a row: median, and so on; "estimated" without tokenizer
                "vision", "vision_p95", "vision_max", "paper_vision",
                "longest", "limit", "clipped",   longest sequence with its reply, the model's limit, rows beyond that
                "estimated": bool},
     "batch": {"per_device", "accumulation", "processes", "sequences", "items", "generations"},
     "steps", "seconds", "gpus", "memory_gb_per_gpu", "memory": {part: gigabytes},
     "sgr_coverage", "no_value": {reward: share of rows},
     "sentences": [..], "warnings": [..], "errors": [..]}

What cannot be known (without a model: memory, time) is null. A run with errors would not start, or fail; warnings are
for a person to weigh. No torch here: a model is its headers and configuration, and a clip is opened only for its size.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ml.evaluation.frames import Look, even
from ml.formats.errors import FormatError
from ml.progress import Progress, silent
from ml.questions.lint import balance
from ml.rewards import registry
from ml.text.answers import letter_of
from ml.training import estimates, messages
from ml.training.configs import Config
from ml.training.estimates import GB, Shape, Speed
from ml.training.rows import GRPO, SFT, SINGLE, TRAIN, VALIDATION, TrainingRow, of_stage, reward_row

MESSAGE_TOKENS = 5  # marks around a message, its role and its ends of line
REPLY_TOKENS = 3  # marks before the reply
PICTURE_MARKS = 2  # before and after a picture
BYTES_A_TOKEN = 3.5  # of UTF-8, where no tokenizer counts
LOW_COVERAGE = 0.5
SGR = ("sgr", "sgr-release", "sgr-paper", "sgr-strict")
FEW_STEPS = 10
Ints = NDArray[np.int64]


class Tokenizer(Protocol):
    """Anything that encodes: of tokenizers or of transformers."""

    def encode(self, text: str, /) -> Any: ...


def tokenizer_of(model: Path) -> Tokenizer | None:
    """The tokenizer of a model's folder; None where it has no tokenizer.json or the package is not installed."""
    path = model / "tokenizer.json"
    try:
        from tokenizers import Tokenizer as Fast
    except ImportError:
        return None
    return Fast.from_file(str(path)) if path.is_file() else None


def preflight(
    rows: Sequence[TrainingRow],
    config: Config,
    tokenizer: Tokenizer | None = None,
    *,
    model: Path | None = None,
    snapshot: Path | None = None,
    leaks: Sequence[str] = (),
    speed: Speed | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Look at a snapshot's rows under a configuration; the module's head has what comes back.

    `rows`: of both splits, whatever their stage. `model`: the folder of the start weights; `snapshot`: the folder of
    the rows, for their clips; `leaks`: as snapshot.json has them. Raises ValueError for a stage without rows (the
    summariser's), what `progress` raises.
    """
    used = of_stage(rows, config.stage)
    found = {name: [row for row in used if row.split == name] for name in (TRAIN, VALIDATION)}
    train = found[TRAIN]
    errors, warnings = [], list(leaks)
    shape, wrong = _shape(model)
    errors += wrong
    clips, sizes, missing = _clips(train, snapshot, progress)
    errors += missing
    told: dict[str, Any] = {
        "items": len(used),
        "train": len(train),
        "validation": len(found[VALIDATION]),
        "recordings": {name: len({row.recording for row in part}) for name, part in found.items()},
        "clips": clips,
    }
    if not train:
        errors.append(_why_nothing(rows, config.stage))
        return told | {"sentences": [], "warnings": warnings, "errors": errors}
    frames, capped = _frames(train, config)
    pictures = _picture_tokens(train, config, shape, sizes)
    text = _text_tokens(train, frames, config.stage, tokenizer, progress)
    tokens = _tokens(text, frames, pictures, config, shape) | {"estimated": tokenizer is None}
    steps = config.steps(len(train))
    graded = _no_value(train, config)
    coverage = registry.coverage([reward_row(row, "") for row in of_stage(train, GRPO)])
    told |= {
        "frames": {"median": _middle(frames), "most": int(frames.max()), "capped": int(capped.sum())},
        "tokens": tokens,
        "batch": _batch(config),
        "steps": steps,
        "gpus": None if config.model.device == "cpu" else config.train.processes,
        "sgr_coverage": None if math.isnan(coverage) else coverage,
        "no_value": graded,
        **_cost(shape, config, text + frames * pictures, frames, steps, speed),
    }
    errors += _errors(train, config, tokens["clipped"], tokens["limit"])
    warnings += _warnings(told, found, config, model)
    return told | {"sentences": _sentences(told, config, shape, speed), "warnings": warnings, "errors": errors}


# ---------------------------------------------------------------------------------------------------------------------
# What is there


def _shape(model: Path | None) -> tuple[Shape | None, list[str]]:
    if model is None:
        return None, []
    try:
        shape = estimates.shape_of(model)
    except FormatError as error:
        return None, [str(error)]
    return shape, [] if shape.vision else [f"The model {model.name} has no vision part, and the rows are about clips."]


def _clips(
    rows: Sequence[TrainingRow], snapshot: Path | None, progress: Progress
) -> tuple[dict[str, int], dict[str, tuple[int, int]], list[str]]:
    """Counts, (width, height) of each clip by hash, and a sentence where some are not there or cannot be read."""
    needed = sorted({row.clip.sha256: row.clip.file for row in rows}.items())
    if snapshot is None:
        return {"files": len(needed)}, {}, []
    sizes: dict[str, tuple[int, int]] = {}
    total, wrong = 0, []
    for done, (sha256, file) in enumerate(needed):
        progress("clips", done / len(needed))
        try:
            total += (snapshot / file).stat().st_size
            sizes[sha256] = _size(snapshot / file)
        except (OSError, ValueError) as error:
            wrong.append(f"{file} {'is not there' if isinstance(error, FileNotFoundError) else 'cannot be read'}")
    told = {"files": len(needed), "bytes": total, "missing": len(wrong)}
    if not wrong:
        return told, sizes, []
    return told, sizes, [f"{len(wrong)} of {len(needed)} clips cannot be shown; the first: {wrong[0]}."]


def _size(path: Path) -> tuple[int, int]:
    """Width and height of a video, from its head. Raises ValueError, OSError."""
    import av

    try:
        with av.open(str(path)) as container:
            context = container.streams.video[0].codec_context
            return context.width, context.height
    except (av.FFmpegError, IndexError) as error:
        raise ValueError(str(error)) from error


def _why_nothing(rows: Sequence[TrainingRow], stage: str) -> str:
    train = sum(row.split == TRAIN for row in rows)
    what = "reasoning to learn from" if stage == SFT else "options and a letter"
    return f"None of the {train} training rows has {what}, so there is nothing for the stage {stage}."


def _no_value(rows: Sequence[TrainingRow], config: Config) -> dict[str, float]:
    """Share of the rows for which a reward has no value, by reward; of judged ones only the judge can tell."""
    if config.stage != GRPO:
        return {}
    graded = [reward_row(row, row.reasoning or "<think>\n</think>\n<answer>A</answer>") for row in rows]
    names = [name for name in config.rewards.chosen() if name not in registry.GROUPED]
    return {name: sum(registry.named(name)(row) is None for row in graded) / len(graded) for name in names}


# ---------------------------------------------------------------------------------------------------------------------
# Frames and tokens


def _frames(rows: Sequence[TrainingRow], config: Config) -> tuple[Ints, NDArray[np.bool_]]:
    """Frames of each row, and whether the most allowed ones are fewer than the rate would give."""
    look = Look(config.frames.most, config.frames.rate, config.frames.longest)
    frames = np.array([len(even(row.clip.duration_s, look)) for row in rows], np.int64)
    wanted = np.array([row.clip.duration_s for row in rows]) * config.frames.rate
    return frames, wanted >= config.frames.most + 1


def _picture_tokens(
    rows: Sequence[TrainingRow], config: Config, shape: Shape | None, sizes: Mapping[str, tuple[int, int]]
) -> Ints:
    """Tokens of one frame of each row; of the largest frame allowed where a clip's size is not known."""
    side = config.frames.longest

    @cache
    def of(size: tuple[int, int]) -> int:
        return estimates.picture_tokens(*size, config, shape)

    return np.array([of(sizes.get(row.clip.sha256, (side, side))) for row in rows], np.int64)


def _text_tokens(
    rows: Sequence[TrainingRow], frames: Ints, stage: str, tokenizer: Tokenizer | None, progress: Progress
) -> Ints:
    """Tokens of all words of each row: task, times, marks, and (sft) what the assistant says."""

    @cache
    def count(text: str) -> int:
        if tokenizer is None:
            return math.ceil(len(text.encode()) / BYTES_A_TOKEN)
        found = tokenizer.encode(text)
        return len(getattr(found, "ids", found))

    def length(row: TrainingRow, pictures: int) -> int:
        system, user = messages.prompt(row, [0.0])
        words = [system["content"][0]["text"], user["content"][-1]["text"]]
        said = [row.reasoning] if stage == SFT else []
        marks = MESSAGE_TOKENS * 2 + REPLY_TOKENS + 2 * len(said)
        # times are written like 12.5; each is counted as one in the middle of the clip is
        time = count(f"<{row.clip.duration_s / 2:.1f} seconds>") + PICTURE_MARKS
        return sum(count(text) for text in [*words, *said]) + marks + pictures * time

    found = np.zeros(len(rows), np.int64)
    for at, row in enumerate(rows):
        if at % 256 == 0:
            progress("tokens", at / len(rows))
        found[at] = length(row, int(frames[at]))
    return found


def _tokens(text: Ints, frames: Ints, pictures: Ints, config: Config, shape: Shape | None) -> dict[str, Any]:
    """The tokens of the rows, as the module's head has them; `pictures`: of one frame of each row."""
    vision = frames * pictures
    whole = text + vision + (config.rollouts.max_new_tokens if config.stage == GRPO else 0)
    limit = shape.limit if shape else None
    return {
        **_spread("text", text),
        **_spread("vision", vision),
        "paper_vision": _middle(np.ceil(frames / 2).astype(np.int64) * pictures),
        "longest": int(whole.max()),
        "limit": limit,
        "clipped": int((whole > limit).sum()) if limit else 0,
    }


def _middle(values: Ints) -> int:
    return int(np.median(values))


def _spread(name: str, values: Ints) -> dict[str, int]:
    return {
        name: _middle(values),
        f"{name}_p95": int(np.percentile(values, 95, method="higher")),
        f"{name}_max": int(values.max()),
    }


# ---------------------------------------------------------------------------------------------------------------------
# What it takes


def _batch(config: Config) -> dict[str, int | None]:
    train = config.train
    return {
        "per_device": train.per_device_batch,
        "accumulation": train.accumulation,
        "processes": train.processes,
        "sequences": config.step_batch,
        "items": config.step_items,
        "generations": config.rollouts.num_generations if config.stage == GRPO else None,
    }


def _cost(
    shape: Shape | None, config: Config, tokens: Ints, frames: Ints, steps: int, speed: Speed | None
) -> dict[str, Any]:
    """Memory and time, by `ml.training.estimates`; None without a model."""
    if shape is None:
        return {"memory_gb_per_gpu": None, "memory": None, "seconds": None}
    parts = estimates.memory(shape, config, int(tokens.max()))
    speed = speed or _speed(config)
    seconds = estimates.step_seconds(shape, config, float(tokens.mean()), float(frames.mean()), speed)
    return {
        "memory_gb_per_gpu": round(parts["total"] / GB, 2),
        "memory": {name: round(size / GB, 3) for name, size in parts.items() if name != "total"},
        "seconds": round(speed.start_s + steps * seconds),
    }


def _speed(config: Config) -> Speed:
    return estimates.CPU if config.model.device == "cpu" else estimates.GPU


# ---------------------------------------------------------------------------------------------------------------------
# In words


def _sentences(told: Mapping[str, Any], config: Config, shape: Shape | None, speed: Speed | None) -> list[str]:
    tokens, batch = told["tokens"], told["batch"]
    counted = " (estimated: no tokenizer counted them)" if tokens["estimated"] else ""
    lines = [
        f"Frames go in as single images, each after its time: {tokens['vision']:,} vision tokens in the middle row, "
        f"{_times(tokens['vision'] / tokens['paper_vision'])} the {tokens['paper_vision']:,} of the paper's video "
        f"layout, which takes two frames into one. The words are {tokens['text']:,} tokens{counted}.",
        _batch_in_words(batch, config),
    ]
    if not config.train.max_steps:
        lines[-1] += (
            f" {config.train.epochs:g} pass{'' if config.train.epochs == 1 else 'es'} are {told['steps']:,} steps."
        )
    if shape is not None:
        count = estimates.trained(shape, config)
        lines.append(
            f"{count:,} of {shape.all:,} weights are trained. Memory is an estimate from sizes and configuration; the "
            "longest row decides it."
        )
        lines.append((speed or _speed(config)).sentence)
    return lines


def _times(factor: float) -> str:
    return "twice" if factor == 2 else f"{factor:.3g} times"


def _batch_in_words(batch: Mapping[str, Any], config: Config) -> str:
    product = f"{batch['per_device']} x {batch['processes']} x {batch['accumulation']}"
    what = "completions" if config.stage == GRPO else "items"
    line = f"A step has {product} = {batch['sequences']:,} {what} (of one process at once, processes, batches)"
    if config.stage == GRPO:
        line += f": {batch['items']:,} questions with {batch['generations']} answers each"
    return f"{line}."


def _errors(train: Sequence[TrainingRow], config: Config, over: int, limit: int | None) -> list[str]:
    found = []
    if config.stage == GRPO and config.step_batch % config.rollouts.num_generations:
        found.append(
            f"A step has {config.step_batch} completions, which is no multiple of {config.rollouts.num_generations} "
            "answers to a question."
        )
    elif config.stage == GRPO and len(train) < config.step_items:
        found.append(f"A step takes {config.step_items} questions, and there are {len(train)}.")
    if over:
        found.append(
            f"{over} of {len(train)} rows are longer than the {limit:,} tokens the model takes; "
            "show fewer frames (frames.most) or smaller ones (frames.most_pixels)."
        )
    return found


def _warnings(
    told: Mapping[str, Any], found: Mapping[str, Sequence[TrainingRow]], config: Config, model: Path | None
) -> list[str]:
    train, held = found[TRAIN], found[VALIDATION]
    warnings = []
    if not held:
        warnings.append("No row validates: nothing will show whether what is learned holds elsewhere.")
    elif told["recordings"][VALIDATION] == 1:
        warnings.append("All validation rows are of one recording, so they say little about others.")
    if told["frames"]["capped"]:
        reach = config.frames.most / config.frames.rate
        warnings.append(
            f"{told['frames']['capped']} of {len(train)} rows have clips longer than {reach:g} s, so that their "
            f"{config.frames.most} frames come more slowly than {config.frames.rate:g} a second."
        )
    if told["steps"] < FEW_STEPS and not config.train.max_steps:
        warnings.append(f"The run has {told['steps']} steps; little is learned in so few.")
    if config.train.warmup_steps >= told["steps"]:
        warnings.append(f"The learning rate rises over {config.train.warmup_steps} steps and never gets to its height.")
    warnings += _letters(train)
    if config.stage == GRPO:
        warnings += _rewards(told, config)
    if model is not None and _is_tiny(model):
        warnings.append("The start weights are random, for trying the machinery: nothing of use will be learned.")
    return warnings


def _is_tiny(model: Path) -> bool:
    from ml.training.tiny import is_tiny

    return is_tiny(model)


def _letters(train: Sequence[TrainingRow]) -> list[str]:
    """Letters that are the key too often or too seldom, by the linter's test."""
    found = []
    single = [row for row in train if row.kind == SINGLE and row.answer]
    for options in sorted({len(row.options) for row in single}):
        keys = Counter(row.answer for row in single if len(row.options) == options)
        counts = [keys[letter_of(at)] for at in range(options)]
        if sum(counts) < balance.FEWEST:
            continue
        _, _, p = balance.uniform(counts)
        if p < balance.LEVEL:
            shown = ", ".join(f"{letter_of(at)} {count}" for at, count in enumerate(counts))
            found.append(f"The keys of {sum(counts)} questions with {options} options are uneven ({shown}).")
    return found


def _rewards(told: Mapping[str, Any], config: Config) -> list[str]:
    chosen = config.rewards.chosen()
    found = []
    judged = [name for name, weight in chosen.items() if name in registry.GROUPED and weight]
    if judged:
        found.append(f"A judge is asked for {' and '.join(judged)}; where it gives no answer, there is no value.")
    for name, share in told["no_value"].items():
        if share and chosen[name]:
            found.append(f"The reward {name} has no value for {100 * share:.0f} % of the rows.")
    coverage = told["sgr_coverage"]
    if any(chosen.get(name) for name in SGR) and coverage is not None and coverage < LOW_COVERAGE:
        found.append(
            f"SGR coverage is {100 * coverage:.0f} %: in the other rows the question names everybody who takes part, "
            "so that grounding is not rewarded there."
        )
    return found
