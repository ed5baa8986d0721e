"""Measures of an audit by hand, on rows as small as they can be, and what a report says of few."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser
from io import StringIO
from typing import Any

import pytest

from ml.evidence import metrics, report
from ml.evidence.verdicts import NAMES
from ml.statistics.intervals import wilson


def found(role: str = "phrase", **more: Any) -> dict[str, Any]:
    plain = {
        "role": role, "text": "cup", "status": "ok", "any_in": 4, "strong_in": 4, "share_in": 0.5, "share_out": 0.25,
        "several": 0.0, "objects": 1, "together": 1, "singular": True,
    }  # fmt: skip
    return plain | more


def claim(verdict: str = "supported", queries: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    plain = {
        "id": "c1", "type": "object", "polarity": "affirmed", "load_bearing": True, "groundable": True,
        "verdict": verdict, "rule": "found", "numbers": {"timed": True, "queries": queries or {}},
        "human": {}, "adjudicated": None, "relevance": {}, "iou": None,
    }  # fmt: skip
    return plain | more


def response(*claims: dict[str, Any], n: int = 0, **more: Any) -> dict[str, Any]:
    plain = {
        "id": f"r{n}", "model": "m", "set": "s", "video": f"v{n % 4}", "question": f"q{n}", "correct": None,
        "error": "", "repairs": 0, "claims": list(claims), "deletion": None,
    }  # fmt: skip
    return plain | more


def one_each(*claims: dict[str, Any]) -> list[dict[str, Any]]:
    return [response(c, n=n) for n, c in enumerate(claims)]


def numbers(name: str, rows: list[dict[str, Any]]) -> tuple[Any, ...]:
    got = metrics.measures(rows)[name]
    return got.get("k"), got["n"], got["value"]


def test_parse_rate_counts_responses_without_a_package() -> None:
    rows = [response(n=n, error="broken" if n < 3 else "") for n in range(12)]
    assert numbers("parse_rate", rows) == (9, 12, 0.75)


def test_hit_rate_and_specificity_leave_out_what_was_not_looked_for() -> None:
    """12 phrases with their controls: 9 hits and 2 false ones; those of other states are in neither count."""
    both = {"phrase-1": found(), "negative-1": found("negative", status="empty", any_in=0, strong_in=0)}
    miss = both | {"phrase-1": found(status="empty", any_in=0, strong_in=0, objects=0, together=0)}
    false = both | {"negative-1": found("negative")}
    outside = [
        claim(queries={"phrase-1": found(status=status, any_in=0), "negative-1": found("negative", status=status)})
        for status in ("not_in_vocabulary", "error", "skipped")
    ]
    unseen = {"phrase-1": found(any_in=0, share_in=None), "negative-1": found("negative", any_in=0, share_in=None)}
    outside.append(claim(queries=unseen))  # no frame of the span was looked at
    rows = one_each(*[claim(queries=both)] * 7, *[claim(queries=false)] * 2, *[claim(queries=miss)] * 3, *outside)
    assert numbers("hit_rate", rows) == (9, 12, 0.75)
    assert numbers("specificity", rows) == (10, 12, 10 / 12)
    assert numbers("contrast", rows) == (None, 12, pytest.approx(9 / 12 - 2 / 12))
    got = metrics.measures(rows)["specificity"]
    assert (got["low"], got["high"]) == pytest.approx(wilson(10, 12))


def test_denials_are_no_misses() -> None:
    gone = {"phrase-1": found(any_in=0)}
    rows = one_each(*[claim(queries=gone, polarity="negated")] * 10)
    assert numbers("hit_rate", rows) == (0, 0, None)


def test_presence_is_inside_minus_outside_of_timed_claims() -> None:
    rows = one_each(*[claim(queries={"phrase-1": found(share_in=0.9, share_out=0.1)})] * 5)
    rows += one_each(*[claim(queries={"phrase-1": found(share_in=0.4, share_out=0.2)})] * 5)
    timeless = claim(queries={"phrase-1": found()}, numbers={"timed": False, "queries": {"phrase-1": found()}})
    rows += one_each(timeless, claim(queries={"phrase-1": found(share_out=None)}))
    assert numbers("presence", rows) == (None, 10, pytest.approx(0.5))


def test_referents_and_fragments() -> None:
    """Of 12 singular things found, 3 had two candidates; ids per thing: 8 of one, 4 of three."""
    rows = one_each(
        *[claim(queries={"phrase-1": found()})] * 6,
        *[claim(queries={"phrase-1": found(several=0.5, together=2, objects=2)})] * 3,
        *[claim(queries={"phrase-1": found(objects=3)})] * 3,
        claim(queries={"phrase-1": found(singular=False, several=1.0, together=2, objects=6)}),
        claim(queries={"phrase-1": found(strong_in=0, objects=0, together=0)}),
    )
    assert numbers("uniqueness", rows) == (9, 12, 0.75)
    assert numbers("fragments", rows) == (None, 13, pytest.approx((6 + 3 + 9 + 3) / 13))


def test_coverage_is_of_load_bearing_claims() -> None:
    names = [
        "supported",
        "unsupported",
        "weak",
        "ambiguous",
        "wrong_time",
        "error",
        "not_groundable",
        "not_in_vocabulary",
    ]
    rows = one_each(*[claim(name) for name in names], *[claim("error", load_bearing=False)] * 5, *[claim()] * 2)
    assert numbers("coverage", rows) == (7, 10, 0.7)


def test_deletion_and_overlap() -> None:
    rows = [response(claim(iou=0.8), n=n, deletion={"changed": n < 6, "control_changed": n < 1}) for n in range(10)]
    assert numbers("deletion", rows) == (6, 10, 0.6)
    assert numbers("deletion_control", rows) == (1, 10, 0.1)
    assert numbers("iou", rows) == (None, 10, pytest.approx(0.8))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["supported", "weak", "not_groundable"], "supported"),
        (["supported", "wrong_person"], "unsupported"),
        (["supported", "error"], "untold"),
        (["contradicted", "error"], "unsupported"),
        (["weak", "ambiguous"], "untold"),
        ([], "untold"),
    ],
)
def test_where_a_response_stands(names: list[str], expected: str) -> None:
    row = response(*[claim(name) for name in names], claim("contradicted", load_bearing=False))
    assert metrics.standing(row, metrics.machine) == expected


def test_right_answers_where_the_reasoning_holds() -> None:
    """15 of 20 right where supported, 5 of 15 where not: Fisher 0.0190..., by adding up the tables."""
    rows = [response(claim(), n=n, correct=n < 15) for n in range(20)]
    rows += [response(claim("unsupported"), n=n, correct=n < 5) for n in range(15)]
    rows += [
        response(claim("weak"), correct=True),
        response(claim(), correct=None),
        response(claim("error"), correct=False),
    ]
    got = metrics.correctness(rows, lambda r: metrics.standing(r, metrics.machine), "supported", "unsupported")
    assert (got["supported"]["k"], got["supported"]["n"], got["unsupported"]["k"], got["unsupported"]["n"]) == (
        15,
        20,
        5,
        15,
    )
    assert (got["untold"], got["unknown"]) == (2, 1)
    assert got["difference"] == pytest.approx(0.75 - 1 / 3)
    from math import comb

    every = [comb(20, k) * comb(15, 20 - k) for k in range(5, 21)]  # 20 right, 15 wrong; k right and supported
    observed = comb(20, 15) * comb(15, 5)
    assert got["p"] == pytest.approx(sum(one for one in every if one <= observed) / sum(every))


def test_few_responses_are_not_compared() -> None:
    """What the public audit gave as 83.3 % against 35.3 % is 5 of 6 against 6 of 17."""
    rows = [response(claim(relevance={"x": "relevant"}), n=n, correct=n < 5) for n in range(6)]
    rows += [response(claim(relevance={"x": "irrelevant"}), n=n, correct=n < 6) for n in range(17)]
    got = metrics.correctness(rows, metrics.relevance, "relevant", "irrelevant")
    assert got["relevant"]["says"] == "5 of 6: too few to say"
    assert (got["relevant"]["value"], got["difference"], got["p"]) == (None, None, None)
    assert got["says"] == "Not enough responses to compare: 6 against 17, and each needs 10."


def test_agreement_is_that_of_a_hand_computed_table() -> None:
    """20 claims: both supported 8, both contradicted 6, machine supported and people not 4, the reverse 2. Raw 14/20;
    chance (12 * 10 + 8 * 10) / 400 = 0.5; kappa (0.7 - 0.5) / 0.5 = 0.4. Alpha, nominal: 40 words, 22 and 18:
    observed disagreement 6/20, expected 2 * 22 * 18 / (40 * 39), 1 - 0.3 / 0.50769."""
    pairs = [("supported", "supported")] * 8 + [("unsupported", "contradicted")] * 6
    pairs += [("supported", "contradicted")] * 4 + [("wrong_person", "supported")] * 2
    rows = one_each(*[claim(a, human={"x": b}) for a, b in pairs], claim("error", human={"x": "supported"}))
    rows += one_each(claim("supported", human={"x": "supported", "y": "contradicted"}))
    got = metrics.agreements(rows)
    assert got["machine"]["n"] == 20
    assert got["machine"]["raw"]["value"] == pytest.approx(0.7)
    assert got["machine"]["cohen"]["value"] == pytest.approx(0.4)
    assert got["machine"]["alpha"]["value"] == pytest.approx(1 - 0.3 / (2 * 22 * 18 / (40 * 39)))
    assert (got["errors_left_out"], got["even"]) == (1, 1)
    assert got["table"]["supported"] == {"supported": 8, "contradicted": 4, "cannot_tell": 0}
    assert got["people"]["says"] == "1 claim only: too few to say"


def test_an_adjudicated_word_is_peoples() -> None:
    one = claim("weak", human={"x": "supported", "y": "contradicted"}, adjudicated="mask_wrong")
    assert (metrics.human(one), metrics.machine(one)) == ("cannot_tell", "cannot_tell")
    assert metrics.human(claim(human={"x": "supported", "y": "supported", "z": "contradicted"})) == "supported"


def test_two_models_are_paired_by_question() -> None:
    """Of 20 questions A alone is right on 8 and B alone on 1: McNemar 2 * (1 + 9) / 512."""
    first = [
        response(claim("unsupported" if n < 3 else "supported"), n=n, model="A", correct=n < 13) for n in range(20)
    ]
    second = [response(claim(), n=n, model="B", correct=n < 5 or n == 19) for n in range(20)]
    twice = [response(claim(), n=30, model="A", id=f"t{k}", correct=True) for k in range(2)]
    (got,) = report.build([*second, *first, *twice])["comparisons"]
    assert (got["a"], got["b"], got["shared"], got["left_out"]) == ("A", "B", 20, 2)
    assert (got["correct"]["only_a"], got["correct"]["only_b"], got["correct"]["n"]) == (8, 1, 20)
    assert got["correct"]["p"] == pytest.approx(20 / 512)
    assert (got["support"]["only_a"], got["support"]["only_b"], got["support"]["p"]) == (0, 3, 0.25)
    assert got["support"]["says"].endswith("no difference that could not be chance.")


def test_models_of_different_sets_are_not_compared() -> None:
    rows = [response(claim(), model="A"), response(claim(), model="B", set="other")]
    assert report.build(rows)["comparisons"] == []


# ---------------------------------------------------------------------------------------------------------------------
# The report


HOSTILE = "<script>alert(1)</script>=cmd|' /C calc'!A0"


def rows() -> list[dict[str, Any]]:
    made = [
        response(
            claim(name, queries={"phrase-1": found()}, text=f"{HOSTILE} {name}", human={"x": "supported"}),
            n=n, correct=bool(n % 3), model=HOSTILE if n % 2 else "=1+1",
        )
        for n, name in enumerate(NAMES * 3)
    ]  # fmt: skip
    return [*made, response(n=99, error=HOSTILE)]


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)
        self.links += [f"{name}={value}" for name, value in attrs if name in ("src", "href", "onclick", "onload")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_from_outside_and_runs_nothing() -> None:
    text = report.html(report.build(rows(), about={"grounder": HOSTILE}))
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.links == []
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert "url(" not in text and "@import" not in text and "http" not in text
    assert "prefers-color-scheme:dark" in text
    assert text.count("&lt;script&gt;") > 10


def test_the_same_rows_in_any_order_give_the_same_bytes() -> None:
    tree, again = report.build(rows()), report.build(reversed(rows()))
    assert json.dumps(tree) == json.dumps(again)
    assert report.html(tree) == report.html(json.loads(json.dumps(tree)))
    assert report.csv(tree) == report.csv(json.loads(json.dumps(tree)))


def test_a_spreadsheet_gets_numbers_and_no_formula() -> None:
    lines = list(csv.DictReader(StringIO(report.csv(report.build(rows())))))
    assert all((line["model"] or "x")[0] not in "=+-@" for line in lines)
    by = {(line["model"], line["measure"]): line for line in lines}
    one = by["'=1+1", "hit_rate"]
    assert (one["k"], one["n"], one["value"]) == ("15", "15", "1")
    assert {f"verdict.{name}" for name in NAMES} <= {line["measure"] for line in lines}


def test_nothing_at_all_makes_a_report_too() -> None:
    tree = report.build([])
    assert tree["groups"] == []
    assert "no response in this audit yet" in report.html(tree)
    only = report.html(report.build([response(error="It broke.")]))
    assert "There are no claims." in only and "It broke." in only


def test_half_characters_of_a_reply_can_be_written() -> None:
    tree = report.build([response(claim(text="a cup\ud800"))])
    assert "a cup?" in report.html(tree)
    report.html(tree).encode()


def test_small_numbers_are_said_in_words_everywhere() -> None:
    """Three responses, all right, all supported: no share, no interval, no test, no agreement."""
    few = [
        response(claim(queries={"phrase-1": found()}, human={"x": "supported", "y": "supported"}), n=n, correct=True)
        for n in range(3)
    ]
    tree = report.build(few)
    text = report.html(tree)
    assert "100 %" not in text.replace("100 % of", "") and "1.00" not in text
    (group,) = tree["groups"]
    assert all(one["value"] is None for one in group["measures"].values())
    assert group["measures"]["hit_rate"]["says"] == "3 of 3: too few to say"
    assert group["agreement"]["machine"]["raw"] is None
