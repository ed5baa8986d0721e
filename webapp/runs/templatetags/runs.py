"""Numbers of training as people read them."""

from __future__ import annotations

import math

from django import template

from webapp.runs.evaluation_values import CONTROL_WORDS

register = template.Library()


@register.filter
def figure(value: float | None) -> str:
    """Three digits that count, as `number` of static/js/runs/metrics.js; a dash where there is none."""
    if value is None or not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    size = abs(value)
    if size and (size < 0.001 or size >= 1e7):
        return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{round(value):,}" if size >= 1000 else f"{value:.3g}"


@register.filter
def control(name: str) -> str:
    """What a control takes away, as every page writes it."""
    return CONTROL_WORDS.get(name, name)


@register.filter
def share_of(part: float | None, whole: float | None) -> float:
    """A part as a share of the whole; 0 without one."""
    return (part or 0) / whole if whole else 0.0
