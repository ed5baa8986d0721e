"""Persons and objects: NanoDet (416 px, 80 COCO classes).

Input 1x3x416x416, BGR, letterboxed top left, normalised by MEAN and STD. Outputs per stride 8, 16, 32: class scores
(0..1) and four distributions over 11 bins, whose means times the stride are the distances from the cell's centre to the
box's sides.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import cv2
import numpy as np

from ml.perception.geometry import letterbox
from ml.perception.protocols import Array, Detection, Image
from ml.perception.session import Session

SIDE, STRIDES, BINS = 416, (8, 16, 32), 11
MEAN = np.array([103.53, 116.28, 123.675], np.float32)
STD = np.array([57.375, 57.12, 58.395], np.float32)
MAX_IOU = 0.5
COCO = (
    "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic_light",
    "fire_hydrant", "stop_sign", "parking_meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow", "elephant",
    "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee", "skis", "snowboard",
    "sports_ball", "kite", "baseball_bat", "baseball_glove", "skateboard", "surfboard", "tennis_racket", "bottle",
    "wine_glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple", "sandwich", "orange", "broccoli",
    "carrot", "hot_dog", "pizza", "donut", "cake", "chair", "couch", "potted_plant", "bed", "dining_table", "toilet",
    "tv", "laptop", "mouse", "remote", "keyboard", "cell_phone", "microwave", "oven", "toaster", "sink",
    "refrigerator", "book", "clock", "vase", "scissors", "teddy_bear", "hair_drier", "toothbrush",
)  # fmt: skip


def cell_centres(stride: int) -> Array:
    """N x 2 centres (x, y) in input pixels of the cells of one stride, row by row."""
    cells = SIDE // stride
    y, x = np.divmod(np.arange(cells * cells), cells)
    return (np.stack([x, y], 1) + 0.5) * stride


def distances(bins: Array, stride: int) -> Array:
    """N x 4 distances in input pixels: the mean of each side's distribution, from N x 44 logits."""
    d = bins.reshape(-1, 4, BINS)
    d = np.exp(d - d.max(2, keepdims=True))
    return (d / d.sum(2, keepdims=True) * np.arange(BINS)).sum(2) * stride


def decode(outputs: dict[tuple[int, int], Array], threshold: float) -> tuple[Array, Array, Array]:
    """Boxes (N x 4, input pixels), scores and class numbers of the cells above `threshold`, before suppression.

    `outputs` maps the shape of an output (cells, channels) to its values.
    """
    boxes, scores, classes = [], [], []
    for stride in STRIDES:
        cells = (SIDE // stride) ** 2
        by_class = outputs[cells, len(COCO)]
        best = by_class.max(1)
        i = np.flatnonzero(best > threshold)
        centre, d = cell_centres(stride)[i], distances(outputs[cells, 4 * BINS][i], stride)
        boxes.append(np.concatenate([centre - d[:, :2], centre + d[:, 2:]], 1))
        scores.append(best[i])
        classes.append(by_class[i].argmax(1))
    return np.concatenate(boxes), np.concatenate(scores), np.concatenate(classes)


def suppress(boxes: Array, scores: Array, classes: Array, threshold: float) -> list[int]:
    """Rows that remain after non-maximum suppression within each class, best first."""
    if not len(boxes):
        return []
    corners = np.c_[boxes[:, :2], boxes[:, 2:] - boxes[:, :2]].tolist()
    keep = cv2.dnn.NMSBoxesBatched(corners, scores.tolist(), classes.tolist(), threshold, MAX_IOU)
    return [int(k) for k in np.array(keep).ravel()]


class NanoDet:
    name: ClassVar[str] = "nanodet"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = ("nanodet",)

    def __init__(self, folder: Path | None = None) -> None:
        self._session = Session("nanodet", folder)

    def detect(self, bgr: Image, threshold: float) -> list[Detection]:
        """Persons and objects with a score above `threshold`, boxes clipped to the picture."""
        h, w = bgr.shape[:2]
        canvas, scale = letterbox(bgr, SIDE)
        x = cv2.dnn.blobFromImage(canvas, 1.0, mean=MEAN.tolist())
        x = (x / STD[:, None, None]).astype(np.float32, copy=False)
        outputs = {v.shape[1:]: v[0] for v in self._session(x).values()}
        boxes, scores, classes = decode(outputs, threshold)
        boxes = np.clip(boxes / scale, 0, [w, h, w, h])
        return [
            Detection(COCO[classes[k]], float(scores[k]), boxes[k]) for k in suppress(boxes, scores, classes, threshold)
        ]
