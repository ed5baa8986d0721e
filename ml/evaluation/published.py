"""What others reported, each number with where it comes from and how far it can be trusted. In per cent.

Rows of GRASP-Bench: project page of GRASP (arXiv 2605.15764), chance 25 %, letters matched exactly, groups and overall
pooled over items. Per-category numbers were not published. A row of ours stands beside them only for reading: it is the
same measure on whatever items were asked, and comparable where those are GRASP-Bench.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

PAGE = "GRASP project page (arXiv 2605.15764)"
PAPER = "GRASP (arXiv 2605.15764), known second-hand"
AFFECT = "AffectOmni (arXiv 2608.26193), known second-hand"
CRITIQUE = "arXiv 2608.13239, known second-hand"
VERIFIED, UNVERIFIED = "verified on the page", "reported, unverified"
GROUPS = ("gaze", "gesture", "joint", "overall")
CHANCE = 25.0
CAUTIONS = (
    "Gemini 3.1 Pro both writes the questions of GRASP-Bench and is one of its baselines.",
    "The paper speaks of 1,000 items, the released archive's card of 1,196; which the published rows rest on is not "
    "known.",
    "No published row has an interval or a number of items per group.",
)


@dataclass(frozen=True)
class Reported:
    """One number that somebody reported, or the four of a GRASP row, by group."""

    model: str
    values: Mapping[str, float]
    source: str
    state: str


def _row(model: str, *values: float) -> Reported:
    return Reported(model, dict(zip(GROUPS, values, strict=True)), PAGE, VERIFIED)


GRASP = (
    _row("Claude Sonnet 4.6", 30.2, 46.5, 37.3, 37.0),
    _row("GPT-5.4", 34.9, 60.4, 39.0, 43.9),
    _row("Gemini 3.1 Pro", 41.8, 67.6, 44.3, 50.5),
    _row("Qwen3-VL-8B-Instruct", 28.3, 52.7, 38.0, 38.3),
    _row("Qwen3.5-9B Instruct", 32.8, 59.0, 40.8, 43.0),
    _row("Video-R1-7B", 37.1, 34.8, 36.6, 36.3),
    _row("Qwen3-VL-8B-Thinking", 28.1, 48.4, 38.0, 36.9),
    _row("Qwen3-VL-8B + SGR", 46.3, 58.0, 48.1, 50.4),
    _row("Qwen3.5-9B + SGR", 48.0, 64.4, 45.6, 52.6),
)


def _overall(model: str, value: float, source: str = PAPER) -> Reported:
    return Reported(model, {"overall": value}, source, UNVERIFIED)


GRASP_MORE = (
    _overall("Qwen3-VL-8B + plain GRPO", 41.1),
    _overall("Qwen3.5-9B + plain GRPO", 44.6),
    _overall("Qwen3-VL-2B + SGR", 46.2),
    _overall("Qwen3-VL-4B + SGR", 48.3),
)
GROUNDED_RHO = Reported("nine models or items, not said which", {"rho": 0.64}, PAPER, UNVERIFIED)
OTHERS: dict[str, tuple[Reported, ...]] = {
    "mmsi": (
        _overall("Qwen3.5-9B + SGR", 62.1),
        _overall("Qwen3.5-9B Instruct", 61.6),
        _overall("VL-Rethinker-7B", 56.9),
    ),
    "online-mmsi": (
        _overall("Qwen3.5-9B + SGR", 56.9),
        _overall("Qwen3.5-9B Instruct", 55.2),
        _overall("Qwen3-VL-8B + SGR", 56.0),
    ),
    "tvqa+": (
        _overall("Qwen3.5-9B + SGR", 70.9),
        _overall("Qwen3-VL-8B + SGR", 73.2),
        _overall("Qwen3-VL-8B-Instruct", 71.9),
        _overall("Qwen3-VL-8B-Thinking", 70.0),
    ),
    "intentbench": (
        Reported("AffectOmni", {"overall": 71.89, "Emotion": 85.44, "When": 71.43}, AFFECT, UNVERIFIED),
        Reported("HumanOmniV2", {"overall": 69.23, "Emotion": 80.78, "When": 57.14}, AFFECT, UNVERIFIED),
    ),
    "daily-omni": (
        _overall("AffectOmni", 61.90, AFFECT),
        _overall("HumanOmniV2", 58.47, AFFECT),
        _overall("SFT on letters alone", 65.2, CRITIQUE),
    ),
    "worldsense": (
        _overall("AffectOmni", 48.80, AFFECT),
        _overall("HumanOmniV2", 47.70, AFFECT),
        _overall("SFT on letters alone", 48.8, CRITIQUE),
    ),
}
MEAN_OVER_TASKS = ("mmsi", "online-mmsi")  # their papers report the mean of the tasks' accuracies
OMNI_CAUTIONS = {
    "intentbench": (
        "57.14 and 71.43 are 4 and 5 sevenths: the category When may hold as few as seven questions.",
        "About 7 % of IntentBench items are said to be broken and about 23 % to be answerable from text alone "
        f"({CRITIQUE}).",
    )
}


def beside(kind: str, name: str, overall: float | None, groups: Mapping[str, float]) -> dict[str, Any] | None:
    """The published rows of a kind of benchmark with ours as the last; None where nothing was published.

    `overall`, `groups`: our accuracies as shares, by group.
    """
    grasp = kind in ("grasp", "release")
    rows = (*GRASP, *GRASP_MORE) if grasp else OTHERS.get(kind, ())
    if not rows:
        return None
    ours = {"overall": overall, **groups}
    where = "GRASP-Bench" if grasp else kind
    cautions = [f"The published rows are of {where}, ours of {name}: comparable only where that is the same."]
    return {
        "columns": list(GROUPS) if grasp else ["overall"],
        "unit": "per cent",
        "chance": CHANCE if grasp else None,
        "rows": [{**asdict(row), "values": dict(row.values)} for row in rows],
        "ours": {key: round(100 * value, 1) for key, value in ours.items() if value is not None},
        "cautions": [*cautions, *(CAUTIONS if grasp else OMNI_CAUTIONS.get(kind, ()))],
    }
