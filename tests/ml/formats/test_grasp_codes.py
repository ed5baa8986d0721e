"""Category codes by scheme; the expected table is typed off the reference, not off the code's own."""

from __future__ import annotations

import pytest

from ml.formats import grasp_codes
from ml.formats.errors import FormatError
from ml.questions.taxonomy import CATEGORIES

DATA = ["T1", "T2", "T3", "T4", "T5", "T6", "G1", "G2", "G3", "G4", "G5", "G6", "C1", "C2", "C3", "C4"]
FIGURE = ["T1", "T2", "T5", "T3", "T4", "T6", "G1", "G2", "G3", "G5", "G6", "G4", "J1", "J3", "J2", "J4"]
PAGE = ["T1", "T2", "T5", "T3", "T4", "T6", "G1", "G2", "G3", "G5", "G6", "G4", "J1", "J2", "J3", "J4"]


@pytest.mark.parametrize(("scheme", "codes"), [("data", DATA), ("figure", FIGURE), ("page", PAGE)])
def test_every_code_goes_to_its_slug_and_back(scheme: str, codes: list[str]) -> None:
    for slug, code in zip(CATEGORIES, codes, strict=True):
        assert grasp_codes.slug_of(code, scheme) == slug  # type: ignore[arg-type]
        assert grasp_codes.code_of(slug, scheme) == code  # type: ignore[arg-type]
        assert grasp_codes.slug_of(slug, scheme) == slug  # type: ignore[arg-type]


def test_exactly_the_codes_that_differ_are_asked_about() -> None:
    doubtful = {code for code in {*DATA, *FIGURE, *PAGE} if grasp_codes.is_ambiguous(code)}
    assert doubtful == {"T3", "T4", "T5", "G4", "G5", "G6", "J2", "J3"}
    for code in doubtful:
        with pytest.raises(FormatError, match=r"--scheme data\|figure\|page"):
            grasp_codes.slug_of(code, None)
        with pytest.raises(FormatError, match=f"{code} depends on the numbering scheme"):
            grasp_codes.slugs_of(["T1", code], None)
    with pytest.raises(FormatError, match="G4, T3 depend on the numbering scheme"):
        grasp_codes.slugs_of(["T3", "T1", "G4"], None)
    assert grasp_codes.slugs_of(["T1", "G2", "C3", "J4", "gaze_target"], None) == {
        "T1": "gaze_target", "G2": "gesture_type", "C3": "gaze_response_to_gesture", "J4": "cross_modal_dynamics",
        "gaze_target": "gaze_target",
    }  # fmt: skip


def test_joint_codes_of_the_data_scheme_may_be_reported_with_a_j() -> None:
    assert [grasp_codes.slug_of(f"J{n}", "data") for n in "1234"] == [
        grasp_codes.slug_of(f"C{n}", "data") for n in "1234"
    ]


def test_codes_that_are_none() -> None:
    for code, scheme in (("T9", None), ("C1", "figure"), ("T1a", "data"), ("", "page")):
        with pytest.raises(FormatError, match="is not a code of"):
            grasp_codes.slug_of(code, scheme)  # type: ignore[arg-type]


def test_difficulty_depends_on_the_scheme() -> None:
    assert grasp_codes.difficulty_of("temporal_gaze", "data") == "medium"
    assert grasp_codes.difficulty_of("temporal_gaze", "figure") == "hard"
