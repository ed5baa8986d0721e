"""The embedded grounder on scripted backends: what is looked for, with which masks, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from ml.evidence.grounding import cutting, looking
from ml.evidence.grounding.embedded import NOBODY_KNOWS, Embedded, followed
from ml.evidence.grounding.places import places_in, there
from ml.evidence.grounding.protocol import Footage, Grounded, Masks, Query, Window
from ml.media import masks as packed
from ml.media.index import FrameIndex
from ml.perception.gestures.protocol import People
from ml.perception.protocols import Detection
from ml.progress import Cancelled
from tests.ml.perception.conftest import Demo, Finished, demo, finished  # noqa: F401  fixtures

SIZE = (120, 160)
FRAMES, SHOTS = 100, [(0, 60), (60, 100)]
INDEX = FrameIndex(np.arange(FRAMES + 1) * 100, Fraction(1, 1000))
CUP = (70.0, 80.0, 100.0, 110.0)  # pixels
LEFT, RIGHT = (0.05, 0.1, 0.3, 0.9), (0.7, 0.1, 0.95, 0.9)


class ScriptedMasker:
    """Everybody's mask is their box."""

    def __init__(self, weights: Path | None = None) -> None:
        self.looked: list[int] = []

    def describe(self) -> dict[str, Any]:
        return {"name": "scripted", "version": "1", "weights": {"a.onnx": "00"}, "settings": {}}

    def look(self, bgr: Any, frame: int, persons: Any, body: Any, face: Any, score: Any = None) -> Masks:
        self.looked.append(frame)
        return rows(persons.tolist(), [frame] * len(persons), body.tolist())


class ScriptedDetector:
    """A cup where the pictures have one, two people, and a book nobody asks for."""

    def detect(self, bgr: Any, threshold: float) -> list[Detection]:
        assert threshold in (looking.OBJECT_SCORE, looking.PERSON_SCORE)
        scale = np.array([SIZE[1], SIZE[0]] * 2)
        found = [Detection("person", 0.8, np.array(box) * scale) for box in (LEFT, RIGHT)]
        found.append(Detection("book", 0.9, np.array([10.0, 10, 40, 40])))
        if tuple(bgr[95, 85]) == (20, 20, 220):
            found.append(Detection("cup", 0.7, np.array(CUP)))
        return found


def rows(persons: list[int], frames: list[int], boxes: Sequence[Sequence[float]]) -> Masks:
    counts = [packed.of_box(box, SIZE) for box in boxes]
    n = len(persons)
    who = np.array(persons, np.int64)
    return Masks(
        SIZE, np.full(n, "person"), who, np.array(frames, np.int64), who, np.full(n, 0.9, np.float32),
        np.full(n, 0.4, np.float32), np.array(boxes, np.float32).reshape(-1, 4), packed.area(counts, SIZE),
        np.full(n, "mask"), counts,
    )  # fmt: skip


