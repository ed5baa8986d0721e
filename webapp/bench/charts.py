"""Bars and intervals as SVG of the server, one per table row: the numbers stand beside them, so the picture is its own
table. Lengths are in per cent of the cell, so a bar fits any column; colours are classes of `bench/list.css`.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

HEIGHT = 12


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def bar(parts: Sequence[tuple[str, float]], *, words: str, mark: float | None = None) -> SafeString:
    """A stacked bar: (class, share of the whole width) from the left; `mark`: a tick at that share, as for a quota.

    `words`: what a screen reader says instead.
    """
    pieces, at = [], 0.0
    for name, share in parts:
        if share > 0:
            pieces.append((name, _percent(at), _percent(share)))
        at += share
    rects = format_html_join(
        "", '<rect class="bar-{}" x="{}" y="1" width="{}" height="{}"></rect>', ((*p, HEIGHT - 2) for p in pieces)
    )
    tick = SafeString("")
    if mark is not None:
        x = _percent(min(mark, 0.995))
        tick = format_html('<line class="bar-mark" x1="{}" x2="{}" y1="0" y2="{}"></line>', x, x, HEIGHT)
    return format_html(
        '<svg class="bar" role="img" aria-label="{}" width="100%" height="{}">'
        '<rect class="bar-ground" x="0" y="1" width="100%" height="{}"></rect>{}{}</svg>',
        words,
        HEIGHT,
        HEIGHT - 2,
        rects,
        tick,
    )


def interval(
    value: float, low: float, high: float, *, words: str, least: float = -1.0, most: float = 1.0
) -> SafeString:
    """A dot with its interval on an axis from `least` to `most`; a hairline at zero where zero lies inside."""

    def at(number: float) -> str:
        return _percent((number - least) / (most - least))

    middle = HEIGHT / 2
    zero = SafeString("")
    if least < 0 < most:
        zero = format_html('<line class="axis-zero" x1="{}" x2="{}" y1="0" y2="{}"></line>', at(0), at(0), HEIGHT)
    return format_html(
        '<svg class="bar interval" role="img" aria-label="{}" width="100%" height="{}">'
        '<line class="axis" x1="0" x2="100%" y1="{}" y2="{}"></line>{}'
        '<line class="whisker" x1="{}" x2="{}" y1="{}" y2="{}"></line>'
        '<circle class="dot" cx="{}" cy="{}" r="4"></circle></svg>',
        words,
        HEIGHT,
        middle,
        middle,
        zero,
        at(low),
        at(high),
        middle,
        middle,
        at(value),
        middle,
    )
