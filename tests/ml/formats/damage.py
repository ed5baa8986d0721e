"""Damage to text files: what edits and cut transfers do to lines and bytes."""

from __future__ import annotations

import random


def damaged(text: str, rng: random.Random) -> bytes:
    """The text after one to three changes of lines, and sometimes of bytes."""
    lines = text.split("\n")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        action = rng.choice(["drop", "double", "swap", "indent", "replace", "value"])
        if action == "drop" and len(lines) > 1:
            del lines[at]
        elif action == "double":
            lines.insert(at, lines[at])
        elif action == "swap":
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif action == "indent":
            lines[at] = " " * rng.randint(1, 4) + lines[at]
        elif action == "value" and ":" in lines[at]:
            lines[at] = lines[at].partition(":")[0] + ": " + rng.choice(["", "~", "1", "1e999", "[", "{}", "- x", "'"])
        else:
            lines[at] = rng.choice(
                ["x", "- - -", "? :", "\t", "%YAML 9", "&a *a", "!!int x", "'", '"\\x', "2026-01-01"]
            )
    data = bytearray("\n".join(lines).encode())
    if rng.random() < 0.2 and data:
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.1 and data:
        del data[rng.randrange(len(data)) :]
    return bytes(data)
