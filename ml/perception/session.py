"""One ONNX Runtime session on one thread."""

from __future__ import annotations

from pathlib import Path

import onnxruntime

from ml.perception.protocols import Array
from ml.weights import cache


class Session:
    """A model of the manifest; call it with the input, get the outputs by name.

    Raises MissingWeights at once when the file is missing or damaged.
    """

    def __init__(self, model: str, folder: Path | None = None) -> None:
        path = cache.find(model, folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = (
            1  # one process per core; two threads on a busy two-core machine were 2.4 times slower
        )
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._outputs = [o.name for o in self._session.get_outputs()]

    def __call__(self, x: Array) -> dict[str, Array]:
        return dict(zip(self._outputs, self._session.run(None, {self._input: x}), strict=True))
