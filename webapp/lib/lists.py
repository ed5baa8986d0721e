"""What every filtered and sorted list page does with its address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode


def address(values: Mapping[str, str]) -> str:
    """The query string of a list: blank values and the order that lists have by themselves (newest) are left out."""
    return "?" + urlencode({k: v for k, v in values.items() if v and (k, v) != ("sort", "newest")})


def heads(
    wanted: Any, pairs: Mapping[str, tuple[str, str]], sorts: Mapping[str, tuple[Any, ...]]
) -> dict[str, dict[str, str]]:
    """For each sortable column: the address a click on its head leads to, and aria-sort's word.

    `wanted`: what the page asks for (`sort`, `address()`). `pairs`: column -> the orders that clicks alternate between.
    `sorts`: order -> (database column, whether it falls, ...).
    """
    result = {}
    for column, (first, second) in pairs.items():
        sorted_by = wanted.sort in (first, second)
        result[column] = {
            "address": wanted.address(sort=second if wanted.sort == first else first),
            "sort": ("descending" if sorts[wanted.sort][1] else "ascending") if sorted_by else "none",
        }
    return result
