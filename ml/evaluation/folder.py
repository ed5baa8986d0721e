"""The folder of one evaluation, item by item: an interrupted one goes on, a finished one is only counted again.

    run.json         what decides the answers: model, benchmark, prompt, settings; a run with others is refused
    replies.jsonl    one line an item, written as it comes: {"id", "text", "error"?, "seconds", "frames", ..}
    items.jsonl      one line an item, scored
    results.json     tables, grounded participants, published rows, provenance, notes
    lmms_eval/       <date>_results.json and <date>_samples_<task>.jsonl, as lmms-eval logs them

Only one process writes into a folder. Items whose reply was an error are asked again by the next call.
"""

from __future__ import annotations

import fcntl
import json
import platform
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ml.evaluation import controls, grounded, prompts, published, tables
from ml.evaluation.bench import Bench, Item, canonical
from ml.evaluation.models import MISSING, Model, Reply
from ml.evaluation.scoring import HEADLINE, READINGS
from ml.evaluation.tables import Scored, scored
from ml.formats import jsonfields as read
from ml.formats import lmms_log
from ml.formats.errors import FormatError
from ml.formats.plainfile import write_file
from ml.progress import Progress, silent
from ml.statistics import bootstrap

VERSION = 1
MOST_IN_A_ROW = 5  # errors, after which going on is pointless
STAGE = "items"


class GivenUp(ValueError):
    """Too many items in a row failed; what is answered is kept."""


def evaluate(
    *,
    bench: Bench,
    model: Model,
    out: Path,
    settings: dict[str, Any],
    progress: Progress = silent,
    replicates: int = bootstrap.REPLICATES,
    seed: int = 0,
    keep_going: bool = False,
    name: str = "",
) -> dict[str, Any]:
    """Ask what is not answered yet, score everything, write the folder; the results.

    `bench`: under its control already; `settings`: what else decides the answers, as JSON; `keep_going`: however many
    items in a row fail; `name`: what the model is called, where its folder's name says little. Raises FormatError
    (another evaluation is in the folder, or writes there now), GivenUp, what the model or `progress` raises; OSError.
    """
    out.mkdir(parents=True, exist_ok=True)
    with only_writer(out):
        run = _run(out, bench, model, settings, name)
        written = run["model"]["kind"] == "predictions"  # a file is at its end, whatever it says
        replies = _answered(out, bench, model, progress, keep_going or written)
        rows = [scored(item, replies[item.id]) for item in bench.items]
        found = results(rows, bench, run, replicates=replicates, seed=seed)
        _write(out, rows, bench, run, found)
    return found


