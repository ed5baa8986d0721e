"""What an audit comes to, per model and set: measures of the reasoning, of the grounder, and of people against machine.

Rows are plain, one per response:
  {"id", "model", "set", "video", "question", "correct": true | false | null, "error": sentence, "repairs": count,
   "claims": [{"id", "type", "polarity", "load_bearing", "groundable", "verdict", "rule", "numbers",
               "human": {rater: word}, "adjudicated": word | null, "relevance": {rater: word}, "iou": number | null}],
   "deletion": {"changed": bool, "control_changed": bool} | null}
`question` is the same for two models that were asked the same; `numbers` are those of `ml.evidence.verdicts`. `error`
says why there is no package. `correct` is null where nobody knows. A claim may have its "text", which reports list.

A measure with fewer than `intervals.LEAST` cases has counts and no value. Claims of one response are alike, so Wilson
intervals over claims are somewhat too narrow; those of means are drawn by video.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, Literal

from ml.evidence.verdicts import AGREES, NAMES
from ml.statistics import agreement, intervals, paired
from ml.statistics.intervals import Mean, Share

Row = Mapping[str, Any]
Standing = Literal["supported", "unsupported", "untold"]
LOOKED = ("ok", "empty")
SEVERAL = 0.5  # as in `verdicts.Rules`
HUMAN = {
    "supported": "supported",
    "contradicted": "contradicted",
    "cannot_tell": "cannot_tell",
    "mask_wrong": "cannot_tell",
}
UNCHECKED = ("error", "not_groundable", "not_in_vocabulary")

# name -> (title, what it means)
MEASURES: dict[str, tuple[str, str]] = {
    "parse_rate": ("Parse rate", "responses of which a package could be made"),
    "groundable_rate": ("Groundable", "claims whose verdict is another than “not groundable”"),
    "hit_rate": ("Hit rate", "affirmed phrases that were looked for and have any mask in the span"),
    "contrast": ("Hits above control", "hit rate of phrases minus that of their controls, where both were looked for"),
    "presence": ("In span minus outside", "share of frames with a mask in the claimed time, minus that outside of it"),
    "specificity": ("Specificity", "negative controls that were looked for and not found"),
    "uniqueness": ("One referent", "phrases for one thing that were found, with one candidate"),
    "fragments": ("Fragments per subject", "identities given to each thing found; 1 is best"),
    "coverage": ("Load-bearing coverage", "load-bearing claims that could be checked"),
    "deletion": (
        "Answer changes when the evidence is hidden",
        "questions put again, the masks of supported claims blanked out, to the connected model, which need not be the "
        "audited one",
    ),
    "deletion_control": ("… when as much elsewhere is hidden", "the same responses with another region blanked out"),
    "iou": ("Mask overlap", "IoU of the grounder's masks with those that people corrected"),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# One claim, one response


def queries(claim: Row, role: str) -> Iterator[tuple[str, Row]]:
    """Queries of a role that were looked for on a frame of the span, by their position in the claim."""
    for id, found in claim["numbers"].get("queries", {}).items():
        if found["role"] == role and found["status"] in LOOKED and found["share_in"] is not None:
            yield id.rpartition("-")[2], found


def human(claim: Row) -> str | None:
    """What people say of a claim: the adjudicated word, else the one most raters give; None where they are even."""
    if claim.get("adjudicated"):
        return HUMAN[claim["adjudicated"]]
    words = Counter(HUMAN[word] for word in (claim.get("human") or {}).values()).most_common(2)
    if not words or (len(words) > 1 and words[0][1] == words[1][1]):
        return None
    return words[0][0]


def machine(claim: Row) -> str | None:
    return AGREES[claim["verdict"]]


def standing(response: Row, word: Callable[[Row], str | None]) -> Standing:
    """What the load-bearing claims come to: unsupported as soon as one is contradicted, supported when one is and none
    is contradicted, else untold. One that failed leaves it untold, unless another is contradicted."""
    words = [word(claim) for claim in response["claims"] if claim["load_bearing"]]
    failed = any(claim["verdict"] == "error" for claim in response["claims"] if claim["load_bearing"])
    if "contradicted" in words:
        return "unsupported"
    return "supported" if "supported" in words and not (failed and word is machine) else "untold"


def relevance(response: Row) -> str | None:
    """relevant or irrelevant, by what raters say of the masks of load-bearing claims; None where they are split or only
    say partly."""
    words = Counter(
        word
        for claim in response["claims"]
        if claim["load_bearing"]
        for word in (claim.get("relevance") or {}).values()
        if word in ("relevant", "irrelevant")
    )
    top = words.most_common(2)
    return None if not top or (len(top) > 1 and top[0][1] == top[1][1]) else top[0][0]


# ---------------------------------------------------------------------------------------------------------------------
# Measures


def measures(responses: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Every measure of `MEASURES`, as JSON: {"k", "n", "value", "low", "high", "says"}, `k` for shares only."""
    made = [response for response in responses if not response.get("error")]
    claims = [(response["video"], claim) for response in made for claim in response["claims"]]
    phrases = [
        (video, claim, (at, k), found)
        for at, (video, claim) in enumerate(claims)
        if claim.get("polarity", "affirmed") == "affirmed"
        for k, found in queries(claim, "phrase")
    ]
    negatives = {(at, k): f for at, (_, claim) in enumerate(claims) for k, f in queries(claim, "negative")}
    bearing = [claim for _, claim in claims if claim["load_bearing"]]
    found = [f for _, _, _, f in phrases if f["strong_in"]]
    asked = [response["deletion"] for response in made if response.get("deletion")]
    timed = [(v, f) for v, c, _, f in phrases if c["numbers"]["timed"] and None not in (f["share_in"], f["share_out"])]
    both = [(v, bool(f["any_in"]) - bool(negatives[at]["any_in"])) for v, _, at, f in phrases if at in negatives]
    subjects = [(v, f["objects"] / f["together"]) for v, _, _, f in phrases if f["together"]]
    corrected = [(video, claim["iou"]) for video, claim in claims if claim.get("iou") is not None]
    told: dict[str, Share | Mean] = {
        "parse_rate": counted(not response.get("error") for response in responses),
        "groundable_rate": counted(claim["verdict"] != "not_groundable" for _, claim in claims),
        "hit_rate": counted(bool(f["any_in"]) for _, _, _, f in phrases),
        "contrast": averaged(both),
        "presence": averaged((v, f["share_in"] - f["share_out"]) for v, f in timed),
        "specificity": counted(not f["any_in"] for f in negatives.values()),
        "uniqueness": counted(f["several"] < SEVERAL for f in found if f.get("singular") and not f.get("unchecked")),
        "fragments": averaged(subjects),
        "coverage": counted(claim["verdict"] not in UNCHECKED for claim in bearing),
        "deletion": counted(bool(one["changed"]) for one in asked),
        "deletion_control": counted(bool(one["control_changed"]) for one in asked),
        "iou": averaged(corrected),
    }
    return {name: as_json(one) for name, one in told.items()}


