"""Dovetail: compile ONNX models for an accelerator, CPUs and GPUs, run them, and design the accelerator.

>>> import dovetail, numpy
>>> bundle = dovetail.compile("digits_int8.onnx", "accel,cpu", "1x16x16-ext")
>>> session = bundle.session(engine="cycle")
>>> session.run({"image": numpy.zeros((1, 1, 8, 8), numpy.float32)})

Importing opens the kit's shared library (`dovetail.library_path`). With the library that only runs bundles,
`dovetail.has_compiler` is False, and functions that need the compiler raise InputError.
"""

from . import loops
from ._library import has_compiler, version as __version__
from ._library import lib as _lib
from .binding import Binding
from .bundle import Bundle
from .compiler import compile, engines, targets
from .errors import Diagnostic, Error, InputError, InternalError, ResourceError, WorkError
from .evaluation import Evaluation, measure
from .hardware import Hardware, hardware, named_hardware
from .model import Model, Quantized, quantize
from .own_target import Node, Region, Target
from .report import Report
from .search import Exploration, Point, explore, tune
from .session import Session
from .tensors import Tensor, TensorInfo
from .trace import Trace

library_path: str = _lib.path
"""The shared library that was opened."""

__all__ = [
    "Binding", "Bundle", "Diagnostic", "Error", "Evaluation", "Exploration", "Hardware", "InputError", "InternalError",
    "Model", "Node", "Point", "Quantized", "Region", "Report", "ResourceError", "Session", "Target", "Tensor",
    "TensorInfo", "Trace", "WorkError", "__version__", "compile", "engines", "explore", "hardware", "has_compiler",
    "library_path", "loops", "measure", "named_hardware", "quantize", "targets", "tune",
]
