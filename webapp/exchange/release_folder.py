"""A release as a folder: every layout it is given out in, from its rows alone.

    release.json        number, sha256, counts, agreement, limits, changes, withdrawn; every file's size and sha256
    README.md           the card: front matter for the Hub, composition, agreement, limits, changes
    json/<clip>.json    GRASP items            annotations.jsonl   one line an item
    video/<clip>.mp4    clips
    data/*.parquet      Hugging Face           croissant.json      Croissant 1.0
    lmms_eval/          task and functions     vlmevalkit/*.tsv    lines with a letter
    composition/*.svg   bars                   provenance.jsonl    where each item comes from
    retired.json        items that should no longer be used, where there are any

All but the clips are metadata: the same rows give the same bytes on any machine. What was withdrawn is left out and
named by its hash. pyarrow is imported where it is used: workers and commands only.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ml.formats import croissant, grasp_items, hf_dataset, lmms_eval, vlmevalkit
from ml.formats.plainfile import naming
from webapp.bench.models import Release, ReleaseItem
from webapp.bench.releases import Draft
from webapp.exchange import release_card, release_plots
from webapp.exchange import release_items as layouts
from webapp.lib import storage
from webapp.lib.errors import Refused

ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest a ZIP can say: when it was packed is no property of it
VERSION = 1


@dataclass(frozen=True)
class Entry:
    """One item as it was released."""

    number: int
    split: str
    sha256: str
    item: dict[str, Any]


@dataclass(frozen=True)
class Content:
    """A release as its rows tell it: items that are there, hashes of those withdrawn, retirements by item id."""

    slug: str
    title: str
    licence: str
    number: int
    sha256: str
    notes: str
    facts: dict[str, Any]
    entries: list[Entry]
    withdrawn: list[dict[str, Any]]
    retired: list[dict[str, Any]]

    @property
    def splits(self) -> list[str]:
        return sorted({entry.split for entry in self.entries})

    @property
    def name(self) -> str:
        """A plain word for files and tasks."""
        return f"{self.slug.replace('-', '_')}_r{self.number}"


def ordered(tree: Any) -> Any:
    """The tree with its keys in the order of the alphabet: the database keeps them in one of its own."""
    if isinstance(tree, dict):
        return {key: ordered(tree[key]) for key in sorted(tree)}
    return [ordered(item) for item in tree] if isinstance(tree, list) else tree


def content_of(release: Release) -> Content:
    """Read a release's rows: two queries."""
    rows = list(release.items.order_by("position"))
    there = [row for row in rows if "withdrawn" not in row.item]
    return Content(
        slug=release.project.slug,
        title=release.project.name,
        licence=licence_of([row.item for row in there], release.project.licence),
        number=release.number,
        sha256=release.sha256,
        notes=release.notes,
        facts=ordered(release.facts),
        entries=[Entry(row.position, row.split, row.sha256, ordered(row.item)) for row in there],
        withdrawn=[{"number": row.position, "sha256": row.sha256} for row in rows if "withdrawn" in row.item],
        retired=[_retired(row) for row in rows if row.retired is not None],
    )


def licence_of(items: Iterable[Mapping[str, Any]], project: str) -> str:
    """What the released videos are under, as frozen with the items; the project's words where no item says."""
    return "; ".join(sorted({item["video"]["licence"] for item in items} - {""})) or project


def content_of_draft(made: Draft) -> Content:
    """The same of a release that is about to be kept."""
    rows = zip(made.items, made.splits, made.hashes, strict=True)
    return Content(
        slug=made.project.slug,
        title=made.project.name,
        licence=licence_of(made.items, made.project.licence),
        number=made.number,
        sha256=made.sha256,
        notes=made.notes,
        facts=ordered(made.facts),
        entries=[
            Entry(number, split, sha256, ordered(item)) for number, (item, split, sha256) in enumerate(rows, start=1)
        ],
        withdrawn=[],
        retired=[],
    )