def counted(hits: Iterable[bool]) -> Share:
    listed = list(hits)
    return intervals.share(sum(listed), len(listed))


def averaged(pairs: Iterable[tuple[Any, float]]) -> Mean:
    """Of (video, number)."""
    listed = list(pairs)
    return intervals.mean([float(value) for _, value in listed], [video for video, _ in listed])


def as_json(one: Share | Mean) -> dict[str, Any]:
    says = intervals.said(one) if isinstance(one, Share) else intervals.said_mean(one)
    return {**asdict(one), "says": says}


# ---------------------------------------------------------------------------------------------------------------------
# Is the answer right where the reasoning holds?


def correctness(responses: Sequence[Row], of: Callable[[Row], str | None], good: str, bad: str) -> dict[str, Any]:
    """P(correct | good) against P(correct | bad), with n, intervals, difference and Fisher's test, as JSON.

    `untold`: responses whose correctness is known and that are neither.
    """
    known = [response for response in responses if response.get("correct") is not None]
    groups = {word: [bool(r["correct"]) for r in known if of(r) == word] for word in (good, bad)}
    a, b = (intervals.share(sum(rows), len(rows)) for rows in groups.values())
    both = intervals.difference(a, b)
    return {
        good: as_json(a),
        bad: as_json(b),
        "untold": len(known) - a.n - b.n,
        "unknown": len(responses) - len(known),
        "difference": both.value,
        "low": both.low,
        "high": both.high,
        "p": both.p,
        "says": _compared(both),
    }


def _compared(both: intervals.Difference) -> str:
    if both.p is None or both.value is None or both.low is None or both.high is None:
        return f"Not enough responses to compare: {both.a.n} against {both.b.n}, and each needs {intervals.LEAST}."
    points = f"{100 * both.value:+.0f} points (95 %: {100 * both.low:+.0f} to {100 * both.high:+.0f})"
    chance = "" if both.p < 0.05 else "; this could be chance"
    return f"{points}, Fisher, exact: {intervals.said_p(both.p)}{chance}."


# ---------------------------------------------------------------------------------------------------------------------
# People and machine


def agreements(responses: Sequence[Row]) -> dict[str, Any]:
    """Machine against people, and people against each other, by claim; and how often which meets which."""
    claims = [(r["video"], c) for r in responses if not r.get("error") for c in r["claims"]]
    against, table = [], Counter[tuple[str, str]]()
    for video, claim in claims:
        word, other = machine(claim), human(claim)
        if word is not None and other is not None:
            against.append(agreement.Unit(video, (("machine", word), ("people", other))))
            table[word, other] += 1
    among = [
        agreement.Unit(video, tuple((rater, HUMAN[word]) for rater, word in sorted(claim["human"].items())))
        for video, claim in claims
        if len(claim.get("human") or {}) > 1
    ]
    even = sum(human(c) is None and bool(c.get("human")) for _, c in claims)
    failed = sum(machine(c) is None and human(c) is not None for _, c in claims)
    return {
        "machine": _agreement(against),
        "people": _agreement(among),
        "table": {word: {other: table[word, other] for other in WORDS} for word in WORDS},
        "even": even,
        "errors_left_out": failed,
    }


