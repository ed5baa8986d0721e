"""A TensorFlow.js graph model being turned into ONNX: reading the model, and the ONNX graph under construction.

Tensors keep TensorFlow's NHWC layout; each convolution sits between two transposes, which onnxruntime removes when it
loads the file. What depends on constants only is folded at once with onnx's own reference evaluator; `Shape` is folded
by incremental shape inference, so graphs come out static.

The order of the `new`, `const` and `add` calls names the nodes: changing it changes the bytes of every converted file.
Trap: np.ascontiguousarray turns a 0-d constant into a 1-d one; np.array(a, order="C") does not.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as TP
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET = 15
STORED = {"uint8": np.uint8, "uint16": np.uint16, "float16": np.float16}
PLAIN = {"float32": np.float32, "int32": np.int32, "bool": np.bool_}
TO_NCHW, TO_NHWC = [0, 3, 1, 2], [0, 2, 3, 1]
UNARY = {
    op: op
    for op in (
        "Relu", "Sigmoid", "Exp", "Abs", "Neg", "Floor", "Reciprocal", "Cos", "Sin", "Identity",
    )
}  # fmt: skip


def tensor(reference: str) -> str:
    """Tensor name without the default output index."""
    return reference.removesuffix(":0")


def producer(reference: str) -> str:
    """Name of the node a tensor or control input comes from."""
    return reference.split(":")[0].lstrip("^")


def read_model(json_path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray], set[str]]:
    """Model json, weights by name, and the names whose source is float16."""
    model = json.loads(json_path.read_text())
    manifest = model["weightsManifest"]
    blob = b"".join((json_path.parent / path).read_bytes() for group in manifest for path in group["paths"])
    weights: dict[str, np.ndarray] = {}
    half_names: set[str] = set()
    offset = 0
    for entry in (entry for group in manifest for entry in group["weights"]):
        count = int(np.prod(entry["shape"])) if entry["shape"] else 1
        quant, plain = entry.get("quantization"), PLAIN[entry["dtype"]]
        stored = STORED[quant["dtype"]] if quant else plain
        value = np.frombuffer(blob, stored, count, offset).reshape(entry["shape"])
        offset += value.nbytes
        if stored == np.float16:
            half_names.add(entry["name"])
        elif quant:
            value = value.astype(np.float32) * np.float32(quant["scale"]) + np.float32(quant["min"])
        weights[entry["name"]] = value.astype(plain)
    if offset != len(blob):
        raise ValueError(f"{json_path}: {len(blob)} bytes of weights, {offset} described")
    return model, weights, half_names


class Node:
    """One TensorFlow node with its attributes decoded."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.name: str = raw["name"]
        self.op: str = raw["op"]
        self.attr: dict[str, Any] = raw.get("attr", {})
        self.inputs = [tensor(x) for x in raw.get("input", []) if not x.startswith("^")]

    def text(self, key: str, default: str = "") -> str:
        return base64.b64decode(self.attr[key]["s"]).decode() if key in self.attr else default

    def ints(self, key: str) -> list[int]:
        return [int(x) for x in self.attr[key]["list"].get("i", [])] if key in self.attr else []

    def number(self, key: str) -> int:
        return int(self.attr[key].get("i", 0)) if key in self.attr else 0

    def flag(self, key: str) -> bool:
        return bool(self.attr.get(key, {}).get("b", False))

    @property
    def fused(self) -> list[str]:
        if "fused_ops" not in self.attr:
            return []
        return [base64.b64decode(x).decode() for x in self.attr["fused_ops"]["list"].get("s", [])]

    @property
    def fused_activation(self) -> str | None:
        return next((f for f in self.fused if f != "BiasAdd"), None)

    @property
    def leaky_alpha(self) -> float | None:
        return float(self.attr["leakyrelu_alpha"]["f"]) if "leakyrelu_alpha" in self.attr else None


