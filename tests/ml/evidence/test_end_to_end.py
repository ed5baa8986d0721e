"""Replies about real footage from text to verdicts, with the embedded grounder.

What is true is borne out, what is not falls, each for its own reason. Photographs make the small clip; the whole demo
clip is looked at in the long tests.
"""

from __future__ import annotations

import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import av
import cv2
import numpy as np
import pytest

from ml.evidence import metrics
from ml.evidence.folder import clock_of
from ml.evidence.grounding import registry, windows
from ml.evidence.grounding.protocol import Footage
from ml.evidence.pipeline import Audited, audit_response
from ml.evidence.statements import Truth
from ml.evidence.summarisers.rules import Rules
from ml.media.demo_clip import HEIGHT, TRUTH, WIDTH
from ml.media.index import FrameIndex
from ml.perception.gestures.protocol import People
from ml.perception.run import index_of
from ml.progress import silent
from ml.questions.facts import Covered, Event, Facts, Person
from ml.weights import fetch
from tests.ml.perception.conftest import Demo, demo

__all__ = ["demo"]

Box = tuple[int, int, int, int]
Spans = list[tuple[int, int]]


@dataclass
class Reply:
    text: str
    question: str = "Who is there?"
    options: tuple[str, ...] = ()
    answer: str = ""


def people_of(shots: Spans, boxes: Sequence[Mapping[int, Box]], size: tuple[int, int], step: int) -> People:
    """Everybody's box, in pixels, on every `step`-th frame of their shot."""
    width, height = size
    rows = [
        (frame, person, np.array(box) / (width, height, width, height))
        for (start, end), of_shot in zip(shots, boxes, strict=True)
        for frame in range(start, end, step)
        for person, box in sorted(of_shot.items())
    ]
    frame, person, body = zip(*rows, strict=True)
    face = np.full((len(rows), 4), np.nan, np.float32)
    return People(np.array(frame), np.array(person), np.array(body, np.float32), face)


