"""The decoders on hand-made network outputs: one cell above the threshold gives the box worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ml.perception import centerface, facemesh, faceres, nanodet
from ml.perception.protocols import Face

FACE = Face(
    np.array([100, 100, 180, 200.0]), 0.9, np.array([[120, 140], [160, 140], [140, 160], [125, 180], [155, 180.0]])
)


def nanodet_outputs() -> dict[tuple[int, int], np.ndarray]:
    return {
        (cells, channels): np.zeros((cells, channels), np.float32)
        for cells in (52 * 52, 26 * 26, 13 * 13)
        for channels in (80, 44)
    }


def test_nanodet_cell_centres() -> None:
    centres = nanodet.cell_centres(32)
    assert len(centres) == 169
    assert centres[0].tolist() == [16, 16]
    assert centres[13].tolist() == [16, 48]
    assert centres[-1].tolist() == [400, 400]


def test_nanodet_distance_is_the_mean_bin() -> None:
    bins = np.full((1, 4, 11), -50.0)
    bins[0, 0, 3] = 50  # all weight on bin 3
    bins[0, 1, [2, 3]] = 50  # half and half
    bins[0, 2] = 0  # even: the middle
    bins[0, 3, 10] = 50
    assert nanodet.distances(bins.reshape(1, 44), 16)[0] == pytest.approx([48, 40, 80, 160])


def test_nanodet_decodes_one_cell() -> None:
    outputs = nanodet_outputs()
    cell = 5 * 26 + 7  # row 5, column 7 of stride 16: centre (120, 88)
    outputs[676, 80][cell, nanodet.COCO.index("cup")] = 0.8
    bins = np.full((4, 11), -50.0)
    bins[[0, 1, 2, 3], [1, 2, 3, 4]] = 50
    outputs[676, 44][cell] = bins.ravel()
    boxes, scores, classes = nanodet.decode(outputs, 0.5)
    assert boxes == pytest.approx(np.array([[120 - 16, 88 - 32, 120 + 48, 88 + 64]]))
    assert scores == pytest.approx([0.8])
    assert [nanodet.COCO[c] for c in classes] == ["cup"]


def test_nanodet_suppresses_within_a_class_only() -> None:
    boxes = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [0, 0, 10, 10]], float)
    assert nanodet.suppress(boxes, np.array([0.6, 0.9, 0.5]), np.array([0, 0, 1]), 0.3) == [1, 2]
    assert nanodet.suppress(np.zeros((0, 4)), np.zeros(0), np.zeros(0), 0.3) == []


def test_nanodet_knows_eighty_classes() -> None:
    assert len(set(nanodet.COCO)) == 80
    assert nanodet.COCO[0] == "person"


def test_centerface_decodes_one_cell() -> None:
    heat, log_size = np.zeros((40, 60)), np.zeros((2, 40, 60))
    offset, marks = np.zeros((2, 40, 60)), np.zeros((10, 40, 60))
    heat[10, 20] = 0.7
    log_size[:, 10, 20] = np.log([12, 8])  # height 48, width 32 pixels
    offset[:, 10, 20] = [0.25, -0.25]  # y, x
    marks[0:2, 10, 20] = [0.5, 0.25]  # first point: y, x in units of the box
    boxes, scores, points = centerface.decode(heat, log_size, offset, marks, 0.4)
    centre_x, centre_y = (20 - 0.25 + 0.5) * 4, (10 + 0.25 + 0.5) * 4
    assert boxes == pytest.approx(np.array([[centre_x - 16, centre_y - 24, centre_x + 16, centre_y + 24]]))
    assert scores == pytest.approx([0.7])
    assert points[0, 0] == pytest.approx([centre_x - 16 + 0.25 * 32, centre_y - 24 + 0.5 * 48])


def test_centerface_input_is_a_multiple_of_32_and_never_enlarged() -> None:
    assert centerface.input_size(720, 1280) == (288, 512)
    assert centerface.input_size(100, 60) == (128, 64)


def test_facemesh_puts_the_refined_parts_in_place() -> None:
    outputs = {
        "Identity_4": np.arange(468 * 3, dtype=float),
        "Identity_1": np.full(71 * 2, 1.0),
        "Identity_5": np.full(71 * 2, 2.0),
        "Identity_3": np.full(80 * 2, 3.0),
        "Identity_2": np.full(10, 4.0),
        "Identity_6": np.full(10, 5.0),
    }
    points = facemesh.assemble(outputs)
    assert points.shape == (478, 3)
    assert points[0].tolist() == [0, 1, 2]
    assert points[33].tolist() == [1, 1, 33 * 3 + 2]
    assert points[263, :2].tolist() == [2, 2]
    assert points[61, :2].tolist() == [3, 3]
    assert points[468, :2].tolist() == [4, 4]
    assert points[477, :2].tolist() == [5, 5]
    assert np.isnan(points[468:, 2]).all()


def test_facemesh_crop_follows_the_eye_line() -> None:
    centre, side, angle = facemesh.face_roi(FACE)
    assert centre.tolist() == [140, 150]
    assert side == pytest.approx(135)
    assert angle == 0
    turned = Face(FACE.box, 0.9, FACE.points @ np.array([[0.8, 0.6], [-0.6, 0.8]]))
    assert facemesh.face_roi(turned)[2] == pytest.approx(np.arctan2(0.6, 0.8))


@pytest.mark.parametrize("turn", [0.0, 0.7, -2.0])
def test_face_alignment_undoes_a_similarity(turn: float) -> None:
    c, s = np.cos(turn) * 3, np.sin(turn) * 3
    points = faceres.TEMPLATE @ np.array([[c, s], [-s, c]]) + [400, 90]
    matrix = faceres.alignment(points)
    assert points @ matrix[:, :2].T + matrix[:, 2] == pytest.approx(faceres.TEMPLATE * 2)
