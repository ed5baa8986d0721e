"""Tables against counts by hand; grounded participants; published rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ml.evaluation import grounded, published
from ml.evaluation.models import MISSING, NO_MEMORY, Reply
from ml.evaluation.scoring import READINGS
from ml.evaluation.tables import Scored, scored, tables
from ml.rewards.rows import Truth
from tests.ml.evaluation.samples import GAZE, item


def said(id: str, text: str = "", *, error: str | None = None, **more: Any) -> Scored:
    return scored(item(id, **more), Reply(id, text, error=error))


def tag(letter: str) -> str:
    return f"<answer>{letter}</answer>"


EIGHT = [
    said("a", tag("B"), category="x", group="gaze", recording="v1"),
    said("b", tag("A"), category="x", group="gaze", recording="v1"),
    said("c", tag("B"), category="x", group="gaze", recording="v2"),
    said("d", "I cannot tell.", category="x", group="gaze", recording="v2"),
    said("e", tag("B"), category="y", group="joint", recording="v3"),
    said("f", tag("b"), category="y", group="joint", recording="v3"),
    said("g", error=f"{NO_MEMORY} (240 pictures).", category="y", group="joint", recording="v3"),
    said("h", error=MISSING, category="y", group="joint", recording="v4"),
]


def test_nothing_is_silently_wrong() -> None:
    """Six replies: 3 right, 1 wrong, 2 unanswered by the released reading ("I c.." has no letter, "b" is small)."""
    row = tables(EIGHT)["overall"]
    counts = {name: row[name] for name in ("n", "right", "partly", "wrong", "unanswered", "error", "missing")}
    assert counts == {"n": 8, "right": 3, "partly": 0, "wrong": 1, "unanswered": 2, "error": 1, "missing": 1}
    assert row["accuracy"]["released"]["value"] == 3 / 6
    assert row["answered"] == 3 / 4 and row["at_least"] == 3 / 8
    assert row["accuracy"]["lenient"]["value"] == 4 / 6 and row["accuracy"]["strict"]["value"] == 3 / 6
    assert row["unanswered_by"] == {"strict": 2, "released": 2, "lenient": 1}
    assert row["videos"] == 3 and row["few"]


def test_tables_by_category_and_group_macro_and_micro() -> None:
    told = tables(EIGHT)
    x, y = told["tables"]["category"]
    assert (x["name"], x["n"], x["accuracy"]["released"]["value"]) == ("x", 4, 2 / 4)
    assert (y["name"], y["n"], y["error"], y["accuracy"]["released"]["value"]) == ("y", 4, 1, 1 / 2)
    assert y["accuracy"]["released"]["low"] is None  # both replies are of one video
    assert told["macro"]["released"]["value"] == pytest.approx((2 / 4 + 1 / 2) / 2)
    assert [row["name"] for row in told["tables"]["group"]] == ["gaze", "joint"]
    assert "difficulty" not in told["tables"] and "source" not in told["tables"]


def test_intervals_are_drawn_by_video() -> None:
    """Ten videos whose ten questions are all right or all wrong: as wide as of ten questions, not of a hundred."""
    rows = [said(f"{v}.{k}", tag("B" if v % 2 else "A"), recording=f"v{v}") for v in range(10) for k in range(10)]
    told = tables(rows)["overall"]
    low, high = told["accuracy"]["released"]["low"], told["accuracy"]["released"]["high"]
    assert (low, high) == (0.2, 0.8)  # quantiles of Binomial(10, 1/2) / 10
    assert told["wilson"] == pytest.approx([0.404, 0.596], abs=1e-3)  # 50 of 100, which takes them as independent
    assert tables(rows)["overall"] == told


def test_partly_right_is_a_state_of_its_own() -> None:
    row = tables([said("m", tag("A"), key="A,C", kind="letters")])["overall"]
    assert row["partly"] == 1 and row["accuracy"]["released"]["value"] == pytest.approx(2 / 3) and row["wilson"] is None


def test_only_errors_have_no_accuracy() -> None:
    row = tables([said("m", error="The endpoint failed."), said("n", error=MISSING)])["overall"]
    assert row["accuracy"]["released"]["value"] is None and row["answered"] is None and row["at_least"] == 0
    assert (row["error"], row["missing"], row["wrong"]) == (1, 1, 0)


def test_a_whole_benchmark_is_quick() -> None:
    rng = np.random.default_rng(0)
    rows = [
        said(f"q{k}", tag("ABCD"[rng.integers(4)]), category=f"c{k % 16}", recording=f"v{k % 400}") for k in range(1200)
    ]
    began = time.monotonic()
    tables(rows)
    assert time.monotonic() - began < 5


# --- grounded participants -------------------------------------------------------------------------------------------


def reply(named: str, letter: str = "B", **more: Any) -> Scored:
    """A reply to an item that asks about Person 0, with Persons 0 and 2 in its one event."""
    told: dict[str, Any] = {"events": (GAZE,)}
    text = f"<think>Person 9 is here. <gaze>{named}</gaze></think><answer>{letter}</answer>"
    return said(f"g{named}{letter}{more}", text, **(told | more))


@pytest.mark.parametrize(
    ("named", "precision"),
    [
        ("Person 0 looks at Person 2.", 1.0),  # 0 is in the question, so 2 of 2
        ("Person 0 looks at Persons 1 and 2.", 0.5),
        ("person 2, P3, Person 4 and Person 1 look.", 0.25),
        ("Person 1 looks away.", 0.0),
        ("Person 0 looks.", None),  # nobody but the one who was named already
        ("Somebody looks.", None),
    ],
)
def test_precision_of_one_reply(named: str, precision: float | None) -> None:
    assert grounded.precision(reply(named)) == precision


def test_who_is_named_outside_the_blocks_does_not_count_and_errors_have_no_value() -> None:
    assert grounded.precision(said("o", "Person 2<answer>B</answer>", events=(GAZE,))) is None
    assert grounded.precision(said("e", error="gone", events=(GAZE,))) is None
    asked = Truth("gaze", frozenset({0}))
    assert grounded.precision(reply("Person 2 looks.", events=(asked,))) is None  # nobody is left to name


def test_summary_by_hand() -> None:
    rows = [
        reply("Person 2 looks.", "B", category="x"),  # 1, right
        reply("Persons 1 and 2 look.", "B", category="x"),  # 1/2, right
        reply("Persons 1, 2, 3 and 4 look.", "A", category="y"),  # 1/4, wrong
        reply("Person 1 looks.", "A", category="z"),  # 0, wrong
        reply("Nobody looks.", "B", category="z"),
        reply("Person 2 looks.", "B", events=(Truth("gaze", frozenset({0})),)),
        said("n", tag("B")),
    ]
    told = grounded.summary(rows)
    assert told is not None
    assert (told["items"], told["with_events"], told["named_nobody"], told["n"]) == (7, 6, 1, 4)
    assert told["coverage"] == 5 / 6 and told["precision"]["value"] == (1 + 0.5 + 0.25 + 0) / 4
    # ranks 4 3 2 1 against 3.5 3.5 1.5 1.5: Pearson 4 / sqrt(5 * 4)
    assert told["rho_items"]["value"] == pytest.approx(4 / np.sqrt(20))
    # categories: (3/4, 1), (1/4, 0), (0, 0): ranks 3 2 1 against 3 1.5 1.5
    assert told["rho_categories"] == {"value": pytest.approx(1.5 / np.sqrt(2 * 1.5)), "n": 3}
    assert (told["accuracy_grounded"], told["accuracy_not_grounded"], told["n_grounded"]) == (1, 0, 2)
    assert grounded.summary([said("n", tag("B"))]) is None


# --- published -------------------------------------------------------------------------------------------------------


def test_published_rows_fit_together() -> None:
    """The overall of each row is a mean of its groups with one set of weights, 44.4, 31.4 and 24.1 per cent."""
    table = np.array([[row.values[group] for group in published.GROUPS] for row in published.GRASP])
    weights, *_ = np.linalg.lstsq(table[:, :3], table[:, 3], rcond=None)
    assert weights == pytest.approx([0.444, 0.314, 0.241], abs=0.002)
    assert np.abs(table[:, :3] @ weights - table[:, 3]).max() < 0.05  # as far as one decimal can tell
    assert all(row.source and row.state for rows in (published.GRASP, *published.OTHERS.values()) for row in rows)


def test_ours_stand_beside_with_the_caution_that_it_may_be_another_benchmark() -> None:
    told = published.beside("release", "demo r2", 0.5, {"gaze": 0.25})
    assert told is not None and told["ours"] == {"overall": 50.0, "gaze": 25.0} and told["chance"] == 25
    assert "demo r2" in told["cautions"][0] and len(told["rows"]) == 13
    assert all("source" in row and "state" in row for row in told["rows"])
    mmsi = published.beside("mmsi", "pcr", None, {})
    assert mmsi is not None and mmsi["columns"] == ["overall"] and mmsi["ours"] == {}
    assert all(row["state"] == "reported, unverified" for row in mmsi["rows"])


def test_readings_are_named() -> None:
    assert READINGS == ("strict", "released", "lenient")