WORDS = ("supported", "contradicted", "cannot_tell")


def _agreement(units: Sequence[agreement.Unit]) -> dict[str, Any]:
    if untold := few(len(units)):
        return {"n": len(units), **dict.fromkeys(("raw", "cohen", "alpha")), "says": untold}
    found = agreement.estimate(units)
    names = {"raw": "raw agreement", "cohen": "Cohen's kappa", "alpha": "Krippendorff's alpha"}
    says = ", ".join(f"{title} {_estimated(found[name])}" for name, title in names.items())
    return {"n": len(units), **{name: asdict(found[name]) for name in names}, "says": f"{says} (n = {len(units)})"}


def few(claims: int) -> str:
    """What is said in place of an agreement on too few claims; "" where there are enough."""
    if claims >= intervals.LEAST:
        return ""
    return f"{claims} claim{'' if claims == 1 else 's'} only: too few to say" if claims else "none"


def _estimated(one: agreement.Estimate) -> str:
    if one.value is None:
        return "not defined (everybody always said the same)"
    return f"{one.value:.2f}" + ("" if one.low is None or one.high is None else f" [{one.low:.2f}, {one.high:.2f}]")


# ---------------------------------------------------------------------------------------------------------------------
# Groups and pairs of models


def group(responses: Sequence[Row]) -> dict[str, Any]:
    """All of one model on one set, as JSON."""
    claims = [claim for response in responses if not response.get("error") for claim in response["claims"]]
    verdicts = Counter(claim["verdict"] for claim in claims)
    known = [bool(r["correct"]) for r in responses if r.get("correct") is not None]
    return {
        "model": responses[0]["model"],
        "set": responses[0]["set"],
        "responses": len(responses),
        "videos": len({response["video"] for response in responses}),
        "claims": len(claims),
        "repaired": sum(bool(response.get("repairs")) for response in responses),
        "failed": [{"id": str(r["id"]), "error": r["error"]} for r in responses if r.get("error")],
        "accuracy": as_json(intervals.share(sum(known), len(known))),
        "verdicts": {name: verdicts[name] for name in NAMES},
        "rules": dict(sorted(Counter(claim["rule"] for claim in claims).items())),
        "types": dict(sorted(Counter(claim["type"] for claim in claims).items())),
        "measures": measures(responses),
        "correct_by_machine": correctness(responses, lambda r: standing(r, machine), "supported", "unsupported"),
        "correct_by_people": correctness(responses, lambda r: standing(r, human), "supported", "unsupported"),
        "correct_by_relevance": correctness(responses, relevance, "relevant", "irrelevant"),
        "agreement": agreements(responses),
    }


def groups(responses: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Responses by set and model, both in order of their names; those of a group by video, question and id."""
    by: dict[tuple[str, str], list[Row]] = {}
    for response in sorted(
        responses, key=lambda r: (r["set"], r["model"], str(r["video"]), str(r["question"]), str(r["id"]))
    ):
        by.setdefault((response["set"], response["model"]), []).append(response)
    return by


def comparisons(by: Mapping[tuple[str, str], Sequence[Row]]) -> list[dict[str, Any]]:
    """Every two models of one set on the questions both were asked once, as JSON."""
    found = []
    for one, other in combinations(by, 2):
        if one[0] == other[0]:
            found.append(compared(one[1], by[one], other[1], by[other]) | {"set": one[0]})
    return found


def compared(a: str, first: Sequence[Row], b: str, second: Sequence[Row]) -> dict[str, Any]:
    """Correctness and support of two models, paired by video and question. A question that one was asked more than once
    is left out, since which of its answers is meant is not known."""
    keyed = [_once(rows) for rows in (first, second)]
    pairs = [(keyed[0][key], keyed[1][key]) for key in keyed[0] if key in keyed[1]]
    correct = [
        (bool(x["correct"]), bool(y["correct"])) for x, y in pairs if None not in (x.get("correct"), y.get("correct"))
    ]
    stands = [(standing(x, machine), standing(y, machine)) for x, y in pairs if not (x.get("error") or y.get("error"))]
    support = [(x == "supported", y == "supported") for x, y in stands if "untold" not in (x, y)]
    return {
        "a": a,
        "b": b,
        "shared": len(pairs),
        "left_out": len(first) - len(keyed[0]) + len(second) - len(keyed[1]),
        "correct": _paired(correct, a, b, "right"),
        "support": _paired(support, a, b, "supported"),
    }


def _once(rows: Sequence[Row]) -> dict[tuple[str, str], Row]:
    counts = Counter((str(row["video"]), str(row["question"])) for row in rows)
    return {key: row for row in rows if counts[key := (str(row["video"]), str(row["question"]))] == 1}


def _paired(pairs: Sequence[tuple[bool, bool]], a: str, b: str, what: str) -> dict[str, Any]:
    found = paired.paired(pairs)
    return {**asdict(found), "n": found.n, "says": paired.said(found, a, b, what)}
