"""Every backend of every kind: version, licence, whether its weights are here, and what was verified.

python -m ml.backends [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ml.evidence.grounding import registry as grounders
from ml.evidence.grounding import sam3_weights
from ml.evidence.grounding.looking import DETECTOR
from ml.evidence.summarisers import registry as summarisers
from ml.perception import registry as perception
from ml.perception.gestures import registry as gestures
from ml.perception.masks.masker import BACKENDS as MASKING
from ml.weights import cache
from ml.weights.manifest import MODELS

# name in `ml.perception.registry` -> kind
PERCEPTION = {
    "nanodet": "persons and objects",
    "sam3-people": "person tracker",
    "centerface": "faces",
    "facemesh": "face mesh and gaze",
    "faceres": "identity",
    "blazepose": "pose",
    "hands": "hands",
    "selfie": "person masks",
}
OWN, SERVICE = "Apache-2.0, part of Sightline", "that of the service it asks"
LICENCES = {
    ("gestures", "mllm"): SERVICE,
    ("summariser", "endpoint"): SERVICE,
    ("summariser", "local"): "that of the model it is given",
    ("summariser", "smollm"): "Apache-2.0",
}
UNVERIFIED = "not verified with released weights"


@dataclass(frozen=True)
class Backend:
    """One backend. `weights`: by file whether it is here; `state`: a sentence; `ready`: it could be used now."""

    kind: str
    name: str
    version: str
    licence: str
    weights: dict[str, bool]
    ready: bool
    state: str


def listing() -> list[Backend]:
    """All that are registered, kind by kind."""
    return [*perceiving(), *gesturing(), *summarising(), *grounding()]


def perceiving() -> Iterator[Backend]:
    for name, kind in PERCEPTION.items():
        backend = perception.backend_class(name)
        if name.startswith("sam3"):
            yield by_loading(kind, name, backend)
        else:
            yield by_manifest(kind, name, backend.version, backend.weights)


def gesturing() -> Iterator[Backend]:
    for name, (module, attribute) in gestures.DETECTORS.items():
        detector = perception.attribute_of(module, attribute)
        if detector.weights:
            yield by_manifest("gestures", name, detector.version, detector.weights)
        else:
            yield by_loading("gestures", name, detector, lambda made: made(None))


def summarising() -> Iterator[Backend]:
    for name, (module, attribute) in summarisers.SUMMARISERS.items():
        yield from_module("summariser", name, f"ml.evidence.summarisers.{module}", attribute)


def grounding() -> Iterator[Backend]:
    for name, about in grounders.GROUNDERS.items():
        yield from_module("grounder", name, about.module, about.attribute)


def from_module(kind: str, name: str, module: str, attribute: str) -> Backend:
    """A backend whose very module may need packages that are not here."""
    try:
        made = perception.attribute_of(module, attribute)
    except (ImportError, ValueError) as error:
        return Backend(kind, name, "", LICENCES.get((kind, name), OWN), {}, False, f"It cannot be loaded: {error}.")
    return by_loading(kind, name, made)


def by_manifest(kind: str, name: str, version: str, models: tuple[str, ...]) -> Backend:
    """A backend whose weights are in the manifest."""
    files = {MODELS[model].file: (cache.folder() / MODELS[model].file).is_file() for model in models}
    licences = dict.fromkeys(MODELS[model].licence for model in models)
    missing = [file for file, there in files.items() if not there]
    state = f"{', '.join(missing)} missing; fetch with `make weights`." if missing else "Ready."
    return Backend(kind, name, version, "; ".join(licences), files, not missing, state)


def by_loading(kind: str, name: str, made: Any, load: Callable[[Any], Any] = lambda made: made()) -> Backend:
    """A backend that says by itself what it lacks when it is made."""
    loaded: Any = None
    try:
        loaded = load(made)
        ready, state = True, "Ready."
    except (ValueError, OSError) as error:  # MissingWeights among them
        ready, state = False, " ".join(str(error).split())
    licence, weights = LICENCES.get((kind, name), OWN), dict[str, bool]()
    if name.startswith("sam3"):
        licence, weights = sam3_weights.LICENCE, sam3_files(name)
        state = f"{state.rstrip('.')}; {verified(name)}"
    elif kind == "grounder":
        models = [model for part in (*MASKING, DETECTOR) for model in perception.backend_class(part).weights]
        embedded = by_manifest(kind, name, made.version, tuple(models))
        licence, weights = embedded.licence, embedded.weights
    elif kind == "summariser" and ready:
        weights = dict.fromkeys(loaded.describe().get("weights", {}), True)
    return Backend(kind, name, made.version, licence, weights, ready, state)


def sam3_files(name: str) -> dict[str, bool]:
    """The weights files of SAM 3 that are here, or the one that would be needed."""
    folder = Path(sam3_weights.chosen()).expanduser()
    if name == "sam3-official":
        return {"sam3.pt": (folder / "sam3.pt").is_file()}
    return {file.name: True for file in sam3_weights.files(folder)} or {"model.safetensors": False}


def verified(name: str) -> str:
    """What the stored check says of the weights that are here; see `ml.evidence.grounding.verify`."""
    record = cache.root() / "verified" / f"{'sam3' if name == 'sam3-people' else name}.json"
    if not record.is_file():
        return f"{UNVERIFIED}."
    result = json.loads(record.read_text())
    checked = result["about"]["weights"]
    try:
        here = sam3_weights.hashes(sam3_weights.folder()) if name != "sam3-official" else checked
    except cache.MissingWeights:
        return f"{UNVERIFIED}."
    if here != checked:
        return f"{UNVERIFIED}: the check of {result['when'][:10]} was of other weights."
    main_file = next(file for file in checked if not file.endswith(".json"))
    about = f"the check on the demo clip on {result['when'][:10]} with {main_file} {checked[main_file][:12]}"
    return f"passed {about}." if result["passed"] else f"{UNVERIFIED}: not passed, {about}."


def lines(backends: list[Backend]) -> Iterator[str]:
    """Three lines for each, sorted by kind as they came."""
    for backend in backends:
        yield f"{backend.kind}: {backend.name} {backend.version}".rstrip()
        files = [f"{file} {'is here' if there else 'is missing'}" for file, there in backend.weights.items()]
        yield f"    licence: {backend.licence}; weights: {', '.join(files) or 'none'}"
        yield f"    {backend.state}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ml.backends", description="List every backend.")
    parser.add_argument("--json", action="store_true", help="as JSON")
    wanted = parser.parse_args(argv)
    found = listing()
    if wanted.json:
        print(json.dumps([asdict(backend) for backend in found], indent=1))
    else:
        print("\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
