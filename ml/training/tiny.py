"""Tiny models of random weights, for trying the machinery: 0.3 M parameters, made in seconds, the same for one seed.

    python -m ml.training.tiny --family qwen3-vl|qwen3_5|qwen3 [--seed N] OUT

OUT becomes a folder as transformers reads it (AutoProcessor, AutoModelForImageTextToText; `qwen3` is a plain language
model: AutoTokenizer, AutoModelForCausalLM), 1.2 MB, with a README.md that says what it is. What such a model answers
means nothing. Its tokenizer is trained on the words of our own prompts; each of `words` is one token of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ml import torchside
from ml.evaluation import prompts

FAMILIES = ("qwen3-vl", "qwen3_5", "qwen3")
TEMPLATES = {"qwen3-vl": "qwen3_vl", "qwen3_5": "qwen3_5_think", "qwen3": "qwen3"}  # those that come with TRL
LABEL = "random weights, for trying the machinery"
WORDS = tuple(f"<{slash}{name}>" for name in ("think", "gaze", "gesture", "answer") for slash in ("", "/"))
END, PAD = "<|im_end|>", "<|endoftext|>"
SPECIAL = (
    PAD, "<|im_start|>", END, "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>",
    "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>",
    "<|video_pad|>",
)  # fmt: skip
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LIVELY = ("A", "B", "C", "D", "1", "2", "3", "Ġ", ".", "Person", "ĠPerson")
LOUDNESS = 15.0  # their logits then spread over about +-2.5, those of other tokens over +-0.2
PIECES = 400  # of the tokenizer, bytes included
SPEECH = (
    "Person 1 looks at Person 2 from 1.5 s to 3.0 s.",
    "Person 3 points at Person 1 while Person 2 looks away.",
    "Persons 1 and 2 look at each other; nobody else looks at them.",
    "<1.5 seconds> Who looks at whom? A) Person 1 B) Person 2 C) Person 3 D) nobody",
)


def build(family: str, out: Path, *, seed: int = 0, words: Sequence[str] = WORDS, longest_edge: int = 64 * 64) -> Path:
    """Write the folder and give it back. `longest_edge`: area of a picture at most, in pixels.

    Raises ValueError: there is no such family, or OUT is there and is no empty folder; MissingPackages.
    """
    if family not in FAMILIES:
        raise ValueError(f"There is no family {family!r}; there are {', '.join(FAMILIES)}.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is there and is no empty folder.")
    torch, transformers = torchside.load("A tiny model")
    transformers.utils.logging.disable_progress_bar()
    tokenizer = _tokenizer(transformers, words)
    tokenizer.chat_template = template(TEMPLATES[family]).read_text()
    out.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _language(transformers, tokenizer) if family == "qwen3" else _vision(family, transformers, tokenizer)
        _enliven(torch, model, tokenizer, words)
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids(END)
    model.generation_config.pad_token_id = tokenizer.convert_tokens_to_ids(PAD)
    model.save_pretrained(out)
    (tokenizer if family == "qwen3" else _processor(transformers, tokenizer, longest_edge)).save_pretrained(out)
    (out / "README.md").write_text(f"A {family} of 0.3 M parameters, seed {seed}: {LABEL}. Its answers mean nothing.\n")
    return out


def is_tiny(folder: Path) -> bool:
    """Whether a model's folder was written here, so that pages can say so."""
    readme = folder / "README.md"
    return readme.is_file() and LABEL in readme.read_text(errors="replace")


def _tokenizer(transformers: Any, words: Sequence[str]) -> Any:
    """Byte pairs as Qwen splits them, learned from our own prompts."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    told = [prompts.SYSTEM, *prompts.WHAT.values(), prompts.SHOWN, prompts.PERSONS, prompts.REASON, prompts.PLAIN]
    made.train_from_iterator([*told, *SPEECH], trainer)
    made.add_special_tokens([AddedToken(word, normalized=False, special=True) for word in SPECIAL])
    made.add_tokens([AddedToken(word, normalized=False) for word in words])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END, pad_token=PAD)


def template(name: str) -> Path:
    """A chat template that comes with TRL. Raises MissingPackages."""
    spec = importlib.util.find_spec("trl")
    if spec is None or spec.origin is None:
        raise torchside.MissingPackages("A tiny model needs trl; install it with `make ml`.")
    return Path(spec.origin).parent / "chat_templates" / f"{name}.jinja"


def _enliven(torch: Any, model: Any, tokenizer: Any, words: Sequence[str]) -> None:
    """Make the words, options, numbers and the end likelier than single bytes, or no two rewards would differ."""
    weights = model.get_output_embeddings().weight
    with torch.no_grad():
        weights[tokenizer.convert_tokens_to_ids([*words, *LIVELY])] *= LOUDNESS
        weights[tokenizer.convert_tokens_to_ids(END)] *= 0.75 * LOUDNESS


def _text(tokenizer: Any, **more: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 32768,
        "eos_token_id": tokenizer.convert_tokens_to_ids(END),
        "pad_token_id": tokenizer.convert_tokens_to_ids(PAD),
        "tie_word_embeddings": False,
        **more,
    }


def _language(transformers: Any, tokenizer: Any) -> Any:
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**_text(tokenizer, num_hidden_layers=3)))


def _vision(family: str, transformers: Any, tokenizer: Any) -> Any:
    tower = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": 64,
        "num_position_embeddings": 64,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }
    names = {"image": "image_pad", "video": "video_pad", "vision_start": "vision_start", "vision_end": "vision_end"}
    ids = {f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{mark}|>") for name, mark in names.items()}
    if family == "qwen3-vl":
        rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2], "mrope_interleaved": True}
        text = _text(tokenizer, num_hidden_layers=3, rope_parameters=rope)
        config = transformers.Qwen3VLConfig(
            text_config=text,
            vision_config={**tower, "deepstack_visual_indexes": [0, 1]},
            tie_word_embeddings=False,
            **ids,
        )
        return transformers.Qwen3VLForConditionalGeneration(config)
    rope = {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "mrope_section": [2, 1, 1],
        "mrope_interleaved": True,
        "partial_rotary_factor": 0.5,
    }
    text = _text(
        tokenizer,
        num_hidden_layers=4,  # three of linear and one of full attention
        rope_parameters=rope,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
    )
    config = transformers.Qwen3_5Config(text_config=text, vision_config=tower, tie_word_embeddings=False, **ids)
    return transformers.Qwen3_5ForConditionalGeneration(config)


def _processor(transformers: Any, tokenizer: Any, longest_edge: int) -> Any:
    patches = {"patch_size": 16, "merge_size": 2, "temporal_patch_size": 2, "image_mean": [0.5] * 3}
    patches["image_std"] = [0.5] * 3
    return transformers.Qwen3VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(
            **patches, size={"shortest_edge": 32 * 32, "longest_edge": longest_edge}
        ),
        tokenizer=tokenizer,
        video_processor=transformers.Qwen3VLVideoProcessor(**patches),
        chat_template=tokenizer.chat_template,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ml.training.tiny", description=f"A tiny model: {LABEL}.")
    parser.add_argument("--family", choices=FAMILIES, default=FAMILIES[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    asked = parser.parse_args(arguments)
    try:
        build(asked.family, asked.out, seed=asked.seed)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    size = sum(path.stat().st_size for path in asked.out.iterdir())
    print(json.dumps({"folder": str(asked.out), "family": asked.family, "bytes": size}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
