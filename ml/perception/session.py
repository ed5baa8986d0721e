"""One ONNX Runtime session on one thread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnxruntime

from ml.perception.protocols import Array
from ml.weights import cache


class Session:
    """A model of the manifest; call it with the input, get the outputs by name.

    `outputs`: those that are wanted (default: all); what only the others need is left out of the graph, which
    onnxruntime does not do by itself, and the values stay the same to the last bit. Raises MissingWeights at once when
    the file is missing or damaged.
    """

    def __init__(self, model: str, folder: Path | None = None, outputs: Sequence[str] | None = None) -> None:
        path = cache.find(model, folder)
        source = str(path) if outputs is None else part_of(path, outputs)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = (
            1  # one process per core; two threads on a busy two-core machine were 2.4 times slower
        )
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._outputs = [o.name for o in self._session.get_outputs()]

    def __call__(self, x: Array) -> dict[str, Array]:
        return dict(zip(self._outputs, self._session.run(None, {self._input: x}), strict=True))


def part_of(path: Path, outputs: Sequence[str]) -> bytes:
    """The model of a file, cut down to what some of its outputs need. onnx loads slowly: it is imported only here."""
    import onnx
    from onnx.utils import Extractor

    model = onnx.load(str(path))
    part = Extractor(model).extract_model([given.name for given in model.graph.input], list(outputs))
    return bytes(part.SerializeToString())
