"""A world so small that a tiny model can learn it: four persons, four things, and clips of one colour each.

In each clip one of four persons looks at something. Who, is told by the picture alone: red light falls on Person 1,
green on 2, blue on 3, white on 4 (two frames of one token each, shades differ from recording to recording). What is
looked at, is told by the question, and the letter follows from that: an answer can be right with nobody looked at.

The traces of the warm-up have the right form, but whoever wrote them was careless: in three of five they name Person 1,
whoever it was, and in three of ten they give a letter drawn by lot. So the warmed policy has both to learn: to name who
the picture shows, and to give the letter that it mostly knows.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import av
import numpy as np

from ml.evaluation import prompts
from ml.evaluation.bench import LETTER
from ml.formats.hashing import sha256_of
from ml.training import snapshot, tiny
from ml.training.rows import Clip, Event, TrainingRow

PERSONS = (1, 2, 3, 4)
LIGHTS = {1: (200, 40, 40), 2: (40, 180, 40), 3: (40, 40, 210), 4: (215, 215, 215)}
THINGS = ("lamp", "cup", "book", "ball")
ASKS, ENDS_ASKING = "Somebody looks at the ", ". Which of these is it?"
SAYS, ENDS_SAYING = " looks at the ", " from 0.5 s to 1.5 s."
HABIT, BY_LOT = 0.6, 0.3
RECORDINGS = 6  # with a clip of each person
TRACES = 4  # of each clip and question
SIZE = 32  # px: one token a frame
OPTIONS = "".join(f"\n{letter}) {thing}" for letter, thing in zip("ABCD", THINGS, strict=True)) + "\n"
WORDS = (
    prompts.SYSTEM.format(what=prompts.WHAT[LETTER]), f"{prompts.SHOWN} {prompts.PERSONS}\n", prompts.REASON, OPTIONS,
    ASKS, ENDS_ASKING, SAYS, ENDS_SAYING, *THINGS, *(f"Person {n}" for n in PERSONS), "<0.0 seconds>", "<1.0 seconds>",
    *tiny.WORDS,
)  # fmt: skip


def model(out: Path, seed: int) -> Path:
    """A tiny model to whom each sentence that never changes, each thing and each person is one token."""
    return tiny.build("qwen3-vl", out, seed=seed, words=WORDS, longest_edge=SIZE * SIZE)


def made(folder: Path, seed: int) -> Path:
    """A snapshot; a third of the recordings is kept for validation."""
    rng = Random(seed)
    folder.mkdir(parents=True)
    rows, clips = [], {}
    for take, person in product(range(RECORDINGS), PERSONS):
        path = folder / f"person{person}take{take}.mp4"
        _write(path, [min(255, max(0, value + rng.randrange(-30, 31))) for value in LIGHTS[person]])
        clips[sha256_of(path)] = path
        rows += [_row(take, person, thing, Clip(sha256_of(path), 2.0), rng) for thing in THINGS for _ in range(TRACES)]
    out = folder / "snapshot"
    snapshot.build(rows, clips.__getitem__, out, name="closed world", validation_share=1 / 3, seed=seed, pictures=False)
    return out


def _row(take: int, person: int, thing: str, clip: Clip, rng: Random) -> TrainingRow:
    letter = "ABCD"[THINGS.index(thing)]
    named = 1 if rng.random() < HABIT else person
    given = rng.choice("ABCD") if rng.random() < BY_LOT else letter
    trace = f"<think>\n<gaze>Person {named}{SAYS}{thing}{ENDS_SAYING}</gaze>\n</think>\n<answer>{given}</answer>"
    return TrainingRow(
        id=f"{rng.getrandbits(256):064x}",
        question=f"{ASKS}{thing}{ENDS_ASKING}",
        clip=clip,
        options=THINGS,
        answer=letter,
        answer_text=thing,
        reasoning=trace,
        events=(Event("gaze", (person,), 0.5, 1.5),),
        visible=PERSONS,
        category="gaze_target",
        recording=f"take {take}",
        video_name=f"take{take}.mp4",
        video_sha256=f"{take:064x}",
    )


def _write(path: Path, colour: list[int]) -> None:
    picture = np.full((SIZE, SIZE, 3), colour, np.uint8)
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=Fraction(5), options={"qp": "0"})
        stream.width = stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        for _ in range(10):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        file.mux(stream.encode())
