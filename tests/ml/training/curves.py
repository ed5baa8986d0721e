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

Lines = list[dict[str, float | None]]
HOW = (
    "losses (grpo: also entropies, and the first gradient's norm) of the preset tiny-cpu as tests.ml.training.running "
    "sets it, seed 0, one thread, float32"
)


def column(lines: Lines, name: str) -> list[float]:
    return [round(value, 5) for line in lines if (value := line[name]) is not None]


def first_gradient(lines: Lines) -> float:
    """The first norm above 0, of the start weights: the loss of GRPO is the KL term alone (advantages sum up to 0, and
    the ratio is 1), so only the gradient shows the advantages."""
    return next(norm for norm in column(lines, "grad_norm") if norm)


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
                lines = running.metrics(out)
                found[f"{stage} {family}"] = column(lines, "loss")
                if stage == "grpo":
                    found[f"entropy {family}"] = column(lines, "entropy")
                    found[f"gradient {family}"] = first_gradient(lines)
    versions = ", ".join(f"{one} {version(one)}" for one in ("torch", "transformers", "trl"))
    found["how"] = f"{HOW}; {versions}; {platform.machine()}"
    path = Path(__file__).with_name("curves.json")
    path.write_text("{\n" + ",\n".join(f' "{key}": {json.dumps(found[key])}' for key in sorted(found)) + "\n}\n")


if __name__ == "__main__":
    main()