def picture(frame: int) -> np.ndarray[Any, Any]:
    """Noise on grey, with a red cup on the frames from 20 to 40."""
    drawn = np.random.default_rng(frame).integers(90, 130, (*SIZE, 3)).astype(np.uint8)
    if 20 <= frame < 40:
        cv2.ellipse(drawn, (85, 95), (13, 13), 0, 0, 360, (20, 20, 220), -1)
    return drawn


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The scripted backends in place; the frames that were decoded."""
    read: list[int] = []

    def pictures(video: Path, index: Any, frames: list[int], **_: Any) -> Iterator[tuple[int, Any]]:
        for frame in frames:
            read.append(frame)
            yield frame, picture(frame)

    monkeypatch.setattr(looking, "Masker", ScriptedMasker)
    monkeypatch.setattr(looking.registry, "load", lambda name, weights: ScriptedDetector())
    monkeypatch.setattr(looking, "read_frames", pictures)
    return read


def footage(people: bool = True) -> Footage:
    """Person 1 on the left throughout; person 2 on the right in the first shot only."""
    at = [(f, p, box) for f in range(0, FRAMES, 5) for p, box in ((1, LEFT), (2, RIGHT)) if p == 1 or f < 60]
    columns = (np.array([f for f, _, _ in at]), np.array([p for _, p, _ in at]))
    body = np.array([box for _, _, box in at], np.float32)
    known = People(*columns, body, np.full_like(body, np.nan)) if people else None
    return Footage(Path("nothing.mp4"), INDEX, SIZE[1], SIZE[0], SHOTS, known)


def ground(made: Footage, frames: Sequence[int], *queries: Query, by: Embedded | None = None) -> Grounded:
    at = np.array(frames, np.int64)
    window = Window(at, np.ones(len(at), bool), (int(at[0]), int(at[-1]) + 1))
    return (by or Embedded()).ground(made, queries, window, progress=lambda share: None)


def of(found: Grounded, query: str) -> list[tuple[int, int, int, str]]:
    """Object, frame, person, kind."""
    m = found.masks
    at = np.flatnonzero(m.query == query).tolist()
    return [(int(m.object[k]), int(m.frame[k]), int(m.person[k]), str(m.kind[k])) for k in at]


def test_people_by_number_and_by_word(decoded: list[int]) -> None:
    found = ground(
        footage(), [50, 70], Query("p2", "", "person", 2), Query("who", "young man in a red shirt"),
        Query("p9", "", "person", 9),
    )  # fmt: skip
    assert of(found, "p2") == [(2, 50, 2, "mask")]  # gone after the cut
    assert of(found, "who") == [(1, 50, 1, "mask"), (1, 70, 1, "mask"), (2, 50, 2, "mask")]
    assert found.status == {"p2": "ok", "who": "ok", "p9": "empty"}
    assert found.attributes_checked == {}  # neither young nor man nor red nor shirt
    assert np.isnan(found.masks.tracker_score).all() and found.looked.tolist() == [50, 70]


def test_masks_of_the_run_are_taken_where_it_has_the_frame(decoded: list[int], tmp_path: Path) -> None:
    path = tmp_path / "masks.parquet"
    packed.write(path, rows([1], [50], [(0.0, 0.0, 0.1, 0.1)]), {})
    made = replace(footage(), person_masks=path)
    found = ground(made, [50, 55], Query("p1", "", "person", 1))
    assert decoded == [55]
    assert found.masks.area.tolist() == [12 * 16, packed.area([packed.of_box(LEFT, SIZE)], SIZE)[0]]
    ground(made, [50, 55], Query("cup", "cup"))
    assert decoded == [55, 50, 55]


def test_a_thing_is_cut_out_kept_over_frames_and_linked(decoded: list[int]) -> None:
    by, made = Embedded(), footage()
    found = ground(made, [15, 20, 25, 30, 45], Query("cup", "red cup"), Query("neg", "fork", "negative"), by=by)
    assert found.status == {"cup": "ok", "neg": "empty"}
    assert of(found, "cup") == [(1, 20, -1, "mask"), (1, 25, -1, "mask"), (1, 30, -1, "mask")]  # nobody's
    disc = np.zeros(SIZE, np.uint8)
    cv2.ellipse(disc, (85, 95), (13, 13), 0, 0, 360, 1, -1)
    mine = packed.decode(found.masks.counts[0], SIZE)
    assert (mine & (disc > 0)).sum() / (mine | (disc > 0)).sum() > 0.9
    assert found.masks.score.tolist() == [np.float32(0.7)] * 3
    before = len(decoded)
    ground(made, [15, 20, 25, 30, 45], Query("cup", "cup"), Query("p", "", "person", 1), by=by)
    assert len(decoded) == before  # looked at already
    ground(made, [20], Query("book", "book"), by=by)
    assert len(decoded) == before + 1


def test_other_phrases_are_not_in_the_vocabulary_and_cost_nothing(decoded: list[int]) -> None:
    found = ground(footage(), [50], Query("a", "human face"), Query("b", "romantic mood"))
    assert set(found.status.values()) == {"not_in_vocabulary"} and not decoded and len(found.masks.frame) == 0
    assert found.sentence["a"] == "“human face” is not in the embedded vocabulary: people and 80 kinds of things."
    assert not Embedded().knows("human face") and Embedded().knows("red mug")


def test_places_in_the_picture_are_checked(decoded: list[int]) -> None:
    found = ground(
        footage(), [10, 50], Query("l", "person on the left"), Query("m", "person in the middle"),
        Query("rel", "person to the left of Person 2"),
    )  # fmt: skip
    assert {row[0] for row in of(found, "l")} == {1}
    assert found.status["m"] == "empty"
    assert {row[0] for row in of(found, "rel")} == {1, 2}
    assert found.attributes_checked == {"l": ("left",), "m": ("middle",)}


def test_without_a_run_people_are_found_but_nobody_by_number(decoded: list[int]) -> None:
    found = ground(footage(people=False), [10, 15], Query("p1", "", "person", 1), Query("who", "two people"))
    assert found.status == {"p1": "error", "who": "ok"} and found.sentence["p1"] == NOBODY_KNOWS
    assert of(found, "who") == [(1, 10, -1, "mask"), (1, 15, -1, "mask"), (2, 10, -1, "mask"), (2, 15, -1, "mask")]


def test_a_query_that_fails_is_an_error_and_the_others_are_not(
    decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise cv2.error("no")

    monkeypatch.setattr(cutting, "_grabbed", fail)
    found = ground(footage(), [20], Query("cup", "cup"), Query("p", "people"))
    assert found.status == {"cup": "error", "p": "ok"}
    assert found.sentence["cup"].startswith("A cup could not be cut out of frame 20")


def test_whoever_stops_it_is_heard(decoded: list[int]) -> None:
    def stop(share: float) -> None:
        raise Cancelled

    window = Window(np.arange(0, 60, 5), np.ones(12, bool), (0, 60))
    with pytest.raises(Cancelled):
        Embedded().ground(footage(), [Query("p", "people")], window, progress=stop)
    assert len(decoded) < 8


def test_two_runs_give_the_same_bytes(decoded: list[int], tmp_path: Path) -> None:
    queries = [Query("cup", "cup"), Query("p", "people"), Query("p2", "", "person", 2)]
    for name in ("a", "b"):
        packed.write(tmp_path / name, ground(footage(), range(10, 50, 5), *queries).masks, {})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_box_is_all_there_is_of_what_is_small_or_on_somebody() -> None:
    nobody, everybody = np.zeros(SIZE, bool), np.ones(SIZE, bool)
    shown = picture(25)
    assert cutting.cut(shown, np.array(CUP), nobody)[1] == "mask"
    assert cutting.cut(shown, np.array(CUP), nobody) == cutting.cut(shown, np.array(CUP), nobody)
    counts, kind = cutting.cut(shown, np.array(CUP), everybody)
    assert kind == "box" and packed.area([counts], SIZE)[0] == 30 * 30
    assert cutting.cut(shown, np.array([80.0, 90, 90, 110]), nobody)[1] == "box"  # 10 pixels wide
    flat = np.full((*SIZE, 3), 100, np.uint8)
    assert cutting.cut(flat, np.array(CUP), nobody)[1] == "box"  # nothing to tell it by


def test_things_are_followed_by_overlap_until_a_cut_or_too_long_a_gap() -> None:
    def box(x: float) -> list[float]:
        return [x, 0.1, x + 0.2, 0.3]

    looked = list(range(0, 100, 5))
    frame = np.array([0, 0, 5, 5, 10, 25, 55, 60])
    boxes = np.array([box(x) for x in (0.1, 0.6, 0.62, 0.13, 0.16, 0.16, 0.16, 0.16)])
    assert followed(frame, boxes, SHOTS, looked).tolist() == [1, 2, 2, 1, 1, 1, 3, 4]


def test_places_by_hand() -> None:
    assert places_in("person on the left") == ("left",) and places_in("leftmost cup") == ("leftmost",)
    assert places_in("man left of Person 2") == () and places_in("cup on the left of the table") == ()
    assert places_in("cup at the left of the picture") == ("left",) and places_in("person") == ()
    x = np.array([0.1, 0.4, 0.5, 0.9])
    assert there(("left",), x).tolist() == [True, False, False, False]
    assert there(("right",), x[:3]).tolist() == [False, False, False]  # the rightmost lies in the middle
    assert there(("left",), x[1:]).tolist() == [True, False, False]
    assert there(("middle",), x).tolist() == [False, True, True, False]
    assert there(("left",), np.empty(0)).tolist() == []


@pytest.mark.long
def test_on_the_demo_clip(demo: Demo, finished: Finished, tmp_path: Path) -> None:  # noqa: F811
    """The four children: each by number, a mask over their face; the left one by word, no giraffe; twice the same."""
    from ml.perception.gestures.run import people_of

    shots = [(shot["start"], shot["end"]) for shot in finished.run["shots"]]
    about = finished.run["video"]
    people = people_of(finished.folder / "samples.parquet")
    made = Footage(demo.path, demo.index, about["width"], about["height"], shots, people)
    start, end = shots[3]
    frames = np.arange(start + 2, end, 20)
    persons = people.during(start, end).persons
    queries = [Query(f"p{n}", "", "person", n) for n in persons]
    queries += [Query("left", "child on the left"), Query("giraffe", "giraffe", "negative"), Query("face", "face")]
    for name in ("a", "b"):
        found = ground(made, frames.tolist(), *queries)
        packed.write(tmp_path / name, found.masks, {})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert found.status | {"left": "ok"} == {
        **{f"p{n}": "ok" for n in persons}, "left": "ok", "giraffe": "empty", "face": "not_in_vocabulary",
    }  # fmt: skip
    m = found.masks
    height, width = m.size
    for n in persons:
        for k in np.flatnonzero(m.query == f"p{n}").tolist():
            _, face = people.during(start, end).at(int(m.frame[k]), 30)[n]
            if np.isfinite(face).all():
                x, y = (face[:2] + face[2:]) / 2 * [width, height]
                assert packed.decode(m.counts[k], m.size)[int(y), int(x)]
    left = min(persons, key=lambda n: float(people.body[people.person == n, 0].mean()))
    assert set(m.person[m.query == "left"].tolist()) == {left}
