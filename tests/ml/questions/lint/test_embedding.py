"""The sentence embedding: against a slow encoder written out by hand, and its tokens against worked examples."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest

from ml.formats.errors import FormatError
from ml.questions.lint.embedding import VARIABLE, MiniLM, basic, configured

WIDTH, HEADS, LAYERS, INNER = 8, 2, 2, 16
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "look", "##s", "##ing", "at", "cup", "?", "person", "1"]


def shapes() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (32, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for at in range(LAYERS):
        layer = f"encoder.layer.{at}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            found |= {f"{layer}{part}.weight": (WIDTH, WIDTH), f"{layer}{part}.bias": (WIDTH,)}
        found |= {f"{layer}intermediate.dense.weight": (INNER, WIDTH), f"{layer}intermediate.dense.bias": (INNER,)}
        found |= {f"{layer}output.dense.weight": (WIDTH, INNER), f"{layer}output.dense.bias": (WIDTH,)}
        norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
    for norm in norms:
        found |= {f"{norm}.weight": (WIDTH,), f"{norm}.bias": (WIDTH,)}
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    header, data = {}, b""
    for name, shape in shapes().items():
        values = rng.normal(0, 0.5, shape).astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    head = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    (tmp_path / "config.json").write_text(json.dumps({"num_attention_heads": HEADS, "num_hidden_layers": LAYERS}))
    return tmp_path


def by_hand(model: MiniLM, ids: list[int]) -> list[float]:
    """One sentence, token by token and number by number."""
    w = {name: value.tolist() for name, value in model.weights.items()}

    def linear(row: list[float], name: str) -> list[float]:
        return [sum(a * b for a, b in zip(row, weights, strict=True)) + bias
                for weights, bias in zip(w[f"{name}.weight"], w[f"{name}.bias"], strict=True)]  # fmt: skip

    def norm(row: list[float], name: str) -> list[float]:
        mean = sum(row) / WIDTH
        spread = math.sqrt(sum((v - mean) ** 2 for v in row) / WIDTH + 1e-12)
        return [(v - mean) / spread * a + b
                for v, a, b in zip(row, w[f"{name}.weight"], w[f"{name}.bias"], strict=True)]  # fmt: skip

    x = [
        norm([w["embeddings.word_embeddings.weight"][id][k] + w["embeddings.position_embeddings.weight"][at][k]
              + w["embeddings.token_type_embeddings.weight"][0][k] for k in range(WIDTH)], "embeddings.LayerNorm")
        for at, id in enumerate(ids)
    ]  # fmt: skip
    size = WIDTH // HEADS
    for at in range(LAYERS):
        name = f"encoder.layer.{at}."
        q, k, v = ([linear(row, f"{name}attention.self.{part}") for row in x] for part in ("query", "key", "value"))
        mixed = [[0.0] * WIDTH for _ in x]
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            for i in range(len(x)):
                scores = [math.exp(sum(a * b for a, b in zip(q[i][part], row[part], strict=True)) / math.sqrt(size))
                          for row in k]  # fmt: skip
                for j, score in enumerate(scores):
                    for d in range(part.start, part.stop):
                        mixed[i][d] += score / sum(scores) * v[j][d]
        x = [norm([a + b for a, b in zip(row, linear(mix, f"{name}attention.output.dense"), strict=True)],
                  f"{name}attention.output.LayerNorm") for row, mix in zip(x, mixed, strict=True)]  # fmt: skip
        inner = [
            [h * 0.5 * (1 + math.erf(h / math.sqrt(2))) for h in linear(row, f"{name}intermediate.dense")] for row in x
        ]
        for i, (row, h) in enumerate(zip(x, inner, strict=True)):
            out = linear(h, f"{name}output.dense")
            x[i] = norm([a + b for a, b in zip(row, out, strict=True)], f"{name}output.LayerNorm")
    mean = [sum(row[k] for row in x) / len(x) for k in range(WIDTH)]
    length = math.sqrt(sum(v * v for v in mean))
    return [v / length for v in mean]


def test_a_batch_of_different_lengths_is_encoded_as_by_hand(folder: Path) -> None:
    model = MiniLM(folder)
    texts = ["Who looks at Person 1?", "cup", "looking at the cup cup cup"]
    found = model.vectors(texts)
    assert found.shape == (3, WIDTH)
    for text, row in zip(texts, found, strict=True):
        assert row.tolist() == pytest.approx(by_hand(model, model._ids(text)), abs=1e-4)


def test_words_come_apart_as_the_vocabulary_knows_them(folder: Path) -> None:
    model = MiniLM(folder)
    ids = {word: at for at, word in enumerate(WORDS)}
    assert model._ids("Who LOOKS at?") == [ids[w] for w in ("[CLS]", "who", "look", "##s", "at", "?", "[SEP]")]
    assert model._ids("looking there") == [ids[w] for w in ("[CLS]", "look", "##ing", "[UNK]", "[SEP]")]
    assert basic("Ünder-way, Person's 1!") == ("under", "-", "way", ",", "person", "'", "s", "1", "!")


def test_a_folder_is_named_by_hand_or_by_the_environment_and_never_fetched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert configured() is None
    monkeypatch.setenv(VARIABLE, str(folder))
    found = configured()
    assert found is not None and folder.name in found.name
    for name, content in (("config.json", "{}"), ("model.safetensors", "short"), ("config.json", None)):
        path = folder / name
        path.unlink() if content is None else path.write_text(content)
        with pytest.raises(FormatError, match=r"\.$"):
            configured(folder)
