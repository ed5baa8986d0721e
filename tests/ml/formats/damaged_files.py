"""Damage to whole files of many values, as lists or lines: cut, wrongly encoded, nested, NULs, huge numbers, types."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.ml.formats.mutations import mutated

KINDS = ("json", "lines", "bytes", "cut", "nul", "utf16", "latin", "deep", "number", "joined", "quotes", "empty")


def damaged(values: list[Any], rng: random.Random) -> tuple[str, bytes]:
    """A file name's ending and the bytes of a damaged file of these values."""
    kind = rng.choice(KINDS)
    lines = rng.random() < 0.5
    whole = "\n".join(json.dumps(value) for value in values) + "\n" if lines else json.dumps(values, indent=1)
    data = bytearray(whole.encode())
    if kind == "json":
        data = bytearray(mutated(values, rng))
        lines = False
    elif kind == "lines":
        data = bytearray(b"\n".join(mutated(value, rng).replace(b"\n", b" ") for value in values))
        lines = True
    elif kind == "bytes":
        for _ in range(rng.randint(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == "cut":
        del data[rng.randrange(len(data)) :]
    elif kind == "nul":
        for _ in range(rng.randint(1, 3)):
            data.insert(rng.randrange(len(data)), 0)
    elif kind == "utf16":
        data = bytearray(whole.encode(rng.choice(["utf-16", "utf-16-le", "utf-32"])))
    elif kind == "latin":
        data = bytearray(whole.replace("Person", "Pers\u00f6n").encode("latin-1"))
        data = bytearray(data.replace(b"Pers\\u00f6n", b"Pers\xf6n"))
    elif kind == "deep":
        opener = rng.choice([b"[", b'{"a":'])
        data = bytearray(opener * rng.choice([100, 2_000, 200_000]))
    elif kind == "number":
        data = data.replace(b"1.5", rng.choice([b"9" * 6000, b"1e999", b"-1e400", b"NaN", b"1" * 400]), 1)
    elif kind == "joined":
        data = data + data
    elif kind == "quotes":
        data = bytearray(whole.replace('"', "'").encode())
    else:
        data = bytearray(rng.choice([b"", b" ", b"\n\n", b"null", b"7", b'"x"', b"\xef\xbb\xbf"]))
    return (".jsonl" if lines else ".json"), bytes(data)
