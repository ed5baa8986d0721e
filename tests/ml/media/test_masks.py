"""The packed masks file: run lengths worked out by hand, the same bytes again, parts of it, and what is refused."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pycocotools import mask as coco

from ml.formats.errors import FormatError
from ml.media import masks as m

SIZE = (4, 5)


def drawn(*pixels: tuple[int, int], size: tuple[int, int] = SIZE) -> np.ndarray[Any, Any]:
    mask = np.zeros(size, bool)
    mask[tuple(np.array(pixels).T)] = True
    return mask


def table(rows: list[tuple[str, int, int, np.ndarray[Any, Any]]], size: tuple[int, int] = SIZE) -> m.Masks:
    counts = [m.encode(row[3]) for row in rows]
    count = len(rows)
    return m.Masks(
        size, np.array([r[0] for r in rows], np.str_), np.array([r[1] for r in rows], np.int64),
        np.array([r[2] for r in rows], np.int64), np.full(count, -1), np.full(count, 0.5, np.float32),
        np.full(count, np.nan, np.float32), m.boxes(counts, size), m.area(counts, size), np.full(count, "mask"), counts,
    )  # fmt: skip


def test_runs_go_down_the_columns_and_begin_outside() -> None:
    """Rows 1 and 2 of column 1 of four rows: 5 pixels before them, 2 inside, 13 after."""
    counts = m.encode(drawn((1, 1), (2, 1)))
    lengths, bounds = m.runs([counts, m.encode(np.ones(SIZE, bool))])
    assert lengths.tolist() == [5, 2, 13, 0, 20] and bounds.tolist() == [0, 3, 5]
    assert m.boxes([counts], SIZE).tolist() == [[np.float32(0.2), 0.25, np.float32(0.4), 0.75]]


@settings(max_examples=200, deadline=None)
@given(st.lists(hnp.arrays(bool, (7, 23)), min_size=1, max_size=4))
def test_runs_say_the_same_as_the_pixels(pictures: list[np.ndarray[Any, Any]]) -> None:
    counts = [m.encode(p) for p in pictures]
    m.check(counts, (7, 23))
    lengths, bounds = m.runs(counts)
    for k, picture in enumerate(pictures):
        part = lengths[bounds[k] : bounds[k + 1]]
        flat = np.repeat(np.arange(len(part)) % 2 == 1, part)
        assert (picture == flat.reshape(23, 7).T).all()
        assert (picture == m.decode(counts[k], (7, 23))).all()
        np.testing.assert_array_equal(picture, coco.decode({"size": [7, 23], "counts": counts[k]}))
        box = m.boxes([counts[k]], (7, 23))[0] * [23, 7, 23, 7]
        y, x = np.nonzero(picture)
        expected = [x.min(), y.min(), x.max() + 1, y.max() + 1] if len(x) else [0] * 4
        assert box == pytest.approx(expected, abs=1e-4)
    assert m.area(counts, (7, 23)).tolist() == [int(p.sum()) for p in pictures]


def test_long_runs_are_read_as_they_were_written() -> None:
    """A picture of 8 million pixels has runs of several characters, and differences below 0."""
    picture = np.zeros((2160, 3840), bool)
    picture[3:2000, 5:3000:7] = True
    counts = m.encode(picture)
    assert m.runs([counts])[0].sum() == picture.size
    assert (m.decode(counts, picture.shape) == picture).all()


def test_overlaps_by_hand() -> None:
    a, b = m.encode(drawn((0, 0), (0, 1))), m.encode(drawn((0, 1), (0, 2)))
    assert m.iou([a], [b], SIZE) == pytest.approx(np.array([[1 / 3]]))
    assert m.area([m.union([a, b], SIZE), m.intersection([a, b], SIZE)], SIZE).tolist() == [3, 1]
    nothing = m.encode(np.zeros(SIZE, bool))
    assert m.iou([nothing], [nothing, a], SIZE).tolist() == [[0, 0]]
    assert m.iou([], [a], SIZE).shape == (0, 1)


def test_a_box_covers_the_pixels_whose_middle_lies_in_it() -> None:
    assert m.of_box((0.2, 0.25, 0.6, 0.5), SIZE) == m.encode(drawn((1, 1), (1, 2)))
    assert m.area([m.of_box((0.99, 0.99, 1, 1), SIZE), m.of_box((0, 0, 1, 1), SIZE)], SIZE).tolist() == [1, 20]


def test_the_picture_of_a_mask_can_be_read_elsewhere() -> None:
    mask = drawn((0, 0), (3, 4), (2, 2))
    data = m.png(m.encode(mask), SIZE)
    shown = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
    np.testing.assert_array_equal(shown, np.where(mask, 255, 0))


def rows(frames: int = 300) -> m.Masks:
    spot = drawn((1, 1), (1, 2))
    return table([(q, o, f, spot) for q in ("cup", "person") for o in (1, 2) for f in range(0, frames * 10, 10)])


def test_a_file_gives_back_what_was_written_in_one_order_and_the_same_bytes(tmp_path: Path) -> None:
    whole = rows(20)
    shuffled = m.picked(whole, np.random.default_rng(1).permutation(len(whole.frame)))
    m.write(tmp_path / "a", whole, {"b": 1, "a": ["ä"]})
    m.write(tmp_path / "b", shuffled, {"a": ["ä"], "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = m.read(tmp_path / "b")
    for name in ("query", "object", "frame", "person", "score", "tracker_score", "box", "area", "kind"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    assert list(again.counts) == list(whole.counts) and again.size == SIZE
    assert m.meta(tmp_path / "a") == {"a": ["ä"], "b": 1}


def test_no_masks_are_a_file_too(tmp_path: Path) -> None:
    m.write(tmp_path / "none", m.empty(SIZE), {})
    again = m.read(tmp_path / "none", queries=["x"], frames=(0, 9))
    assert len(again.frame) == 0 and again.box.shape == (0, 4) and again.size == SIZE


def test_a_few_frames_are_read_without_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m.write(tmp_path / "masks", rows(2000), {})
    read: list[int] = []
    real = m.pq.ParquetFile.read_row_groups

    def counted(self: Any, groups: list[int], **kwargs: Any) -> Any:
        read.append(len(groups))
        return real(self, groups, **kwargs)

    monkeypatch.setattr(m.pq.ParquetFile, "read_row_groups", counted)
    part = m.read(tmp_path / "masks", queries=["person"], frames=(5000, 5100))
    assert sorted(set(part.frame.tolist())) == list(range(5000, 5100, 10)) and set(part.query) == {"person"}
    assert len(part.frame) == 20
    assert read == [4]  # of 32 groups: one for each object, and the two in which one object ends and another begins
    few = m.read(tmp_path / "masks", queries=["person"], frames=np.array([5000, 5050, 5055]))
    assert set(few.frame.tolist()) == {5000, 5050} and len(few.frame) == 4 and read[1] == 4
    assert not len(m.read(tmp_path / "masks", frames=np.empty(0, np.int64)).frame)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"counts": [m.encode(np.zeros(SIZE, bool))], "area": np.array([0])}, "the mask has no pixel"),
        ({"counts": [m.encode(np.ones((4, 6), bool))]}, "add up to 24 pixels, but a picture of 5 x 4 has 20"),
        ({"counts": [b""]}, "damaged or cut off"),
        ({"counts": [b"\xff\xfe"]}, "damaged or cut off"),
        ({"counts": [m.encode(np.ones((4, 5), bool))[:-1] + b"o"]}, "damaged or cut off"),
        ({"box": np.array([[0.1, 0.1, 1.2, 0.5]])}, "the box leaves the picture"),
        ({"box": np.array([[np.nan, 0.1, 0.2, 0.5]])}, "the box leaves the picture"),
        ({"area": np.array([3])}, "the area is not the number of pixels"),
        ({"kind": np.array(["blob"])}, "the kind is none of mask, box"),
        ({"score": np.array([np.nan])}, "the score is no number"),
    ],
)
def test_masks_that_cannot_be_are_refused_with_the_place(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        m.write(tmp_path / "masks", replace(table([("cup", 1, 7, drawn((1, 1)))]), **change), {})
    assert not list(tmp_path.iterdir())


def test_an_object_stands_on_a_frame_once(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="object 1 of query 'cup' on frame 7: it stands there twice"):
        m.write(tmp_path / "masks", table([("cup", 1, 7, drawn((1, 1)))] * 2), {})


def test_files_that_are_cut_off_damaged_or_others_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "masks"
    m.write(path, rows(20), {})
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for size in (0, 3, footer, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(FormatError, match=r"^masks: it is no masks file, or one that is cut off or damaged\.$"):
            m.read(path)
    refused = 0
    for place in np.random.default_rng(7).integers(4, footer, 60).tolist():
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        try:
            again = m.read(path)
        except FormatError as error:
            refused += str(error) == "masks: it is damaged."
        else:  # a byte nobody needs
            assert list(again.counts) == list(rows(20).counts) and (again.frame == rows(20).frame).all()
    assert refused > 30
    other = io.BytesIO()
    m.pq.write_table(m.pa.table({"a": [1]}), other)
    path.write_bytes(other.getvalue())
    with pytest.raises(FormatError, match="masks: it is a Parquet file, but none with masks"):
        m.read(path)
    with pytest.raises(FormatError, match="there is no such file"):
        m.meta(tmp_path / "none")
