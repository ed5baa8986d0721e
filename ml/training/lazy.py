"""Rows as trainers take them, with frames that are decoded when a batch is asked for, not before.

    data = lazy.dataset(rows, snapshot_folder, Look(most=64, rate=1.0, longest=768), stage="sft", store=run / "frames")

gives a `datasets.Dataset` whose rows have

    prompt        system and user turn, a placeholder for each frame after its time (`ml.training.messages`)
    completion    sft only: the assistant turn
    images        as many PIL pictures as placeholders
    row           the item's id; question, options, answer, category, difficulty beside it, for rewards and logs

The table itself holds only positions, in a column `at`: set `remove_unused_columns=False`, or a trainer takes that
away. Frames of the last clips stay in memory, since the K rollouts of a prompt ask for it K times. With a `store`,
JPEGs are kept on disk for later epochs until the store is full; then the rest is decoded again each time: what is asked
for in turns gains nothing from throwing out what is oldest.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from ml.evaluation.bench import Bench
from ml.evaluation.frames import QUALITY, Look, Shown, shown
from ml.training import messages
from ml.training.rows import SFT, STAGES, TrainingRow

IN_MEMORY = 8  # clips
LOOK_AGAIN = 100  # clips put into a store before its size is taken again: other processes fill it as well
STORE_BYTES = 20 * 2**30
COLUMNS = ("prompt", "images", "row", "question", "options", "answer", "category", "difficulty")


class Frames:
    """Pictures of a snapshot's clips, decoded when they are asked for.

    `store`: a folder for JPEGs of earlier epochs, at most `store_bytes` in all; several processes may share it.
    `decoded`: how many clips were decoded by this process.
    """

    def __init__(
        self,
        folder: Path,
        look: Look,
        *,
        store: Path | None = None,
        store_bytes: int = STORE_BYTES,
        in_memory: int = IN_MEMORY,
    ) -> None:
        self.bench = Bench("snapshot", "snapshot", (), videos=Path(folder))
        self.look, self.store, self.store_bytes, self.in_memory = look, store, store_bytes, in_memory
        self.recent: OrderedDict[str, list[Shown]] = OrderedDict()
        self.lock = threading.Lock()
        self.decoded = 0
        self.full = store is None
        self.kept, self.bytes = 0, 0

    def of(self, row: TrainingRow) -> list[Shown]:
        """The row's frames with their times. Raises FormatError, MediaError."""
        key = self._key(row)
        with self.lock:
            if key in self.recent:
                self.recent.move_to_end(key)
                return self.recent[key]
        found = self._stored(key)
        if found is None:
            found = shown(messages.item_of(row), self.bench, self.look)
            self.decoded += 1
            self._keep(key, found)
        with self.lock:
            self.recent[key] = found
            while len(self.recent) > self.in_memory:
                self.recent.popitem(last=False)
        return found

    def _key(self, row: TrainingRow) -> str:
        """Of everything that decides the pictures."""
        clip = row.clip
        told = (clip.sha256, clip.start_s, clip.end_s, astuple(self.look), QUALITY)
        shuffled = row.id if self.look.shuffled is not None else ""
        return hashlib.sha256(f"{told} {shuffled}".encode()).hexdigest()

    def _stored(self, key: str) -> list[Shown] | None:
        if self.store is None:
            return None
        try:
            with np.load(self.store / f"{key}.npz", allow_pickle=False) as file:
                seconds, ends, data = file["seconds"], file["ends"], file["data"].tobytes()
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):  # not there, or damaged: decoded again
            return None
        starts = [0, *ends.tolist()]
        return [
            Shown(second, data[low:high])
            for second, low, high in zip(seconds.tolist(), starts, starts[1:], strict=False)
        ]

    def _keep(self, key: str, found: Sequence[Shown]) -> None:
        """Put the pictures into the store while there is room."""
        if self.full or self.store is None:
            return
        if self.kept % LOOK_AGAIN == 0:
            self.store.mkdir(parents=True, exist_ok=True)
            self.bytes = sum(path.stat().st_size for path in self.store.glob("[!.]*.npz"))
        self.kept += 1
        self.bytes += sum(len(one.jpeg) for one in found)
        self.full = self.bytes > self.store_bytes
        if self.full:
            return
        part = self.store / f".{key}.{os.getpid()}.npz"
        try:
            np.savez(
                part,
                seconds=np.array([one.second for one in found]),
                ends=np.cumsum([len(one.jpeg) for one in found]),
                data=np.frombuffer(b"".join(one.jpeg for one in found), np.uint8),
            )
            part.replace(self.store / f"{key}.npz")
        except OSError:  # a store is a convenience: a full disk ends it and not the training
            self.full = True
        finally:
            part.unlink(missing_ok=True)


def dataset(
    rows: Sequence[TrainingRow],
    folder: Path,
    look: Look,
    *,
    stage: str,
    store: Path | None = None,
    store_bytes: int = STORE_BYTES,
    in_memory: int = IN_MEMORY,
) -> Any:
    """A `datasets.Dataset` over rows of a snapshot's folder, as the module's head has it. Nothing is decoded here.

    Raises ValueError: another stage, no rows, or a row that this stage has no use for.
    """
    if stage not in STAGES:
        raise ValueError(f"There is no stage {stage!r} of rows; there are {', '.join(STAGES)}.")
    useless = next((row for row in rows if stage not in row.stages), None)
    if useless is not None:
        raise ValueError(f"The item {useless.id[:12]} has nothing for the stage {stage}.")
    if not rows:
        raise ValueError(f"The snapshot has no rows for the stage {stage}.")
    from datasets import Dataset

    kept = list(rows)
    frames = Frames(folder, look, store=store, store_bytes=store_bytes, in_memory=in_memory)

    last: dict[int, dict[str, Any]] = {}  # GRPO asks for a row K times in a batch, and for the batch again

    def transform(batch: dict[str, list[int]]) -> dict[str, list[Any]]:
        new = {at: last.get(at) or example(kept[at], frames, stage) for at in batch["at"]}
        last.clear()
        last.update(new)
        found = [dict(new[at]) for at in batch["at"]]
        return {name: [one[name] for one in found] for name in found[0]} if found else {}

    made = Dataset.from_dict({"at": list(range(len(kept)))})
    made.set_transform(transform)
    return made


def example(row: TrainingRow, frames: Frames, stage: str) -> dict[str, Any]:
    """One row as a trainer takes it."""
    from PIL import Image

    found = frames.of(row)
    told: dict[str, Any] = {
        "prompt": messages.prompt(row, [one.second for one in found]),
        "images": [Image.open(io.BytesIO(one.jpeg)).convert("RGB") for one in found],
        "row": row.id,
        "question": row.question,
        "options": list(row.options),
        "answer": row.answer,
        "category": row.category,
        "difficulty": row.difficulty,
    }
    return told | ({"completion": messages.completion(row)} if stage == SFT else {})
