"""Simplified graphs give the same bits; only what may be taken together is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ml.weights.simplify import simplify

NHWC, NCHW = [0, 2, 3, 1], [0, 3, 1, 2]


def model(nodes: list[onnx.NodeProto], constants: dict[str, Any]) -> onnx.ModelProto:
    """One input x (1 x 2 x 9 x 7), one output y."""
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 9, 7])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)


def result(made: onnx.ModelProto) -> Any:
    x = np.random.default_rng(0).normal(0, 4, (1, 2, 9, 7)).astype(np.float32)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def simplified(made: onnx.ModelProto) -> Counter[str]:
    """Kinds of nodes after simplifying, which must not change the result."""
    before = result(made)
    simplify(made.graph)
    np.testing.assert_array_equal(result(made), before)
    return Counter(node.op_type for node in made.graph.node)


def padded(op: str, pads: list[int], fill: float | None, auto_pad: str = "VALID", twice: bool = False) -> Any:
    """A Pad of the input, two transposes as the converter leaves them, and a convolution or pool."""
    constants: dict[str, Any] = {"pads": np.array(pads)}
    if fill is not None:
        constants["fill"] = np.float32(fill)
    inputs = ["q"]
    if op == "Conv":
        constants["w"] = np.random.default_rng(1).normal(0, 1, (3, 2, 3, 3)).astype(np.float32)
        inputs.append("w")
    last = "z" if twice else "y"
    nodes = [
        helper.make_node("Pad", ["x", "pads", *(["fill"] if fill is not None else [])], ["p"], mode="constant"),
        helper.make_node("Transpose", ["p"], ["t"], perm=NHWC),
        helper.make_node("Transpose", ["t"], ["q"], perm=NCHW),
        helper.make_node(op, inputs, [last], auto_pad=auto_pad, kernel_shape=[3, 3], strides=[2, 2]),
    ]
    if twice:
        nodes += [
            helper.make_node("ReduceSum", ["p"], ["sum"], keepdims=0),
            helper.make_node("Add", ["z", "sum"], ["y"]),
        ]
    return model(nodes, constants)


@pytest.mark.parametrize("pads", [[0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 2, 0, 0, 1, 0]])
@pytest.mark.parametrize(("op", "fill"), [("Conv", None), ("Conv", 0.0), ("MaxPool", -np.inf)])
def test_padding_becomes_that_of_the_convolution_or_pool(op: str, fill: float | None, pads: list[int]) -> None:
    assert "Pad" not in simplified(padded(op, pads, fill))


def test_padding_of_a_channels_last_tensor() -> None:
    constants = {"pads": np.array([0, 2, 0, 0, 0, 1, 1, 0]), "w": np.ones((3, 2, 3, 3), np.float32)}
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=NHWC),
        helper.make_node("Pad", ["t", "pads"], ["p"], mode="constant"),
        helper.make_node("Transpose", ["p"], ["q"], perm=NCHW),
        helper.make_node("Conv", ["q", "w"], ["y"], auto_pad="VALID", kernel_shape=[3, 3]),
    ]
    made = model(nodes, constants)
    assert "Pad" not in simplified(made)
    conv = next(node for node in made.graph.node if node.op_type == "Conv")
    assert {a.name: helper.get_attribute_value(a) for a in conv.attribute}["pads"] == [2, 0, 1, 1]


@pytest.mark.parametrize(
    "made",
    [
        padded("Conv", [0, 0, 1, 1, 0, 0, 1, 1], 1.0),  # not zeros
        padded("MaxPool", [0, 0, 1, 1, 0, 0, 1, 1], 0.0),  # which may win against negative numbers
        padded("Conv", [0, 0, 1, 1, 0, 0, 1, 1], 0.0, "SAME_UPPER"),  # has a padding of its own
        padded("MaxPool", [0, 1, 1, 1, 0, 0, 1, 1], -np.inf),  # another channel
        padded("Conv", [0, 0, 1, 1, 0, 0, 1, 1], 0.0, twice=True),  # somebody else reads it
    ],
)
def test_other_padding_stays(made: onnx.ModelProto) -> None:
    assert simplified(made)["Pad"] == 1


def limited(low: Any, high: Any, relu: bool = True) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Min", ["r" if relu else "x", "high"], ["m"]),
        helper.make_node("Max", ["m", "low"], ["y"]),
    ]
    if relu:
        nodes.insert(0, helper.make_node("Relu", ["x"], ["r"]))
    return model(nodes, {"low": np.float32(low), "high": np.float32(high)})


def test_limits_become_one_clip() -> None:
    assert simplified(limited(0, 6)) == {"Clip": 1}
    assert simplified(limited(-3, 6, relu=False)) == {"Clip": 1}
    assert simplified(limited(-3, 6)) == {"Relu": 1, "Clip": 1}


def test_other_limits_stay() -> None:
    assert simplified(limited(6, 2)) == {"Relu": 1, "Min": 1, "Max": 1}
    assert simplified(limited([0] * 7, 6)) == {"Relu": 1, "Min": 1, "Max": 1}
