"""A vision-language model from a folder on this machine, by transformers: greedy, frames as images with their times.

Frames go in as images, each after its time as text, never as a video part (the layout of training and inference is the
same). Nothing is fetched: the folder must hold weights, configuration and processor.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ml import torchside
from ml.evaluation import prompts
from ml.evaluation.bench import Item
from ml.evaluation.frames import Shown
from ml.evaluation.models import NO_MEMORY, Asking, Reply, looked, out_of_memory
from ml.formats.errors import FormatError

PREFILL = "<think>\n"  # with reasoning the reply is begun with it, as in the released evaluation
HASHED = 1 << 20  # bytes of a weights file from either end that enter the folder's fingerprint


class Weights:
    """A model's folder: loaded with the first reply. bfloat16 on a GPU, float32 without one."""

    def __init__(self, folder: Path) -> None:
        absent = torchside.missing()
        if absent:
            raise torchside.MissingPackages(torchside.needs("A model folder", absent))
        self.folder = folder
        self.loaded: tuple[Any, Any] | None = None
        self.device = ""  # and the precision, once it is loaded

    def describe(self) -> dict[str, Any]:
        told = {"kind": "folder", "name": self.folder.resolve().name, "fingerprint": fingerprint(self.folder)}
        return told | {name: version(name) for name in ("torch", "transformers")}

    def close(self) -> None:
        self.loaded = None

    def said(
        self, messages: list[dict[str, Any]], pictures: Sequence[Shown], *, reasoning: bool, most: int
    ) -> tuple[str, str]:
        """The reply to messages with as many placeholders as pictures, and why it ended ("stop" or "length")."""
        from PIL import Image

        torch, _ = torchside.load("A model folder")
        model, processor = self.load()
        prompt = rendered(processor, messages, thinking=reasoning)
        if reasoning and not prompt.rstrip().endswith(PREFILL.rstrip()):
            prompt += PREFILL
        images = [Image.open(io.BytesIO(one.jpeg)).convert("RGB") for one in pictures]
        inputs = processor(text=[prompt], images=images or None, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            out = model.generate(
                **inputs,
                max_new_tokens=most,
                do_sample=False,
                stop_strings=[prompts.STOP],
                tokenizer=processor.tokenizer,
            )
        new = out[0, inputs["input_ids"].shape[1] :]
        text = str(processor.tokenizer.decode(new, skip_special_tokens=True))
        # part of what was said, for whoever reads it: the prompt opened the thoughts
        text = PREFILL + text if reasoning else text
        return text, "length" if len(new) >= most else "stop"

    def load(self) -> tuple[Any, Any]:
        """The model, in evaluation mode on its device, and its processor. Raises FormatError: it cannot be loaded."""
        if self.loaded is None:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
            torch, transformers = torchside.load("A model folder")
            cuda = torch.cuda.is_available()
            try:
                processor = transformers.AutoProcessor.from_pretrained(
                    self.folder, local_files_only=True, trust_remote_code=False
                )
                model = transformers.AutoModelForImageTextToText.from_pretrained(
                    self.folder,
                    local_files_only=True,
                    trust_remote_code=False,
                    use_safetensors=True,  # never weights that have to be unpickled
                    dtype=torch.bfloat16 if cuda else torch.float32,
                )
            except (OSError, ValueError, KeyError) as error:
                said = " ".join(str(error).split())[:200]
                raise FormatError(f"{self.folder} cannot be loaded as a model of images and text ({said}).") from error
            self.device = f"{torch.cuda.get_device_name()}, bfloat16" if cuda else "cpu, float32"
            self.loaded = model.eval().to("cuda" if cuda else "cpu"), processor
        return self.loaded

    def free(self) -> None:
        """Give back what a failed answer left on the GPU."""
        torch, _ = torchside.load("A model folder")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


class LocalModel(Weights):
    """One model that is asked items of a benchmark."""

    def __init__(self, folder: Path, asking: Asking) -> None:
        super().__init__(folder)
        self.asking = asking

    def answer(self, item: Item) -> Reply:
        pictures = looked(self.asking, item)
        if isinstance(pictures, str):
            return Reply(item.id, error=pictures)
        told: dict[str, Any] = {"frames": len(pictures), "prompt": self.asking.words(item, pictures)}
        began = time.monotonic()
        try:
            text, finish = self.generate(item, pictures)
        except Exception as error:
            if not out_of_memory(error):
                raise
            self.free()
            return Reply(item.id, error=f"{NO_MEMORY} ({len(pictures)} pictures).", **told)
        seconds = round(time.monotonic() - began, 3)
        more = {"device": self.device} if self.device else {}
        return Reply(item.id, prompts.closed(text, finish), seconds=seconds, finish=finish, more=more, **told)

    def messages(self, item: Item, pictures: list[Shown]) -> list[dict[str, Any]]:
        """The conversation, with placeholders for the pictures."""
        return prompts.messages(
            prompts.system(item), [one.second for one in pictures], self.asking.task(item, pictures)
        )

    def generate(self, item: Item, pictures: list[Shown]) -> tuple[str, str]:
        """The reply and why it ended ("stop" or "length")."""
        messages = self.messages(item, pictures)
        return self.said(messages, pictures, reasoning=self.asking.reasoning, most=self.asking.most_tokens)


def rendered(processor: Any, messages: list[dict[str, Any]], *, thinking: bool) -> str:
    """The prompt up to where the reply begins. A template that can open the thoughts, or close them at once, is told
    which: of Qwen3.5's, some do the one by default and some the other."""
    switch = {"enable_thinking": thinking} if "enable_thinking" in (processor.chat_template or "") else {}
    return str(processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **switch))


def fingerprint(folder: Path) -> str:
    """sha256 over names, sizes and both ends of the files that decide an answer: quick also with large weights."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".json", ".safetensors", ".jinja", ".txt") or not path.is_file():
            continue
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}\n".encode())
        with path.open("rb") as file:
            digest.update(file.read(HASHED))
            file.seek(max(0, size - HASHED))
            digest.update(file.read(HASHED))
    return digest.hexdigest()
