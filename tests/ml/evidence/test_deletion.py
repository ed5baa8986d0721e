"""Hiding the evidence and asking again, with models whose answer is known to rest on it or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from ml.evidence import deletion
from ml.evidence.grounding.protocol import Footage, Grounded, Masks, Query
from ml.evidence.package import Claim
from ml.evidence.pipeline import Checked
from ml.evidence.verdicts import Verdict
from ml.formats import coco_rle
from tests.ml.endpoint.server import Server, says
from tests.ml.evidence.kit import CLOCK, INDEX, SHOTS

SIZE = (120, 160)
FOOTAGE = Footage(Path("clip.mp4"), INDEX, SIZE[1], SIZE[0], list(SHOTS))
OPTIONS = ("Red", "Green")


def square(left: int) -> np.ndarray[Any, Any]:
    region = np.zeros(SIZE, bool)
    region[40:80, left : left + 40] = True
    return region


@pytest.fixture(autouse=True)
def pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames with a red square on grey, from x = 20 to 60."""
    picture = np.full((*SIZE, 3), 90, np.uint8)
    picture[square(20)] = (0, 0, 255)
    monkeypatch.setattr(deletion, "_pictures", lambda footage, frames: [picture] * len(frames))


@dataclass
class Sees:
    """Says A when it sees red at all; `blind` ones always say A, `nervous` ones change whenever anything is hidden."""

    kind: str = "sees"
    asked: list[int] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        return {"name": self.kind}

    def answer(self, pictures: Sequence[bytes], seconds: Sequence[float], question: str, options: Sequence[str]) -> str:
        shown = [cv2.imdecode(np.frombuffer(p, np.uint8), cv2.IMREAD_COLOR) for p in pictures]
        red = sum(int((np.asarray(s, int)[..., 2] - np.asarray(s, int)[..., 1] > 80).sum()) for s in shown)
        self.asked.append(red)
        if self.kind == "blind":
            return "A"
        return "The answer is A." if (red if self.kind == "sees" else len(self.asked) == 1) else "B"


def checked(score: float = 0.9, bearing: bool = True, frames: Sequence[int] = (20, 25, 30)) -> Checked:
    n = len(frames)
    counts = [coco_rle.encode(square(20))] * n
    masks = Masks(
        SIZE, np.array(["phrase-1"] * n, np.str_), np.ones(n, np.int64), np.array(frames, np.int64),
        np.full(n, -1), np.full(n, score, np.float32), np.full(n, np.nan, np.float32),
        np.zeros((n, 4), np.float32), np.full(n, 1600), np.array(["mask"] * n), counts,
    )  # fmt: skip
    claim = Claim("c1", (0, 5), "a cup", "object", load_bearing=bearing)
    grounded = Grounded(masks, {"phrase-1": "ok"}, looked=np.array(frames, np.int64))
    return Checked(claim, [Query("phrase-1", "cup")], None, grounded, Verdict("supported", "found", "It is there."))


def run(asker: deletion.Asker, one: Checked | None = None, **more: Any) -> dict[str, Any] | None:
    return deletion.ask_again(
        [one or checked()], question="Which colour?", options=OPTIONS, footage=FOOTAGE, clock=CLOCK, asker=asker, **more
    )


@pytest.mark.parametrize(
    ("kind", "changed", "control"), [("sees", True, False), ("blind", False, False), ("nervous", True, True)]
)
def test_only_who_looks_at_the_evidence_changes_with_it_alone(kind: str, changed: bool, control: bool) -> None:
    record = run(Sees(kind))
    assert record is not None
    assert (record["changed"], record["control_changed"]) == (changed, control)
    assert record["hidden_share"] == pytest.approx(1600 / (120 * 160), abs=1e-4)
    assert record["control_overlap"] == 0.0
    assert record["decides"]["claims"] == ["c1"]


def test_without_masks_of_load_bearing_claims_there_is_no_test() -> None:
    for one in (checked(bearing=False), checked(score=0.4), checked(frames=())):
        asker = Sees()
        assert run(asker, one) is None
        assert asker.asked == []


def test_it_is_asked_once_only(tmp_path: Path) -> None:
    first, again, other = Sees(), Sees(), Sees("blind")
    record = run(first, work=tmp_path)
    assert run(again, work=tmp_path) == record
    assert (len(first.asked), len(again.asked)) == (3, 0)
    run(other, work=tmp_path)
    assert len(other.asked) == 3


def test_an_answer_that_was_paid_for_is_not_asked_for_again(tmp_path: Path) -> None:
    class Breaks(Sees):
        def answer(self, *asked: Any) -> str:
            if len(self.asked) == 2:
                raise TimeoutError
            return super().answer(*asked)

    first, again = Breaks(), Sees()
    with pytest.raises(TimeoutError):
        run(first, work=tmp_path)
    record = run(again, work=tmp_path)
    assert record is not None and record["changed"]
    assert (len(first.asked), len(again.asked)) == (2, 1)


def test_only_what_is_supported_and_bears_the_answer_is_hidden() -> None:
    asker = Sees()
    assert run(asker, replace(checked(), verdict=Verdict("weak", "found_rarely", "It is there at times."))) is None
    assert asker.asked == []


def test_few_frames_are_shown_evenly() -> None:
    record = run(Sees(), checked(frames=range(0, 100)))
    assert record is not None
    assert record["decides"]["frames"] == [0, 8, 16, 25, 33, 41, 50, 58, 66, 75, 83, 91]


def test_replies_are_compared_by_what_they_choose() -> None:
    assert not deletion.differs("The answer is B.", "B", OPTIONS)
    assert deletion.differs("A", "B", OPTIONS)
    assert deletion.differs("A", "I cannot tell.", OPTIONS)
    assert not deletion.differs("two  people", "Two people", ())


def test_an_endpoint_is_shown_the_frames_and_their_seconds() -> None:
    with Server(lambda body: says({"answer": "A"})) as server:
        record = run(deletion.ByEndpoint(server.config()))
    assert record is not None
    assert (record["changed"], len(server.asked)) == (False, 3)
    parts = server.asked[0]["messages"][1]["content"]
    assert [p["text"] for p in parts if p["type"] == "text"][:3] == ["2.0 s", "2.5 s", "3.0 s"]
    assert sum(p["type"] == "image_url" for p in parts) == 3
    assert "B" in parts[-1]["text"]
