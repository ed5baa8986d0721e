"""One evaluation: its tables, it against another on the same items, and its items with keys and replies.

tables_of(results)            accuracy by group, category, difficulty, split and kind of answer
comparison(one, other)        difference, interval and p on the items both have a reply to
item_page(evaluation, ..)     item by item, for reviewers: keys show
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from ml.evaluation import compare
from ml.evaluation.scoring import HEADLINE, READINGS
from ml.evaluation.tables import STATES
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries
from ml.questions.taxonomy import CATEGORIES
from ml.statistics.intervals import LEAST, said_p
from ml.text.answers import letter_of
from webapp.bench.models import ReleaseItem
from webapp.lib.errors import Refused
from webapp.runs import folders
from webapp.runs.evaluation_values import (
    CONTROL_WORDS,
    DIFFICULTIES,
    GROUPS,
    READING_WORDS,
    TOO_FEW,
    Tree,
    grounded,
    measured,
)
from webapp.runs.leaderboard import MOST_ROWS, controls_of, model_key
from webapp.runs.models import Evaluation

PAGE = 50  # items of one page
BY_WORDS = {
    "group": "Group",
    "category": "Category",
    "difficulty": "Difficulty",
    "source": "Split",
    "kind": "Kind of answer",
}
ORDERS = {"group": GROUPS, "difficulty": DIFFICULTIES, "category": tuple(CATEGORIES)}  # else by name


def tables_of(results: Tree) -> list[dict[str, Any]]:
    """Its tables as the page shows them: overall first, then by group, category, ..."""
    found = [{"by": "all", "words": "All items", "rows": [_line("all", results["overall"])]}]
    for by, words in BY_WORDS.items():
        rows = _in_order(by, results["tables"].get(by, []))
        if len(rows) > 1 or by in ("group", "category"):
            found.append({"by": by, "words": words, "rows": [_line(by, row) for row in rows]})
    return [table for table in found if table["rows"]]


def _in_order(by: str, rows: Iterable[Tree]) -> list[Tree]:
    order = ORDERS.get(by, ())
    return sorted(rows, key=lambda row: order.index(row["name"]) if row["name"] in order else len(order))


def _line(by: str, row: Tree) -> dict[str, Any]:
    name = row["name"]
    words = category_words(name) if by == "category" else name.replace("_", " ")
    return {
        "name": name,
        "words": "All items" if by == "all" else words[:1].upper() + words[1:],
        "readings": {reading: measured(row, reading) for reading in READINGS},
        "measured": measured(row),
        "n": row["n"],
        "videos": row["videos"],
        "left": [(row[state], state) for state in ("unanswered", "error", "missing") if row[state]],
    }


def titles_of(results: Tree, controls: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What each part of the page finds, in a few words; where there is too little, what it is about."""
    strict, lenient = (measured(results["overall"], name) for name in ("strict", "lenient"))
    groups = [(row["name"], measured(row)) for row in results["tables"].get("group", [])]
    known = sorted(((told.value, name, told.shown) for name, told in groups if told.value is not None and not told.few))
    text_only = next((one for one in controls if one["control"] == "text-only"), None)
    blind = text_only["measured"] if text_only else None
    named = grounded(results)
    found = {
        "tables": "Accuracy by the released reading",
        "readings": "How strictly replies are read",
        "controls": "What is left when something is taken away",
        "grounded": "Whom the reasoning names",
    }
    if len(known) > 1 and known[0][2] != known[-1][2]:
        (_, worst, least), (_, best, most) = known[0], known[-1]
        found["tables"] = f"Best on {best} items ({most} %), worst on {worst} ({least} %)"
    if not strict.few and strict.value is not None:
        same = strict.shown == lenient.shown
        words = f"Read strictly it scores {strict.shown} %, leniently {lenient.shown} %"
        found["readings"] = f"Read strictly or leniently it scores {strict.shown} %" if same else words
    if blind and not blind.few:
        said = ", as its uploader says," if text_only and text_only["claimed"] else ""
        found["controls"] = f"Without any picture{said} it is right on {blind.shown} %"
    if named and not named.few:
        found["grounded"] = f"{named.shown} % of those whom it names take part"
    return found


def others_of(one: Evaluation) -> list[Evaluation]:
    """Finished evaluations of the same release, newest first: what it can be compared with."""
    found = Evaluation.objects.filter(release=one.release_id, state=Evaluation.State.DONE).exclude(id=one.id)
    return list(found.order_by("-number").defer("settings")[:MOST_ROWS])


def same_model(one: Evaluation, others: Iterable[Evaluation]) -> list[dict[str, Any]]:
    """What the same model scores with one thing taken away."""
    return controls_of([other for other in others if model_key(other) == model_key(one) and other.control])


def name_of(one: Evaluation) -> str:
    return f"{one.name} ({CONTROL_WORDS.get(one.control, one.control)})" if one.control else one.name


# ---------------------------------------------------------------------------------------------------------------------
# Items


def lines_of(one: Evaluation, name: str = "items.jsonl") -> list[dict[str, Any]]:
    """The lines of one of its files. Raises Refused where that is not there."""
    path = folders.evaluation(one.id) / name
    try:
        return [dict(cast(Tree, entry.tree)) for entry in entries(path)]
    except (FormatError, OSError) as error:
        raise Refused(f"The items of evaluation {one.number} cannot be read on this machine.", "evaluation") from error


