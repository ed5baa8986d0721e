"""What a preflight found, as lines of the page: word, value, note."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def listed(told: Mapping[str, Any]) -> list[dict[str, str]]:
    return []
