"""Masks of the people in a run folder (`python -m ml.perception.run --masks`) come with the run it became."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ml.formats.errors import FormatError
from webapp.lib import storage
from webapp.tracks.masking import note_masks
from webapp.tracks.masks import write_blocks
from webapp.tracks.models import Run


def bring_masks(folder: Path, run: Run) -> None:
    """Store the folder's masks with the run, checked; nothing where it has none. Raises FormatError."""
    if not (folder / "masks.parquet").exists():
        return
    from ml.media import masks as packed

    about, masks = read_about(folder / "masks.json"), packed.read(folder / "masks.parquet")
    if list(masks.size) != about["size"]:
        raise FormatError(f"{folder / 'masks.parquet'} has pictures of another size than masks.json says.")
    strangers = set(np.unique(masks.object).tolist()) - {int(t["track"]) for t in run.manifest["tracks"]}
    if strangers:
        raise FormatError(f"{folder / 'masks.parquet'}: track {min(strangers)} is not in run.json.")
    if len(masks.frame) and masks.frame.max() >= run.video.frames:
        raise FormatError(f"{folder / 'masks.parquet'} has a mask on frame {masks.frame.max()}, after the video's end.")
    with tempfile.TemporaryDirectory(prefix="sightline-") as scratch:
        copy = Path(scratch)
        for name in ("masks.json", "masks.parquet"):
            shutil.copyfile(folder / name, copy / name)
        write_blocks(copy, frame=masks.frame, track=masks.object, score=masks.score, box=masks.box, counts=masks.counts)
        storage.put_folder(copy, run.folder)
    note_masks(run_id=run.id, about=about)


def read_about(path: Path) -> dict[str, Any]:
    """masks.json, with the keys that pages show checked. Raises FormatError."""
    try:
        about: dict[str, Any] = json.loads(path.read_bytes())
        height, width = (int(side) for side in about["size"])
        texts = [about["masker"][key] for key in ("name", "version")]
        numbers = [about["counts"][key] for key in ("frames", "masks")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} does not say how its masks were made ({error!r}).") from error
    if about["size"] != [height, width] or not all(isinstance(t, str) for t in texts):
        raise FormatError(f"{path} is not what a run writes.")
    if not all(isinstance(n, int) for n in numbers):
        raise FormatError(f"{path}: the counts are no whole numbers.")
    return about
