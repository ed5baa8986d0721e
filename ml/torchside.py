"""The one door to torch and Hugging Face: every module of `ml` that uses them gets them here, at its top:

    torch, transformers = torchside.load()

PyPI's torchvision is built against the CUDA build of torch. Beside a torch for the CPU its compiled operators do not
load, and since its Python side looks two of them up when it is imported, neither it nor the processors of transformers
can be imported at all. So those two are declared first, by name and types alone. What is used of torchvision here is
written in torch itself; whoever called one of the two would be told that it has no implementation.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

NEEDED = ("torch", "torchvision", "transformers")
LOOKED_UP = ("nms", "qnms")  # operators that torchvision's Python side asks for while it is imported
_declared: Any = None  # the declarations are gone when nobody holds them


class MissingPackages(ValueError):
    """The packages of `make ml` are not installed; the message says so."""


def needs(purpose: str, absent: Sequence[str], where: str = "") -> str:
    """The sentence that names the missing packages: "Training needs a, b and c here; install them …"."""
    *first, last = absent
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{purpose} needs {listed}{where}; install them with `make ml`."


def missing() -> list[str]:
    """Names of the packages that are not installed."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def load(purpose: str = "This") -> tuple[Any, Any]:
    """The modules torch and transformers. `purpose` begins the sentence of MissingPackages where they are missing."""
    absent = missing()
    if absent:
        raise MissingPackages(needs(purpose, absent))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its threads do not survive a fork
    declare_operators()
    return import_module("torch"), import_module("transformers")


def declare_operators() -> bool:
    """Declare torchvision's operators where its own cannot load; True when that was done now."""
    global _declared
    if _declared is not None or {"torch", "torchvision"} & set(missing()):
        return False
    torch = import_module("torch")
    if torch.version.cuda is not None or own_operators(torch):
        return False
    _declared = torch.library.Library("torchvision", "DEF")
    for name in LOOKED_UP:
        _declared.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return True


def own_operators(torch: Any) -> bool:
    """Whether torchvision brings operators that this torch can load: to declare them again would be an error."""
    spec = importlib.util.find_spec("torchvision")
    assert spec is not None and spec.origin is not None
    for binary in sorted(Path(spec.origin).parent.glob("_C*.so")):
        try:
            torch.ops.load_library(str(binary))
        except OSError:
            continue
        return True
    return False