def audited(
    video: Path, index: FrameIndex, shots: Spans, people: People, size: tuple[int, int], text: str, work: Path
) -> Audited:
    """With one event that is made up: Person 2 points at Person 1 in the middle of the first shot; all is covered."""
    visible = Truth.of(index, shots, people=people).visible or {}
    persons = [Person(f"p{n}", n, tuple(spans)) for n, spans in visible.items()]
    first = shots[0][1]
    pointing = Event("e1", "gesture", "pointing", first // 4, first // 2, (("p2", "initiator"), ("p1", "target")))
    coverage = [Covered("gesture", 0, index.frames), Covered("gaze", 0, index.frames)]
    facts = Facts(index.seconds, 1, persons, [pointing], coverage=coverage, cuts=[a for a, _ in shots])
    return audit_response(
        cast(Any, Reply(text)), footage=Footage(video, index, *size, shots, people),
        clock=clock_of(0, index.frames, "tags", index), person_map=None, summariser=Rules(),
        grounder=registry.load("embedded"), truth=Truth.of(index, shots, facts=facts), work=work, progress=silent,
    )  # fmt: skip


def row(found: Audited) -> dict[str, Any]:
    claims = [
        {
            "id": one.claim.id, "type": one.claim.type, "polarity": one.claim.polarity,
            "load_bearing": one.claim.load_bearing, "groundable": one.claim.groundable, "verdict": one.verdict.name,
            "rule": one.verdict.rule, "numbers": one.verdict.numbers,
        }
        for one in found.checked
    ]  # fmt: skip
    return {"id": "r", "model": "", "set": "", "video": "v", "question": "q", "correct": None, "error": "",
            "repairs": 0, "claims": claims, "deletion": None}  # fmt: skip


def told(found: Audited) -> dict[str, str]:
    return {f"{one.claim.text}.": one.verdict.name for one in found.checked}


# ---------------------------------------------------------------------------------------------------------------------
# Two photographs of groups, two seconds each

PHOTO = (640, 360)
FPS, LENGTH = 4, 8  # frames a second; of a shot
PHOTOS = ("sample6", "sample1")
# by eye; a wine glass stands in front of the first person of the second photo
GROUPS: tuple[dict[int, Box], ...] = (
    {1: (48, 87, 237, 357), 2: (195, 50, 345, 357), 3: (322, 39, 488, 357), 4: (434, 39, 615, 350)},
    {5: (72, 69, 240, 357), 6: (236, 89, 420, 358), 7: (405, 55, 613, 357)},
)
CLAIMS = {
    "At 0.5 s, Person 1 is visible.": "supported",
    "At 3.0 s, Person 6 is visible.": "supported",
    "At 0.5 s, Person 6 is visible.": "wrong_time",
    "At 9.0 s, Person 2 is visible.": "wrong_time",
    "At 3.0 s there is a wine glass.": "supported",
    "At 3.0 s, Person 5 has a wine glass.": "weak",  # its mask lies on nobody: nothing tells whose it is
    "At 0.5 s, Person 2 points at Person 1.": "supported",
    "At 0.5 s, Person 3 points at Person 1.": "wrong_person",
    "At 0.5 s, Person 2 shows something to Person 1.": "contradicted",
    "At 3.0 s there is a giraffe.": "unsupported",
    "At 3.0 s there is a fire hydrant.": "unsupported",
    "At 3.0 s, Person 7 nods.": "not_groundable",
    "At 3.0 s there is a chandelier.": "not_in_vocabulary",
    "She is probably happy.": "not_groundable",
}


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fetch.ensure()
    path = tmp_path_factory.mktemp("photos") / "photos.mp4"
    with av.open(str(path), "w") as file, tarfile.open(fetch.package("face-api")) as archive:
        stream: Any = file.add_stream("libx264", rate=FPS, options={"crf": "10", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *PHOTO, "yuv420p"
        for name in PHOTOS:
            member = archive.extractfile(f"package/demo/{name}.jpg")
            assert member is not None
            picture = cv2.imdecode(np.frombuffer(member.read(), np.uint8), cv2.IMREAD_COLOR)
            assert picture is not None
            small = np.asarray(cv2.resize(picture, PHOTO, interpolation=cv2.INTER_AREA), np.uint8)
            for _ in range(LENGTH):
                file.mux(stream.encode(av.VideoFrame.from_ndarray(small, format="bgr24")))
        file.mux(stream.encode())
    return path


def test_claims_about_two_groups(photos: Path, tmp_path: Path) -> None:
    shots = [(0, LENGTH), (LENGTH, 2 * LENGTH)]
    people = people_of(shots, GROUPS, PHOTO, 1)
    index = index_of(photos, silent)
    found = audited(photos, index, shots, people, PHOTO, " ".join(CLAIMS), tmp_path / "w")
    assert told(found) == CLAIMS, {one.claim.text: one.verdict.sentence for one in found.checked}
    measures = metrics.measures([row(found)])
    assert (measures["specificity"]["k"], measures["specificity"]["n"]) == (4, 4)


# ---------------------------------------------------------------------------------------------------------------------
# The demo clip

# heads side by side in the first and the third shot, in pixels; man 1, woman 2, franck 3, the other man 4
COLUMNS: tuple[Box, ...] = ((0, 0, 427, 720), (427, 0, 853, 720), (853, 0, 1280, 720))
WHO = {"A": (1, 2, 3), "C": (3, 4, 2)}
SHOTS: Spans = [(shot["start"], shot["end"]) for shot in TRUTH["shots"]]
HEADS = [dict(zip(WHO.get(shot["name"], ()), COLUMNS, strict=False)) for shot in TRUTH["shots"]]
DEMO_CLAIMS = {
    "At 1.0 s, Person 1 is in the picture.": "supported",
    "At 12.0 s, Person 4 is in the picture.": "supported",
    "At 8.0 s, Person 1 is in the picture.": "wrong_time",
    "At 30.0 s, Person 2 is in the picture.": "wrong_time",
    "At 2.0 s, Person 2 points at Person 1.": "supported",
    "At 2.0 s, Person 3 points at Person 1.": "wrong_person",
    "At 12.0 s, Person 2 points at Person 1.": "wrong_time",
    "At 1.0 s there is a giraffe.": "unsupported",
    "At 1.0 s, Person 3 nods.": "not_groundable",
}
THINGS = (
    "giraffe", "elephant", "zebra", "bear", "cow", "horse", "airplane", "boat", "train", "truck", "fire hydrant",
    "parking meter", "suitcase", "snowboard", "surfboard", "umbrella", "kite", "pizza", "toilet", "toaster",
)  # fmt: skip


def of_demo(clip: Demo, text: str, work: Path) -> Audited:
    people = people_of(SHOTS, HEADS, (WIDTH, HEIGHT), 5)
    return audited(clip.path, clip.index, SHOTS, people, (WIDTH, HEIGHT), text, work)


@pytest.mark.long
def test_claims_about_the_demo_clip(demo: Demo, tmp_path: Path) -> None:
    found = of_demo(demo, " ".join(DEMO_CLAIMS), tmp_path / "w")
    assert told(found) == DEMO_CLAIMS, {one.claim.text: one.verdict.sentence for one in found.checked}


@pytest.mark.long
def test_specificity_is_above_four_fifths(demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Things that are not there, in every shot, with the controls the same grounder can look for; on fewer frames than
    usual, since there are a hundred claims."""
    monkeypatch.setattr(windows, "MOST_FRAMES", 12)
    text = " ".join(f"At {s:.1f} s there is a {thing}." for s in (3.0, 8.0, 12.5, 17.0, 20.5) for thing in THINGS)
    found = of_demo(demo, text, tmp_path / "w")
    got = metrics.measures([row(found)])["specificity"]
    assert got["n"] == 100
    assert got["value"] > 0.8
    wrong = [one.claim.text for one in found.checked if one.verdict.name not in ("unsupported", "wrong_time")]
    assert len(wrong) <= 5, wrong
