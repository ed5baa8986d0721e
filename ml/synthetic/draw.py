"""Draw the demo scene as a video, with the files of the GRASP layout that go with it.

    python -m ml.synthetic.draw FOLDER

writes table-talk.mp4 (H.264, 1280x720, 25 fps, no sound; the same bytes for the same version of the encoder),
table-talk_gaze.json, table-talk_events.json and table-talk_gestures.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np

from ml.formats import grasp_events, grasp_gaze, grasp_gestures
from ml.media.files import whole
from ml.progress import Progress, silent
from ml.synthetic import figures, files
from ml.synthetic.figures import LOOKS, THINGS, Image
from ml.synthetic.motion import ARM, Motion, move, shoulder
from ml.synthetic.table_talk import FPS, HEIGHT, WIDTH, Scene, table_talk

NAME = "table-talk"
BEHIND = (2, 1, 3, 0, 4)  # who is drawn first: the farthest


def pictures(scene: Scene, motion: Motion) -> Iterator[Image]:
    """Every frame, uint8[720, 1280, 3] BGR; the next one overwrites it."""
    blank = figures.room(WIDTH, HEIGHT)
    front = figures.room(WIDTH, HEIGHT)
    figures.table(front)
    covered = np.any(front != blank, axis=2)
    top = int(np.flatnonzero(covered.any(axis=1))[0])
    image = blank.copy()
    blinks = _blinks(scene.truth.frames, scene.truth.persons)
    for frame in range(scene.truth.frames):
        np.copyto(image, blank)
        for person in BEHIND:
            _seated(image, motion, frame, person, float(blinks[frame, person]))
        np.copyto(image[top:], front[top:], where=covered[top:, :, None])
        _on_the_table(image, motion, frame)
        yield image


def _seated(image: Image, motion: Motion, frame: int, person: int, blink: float) -> None:
    head, scale, look = motion.head[frame, person], float(motion.scale[person]), LOOKS[person]
    figures.body(image, head, scale, look)
    turn = figures.directed(head, motion.turn[frame, person])
    eyes = figures.directed(head, motion.eyes[frame, person])
    nod = head + np.array([turn[0] * 5, turn[1] * 5]) * scale
    figures.face(image, nod, scale, look, turn, eyes, blink)


def _on_the_table(image: Image, motion: Motion, frame: int) -> None:
    """Things that lie, then arms and hands with the things they hold."""
    for index, thing in enumerate(THINGS):
        if motion.holder[frame, index] < 0:
            at = motion.props[frame, index]
            figures.disc(image, at + (6, 24), (32, 9), (96, 134, 170))
            thing(image, at)
    for person in BEHIND:
        for side in (0, 1):
            _arm(image, motion, frame, person, side)


def _arm(image: Image, motion: Motion, frame: int, person: int, side: int) -> None:
    scale, look = float(motion.scale[person]), LOOKS[person]
    at = motion.hands[frame, person, side]
    figures.arm(image, shoulder(motion.head[frame, person], scale, side), at, scale, look, side, ARM)
    held = np.flatnonzero((motion.holder[frame] == person) & (motion.grip[frame] == side))
    for index in held.tolist():
        THINGS[index](image, motion.props[frame, index])
    towards = None
    if motion.finger[frame, person] == side:
        joint = shoulder(motion.head[frame, person], scale, side)
        towards = at + (at - joint)
    figures.hand(image, at, scale, look, towards)


def _blinks(frames: int, persons: int) -> Any:
    """float[F, P], 0 open to 1 shut: everybody blinks every few seconds."""
    rng = np.random.default_rng(5)
    shut = np.zeros((frames, persons))
    for person in range(persons):
        frame = int(rng.integers(10, 90))
        while frame < frames - 5:
            shut[frame : frame + 5, person] = (0.5, 1.0, 1.0, 0.7, 0.3)
            frame += int(rng.integers(60, 140))
    return shut


def encode(scene: Scene, motion: Motion, out: Path, progress: Progress = silent) -> None:
    """Write the video, whole or not at all. Reports the stage "drawing"."""
    total = scene.truth.frames
    with whole(out) as part, av.open(str(part), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream: Any = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.options = {"crf": "21", "preset": "veryfast"}
        stream.codec_context.thread_count = 1  # the output depends on it
        for number, image in enumerate(pictures(scene, motion)):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
            progress("drawing", (number + 1) / total)
        container.mux(stream.encode())


def make(folder: Path, progress: Progress = silent) -> Path:
    """Write the video and its files; the video comes last, so where it is there the others are, too. Returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    scene = table_talk()
    motion, video = move(scene), folder / f"{NAME}.mp4"
    trees = {
        "gaze": grasp_gaze.build(files.gaze_file(scene, motion, video.name)),
        "events": grasp_events.build(files.events_file(scene, video.name)),
        "gestures": grasp_gestures.build(files.gestures_file(scene, video.name)),
    }
    for kind, tree in trees.items():
        (folder / f"{NAME}_{kind}.json").write_text(json.dumps(tree, allow_nan=False) + "\n")
    encode(scene, motion, video, progress)
    return video


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the demo scene.")
    parser.add_argument("folder", type=Path)
    print(make(parser.parse_args().folder))


if __name__ == "__main__":
    main()
