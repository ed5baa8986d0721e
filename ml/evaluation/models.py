"""Who answers: a file of predictions, the configured endpoint, or a model folder on this machine.

A model answers one item at a time with a `Reply`. What goes wrong with one item (a video that cannot be read, an
endpoint that gives up, memory that runs out) is a reply with `error` set: never an answer, never a wrong one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ml.endpoint import Config, EndpointError
from ml.evaluation import prompts
from ml.evaluation.bench import Bench, Item
from ml.evaluation.frames import Look, Shown, shown
from ml.formats import jsonfields as read
from ml.formats import lmms_log
from ml.formats.errors import FormatError
from ml.formats.jsonstream import Entry, entries

ENDPOINT = "endpoint"
IDS = ("id", "qid", "question_id", "item", "item_id", "sample_id")
TEXTS = ("text", "response", "output", "prediction", "reply", "answer", "letter")
NO_MEMORY = "Memory ran out while the model answered"
MISSING = "missing"  # the file of predictions has no line of the item


@dataclass(frozen=True)
class Reply:
    """What a model said to one item, or why it said nothing. `frames`: how many pictures it was shown; `prompt`: sha256
    of the words."""

    id: str
    text: str = ""
    error: str | None = None
    seconds: float | None = None
    frames: int | None = None
    prompt: str | None = None
    model: str | None = None
    finish: str | None = None
    more: dict[str, Any] = field(default_factory=dict)


class Model(Protocol):
    """Somebody who answers."""

    def describe(self) -> dict[str, Any]:
        """All that decides an answer, as JSON: kept with the results, and the same when a run is continued."""

    def answer(self, item: Item) -> Reply:
        """The reply to one item. Raises only what makes going on useless."""

    def close(self) -> None:
        """Nothing more is asked."""


@dataclass(frozen=True)
class Asking:
    """How items are put to a model that is asked. `look` None: the clip is not shown (text only)."""

    bench: Bench
    look: Look | None
    reasoning: bool = True
    tokens: int | None = None

    @property
    def most_tokens(self) -> int:
        return self.tokens or prompts.most_tokens(self.reasoning)

    def pictures(self, item: Item) -> list[Shown]:
        return [] if self.look is None or not item.video else shown(item, self.bench, self.look)

    def task(self, item: Item, pictures: list[Shown]) -> str:
        return prompts.task(item, reasoning=self.reasoning, shown=bool(pictures))

    def words(self, item: Item, pictures: list[Shown]) -> str:
        """sha256 of system and user words; pictures not included."""
        told = "\n".join(
            [prompts.system(item), *(f"<{one.second:.1f} seconds>" for one in pictures), self.task(item, pictures)]
        )
        return hashlib.sha256(told.encode()).hexdigest()


def open_model(name: str, asking: Asking, stop: Callable[[], None] = lambda: None) -> Model:
    """The model of that name: "endpoint", a file of predictions, or a folder with config.json.

    Raises FormatError, EndpointError (no endpoint is set up), MissingPackages (`make ml` was not run).
    """
    path = Path(name)
    if name == ENDPOINT:
        return ByEndpoint(Config.from_environment(), asking, stop)
    if path.is_file():
        return Predictions(path, asking.bench)
    if (path / "config.json").is_file():
        from ml.evaluation.local import LocalModel

        return LocalModel(path, asking)
    if path.is_dir():
        raise FormatError(f"{path} is no model folder: it has no config.json.")
    raise FormatError(
        f"There is no model {name}: it is neither a file of predictions, a model folder, nor {ENDPOINT!r}."
    )


# ---------------------------------------------------------------------------------------------------------------------
# A file


class Predictions:
    """Replies from a file: JSON lines or a list of {"id", "text"}, or the samples that lmms-eval logs.

    `id` may be named as in `IDS`, the reply as in `TEXTS`; a bare letter is a reply. A line with "error" is an error.
    The samples of lmms-eval have the item's number in the benchmark instead, and its key, which must agree.
    """

    def __init__(self, path: Path, bench: Bench) -> None:
        self.path = path
        known = {item.id for item in bench.items}
        self.replies: dict[str, Reply] = {}
        self.unknown = 0
        for entry in entries(path):
            try:
                reply = _sample(entry, bench) if lmms_log.is_sample(entry.tree) else _line(entry.tree)
            except FormatError as error:
                raise FormatError(f"{entry.place}: {error}") from error
            if reply.id not in known:
                self.unknown += 1
            elif reply.id in self.replies:
                raise FormatError(f"{entry.place}: the item {reply.id} is there twice.")
            else:
                self.replies[reply.id] = reply
        if not self.replies:
            raise FormatError(f"{path}: none of its {self.unknown} ids is an item of {bench.name}.")

    def describe(self) -> dict[str, Any]:
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        named = {reply.model for reply in self.replies.values() if reply.model}
        name = named.pop() if len(named) == 1 else self.path.stem
        return {
            "kind": "predictions", "name": name, "file": self.path.name, "sha256": digest,
            "unknown_ids": self.unknown,
        }  # fmt: skip

    def answer(self, item: Item) -> Reply:
        return self.replies.get(item.id) or Reply(item.id, error=MISSING)

    def close(self) -> None:
        pass


def _line(tree: Any) -> Reply:
    row = read.mapping(tree, "the prediction")
    id = next((row[name] for name in IDS if row.get(name) is not None), None)
    if id is None and isinstance(row.get("clip_file"), str):
        id = Path(row["clip_file"]).stem  # a GRASP item with the reply beside it
    if id is None:
        raise FormatError(f"the field id is missing (or one of {', '.join(IDS[1:])}).")
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise read.fail("id", "text or a number", id)
    model = row.get("model")
    told: dict[str, Any] = {"model": model if isinstance(model, str) else None}
    if row.get("error"):
        return Reply(str(id), error=read.text(row["error"], "error"), **told)
    name = next((name for name in TEXTS if name in row), None)
    if name is None:
        raise FormatError(f"the field text is missing (or one of {', '.join(TEXTS[1:])}).")
    value = row[name]
    return Reply(str(id), "" if value is None else read.text(value, name), **told)


def _sample(entry: Entry, bench: Bench) -> Reply:
    sample = lmms_log.parse_sample(entry.tree)
    if sample.doc_id >= len(bench.items):
        raise FormatError(f"doc_id: {sample.doc_id} is beyond the {len(bench.items)} items of the benchmark.")
    item = bench.items[sample.doc_id]
    if sample.target != ",".join(item.key):
        raise FormatError(
            f"target: {read.shown(sample.target)} is not the key {','.join(item.key)} of the item {item.id}; "
            "the samples are of another benchmark, or in another order."
        )
    return Reply(item.id, sample.text, error=sample.error)


# ---------------------------------------------------------------------------------------------------------------------
# The endpoint


class ByEndpoint:
    """The configured endpoint, asked at temperature 0. `stop` is called while it is waited for and may raise."""

    def __init__(self, config: Config, asking: Asking, stop: Callable[[], None] = lambda: None) -> None:
        from ml.endpoint.client import Endpoint

        self.config, self.asking = config, asking
        self.endpoint = Endpoint(config, stop=stop)

    def describe(self) -> dict[str, Any]:
        told = {"kind": ENDPOINT, "name": self.config.model, "url": self.config.url}
        return told | ({"extra": self.config.told_extra} if self.config.extra else {})

    def answer(self, item: Item) -> Reply:
        from ml.endpoint.client import picture, system, user, words

        pictures = looked(self.asking, item)
        if isinstance(pictures, str):
            return Reply(item.id, error=pictures)
        parts = [part for one in pictures for part in (words(f"<{one.second:.1f} seconds>"), picture(one.jpeg))]
        messages = [system(prompts.system(item)), user(*parts, words(self.asking.task(item, pictures)))]
        told: dict[str, Any] = {"frames": len(pictures), "prompt": self.asking.words(item, pictures)}
        try:
            said = self.endpoint.say(
                messages, temperature=0.0, max_tokens=self.asking.most_tokens, stop_at=[prompts.STOP]
            )
        except EndpointError as error:
            return Reply(item.id, error=_sentence(error), **told)
        told |= {"seconds": round(said.seconds, 3), "model": said.model, "finish": said.finish or None}
        return Reply(item.id, prompts.closed(said.text, said.finish), **told)

    def close(self) -> None:
        self.endpoint.close()


def looked(asking: Asking, item: Item) -> list[Shown] | str:
    """The item's pictures, or why there are none, in a sentence."""
    try:
        return asking.pictures(item)
    except (ValueError, OSError) as error:  # FormatError and MediaError are ValueErrors
        return _sentence(error)
    except MemoryError:
        return f"{NO_MEMORY}: its pictures do not fit."
    except ImportError as error:
        return f"Reading videos needs {error.name}; install it with `make setup`."


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, of the machine or of a GPU, by whatever library said so."""
    named = {kind.__name__ for kind in type(error).__mro__}
    return bool({"MemoryError", "OutOfMemoryError"} & named) or "out of memory" in str(error).lower()


def _sentence(error: BaseException) -> str:
    return str(error) or type(error).__name__
