"""Agreement against published worked examples, and its intervals against what must hold of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ml.statistics.agreement import MEASURES, Answers, Estimate, Unit, alpha, cohen, estimate, fleiss, raw

# Fleiss 1971, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76, table 1: 30 patients,
# each put by six psychiatrists into one of five categories (depression, personality disorder, schizophrenia, neurosis,
# other); kappa = .430, and for the categories .245, .245, .520, .471, .566
FLEISS_1971 = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units, values
# missing; nominal alpha = 0.743
KRIPPENDORFF_C = ("123321412...", "12332241 25.3".replace(" ", ""), ".33323422 51.".replace(" ", ""), "12332441251.")
# the same, example A: two observers, ten units, two values; alpha = 0.095
KRIPPENDORFF_A = ("0100000010", "1110010000")
# Fleiss, Levin and Paik 2003, "Statistical Methods for Rates and Proportions", 3rd edition, table 18.1: diagnoses of
# 100 subjects (psychotic, neurotic, organic) by two raters; Cohen's kappa = .676
DIAGNOSES = np.array([[75, 1, 4], [5, 4, 1], [0, 0, 10]])


def rows_of(text: str) -> np.ndarray:
    return np.array([[int(digit) for digit in word] for word in text.split()])


def counted(observers: tuple[str, ...]) -> np.ndarray:
    """int[units, values] of strings with one sign per unit, "." for a value that is missing."""
    values = sorted(set("".join(observers)) - {"."})
    return np.array([[unit.count(value) for value in values] for unit in zip(*observers, strict=True)])


def units_of(table: np.ndarray, clusters: list[int] | None = None) -> list[Unit]:
    """Units whose answers are as counted, said by the persons 0, 1, 2, ..."""
    found = []
    for n, row in enumerate(table):
        said = [str(category) for category, count in enumerate(row) for _ in range(count)]
        found.append(Unit(clusters[n] if clusters else n, tuple(enumerate(said))))
    return found


def test_fleiss_as_published() -> None:
    table = rows_of(FLEISS_1971)
    assert table.shape == (30, 5) and set(table.sum(axis=1)) == {6}
    assert fleiss(table) == pytest.approx(0.430, abs=5e-4)


def test_the_table_of_fleiss_is_the_published_one() -> None:
    """His kappas of single categories come out, too: each is the kappa of the category against all others."""
    table = rows_of(FLEISS_1971)
    for category, published in enumerate((0.245, 0.245, 0.520, 0.471, 0.566)):
        own = table[:, category]
        assert fleiss(np.stack([own, 6 - own], axis=1)) == pytest.approx(published, abs=5e-4)


def test_krippendorff_as_published() -> None:
    assert alpha(counted(KRIPPENDORFF_C)) == pytest.approx(0.743, abs=5e-4)
    assert alpha(counted(KRIPPENDORFF_A)) == pytest.approx(0.095, abs=5e-4)


def test_cohen_as_published() -> None:
    assert cohen(DIAGNOSES) == pytest.approx(0.676, abs=5e-4)


def test_cohen_through_units_is_the_same() -> None:
    """Two people who both answered all 100 units: the mean over pairs of people is the one pair's kappa."""
    units = [
        Unit(n, (("ann", str(one)), ("bea", str(other))))
        for n, (one, other) in enumerate((a, b) for a in range(3) for b in range(3) for _ in range(DIAGNOSES[a, b]))
    ]
    assert Answers(units).measures()["cohen"] == pytest.approx(0.676, abs=5e-4)


def test_cohen_over_several_pairs_is_weighted_by_what_they_share() -> None:
    """Ann and Bea share four units and agree on all; Ann and Cas share two and agree as chance would have it."""
    shared = [Unit(n, (("ann", said), ("bea", said))) for n, said in enumerate("xyxy")]
    apart = [Unit(9, (("ann", "x"), ("cas", "x"))), Unit(10, (("ann", "x"), ("cas", "y")))]
    # kappa of the second pair: agreement 1/2, by chance 1 * 1/2
    assert Answers(shared + apart).measures()["cohen"] == pytest.approx((4 * 1 + 2 * 0) / 6)


def test_raw_agreement_is_the_share_of_pairs() -> None:
    table = rows_of(FLEISS_1971)
    by_hand = []
    for row in table:
        said = [category for category, count in enumerate(row) for _ in range(count)]
        by_hand.append(np.mean([a == b for a, b in combinations(said, 2)]))
    assert raw(table) == pytest.approx(np.mean(by_hand))
    assert raw(np.array([[2, 0], [1, 1], [0, 2], [1, 0]])) == pytest.approx(2 / 3)  # the last was answered once


