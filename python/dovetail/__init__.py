"""Dovetail: compile ONNX models for an accelerator, CPUs and GPUs, run them, and design the accelerator.

>>> import dovetail, numpy
>>> bundle = dovetail.compile("digits_int8.onnx", "accel,cpu", "1x16x16-ext")
>>> session = bundle.session(engine="cycle")
>>> session.run({"image": numpy.zeros((1, 1, 8, 8), numpy.float32)})

Importing opens the kit's shared library.

library_path: the path of that library.
has_compiler: False with the library that only runs bundles: functions that need the compiler then raise InputError.
__version__: the version of the kit.
"""

from . import loops
from ._call import suggestion as _suggestion
from ._library import has_compiler, version as __version__
from ._library import lib as _lib
from ._suggest import name_keywords as _name_keywords
from .binding import Binding
from .bundle import Bundle
from .comparison import compare
from .compiler import Decision, Stage, compile, compile_stages, decisions, engines, peak, targets
from .errors import Diagnostic, Error, InputError, InternalError, PlacementWarning, ResourceError, WorkError
from .evaluation import Evaluation, measure
from .facts import doctor, examples, inspect, isa, operators, zoo, zoo_model
from .hardware import Hardware, hardware, named_hardware
from .machine import Machine
from .model import Model, Quantized, quantize
from .own_target import Node, Region, Target
from .program import Program, Simulation
from .records import Records
from .report import Report
from .search import Exploration, Point, explore, tune, what_if
from .session import Session
from .tensors import Tensor, TensorInfo
from .trace import Trace

library_path: str = _lib.path
"""The shared library that was opened."""

__all__ = [
    "Binding", "Bundle", "Decision", "Diagnostic", "Error", "Evaluation", "Exploration", "Hardware", "InputError",
    "InternalError", "Machine", "Model", "Node", "PlacementWarning", "Point", "Program", "Quantized", "Records", "Region",
    "Report", "ResourceError", "Session", "Simulation", "Stage", "Target", "Tensor", "TensorInfo", "Trace", "WorkError",
    "__version__", "compare", "compile", "compile_stages", "decisions", "doctor", "engines", "examples", "explore", "hardware",
    "has_compiler", "inspect", "isa", "library_path", "loops", "measure", "named_hardware", "operators", "peak",
    "quantize", "targets", "tune", "what_if", "zoo", "zoo_model",
]



def __getattr__(name: str) -> object:
    meant = {"load": "Session(path) runs a bundle, Bundle.load(path) reads one, Model(path) reads a model",
             "run": "compile(model, targets).session().run(inputs) runs a model"}
    raise AttributeError(f"dovetail has no {name}; {meant.get(name) or _suggestion(name, __all__)}")


_name_keywords(vars(loops), ("Loops", "program"), {})
_name_keywords(globals(), __all__, dict.fromkeys(("compare", "compile_stages", "decisions", "tune"), compile))
