"""Is a release folder whole, do its layouts agree, and do the tools of the field read it?

    python -m ml.formats.check_release DIR [--own] [--venv FOLDER]

First our own checks: every file is there with its size and sha256, every layout can be read, and all of them say the
same of each item. Then the tools: `mlcroissant` validates and reads croissant.json, `datasets` and pandas load the
tables. Their pins clash with ours, so they are installed into a virtual environment that is thrown away afterwards
(`--venv` keeps one for the next time; `--own` leaves this part out).
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ml.formats import croissant, grasp_annotations, grasp_items, hf_dataset, lmms_eval, vlmevalkit
from ml.formats import jsonfields as read
from ml.formats.errors import FormatError

TOOLS = ("mlcroissant==1.1.1", "datasets==5.2.0", "pyarrow==26.0.1")

# Runs in the throw-away environment; prints one complaint a line.
SCRIPT = r"""
import json, logging, os, sys
from pathlib import Path

logging.disable(logging.WARNING)
os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
root, cache = Path(sys.argv[1]), sys.argv[2]
manifest = json.loads((root / "release.json").read_text())
expected = manifest["counts"]["split"]

import mlcroissant

os.chdir(root)  # contentUrl is relative to the folder
found = mlcroissant.Dataset(jsonld=root / "croissant.json")
for issue in sorted(found.metadata.ctx.issues.errors):
    print("mlcroissant:", " ".join(str(issue).split()))
for split, count in expected.items():
    records = list(found.records(record_set=split))
    ids = [record[f"{split}/id"] for record in records]
    if not manifest["withdrawn"] and len(set(ids)) != count:
        print(f"mlcroissant: {len(set(ids))} records of the split {split}, expected {count}")

import datasets

files = {split: str(root / f"data/{split}-00000-of-00001.parquet") for split in expected}
files = {split: path for split, path in files.items() if Path(path).exists()}
loaded = datasets.load_dataset("parquet", data_files=files, cache_dir=cache)
by_card = datasets.load_dataset(str(root), cache_dir=cache)
for split in files:
    if loaded[split].to_list() != by_card[split].to_list():
        print(f"datasets: the card leads to other rows of the split {split}")
    if loaded[split].features != by_card[split].features:
        print(f"datasets: the card states other features of the split {split}")

import pandas

for path in sorted((root / "vlmevalkit").glob("*.tsv")):
    table = pandas.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    split = path.stem.rpartition("_")[2]
    rows = {row["id"]: row for row in loaded[split].to_list()}
    for line in table.to_dict("records"):
        row = rows.get(line["id"])
        if row is None or row["question"] != line["question"] or row["answer"] != line["answer"]:
            print(f"pandas: line {line['index']} of {path.name} is not the item {line['id']}")
"""


def main(arguments: Sequence[str]) -> int:
    """Run; 0 when nothing is wrong, 1 with one sentence a line on stderr, 2 when the folder is no release."""
    options = _parser().parse_args(arguments)
    root: Path = options.folder.resolve()
    try:
        complaints = list(check(root))
    except FormatError as error:
        print(f"{root}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or root}: {error.strerror or error}.", file=sys.stderr)
        return 2
    if not complaints and not options.own:
        complaints = tools(root, options.venv)
    for sentence in complaints:
        print(sentence, file=sys.stderr)
    if not complaints:
        print(f"{root}: whole; {'its layouts agree' if options.own else 'its layouts agree, and the tools read them'}.")
    return 1 if complaints else 0


# ---------------------------------------------------------------------------------------------------------------------
# Our own checks


def check(root: Path) -> Iterator[str]:
    """Complaints about a release folder, one sentence each. Raises FormatError where it is none, OSError."""
    manifest = read.mapping(read.load((root / "release.json").read_bytes()), "release.json")
    files = read.sequence(read.member(manifest, "files", ""), "files")
    wrong = list(_files(root, files))
    yield from wrong
    if wrong:
        return
    rows = _rows(root)
    yield from _items(root, rows)
    yield from _tables(root, rows)
    yield from _described(root, rows)


def _files(root: Path, files: Sequence[Any]) -> Iterator[str]:
    listed = {"release.json"}
    for at, one in enumerate(files):
        place = f"files[{at}]"
        one = read.mapping(one, place)
        path = read.text(read.member(one, "path", place), f"{place}.path")
        if path.startswith("/") or ".." in path.split("/"):
            raise FormatError(f"{place}.path: {read.shown(path)} leads out of the folder.")
        listed.add(path)
        if not (root / path).is_file():
            yield f"{path} is missing."
            continue
        with (root / path).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != one.get("sha256"):
                yield f"{path} is not the file that was released."
    there = {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}
    yield from (f"{path} was not part of the release." for path in sorted(there - listed))


def _rows(root: Path) -> dict[str, dict[str, Any]]:
    """Rows of all Parquet files, by id, each with its split."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((root / "data").glob("*.parquet")):
        for row in hf_dataset.read_rows(path.read_bytes()):
            if row["id"] in found:
                raise FormatError(f"{path.name}: the id {row['id']} is there twice.")
            found[row["id"]] = row | {"split": path.name.partition("-")[0]}
    return found


