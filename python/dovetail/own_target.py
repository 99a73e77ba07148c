"""A target of the caller's, as a Python class."""

from __future__ import annotations

import ctypes
import json
import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _call
from ._library import lib
from ._prototypes import dvt_target, dvt_tensor_info
from .errors import Error, bad_argument
from .tensors import Tensor, TensorInfo, array_at, dtype_name, shape_of


class Node(NamedTuple):
    """An operation of a region.

    name: the node's name in the model.
    operator: of ONNX, "Conv", or of the kit, "dovetail.qconv".
    attributes: by name: numbers, texts, lists.
    inputs: the numbers of values in the graph, for `Region.value`; None: omitted.
    outputs: likewise.
    """

    name: str
    operator: str
    attributes: Dict[str, Any]
    inputs: Tuple[Optional[int], ...]
    outputs: Tuple[int, ...]


class Region:
    """Nodes of the graph that a target may compile. Valid during the call that receives it."""

    def __init__(self, pointer: int) -> None:
        """For this package."""
        self._pointer: Optional[int] = pointer

    def _region(self) -> int:
        if self._pointer is None:
            raise bad_argument("Region", "it is used after the call that received it", "keep what is needed of it")
        return self._pointer

    def _values(self, count: Any, get: Any, *node: int) -> Tuple[int, ...]:
        region = self._region()
        return tuple(get(region, *node, index) for index in range(count(region, *node)))

    @property
    def name(self) -> str:
        """Its name in the report."""
        return str(lib.dvt_region_name(self._region()).decode(errors="replace"))

    @property
    def nodes(self) -> List[Node]:
        """In execution order."""
        region = self._region()
        nodes = []
        for index in range(lib.dvt_region_node_count(region)):
            inputs = self._values(lib.dvt_region_node_input_count, lib.dvt_region_node_input, index)
            nodes.append(
                Node(
                    lib.dvt_region_node_name(region, index).decode(errors="replace"),
                    lib.dvt_region_node_operator(region, index).decode(errors="replace"),
                    json.loads(lib.dvt_region_node_attributes(region, index).decode(errors="replace")),
                    tuple(None if value < 0 else value for value in inputs),
                    self._values(lib.dvt_region_node_output_count, lib.dvt_region_node_output, index),
                )
            )
        return nodes

    @property
    def inputs(self) -> Tuple[int, ...]:
        """The values that are read from outside, without constants: the arguments of a run, in this order."""
        return self._values(lib.dvt_region_input_count, lib.dvt_region_input)

    @property
    def outputs(self) -> Tuple[int, ...]:
        """The values that are read outside: the results of a run, in this order."""
        return self._values(lib.dvt_region_output_count, lib.dvt_region_output)

    def value(self, number: int) -> TensorInfo:
        """The name, type and shape of a value."""
        info = dvt_tensor_info(ctypes.sizeof(dvt_tensor_info))
        _call.check(lib.dvt_region_value(self._region(), number, ctypes.byref(info)))
        return TensorInfo(info.name.decode(errors="replace"), dtype_name(info.dtype), shape_of(info))

    def constant(self, number: int) -> Any:
        """A copy of the elements of a constant, as an array of NumPy or a Tensor; None: the value is not one."""
        view = lib.dvt_region_constant(self._region(), number)
        if not view:
            return None
        array = _array(view.contents)
        return Tensor(array.bits().copy()) if isinstance(array, Tensor) else array.copy()

    def __repr__(self) -> str:
        operators = ", ".join(node.operator for node in self.nodes)
        return f"<dovetail.Region {self.name}: {operators}>"


def _array(tensor: Any, writable: bool = False) -> Any:
    """An array on memory of the library."""
    array = array_at((tensor.data or 0) + tensor.byte_offset, dtype_name(tensor.dtype), shape_of(tensor), None)
    (array.bits() if isinstance(array, Tensor) else array).flags.writeable = writable
    return array


