"""What the side of the bench page shows: composition against quotas, agreement, findings; as rows with their bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.safestring import SafeString

from ml.questions.taxonomy import CATEGORIES
from webapp.bench.charts import bar
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
    words = f"{row['words']}: {accepted} accepted, {going} on the way" + (f", quota {quota}" if quota is not None else "")
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


NO_PICTURE = SafeString("")
