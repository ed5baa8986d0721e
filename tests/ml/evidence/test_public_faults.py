"""Faults of the public AffectOmni pipeline in judging, time, records and numbers, each as a test that ours passes.

Those of summarising and grounding are tested beside these.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ml.evidence import metrics
from ml.evidence.correctness import is_correct, key_of
from ml.evidence.grounding.protocol import Footage, Grounded, Query, Share, Window
from ml.evidence.grounding.windows import claimed_span, window_of
from ml.evidence.reading import parsed
from ml.evidence.summarisers.rules import Rules
from ml.evidence.verdicts import AGREES
from ml.media import masks as masks_file
from ml.media.index import FrameIndex
from ml.questions.clip import ClipClock
from ml.statistics.intervals import difference, said, share
from tests.ml.evidence.kit import AT_2, CLOCK, INDEX, INSIDE, SHOTS, claim, judged, masks
from tests.ml.evidence.test_metrics import claim as row_of_claim
from tests.ml.evidence.test_metrics import found, response
from tests.ml.evidence.test_pipeline import Finder, Reply, run, told

# --- time (fault 8) ---------------------------------------------------------------------------------------------------


def test_events_at_different_times_stay_at_different_times() -> None:
    """Theirs: a smoothing of frame choices drew all events of a reply onto one frame. Ours reads the stated time."""
    for seed in range(20):
        seconds = np.sort(np.random.default_rng(seed).choice(np.arange(0, 96, 8), 6, replace=False)) / 10
        text = " ".join(f"At {s:.1f} s Person {n} nods." for n, s in enumerate(seconds, 1))
        claims = Rules().summarise(text, duration_s=10.0).claims
        assert [claimed_span(c.time, CLOCK)[0] for c in claims] == [round(s * 10) for s in seconds]


def test_places_in_the_reply_are_never_out_of_date() -> None:
    """Theirs: each insertion moved the places of the next ones. Ours never writes into the reply."""
    text = "<think>At 1.0 s a cup is there. At 2.0 s a plate is there.</think> 5\u00b0 \U0001f600 <think>A dog.</think>"
    for one in Rules().summarise(text, duration_s=10.0).claims:
        assert text[slice(*one.span)] == one.text
        assert all(p.span is None or p.text.split()[-1] in text[slice(*p.span)] for p in one.phrases)


def test_seconds_are_those_of_the_clip_whatever_the_frame_rate() -> None:
    """Theirs: 30 frames a second for every file. Here frames last 40 and 200 ms."""
    ticks = np.r_[0, np.cumsum(np.where(np.arange(60) % 2, 200, 40))]
    index = FrameIndex(ticks, Fraction(1, 1000))
    seconds = index.zeroed[20:60] - index.zeroed[20]
    clock = ClipClock(np.arange(20, 60), seconds, 20, 60, float(index.zeroed[60] - index.zeroed[20]))
    at = claim(phrase="cup", time=(1.0, 1.0))
    frame = claimed_span(at.time, clock)[0]
    assert seconds[frame - 20] <= 1.0 < seconds[frame - 19]
    window = window_of(at, clock, index, [(0, 60)])
    assert (window.frame >= 20).all()
    near = index.zeroed[window.frame[window.inside]] - index.zeroed[20]
    assert (np.abs(near - 1.0) <= 1.21).all()


def test_only_frames_around_the_claim_are_looked_at() -> None:
    """Theirs: from frame 0 through the whole video. Ours: the claimed time, a second around it, and a control."""
    window = window_of(claim(phrase="cup", time=AT_2), CLOCK, INDEX, SHOTS)
    assert window.frame[window.inside].min() >= 10 and window.frame[window.inside].max() < 40
    assert len(window.frame) <= 64 and not window.inside.all()


# --- verdicts (section 5, section 12, faults 3 and 16) ----------------------------------------------------------------


def test_a_failure_is_neither_a_miss_nor_a_wrong_answer() -> None:
    """Theirs: running out of memory counted as wrong."""

    def fail(asked: list[str]) -> None:
        raise MemoryError("CUDA out of memory")

    verdict = judged(claim(phrase="cup", time=AT_2), masks(), status={"phrase-1": "error"})
    assert (verdict.name, AGREES[verdict.name]) == ("error", None)
    rows = [
        response(row_of_claim("error", {"phrase-1": found(status="error", any_in=0)}), n=n, correct=None)
        for n in range(12)
    ]
    got = metrics.group(rows)
    assert got["measures"]["hit_rate"]["n"] == got["accuracy"]["n"] == 0
    assert got["correct_by_machine"]["unsupported"]["n"] == 0


def test_masks_can_refute_a_claim() -> None:
    """Theirs: everything human became "person", so some mask was always there. Ours: a thing on somebody else, at
    another time, or not there at all, each has its name."""
    wears = claim("Person 1 has a cup", "person", persons=(1,), phrase="cup", time=AT_2)
    anybody = masks(("phrase-1", 1, INSIDE, 2, 0.9))
    assert judged(wears, anybody).name == "wrong_person"
    assert judged(claim(phrase="cup", time=AT_2), masks(("phrase-1", 1, [0, 5, 45, 50], -1, 0.9))).name == "wrong_time"
    assert judged(claim(phrase="cup", time=AT_2), masks()).name == "unsupported"


def test_a_mask_of_a_face_confirms_no_feeling() -> None:
    smiles = claim("Person 1 smiles", "expression", persons=(1,), phrase="face", time=AT_2)
    assert judged(smiles, masks(("phrase-1", 1, INSIDE, 1, 0.99))).name == "not_groundable"


def test_every_object_counts_not_the_first_alone() -> None:
    """Theirs: the first object of a prompt was kept."""
    several = masks(("phrase-1", 7, INSIDE[:1], 2, 0.9), ("phrase-1", 9, INSIDE, 1, 0.9))
    wears = claim("Person 1 has a cup", "person", persons=(1,), phrase="cup", time=AT_2)
    verdict = judged(wears, several)
    assert verdict.name == "supported"
    assert verdict.numbers["queries"]["phrase-1"]["objects"] == 2


# --- records (section 5, section 12, faults 10 to 12) -----------------------------------------------------------------


def test_a_crash_loses_nothing_that_was_found_before(tmp_path: Path) -> None:
    """Theirs: results were written at the very end, and an error object broke what followed."""

    def fail(asked: list[str]) -> None:
        if "person-1" in asked:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "w", Finder(fail=fail))
    assert (tmp_path / "w/c1.json").is_file() and (tmp_path / "w/c1.parquet").is_file()

    def broken(asked: list[str]) -> None:
        raise AttributeError("'str' object has no attribute 'get'")

    failed = told(run(tmp_path / "other", Finder(fail=broken)))
    assert {name for _, name, _ in failed} == {"error", "not_groundable"}


def test_masks_scores_and_frames_are_kept(tmp_path: Path) -> None:
    """Theirs: counts of objects and pictures painted over; no mask, no score, no frame."""
    run(tmp_path / "w", Finder())
    kept = masks_file.read(tmp_path / "w/c1.parquet")
    assert len(kept.counts) == len(kept.frame) > 0
    assert (kept.score > 0).all() and (kept.area > 0).all()
    stored = json.loads((tmp_path / "w/c1.json").read_text())
    assert set(kept.frame.tolist()) <= set(stored["grounded"]["looked"])
    assert {"queries", "window", "grounded"} <= set(stored)
    plan = json.loads((tmp_path / "w/plan.json").read_text())
    assert {"weights", "name", "version"} <= set(plan["grounder"]) and "summariser" in plan


def test_words_of_a_reply_never_name_a_file(tmp_path: Path) -> None:
    """Theirs: the prompt's text stood in file names."""
    run(tmp_path / "w", Finder(), Reply(text="At 2 s there is a ../../cup|rm -rf cup. A con/nul cup is there."))
    names = {path.name for path in (tmp_path / "w").iterdir()}
    assert all(name in ("plan.json", "package.json") or name.partition(".")[0][1:].isdigit() for name in names)
    assert {path.name for path in tmp_path.iterdir()} == {"w"}


