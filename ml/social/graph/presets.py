"""When a gaze event and a gesture are linked, and which events are kept, by preset.

`grasp-compat` is the rule as released (GRASP data-pipeline code); `strict` is our own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GraphPreset:
    """`gap_s`: the longest gap, in seconds, of an adjacent pair; the bound itself counts."""

    name: str
    gap_s: float = 3.0
    # A link needs a person who takes part in both. As released it does not: the questions' prompt merely advises it.
    shared_person: bool = True
    # Spans are half-open, so that an event without length happens at the first frame of whatever starts there. As
    # released, overlap is a bare < on both sides: an event without length at a boundary is adjacent with gap 0.
    half_open: bool = True
    filters: bool = False
    cap: int | None = None


GRASP_COMPAT = GraphPreset("grasp-compat", shared_person=False, half_open=False, filters=True, cap=25)
STRICT = GraphPreset("strict")
PRESETS = {preset.name: preset for preset in (GRASP_COMPAT, STRICT)}
