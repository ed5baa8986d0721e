"""One start of a training run, before torch is loaded: arguments, settings, data, folder, lock, log.

    python -m ml.training.sft  --config C [--snapshot DIR] [--model DIR] [--out RUN] [--set name=value]...
    python -m ml.training.grpo --config C ...

The same command on a folder that has a complete checkpoint goes on from the newest one. Exit codes: 0 done, or stopped
when asked; 2 something asked for is wrong, or another process trains in the folder (one sentence); 1 anything else.

A run is asked to stop by the file RUN/stop, by SIGTERM or by Ctrl-C: it writes a checkpoint at the end of the step.
With several processes torchrun stands in front: after a signal it waits 30 s and ends with 1, so the file is the way.

Checkpoints hold pickled state: a run folder of somebody else is never to be gone on with.
With SIGHTLINE_DIE_WITH_PARENT=1 the process dies with the one that started it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import io
import os
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

from ml import torchside
from ml.evaluation.local import fingerprint
from ml.formats import jsonfields
from ml.formats.errors import FormatError
from ml.media.errors import MediaError
from ml.training import configs, folder, launch, rows
from ml.training import snapshot as snapshots
from ml.training.configs import Config, ConfigError
from ml.training.folder import RunFolder, State, States
from ml.training.rows import TrainingRow
from ml.training.tiny import is_tiny

NEEDED = ("trl", "peft", "accelerate", "datasets")  # beside those of torchside
VERSIONS = ("torch", "transformers", "trl", "peft", "accelerate", "deepspeed", "datasets")
DIE_WITH_PARENT = "SIGHTLINE_DIE_WITH_PARENT"
PR_SET_PDEATHSIG = 1
MAY_DIFFER = ("paths.", "run.", "model.threads", "model.device")  # settings that a run may go on with changed


class CannotTrain(ValueError):
    """What was asked for cannot be trained; one sentence."""


@dataclass
class Session:
    """One attempt of a run, in one process. `world` processes train together; `rank` 0 alone writes.

    `rows`: what the stage trains on. `resumed_from`: the checkpoint to go on from.
    """

    config: Config
    folder: RunFolder
    snapshot: Path
    model: Path
    rows: Sequence[Any]
    rank: int = 0
    world: int = 1
    attempt: int = 1
    resumed_from: int | None = None
    stop_asked: bool = False  # by a signal
    began: float = field(default_factory=time.monotonic)

    @property
    def main(self) -> bool:
        return self.rank == 0

    @property
    def checkpoint(self) -> str | None:
        return None if self.resumed_from is None else str(self.folder.step_folder(self.resumed_from))

    def tell(self, state: States, step: int = 0, max_steps: int = 0, sentence: str = "") -> None:
        """Replace state.json."""
        if self.main:
            self.folder.set_state(State(state, step, max_steps, self.attempt, self.resumed_from, sentence))


Train = Callable[[Session], None]
Data = Callable[[Path, Config], Sequence[Any]]


def training_rows(snapshot: Path, config: Config) -> list[TrainingRow]:
    """The rows of the training split that the stage has a use for. Raises FormatError."""
    facts, every = snapshots.facts_of(snapshot), rows.read(snapshot)
    if snapshots.content_hash(every) != facts["hash"]:
        raise FormatError(f"{snapshot} has other rows than those its {snapshots.FACTS} names by their hash.")
    found = rows.of_stage([row for row in every if row.split == rows.TRAIN], config.stage)
    if not found:
        raise FormatError(f"{snapshot} has no training rows for the stage {config.stage}.")
    if config.stage == "grpo" and len(found) < config.step_items:
        raise FormatError(
            f"{snapshot} has {len(found)} training rows for the stage grpo, and a step takes {config.step_items}."
        )
    for row in found:  # now, not hours later
        if not (snapshot / row.clip.file).is_file():
            raise FormatError(f"{snapshot}: the clip {row.clip.file} of the item {row.id[:12]} is not there.")
    return found


def main(
    stage: str, train: Callable[[], Train], arguments: Sequence[str] | None = None, data: Data = training_rows
) -> int:
    """Run one stage; `train` imports what needs torch and gives the function that trains."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    asked = _arguments(stage, words)
    die_with_parent()
    try:
        config = _config(stage, asked)
        _check_packages(config)
        snapshot, model = _there(config, "snapshot"), _there(config, "model")
        if not config.paths.out:
            raise ConfigError("Name the run's folder, with --out or as paths.out.", "paths.out")
        run = RunFolder(Path(config.paths.out))
        _make(run)
        found = data(snapshot, config)
        if launch.wanted(config) and not launch.launched():
            if folder.is_held(run):
                raise folder.Busy(f"Another process trains in {run.path}; wait until it has ended.")
            launch.replace_process(stage, config, words)
    except ValueError as error:
        print(error, file=sys.stderr)
        _note_failure(asked, str(error))
        return 2
    launch.settle(config)
    session = Session(
        config, run, snapshot, model, found, int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    )
    try:
        with _holding(session), _logged(session):
            return _attempt(session, train, stage, words)
    except folder.Busy as error:
        print(error, file=sys.stderr)
        return 2


