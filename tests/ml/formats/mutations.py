"""Damage to JSON files: what edits, cut transfers and confused writers do to them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

STRANGE: list[Any] = [
    None, True, -1, 0, 3, 1e308, 10**400, 0.5, "", "x", "\ud800", "1", [], {}, [None], [[]], {"a": {}}, [1, 2, 3, 4],
    [0.1, 0.1, 0.2, 0.2], float("inf"), float("nan"), "x" * 1000,
]  # fmt: skip


def mutated(tree: Any, rng: random.Random) -> bytes:
    """The tree as JSON after one to three changes of values, keys or items, or of bytes."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(list(_places(tree)))
        action = rng.choice(["replace", "replace", "replace", "drop", "swap", "double"])
        if action == "drop":
            del holder[key]
        elif action == "double" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif action == "swap":
            other, place = rng.choice(list(_places(tree)))
            holder[key] = copy.deepcopy(other[place])
        else:
            holder[key] = copy.deepcopy(rng.choice(STRANGE))
    data = bytearray(_encode(tree))
    if rng.random() < 0.2:
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.1:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


def _encode(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(items):
        yield tree, key
        yield from _places(value)