class Target:
    """A target of the caller's: derive from it, set `name` and `patterns`, and write `generate`, `load` and `run`.

    >>> class Doubler(dovetail.Target):
    ...     name, patterns = "doubler", ["Add(_, _)"]
    ...     def generate(self, region):
    ...         return b"add"
    ...     def run(self, kernel, arguments, results):
    ...         results[0][...] = arguments[0] + arguments[1]
    >>> bundle = dovetail.compile("model.onnx", [Doubler(), "cpu"])

    The compiler calls `refuse`, `seconds` and `generate`; a session calls `load`, `run` and `unload`, all of them one
    at a time. An exception of one of them fails the compilation or the run, whose error has it as `__cause__`.

    name: in `compile(targets=...)`, and in bundles.
    patterns: what it may take, for example "Relu?(Add~(MatMul(_, #), #))" (docs/howto/adding-a-target.md).
    """

    name: str = ""
    patterns: Sequence[str] = ()

    def refuse(self, region: Region) -> Optional[str]:
        """Why it does not take this match, for the report; None: it does."""
        return None

    def seconds(self, region: Region) -> float:
        """An estimate of the time of a match. Where it is not overridden: a nanosecond for each operation."""
        raise NotImplementedError

    def generate(self, region: Region) -> bytes:
        """The code of a region, in any form. Constants of the region belong to the code; the arguments and results of
        a run are `region.inputs` and `region.outputs`, in their order."""
        raise NotImplementedError(f"target {self.name} generates no code")

    def load(self, code: bytes) -> Any:
        """Makes a kernel of the code of a step: what `run` receives. The code itself, where it is not overridden."""
        return code

    def run(self, kernel: Any, arguments: List[Any], results: List[Any]) -> None:
        """Computes the results, arrays that are written in place, from the arguments, which are read-only. The arrays
        are valid during the call."""
        raise NotImplementedError(f"target {self.name} runs no code")

    def unload(self, kernel: Any) -> None:
        """Frees what a kernel holds."""

    @property
    def table(self) -> dvt_target:
        """For this package: the functions for the library."""
        found: Optional[dvt_target] = self.__dict__.get("_table")
        if found is None:
            found = self.__dict__.setdefault("_table", self._make_table())
        return found

    def _make_table(self) -> dvt_target:
        if not self.name:
            raise bad_argument(f"{type(self).__name__}: name", "it is empty", "set `name`")
        self._kernels: Dict[int, Any] = {}
        self._causes: List[BaseException] = []
        self._reason = b""
        own = type(self)
        table = _call.options(dvt_target, f"target {self.name}", name=self.name)
        patterns = [_call.text(each, f"target {self.name}: patterns") for each in self.patterns]
        table.patterns, table.pattern_count = (ctypes.c_char_p * len(patterns))(*patterns), len(patterns)
        if own.refuse is not Target.refuse:
            table.refuse = self._function("refuse", self._refuse)
        if own.seconds is not Target.seconds:
            table.seconds = self._function("seconds", self._seconds, 0.0)
        table.generate = self._function("generate", self._generate)
        table.load = self._function("load", self._load)
        table.run = self._function("run", self._run)
        table.unload = self._function("unload", self._unload)
        return table

    def _function(self, member: str, function: Callable[..., Any], failed: Any = None) -> Any:
        """A function for the library. An exception becomes the reason, and is kept."""

        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as error:
                self._causes.append(error)
                return self._text(f"{type(error).__name__}: {error}") if failed is None else failed

        return _call.function_type(dvt_target, member)(call)

    def _text(self, text: Optional[str]) -> Optional[int]:
        """The address of a reason, which stays valid until the next one."""
        if text is None:
            return None
        self._reason = text.encode(errors="replace")
        return ctypes.cast(ctypes.c_char_p(self._reason), ctypes.c_void_p).value

    @staticmethod
    def _with_region(function: Callable[[Region], Any], pointer: int) -> Any:
        region = Region(pointer)
        try:
            return function(region)
        finally:
            region._pointer = None

    def _refuse(self, _: Any, match: int) -> Optional[int]:
        return self._text(self._with_region(self.refuse, match))

    def _seconds(self, _: Any, match: int) -> float:
        seconds = self._with_region(self.seconds, match)
        if isinstance(seconds, (int, float, np.number)) and 0 <= seconds < math.inf:
            return float(seconds)
        raise bad_argument(f"target {self.name}: seconds", f"it returned {seconds!r}", "return seconds, 0 or more")

    def _generate(self, _: Any, region: int, write: Any, code: int) -> None:
        made = self._with_region(self.generate, region)
        if not isinstance(made, (bytes, bytearray, memoryview)):
            raise bad_argument(f"target {self.name}: generate", f"it returned {type(made).__name__}", "return bytes")
        made = bytes(made)
        write(code, made, len(made))

    def _load(self, _: Any, code: int, size: int, why: Any) -> Optional[int]:
        try:
            kernel = self.load(ctypes.string_at(code, size))
        except BaseException as error:
            self._causes.append(error)
            self._text(f"{type(error).__name__}: {error}")
            why[0] = self._reason
            return None
        number = max(self._kernels, default=0) + 1
        self._kernels[number] = kernel
        return number

    def _run(self, _: Any, kernel: int, arguments: Any, count: int, results: Any, result_count: int) -> None:
        self.run(
            self._kernels[kernel],
            [_array(arguments[index]) for index in range(count)],
            [_array(results[index], writable=True) for index in range(result_count)],
        )

    def _unload(self, _: Any, kernel: int) -> None:
        self.unload(self._kernels.pop(kernel))

    def raise_cause(self, error: Optional[Error]) -> None:
        """For this package: raises what a function of this target raised, with the library's error."""
        causes, self._causes = self._causes, []
        if not causes:
            return
        if error is None or not isinstance(causes[0], Exception):
            raise causes[0]
        raise error from causes[0]

    def __repr__(self) -> str:
        return f"<dovetail.Target {self.name}>"