def _attempt(session: Session, train: Callable[[], Train], stage: str, words: Sequence[str]) -> int:
    """One attempt, under the lock."""
    run = session.folder
    try:
        before = run.state()  # every process looks: one that went on alone would wait for the others
        if before is not None and before.state == "done":
            if session.main:
                print(f"{run.path} is done: {before.step} of {before.max_steps} steps.")
            return 0
        if session.main:
            _continue_only_the_same(session)
            run.drop_incomplete()
            run.stop.unlink(missing_ok=True)  # of an earlier attempt
        session.resumed_from = run.newest()
        session.attempt = before.attempt + 1 if before else 1
        session.tell("starting", session.resumed_from or 0, before.max_steps if before else 0)
        if session.main:
            run.cut(session.resumed_from or 0)
            _note(session, stage, words)
        with _signals(session):
            train()(session)
        return 0
    except (ValueError, folder.Busy) as error:
        if not _is_ours(error):
            return _crashed(session, error)
        print(error, file=sys.stderr)
        _fail(session, str(error))
        return 2
    except BaseException as error:
        return _crashed(session, error)


def _is_ours(error: BaseException) -> bool:
    return isinstance(error, CannotTrain | ConfigError | FormatError | MediaError | torchside.MissingPackages)


def _crashed(session: Session, error: BaseException) -> int:
    traceback.print_exception(error)
    said = " ".join(str(error).split())[:300]
    _fail(session, f"The training ended with an error: {type(error).__name__}{f': {said}' if said else ''}.")
    return 1


def _fail(session: Session, sentence: str) -> None:
    known = None
    with contextlib.suppress(FormatError):  # the state may be what is wrong
        known = session.folder.state()
    session.tell("failed", known.step if known else 0, known.max_steps if known else 0, sentence)


def _note_failure(asked: argparse.Namespace, sentence: str) -> None:
    """Put a refusal before the start into the run's state, where a folder is named and nobody trains in it."""
    out = asked.out or next((word.partition("=")[2] for word in asked.set if word.startswith("paths.out=")), "")
    if not out or launch.launched():
        return
    run = RunFolder(Path(out))
    with contextlib.suppress(ValueError, OSError):
        run.made()
        with folder.held(run):
            before = run.state()
            if before is None or before.state not in ("done",):
                run.set_state(
                    replace(before, state="failed", sentence=sentence) if before else State("failed", sentence=sentence)
                )


# ---------------------------------------------------------------------------------------------------------------------
# What was asked for


def _arguments(stage: str, words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m ml.training.{stage}")
    parser.add_argument("--config", required=True, metavar="C", help="a preset's name or a YAML file")
    for name, kind in (("snapshot", "DIR"), ("model", "DIR"), ("out", "RUN")):
        told = configs.Paths.__dataclass_fields__[name].metadata["help"]
        parser.add_argument(f"--{name}", metavar=kind, help=told)
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="one setting")
    return parser.parse_args(words)


def _config(stage: str, asked: argparse.Namespace) -> Config:
    config = configs.load(asked.config, stage, asked.set)
    paths = {name: getattr(asked, name) for name in ("snapshot", "model", "out") if getattr(asked, name)}
    return configs.apply(config, {f"paths.{name}": path for name, path in paths.items()})


def _there(config: Config, name: str) -> Path:
    path = Path(getattr(config.paths, name))
    if not str(getattr(config.paths, name)):
        raise ConfigError(f"Name the {name}, with --{name} or as paths.{name}.", f"paths.{name}")
    if not path.exists():
        raise ConfigError(f"The {name} {path} is not there.", f"paths.{name}")
    if name == "model" and not (path / "config.json").is_file():
        raise ConfigError(f"{path} is no model's folder: it has no config.json.", "paths.model")
    return path


def _make(run: RunFolder) -> None:
    try:
        run.made()
    except OSError as error:
        raise ConfigError(f"{run.path} cannot be the run's folder ({error.strerror or error}).", "paths.out") from error


def _check_packages(config: Config) -> None:
    import importlib.util

    wanted = [*torchside.NEEDED, *NEEDED, *(["deepspeed"] if config.train.parallel == "zero2" else [])]
    absent = [name for name in wanted if importlib.util.find_spec(name) is None]
    if absent:
        raise torchside.MissingPackages(torchside.needs("Training", absent))
    if config.stage == "grpo" and config.rollouts.use_vllm and importlib.util.find_spec("vllm") is None:
        raise ConfigError(
            "rollouts.use_vllm is true, and vLLM is not installed here; it is a package of its own for GPUs "
            "(docs/training.md), and rollouts.use_vllm=false does without it.",
            "rollouts.use_vllm",
        )
    if config.model.attention == "flash_attention_2" and importlib.util.find_spec("flash_attn") is None:
        raise ConfigError(
            "model.attention is flash_attention_2, and the package flash-attn is not installed here; "
            "model.attention=sdpa does without it.",
            "model.attention",
        )


