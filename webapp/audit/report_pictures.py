"""What the report's page shows of the report's tree."""

from __future__ import annotations

from typing import Any


def shown(tree: dict[str, Any]) -> dict[str, Any]:
    return tree


def agreement(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows
