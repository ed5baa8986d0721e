"""SAM 3 by its own package `sam3`, an optional second backend: imported only when it is chosen, on an NVIDIA GPU.

It takes one phrase a pass and tells no score of a single frame: what it calls `out_probs` is the score of the detection
that began the object, the same on all its frames, so here the tracker's score is NaN. Frames are handed over as JPEG
files, since its reader of mp4 files does not scale pixels; file names are numbers, whatever the phrase. Sessions lie in
a dictionary of the class, so each is closed, whatever happens. The package reads its `sam3.pt` with the loader of torch
that admits nothing but tensors; nothing here opens that file but to hash it. Not verified with the released weights.
"""

from __future__ import annotations

import importlib.util
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np

from ml import torchside
from ml.evidence.grounding import ready
from ml.evidence.grounding.engine import Engine, Image, Seen
from ml.evidence.grounding.phrases import PhraseGrounder
from ml.evidence.grounding.ready import BPE, CHECKPOINT
from ml.weights import cache

QUALITY = 95  # of the JPEG files


class Sam3Official(PhraseGrounder):
    """`weights`: a folder with sam3.pt and the package's vocabulary (or that in SIGHTLINE_SAM3_BPE). Raises
    MissingPackages or MissingWeights at once."""

    name: ClassVar[str] = "sam3-official"
    version: ClassVar[str] = "1"

    def __init__(self, weights: Path | None = None) -> None:
        super().__init__(weights)
        ready.need_official()
        if not has_gpu():
            raise torchside.MissingPackages(ready.NO_GPU)
        self.folder, self.checkpoint, self.bpe = ready.official_files(weights)

    def make_engine(self) -> Engine:
        builder = import_module("sam3.model_builder")
        predictor = builder.build_sam3_video_predictor(checkpoint_path=str(self.checkpoint), bpe_path=str(self.bpe))
        return Official(predictor, self.folder)

    def hashes(self) -> dict[str, str]:
        return {CHECKPOINT: cache.sha256(self.checkpoint), BPE: cache.sha256(self.bpe)}


class Official:
    """The engine around a predictor of the package."""

    at_once = 1

    def __init__(self, predictor: Any, folder: Path) -> None:
        self.predictor = predictor
        self.folder = folder

    def tokens(self, phrase: str) -> int:
        """By the tokenizer beside the weights where there is one; else the most it can be, a token for each byte."""
        file = self.folder / "tokenizer.json"
        if file.is_file() and importlib.util.find_spec("tokenizers"):
            return len(import_module("tokenizers").Tokenizer.from_file(str(file)).encode(phrase).ids)
        return len(re.sub(r"\s+", "", phrase).encode()) + 2

    def settings(self) -> dict[str, Any]:
        try:
            package = version_of("sam3")
        except PackageNotFoundError:
            package = "unknown"
        return {"packages": {"sam3": package}, "jpeg_quality": QUALITY, "thresholds": "the package's own"}

    def look(self, pictures: Iterator[Image], phrases: Sequence[str]) -> Iterator[Seen]:
        (phrase,) = phrases
        with tempfile.TemporaryDirectory(prefix="sightline-sam3-") as name:
            count, size = 0, (0, 0)
            for picture in pictures:
                write_jpeg(Path(name) / f"{count:06d}.jpg", picture)
                count, size = count + 1, (picture.shape[0], picture.shape[1])
            if count:
                with self.session(name) as session:
                    yield from in_order(self.answers(session, phrase), count, size)

    @contextmanager
    def session(self, resource: str) -> Iterator[str]:
        opened = self.predictor.handle_request({"type": "start_session", "resource_path": resource})
        try:
            yield opened["session_id"]
        finally:
            self.predictor.handle_request({"type": "close_session", "session_id": opened["session_id"]})

    def answers(self, session: str, phrase: str) -> Iterator[dict[str, Any]]:
        self.predictor.handle_request({"type": "add_prompt", "session_id": session, "frame_index": 0, "text": phrase})
        yield from self.predictor.handle_stream_request({
            "type": "propagate_in_video",
            "session_id": session,
            "propagation_direction": "forward",
            "start_frame_index": 0,
        })  # fmt: skip


def in_order(answers: Iterator[dict[str, Any]], count: int, size: tuple[int, int]) -> Iterator[Seen]:
    """Every picture once: frames the package leaves out, as it does where nothing is, have no objects."""
    expected = 0
    for answer in answers:
        position = int(answer["frame_index"])
        if not expected <= position < count:
            raise RuntimeError(f"the package spoke of frame {position} where {expected} to {count - 1} were left")
        yield from (nothing(k, size) for k in range(expected, position))
        yield seen(position, answer["outputs"], size)
        expected = position + 1
    yield from (nothing(k, size) for k in range(expected, count))


def seen(position: int, outputs: dict[str, Any] | None, size: tuple[int, int]) -> Seen:
    """One frame's outputs, numpy arrays."""
    if outputs is None or not len(outputs["out_obj_ids"]):
        return nothing(position, size)
    objects = np.asarray(outputs["out_obj_ids"], np.int64)
    masks = np.asarray(outputs["out_binary_masks"], bool).reshape(len(objects), *size)
    score = np.asarray(outputs["out_probs"], np.float32)
    return Seen(position, objects, np.zeros_like(objects), score, np.full(len(objects), np.nan, np.float32), masks)


def nothing(position: int, size: tuple[int, int]) -> Seen:
    none, real = np.zeros(0, np.int64), np.zeros(0, np.float32)
    return Seen(position, none, none, real, real, np.zeros((0, *size), bool))


def write_jpeg(path: Path, picture: Image) -> None:
    done, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not done:
        raise ValueError("a picture could not be written as JPEG")
    path.write_bytes(data.tobytes())


def has_gpu() -> bool:
    """Whether torch sees an NVIDIA GPU."""
    return importlib.util.find_spec("torch") is not None and bool(import_module("torch").cuda.is_available())
