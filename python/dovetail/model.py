"""ONNX models."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _call, show
from ._library import lib
from ._prototypes import dvt_quantize_options
from ._work import LongCall, Progress
from .bundle import Bundle
from .errors import InputError, bad_argument
from .evaluation import collected
from .report import Report
from .session import named_tensors
from .shapes import Shapes, shape_texts


class Model:
    """An ONNX model: of a file, of bytes, or an `onnx.ModelProto`. Needs the compiler.

    Every function that takes a model also takes what `Model(...)` takes.
    """

    def __init__(self, source: Any, *, name: str = "model") -> None:
        """source: a path of an ONNX file or of shapes (.csv, .yaml), bytes, an onnx.ModelProto (anything with
        SerializeToString), a Model, or a Quantized.
        name: the model's name in diagnostics, where the source is not a path.

        Raises InputError for a file that is not an ONNX model. Tensors outside of a model are found next to
        its file, and not found where the source is not a path.
        """
        self._handle: _call.Handle
        if isinstance(source, Quantized):
            source = source.model
        if isinstance(source, (Model, _call.Handle)):
            self._handle = source._handle if isinstance(source, Model) else source
            return
        out = ctypes.c_void_p()
        if isinstance(source, (str, os.PathLike)):
            path = _call.path_text(source, "Model: source")
            try:
                _call.check(lib.dvt_model_load_file(path, ctypes.byref(out)))
            except InputError as error:
                if not path.endswith(b".dvt") or not os.path.exists(source):
                    raise
                hint = "the file is a bundle, compiled already: dovetail.Session(path) runs it"
                raise InputError([each._replace(hint=hint) for each in error.diagnostics]) from None
        else:
            if hasattr(source, "SerializeToString"):
                source = source.SerializeToString()
            if not isinstance(source, (bytes, bytearray, memoryview)):
                hint = "give a path, bytes or an onnx.ModelProto"
                if isinstance(source, Bundle):
                    hint = "a bundle is compiled already: Bundle.session() runs it"
                raise bad_argument("Model: source", f"its type is {type(source).__name__}", hint)
            content = bytes(source)
            label = _call.text(name, "Model: name")
            _call.check(lib.dvt_model_load_memory(content, len(content), label, ctypes.byref(out)))
        self._handle = _call.Handle(lib.dvt_model_free, out)

    @classmethod
    def of_layers(cls, *layers: str) -> Model:
        """A model of layers by their shape: "conv 64x56x56 -> 64 k3 s1 p1", "gemm 128x768 -> 3072". Each is independent
        of the others, from memory to memory.

        Raises InputError for a text that is not a layer.
        """
        out = ctypes.c_void_p()
        texts = _call.texts(layers, "Model.of_layers: layers")
        _call.check(lib.dvt_model_of_layers(ctypes.byref(texts), ctypes.byref(out)))
        return cls(_call.Handle(lib.dvt_model_free, out))

    def part(self, only: Sequence[str] = (), *, from_: Sequence[str] = (), to: Sequence[str] = ()) -> Model:
        """A part of the model, with its weights.

        only: nodes, by name or by a pattern with * and ?.
        from_, to: tensors; the nodes between them are taken. Without `from_` from the inputs, without `to` to the outputs.

        Raises InputError for names that the model does not have, and for an empty part.
        """
        out = ctypes.c_void_p()
        lists = [_call.texts(names, f"Model.part: {argument}") for names, argument in
                 ((only, "only"), (from_, "from_"), (to, "to"))]
        _call.check(lib.dvt_model_part(self._handle, *(ctypes.byref(each) for each in lists), ctypes.byref(out)))
        return type(self)(_call.Handle(lib.dvt_model_free, out))

    def describe(self) -> Dict[str, Any]:
        """"graph", "producer", "ir_version", "opset", "inputs" and "outputs" ("name", "type"), "operators" with their
        number, and "symbols", the symbolic extents, which `compile(shapes=...)` sets."""
        return dict(_call.json_of(lib.dvt_model_describe, self._handle))

    def input_axes(self) -> List[Tuple[str, int]]:
        """The name and the number of axes of each input."""
        rows = [(each["name"], each["type"].partition("[")[2].rstrip("]")) for each in self.describe()["inputs"]]
        return [(name, len(extents.split(",")) if extents else 0) for name, extents in rows]

    def save(self, path: _call.PathLike) -> None:
        """Writes the model's file."""
        _call.check(lib.dvt_model_save(self._handle, _call.path_text(path, "Model.save: path")))

    def _repr_html_(self) -> str:
        return show.model_html(self)

    def __repr__(self) -> str:
        about = self.describe()
        ins, outs = (_call.listed(f"{row['name']}: {row['type']}" for row in about[key]) for key in ("inputs", "outputs"))
        return f"<dovetail.Model {about['graph']}: {ins} -> {outs}; {sum(about['operators'].values())} nodes>"


