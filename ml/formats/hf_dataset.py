"""A Hugging Face data set: Parquet shards of benchmark items, and the card (README.md) with its front matter.

Layout of a repository folder:

    README.md                               ---, YAML front matter, ---, Markdown
    data/<split>-00000-of-00001.parquet     one row an item, columns as in `COLUMNS`
    video/<file>.mp4                        what the column `video` names

Front matter: {"pretty_name", "license", "license_name"?, "language", "task_categories", "size_categories", "tags",
"configs": [{"config_name", "data_files": [{"split", "path"}]}], "dataset_info": {"features": [..], "splits": [{"name",
"num_bytes", "num_examples"}], "download_size", "dataset_size"}}. Fields beyond these are kept (`extra`).

The card: `parse_card`, `build_card`, pure. Rows: `write_rows`, `read_rows`; they need pyarrow, imported where it is
used. The same rows give the same bytes with the same pyarrow.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ml.formats import frontmatter
from ml.formats import jsonfields as read
from ml.formats.errors import FormatError

if TYPE_CHECKING:
    import pyarrow

Row = dict[str, Any]
_FENCE = re.compile(r"\A(?:\ufeff)?---[ \t]*\r?\n(.*?)(?:\r?\n)?---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
SPLIT = re.compile(r"[A-Za-z0-9_]{1,60}")
EVENT = {"source": "string", "persons": ["int32"], "start": "float64", "end": "float64"}
# column -> type: a word, [type] for a list, {name: type} for a struct
COLUMNS: dict[str, Any] = {
    "id": "string",
    "number": "int32",
    "question": "string",
    "options": ["string"],
    "answer": "string",
    "answer_text": "string",
    "kind": "string",
    "category": "string",
    "category_code": "string",
    "difficulty": "string",
    "video": "string",
    "clip_duration": "float64",
    "clip_offset": "float64",
    "clip_sha256": "string",
    "media_sha256": "string",
    "source_recording": "string",
    "licence": "string",
    "start_frame": "int64",
    "end_frame": "int64",
    "time_range": ["float64"],
    "persons": ["int32"],
    "reasoning": "string",
    "gt_events": [EVENT],
    "sha256": "string",
}
FIELDS = (
    "pretty_name", "license", "language", "task_categories", "size_categories", "configs", "dataset_info",
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Card


@dataclass
class Split:
    """One split: how many rows and bytes, and the path of its file."""

    name: str
    path: str
    num_examples: int
    num_bytes: int


@dataclass
class Card:
    """What the front matter says, and the Markdown below it."""

    pretty_name: str
    license: str
    language: list[str]
    task_categories: list[str]
    size_categories: list[str]
    splits: list[Split]
    features: list[dict[str, Any]]
    download_size: int = 0
    body: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


def parse_card(data: bytes | str) -> Card:
    """Read and check a card; `FormatError` names the place and the cause."""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise FormatError(f"The file is not UTF-8 text: byte {error.start} cannot be read.") from error
    found = _FENCE.match(text)
    if not found:
        raise FormatError("The card does not begin with front matter between two lines of ---.")
    head = read.mapping(frontmatter.load(found[1]), "the front matter")
    info = read.mapping(read.member(head, "dataset_info", ""), "dataset_info")
    features = read.sequence(read.member(info, "features", "dataset_info"), "dataset_info.features")
    return Card(
        pretty_name=read.text(read.member(head, "pretty_name", ""), "pretty_name"),
        license=read.text(read.member(head, "license", ""), "license"),
        language=_words(head, "language"),
        task_categories=_words(head, "task_categories"),
        size_categories=_words(head, "size_categories"),
        splits=_splits(head, info),
        features=[dict(read.mapping(one, f"dataset_info.features[{at}]")) for at, one in enumerate(features)],
        download_size=read.whole(info.get("download_size", 0), "dataset_info.download_size"),
        body=text[found.end() :],
        extra={key: head[key] for key in head if key not in FIELDS},
    )


def _words(head: Any, key: str) -> list[str]:
    value = read.member(head, key, "")
    listed = [value] if isinstance(value, str) else read.sequence(value, key)
    return [read.text(one, f"{key}[{at}]") for at, one in enumerate(listed)]


def _splits(head: Any, info: Any) -> list[Split]:
    place = "configs[0]"
    configs = read.sequence(read.member(head, "configs", ""), "configs")
    if len(configs) != 1:
        raise FormatError(f"configs: expected one configuration, found {len(configs)}.")
    files = read.sequence(read.member(read.mapping(configs[0], place), "data_files", place), f"{place}.data_files")
    paths = {}
    for at, one in enumerate(files):
        where = f"{place}.data_files[{at}]"
        one = read.mapping(one, where)
        name = read.text(read.member(one, "split", where), f"{where}.split")
        paths[name] = read.text(read.member(one, "path", where), f"{where}.path")
    found = []
    for at, one in enumerate(read.sequence(read.member(info, "splits", "dataset_info"), "dataset_info.splits")):
        where = f"dataset_info.splits[{at}]"
        one = read.mapping(one, where)
        name = read.text(read.member(one, "name", where), f"{where}.name")
        if not SPLIT.fullmatch(name) or name not in paths:
            raise FormatError(f"{where}.name: configs name no file of the split {read.shown(name)}.")
        numbers = [read.whole(read.member(one, key, where), f"{where}.{key}") for key in ("num_examples", "num_bytes")]
        found.append(Split(name, paths[name], *numbers))
    if len({split.name for split in found}) != len(found) or len(found) != len(paths):
        raise FormatError("dataset_info.splits: not the splits that configs name a file of, each once.")
    return found


def build_card(card: Card) -> str:
    """The text of README.md; `parse_card` of it gives an equal `Card`."""
    head = {
        "pretty_name": card.pretty_name,
        "license": card.license,
        **card.extra,
        "language": card.language,
        "task_categories": card.task_categories,
        "size_categories": card.size_categories,
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split.name, "path": split.path} for split in card.splits],
            }
        ],
        "dataset_info": {
            "features": card.features,
            "splits": [
                {"name": split.name, "num_bytes": split.num_bytes, "num_examples": split.num_examples}
                for split in card.splits
            ],
            "download_size": card.download_size,
            "dataset_size": sum(split.num_bytes for split in card.splits),
        },
    }
    return f"---\n{frontmatter.dump(head)}---\n{card.body}"


def size_category(count: int) -> str:
    """The Hub's word for a number of rows, such as n<1K."""
    for most, word in ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M")):
        if count < most:
            return word
    return "1M<n<10M"