def test_fleiss_takes_the_commonest_number_of_answers() -> None:
    table = rows_of(FLEISS_1971)
    more = np.concatenate([table, [[2, 0, 0, 0, 0], [1, 1, 0, 0, 0]]])
    assert fleiss(more) == fleiss(table)
    tied = np.array([[2, 0], [1, 1], [3, 0], [0, 3]])  # of equally common numbers the larger
    assert fleiss(tied) == pytest.approx(1.0)


@pytest.mark.parametrize("measure", [raw, fleiss, alpha])
def test_nothing_is_said_of_nothing(measure) -> None:  # type: ignore[no-untyped-def]
    assert measure(np.zeros((0, 2), int)) is None
    assert measure(np.array([[1, 0], [0, 1]])) is None  # nobody answered what somebody else did


def test_beyond_chance_is_not_defined_where_all_say_the_same() -> None:
    same = np.array([[2, 0], [2, 0], [2, 0]])
    assert (raw(same), fleiss(same), alpha(same)) == (1.0, None, None)
    assert cohen(np.array([[5, 0], [0, 0]])) is None


def test_a_special_answer_is_a_category() -> None:
    """Two who cannot tell agree with each other, and not with one who can."""
    units = [Unit(1, (("ann", "A"), ("bea", "cannot_tell"))), Unit(2, (("ann", "cannot_tell"), ("bea", "cannot_tell")))]
    assert Answers(units).measures()["raw"] == 0.5


# ---------------------------------------------------------------------------------------------------------------------
# Intervals


def test_the_same_seed_gives_the_same_interval() -> None:
    units = units_of(rows_of(FLEISS_1971))
    first, second = (estimate(units, replicates=50, seed=3) for _ in range(2))
    assert first == second
    assert estimate(units, replicates=50, seed=4) != first
    for name in MEASURES:
        low, high = first[name].low, first[name].high
        assert low is not None and high is not None and low < high
    assert first["fleiss"].low < 0.430 < first["fleiss"].high  # type: ignore[operator]


def test_one_video_gives_no_interval() -> None:
    units = units_of(rows_of(FLEISS_1971), clusters=[1] * 30)
    assert estimate(units)["raw"] == Estimate(raw(rows_of(FLEISS_1971)))


def test_whole_videos_are_drawn() -> None:
    """Six videos of five units, agreed on in full or not at all: the raw agreement of a draw is a number of sixths."""
    table = np.repeat([[2, 0], [1, 1], [0, 2], [1, 1], [2, 0], [0, 2]], 5, axis=0)
    clusters = [n // 5 for n in range(30)]
    answers = Answers(units_of(table, clusters))
    rng = np.random.default_rng(0)
    for _ in range(50):
        drawn = answers.measures(rng.multinomial(6, np.full(6, 1 / 6)))["raw"]
        assert drawn is not None and (6 * drawn) == pytest.approx(round(6 * drawn))
    apart = estimate(units_of(table), replicates=400)["raw"]
    together = estimate(units_of(table, clusters), replicates=400)["raw"]
    assert together.high - together.low > 1.5 * (apart.high - apart.low)  # type: ignore[operator]


def test_an_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Units agreed on with probability 0.7, in 40 videos of one unit: at a level of 95 %, at least 34 of 40 hold it."""
    rng = np.random.default_rng(7)
    held = 0
    for trial in range(40):
        agree = rng.random(40) < 0.7
        table = np.where(agree[:, None], [2, 0], [1, 1])
        found = estimate(units_of(table), replicates=100, seed=trial)["raw"]
        held += found.low <= 0.7 <= found.high  # type: ignore[operator]
    assert held >= 34


def test_a_draw_equals_its_units_written_out() -> None:
    """What a draw says is what the same units say when each is there as often as it was drawn."""
    rng = np.random.default_rng(5)
    words = list("ABC")
    units = [
        Unit(n % 4, tuple((person, words[rng.integers(3)]) for person in rng.choice(5, size=2, replace=False).tolist()))
        for n in range(40)
    ]
    drawn = np.array([2, 0, 1, 1])
    written = [unit for unit in units for _ in range(drawn[int(str(unit.cluster))])]
    whole = Answers(units).measures(drawn)
    for name, value in Answers(written).measures().items():
        assert whole[name] == pytest.approx(value)
