"""Make a data snapshot: a folder with rows and clips, split by source recording, that never changes afterwards.

    python -m ml.training.snapshot SOURCE... OUT [--seed 0] [--validation-share 0.1] [--name WORDS]
                                   [--grasp-records FILE --videos DIR] [--no-pictures]
    python -m ml.training.snapshot --check SNAPSHOT

A source is a release folder (`manage.py release`), or a file of frozen items whose clips lie below --videos. GRASP's
training records come by --grasp-records, with the videos they name below --videos. `ml.training.rows` has the layout of
the folder; what snapshot.json holds:

    {"version": 1, "name", "hash", "created_from": [..], "seed", "validation_share",
     "counts": {"train": {"items", "sft", "grpo"}, "validation": {..}},
     "recordings": {"train": [..], "validation": [..]},
     "clips": {"files", "bytes"}, "leaks": [sentences], "coverage": {"train": share | null, "validation": ..},
     "left_out": {reason: items}}

The hash is over what the rows teach: question, options, answer, reasoning, events, split, clip and video by their
hashes. Names, ids, dates, where an item comes from and the order of the rows have no part in it. `coverage` is SGR
coverage: the share of rows with options that have a participant whom the question does not name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.hashing import canonical, sha256_of
from ml.formats.plainfile import naming
from ml.progress import Progress, silent
from ml.rewards.registry import coverage
from ml.training import sources
from ml.training.rows import CLIPS, GRPO, ROWS, SFT, SPLITS, TrainingRow, build_row, of_stage, read, reward_row
from ml.training.sources import row_of as row_of
from ml.training.splits import leaks, split

VERSION = 1
FACTS = "snapshot.json"
BAD_INPUT = 2
SUPERSEDED = "another version of the same question is newer"
TWICE = "the same item came twice"


def build(
    rows: Iterable[TrainingRow],
    clips: Callable[[str], Path],
    out: Path,
    *,
    name: str,
    validation_share: float = 0.1,
    seed: int = 0,
    created_from: Sequence[Mapping[str, Any]] = (),
    left_out: Mapping[str, int] | None = None,
    pictures: bool = True,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the snapshot of these rows to a folder that is not there yet, or empty; what its snapshot.json says.

    `clips`: from a clip's sha256 to a file with it; asked for one after another, and copied before the next is asked
    for. Of several versions of a question the newest is taken. `pictures`: clips of the two splits are compared by
    picture hashes, for which each is decoded at three moments. The folder appears when it is whole.

    Raises FormatError (nothing to write, a clip is gone or another one, OUT holds something), ValueError (the share),
    OSError, what `clips` and `progress` raise.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FormatError(f"{out} is there already and holds something; name a new folder.")
    kept, dropped = newest(rows)
    if not kept:
        raise FormatError("There is no row to make a snapshot of.")
    ordered = sorted(split(kept, validation_share, seed), key=lambda row: (row.split, row.id))
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        with naming(out):
            (part / CLIPS).mkdir(parents=True)
            size = _copy(ordered, clips, part, progress)
            hashes, unread = _hashes(ordered, part, progress) if pictures else ({}, "Pictures were not compared.")
            facts = {
                "version": VERSION,
                "name": name,
                "hash": content_hash(ordered),
                "created_from": list(created_from),
                "seed": seed,
                "validation_share": validation_share,
                **_facts(ordered),
                "clips": size,
                "leaks": [*leaks(ordered, hashes), *([unread] if unread else [])],
                "left_out": dict(sorted((Counter(left_out or {}) + dropped).items())),
            }
            (part / ROWS).write_bytes(b"".join(canonical(build_row(row)) + b"\n" for row in ordered))
            (part / FACTS).write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            if out.exists():
                out.rmdir()
            part.replace(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return facts


def newest(rows: Iterable[TrainingRow]) -> tuple[list[TrainingRow], Counter[str]]:
    """Each item once, and of one question's versions the newest; how many were dropped, by reason.

    Of two rows of an item that with reasoning is kept: records of both stages have it.
    """
    dropped: Counter[str] = Counter()
    by_id: dict[str, TrainingRow] = {}
    for row in rows:
        dropped[TWICE] += row.id in by_id
        if row.id not in by_id or (row.reasoning and not by_id[row.id].reasoning):
            by_id[row.id] = row
    latest: dict[tuple[Any, Any], int] = {}
    for row in by_id.values():
        told = row.provenance
        if told.get("question"):
            question = (told.get("project"), told["question"])
            latest[question] = max(latest.get(question, 0), int(told.get("version") or 0))
    kept = []
    for row in by_id.values():
        told = row.provenance
        newer = latest.get((told.get("project"), told.get("question")), 0) > int(told.get("version") or 0)
        dropped[SUPERSEDED] += newer
        if not newer:
            kept.append(row)
    return kept, +dropped


def content_hash(rows: Iterable[TrainingRow]) -> str:
    """sha256 over what the rows teach, as the module's head has it."""
    digest = hashlib.sha256()
    for line in sorted(canonical(_content(row)) for row in rows):
        digest.update(line + b"\n")
    return digest.hexdigest()


