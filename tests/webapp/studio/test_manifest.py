from __future__ import annotations

from pathlib import Path

import pytest

from webapp.studio import manifest
from webapp.studio.errors import StudioError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.mp4").write_bytes(b"a")
    (tmp_path / "b.mp4").write_bytes(b"b")
    return tmp_path


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "list.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_it_reads_paths_from_the_manifests_folder_and_keeps_the_order(folder: Path) -> None:
    path = write(
        folder,
        "name,path,licence,consent_note\n"
        "Second,b.mp4,CC-BY,\n"
        f',{folder / "a.mp4"},,"Agreed, in writing"\n',
        "utf-8-sig",
    )  # fmt: skip
    first, second = manifest.read(path)
    assert (first.path, first.name, first.provenance) == (folder / "b.mp4", "Second", {"licence": "CC-BY"})
    assert (second.path, second.name) == (folder / "a.mp4", "a.mp4")
    assert second.provenance == {"consent_note": "Agreed, in writing"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\nx\n", "has no column `path`"),
        ("", "has no column `path`"),
        ("path,colour\na.mp4,red\n", "the unknown column 'colour'"),
        ("file\na.mp4\n", "has no column `path`"),
        ("path\n", "has no rows"),
        ("path,name\na.mp4,A\n,B\n", "row 2, column path: it is empty"),
        ("path\na.mp4\nc.mp4\n", "row 2, column path: there is no file"),
        ("path,name\na.mp4,A,extra\n", "row 1: there are more fields than columns"),
        ("path,name\na.mp4," + "x" * 256 + "\n", "row 1, column name: it is longer than 255"),
    ],
)
def test_every_fault_is_named_with_row_and_column(folder: Path, text: str, words: str) -> None:
    with pytest.raises(StudioError) as caught:
        manifest.read(write(folder, text))
    assert words in str(caught.value) and "list.csv" in str(caught.value) and caught.value.code == 2


def test_a_manifest_that_is_not_there_or_not_text_is_named(folder: Path) -> None:
    with pytest.raises(StudioError, match="cannot be read: No such file"):
        manifest.read(folder / "none.csv")
    with pytest.raises(StudioError, match="not UTF-8"):
        manifest.read(write(folder, "path\nÿ.mp4\n", "latin-1"))
