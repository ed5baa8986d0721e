"""Summarisers by name. A module is imported when its summariser is asked for.

`local` reads its model's folder, and a LoRA's, from the environment where none is given.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ml.evidence.summarisers.protocol import Summariser

LOCAL_MODEL, LOCAL_LORA = "SIGHTLINE_SUMMARISER_MODEL", "SIGHTLINE_SUMMARISER_LORA"
SUMMARISERS = {
    "rules": ("rules", "Rules"),
    "smollm": ("smollm", "SmolLM"),
    "local": ("local", "Local"),
    "endpoint": ("endpoint", "ByEndpoint"),
}


def load(name: str, **settings: Any) -> Summariser:
    """The summariser of that name. Raises ValueError with a sentence: no such name, or something is missing."""
    if name not in SUMMARISERS:
        raise ValueError(f"There is no summariser {name!r}; there are {', '.join(SUMMARISERS)}.")
    module, kind = SUMMARISERS[name]
    made: Summariser = getattr(import_module(f"ml.evidence.summarisers.{module}"), kind)(**settings)
    return made
