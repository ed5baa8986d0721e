"""What the side of the bench page shows (composition against quotas, agreement) and what a release holds, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ml.questions.taxonomy import CATEGORIES
from webapp.bench.agreeing import LEAST_UNITS
from webapp.bench.charts import bar, interval
from webapp.bench.listing import STATE_WORDS, Wanted

GROUPS = ("gaze", "gesture", "joint")


def states(counts: Mapping[str, int], wanted: Wanted, *, blind: bool) -> list[dict[str, Any]]:
    """One entry per state for the row above the list; the bar is its share of all."""
    shown = {name: counts.get(name, 0) for name in STATE_WORDS}
    if blind:
        shown["answering"] += shown.pop("disputed")
    total = sum(shown.values())
    found = []
    for name, count in shown.items():
        if not count and name in ("reserve", "rejected", "retired") and wanted.state != name:
            continue
        picture = bar([(name, count / total if total else 0)], words=f"{count} of {total}")
        found.append(
            {
                "name": name,
                "words": STATE_WORDS[name],
                "count": count,
                "address": wanted.address(state=name),
                "bar": picture,
            }
        )
    return found


def composition(rows: list[dict[str, Any]], quotas: list[dict[str, Any]], wanted: Wanted) -> dict[str, Any]:
    """Accepted and on the way, by category; a quota that names a category alone is that row's mark."""
    most = {quota["category"]: quota["most"] for quota in quotas if _category_alone(quota)}
    by_slug = {row["slug"]: row for row in rows}
    going = {slug: row["open"] + row["draft"] for slug, row in by_slug.items()}
    widest = max([1, *(by_slug[s]["accepted"] + going[s] for s in by_slug), *most.values()])
    groups = []
    for group in GROUPS:
        lines = [_line(by_slug[slug], going[slug], most.get(slug), widest, wanted) for slug in _slugs(group, by_slug)]
        groups.append({"name": group, "rows": lines})
    accepted = sum(row["accepted"] for row in rows)
    return {"title": _title(by_slug, most, accepted), "groups": groups, "quotas": bool(most)}


def _category_alone(quota: Mapping[str, Any]) -> bool:
    return bool(quota.get("category")) and not any(quota.get(name) for name in ("source", "difficulty", "letter"))


def _slugs(group: str, known: Mapping[str, Any]) -> list[str]:
    return [slug for slug, one in CATEGORIES.items() if one.group == group and slug in known]


def _line(row: Mapping[str, Any], going: int, quota: int | None, widest: int, wanted: Wanted) -> dict[str, Any]:
    accepted = row["accepted"]
    words = f"{row['words']}: {accepted} accepted, {going} on the way" + (
        f", quota {quota}" if quota is not None else ""
    )
    picture = bar(
        [("accepted", accepted / widest), ("going", going / widest)],
        words=words,
        mark=None if quota is None else quota / widest,
    )
    return {
        "slug": row["slug"],
        "words": row["words"],
        "accepted": accepted,
        "going": going,
        "total": accepted + going,
        "quota": quota,
        "bar": picture,
        "address": wanted.address(category="" if wanted.category == row["slug"] else row["slug"]),
    }


def _title(rows: Mapping[str, Mapping[str, Any]], most: Mapping[str, int], accepted: int) -> str:
    """What the picture shows, as a sentence."""
    if most:
        full = sum(rows[slug]["accepted"] >= limit for slug, limit in most.items() if slug in rows)
        return f"{full} of {len(most)} quotas are full"
    some = sum(row["accepted"] > 0 for row in rows.values())
    if not accepted:
        return "Nothing is accepted yet"
    return f"{accepted:,} accepted in {some} of {len(rows)} categories"


# ---------------------------------------------------------------------------------------------------------------------
# Agreement


def agreement(found: Mapping[str, Any], answers_since: int, *, simulated: bool = False) -> dict[str, Any] | None:
    """Krippendorff's alpha by category, as `webapp.bench.agreeing` keeps it; None before it was computed.

    `simulated`: raters who are no people gave some of the answers, which is said before everything else.
    """
    if not found:
        return None
    rows = [_agreement_row(row) for row in found["rows"]]
    whole = next((row for row in rows if not row["category"]), None)
    title = "Too few answers to say how far raters agree"
    if whole is not None and whole["chart"] is not None:
        raters = " of simulated raters" if simulated else ""
        title = f"Agreement{raters} α = {whole['alpha']} ({whole['interval']}) over {whole['n']:,} rounds"
    videos = found["videos"]
    note = f"Nominal alpha; intervals from {found['replicates']:,} draws of {videos} video{'s' if videos != 1 else ''}."
    if videos < 2:
        note = "Nominal alpha; an interval needs answers about two videos or more."
    if simulated:
        note = f"Simulated raters answered: this says nothing about people. {note}"
    if answers_since:
        note += f" {answers_since:,} answer{'s' if answers_since != 1 else ''} came since."
    return {"title": title, "rows": [row for row in rows if row["category"]], "note": note}


def _agreement_row(row: Mapping[str, Any]) -> dict[str, Any]:
    slug, alpha = row["category"], row["alpha"]
    words = CATEGORIES[slug].words if slug else "All"
    value, low, high = alpha["value"], alpha["low"], alpha["high"]
    told: dict[str, Any] = {"category": slug, "words": words, "n": row["units"], "chart": None}
    if value is None or row["units"] < LEAST_UNITS:
        return told
    known = low is not None and high is not None
    span = f"95 %: {low:.2f} to {high:.2f}" if known else "no interval: answers about one video only"
    picture = interval(value, low if known else value, high if known else value, words=f"{words}: {value:.2f}, {span}")
    return told | {"chart": picture, "alpha": f"{value:.2f}", "interval": span}


# ---------------------------------------------------------------------------------------------------------------------
# What a release holds

PARTS = {"category": "Category", "difficulty": "Difficulty", "letter": "Letter", "split": "Split", "source": "Source"}
MOST_LINES = 20


def release_composition(counts: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    """Bars of a release's items by category, difficulty, letter, split and source; what has one value only is left."""
    found = []
    for part, words in PARTS.items():
        lines = counts.get(part, {})
        if not lines:
            continue
        most = max(lines.values())
        rows = [_count_row(part, name, count, most) for name, count in lines.items()]
        if part == "source":
            rows.sort(key=lambda row: -row["count"])
        found.append({"words": words, "rows": rows[:MOST_LINES], "more": max(0, len(rows) - MOST_LINES)})
    return found


def _count_row(part: str, name: str, count: int, most: int) -> dict[str, Any]:
    words = CATEGORIES[name].words if part == "category" and name in CATEGORIES else name
    return {"words": words, "count": count, "bar": bar([("accepted", count / most)], words=f"{words}: {count}")}
