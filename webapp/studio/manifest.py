"""The manifest of an import: a CSV with the columns path, name, source_recording, licence, consent_note.

Only `path` is required; it is taken from the manifest's folder when it is not absolute.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

from webapp.library.services import PROVENANCE
from webapp.studio.errors import StudioError

COLUMNS = ("path", "name", *PROVENANCE)
LIMITS = {"name": 255, "source_recording": 255, "licence": 200, "consent_note": 5000}


@dataclass(frozen=True)
class Entry:
    """One file to import."""

    path: Path
    name: str
    provenance: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> list[Entry]:
    """The manifest's entries in order. Raises StudioError naming row (1 is the first below the header) and column."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise StudioError(f"The manifest {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise StudioError(f"The manifest {path} is not UTF-8 text.") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    header = [name.strip().lower() for name in reader.fieldnames or []]
    if "path" not in header:
        raise StudioError(f"The manifest {path} has no column `path`.")
    unknown = [name for name in header if name not in COLUMNS]
    if unknown:
        raise StudioError(f"The manifest {path} has the unknown column {unknown[0]!r}; known are {', '.join(COLUMNS)}.")
    reader.fieldnames = header
    entries = [_entry(path, number, row) for number, row in enumerate(reader, 1)]
    if not entries:
        raise StudioError(f"The manifest {path} has no rows.")
    return entries


def _entry(manifest: Path, number: int, row: dict[str, str | None]) -> Entry:
    where = f"The manifest {manifest}, row {number}"
    if None in row:
        raise StudioError(f"{where}: there are more fields than columns.")
    values = {key: (value or "").strip() for key, value in row.items()}
    if not values["path"]:
        raise StudioError(f"{where}, column path: it is empty.")
    file = manifest.parent / values["path"]
    if not file.is_file():
        raise StudioError(f"{where}, column path: there is no file {file}.")
    for column, limit in LIMITS.items():
        if len(values.get(column, "")) > limit:
            raise StudioError(f"{where}, column {column}: it is longer than {limit} characters.")
    provenance = {key: values[key] for key in PROVENANCE if values.get(key)}
    return Entry(file, values.get("name") or file.name, provenance)
