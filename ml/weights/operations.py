"""The operations: each function writes the ONNX nodes of one kind of TensorFlow node into the graph.

The set is what the models of the manifest need; another operation raises NotImplementedError. FloorDiv is emitted as
Div: right for the non-negative integers used as indices here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto as TP

from ml.weights.graph import UNARY, Graph, Node, producer

DTYPE = {
    "DT_FLOAT": TP.FLOAT, "DT_INT32": TP.INT32, "DT_BOOL": TP.BOOL, "DT_UINT8": TP.UINT8, "DT_INT64": TP.INT64,
    1: TP.FLOAT, 3: TP.INT32, 4: TP.UINT8, 10: TP.BOOL,
}  # fmt: skip
PADDING = {"SAME": "SAME_UPPER", "VALID": "VALID"}
BIG = 2**31  # "to the end" in Slice
BINARY = {
    "Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div", "FloorDiv": "Div",
    "Maximum": "Max", "Minimum": "Min", "LogicalAnd": "And", "Less": "Less", "LessEqual": "LessOrEqual",
    "Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "Equal": "Equal", "Prelu": "PRelu",
    "Select": "Where",
}  # fmt: skip
REDUCE = {"Mean": "ReduceMean", "Max": "ReduceMax", "Min": "ReduceMin", "Sum": "ReduceSum"}

Emit = Callable[[Graph, Node], None]
OPERATIONS: dict[str, Emit] = {}


def operation(*names: str) -> Callable[[Emit], Emit]:
    def register(emit: Emit) -> Emit:
        OPERATIONS.update(dict.fromkeys(names, emit))
        return emit

    return register


@operation("Conv2D", "_FusedConv2D", "DepthwiseConv2dNative", "FusedDepthwiseConv2dNative")
def _conv(g: Graph, n: Node) -> None:
    if n.text("data_format", "NHWC") != "NHWC":
        raise NotImplementedError(f"data format of {n.name}")
    source, kernel = n.inputs[0], g.value(n.inputs[1])
    dilations = n.ints("dilations")[1:3] or [1, 1]
    if "epthwise" in n.op:
        height, width, channels, multiplier = kernel.shape
        kernel, group = kernel.transpose(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width), channels
    else:
        kernel, group = kernel.transpose(3, 2, 0, 1), 1
    bias = [g.const(g.value(n.inputs[2]).reshape(-1), "b")] if "BiasAdd" in n.fused else []
    x = g.nchw(source)
    if n.text("padding") == "EXPLICIT":
        e = n.ints("explicit_paddings")
        padding: dict[str, Any] = {"pads": [e[2], e[4], e[3], e[5]]}
    else:
        padding = {"auto_pad": PADDING[n.text("padding")]}
    weight = g.weight(kernel, producer(n.inputs[1]) in g.half_names)
    y = g.add(
        "Conv", [x, weight, *bias], strides=n.ints("strides")[1:3], dilations=dilations, group=group,
        kernel_shape=list(kernel.shape[2:]), **padding,
    )  # fmt: skip
    if n.fused_activation == "Prelu":
        y = g.activation("Prelu", y, None, g.const(g.value(n.inputs[3]).reshape(-1, 1, 1)))
    elif n.fused_activation:
        y = g.activation(n.fused_activation, y, None, n.leaky_alpha)
    g.nhwc(y, n.name)


@operation("Conv2DBackpropInput")
def _conv_transpose(g: Graph, n: Node) -> None:
    kernel, strides = g.value(n.inputs[1]), n.ints("strides")[1:3]
    weight, x = kernel.transpose(3, 2, 0, 1), g.nchw(n.inputs[2])
    pads, output_padding = [0] * 4, [0, 0]
    if n.text("padding") == "SAME":
        for axis in (0, 1):
            total = kernel.shape[axis] - strides[axis]
            if total >= 0:
                pads[axis], pads[axis + 2] = total // 2, total - total // 2
            else:
                output_padding[axis] = -total
    y = g.add(
        "ConvTranspose", [x, g.weight(weight, producer(n.inputs[1]) in g.half_names)], strides=strides, pads=pads,
        output_padding=output_padding, kernel_shape=list(weight.shape[2:]),
    )  # fmt: skip
    g.nhwc(y, n.name)


@operation("MaxPool", "AvgPool")
def _pool(g: Graph, n: Node) -> None:
    x = g.nchw(n.inputs[0])
    y = g.add(
        {"MaxPool": "MaxPool", "AvgPool": "AveragePool"}[n.op], [x], kernel_shape=n.ints("ksize")[1:3],
        strides=n.ints("strides")[1:3], auto_pad=PADDING[n.text("padding")],
    )  # fmt: skip
    g.nhwc(y, n.name)


@operation("ResizeBilinear")
def _resize(g: Graph, n: Node) -> None:
    x = g.nchw(n.inputs[0])
    sizes = g.add("Slice", [g.add("Shape", [x]), g.const(np.array([0])), g.const(np.array([2]))])
    sizes = g.add("Concat", [sizes, g.int64(n.inputs[1])], axis=0)
    aligned = "align_corners" if n.flag("align_corners") else "asymmetric"
    transform = "half_pixel" if n.flag("half_pixel_centers") else aligned
    y = g.add("Resize", [x, "", "", sizes], mode="linear", coordinate_transformation_mode=transform)
    g.nhwc(y, n.name)


@operation("DepthToSpace")
def _depth_to_space(g: Graph, n: Node) -> None:
    y = g.add("DepthToSpace", [g.nchw(n.inputs[0])], blocksize=n.number("block_size"), mode="DCR")
    g.nhwc(y, n.name)


@operation("MatMul", "_FusedMatMul", "BatchMatMulV2")
def _matmul(g: Graph, n: Node) -> None:
    batched = "Batch" in n.op
    flip_x, flip_y = (n.flag(k) for k in (("adj_x", "adj_y") if batched else ("transpose_a", "transpose_b")))

    def transposed(name: str) -> str:
        if name in g.constants:
            return g.const(np.swapaxes(g.constants[name], -1, -2))
        return g.add("Transpose", [name], perm=[0, 2, 1] if batched else [1, 0])

    x, y = n.inputs[0], n.inputs[1]
    if flip_x:
        x = transposed(x)
    if flip_y:
        y = transposed(y)
    if y in g.constants and producer(y) in g.half_names:
        y = g.weight(g.constants[y], True)
    z = g.add("MatMul", [x, y], None if n.fused else n.name)
    if "BiasAdd" in n.fused:
        z = g.add("Add", [z, n.inputs[2]], None if n.fused_activation else n.name)
    if n.fused_activation:
        g.activation(n.fused_activation, z, n.name, n.leaky_alpha)


@operation(*UNARY)
def _unary(g: Graph, n: Node) -> None:
    g.add(UNARY[n.op], [n.inputs[0]], n.name)


@operation(*BINARY)
def _binary(g: Graph, n: Node) -> None:
    g.add(BINARY[n.op], n.inputs, n.name)


@operation("Relu6")
def _relu6(g: Graph, n: Node) -> None:
    g.activation("Relu6", n.inputs[0], n.name)


@operation("LeakyRelu")
def _leaky_relu(g: Graph, n: Node) -> None:
    g.add("LeakyRelu", [n.inputs[0]], n.name, alpha=float(n.attr["alpha"]["f"]))


@operation("SquaredDifference")
def _squared_difference(g: Graph, n: Node) -> None:
    d = g.add("Sub", n.inputs)
    g.add("Mul", [d, d], n.name)


@operation("AddN")
def _add_n(g: Graph, n: Node) -> None:
    g.add("Sum" if len(n.inputs) > 1 else "Identity", n.inputs, n.name)


@operation("Softmax")
def _softmax(g: Graph, n: Node) -> None:
    g.add("Softmax", [n.inputs[0]], n.name, axis=-1)


@operation("Atan2")
def _atan2(g: Graph, n: Node) -> None:
    y, x = n.inputs
    zero = g.const(np.float32(0))
    angle = g.add("Atan", [g.add("Div", [y, x])])
    half_turn = g.add(
        "Where", [g.add("Less", [y, zero]), g.const(np.float32(-np.pi)), g.const(np.float32(np.pi))]
    )  # fmt: skip
    g.add("Where", [g.add("Less", [x, zero]), g.add("Add", [angle, half_turn]), angle], n.name)


@operation("ZerosLike")
def _zeros_like(g: Graph, n: Node) -> None:
    g.add("Sub", [n.inputs[0], n.inputs[0]], n.name)


@operation("Cast")
def _cast(g: Graph, n: Node) -> None:
    g.add("Cast", [n.inputs[0]], n.name, to=DTYPE[n.attr["DstT"]["type"]])


@operation(*REDUCE)
def _reduce(g: Graph, n: Node) -> None:
    axes, keep = [int(a) for a in np.atleast_1d(g.value(n.inputs[1]))], int(n.flag("keep_dims"))
    if n.op == "Sum":  # axes became an input for ReduceSum first
        g.add("ReduceSum", [n.inputs[0], g.const(np.array(axes))], n.name, keepdims=keep)
    else:
        g.add(REDUCE[n.op], [n.inputs[0]], n.name, axes=axes, keepdims=keep)


@operation("Shape")
def _shape(g: Graph, n: Node) -> None:
    shape = g.static_shape(n.inputs[0])
    if shape is not None:
        g.constants[n.name] = np.array(shape, np.int32)
    else:
        g.add("Cast", [g.add("Shape", [n.inputs[0]])], n.name, to=TP.INT32)


@operation("Size")
def _size(g: Graph, n: Node) -> None:
    g.add("Cast", [g.add("Size", [n.inputs[0]])], n.name, to=TP.INT32)


@operation("Pack")
def _pack(g: Graph, n: Node) -> None:
    axis = n.number("axis")
    parts = [g.add("Unsqueeze", [x, g.const(np.array([axis]))]) for x in n.inputs]
    g.add("Concat", parts, n.name, axis=axis)


@operation("Unpack")
def _unpack(g: Graph, n: Node) -> None:
    axis, parts = n.number("axis"), [g.new("up") for _ in range(n.number("num"))]
    g.add("Split", [n.inputs[0]], parts, axis=axis)
    for k, part in enumerate(parts):
        g.add("Squeeze", [part, g.const(np.array([axis]))], n.name if k == 0 else f"{n.name}:{k}")


@operation("ExpandDims")
def _expand_dims(g: Graph, n: Node) -> None:
    g.add("Unsqueeze", [n.inputs[0], g.const(np.atleast_1d(g.value(n.inputs[1])).astype(np.int64))], n.name)


@operation("Squeeze")
def _squeeze(g: Graph, n: Node) -> None:
    axes = n.ints("squeeze_dims") or n.ints("axis")
    g.add("Squeeze", [n.inputs[0]] + ([g.const(np.array(axes))] if axes else []), n.name)


@operation("Reshape")
def _reshape(g: Graph, n: Node) -> None:
    g.add("Reshape", [n.inputs[0], g.int64(n.inputs[1])], n.name)


@operation("Tile")
def _tile(g: Graph, n: Node) -> None:
    g.add("Tile", [n.inputs[0], g.int64(n.inputs[1])], n.name)


@operation("Fill")
def _fill(g: Graph, n: Node) -> None:
    g.add("Expand", [n.inputs[1], g.int64(n.inputs[0])], n.name)


@operation("Range")
def _range(g: Graph, n: Node) -> None:
    g.add("Range", n.inputs, n.name)


@operation("Transpose")
def _transpose(g: Graph, n: Node) -> None:
    g.add("Transpose", [n.inputs[0]], n.name, perm=[int(x) for x in g.value(n.inputs[1])])


@operation("Pad", "PadV2")
def _pad(g: Graph, n: Node) -> None:
    pads = g.value(n.inputs[1]).astype(np.int64)
    inputs = [n.inputs[0], g.const(np.r_[pads[:, 0], pads[:, 1]])] + ([n.inputs[2]] if n.op == "PadV2" else [])
    g.add("Pad", inputs, n.name, mode="constant")


@operation("ConcatV2")
def _concat(g: Graph, n: Node) -> None:
    g.add("Concat", n.inputs[:-1], n.name, axis=int(g.value(n.inputs[-1])))


@operation("SplitV")
def _split_v(g: Graph, n: Node) -> None:
    sizes = g.value(n.inputs[1]).astype(np.int64)
    outputs = [n.name] + [f"{n.name}:{k}" for k in range(1, len(sizes))]
    g.add("Split", [n.inputs[0], g.const(sizes)], outputs, axis=int(g.value(n.inputs[2])))


@operation("Split")
def _split(g: Graph, n: Node) -> None:
    outputs = [n.name] + [f"{n.name}:{k}" for k in range(1, n.number("num_split"))]
    g.add("Split", [n.inputs[1]], outputs, axis=int(g.value(n.inputs[0])))


@operation("StridedSlice")
def _strided_slice(g: Graph, n: Node) -> None:
    if n.inputs[1] in g.constants and n.inputs[2] in g.constants:
        _constant_strided_slice(g, n)
    else:
        _dynamic_strided_slice(g, n)


def _bits(n: Node, mask: str, length: int) -> list[bool]:
    return [bool(n.number(mask + "_mask") >> k & 1) for k in range(length)]


def _constant_strided_slice(g: Graph, n: Node) -> None:
    begin, end = (g.value(x).astype(np.int64) for x in n.inputs[1:3])
    strides = g.value(n.inputs[3])
    length = len(strides)
    open_begin, open_end, ellipsis, new_axis, shrink = (
        _bits(n, mask, length) for mask in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    )
    if any(ellipsis):  # axes after the ellipsis are counted from the end
        at = ellipsis.index(True)
        positions = [k for k in range(length) if k != at]
        axes = list(range(at)) + [k - length for k in range(at + 1, length)]
    else:
        positions = axes = list(range(length))
    rows: list[tuple[int, int, int, int]] = []  # axis, begin, end, step
    squeeze: list[int] = []
    unsqueeze: list[int] = []
    for k, axis in zip(positions, axes, strict=True):
        if new_axis[k]:
            unsqueeze.append(k)
            continue
        if axis >= 0:
            axis -= len(unsqueeze)
        if shrink[k]:
            rows.append((axis, begin[k], begin[k] + 1 if begin[k] != -1 else BIG, 1))
            squeeze.append(axis)
        elif not (open_begin[k] and open_end[k] and strides[k] == 1):
            forward = strides[k] > 0
            first = (0 if forward else BIG) if open_begin[k] else begin[k]
            last = (BIG if forward else -BIG) if open_end[k] else end[k]
            rows.append((axis, first, last, strides[k]))
    x = n.inputs[0]
    if rows:
        axes_, begins, ends, steps = (np.array(column, np.int64) for column in zip(*rows, strict=True))
        x = g.add("Slice", [x, g.const(begins), g.const(ends), g.const(axes_), g.const(steps)])
    if squeeze:
        x = g.add("Squeeze", [x, g.const(np.array(squeeze, np.int64))])
    if unsqueeze:
        x = g.add("Unsqueeze", [x, g.const(np.array(unsqueeze, np.int64))])
    g.add("Identity", [x], n.name)


def _dynamic_strided_slice(g: Graph, n: Node) -> None:
    strides = g.value(n.inputs[3])
    length = len(strides)
    open_begin, open_end, ellipsis, new_axis, shrink = (
        _bits(n, mask, length) for mask in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    )
    if any(ellipsis) or any(new_axis):
        raise NotImplementedError(f"StridedSlice with an ellipsis or a new axis and computed bounds ({n.name})")
    begin, end = g.int64(n.inputs[1]), g.int64(n.inputs[2])
    if any(open_begin):
        begin = g.add("Mul", [begin, g.const(np.array([0 if bit else 1 for bit in open_begin]))])
    if any(open_end):
        end = g.add("Add", [end, g.const(np.array([BIG if bit else 0 for bit in open_end]))])
    if any(shrink):
        one_more = [g.const(np.array(shrink)), g.add("Add", [begin, g.const(np.ones(length, np.int64))]), end]
        end = g.add("Where", one_more)
    x = g.add(
        "Slice", [n.inputs[0], begin, end, g.const(np.arange(length)), g.const(strides.astype(np.int64))]
    )  # fmt: skip
    if any(shrink):
        x = g.add("Squeeze", [x, g.const(np.array([k for k in range(length) if shrink[k]], np.int64))])
    g.add("Identity", [x], n.name)


@operation("GatherV2")
def _gather(g: Graph, n: Node) -> None:
    if n.number("batch_dims"):
        raise NotImplementedError(f"Gather with batch_dims ({n.name})")
    axis = int(g.value(n.inputs[2])) if len(n.inputs) > 2 else 0
    g.add("Gather", [n.inputs[0], n.inputs[1]], n.name, axis=axis)


@operation("GatherNd")
def _gather_nd(g: Graph, n: Node) -> None:
    g.add("GatherND", [n.inputs[0], g.int64(n.inputs[1])], n.name)


@operation("ArgMax")
def _arg_max(g: Graph, n: Node) -> None:
    index = g.add("ArgMax", [n.inputs[0]], axis=int(g.value(n.inputs[1])), keepdims=0)
    g.add("Cast", [index], n.name, to=TP.INT32)


@operation("TopKV2")
def _top_k(g: Graph, n: Node) -> None:
    index = g.new("tk")
    count = g.add("Reshape", [g.int64(n.inputs[1]), g.const(np.array([1]))])
    g.add("TopK", [n.inputs[0], count], [n.name, index], axis=-1, sorted=1)
    g.add("Cast", [index], n.name + ":1", to=TP.INT32)


@operation("SparseToDense")
def _sparse_to_dense(g: Graph, n: Node) -> None:
    index, shape, values, fill = (g.value(x) for x in n.inputs)
    dense = np.full([int(d) for d in np.atleast_1d(shape)], fill)
    index = index.reshape(0, 1) if index.size == 0 else index
    rows = index if index.ndim > 1 else index[:, None]
    for row, value in zip(rows, np.broadcast_to(values, index.shape[:1]), strict=True):
        dense[tuple(row)] = value
    g.constants[n.name] = dense
