"""A release folder of the studio: every kind of question from its tables, who is visible from its GRASP items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ml.evaluation.bench import LEFT_OUT_OPEN, LETTER, LETTERS, NUMBER, Bench, Item, Wanted, gathered, lettered
from ml.evaluation.loaders import common
from ml.formats import grasp_items, hf_dataset
from ml.formats import jsonfields as read
from ml.formats.errors import FormatError
from ml.questions.taxonomy import CATEGORIES

KINDS = {"single": LETTER, "yes_no": LETTER, "multiple": LETTERS, "number": NUMBER}
RETIRED = "retired since it was released"


def load(path: Path, wanted: Wanted) -> Bench:
    """Load it; retired items are left out. Raises FormatError."""
    try:
        manifest = read.mapping(read.load((path / "release.json").read_bytes()), "release.json")
        facts = {name: manifest.get(name) for name in ("project", "number", "sha256")}
        withdrawn = len(read.sequence(manifest.get("withdrawn", []), "release.json: withdrawn"))
        retired = {str(number) for number in read.sequence(manifest.get("retired", []), "release.json: retired")}
        name = f"{facts['project']} r{facts['number']}"
        found = _items(path, retired, _beside(path))
        return gathered(name, "release", found, facts=facts | {"withdrawn": withdrawn})
    except OSError as error:
        raise FormatError(f"{error.filename or path}: {error.strerror or error}.") from error


def _beside(path: Path) -> dict[str, dict[str, Any]]:
    """What the GRASP items say beyond the tables, by id."""
    if not (path / "json").is_dir() or not any((path / "json").iterdir()):
        return {}
    return {str(item.extra["id"]): item.extra for item in grasp_items.stream(path) if "id" in item.extra}


def _items(path: Path, retired: set[str], beside: Mapping[str, dict[str, Any]]) -> Iterator[Item | str]:
    tables = sorted((path / "data").glob("*.parquet"))
    if not tables:
        raise FormatError(f"{path / 'data'} holds no table; a release folder has one for each split.")
    for table in tables:
        split = table.name.partition("-")[0]
        for at, row in enumerate(_rows(table)):
            place = f"{table.name}, row {at}"
            if str(row["number"]) in retired:
                yield RETIRED
            elif row["kind"] == "open":
                yield LEFT_OUT_OPEN
            else:
                try:
                    yield lettered(_item(row, split, beside.get(row["id"], {})), "the item")
                except FormatError as error:
                    raise FormatError(f"{place}: {error}") from error


def _rows(table: Path) -> list[dict[str, Any]]:
    try:
        return list(hf_dataset.read_rows(table.read_bytes()))
    except ImportError as error:
        raise FormatError("The tables of a release need pyarrow; install it with `make setup`.") from error


def _item(row: dict[str, Any], split: str, beside: dict[str, Any]) -> Item:
    if row["kind"] not in KINDS:
        raise FormatError(f"the kind {row['kind']!r} is none of {', '.join(KINDS)}.")
    kind, offered = KINDS[row["kind"]], tuple(row["options"] or ())
    key = (row["answer"].strip(),) if kind == NUMBER else common.keys(row["answer"], offered, "answer")
    if row["category"] not in CATEGORIES:
        raise FormatError(f"there is no category {row['category']!r}.")
    return Item(
        id=row["id"],
        question=row["question"],
        options=offered,
        key=key,
        kind=kind,
        category=row["category"],
        group=CATEGORIES[row["category"]].group,
        difficulty=row["difficulty"] or "",
        source=split,
        recording=row["source_recording"] or row["media_sha256"] or row["video"],
        video=row["video"],
        answer_text=row["answer_text"] or "",
        person_map=common.person_map(beside.get("person_map")),
        **common.truths({"gt_events": row["gt_events"], "persons": beside.get("persons")}),
    )
