"""A MiniLM sentence embedding in NumPy alone, from a folder of weights that somebody put there.

Nothing is ever downloaded. The folder holds `model.safetensors`, `vocab.txt` and `config.json` of a BERT-shaped
encoder such as all-MiniLM-L6-v2; it is named by SIGHTLINE_EMBEDDING_DIR or on the command line.

Steps: lower-case WordPiece tokens between [CLS] and [SEP]; embeddings with position and layer norm; per layer
multi-head attention and a GELU feed-forward, each with a residual and layer norm; the mean over tokens; unit length.
"""

from __future__ import annotations

import json
import math
import os
import struct
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.formats.errors import FormatError

VARIABLE = "SIGHTLINE_EMBEDDING_DIR"
LONGEST = 256  # tokens
BATCH = 64
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "I64": np.dtype("<i8")}
Vectors = NDArray[np.float32]


def configured(folder: Path | None = None) -> MiniLM | None:
    """The embedding of the named folder, or of the environment's; None where none is named. Raises FormatError."""
    where = folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    return MiniLM(where) if where is not None else None


class MiniLM:
    """Sentences to unit vectors, float32[n, width]."""

    def __init__(self, folder: Path) -> None:
        try:
            config = json.loads((folder / "config.json").read_text())
            words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
            self.weights = tensors(folder / "model.safetensors")
            self.heads, self.layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
            self.eps = float(config.get("layer_norm_eps", 1e-12))
        except OSError as error:
            raise FormatError(f"The embedding's folder {folder} lacks a file: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"The embedding's folder {folder} cannot be read: {error}.") from error
        self.vocabulary = {word: at for at, word in enumerate(words)}
        self.name = f"embedding {folder.name}"

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in their order."""
        listed = [self._ids(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda at: len(listed[at]))
        found: list[Vectors | None] = [None] * len(texts)
        for start in range(0, len(order), BATCH):
            picked = order[start : start + BATCH]
            for at, row in zip(picked, self._encode([listed[at] for at in picked]), strict=True):
                found[at] = row
        return np.stack([row for row in found if row is not None])

    def _ids(self, text: str) -> list[int]:
        unknown = self.vocabulary["[UNK]"]
        pieces = [piece for word in basic(text) for piece in self._pieces(word)][: LONGEST - 2]
        return [self.vocabulary.get(piece, unknown) for piece in ("[CLS]", *pieces, "[SEP]")]

    def _pieces(self, word: str) -> list[str]:
        """Longest known beginnings, one after another."""
        found, at = [], 0
        while at < len(word):
            end = next((e for e in range(len(word), at, -1) if ("##" * (at > 0) + word[at:e]) in self.vocabulary), None)
            if end is None or len(word) > 100:
                return ["[UNK]"]
            found.append("##" * (at > 0) + word[at:end])
            at = end
        return found

    def _encode(self, listed: Sequence[list[int]]) -> Vectors:
        """Token ids of a batch -> unit vectors; x is float32[batch, tokens, width]."""
        longest = max(map(len, listed))
        ids = np.array([row + [0] * (longest - len(row)) for row in listed])
        mask = np.array([[1.0] * len(row) + [0.0] * (longest - len(row)) for row in listed], np.float32)
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:longest]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        hidden = (1.0 - mask)[:, None, None, :] * np.float32(-1e9)
        for at in range(self.layers):
            x = self._layer(x, hidden, f"encoder.layer.{at}.")
        mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        unit: Vectors = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _layer(self, x: Vectors, hidden: Vectors, name: str) -> Vectors:
        batch, tokens, width = x.shape

        def heads(part: str) -> Vectors:
            y = self._linear(x, f"{name}attention.self.{part}")
            return y.reshape(batch, tokens, self.heads, -1).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / math.sqrt(width // self.heads) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ heads("value")
        mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, tokens, width)
        x = self._norm(x + self._linear(mixed, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm")
        inner = gelu(self._linear(x, f"{name}intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")

    def _linear(self, x: Vectors, name: str) -> Vectors:
        flat = x.reshape(-1, x.shape[-1]) @ self.weights[f"{name}.weight"].T  # one product: many small ones are slow
        y: Vectors = flat.reshape(*x.shape[:-1], -1) + self.weights[f"{name}.bias"]
        return y

    def _norm(self, x: Vectors, name: str) -> Vectors:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.eps)
        y: Vectors = x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return y


def gelu(x: Vectors) -> Vectors:
    """x times the standard normal distribution function, exact."""
    from scipy.special import erf

    y: Vectors = x * 0.5 * (1.0 + erf(x / math.sqrt(2.0))).astype(np.float32)
    return y


@lru_cache(maxsize=4096)
def basic(text: str) -> tuple[str, ...]:
    """Words and single marks, small, without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    spaced = "".join(
        f" {c} " if not c.isalnum() and not c.isspace() or "一" <= c <= "鿿" else c
        for c in plain
        if ord(c) >= 32 or c.isspace()
    )
    return tuple(spaced.split())


def tensors(path: Path) -> dict[str, Vectors]:
    """The tensors of a safetensors file as float32, a leading `bert.` dropped. Raises FormatError."""
    data = path.read_bytes()
    try:
        (length,) = struct.unpack("<Q", data[:8])
        header: dict[str, Any] = json.loads(data[8 : 8 + length])
        found = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            start, end = (8 + length + at for at in entry["data_offsets"])
            values = np.frombuffer(data[start:end], _TYPES[entry["dtype"]]).reshape(entry["shape"])
            found[name.removeprefix("bert.")] = values.astype(np.float32)
        return found
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path.name} is no safetensors file that can be read: {error}.") from error
