"""Faults of whole sets: duplicates, leaks into training, bias, and what a guesser without the video gets right."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.questions.lint import balance, blind, pictures, recordings
from ml.questions.lint.one import One
from ml.questions.lint.run import Report
from tests.ml.questions.lint.clean import LETTERS, Made
from tests.ml.questions.lint.conftest import run


def found(report: Report, code: str) -> set[int | None]:
    return {finding.item for finding in report.findings if finding.code == code}


def pick(clean: list[Made], count: int = 25, start: int = 0) -> list[Made]:
    return [made.copy() for made in clean[start : start + count]]


# ------------------------------------------------------------------------------------------------------- duplicates


def reworded(text: str) -> str:
    for old, new in (("With whom does", "With whom then does"), ("Which", "Now, which"), ("How long", "For how long"),
                     ("Whose", "And whose"), ("Who ", "So who "), ("At whom", "Directly at whom")):  # fmt: skip
        text = text.replace(old, new, 1)
    return text


def test_the_same_question_twice_is_found(clean: list[Made]) -> None:
    made = pick(clean, 32)
    report = run([*made, *(one.copy() for one in made)])
    assert found(report, "duplicate_question") == set(range(32, 64))


def test_the_same_question_of_another_clip_of_the_recording_is_found(clean: list[Made]) -> None:
    """The clip begins 0.5 s later, so the same moments have other numbers."""
    made = [one for one in clean if " s" in one.qa["question"]][:25]
    again = [one.copy() for one in made]
    for one in again:
        one.tree["clip_offset"] = round(one.tree["clip_offset"] + 0.5, 2)
        one.tree["clip_duration"] -= 0.5
        for field in ("question", "reasoning"):
            one.qa[field] = moved(one.qa[field], -0.5)
    report = run([*made, *again])
    assert len(found(report, "duplicate_question")) == 25


def moved(text: str, by: float) -> str:
    import re

    return re.sub(r"\d+\.\d(?= s)", lambda match: f"{float(match[0]) + by:.1f}", text)


def test_the_same_question_with_another_key_is_found(clean: list[Made]) -> None:
    made, again = pick(clean, 32), pick(clean, 32)
    rng = random.Random(1)
    for one in again:
        at = rng.choice([at for at in range(4) if LETTERS[at] != one.qa["answer"]])
        one.qa["answer"], one.qa["answer_text"] = LETTERS[at], one.qa["options"][at][3:]
    report = run([*made, *again], events=False)
    assert found(report, "contradicting_questions") == set(range(32, 64))


def test_nearly_the_same_question_is_found(clean: list[Made]) -> None:
    made, again = pick(clean, 48), pick(clean, 48)
    for one in again:
        one.qa["question"] = reworded(one.qa["question"])
    changed = {at + 48 for at in range(48) if again[at].qa["question"] != made[at].qa["question"]}
    report = run([*made, *again])
    assert changed <= found(report, "near_duplicate_question") | found(report, "duplicate_question")
    longer = pick(clean, 48)
    for one in longer:
        one.qa["question"] += " Look closely."
    report = run([*made, *longer])
    assert len(found(report, "near_duplicate_question")) >= 20


def test_the_same_question_of_other_videos_is_no_fault(clean: list[Made]) -> None:
    made, again = pick(clean, 48), pick(clean, 48)
    for one in again:
        one.tree["video_name"] = one.qa["video_id"] = f"other_{one.tree['video_name']}"
        one.tree["clip_file"] = f"other_{one.tree['clip_file']}"
    report = run([*made, *again])
    assert not found(report, "duplicate_question") | found(report, "near_duplicate_question")


def test_questions_about_other_persons_moments_or_ends_are_no_duplicates(clean: list[Made]) -> None:
    one = clean[0].copy()
    variants = []
    for old, new in (
        ("Person 3", "Person 8"),
        ("2.5 s", "4.0 s"),
        ("make", "first make"),
        ("With whom", "Not with whom"),
    ):
        other = one.copy()
        assert old in other.qa["question"]
        other.qa["question"] = other.qa["question"].replace(old, new)
        variants.append(other)
    report = run([one, *variants], events=False)
    assert not {f.code for f in report.findings} & {
        "duplicate_question", "near_duplicate_question", "contradicting_questions"
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ leaks


def train_file(path: Path, records: Sequence[object]) -> list[recordings.Seen]:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(recordings.train(path))


def record(made: Made, *, start: float, end: float, question: str = "Who?", hashes: object = None) -> list[object]:
    video: dict[str, object] = {
        "type": "video", "path": f"synthetic/video/{made.tree['video_name']}.mp4", "fps": 25,
        "start_seconds": start, "end_seconds": end, "src_resolution": [720, 1280],
    }  # fmt: skip
    if hashes is not None:
        video["picture_hash"] = hashes
    return [
        video,
        {"type": "text", "content": f"{question}\nA) Person 1", "output": False},
        {"type": "text", "content": "A", "output": True},
        {"type": "meta", "difficulty": "easy", "gt_events": [], "question_text": question},
    ]


def test_a_recording_in_both_splits_is_found(clean: list[Made], tmp_path: Path) -> None:
    made = pick(clean, 30)
    seen = train_file(tmp_path / "rl.jsonl", [record(one, start=500, end=540) for one in made[:25]])
    report = run(made, train=seen)
    assert found(report, "recording_in_train") == set(range(25))
    assert found(report, "overlap_with_train") == set()


def test_shared_time_is_found(clean: list[Made], tmp_path: Path) -> None:
    made = pick(clean, 25)
    seen = train_file(tmp_path / "rl.jsonl", [record(one, start=0, end=one.tree["clip_offset"] + 1) for one in made])
    assert found(run(made, train=seen), "overlap_with_train") == set(range(25))


@pytest.mark.parametrize("times", ["clip", "source"])
def test_a_question_that_training_asks_is_found(clean: list[Made], tmp_path: Path, times: str) -> None:
    made = pick(clean, 25)
    rows = []
    for one in made:
        question = one.qa["question"] if times == "clip" else moved(one.qa["question"], one.tree["clip_offset"])
        rows.append(record(one, start=one.tree["clip_offset"], end=90, question=question))
    assert found(run(made, train=train_file(tmp_path / "rl.jsonl", rows)), "question_in_train") == set(range(25))


def test_another_data_set_s_video_of_the_same_name_is_another_recording(clean: list[Made], tmp_path: Path) -> None:
    made = pick(clean, 25)
    rows = [record(one, start=0, end=500) for one in made]
    for row in rows:
        row[0]["path"] = row[0]["path"].replace("synthetic", "tvqa")  # type: ignore[index]
    report = run(made, train=train_file(tmp_path / "rl.jsonl", rows))
    assert not found(report, "recording_in_train")


def test_a_source_recording_decides_over_names(clean: list[Made], tmp_path: Path) -> None:
    made = pick(clean, 25)
    rows = []
    for number, one in enumerate(made):
        one.tree["source_recording"] = f"Tape {number}"
        row = record(one, start=0, end=1)
        row[0] |= {"path": f"x/video/renamed{number}.mp4", "source_recording": f"tape {number}"}  # type: ignore[operator]
        rows.append(row)
    assert found(run(made, train=train_file(tmp_path / "rl.jsonl", rows)), "recording_in_train") == set(range(25))


def test_items_and_annotation_rows_serve_as_training_too(clean: list[Made], tmp_path: Path) -> None:
    made = pick(clean, 25)
    rows = [{"id": at, "video": one.tree["video_name"], "source": "synthetic"} for at, one in enumerate(made)]
    assert len(found(run(made, train=train_file(tmp_path / "a.jsonl", rows)), "recording_in_train")) == 25
    report = run(made, train=train_file(tmp_path / "b.jsonl", [one.tree for one in made]))
    assert len(found(report, "overlap_with_train")) == 25


def test_a_like_picture_in_training_is_found(clean: list[Made], tmp_path: Path) -> None:
    rng = random.Random(3)
    made = pick(clean, 40)
    rows = []
    for at, one in enumerate(made):
        bits = rng.getrandbits(64)
        one.tree["picture_hash"] = f"{bits:016x}"
        for bit in rng.sample(range(64), 4 if at < 25 else 16):
            bits ^= 1 << bit
        row = record(one, start=0, end=1, hashes=[f"{bits:016x}"])
        row[0]["path"] = f"other/video/renamed{at}.mp4"  # type: ignore[index]
        rows.append(row)
    report = run(made, train=train_file(tmp_path / "rl.jsonl", rows))
    assert found(report, "picture_in_train") == set(range(25))
    assert not found(report, "recording_in_train")


def test_a_picture_hash_survives_scaling_noise_and_light_and_tells_pictures_apart() -> None:
    rng = np.random.default_rng(7)
    smooth = np.kron(rng.integers(40, 200, (6, 8)), np.ones((60, 80)))
    one = np.clip(smooth, 0, 255).astype(np.uint8)
    brighter = np.clip(smooth * 1.1 + 8 + rng.normal(0, 3, smooth.shape), 0, 255).astype(np.uint8)
    other = np.kron(rng.integers(40, 200, (6, 8)), np.ones((60, 80))).astype(np.uint8)
    bits = pictures.picture_hash(one)
    assert (bits ^ pictures.picture_hash(one[::2, ::2])).bit_count() <= recordings.NEAREST
    assert (bits ^ pictures.picture_hash(brighter)).bit_count() <= recordings.NEAREST
    assert (bits ^ pictures.picture_hash(other)).bit_count() > 12


def test_a_picture_hash_by_hand() -> None:
    rising = np.tile(np.arange(9, dtype=np.uint8), (8, 1))
    assert pictures.picture_hash(rising) == 2**64 - 1
    assert pictures.picture_hash(rising[:, ::-1]) == 0
    half = np.concatenate([rising[:4], rising[4:, ::-1]])
    assert pictures.picture_hash(np.stack([half] * 3, axis=2)) == (2**32 - 1) << 32


# ------------------------------------------------------------------------------------------------------------- bias


def with_keys(clean: list[Made], letter: Callable[[int], str]) -> list[Made]:
    """The keyed option moved to the letter wanted of each position."""
    made = pick(clean, len(clean))
    for at, one in enumerate(made):
        old, new = LETTERS.index(one.qa["answer"]), LETTERS.index(letter(at))
        texts = [option[3:] for option in one.qa["options"]]
        texts[old], texts[new] = texts[new], texts[old]
        one.qa["options"] = [f"{mark}) {text}" for mark, text in zip(LETTERS, texts, strict=True)]
        one.qa["answer"] = LETTERS[new]
    return made


def test_uneven_letters_are_found_in_twenty_sets(clean: list[Made]) -> None:
    """Wherever an independent test finds them uneven, and only there."""
    told = 0
    for seed in range(30):
        rng = random.Random(seed)
        some = rng.sample(clean, rng.choice([15, 60, 120]))
        shares = (9, 1, 1, 1) if len(some) < 60 else (7, 2, 2, 2)
        made = with_keys(some, lambda at, rng=rng, w=shares: rng.choices(LETTERS, w)[0])  # type: ignore[misc]
        counts = [sum(one.qa["answer"] == letter for one in made) for letter in LETTERS]
        said = bool(found(run(made, events=False), "letter_bias"))
        assert said == (independent_p(counts) < balance.LEVEL), (seed, counts)
        told += said
    assert told >= 20


def independent_p(counts: list[int]) -> float:
    """By simulation of the statistic for small sets, by the textbook formula for large ones."""
    from scipy.stats import chisquare, multinomial

    if sum(counts) >= 20:
        return float(chisquare(counts).pvalue)
    total = sum(counts)
    every = [(a, b, c, total - a - b - c) for a in range(total + 1) for b in range(total + 1 - a)
             for c in range(total + 1 - a - b)]  # fmt: skip
    statistic = lambda row: sum((n - total / 4) ** 2 for n in row)  # noqa: E731
    return float(
        sum(multinomial.pmf(row, total, [0.25] * 4) for row in every if statistic(row) >= statistic(counts) - 1e-9)
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(lambda counts: sum(counts) > 0))
def test_the_exact_test_is_the_sum_over_all_outcomes(counts: list[int]) -> None:
    assert balance.uniform(counts)[2] == pytest.approx(independent_p(counts), abs=1e-9)


@settings(deadline=None)
@given(st.integers(1, 200), st.data(), st.floats(0.05, 0.95))
def test_the_binomial_tests_agree_with_scipy(tries: int, data: st.DataObject, share: float) -> None:
    from scipy.stats import binom, binomtest

    hits = data.draw(st.integers(0, tries))
    assert balance.binomial(hits, tries, share) == pytest.approx(binomtest(hits, tries, share).pvalue, abs=1e-9)
    assert balance.at_least(hits, tries, share) == pytest.approx(binom.sf(hits - 1, tries, share), abs=1e-9)


def test_even_letters_are_not_accused(clean: list[Made]) -> None:
    assert not found(run(with_keys(clean, lambda at: LETTERS[at % 4]), events=False), "letter_bias")


def test_a_longest_key_is_found_in_twenty_sets(clean: list[Made]) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        made = [one.copy() for one in rng.sample(clean, 60)]
        for one in made:
            at = LETTERS.index(one.qa["answer"])
            if seed % 2:
                one.qa["options"][at] += ", who sits at the table"
            else:
                one.qa["options"] = [option + (", who sits at the table" if other != at else "")
                                     for other, option in enumerate(one.qa["options"])]  # fmt: skip
        assert found(run(made, events=False), "longest_option_bias") == {None}


# ---------------------------------------------------------------------------------------------------- without video


def test_a_key_that_its_wording_gives_away_is_found_in_twenty_sets(clean: list[Made]) -> None:
    """A phrase that is always right when it is offered."""
    for seed in range(20):
        rng = random.Random(seed)
        made = [one.copy() for one in rng.sample(clean, 60)]
        for one in made:
            at = LETTERS.index(one.qa["answer"])
            one.qa["category"] = "T1"
            for other in range(4):
                word = "left" if other == at else "right"
                one.qa["options"][other] = f"{LETTERS[other]}) The {word} one{'.' * (other != at)}"
        assert None in found(run(made, events=False), "answerable_without_video"), seed


class Model:
    """A model that always says the lowest person, or the first option."""

    name = "a model"

    def __init__(self, clever: bool) -> None:
        self.clever = clever

    def letter(self, question: str, options: Sequence[str]) -> str | None:
        import re

        numbers = [int((re.findall(r"Person (\d+)", text) or ["99"])[0]) for text in options]
        return LETTERS[numbers.index(min(numbers))] if self.clever else "A"


def lowest_is_right(clean: list[Made]) -> list[Made]:
    made = [one.copy() for one in clean if one.qa["category"] in ("T1", "G1", "T5")]
    for one in made:
        numbers = sorted(int(option[-1]) for option in one.qa["options"])
        at = LETTERS.index(one.qa["answer"])
        others = numbers[1:]
        one.qa["options"] = [f"{LETTERS[k]}) Person {numbers[0] if k == at else others.pop()}" for k in range(4)]
        one.qa["answer_text"] = f"Person {numbers[0]}"
    return made


def test_a_model_that_needs_no_video_is_found_and_permuted_identities_show_why(clean: list[Made]) -> None:
    report = run(lowest_is_right(clean), events=False, asker=Model(clever=True))
    said = [f.sentence for f in report.findings if f.code == "answerable_without_video"]
    assert any("a model answers" in sentence for sentence in said)
    assert found(report, "identity_prior") == {None}


def test_a_model_that_knows_nothing_is_not_accused(clean: list[Made]) -> None:
    report = run(clean, events=False, asker=Model(clever=False))
    assert not found(report, "answerable_without_video") | found(report, "identity_prior")
    assert not any("no model configured" in f.sentence for f in report.findings)


class Likeness:
    """An embedding that finds the keyed option like the question, since both name a cup."""

    name = "an embedding"

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[1.0, 0.0] if "cup" in text else [0.0, 1.0] for text in texts], np.float32)


def test_likeness_of_question_and_key_is_found(clean: list[Made]) -> None:
    made = pick(clean, 60)
    for one in made:
        one.qa["question"] = one.qa["question"].replace("?", ", near the cup?")
        at = LETTERS.index(one.qa["answer"])
        one.qa["options"] = [option + (", at the cup" if other == at else ", at the cap")
                             for other, option in enumerate(one.qa["options"])]  # fmt: skip
    report = run(made, events=False, embedder=Likeness())
    assert any("an embedding" in f.sentence for f in report.findings if f.code == "answerable_without_video")


def test_what_is_not_run_is_said(clean: list[Made]) -> None:
    said = [f.sentence for f in run(clean, events=False).findings if f.code == "not_run"]
    assert any("no embedding model configured" in sentence for sentence in said)
    assert any("no model configured" in sentence for sentence in said)
    assert any("--train" in sentence for sentence in said) and any("--events" in sentence for sentence in said)


def test_permuted_identities_change_every_person_and_keep_the_rest(clean: list[Made]) -> None:
    from ml.formats.grasp_items import parse_item
    from ml.questions.lint.one import one_of

    for at, made in enumerate(clean):
        one: One = one_of(at, parse_item(made.tree), "data")
        question, options = blind.permuted(one)
        if len(one.everybody) < 2:
            continue
        again = one_of(at, parse_item(made.tree | {"qa": made.qa | {"question": question, "options": options}}), "data")
        assert sorted(again.everybody) == sorted(one.everybody)
        assert question != made.qa["question"] or "Person" not in question


def test_the_scheme_that_fits_better_is_named(clean: list[Made]) -> None:
    """Data codes read as figure or page codes."""
    for scheme in ("figure", "page"):
        for seed in range(10):
            made = random.Random(seed).sample([one for one in clean if one.qa["category"][0] in "TG"], 120)
            report = run(made, scheme=scheme, events=False)
            (finding,) = [f for f in report.findings if f.code == "scheme_doubtful"]
            assert "--scheme data" in finding.sentence


def test_a_file_with_ambiguous_codes_is_asked_about(clean: list[Made]) -> None:
    for start in range(0, 200, 10):
        report = run(pick(clean, 16, start), scheme=None, events=False)
        (finding,) = [f for f in report.findings if f.code == "scheme_needed"]
        assert "--scheme data|figure|page" in finding.sentence and finding.severity == "note"