class Graph:
    """The ONNX graph under construction: emitted nodes, known constants, graph inputs."""

    def __init__(self, weights: dict[str, np.ndarray], half_names: set[str]) -> None:
        self.constants: dict[str, np.ndarray] = dict(weights)
        self.half_names = half_names
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self._counter = 0
        self._shapes: dict[str, onnx.ValueInfoProto] = {}
        self._shaped = 0

    def new(self, prefix: str) -> str:
        self._counter += 1
        return f"{prefix}_{self._counter}"

    def const(self, value: Any, prefix: str = "c") -> str:
        name = self.new(prefix)
        self.constants[name] = np.array(value, order="C")
        return name

    def add(self, op: str, inputs: list[str], output: str | list[str] | None = None, **attributes: Any) -> str:
        output = output or self.new(op)
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def value(self, reference: str) -> np.ndarray:
        return self.constants[tensor(reference)]

    def int64(self, reference: str) -> str:
        reference = tensor(reference)
        if reference in self.constants:
            return self.const(self.constants[reference].astype(np.int64))
        return self.add("Cast", [reference], to=TP.INT64)

    def weight(self, value: np.ndarray, from_half: bool) -> str:
        if from_half:
            return self.add("Cast", [self.const(value.astype(np.float16), "h")], to=TP.FLOAT)
        return self.const(value.astype(np.float32), "w")

    def nchw(self, reference: str) -> str:
        return self.add("Transpose", [reference], perm=TO_NCHW)

    def nhwc(self, reference: str, output: str) -> str:
        return self.add("Transpose", [reference], output, perm=TO_NHWC)

    def activation(self, kind: str, x: str, output: str | None, alpha: Any = None) -> str:
        if kind == "LeakyRelu":
            return self.add("LeakyRelu", [x], output, alpha=alpha)
        if kind == "Relu6":
            return self.add("Clip", [x, self.const(np.float32(0)), self.const(np.float32(6))], output)
        if kind == "Prelu":
            return self.add("PRelu", [x, alpha], output)
        return self.add(UNARY[kind], [x], output)

    def static_shape(self, name: str) -> list[int] | None:
        """Shape of a tensor if known; infers only over the nodes emitted since the last call."""
        if name in self.constants:
            return list(self.constants[name].shape)
        for graph_input in self.inputs:
            self._shapes.setdefault(graph_input.name, graph_input)
        segment, self._shaped = self.nodes[self._shaped :], len(self.nodes)
        if segment:
            self._infer(segment)
        info = self._shapes.get(name)
        if info is None or not info.type.tensor_type.HasField("shape"):
            return None
        dims = [d.dim_value if d.HasField("dim_value") else None for d in info.type.tensor_type.shape.dim]
        return None if None in dims else dims  # type: ignore[return-value]

    def _infer(self, segment: list[onnx.NodeProto]) -> None:
        inputs, initializers = [], []
        for name in external_inputs(segment):
            if name in self.constants:
                value = self.constants[name]
                if value.size <= 64:
                    initializers.append(numpy_helper.from_array(np.array(value, order="C"), name))
                else:
                    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
                    inputs.append(helper.make_tensor_value_info(name, kind, value.shape))
            elif name in self._shapes:
                inputs.append(self._shapes[name])
            else:
                unknown = onnx.ValueInfoProto()
                unknown.name = name
                inputs.append(unknown)
        model = make_model(helper.make_graph(segment, "s", inputs, [], initializers))
        for info in onnx.shape_inference.infer_shapes(model, data_prop=True).graph.value_info:
            self._shapes[info.name] = info

    def fold(self, start: int, node_name: str) -> None:
        """Replace the nodes emitted since `start` by constants if they depend on constants only."""
        emitted = self.nodes[start:]
        sources = external_inputs(emitted)
        if not emitted or not all(s in self.constants for s in sources):
            return
        names = [o for x in emitted for o in x.output if producer(o) == node_name]
        outputs = [helper.make_tensor_value_info(o, 0, None) for o in names]
        initializers = [numpy_helper.from_array(np.array(self.constants[s], order="C"), s) for s in sources]
        graph = helper.make_graph(emitted, "f", [], outputs, initializers)
        for output in graph.output:
            output.ClearField("type")
        for name, value in zip(names, ReferenceEvaluator(make_model(graph)).run(None, {}), strict=True):
            self.constants[name] = np.asarray(value)
        del self.nodes[start:]


def external_inputs(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    produced = {o for x in nodes for o in x.output}
    return {i for x in nodes for i in x.input if i and i not in produced}


def make_model(graph: onnx.GraphProto, **options: Any) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], **options)