def _items(root: Path, rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    for path in sorted((root / "json").glob("*.json")):
        item = grasp_items.parse_item(read.load(path.read_bytes()))
        row = rows.get(str(item.extra.get("id")))
        if row is None:
            yield f"{path.name}: there is no row of the item {item.extra.get('id')}."
            continue
        key = item.answer if item.open_ended else item.answer_text
        said = (item.question, [option[3:] for option in item.options], key, item.clip_file, item.extra.get("sha256"))
        told = (row["question"], row["options"], row["answer_text"], row["video"][6:], row["sha256"])
        if said != told:
            yield f"{path.name}: the item is not the row {row['id']}."
        if not item.open_ended and item.answer != row["answer"]:
            yield f"{path.name}: the key is {item.answer}, in the table {row['answer']}."
    for line in grasp_annotations.stream(root / "annotations.jsonl"):
        if str(line.id) not in rows or rows[str(line.id)]["split"] != line.extra.get("split"):
            yield f"annotations.jsonl: {line.id} is not in the table of its split."


def _tables(root: Path, rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    for path in sorted((root / "vlmevalkit").glob("*.tsv")):
        for line in vlmevalkit.parse(path.read_bytes()):
            row = rows.get(line.extra.get("id", ""))
            told = row and (row["number"], row["question"], row["options"], row["answer"], row["split"])
            if told != (line.index, line.question, line.options, line.answer, line.split):
                yield f"{path.name}: line {line.index} is not what the table holds."


def _described(root: Path, rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    card = hf_dataset.parse_card((root / "README.md").read_bytes())
    for split in card.splits:
        count = sum(row["split"] == split.name for row in rows.values())
        if split.num_examples != count or not (root / split.path).is_file():
            yield f"README.md: the split {split.name} has {split.num_examples} rows, the table {count}."
    described = croissant.parse((root / "croissant.json").read_bytes())
    for file in described.files:
        data = (root / file.content_url).read_bytes()
        if (file.content_size, file.sha256) != (len(data), hashlib.sha256(data).hexdigest()):
            yield f"croissant.json: {file.content_url} is another file."
    for path in sorted((root / "lmms_eval").glob("*.yaml")):
        for data_file in lmms_eval.parse(path.read_bytes()).dataset_kwargs.get("data_files", {}).values():
            if not (root / str(data_file)).is_file():
                yield f"{path.name}: there is no {data_file}."


# ---------------------------------------------------------------------------------------------------------------------
# The tools of the field


def tools(root: Path, keep: Path | None = None) -> list[str]:
    """Complaints of mlcroissant, datasets and pandas."""
    with tempfile.TemporaryDirectory(prefix="sightline-check-") as scratch:
        home = keep or Path(scratch) / "venv"
        python = home / "bin" / "python"
        if not python.exists():
            venv.create(home, with_pip=True)
            done = _run([str(python), "-m", "pip", "install", "--quiet", *TOOLS])
            if done.returncode:
                return [f"The tools could not be installed: {_last(done.stderr)}"]
        done = _run([str(python), "-c", SCRIPT, str(root), str(Path(scratch) / "cache")])
        said = [line for line in done.stdout.splitlines() if line.strip()]
        return said or ([f"The tools broke off: {_last(done.stderr)}"] if done.returncode else [])


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:400] if lines else "no word of why."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ml.formats.check_release", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `manage.py release` wrote")
    parser.add_argument("--own", action="store_true", help="only our own checks, nothing is installed")
    parser.add_argument("--venv", type=Path, metavar="FOLDER", help="environment of the tools, made if missing")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
