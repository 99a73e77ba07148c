"""ONNX models."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, Union

from . import _call
from ._library import lib
from .errors import bad_argument


class Model:
    """An ONNX model: of a file, of bytes, or an `onnx.ModelProto`. Needs the compiler.

    Every function that takes a model also takes what `Model(...)` takes.
    """

    def __init__(self, source: Any, *, name: str = "model") -> None:
        """source: a path, bytes, an onnx.ModelProto (anything with SerializeToString), or a Model.
        name: the model's name in diagnostics, where the source is not a path.

        Raises InputError for a file that is not an ONNX model. Tensors outside of a model are found next to
        its file, and not found where the source is not a path.
        """
        self._handle: _call.Handle
        if isinstance(source, Model):
            self._handle = source._handle
            return
        out = ctypes.c_void_p()
        if isinstance(source, (str, os.PathLike)):
            path = _call.path_text(source, "Model: source")
            _call.check(lib.dvt_model_load_file(path, ctypes.byref(out)))
        else:
            if hasattr(source, "SerializeToString"):
                source = source.SerializeToString()
            if not isinstance(source, (bytes, bytearray, memoryview)):
                raise bad_argument(
                    "Model: source", f"it is a {type(source).__name__}", "give a path, bytes or an onnx.ModelProto"
                )
            content = bytes(source)
            label = _call.text(name, "Model: name")
            _call.check(lib.dvt_model_load_memory(content, len(content), label, ctypes.byref(out)))
        self._handle = _call.Handle(lib.dvt_model_free, out)

    def describe(self) -> Dict[str, Any]:
        """"graph", "producer", "ir_version", "opset", "inputs" and "outputs" ("name", "type"), "operators" with their
        number, and "symbols", the symbolic extents, which `compile(shapes=...)` sets."""
        return dict(_call.json_of(lib.dvt_model_describe, self._handle.pointer))

    def save(self, path: _call.PathLike) -> None:
        """Writes the model's file."""
        _call.check(lib.dvt_model_save(self._handle.pointer, _call.path_text(path, "Model.save: path")))

    def __repr__(self) -> str:
        about = self.describe()
        ins, outs = (", ".join(f"{row['name']}: {row['type']}" for row in about[key]) for key in ("inputs", "outputs"))
        return f"<dovetail.Model {about['graph']}: {ins} -> {outs}; {sum(about['operators'].values())} nodes>"


ModelLike = Union[Model, _call.PathLike, bytes, Any]
"""A Model, or what `Model(...)` takes: a path, bytes, an onnx.ModelProto."""