class Quantized(NamedTuple):
    """What `quantize` made.

    model: the int8 model, in QDQ form.
    report: the tensors and layers, as `dovetail quantize --json` prints them (docs/schema/quantize.json). Figures in
        "_db" are ratios of signal to error in decibels.
    """

    model: Model
    report: Report

    def save(self, path: _call.PathLike, report: Optional[_call.PathLike] = None) -> None:
        """Writes the model's file.

        report: also write the report: the page, where the name ends in `.html`, else JSON.
        """
        self.model.save(path)
        if report is not None:
            self.report.save(report)

    def _repr_html_(self) -> str:
        return show.report_html(self.report)

    def __repr__(self) -> str:
        return f"<dovetail.Quantized {self.model!r}>"


ModelLike = Union[Model, _call.PathLike, bytes, Any]
"""A Model, or what `Model(...)` takes: a path, bytes, an onnx.ModelProto, a Quantized."""


def models_of(value: Any) -> List[Model]:
    """The models of an argument that takes one, or a list."""
    several = isinstance(value, (list, tuple)) and not isinstance(value, Quantized)
    return [Model(each) for each in (value if several else [value])]


def quantize(
    model: ModelLike,
    samples: Any,
    *,
    calibration: Optional[str] = None,
    tail: Optional[float] = None,
    per_tensor: bool = False,
    weight_bits: int = 8,
    powers_of_two: bool = False,
    symmetric: bool = False,
    equalize: bool = False,
    correct_biases: bool = False,
    measured_samples: int = 0,
    keep_float: Sequence[str] = (),
    shapes: Shapes = None,
    progress: Progress = None,
    memory_limit: Union[int, str, None] = None,
    resume: bool = False,
) -> Quantized:
    """Makes an int8 model in QDQ form of a float model. Needs the compiler.

    >>> int8 = dovetail.quantize("float.onnx", loader).model

    samples: calibrate it: arrays by name, with samples along the first axis; or an iterable of such dicts, or of
        arrays where the model has one input, each of one sample or of a batch.
    calibration: "min-max" (None), "percentile", "entropy" or "mse". tail: for "percentile": the share of values that
        is cut at each end; None: 0.00001.
    per_tensor: one scale for each weight tensor, not for each channel. powers_of_two: scales are powers of two.
    weight_bits: 8, or 4 for hardware that loads weights of 4 bits.
    symmetric: all zero points are 0. equalize: first equalize the ranges of neighboring layers.
    correct_biases: correct each bias by the shift of the layer's mean.
    measured_samples: samples on which each layer is measured alone, for the report.
    keep_float: nodes that stay in float. shapes: as of `compile`.
    memory_limit: bytes, or "512MiB" or "8GiB": works on groups of tensors, so that the process takes at most this
        memory; None: three quarters of the machine's.
    resume: keep sums over the samples in the user's cache until the call succeeds; an interrupted call with the same
        model, samples and options then continues.

    Raises InputError for samples that do not fit the model. Ctrl-C stops it.
    """
    model = Model(model)
    call = LongCall("quantize", progress)
    rows = named_tensors(collected(model.input_axes(), samples, "quantize: samples"), "quantize: samples", copy=True)
    options = _call.options(
        dvt_quantize_options,
        "quantize",
        calibration=calibration,
        tail=tail,
        per_tensor=per_tensor,
        weight_bits=weight_bits,
        powers_of_two=powers_of_two,
        symmetric=symmetric,
        equalize=equalize,
        correct_biases=correct_biases,
        measured_samples=measured_samples,
        keep_float=keep_float,
        shapes=shape_texts(shapes),
        callbacks=ctypes.pointer(call.callbacks),
        memory_limit=None if memory_limit is None else str(memory_limit),
        resume=resume,
    )
    out, report = ctypes.c_void_p(), ctypes.c_void_p()
    call.run(
        lib.dvt_quantize, model._handle, rows, len(rows), options, ctypes.byref(out), ctypes.byref(report)
    )
    return Quantized(Model(_call.Handle(lib.dvt_model_free, out)), Report(_call.taken_json(report)))
