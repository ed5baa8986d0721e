"""The summariser `local`: a causal language model of transformers from a folder, with or without a LoRA beside it.

Only safetensors are read and no code of the folder is run. The model is told the schema, what it writes is checked
against it, and broken output is asked for once more. Decoding is greedy.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from ml import torchside
from ml.evidence.package import Package
from ml.evidence.reading import parsed
from ml.evidence.summarisers import by_model
from ml.evidence.summarisers.protocol import BrokenOutput
from ml.evidence.summarisers.registry import LOCAL_LORA, LOCAL_MODEL
from ml.evidence.vocabulary import Vocabulary

REPLY_TOKENS = 4096


class Local:
    """`folder`: config, tokenizer and safetensors; `lora`: a PEFT adapter; without a folder both are those that the
    environment names. Raises ValueError with a sentence at once when a package, folder or file is missing; the weights
    are loaded when the first reply comes."""

    name: ClassVar[str] = "local"
    version: ClassVar[str] = "1"

    def __init__(self, folder: str | Path = "", lora: str | Path = "", max_tokens: int = REPLY_TOKENS) -> None:
        if not str(folder):
            folder, lora = (os.environ.get(name, "") for name in (LOCAL_MODEL, LOCAL_LORA))
        if not str(folder):
            raise ValueError(f"The summariser local needs the folder of a model; name it in {LOCAL_MODEL}.")
        absent = torchside.missing() + (["peft"] if str(lora) and find_spec("peft") is None else [])
        if absent:
            raise torchside.MissingPackages(torchside.needs("The summariser local", absent))
        self.folder = _folder(Path(folder), "config.json", "model")
        self.lora = _folder(Path(lora), "adapter_config.json", "LoRA") if str(lora) else None
        self.max_tokens = max_tokens
        self._loaded: tuple[Any, Any, Any] | None = None
        self._weights: dict[str, str] = {}

    def describe(self) -> dict[str, Any]:
        """Name, version, sha256 by weights file, settings and the prompt's hash."""
        if not self._weights:
            folders = [self.folder, *([self.lora] if self.lora else [])]
            files = [file for folder in folders for file in sorted(folder.glob("*.safetensors"))]
            self._weights = {f"{file.parent.name}/{file.name}": _sha256(file) for file in files}
        return {
            "name": self.name,
            "version": self.version,
            "weights": dict(self._weights),
            "settings": {"max_tokens": self.max_tokens, "greedy": True, "prompt": by_model.prompt_version()},
        }

    def summarise(
        self,
        text: str,
        *,
        question: str = "",
        options: Sequence[str] = (),
        answer: str = "",
        duration_s: float | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Package:
        """See `protocol.Summariser`. Raises BrokenOutput, also where the reply is too long for the model."""
        reply = parsed(text)
        made, raw, repairs = by_model.Sheet(claims=[]), "", list[str]()
        if any(text[a:b].strip() for a, b in reply.rationale_spans):
            asked = by_model.task(text, reply, question, options, answer)
            made, raw, repairs = by_model.written_by(self._write, system(), asked)
        return by_model.package(
            text,
            reply,
            made,
            self.describe(),
            raw=raw,
            repairs=repairs,
            duration_s=duration_s,
            vocabulary=vocabulary,
        )

    def _write(self, messages: list[dict[str, str]]) -> str:
        """What the model answers; greedy."""
        torch, tokenizer, model = self._load()
        prompt = rendered(tokenizer, messages)
        given = tokenizer(prompt, return_tensors="pt", add_special_tokens=not tokenizer.chat_template).to(model.device)
        length = given["input_ids"].shape[1]
        most = getattr(model.config, "max_position_embeddings", None) or 1 << 30
        if length >= most:
            sentence = f"The reply makes {length:,} tokens with the instructions; the model takes {most:,}."
            raise BrokenOutput(sentence, "")
        with torch.no_grad():
            made = model.generate(
                **given,
                max_new_tokens=min(self.max_tokens, most - length),
                do_sample=False,
                pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
            )
        return str(tokenizer.decode(made[0, length:], skip_special_tokens=True))

    def _load(self) -> tuple[Any, Any, Any]:
        if self._loaded is None:
            torch, hf = torchside.load("The summariser local")
            device = "cuda" if torch.cuda.is_available() else "cpu"
            tokenizer = hf.AutoTokenizer.from_pretrained(self.folder, local_files_only=True, trust_remote_code=False)
            model = hf.AutoModelForCausalLM.from_pretrained(
                self.folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype="auto"
            )
            if self.lora:
                from peft import PeftModel

                model = PeftModel.from_pretrained(model, str(self.lora))
            self._loaded = torch, tokenizer, model.to(device).eval()
        return self._loaded


def system() -> str:
    """What the model is told before every reply."""
    return f"{by_model.RULES}\nJSON schema: {json.dumps(by_model.schema())}"


def rendered(tokenizer: Any, messages: Sequence[dict[str, str]]) -> str:
    """The conversation up to where the model begins, as training has it, too."""
    if tokenizer.chat_template:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    return "\n\n".join(message["content"] for message in messages) + "\n\n"


def _folder(folder: Path, needed: str, what: str) -> Path:
    if not (folder / needed).is_file():
        raise ValueError(f"There is no {what} in {folder}: {needed} is missing.")
    if not any(folder.glob("*.safetensors")):
        raise ValueError(f"There is no {what} in {folder}: it holds no safetensors.")
    return folder


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
