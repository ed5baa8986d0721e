"""Write curves.json again: `python -m tests.ml.training.curves`. Only after a change that is meant to change losses."""

from __future__ import annotations

import json
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path

from ml.training import tiny
from tests.ml.training import running, samples
from tests.ml.training.conftest import FAMILIES

HOW = "losses of the preset tiny-cpu as tests.ml.training.running sets it, seed 0, one thread, float32"


def main() -> None:
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        snapshot = samples.made(work / "snapshot", 4, per_clip=3)
        for family in FAMILIES:
            model = tiny.build(family, work / family)
            for stage in ("sft", "grpo"):
                out = work / f"{stage} {family}"
                assert running.run(stage, snapshot, model, out) == 0
                losses = [line["loss"] for line in running.metrics(out)]
                found[f"{stage} {family}"] = [round(loss, 5) for loss in losses if loss is not None]
    versions = ", ".join(f"{one} {version(one)}" for one in ("torch", "transformers", "trl"))
    found["how"] = f"{HOW}; {versions}; {platform.machine()}"
    path = Path(__file__).with_name("curves.json")
    path.write_text("{\n" + ",\n".join(f' "{key}": {json.dumps(found[key])}' for key in sorted(found)) + "\n}\n")


if __name__ == "__main__":
    main()