def _retired(row: ReleaseItem) -> dict[str, Any]:
    assert row.retired is not None
    return {
        "number": row.position,
        "id": row.item.get("id"),
        "sha256": row.sha256,
        "date": row.retired.date().isoformat(),
        "reason": row.retired_why,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Metadata


def metadata(content: Content) -> dict[str, bytes]:
    """Path -> bytes of every file but the clips, release.json last."""
    files = dict(_items(content))
    shards = dict(_shards(content))
    files |= shards
    files |= _composition(content)
    files["README.md"] = release_card.card(content, shards).encode()
    files["lmms_eval/utils.py"] = lmms_eval.utils().encode()
    for split in content.splits:
        files[f"lmms_eval/{content.name}_{split}.yaml"] = lmms_eval.build(_task(content, split)).encode()
    files |= _tables(content)
    files["croissant.json"] = _json(croissant.build(release_card.croissant_of(content, shards)))
    if content.retired:
        files["retired.json"] = _json(content.retired)
    files["release.json"] = _json(_manifest(content, files))
    return files


def _json(tree: Any) -> bytes:
    return (json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _lines(trees: list[Any]) -> bytes:
    return "".join(json.dumps(tree, ensure_ascii=False, allow_nan=False) + "\n" for tree in trees).encode()


def _items(content: Content) -> Iterator[tuple[str, bytes]]:
    annotations, provenance = [], []
    for entry in content.entries:
        item = entry.item
        if item["kind"] in layouts.GRASP_KINDS:
            tree = layouts.grasp_item(item, entry.number, content.slug) | {"sha256": entry.sha256, "split": entry.split}
            built = grasp_items.build(grasp_items.parse_item(tree))
            yield f"json/{Path(layouts.clip_name(item, entry.number)).stem}.json", _json(built)
        annotations.append(layouts.annotation(item, entry.number, entry.split, entry.sha256))
        told = {"number": entry.number, "id": item["id"], "sha256": entry.sha256, "visible": item["visible"]}
        provenance.append(told | item["provenance"] | {"clip": item["clip"], "video": item["video"]})
    yield "annotations.jsonl", _lines(annotations)
    yield "provenance.jsonl", _lines(provenance)


def _shards(content: Content) -> Iterator[tuple[str, bytes]]:
    for split in content.splits:
        rows = [layouts.hf_row(one.item, one.number, one.sha256) for one in content.entries if one.split == split]
        yield f"data/{split}-00000-of-00001.parquet", hf_dataset.write_rows(rows)


def _composition(content: Content) -> dict[str, bytes]:
    counts = release_card.counts_in_words(content)
    return {f"composition/{what}.svg": release_plots.bars(what, counts[what]).encode() for what in counts}


def _task(content: Content, split: str) -> lmms_eval.Task:
    return lmms_eval.Task(
        task=f"{content.name}_{split}",
        dataset_path="parquet",
        dataset_kwargs={"data_files": {split: f"data/{split}-00000-of-00001.parquet"}},
        version=float(content.number),
        test_split=split,
        process_docs="utils.process_docs",
    )


def _tables(content: Content) -> dict[str, bytes]:
    found = {}
    for split in content.splits:
        lines = [
            layouts.vlmeval_line(one.item, one.number, split)
            for one in content.entries
            if one.split == split and one.item["kind"] in layouts.LETTERED
        ]
        found[f"vlmevalkit/{content.name}_{split}.tsv"] = vlmevalkit.build(lines).encode()
    return found


def _manifest(content: Content, files: dict[str, bytes]) -> dict[str, Any]:
    clips = {
        f"video/{layouts.clip_name(one.item, one.number)}": (one.item["clip"]["bytes"], one.item["clip"]["sha256"])
        for one in content.entries
    }
    written = {path: (len(data), hashlib.sha256(data).hexdigest()) for path, data in files.items()}
    return {
        "v": VERSION,
        "project": content.slug,
        "name": content.title,
        "number": content.number,
        "sha256": content.sha256,
        "notes": content.notes,
        **content.facts,
        "withdrawn": content.withdrawn,
        "retired": [one["number"] for one in content.retired],
        "files": [
            {"path": path, "bytes": size, "sha256": value} for path, (size, value) in sorted((written | clips).items())
        ],
    }


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def pack(files: dict[str, bytes]) -> bytes:
    """The metadata as one ZIP; the same files give the same bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            info = zipfile.ZipInfo(path, ZIP_TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, data)
    return target.getvalue()


def write_folder(
    content: Content, out: Path, *, clips: bool = True, progress: Callable[[float], None] = lambda _: None
) -> list[str]:
    """Write the whole release to a folder that is not there yet, or empty; the paths written.

    It appears when it is whole: it grows beside its place as `.<name>.part`, which a killed attempt leaves and the next
    one clears. Raises Refused: the folder holds something, or a clip is gone.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Refused(f"{out} is there already and holds something; name a new folder.", "out")
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        with naming(out):
            paths = _write(content, part, clips, progress)
            if out.exists():
                out.rmdir()
            part.replace(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return paths


def _write(content: Content, part: Path, clips: bool, progress: Callable[[float], None]) -> list[str]:
    files = metadata(content)
    for path, data in files.items():
        (part / path).parent.mkdir(parents=True, exist_ok=True)
        (part / path).write_bytes(data)
    paths = list(files)
    (part / "video").mkdir(parents=True, exist_ok=True)
    for done, entry in enumerate(content.entries if clips else []):
        path = f"video/{layouts.clip_name(entry.item, entry.number)}"
        _copy_clip(entry, part / path)
        paths.append(path)
        progress(done / len(content.entries))
    return paths


def _copy_clip(entry: Entry, target: Path) -> None:
    """Raises Refused where the clip is gone or is not the one that was released."""
    clip = entry.item["clip"]
    try:
        with storage.local(f"clips/{clip['recipe']}/clip.mp4") as source:
            shutil.copyfile(source, target)
    except FileNotFoundError as error:
        raise Refused(f"The clip of item {entry.number} is no longer there.", "clips") from error
    with target.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != clip["sha256"]:
            raise Refused(f"The clip of item {entry.number} is not the one that was released.", "clips")
