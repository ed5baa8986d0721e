"""The hand-made gaze labels keep the shape that their readers rely on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_name("gaze_labels.json")
DIRECTIONS = {"left", "right", "camera", "down", "up", "unclear"}
TARGETS = {"camera", "person", "object", "elsewhere", "unclear"}
Item = dict[str, Any]


@pytest.fixture(scope="module")
def labels() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def items(labels: dict[str, Any]) -> list[Item]:
    return labels["items"]


def name(item: Item) -> str:
    return f"{item['source']} frame {item['frame']} face {item['face']}"


def is_box(box: list[float]) -> bool:
    """True for [x1, y1, x2, y2] normalised to the picture, neither empty nor the whole picture."""
    if len(box) != 4:
        return False
    x1, y1, x2, y2 = box
    return 0 <= x1 < x2 <= 1 and 0 <= y1 < y2 <= 1 and (x2 - x1) * (y2 - y1) < 0.6


def test_header_says_how_the_labels_were_made(labels: dict[str, Any]) -> None:
    assert labels["v"] == 1
    assert "before any model output" in labels["labelled"]
    passes = [labels["second_pass_agreement"], labels["second_pass_agreement_looks"]]
    for second in passes:
        assert 0 < second["same_direction"] <= second["items"]
        assert second["share"] == pytest.approx(second["same_direction"] / second["items"], abs=5e-4)
    assert sum(second["items"] for second in passes) >= 0.29 * len(labels["items"])


def test_every_source_is_described_and_used(labels: dict[str, Any], items: list[Item]) -> None:
    assert {item["source"] for item in items} == set(labels["sources"])
    for source in labels["sources"].values():
        assert source["package"] and source["version"] and source["member"]
        assert len(bytes.fromhex(source["sha256"])) == 32
        assert source.get("half", "looks") == "looks"


def test_words_frames_and_boxes(items: list[Item]) -> None:
    for item in items:
        assert item["direction"] in DIRECTIONS, name(item)
        assert item["target"] in TARGETS, name(item)
        assert isinstance(item["frame"], int) and item["frame"] >= 0, name(item)
        assert is_box(item["face"]), name(item)


def test_no_face_is_labelled_twice(items: list[Item]) -> None:
    seen = Counter((item["source"], item["frame"], *item["face"]) for item in items)
    assert not [face for face, count in seen.items() if count > 1]


def test_camera_target_goes_with_camera_direction(items: list[Item]) -> None:
    for item in items:
        assert (item["target"] == "camera") == (item["direction"] == "camera"), name(item)


def test_person_target_is_another_labelled_face_of_the_picture(items: list[Item]) -> None:
    for item in items:
        if item["target"] != "person":
            assert item["target_face"] is None, name(item)
            continue
        others = [
            other["face"]
            for other in items
            if (other["source"], other["frame"]) == (item["source"], item["frame"]) and other is not item
        ]
        assert item["target_face"] in others, name(item)


def test_person_target_lies_on_the_labelled_side(items: list[Item]) -> None:
    for item in items:
        if item["target"] == "person":
            step = sum(item["target_face"][::2]) - sum(item["face"][::2])
            assert item["direction"] == ("right" if step > 0 else "left"), name(item)


def test_looks_at_people_come_from_several_scenes(labels: dict[str, Any], items: list[Item]) -> None:
    looks = Counter(i["source"] for i in items if i["target"] == "person" and "half" in labels["sources"][i["source"]])
    assert looks.total() >= 15
    assert len(looks) >= 7


def test_enough_usable_labels_in_every_direction(items: list[Item]) -> None:
    counts = Counter(item["direction"] for item in items if item["direction"] != "unclear")
    assert counts.total() >= 150
    assert set(counts) == DIRECTIONS - {"unclear"}
    assert min(counts.values()) >= 15