def test_one_claim_is_looked_at_once_for_all_its_phrases(tmp_path: Path) -> None:
    """Theirs: the whole video again for each prompt."""
    grounder = Finder()
    run(tmp_path / "w", grounder, Reply(text="At 2 s there are a cup, a giraffe and Person 1."))
    assert len(grounder.asked) == 1 and len(grounder.asked[0]) > 2


class Empty(Finder):
    """Gives no status at all, as a session that was closed too early."""

    def ground(self, footage: Footage, queries: Sequence[Query], window: Window, *, progress: Share) -> Grounded:
        return Grounded(masks(), {}, looked=window.frame)


def test_silence_of_a_grounder_is_an_error(tmp_path: Path) -> None:
    checked = run(tmp_path / "w", Empty(), Reply(text="At 2 s there is a cup.")).checked
    assert [one.verdict.name for one in checked] == ["error"]
    assert "said nothing of it" in checked[0].verdict.sentence


# --- answers (fault 16) -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text", "right"),
    [
        (["B", "C"], "<answer>B, C</answer>", True),
        (["B", "C"], "<answer>B,C</answer>", True),
        (["B", "C"], "<answer>C and B</answer>", True),
        (["B", "C"], "<answer>B</answer>", False),
        (["A"], "<answer>A.</answer>", True),
        (["A"], "<think>It may be A.</think><answer></answer>", False),  # an empty answer is nobody else's
        (["No"], "<answer>I know</answer>", False),  # "know" holds "no"
        (["Yes"], "<answer>yesterday</answer>", False),
        (["Yes"], "<answer>yes.</answer>", True),
        ([3], "<answer>3</answer>", True),
        ([3], "<answer>13</answer>", False),
        (None, "<answer>A</answer>", None),
    ],
)
def test_answers_are_read_not_searched(key: list[str | int] | None, text: str, right: bool | None) -> None:
    reply = parsed(text)
    assert is_correct(key, answer=reply.answer, letters=reply.letters, options=("Yes", "No", "Maybe")) is right