def features() -> list[dict[str, Any]]:
    """`dataset_info.features` of the columns, as the Hub writes them."""
    return [{"name": name, **_feature(kind)} for name, kind in COLUMNS.items()]


def _feature(kind: Any) -> dict[str, Any]:
    if isinstance(kind, list):
        inner = kind[0]
        return {"list": inner if isinstance(inner, str) else _members(inner)}
    return {"struct": _members(kind)} if isinstance(kind, dict) else {"dtype": kind}


def _members(kind: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, **_feature(inner)} for name, inner in kind.items()]


# ---------------------------------------------------------------------------------------------------------------------
# Rows


def write_rows(rows: Sequence[Row]) -> bytes:
    """The rows as one Parquet file, columns in the order of `COLUMNS`; None where a row has no value."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, _arrow(kind)) for name, kind in COLUMNS.items()])
    table = pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS} for row in rows], schema=schema)
    target = io.BytesIO()
    pq.write_table(table, target, compression="zstd", version="2.6", row_group_size=10_000)
    return target.getvalue()


def read_rows(data: bytes) -> list[Row]:
    """The rows of a Parquet file with these columns. Raises FormatError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, _arrow(kind)) for name, kind in COLUMNS.items()])
    try:
        table = pq.read_table(io.BytesIO(data))
        missing = [name for name in COLUMNS if name not in table.column_names]
        if missing:
            raise FormatError(f"The table has no column {missing[0]}.")
        return list(table.select(list(COLUMNS)).cast(schema).to_pylist())
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"The file is no Parquet table of items ({_first_line(error)}).") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120].rstrip(". ")


def _arrow(kind: Any) -> pyarrow.DataType:
    import pyarrow as pa

    if isinstance(kind, list):
        return pa.list_(_arrow(kind[0]))
    if isinstance(kind, dict):
        return pa.struct([(name, _arrow(inner)) for name, inner in kind.items()])
    return getattr(pa, kind)()