def _content(row: TrainingRow) -> dict[str, Any]:
    tree = build_row(row)
    for name in ("id", "recording", "provenance"):
        del tree[name]
    del tree["clip"]["file"], tree["video"]["name"]
    return tree


def check(folder: Path) -> dict[str, Any]:
    """What snapshot.json says, once rows and clips are seen to be those of its hash. Raises FormatError, OSError."""
    folder = Path(folder)
    facts = facts_of(folder)
    rows = read(folder)
    twice = [id for id, count in Counter(row.id for row in rows).items() if count > 1]
    if twice:
        raise FormatError(f"{folder / ROWS}: the item {twice[0]} is there twice.")
    found = content_hash(rows)
    if found != facts["hash"]:
        raise FormatError(f"{folder / ROWS} is not what the snapshot was made with: its hash is {found[:12]}…")
    for row in {row.clip.sha256: row for row in rows}.values():
        path = folder / row.clip.file
        if not path.is_file():
            raise FormatError(f"{folder}: the clip {row.clip.file} of the item {row.id[:12]} is not there.")
        if sha256_of(path) != row.clip.sha256:
            raise FormatError(f"{path} is not the clip it was: its content has another hash.")
    return facts


def facts_of(folder: Path) -> dict[str, Any]:
    """snapshot.json of a folder. Raises FormatError: there is none, or of another version."""
    path = Path(folder) / FACTS
    if not path.is_file():
        raise FormatError(f"{folder} is no snapshot: it has no {FACTS}.")
    facts = dict(read_as.mapping(read_as.load(path.read_bytes()), str(path)))
    if facts.get("version") != VERSION:
        raise FormatError(f"{path}: expected version {VERSION}, found {read_as.shown(facts.get('version'))}.")
    read_as.text(read_as.member(facts, "hash", FACTS), f"{path}: hash")
    return facts


# ---------------------------------------------------------------------------------------------------------------------
# Parts


def _copy(rows: Sequence[TrainingRow], clips: Callable[[str], Path], part: Path, progress: Progress) -> dict[str, int]:
    """Put each clip into the folder once. Raises FormatError naming the item whose clip is gone or another one."""
    needed = {row.clip.sha256: row for row in rows}
    size = 0
    for done, (sha256, row) in enumerate(sorted(needed.items())):
        progress("clips", done / len(needed))
        target = part / row.clip.file
        try:
            shutil.copyfile(clips(sha256), target)
        except (FileNotFoundError, KeyError) as error:
            raise FormatError(f"The clip of the item {row.id[:12]} ({sha256[:12]}…) is not there.") from error
        if sha256_of(target) != sha256:
            raise FormatError(f"The clip of the item {row.id[:12]} is not the one it was made with.")
        size += target.stat().st_size
    progress("clips", 1.0)
    return {"files": len(needed), "bytes": size}


def _hashes(rows: Sequence[TrainingRow], part: Path, progress: Progress) -> tuple[dict[str, list[int]], str]:
    """Picture hashes by clip, and a sentence where some could not be read; nothing where there is one split only."""
    from ml.questions.lint.pictures import of_video

    if len({row.split for row in rows}) < 2:
        return {}, ""
    needed = sorted({row.clip.sha256: row.clip.file for row in rows}.items())
    found, failed = {}, []
    for done, (sha256, file) in enumerate(needed):
        progress("pictures", done / len(needed))
        try:
            found[sha256] = of_video(part / file)
        except FormatError as error:
            failed.append(str(error))
    progress("pictures", 1.0)
    if not failed:
        return found, ""
    return found, f"Pictures of {len(failed)} of {len(needed)} clips were not compared; the first: {failed[0]}"


