"""The folder of one training run: what is in it, who may write, and what is left of it when a process dies.

    RUN/config.yaml        every setting as it was resolved
    RUN/run.json           snapshot, start model, versions, seed, stage, command, when it was made
    RUN/state.json         {"state", "step", "max_steps", "attempt", "resumed_from", "sentence"}, replaced as a whole
    RUN/metrics.jsonl      {"step", "max_steps", "time", "values": {name: number | null}} per logged step
    RUN/rollouts.jsonl     grpo: {"step", "row", "category", "question", "options", "answer", "completions": [...]}
    RUN/checkpoints/checkpoint-N/   complete only when it holds COMPLETE, which is written last
    RUN/final/             the trained model, when the run is done
    RUN/tensorboard/       event files
    RUN/log.txt            what the process said
    RUN/stop               somebody asks to stop: a checkpoint at the end of the step, then the end
    RUN/.lock              held (flock) by the training process for its whole life; nobody else writes

A line of a .jsonl counts once its line end is written. A run that goes on from checkpoint k first cuts both files to
steps up to k: a step is never told twice. No torch here.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from ml.formats import jsonfields
from ml.formats.errors import FormatError

States = Literal["starting", "running", "stopped", "done", "failed"]
STATES = ("starting", "running", "stopped", "done", "failed")
ENDED = ("stopped", "done", "failed")
COMPLETE = "COMPLETE"
PREFIX = "checkpoint-"
PATIENCE_S = 0.5  # whoever only looks whether a run is held, holds it for a moment


class Busy(ValueError):
    """Another process holds the run; one sentence."""


@dataclass(frozen=True)
class State:
    """`step` of `max_steps` is done (0 of 0: not known yet). `resumed_from`: the checkpoint this attempt began with."""

    state: States
    step: int = 0
    max_steps: int = 0
    attempt: int = 1
    resumed_from: int | None = None
    sentence: str = ""


@dataclass(frozen=True)
class RunFolder:
    """One run's folder; nothing is made before `made`."""

    path: Path

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def rollouts(self) -> Path:
        return self.path / "rollouts.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def final(self) -> Path:
        return self.path / "final"

    @property
    def stop(self) -> Path:
        return self.path / "stop"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def facts(self) -> Path:
        return self.path / "run.json"

    def made(self) -> RunFolder:
        """The folder itself, made where it is not there. Raises OSError."""
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        return self

    def state(self) -> State | None:
        """What was written last; None before the first attempt. Raises FormatError."""
        path = self.path / "state.json"
        if not path.is_file():
            return None
        return _state(jsonfields.load(path.read_bytes()))

    def set_state(self, state: State) -> None:
        """Replace state.json as a whole."""
        write_json(self.path / "state.json", asdict(state))

    def ask_to_stop(self) -> None:
        """Make whoever trains here write a checkpoint at the end of the step, and end."""
        self.stop.touch()

    def step_folder(self, step: int) -> Path:
        """Where the checkpoint of a step is, or would be."""
        return self.checkpoints / f"{PREFIX}{step}"

    def steps(self) -> list[int]:
        """Steps with a complete checkpoint, in order."""
        return sorted(step for step, path in self._kept() if (path / COMPLETE).is_file())

    def newest(self) -> int | None:
        """The step of the newest complete checkpoint; None without one."""
        return max(self.steps(), default=None)

    def complete(self, step: int, tokens: float = 0.0) -> None:
        """Mark a checkpoint as whole, once all that it holds has reached the disk. `tokens`: seen up to it."""
        folder = self.step_folder(step)
        for path in folder.rglob("*"):
            if path.is_file():
                _sync(path)
        write_json(folder / COMPLETE, {"step": step, "time": time.time(), "tokens": tokens})

    def tokens(self, step: int) -> float:
        """How many tokens a run had seen at a complete checkpoint."""
        told = jsonfields.load((self.step_folder(step) / COMPLETE).read_bytes())
        return float(told["tokens"])

    def drop(self, step: int) -> None:
        """Delete a checkpoint; what is left of a deletion that was cut short counts as no checkpoint."""
        folder = self.step_folder(step)
        (folder / COMPLETE).unlink(missing_ok=True)
        shutil.rmtree(folder)

    def drop_incomplete(self) -> None:
        """Delete checkpoints without COMPLETE. For whoever holds the run: another process may be writing one."""
        for step, path in self._kept():
            if not (path / COMPLETE).is_file():
                self.drop(step)

    def rotate(self, keep: int) -> None:
        """Delete all complete checkpoints but the newest `keep`; 0 keeps all."""
        for step in self.steps()[:-keep] if keep else []:
            self.drop(step)

    def cut(self, step: int) -> None:
        """Take what was written after a step out of metrics and rollouts, and a last line without its end."""
        for path in (self.metrics, self.rollouts):
            if path.exists():
                with path.open("rb") as file:
                    replace(path, (line for line, tree in _lines(file) if _step(tree) <= step))

    def _kept(self) -> Iterator[tuple[int, Path]]:
        for path in self.checkpoints.glob(f"{PREFIX}*"):
            number = path.name.removeprefix(PREFIX)
            if number.isdecimal() and path.is_dir():
                yield int(number), path


@contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Hold the run's lock; it is free again when the process ends, however it ends. Raises Busy."""
    with (folder.path / ".lock").open("a+") as file:
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Busy(f"Another process trains in {folder.path}; wait until it has ended.") from None
                time.sleep(0.05)
        yield


def is_held(folder: RunFolder) -> bool:
    """Whether a training process holds the run just now."""
    path = folder.path / ".lock"
    if not path.exists():
        return False
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class Tail:
    """Whole lines of a .jsonl as they are added: `read` gives those since the last call.

    A file that was cut or replaced (another attempt) is read from its beginning again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._inode = -1

    def read(self, most: int = 10_000) -> list[dict[str, Any]]:
        """At most that many lines; more wait for the next call."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return []
        if self._file is None or found.st_ino != self._inode or found.st_size < self._file.tell():
            self.close()
            self._file, self._inode = self.path.open("rb"), found.st_ino
        lines: list[dict[str, Any]] = []
        while len(lines) < most:
            at = self._file.tell()
            line = self._file.readline()
            if not line.endswith(b"\n"):
                self._file.seek(at)
                break
            tree = _tree(line)
            if tree is not None:
                lines.append(tree)
        return lines

    def close(self) -> None:
        """Close the file; the next `read` begins at its beginning."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Every whole line of metrics.jsonl or rollouts.jsonl."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        return [tree for _, tree in _lines(file)]


def append(path: Path, trees: Iterable[Mapping[str, Any]]) -> None:
    """Add lines in one write. A number that is not finite must have been made None before."""
    text = "".join(f"{json.dumps(tree, ensure_ascii=False, allow_nan=False)}\n" for tree in trees)
    with path.open("ab") as file:
        file.write(text.encode("utf-8", "replace"))


def write_json(path: Path, tree: Any) -> None:
    """Replace a JSON file as a whole."""
    write_bytes(path, f"{json.dumps(tree, indent=1, ensure_ascii=False)}\n".encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file as a whole: a reader sees the old one or the new one, also after a loss of power."""
    replace(path, [data])


def replace(path: Path, pieces: Iterable[bytes]) -> None:
    """Replace a file as a whole by these pieces, which may come from the file itself. Nothing is left where the disk is
    full."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)  # where the disk was full


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _lines(file: Iterable[bytes]) -> Iterator[tuple[bytes, dict[str, Any]]]:
    for line in file:
        tree = _tree(line) if line.endswith(b"\n") else None
        if tree is not None:
            yield line, tree


def _tree(line: bytes) -> dict[str, Any] | None:
    """A line's object; None for one that a crash left in pieces."""
    try:
        tree = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) and isinstance(tree.get("step"), int) else None


def _step(tree: Mapping[str, Any]) -> int:
    return int(tree["step"])


def _state(tree: Any) -> State:
    found = dict(jsonfields.mapping(tree, "state.json"))
    if found.get("state") not in STATES:
        raise jsonfields.fail("state.json: state", f"one of {', '.join(STATES)}", found.get("state"))
    for name in ("step", "max_steps", "attempt"):
        if type(found.get(name)) is not int or found[name] < 0:
            raise jsonfields.fail(f"state.json: {name}", "a whole number", found.get(name))
    back = found.get("resumed_from")
    if back is not None and (type(back) is not int or back < 0):
        raise jsonfields.fail("state.json: resumed_from", "a step or null", back)
    if not isinstance(found.get("sentence"), str):
        raise FormatError("state.json: sentence: expected text.")
    return State(**{name: found[name] for name in State.__dataclass_fields__})