@pytest.mark.parametrize(
    ("text", "key"),
    [("B", ["B"]), ("B, C", ["B", "C"]), ("BC", ["B", "C"]), ("C and B", ["B", "C"]), ("NO", ["NO"]), ("YES", ["YES"]),
     ("TV", ["TV"]), ("B) A cup", ["B"]), ("3", [3.0]), ("Yes", ["Yes"]), ("A cup", ["A cup"]), ("", None),
     (None, None)],
)  # fmt: skip
def test_keys_are_read_as_they_are_written(text: str | None, key: list[str | float] | None) -> None:
    assert key_of(text) == key


# --- numbers (sections 1.1 and 1.2) -----------------------------------------------------------------------------------


def test_four_of_seven_against_five_of_seven_is_no_gain() -> None:
    """Theirs: 57.14 against 71.43, told as +14.29."""
    before, after = share(4, 7), share(5, 7)
    assert said(before) == "4 of 7: too few to say"
    assert difference(after, before).value is None


def test_every_measure_is_worked_out_from_the_rows() -> None:
    """Theirs: shares in the description that no script computes."""
    got = metrics.measures([])
    assert set(got) == set(metrics.MEASURES)
    assert all(one["value"] is None and one["n"] == 0 and one["says"] == "none" for one in got.values())


def test_each_share_has_its_n_and_interval() -> None:
    rows = [response(row_of_claim(queries={"phrase-1": found()}), n=n, correct=n % 2 == 0) for n in range(30)]
    got = metrics.group(rows)
    for one in (got["accuracy"], got["measures"]["hit_rate"]):
        assert one["n"] == 30 and one["low"] < one["high"] and "30" in one["says"]