# ---------------------------------------------------------------------------------------------------------------------
# What is noted


def _continue_only_the_same(session: Session) -> None:
    """Raises CannotTrain where the folder holds a run of other settings, data or weights."""
    run = session.folder
    if not run.facts.is_file():
        if run.newest() is not None:
            raise CannotTrain(f"{run.path} has checkpoints and no {run.facts.name} that says of which run.")
        return
    try:
        facts = jsonfields.mapping(jsonfields.load(run.facts.read_bytes()), run.facts.name)
        before = configs.load(run.config, session.config.stage)
    except (FormatError, ConfigError) as error:
        raise CannotTrain(f"{run.path} holds another run ({error})") from error
    old, new = _compared(before), _compared(session.config)
    for name in new:
        if old.get(name) != new[name]:
            raise CannotTrain(
                f"{run.path} holds a run with {name} {old.get(name)!r}, and now it is {new[name]!r}; name another "
                "--out."
            )
    for name, now in (("snapshot", snapshot_facts(session.snapshot)), ("model", model_facts(session.model))):
        if facts.get(name) != now:
            raise CannotTrain(f"{run.path} holds a run with another {name}; name another --out.")


def _compared(config: Config) -> dict[str, Any]:
    return {name: value for name, value in configs.flat(config).items() if not name.startswith(MAY_DIFFER)}


def _note(session: Session, stage: str, words: Sequence[str]) -> None:
    run = session.folder
    folder.write_bytes(run.config, configs.dump(session.config).encode())
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if run.facts.is_file():
        created = jsonfields.load(run.facts.read_bytes()).get("created", created)
    folder.write_json(
        run.facts,
        {
            "stage": stage,
            "preset": session.config.preset,
            "changed": configs.changed(session.config),
            "seed": session.config.train.seed,
            "snapshot": snapshot_facts(session.snapshot),
            "model": model_facts(session.model),
            "rows": len(session.rows),
            "versions": _versions(),
            "command": shlex.join(["python", "-m", f"ml.training.{stage}", *words]),
            "created": created,
        },
    )


def snapshot_facts(path: Path) -> dict[str, Any]:
    """Name and hash of a snapshot, as its own file has them; of a single file (packages), its own hash."""
    if path.is_file():
        import hashlib

        return {"name": path.name, "hash": hashlib.sha256(path.read_bytes()).hexdigest()}
    found = snapshots.facts_of(path)
    return {"name": found.get("name", path.name), "hash": found["hash"]}


def model_facts(path: Path) -> dict[str, Any]:
    """Name and fingerprint of a model's folder, and whether its weights began as random ones of ours."""
    return {"name": path.resolve().name, "fingerprint": fingerprint(path), "random_weights": is_tiny(path)}


def _versions() -> dict[str, str]:
    found = {}
    for name in VERSIONS:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Life of the process


@contextlib.contextmanager
def _holding(session: Session) -> Iterator[None]:
    if not session.main:
        yield
        return
    with folder.held(session.folder):
        yield


class _Tee(io.TextIOBase):
    """Writes to two streams; the log's lines are whole, since it is line-buffered."""

    def __init__(self, stream: TextIO, log: TextIO) -> None:
        self.stream, self.log = stream, log

    def write(self, text: str) -> int:
        self.log.write(text)
        with contextlib.suppress(OSError):  # whoever listened has gone; the log goes on
            self.stream.write(text)
            self.stream.flush()
        return len(text)

    def flush(self) -> None:
        self.log.flush()

    def fileno(self) -> int:
        return self.stream.fileno()

    def isatty(self) -> bool:
        return False


@contextlib.contextmanager
def _logged(session: Session) -> Iterator[None]:
    """Everything Python says, and what is said of a crash in compiled code, into log.txt as well."""
    if not session.main:
        yield
        return
    with session.folder.log.open("a", buffering=1, errors="replace") as log:
        faulthandler.enable(log)
        out, err = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Tee(out, log), _Tee(err, log)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = out, err
            faulthandler.disable()


@contextlib.contextmanager
def _signals(session: Session) -> Iterator[None]:
    """The first SIGTERM or Ctrl-C asks to stop; a second Ctrl-C ends at once."""

    def asked(number: int, _frame: Any) -> None:
        if number == signal.SIGINT and session.stop_asked:
            raise KeyboardInterrupt
        session.stop_asked = True

    before = {number: signal.signal(number, asked) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def die_with_parent(environ: Mapping[str, str] = os.environ) -> None:
    """Where it is asked for, be killed when the parent dies; exec keeps it, and each process sets its own."""
    if environ.get(DIE_WITH_PARENT) != "1":
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died in between
        os._exit(1)
