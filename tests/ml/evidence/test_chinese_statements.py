"""Chinese gaze and gestures: what is read as a statement, what must not be, and that it is judged as in English."""

from __future__ import annotations

from typing import Any

import pytest

from ml.evidence.package import Claim
from ml.evidence.summarisers import registry
from tests.ml.evidence.kit import INSIDE, gesture, judged, looks, masks, truth


def read(text: str) -> Claim:
    return registry.load("rules").summarise(text, duration_s=10.0).claims[-1]


def gaze(looker: int, target: int) -> Any:
    return "gaze", (), (("looker", looker), ("looked_at", target))


def done(type: str, initiator: int = 1, target: int = 2) -> Any:
    return "gesture", (type,), (("initiator", initiator), ("target", target))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("人物3在3秒时看向人物7", gaze(3, 7)),
        ("在3秒时，人物3看向人物7。", gaze(3, 7)),
        ("人物1看人物2", gaze(1, 2)),
        ("人物1一直注视着人物2", gaze(1, 2)),
        ("人物1转头看着人物2的脸", gaze(1, 2)),
        ("人物1朝人物2看去", gaze(1, 2)),
        ("人物1的目光转向人物2", gaze(1, 2)),
        ("第1个人看了第2个人一眼", gaze(1, 2)),
        ("人物1没有看人物2", gaze(1, 2)),  # what it denies
        ("人物1和人物2对视", ("gaze", ("mutual_gaze",), (("member", 1), ("member", 2)))),
        ("人物1指向人物2", done("pointing")),
        ("人物1用手指着人物2", done("pointing")),
        ("人物1把书递给人物2", done("giving")),
        ("人物1递给人物2一本书", done("giving")),
        ("人物1把照片展示给人物2", done("showing")),
        ("人物1向人物2伸手", done("reaching")),
        ("人物1伸手够人物2", done("reaching")),
        *((text, None) for text in (
            "人物1看到人物2", "人物1看起来像人物2", "人物1看着人物2的手", "人物1看向人物2身后",
            "人物1指着人物2旁边的桌子", f"人物1{'11' * 200}x看人物2",
            "人物1想看人物2", "人物1试图把书递给人物2", "人物2被人物1看着", "人物1让人物2看人物3", "她看着人物2",
            "人物1站在人物2旁边看书", "人物1和2看着人物3", "人物1在人物3看人物2时", "人物1看着人物1",
        )),
    ],
)  # fmt: skip
def test_what_is_read(text: str, expected: Any) -> None:
    claim = read(text)
    stated = claim.statement
    assert (stated and (stated.modality, stated.types, stated.roles)) == expected
    assert claim.polarity == ("negated" if "没有" in text else "affirmed")


def test_it_is_judged_like_its_english_counterpart() -> None:
    """Person 1 looks at 2 from 1 to 4 s, as a human says, and points at 2."""
    known = truth([gesture("pointing", 20, 30, 1, 2)], gaze=looks((10, 40, 1, 2, True)))
    for pair in (
        ("人物1在2秒时看着人物2", "At 2.0 s, Person 1 looks at Person 2."),
        ("人物1在2秒时没有看人物2", "At 2.0 s, Person 1 does not look at Person 2."),
        ("人物1在2秒时指向人物2", "At 2.0 s, Person 1 points at Person 2."),
        ("人物2在2秒时指向人物1", "At 2.0 s, Person 2 points at Person 1."),
    ):
        zh, en = (judged(read(text), masks(), known=known) for text in pair)
        assert (zh.name, zh.rule, zh.sentence) == (en.name, en.rule, en.sentence)
    assert judged(read("人物1在2秒时看着人物2"), masks(), known=known).name == "supported"


def test_what_is_not_read_is_said() -> None:
    unread = judged(read("人物1在2秒时看着人物2的手"), masks(("person-1", 1, INSIDE, 1, 0.9)))
    assert unread.rule == "mask_only" and "is read in Chinese only where both are named by tag" in unread.sentence


def test_a_picture_that_lacks_something_is_a_scene() -> None:
    """So that a wording somebody types for it can be judged: a mask bears a scene out, not an action."""
    claim = read("画面中没有狗")
    assert (claim.type, claim.polarity, claim.groundable) == ("scene", "negated", False)
    assert "a rater can type one" in claim.why_not
