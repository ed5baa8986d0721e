"""What the pages of evaluations draw: a value with its interval, and the scatter of grounded precision and accuracy.

SVG of the server; the table with the same numbers stands beside each. Colours are classes of `runs/evaluation.css`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from webapp.bench.charts import interval
from webapp.runs.evaluation_values import Measured

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 10, 40
STEP = 0.25
NEAR = 13  # two marks that lie nearer than this in the picture do not both carry their label


def whisker(one: Measured | None) -> SafeString | str:
    """An accuracy with its interval from 0 to 100 %; "" where it says nothing."""
    if one is None or one.value is None or one.few:
        return ""
    low, high = (one.value if bound is None else bound for bound in (one.low, one.high))
    return interval(one.value, low, high, words=one.says, least=0.0)


def difference(row: Mapping[str, Any]) -> SafeString | str:
    """A difference of two accuracies with its interval, from -100 to 100 points."""
    told = row["difference"]
    if row["few"] or told["value"] is None:
        return ""
    low, high = (told["value"] if told[bound] is None else told[bound] for bound in ("low", "high"))
    return interval(told["value"], low, high, words=f"{row['words']}: {row['shown']} points, {row['span']}")


def scatter(points: Sequence[Mapping[str, Any]], title: str) -> SafeString:
    """Precision from left to right, accuracy upwards, both from 0 to 100 %. Each point carries its `mark` where there
    is room, and all of them stand in the table."""
    axes = format_html_join("", "{}", ((_tick(share),) for share in (0.0, 0.25, 0.5, 0.75, 1.0)))
    placed: list[tuple[float, float]] = []
    marks = []
    for point in sorted(points, key=lambda one: -one["n"]):  # what rests on more is labelled first
        x, y = _x(point["precision"]), _y(point["accuracy"])
        free = all(abs(x - other) > NEAR or abs(y - up) > NEAR for other, up in placed)
        placed.append((x, y))
        marks.append((_point(point, x, y, labelled=free),))
    return format_html(
        '<svg class="scatter" role="img" aria-label="{}" viewBox="0 0 {} {}">{}'
        '<text class="axis-name" x="{}" y="{}" text-anchor="middle">Grounded precision, %</text>'
        '<text class="axis-name" x="12" y="{}" text-anchor="middle" transform="rotate(-90 12 {})">Accuracy, %</text>'
        "{}</svg>",
        title,
        WIDTH,
        HEIGHT,
        axes,
        (LEFT + WIDTH - RIGHT) / 2,
        HEIGHT - 6,
        (TOP + HEIGHT - BOTTOM) / 2,
        (TOP + HEIGHT - BOTTOM) / 2,
        format_html_join("", "{}", marks),
    )


def _x(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _y(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)


def _tick(share: float) -> SafeString:
    x, y, words = _x(share), _y(share), f"{100 * share:.0f}"
    return format_html(
        '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"></line><line class="grid" x1="{}" x2="{}" y1="{}" y2="{}">'
        '</line><text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>'
        '<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>',
        *(x, x, TOP, HEIGHT - BOTTOM),
        *(LEFT, WIDTH - RIGHT, y, y),
        *(x, HEIGHT - BOTTOM + 14, words),
        *(LEFT - 6, y + 4, words),
    )


def _point(point: Mapping[str, Any], x: float, y: float, *, labelled: bool) -> SafeString:
    words = f"{point['name']}: precision {100 * point['precision']:.0f} %, accuracy {100 * point['accuracy']:.0f} %"
    right = x < WIDTH - 40
    label = (
        format_html(
            '<text class="label" x="{}" y="{}" text-anchor="{}">{}</text>',
            x + (8 if right else -8),
            y + 4,
            "start" if right else "end",
            point["mark"],
        )
        if labelled
        else ""
    )
    return format_html(
        '<g class="point"><circle cx="{}" cy="{}" r="5"><title>{}</title></circle>{}</g>', x, y, words, label
    )