@contextmanager
def only_writer(out: Path) -> Iterator[None]:
    """Hold the folder. Raises FormatError where another process does."""
    with (out / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FormatError(f"Another evaluation is writing into {out}.") from None
        yield


def _run(out: Path, bench: Bench, model: Model, settings: dict[str, Any], name: str) -> dict[str, Any]:
    """What decides the answers, kept with the first call. Raises FormatError where the folder holds something else."""
    decides = {
        "v": VERSION,
        "model": model.describe() | ({"name": name} if name else {}),
        "bench": {
            "name": bench.name, "kind": bench.kind, "sha256": bench.sha256(), "items": len(bench.items),
            "left_out": bench.left_out, "sound": bench.sound, **bench.facts,
        },
        "control": bench.control,
        "prompt": prompts.VERSION,
        "settings": settings,
    }  # fmt: skip
    path = out / "run.json"
    decides = json.loads(json.dumps(decides))
    if path.exists():
        kept = read.mapping(read.load(path.read_bytes()), "run.json")
        for name, value in decides.items():
            if kept.get(name) != value:
                raise FormatError(
                    f"{out} holds an evaluation with another {name}; name a new folder, or empty this one."
                )
        return dict(kept)
    run = decides | {"started": _now(), "made_by": {"python": platform.python_version(), "numpy": np.__version__}}
    write_file(path, (json.dumps(run, indent=1, ensure_ascii=False) + "\n").encode())
    return run


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ---------------------------------------------------------------------------------------------------------------------
# Replies


def read_replies(path: Path) -> dict[str, Reply]:
    """The replies of a folder, the last of an id; a last line that was cut short by a kill is left out."""
    found: dict[str, Reply] = {}
    if not path.exists():
        return found
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            tree = read.mapping(read.load(line), f"{path.name}, line {number}")
            reply = Reply(**tree)
        except (FormatError, TypeError) as error:
            if number == len(lines):
                break
            raise FormatError(f"{path.name}, line {number}: it is no reply of an evaluation ({error}).") from error
        found[reply.id] = reply
    return found


def _line(reply: Reply) -> bytes:
    told = {name: value for name, value in asdict(reply).items() if value not in (None, {})}
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"


def _answered(out: Path, bench: Bench, model: Model, progress: Progress, keep_going: bool) -> dict[str, Reply]:
    """A reply of every item, those of an earlier call among them."""
    path = out / "replies.jsonl"
    known = {item.id for item in bench.items}
    kept = {id: reply for id, reply in read_replies(path).items() if reply.error is None and id in known}
    write_file(path, b"".join(_line(reply) for reply in kept.values()))
    in_a_row = 0
    progress(STAGE, len(kept) / len(bench.items))
    with path.open("ab") as file:
        for item in bench.items:
            if item.id in kept:
                in_a_row = 0  # it lies between them, also when it was answered by an earlier call
                continue
            reply = model.answer(item)
            kept[item.id] = reply
            file.write(_line(reply))
            file.flush()
            in_a_row = in_a_row + 1 if reply.error not in (None, MISSING) else 0
            progress(STAGE, len(kept) / len(bench.items))
            if in_a_row >= MOST_IN_A_ROW and not keep_going and len(kept) < len(bench.items):
                last = str(reply.error).rstrip(".")
                raise GivenUp(
                    f"{in_a_row} items in a row failed, the last with: {last}. What is answered is kept; the same "
                    "command goes on."
                )
    return kept


# ---------------------------------------------------------------------------------------------------------------------
# Results


def results(
    rows: Sequence[Scored],
    bench: Bench,
    run: dict[str, Any],
    *,
    replicates: int = bootstrap.REPLICATES,
    seed: int = 0,
) -> dict[str, Any]:
    """All that is known of an evaluation, as JSON."""
    told = tables.tables(rows, replicates=replicates, seed=seed)
    groups = {
        row["name"]: value
        for row in told["tables"].get("group", [])
        if (value := row["accuracy"][HEADLINE]["value"]) is not None
    }
    overall = told["overall"]["accuracy"][HEADLINE]["value"]
    if bench.kind in published.MEAN_OVER_TASKS and told["macro"] is not None:
        overall = told["macro"][HEADLINE]["value"]
    # under a control ours is no row of the table
    beside = None if bench.control else published.beside(bench.kind, bench.name, overall, groups)
    unknown = run["model"].get("unknown_ids", 0)
    beyond = [f"{unknown} predictions are of items that are not asked here."] if unknown else []
    served = sorted({row.reply.model for row in rows if row.reply.model})
    devices = sorted({row.reply.more["device"] for row in rows if "device" in row.reply.more})
    return {
        **run,
        "finished": _now(),
        "served": served,  # the names models gave themselves
        "devices": devices,
        "headline": HEADLINE,
        "readings": list(READINGS),
        "bootstrap": {"replicates": replicates, "seed": seed, "unit": "source video"},
        **told,
        "grounded": grounded.summary(rows, seed=seed),
        "published": beside,
        "notes": notes(rows, bench) + beyond,
    }


def notes(rows: Sequence[Scored], bench: Bench) -> list[str]:
    """What a reader of the tables has to know, in sentences."""
    said = []
    if bench.sound:
        said.append(f"Video only: models were not given {bench.sound}.")
    if bench.control:
        said.append(f"This is the control {bench.control['name']} (seed {bench.control['seed']}).")
    said += [f"{count} items are left out: {reason}." for reason, count in bench.left_out.items()]
    blind = sum(row.reply.frames == 0 for row in rows)
    if blind and not (bench.control and bench.control["name"] == controls.TEXT_ONLY):
        said.append(f"{blind} items name no video and were asked without any picture.")
    cut = sum(row.reply.finish == "length" for row in rows)
    if cut:
        said.append(f"{cut} replies were cut off at the most tokens allowed.")
    errors: dict[str, int] = {}
    for row in rows:
        if row.state() == tables.ERROR:
            sentence = re.sub(r"\d+", "n", str(row.reply.error)).rstrip(".")
            errors[sentence] = errors.get(sentence, 0) + 1
    told = sorted(errors.items(), key=lambda pair: -pair[1])
    said += [f"{count} {'error' if count == 1 else 'errors'} like: {sentence}." for sentence, count in told[:5]]
    if len(told) > 5:
        said.append(f"{sum(count for _, count in told[5:])} errors of other kinds.")
    kinds = {row.item.kind for row in rows}
    if len(kinds) > 1:
        said.append(f"The overall numbers mix kinds of answers ({', '.join(sorted(kinds))}); see the table by kind.")
    return said


def item_row(row: Scored) -> dict[str, Any]:
    """One item with its score, as JSON."""
    item = row.item
    return {
        "id": item.id,
        "category": item.category,
        "group": item.group,
        "difficulty": item.difficulty,
        "source": item.source,
        "recording": item.recording or item.id,
        "kind": item.kind,
        "key": list(item.key),
        "state": {reading: row.state(reading) for reading in READINGS},
        "said": {reading: list(found.said) for reading, found in row.reads.items()},
        "score": {reading: found.score for reading, found in row.reads.items()},
        "precision": grounded.precision(row),
        "error": row.reply.error,
    }


def _write(out: Path, rows: Sequence[Scored], bench: Bench, run: dict[str, Any], found: dict[str, Any]) -> None:
    write_file(out / "items.jsonl", _lines([item_row(row) for row in rows]))
    logs = out / "lmms_eval"
    logs.mkdir(exist_ok=True)
    # a colon is no part of a file's name everywhere, and lmms-eval replaces it, too
    date = str(run["started"])[:19].replace(":", "-").replace("-", "", 2).replace("T", "_").replace("-", "")
    name = task_name(bench)
    write_file(logs / f"{date}_samples_{name}.jsonl", _lines(list(_samples(rows))))
    config = {"dataset_path": bench.name, "output_type": "generate_until", "metadata": {"sha256": bench.sha256()}}
    whole = lmms_log.build_results(
        name, _metrics(rows), n=len(rows), config=config, model=str(run["model"]["name"]), date=date
    )
    write_file(logs / f"{date}_results.json", (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode())
    # last: where it is, everything is
    write_file(out / "results.json", (json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())


def _lines(trees: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(tree, ensure_ascii=False, allow_nan=False) + "\n" for tree in trees).encode()


def task_name(bench: Bench) -> str:
    """A plain word for the task: letters, digits, underscores."""
    return re.sub(r"\W+", "_", f"{bench.kind}_{bench.name}".lower()).strip("_")


def _metrics(rows: Sequence[Scored]) -> dict[str, tuple[float, float | None]]:
    """Accuracy over all items as lmms-eval counts, errors as 0, and its standard error."""
    found = np.array([row.reads[HEADLINE].score if row.reads else 0.0 for row in rows])
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None
    return {"accuracy": (float(found.mean()), error)}


def _samples(rows: Sequence[Scored]) -> Iterator[dict[str, Any]]:
    for at, row in enumerate(rows):
        item = row.item
        said = ",".join(row.reads[HEADLINE].said) if row.reads else ""
        score = row.reads[HEADLINE].score if row.reads else 0.0
        yield lmms_log.build_sample(
            lmms_log.Sample(
                doc_id=at,
                target=",".join(item.key),
                text=row.reply.text,
                filtered=said,
                input=prompts.task(item, reasoning=True, shown=bool(item.video)),
                doc=canonical(item),
                metrics={
                    "accuracy": {
                        "score": score, "id": item.id, "category": item.category, "difficulty": item.difficulty,
                    }
                },
                error=row.reply.error,
            )
        )  # fmt: skip


def picked(bench: Bench, limit: int | None) -> Bench:
    """At most so many items, evenly spaced over the benchmark."""
    if limit is None or limit >= len(bench.items):
        return bench
    if limit < 1:
        raise FormatError(f"A limit of {limit} items leaves nothing to ask.")
    chosen = [bench.items[k * len(bench.items) // limit] for k in range(limit)]
    left = bench.left_out | {f"beyond the limit of {limit}": len(bench.items) - limit}
    return replace(bench, items=tuple(chosen), left_out=left)


def controlled_line(item: Item) -> dict[str, Any]:
    """An item as somebody else may ask it: no key."""
    told = {"id": item.id, "question": item.question, "options": list(item.options), "kind": item.kind}
    shown = {name: value for name in ("video", "start", "end") if (value := getattr(item, name)) is not None}
    beside: dict[str, Any] = {"context": list(item.context)} if item.context else {}
    if item.person_map:
        beside["person_map"] = {str(tag): person for tag, person in item.person_map}
    return {**told, **shown, **beside}