def comparison(one: Evaluation, other: Evaluation) -> dict[str, Any]:
    """The first against the second on the items both have a reply to, by every reading. Raises Refused.

    {"sentence", "readings": [{"words", "difference", "p", "only_a", "only_b"}], "categories": [..], "n", "left_out"}
    """
    if one.release_id != other.release_id or one.id == other.id:
        raise Refused("Two evaluations of one release are compared, item by item.", "with")
    a, b = ({row["id"]: row for row in lines_of(side)} for side in (one, other))
    told = {reading: compare.compared(a, b, reading=reading) for reading in READINGS}
    head = told[HEADLINE]
    first, second = name_of(one), name_of(other)
    if first == second:
        first, second = f"{first} (no. {one.number})", f"{second} (no. {other.number})"
    return {
        "sentence": compare.sentence(head, first, second),
        "readings": [_difference(READING_WORDS[name], told[name]) for name in READINGS],
        "categories": [
            _difference(category_words(row["name"]), row) for row in _in_order("category", head["categories"])
        ],
        "n": head["n"],
        "left_out": head["left_out"],
        "first": first,
        "second": second,
    }


def category_words(name: str) -> str:
    """A category as people call it."""
    words = CATEGORIES[name].words if name in CATEGORIES else name
    return words[:1].upper() + words[1:]


def _difference(words: str, row: Tree) -> dict[str, Any]:
    told = row["difference"]
    few = row["n"] < LEAST
    shown = "–" if told["value"] is None or few else f"{100 * told['value']:+.1f}".replace("+0.0", "0.0")
    span = ""
    if not few and told["low"] is not None:
        span = f"{100 * told['low']:+.1f} to {100 * told['high']:+.1f}"
    return {
        "words": words,
        "n": row["n"],
        "few": few,
        "shown": shown,
        "span": span,
        "difference": told,
        "only_a": row["only_a"],
        "only_b": row["only_b"],
        "p": said_p(row["p"]) if row["p"] is not None else TOO_FEW if few else "no pair differs",
    }


def categories_of(results: Tree) -> list[tuple[str, str]]:
    """(slug, words) of the categories it has items of."""
    rows = results.get("tables", {}).get("category", [])
    return [(row["name"], category_words(row["name"])) for row in rows if row["name"] in CATEGORIES]


@dataclass(frozen=True)
class ItemsWanted:
    """Which items of an evaluation the address asks for."""

    state: str = ""
    category: str = ""
    page: int = 0

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> ItemsWanted:
        state, category, page = (str(asked.get(name, "")) for name in ("state", "category", "page"))
        plain = page.isascii() and page.isdigit() and len(page) < 7
        return cls(
            state if state in STATES else "",
            category if category in CATEGORIES else "",
            int(page) if plain else 0,
        )

    def address(self, **other: str) -> str:
        told = {"state": self.state, "category": self.category, "page": str(self.page or "")} | other
        return "?" + urlencode({name: value for name, value in told.items() if value})


def item_page(one: Evaluation, wanted: ItemsWanted) -> dict[str, Any]:
    """A page of its items: {"rows", "count", "states": {state: n}, "questions": ids of the questions shown}.

    Raises Refused where the files are not there.
    """
    lines = lines_of(one)
    counts = {state: sum(row["state"][HEADLINE] == state for row in lines) for state in STATES}
    if wanted.state:
        lines = [row for row in lines if row["state"][HEADLINE] == wanted.state]
    if wanted.category:
        lines = [row for row in lines if row["category"] == wanted.category]
    shown = lines[wanted.page * PAGE : (wanted.page + 1) * PAGE]
    replies = {row["id"]: row for row in lines_of(one, "replies.jsonl")}
    ids = [row["id"] for row in shown]
    items = {
        row.item["id"]: row for row in ReleaseItem.objects.filter(release=one.release_id, item__id__in=ids)
    }  # a withdrawn one has no id
    return {
        "rows": [_item(row, replies.get(row["id"], {}), items[row["id"]]) for row in shown if row["id"] in items],
        "count": len(lines),
        "states": [(state, counts[state]) for state in STATES if counts[state]],
        "questions": [items[id].question_id for id in ids if id in items and items[id].question_id],
    }


def _item(row: Tree, reply: Tree, kept: ReleaseItem) -> dict[str, Any]:
    item = kept.item
    said = row["said"].get(HEADLINE, [])
    return {
        "id": row["id"],
        "position": kept.position,
        "retired": kept.retired,
        "category": category_words(row["category"]),
        "question": item["question"],
        "options": [
            {"letter": letter, "text": text, "right": letter in row["key"], "said": letter in said}
            for letter, text in ((letter_of(at), text) for at, text in enumerate(item["options"]))
        ],
        "key": ", ".join(row["key"]),
        "said": ", ".join(said),
        "others": [
            (READING_WORDS[name], ", ".join(row["said"].get(name, [])) or "no answer")
            for name in READINGS
            if row["said"].get(name, said) != said
        ],
        "state": row["state"][HEADLINE],
        "precision": row["precision"],
        "text": reply.get("text", ""),
        "error": row["error"] if row["error"] and row["error"] != "missing" else "",
        "seconds": reply.get("seconds"),
        "frames": reply.get("frames"),
        "cut": reply.get("finish") == "length",
    }