def _facts(rows: Sequence[TrainingRow]) -> dict[str, Any]:
    """Counts, recordings and coverage of each split."""
    parts = {name: [row for row in rows if row.split == name] for name in SPLITS}
    graded = {name: [reward_row(row, "") for row in of_stage(part, GRPO)] for name, part in parts.items()}
    return {
        "counts": {
            name: {"items": len(part), SFT: len(of_stage(part, SFT)), GRPO: len(of_stage(part, GRPO))}
            for name, part in parts.items()
        },
        "recordings": {name: sorted({row.recording for row in part}) for name, part in parts.items()},
        "coverage": {name: coverage(part) if part else None for name, part in graded.items()},
    }


# ---------------------------------------------------------------------------------------------------------------------
# The command


def gather(paths: Sequence[Path], records: Sequence[Path], videos: Path | None) -> list[sources.Source]:
    """The sources a command names. Raises FormatError, OSError."""
    found = []
    for path in paths:
        if sources.is_release(path):
            found.append(sources.release(path))
        elif path.is_file():
            found.append(sources.items(path, _videos(videos, path)))
        else:
            raise FormatError(f"{path} is neither a release folder (it has no release.json) nor a file of items.")
    if records:
        from ml.training.records import source

        found += [source(path, _videos(videos, path)) for path in records]
    return found


def _videos(videos: Path | None, path: Path) -> Path:
    if videos is None:
        raise FormatError(f"{path} comes without its clips: name the folder where they are with --videos.")
    return videos


def main(arguments: Sequence[str] | None = None) -> int:
    """Build or check a snapshot; 0, or 2 with one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python -m ml.training.snapshot", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="SOURCE... OUT", help="sources, and the new folder last")
    parser.add_argument("--check", action="store_true", help="check snapshots instead")
    parser.add_argument("--name", default="", help="what it is called; the folder's name by default")
    parser.add_argument("--seed", type=int, default=0, help="draws the recordings that validate")
    parser.add_argument("--validation-share", type=float, default=0.1, help="share of the items that validate")
    parser.add_argument("--grasp-records", type=Path, action="append", default=[], help="data_sft.jsonl, data_rl.jsonl")
    parser.add_argument("--videos", type=Path, help="folder with the videos of items or records")
    parser.add_argument("--no-pictures", action="store_true", help="do not compare the pictures of the splits")
    wanted = parser.parse_args(arguments)
    try:
        if wanted.check:
            for path in wanted.paths:
                print(f"{path}: {check(path)['hash']}")
            return 0
        facts = _made(wanted)
    except OSError as error:
        print(f"{error.filename or wanted.paths[-1]}: {error.strerror or error}.", file=sys.stderr)
        return BAD_INPUT
    except ValueError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    print("\n".join(told(facts)))
    return 0


def _made(wanted: argparse.Namespace) -> dict[str, Any]:
    *paths, out = wanted.paths
    found = gather(paths, wanted.grasp_records, wanted.videos)
    if not found:
        raise FormatError("Name at least one source: a release folder, a file of items, or --grasp-records.")
    clips = {sha256: path for one in found for sha256, path in one.clips.items()}
    left: Counter[str] = Counter()
    for one in found:
        left.update(one.left_out)
    return build(
        [row for one in found for row in one.rows],
        clips.__getitem__,
        out,
        name=wanted.name or out.resolve().name,
        validation_share=wanted.validation_share,
        seed=wanted.seed,
        created_from=[one.made_of for one in found],
        left_out=left,
        pictures=not wanted.no_pictures,
    )


def told(facts: Mapping[str, Any]) -> list[str]:
    """A snapshot in sentences."""
    lines = [f"{facts['name']}: {facts['hash']}"]
    for name, counts in facts["counts"].items():
        share = facts["coverage"][name]
        covered = "" if share is None else f", SGR coverage {100 * share:.0f} %"
        lines.append(
            f"{name}: {counts['items']} items of {len(facts['recordings'][name])} recordings, "
            f"{counts[SFT]} with reasoning, {counts[GRPO]} with options{covered}"
        )
    lines += [f"left out: {count} ({reason})" for reason, count in facts["left_out"].items()]
    return lines + list(facts["leaks"])


if __name__ == "__main__":
    sys.exit(main())
