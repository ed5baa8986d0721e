"""Folders that leave the studio as a tar file: the final model of a run, and a run as a cluster takes it.

    RUN-NAME/README.txt       what to do
    RUN-NAME/config.yaml      every setting
    RUN-NAME/train.sh         the command, for one machine
    RUN-NAME/sightline.json   which run of which project it is: `manage.py import-training` reads it
    RUN-NAME/snapshot/        rows and clips

Entries are (name, bytes or the path of a file); a tar file is written piece by piece, so that a model of any size
passes through little memory.
"""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from django.http import StreamingHttpResponse

from webapp.lib.errors import Refused
from webapp.runs import folders
from webapp.runs.models import TrainingRun
from webapp.runs.services import check_whole, settings_file

PIECE = 1 << 20
NOTE = "sightline.json"
Entry = tuple[str, bytes | Path]

README = """Run {number} of the Sightline project {project}: {name}

Where the packages of Sightline's `ml` extra are installed and this repository's `ml` folder can be imported:

    MODEL=/path/to/the/start/model bash train.sh

The start model was chosen as: {model}. The run's folder becomes `run` beside this file. Started again,
it goes on from its last complete checkpoint; a file `run/stop` asks it to stop with one. Bring the result back, on the
studio's machine:

    python manage.py import-training {folder} --project {project}
"""

SCRIPT = """#!/bin/bash
# Trains, or goes on from the last complete checkpoint.
set -euo pipefail
cd "$(dirname "$0")"
: "${{MODEL:?names the folder of the start model}}"
exec python -m ml.training.{stage} --config config.yaml --snapshot snapshot --model "$MODEL" --out run
"""


def final_model(run: TrainingRun) -> Iterator[Entry]:
    """The files of the final model. Raises Refused."""
    folder = folders.run(run.id) / folders.FINAL
    if not folder.is_dir():
        raise Refused(f"Run {run.number} has no final model.", "run")
    return below(folder, f"{name_of(run)}-final")


def for_cluster(run: TrainingRun) -> Iterator[Entry]:
    """The run as a cluster takes it. Raises Refused where its snapshot is not whole."""
    check_whole(run.snapshot)
    folder = folders.snapshot(run.snapshot_id)
    if not (folder / "rows.jsonl").is_file():
        raise Refused(f"The files of snapshot {run.snapshot.number} are not here.", "snapshot")
    return _for_cluster(run, folder)


def _for_cluster(run: TrainingRun, folder: Path) -> Iterator[Entry]:
    top, slug = name_of(run), run.project.slug
    model = f"the final model of run {run.parent.number}" if run.parent else run.base_model
    words = README.format(number=run.number, project=slug, name=run.name, model=model, folder=top)
    about = {
        "project": slug,
        "run": str(run.id),
        "number": run.number,
        "name": run.name,
        "stage": run.stage,
        "snapshot": run.snapshot.hash,
        "base_model": run.base_model,
        "parent": run.parent.number if run.parent else None,
    }
    yield f"{top}/README.txt", words.encode()
    yield f"{top}/config.yaml", settings_file(run).encode()
    yield f"{top}/train.sh", SCRIPT.format(stage=run.stage).encode()
    yield f"{top}/{NOTE}", f"{json.dumps(about, indent=1)}\n".encode()
    yield from below(folder, f"{top}/snapshot")


def name_of(run: TrainingRun) -> str:
    return f"{run.project.slug}-run-{run.number}"


def below(folder: Path, top: str) -> Iterator[Entry]:
    """Every plain file below a folder; nothing hidden, and no link."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in parts):
            yield f"{top}/{'/'.join(parts)}", path


def write_folder(entries: Iterable[Entry], out: Path) -> Path:
    """Write the entries below a folder; the folder that holds all of them."""
    top = out
    for name, content in entries:
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        top = out / name.partition("/")[0]
        if isinstance(content, Path):
            with content.open("rb") as source, target.open("wb") as copy:
                while piece := source.read(PIECE):
                    copy.write(piece)
        else:
            target.write_bytes(content)
    return top


def tar_response(entries: Iterator[Entry], name: str) -> StreamingHttpResponse:
    """An attachment with these entries."""
    answer = StreamingHttpResponse(tar(entries), content_type="application/x-tar")
    answer["Content-Disposition"] = f"attachment; filename*=utf-8''{quote(name)}.tar"
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Content-Security-Policy"] = "default-src 'none'; sandbox"
    answer["Cache-Control"] = "private, no-store"
    return answer


async def pieces(path: Path) -> AsyncIterator[bytes]:
    """A file piece by piece; reading leaves the event loop free."""
    with path.open("rb") as source:
        while piece := await asyncio.to_thread(source.read, PIECE):
            yield piece


async def tar(entries: Iterator[Entry]) -> AsyncIterator[bytes]:
    """A tar file piece by piece; reading leaves the event loop free."""
    while (entry := await asyncio.to_thread(next, entries, None)) is not None:
        name, content = entry
        info = tarfile.TarInfo(name)
        info.mode = 0o755 if name.endswith(".sh") else 0o644
        if isinstance(content, bytes):
            info.size = len(content)
            yield info.tobuf(tarfile.PAX_FORMAT) + content + bytes(-info.size % tarfile.BLOCKSIZE)
            continue
        with content.open("rb") as source:
            found = content.stat()
            info.size, info.mtime = found.st_size, found.st_mtime
            yield info.tobuf(tarfile.PAX_FORMAT)
            left = info.size
            while left:
                piece = await asyncio.to_thread(source.read, min(PIECE, left))
                if not piece:
                    raise OSError(f"{content} became shorter while it was sent.")
                left -= len(piece)
                yield piece
        yield bytes(-info.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)
