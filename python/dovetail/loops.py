"""Loop programs: written in Python or as text, scheduled by primitives, interpreted, and compiled.

>>> from dovetail import loops
>>> x, w = loops.input("x", "int8", (64, 256)), loops.input("w", "int8", (128, 256))
>>> k = loops.axis("k", 256)
>>> y = loops.compute("y", (64, 128), lambda i, j: loops.sum(x[i, k].astype("int32") * w[j, k].astype("int32"), k))
>>> program = loops.program("product", [y])
>>> program = program.split("y.i", 16).reorder("y.i_0", "y.j", "y.i_1")
>>> program.run({"x": left, "w": right})["y"]
>>> program.compile("cpu").session()

`program.text` shows the program after each step, and a step that would change its values is an InputError that names
the step and its loop. docs/howto/schedule-by-hand.md leads from a product to a program of the accelerator.
"""

from __future__ import annotations

import builtins
import ctypes
import inspect
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _call
from ._library import lib
from ._primitives import Primitives, Word
from ._prototypes import dvt_loops_compile_options, dvt_loops_options, dvt_loops_tune_options
from ._work import LongCall, Progress
from .bundle import Bundle
from .errors import bad_argument
from .hardware import HardwareLike, hardware_text
from .session import named_tensors, take_tensors
from .tensors import ArrayLike, TensorInfo, aligned

_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")


def _name(name: str, where: str) -> str:
    if not isinstance(name, str) or not _NAME.match(name):
        raise bad_argument(where, f"{name!r} is not a name", "use a letter or _, then letters, digits, _ and .")
    return name


def _dtype(dtype: Any, where: str) -> str:
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", getattr(dtype, "__name__", str(dtype)))
    if name not in _INTEGERS + _FLOATS + ("bool",):
        raise bad_argument(where, f"{name!r} is not a type", f"use one of {', '.join(_INTEGERS + _FLOATS)}, bool")
    return str(name)


class Expr:
    """An expression: of a loop's index, or of elements. Python's operators make further ones.

    `+ - *`, `//` and `%` (which round to minus infinity), `/` of floats, `<< >> & | ^ ~`, comparisons. Numbers take the
    type of the other operand; other types must be equal, so convert with `astype`.

    text: as in the text of a program (docs/reference/loop-programs.md).
    dtype: the type of the value, for example "int32".
    buffers: those whose elements it reads.
    """

    __slots__ = ("text", "dtype", "buffers")
    __hash__ = None  # type: ignore[assignment]  # == makes an expression

    def __init__(self, text: str, dtype: str, buffers: Tuple[Buffer, ...] = ()) -> None:
        """For this module: users index buffers, and combine expressions."""
        self.text, self.dtype, self.buffers = text, dtype, buffers

    def __repr__(self) -> str:
        return f"<{self.dtype}: {self.text}>"

    def __bool__(self) -> bool:
        raise TypeError("an expression has no value yet: use loops.select for if, & for and, | for or, ~ for not")

    def astype(self, dtype: Any) -> Expr:
        """The value converted: float to integer truncates and saturates, integers wrap."""
        name = _dtype(dtype, "astype")
        return Expr(f"{name}({self.text})", name, self.buffers)

    def _with(self, other: Operand, symbol: str, swapped: bool = False, result: Optional[str] = None) -> Expr:
        right = _expr(other, self.dtype)
        if right.dtype != self.dtype:
            raise bad_argument(f"{self.text} {symbol} {right.text}", f"the types are {self.dtype} and {right.dtype}",
                               "convert one with astype")
        a, b = (right, self) if swapped else (self, right)
        return Expr(f"({a.text} {symbol} {b.text})", result or self.dtype, _joined(a, b))

    def __add__(self, other: Operand) -> Expr:
        return self._with(other, "+")

    def __radd__(self, other: Operand) -> Expr:
        return self._with(other, "+", True)

    def __sub__(self, other: Operand) -> Expr:
        return self._with(other, "-")

    def __rsub__(self, other: Operand) -> Expr:
        return self._with(other, "-", True)

    def __mul__(self, other: Operand) -> Expr:
        return self._with(other, "*")

    def __rmul__(self, other: Operand) -> Expr:
        return self._with(other, "*", True)

    def __floordiv__(self, other: Operand) -> Expr:
        return self._with(other, "//")

    def __rfloordiv__(self, other: Operand) -> Expr:
        return self._with(other, "//", True)

    def __mod__(self, other: Operand) -> Expr:
        return self._with(other, "%")

    def __rmod__(self, other: Operand) -> Expr:
        return self._with(other, "%", True)

    def __truediv__(self, other: Operand) -> Expr:
        return self._divided(other, False)

    def __rtruediv__(self, other: Operand) -> Expr:
        return self._divided(other, True)

    def _divided(self, other: Operand, swapped: bool) -> Expr:
        if self.dtype not in _FLOATS:
            raise bad_argument(self.text, f"/ divides floats, and its type is {self.dtype}", "use //")
        return self._with(other, "/", swapped)

    def __lshift__(self, other: Operand) -> Expr:
        return self._with(other, "<<")

    def __rshift__(self, other: Operand) -> Expr:
        return self._with(other, ">>")

    def __and__(self, other: Operand) -> Expr:
        return self._with(other, "&&" if self.dtype == "bool" else "&")

    def __or__(self, other: Operand) -> Expr:
        return self._with(other, "||" if self.dtype == "bool" else "|")

    def __xor__(self, other: Operand) -> Expr:
        return self._with(other, "^")

    def __invert__(self) -> Expr:
        return Expr(f"({'!' if self.dtype == 'bool' else '~'}{self.text})", self.dtype, self.buffers)

    def __neg__(self) -> Expr:
        return Expr(f"(-{self.text})", self.dtype, self.buffers)

    def __abs__(self) -> Expr:
        return apply("abs", self)

    def __lt__(self, other: Operand) -> Expr:
        return self._with(other, "<", result="bool")

    def __le__(self, other: Operand) -> Expr:
        return self._with(other, "<=", result="bool")

    def __gt__(self, other: Operand) -> Expr:
        return self._with(other, ">", result="bool")

    def __ge__(self, other: Operand) -> Expr:
        return self._with(other, ">=", result="bool")

    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]
        return self._with(other, "==", result="bool")

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]
        return self._with(other, "!=", result="bool")


Operand = Union[Expr, int, float, bool]


def _joined(*expressions: Expr) -> Tuple[Buffer, ...]:
    buffers: List[Buffer] = []
    for each in expressions:
        buffers += [buffer for buffer in each.buffers if all(buffer is not known for known in buffers)]
    return tuple(buffers)


def _expr(value: Operand, dtype: str) -> Expr:
    """A number as an expression of that type; an expression as it is."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return Expr("true" if value else "false", "bool")
    if not isinstance(value, (int, float, np.number)):
        hint = "use numbers and expressions; loops.apply has functions"
        raise bad_argument(repr(value), f"a number of type {dtype} is needed", hint)
    if dtype in _FLOATS:
        number = float(value)
        text = {"inf": "inf", "-inf": "-inf", "nan": "nan"}.get(repr(number), repr(number))
        return Expr(f"{dtype}({text})", dtype)
    index = getattr(value, "__index__", None)
    if index is None:
        raise bad_argument(repr(value), f"a number of type {dtype} is needed", "convert the other operand with astype")
    number = index()
    return Expr(f"{dtype}({number - (1 << 64) if dtype == 'uint64' and number >= 1 << 63 else number})", dtype)


class Axis(Expr):
    """An index: of an axis of a result, or of a reduction (`loops.axis`).

    name: the end of its loop's name, BUFFER.NAME.
    extent: the index runs from 0 to extent − 1.
    """

    __slots__ = ("name", "extent")

    def __init__(self, name: str, extent: int) -> None:
        super().__init__(name, "int64")
        self.name, self.extent = name, extent


class Reduction:
    """A sum, maximum or minimum over axes: the whole value of a `compute`.

    kind: "sum", "max" or "min".
    value: what is combined.
    axes: the axes that it is combined over.
    """

    __slots__ = ("value", "axes", "kind")

    def __init__(self, kind: str, value: Expr, axes: Sequence[Axis]) -> None:
        """For this module: users call `loops.sum`, `max_over` and `min_over`."""
        self.kind, self.value, self.axes = kind, value, tuple(axes)

    def identity(self) -> str:
        """The value that the reduction begins with."""
        dtype = self.value.dtype
        if self.kind == "sum":
            number: Operand = 0
        elif dtype in _FLOATS:
            number = float("-inf" if self.kind == "max" else "inf")
        else:
            bits, signed = int(re.sub(r"\D", "", dtype)), not dtype.startswith("u")
            least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
            number = least if self.kind == "max" else most
        return _expr(number, dtype).text

    def step(self, so_far: str) -> str:
        """The value after one more term."""
        return f"{so_far} + {self.value.text}" if self.kind == "sum" else f"{self.kind}({so_far}, {self.value.text})"


class Buffer:
    """A tensor of a program. Indexing it gives an element: `x[i, j + 1]`.

    name: in the program, and of the array that `Loops.run` takes or returns.
    dtype: the type of an element, for example "int8".
    shape: the extents.
    """

    __slots__ = ("name", "dtype", "shape", "_axes", "_value")

    def __init__(
        self, name: str, dtype: str, shape: Iterable[int], axes: Sequence[Axis] = (), value: Any = None
    ) -> None:
        """For this module: users call `loops.input` and `loops.compute`."""
        self.name, self.dtype = _name(name, "name of a buffer"), dtype
        self.shape = tuple(_call.number(each, ctypes.c_int64, f"{name}: shape") for each in shape)
        self._axes, self._value = tuple(axes), value

    def __repr__(self) -> str:
        return f"<{self.name}: {self.dtype}{list(self.shape)}>"

    def __getitem__(self, indices: Union[Operand, Tuple[Operand, ...]]) -> Expr:
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != len(self.shape):
            raise bad_argument(self.name, f"it has {len(self.shape)} dimensions, and {len(given)} indices are given",
                               "give an index for each dimension")
        texts, parts = [], [Expr("", "", (self,))]
        for index in given:
            part = index if isinstance(index, Expr) else _expr(index, "int64")
            part = part if part.dtype == "int64" else part.astype("int64")
            texts.append(part.text)
            parts.append(part)
        return Expr(f"{self.name}[{', '.join(texts)}]", self.dtype, _joined(*parts))


def input(name: str, dtype: Any, shape: Iterable[int]) -> Buffer:
    """A tensor that the caller of the program gives."""
    return Buffer(name, _dtype(dtype, f"input {name}: dtype"), shape)


def axis(name: str, extent: int) -> Axis:
    """An axis of a reduction, with indices from 0 to extent − 1. Its loop is BUFFER.NAME."""
    return Axis(_name(name, "axis"), _call.number(extent, ctypes.c_int64, f"axis {name}: extent"))


def compute(
    name: str, shape: Iterable[int], value: Callable[..., Union[Operand, Reduction]], dtype: Any = None
) -> Buffer:
    """A tensor whose elements are `value(i, j, ...)`, an expression of the indices, or a sum or the like over axes.

    The names of the function's parameters name the axes: with `lambda i, j: ...` the loops are NAME.i and NAME.j, and
    the block is NAME. dtype: needed where the value is a number of Python.
    """
    names = list(inspect.signature(value).parameters)
    extents = tuple(shape)
    if len(names) != len(extents):
        raise bad_argument(f"compute {name}", f"the function has {len(names)} parameters for {len(extents)} dimensions",
                           "give a parameter for each dimension")
    axes = [Axis(_name(each, f"compute {name}"), extent) for each, extent in zip(names, extents)]
    result = value(*axes)
    if isinstance(result, Reduction):
        return Buffer(name, result.value.dtype, extents, axes, result)
    if not isinstance(result, Expr) and dtype is None:
        raise bad_argument(f"compute {name}", "its value is a number", "give dtype")
    expression = _expr(result, "" if dtype is None else _dtype(dtype, f"compute {name}: dtype"))
    return Buffer(name, expression.dtype, extents, axes, expression)


def _reduction(kind: str, value: Expr, axes: Sequence[Axis]) -> Reduction:
    if not axes or not all(isinstance(each, Axis) for each in axes):
        raise bad_argument(kind, "it needs axes", 'give loops.axis("k", extent)')
    if value.dtype not in _INTEGERS + _FLOATS:
        raise bad_argument(kind, f"it reduces numbers, and the type is {value.dtype}", "convert with astype")
    return Reduction(kind, value, axes)


def sum(value: Expr, *axes: Axis) -> Reduction:
    """The sum over axes."""
    return _reduction("sum", value, axes)


def max_over(value: Expr, *axes: Axis) -> Reduction:
    """The largest value over axes."""
    return _reduction("max", value, axes)


def min_over(value: Expr, *axes: Axis) -> Reduction:
    """The smallest value over axes."""
    return _reduction("min", value, axes)


def _function(function: str, *values: Operand) -> Expr:
    dtype = next((each.dtype for each in values if isinstance(each, Expr)), "float32")
    parts = [_expr(each, dtype) for each in values]
    for part in parts:
        if part.dtype != dtype:
            raise bad_argument(function, f"the types are {dtype} and {part.dtype}", "convert one with astype")
    return Expr(f"{function}({', '.join(part.text for part in parts)})", dtype, _joined(*parts))


def maximum(a: Operand, b: Operand) -> Expr:
    """The larger of two values; NaN if one is."""
    return _function("max", a, b)


def minimum(a: Operand, b: Operand) -> Expr:
    """The smaller of two values; NaN if one is."""
    return _function("min", a, b)


def clamp(value: Expr, least: Operand, most: Operand) -> Expr:
    """min(max(value, least), most)."""
    return minimum(maximum(value, least), most)


def apply(function: str, value: Expr) -> Expr:
    """A function of one value by its name in docs/reference/loop-programs.md: "exp", "tanh", "sqrt", "abs", "floor"."""
    if not isinstance(function, str) or not re.match(r"[a-z_]+\Z", function):
        raise bad_argument("apply: function", f"{function!r} is not the name of a function", 'use for example "exp"')
    return Expr(f"{function}({value.text})", "bool" if function in ("is_nan", "is_inf") else value.dtype, value.buffers)


def select(condition: Expr, if_true: Operand, if_false: Operand) -> Expr:
    """One of two values; only the chosen one is computed, so the other may have indices outside its buffer."""
    if condition.dtype != "bool":
        raise bad_argument("select", f"its condition has type {condition.dtype}", "compare, for example i < 3")
    dtype = next((each.dtype for each in (if_true, if_false) if isinstance(each, Expr)), "float32")
    a, b = _expr(if_true, dtype), _expr(if_false, dtype)
    if a.dtype != b.dtype:
        raise bad_argument("select", f"the types are {a.dtype} and {b.dtype}", "convert one with astype")
    return Expr(f"select({condition.text}, {a.text}, {b.text})", a.dtype, _joined(condition, a, b))


def bitcast(dtype: Any, value: Expr) -> Expr:
    """The bits of a value as those of a type of the same size."""
    name = _dtype(dtype, "bitcast")
    return Expr(f"bitcast<{name}>({value.text})", name, value.buffers)


def requantize(value: Expr, scale: Operand, zero_point: Operand) -> Expr:
    """int32 · float32 rounded half to even, + int32, as the accelerator's REQUANT computes it."""
    parts = [_expr(value, "int32"), _expr(scale, "float32"), _expr(zero_point, "int32")]
    return Expr(f"requantize({', '.join(each.text for each in parts)})", "int32", _joined(*parts))


def _block(buffer: Buffer) -> str:
    """The loops and the block that compute a buffer."""
    value = buffer._value
    reduced = value.axes if isinstance(value, Reduction) else ()
    names = [each.name for each in (*buffer._axes, *reduced)]
    if len(set(names)) != len(names):
        raise bad_argument(f"compute {buffer.name}", f"two of the axes {', '.join(names)} have one name", "rename one")
    place = f"{buffer.name}[{', '.join(each.name for each in buffer._axes)}]"
    lines = [f"for {buffer.name}.{each.name} in {each.extent} {{" for each in (*buffer._axes, *reduced)]
    lines.append(f"block {buffer.name} {{")
    for kind, axes in (("spatial", buffer._axes), ("reduce", reduced)):
        lines += [f"{kind} {each.name} in {each.extent} = {buffer.name}.{each.name}" for each in axes]
    if isinstance(value, Reduction):
        lines.append(f"init {{ {place} = {value.identity()} }}")
        lines.append(f"{place} = {value.step(place)}")
    else:
        lines.append(f"{place} = {value.text}")
    return "\n".join(lines) + "\n" + "}" * (len(names) + 1)


def program(
    name: str,
    outputs: Union[Buffer, Sequence[Buffer]],
    *,
    hardware: Optional[HardwareLike] = None,
    cpu: Optional[str] = None,
) -> Loops:
    """The program that computes buffers from the inputs that they read, each in a separate nest.

    hardware, cpu: as for `Loops.parse`.
    """
    results = [outputs] if isinstance(outputs, Buffer) else list(outputs)
    order: List[Buffer] = []

    def visit(buffer: Buffer) -> None:
        if any(buffer is known for known in order):
            return
        if buffer._value is not None:
            value = buffer._value.value if isinstance(buffer._value, Reduction) else buffer._value
            for operand in value.buffers:
                visit(operand)
        order.append(buffer)

    for each in results:
        visit(each)
    lines = [f"program {_name(name, 'program: name')} {{"]
    for kind in ("input", "output", "alloc"):
        for each in order:
            is_result = any(each is result for result in results)
            if kind == ("input" if each._value is None else "output" if is_result else "alloc"):
                lines.append(f"{kind} {each.name}: {each.dtype}[{', '.join(map(str, each.shape))}]")
    lines += [_block(each) for each in order if each._value is not None]
    return Loops.parse("\n".join(lines) + "\n}", name=name, hardware=hardware, cpu=cpu)


class Loops(Primitives):
    """A loop program with the steps of its schedule so far. Each step returns another one; this one stays as it is."""

    def __init__(self, handle: _call.Handle, source: Tuple[Any, ...]) -> None:
        """For this module: users call `loops.program` or `Loops.parse`."""
        self._handle = handle
        self._source = source  # text, name, hardware, cpu, sizes
        self._facts: Optional[Dict[str, Any]] = None

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        name: str = "loop program",
        hardware: Optional[HardwareLike] = None,
        cpu: Optional[str] = None,
        sizes: Optional[Mapping[str, int]] = None,
    ) -> Loops:
        """Reads a program (docs/reference/loop-programs.md). Blocks may leave out what they read and write.

        name: in diagnostics. hardware: the accelerator, whose intrinsics steps may use, as for `dovetail.compile`;
        None: "1x16x16". cpu: the class of processor, likewise; None: "native". sizes: of those that the text declares;
        the others have the values of the text.

        Raises InputError for a program that is not valid, with every diagnostic.
        """
        machine = hardware_text(hardware, "Loops.parse: hardware")
        values = ",".join(f"{size}={value}" for size, value in sizes.items()) if sizes else None
        options = _call.options(dvt_loops_options, "Loops.parse", name=name, hardware=machine, cpu=cpu, sizes=values)
        out = ctypes.c_void_p()
        _call.check(lib.dvt_loops_parse(_call.text(text, "Loops.parse: text"), options, ctypes.byref(out)))
        return cls(_call.Handle(lib.dvt_loops_free, out), (text, name, hardware, cpu, sizes))

    def apply(self, steps: str) -> Loops:
        """The program with the steps of a trace, a line each (docs/reference/schedules.md).

        Raises InputError if a step is not legal, with the step and the rule that it breaks.
        """
        out = ctypes.c_void_p()
        content = _call.text(steps, "Loops.apply: steps")
        _call.check(lib.dvt_loops_apply(self._handle, content, ctypes.byref(out)))
        return Loops(_call.Handle(lib.dvt_loops_free, out), self._source)

    def _step(self, name: str, arguments: Sequence[Optional[Word]], results: Sequence[Optional[str]]) -> Loops:
        words = [name] + [str(each) for each in arguments if each is not None]
        named_results = [each for each in results if each is not None]
        if named_results and len(named_results) != len(results):
            raise bad_argument(name, f"{len(named_results)} of {len(results)} results are named", "name all or none")
        for word in words[1:] + named_results:
            if not word or re.search(r"[\s#]", word) or word == "->":
                raise bad_argument(name, f"{word!r} is not a word of a step", "give a name or a number")
        return self.apply(" ".join(words + (["->"] + named_results if named_results else [])))

    def on(self, hardware: Optional[HardwareLike] = None, cpu: Optional[str] = None) -> Loops:
        """The same program and steps for another accelerator or processor. Raises InputError where a step is not legal
        there, for example because an intrinsic has another size."""
        text, name, own_hardware, own_cpu, sizes = self._source
        machine = own_hardware if hardware is None else hardware
        return Loops.parse(text, name=name, hardware=machine, cpu=cpu or own_cpu, sizes=sizes).apply(self.trace)

    def describe(self) -> Dict[str, Any]:
        """"name", "text", "trace", "hardware", "cpu", "parameters" (each with "role", and "layout", an index map),
        "buffers", "loops", "blocks", "decisions" and "intrinsics"."""
        if self._facts is None:
            self._facts = dict(_call.json_of(lib.dvt_loops_describe, self._handle))
        return self._facts

    @property
    def text(self) -> str:
        """The program as text, which `parse` reads."""
        return str(self.describe()["text"])

    @property
    def trace(self) -> str:
        """The steps so far, a line each."""
        return str(self.describe()["trace"])

    @property
    def results(self) -> Tuple[str, ...]:
        """The names of what the last step created."""
        last = self.trace.rstrip("\n").rpartition("\n")[2]
        return tuple(last.partition(" -> ")[2].split())

    @property
    def loops(self) -> Tuple[str, ...]:
        """The names of the loops, in the order of the text."""
        return tuple(each["name"] for each in self.describe()["loops"])

    @property
    def blocks(self) -> Tuple[str, ...]:
        """The names of the blocks, in the order of the text."""
        return tuple(each["name"] for each in self.describe()["blocks"])

    @property
    def inputs(self) -> Tuple[TensorInfo, ...]:
        """Name, type and shape of each input."""
        return self._parameters(False)

    @property
    def outputs(self) -> Tuple[TensorInfo, ...]:
        """Name, type and shape of each output."""
        return self._parameters(True)

    def _parameters(self, outputs: bool) -> Tuple[TensorInfo, ...]:
        return tuple(
            TensorInfo(each["name"], each["dtype"], tuple(each["shape"]))
            for each in self.describe()["parameters"]
            if (each["role"] == "output") == outputs
        )

    @property
    def intrinsics(self) -> Tuple[str, ...]:
        """The names that `tensorize` may use."""
        return tuple(self.describe()["intrinsics"])

    def run(
        self, inputs: Mapping[str, ArrayLike], *, copy: bool = False, progress: Progress = None
    ) -> Dict[str, Any]:
        """Interprets the program, which defines its values.

        inputs: an array for each input, in the shape of the text that was parsed, whatever layout steps gave it.
        copy: whether inputs may be copied to the type or layout that is needed.

        Returns the outputs by name. Raises WorkError for an index out of bounds, a division by zero, or an element that
        is read before it is written. Ctrl-C stops it.
        """
        call = LongCall("Loops.run", progress)
        dtypes = {each.name: each.dtype for each in self.inputs}
        rows, out = named_tensors(inputs, "Loops.run: inputs", dtypes, copy), ctypes.c_void_p()
        call.run(lib.dvt_loops_run, self._handle, rows, len(rows), call.callbacks, ctypes.byref(out))
        return take_tensors(out)

    def compile(
        self,
        target: str = "accel",
        hardware: Optional[HardwareLike] = None,
        *,
        check_bounds: bool = False,
        progress: Progress = None,
    ) -> Bundle:
        """A bundle that runs the program: on the accelerator ("accel"), as machine code ("cpu"), or interpreted
        ("host").

        hardware: the accelerator, if not the one that the program was written for (`on`).
        check_bounds: the CPU's kernel checks every address.

        For the accelerator each block must be a copy of whole elements between memory and a buffer on chip, or an
        intrinsic. The bundle's `compile_report` has "dumps", for example "stream", the instructions, and "places", the
        addresses of buffers on chip.

        Raises InputError where the program has no form on the target; the diagnostic names the loop, block or buffer.
        """
        own = self if hardware is None else self.on(hardware)
        call = LongCall("Loops.compile", progress)
        callbacks = ctypes.pointer(call.callbacks)
        options = _call.options(
            dvt_loops_compile_options, "Loops.compile", target=target, check_bounds=check_bounds, callbacks=callbacks
        )
        out, report = ctypes.c_void_p(), ctypes.c_void_p()
        call.run(lib.dvt_loops_compile, own._handle, options, ctypes.byref(out), ctypes.byref(report))
        return Bundle(_call.Handle(lib.dvt_bundle_free, out), _call.taken_json(report))

    def suggest(self, name: str) -> List[Dict[str, Any]]:
        """The steps that the program accepts at a loop, a block or a buffer, tried with a few values for each argument.

        Each has "step", as `apply` takes it, and "counts": what the program does after it, counted from its loops
        ("operations", "loads", "stores", "calls", and "bytes" of buffers by memory). Raises InputError if the program
        has nothing of that name.
        """
        return list(_call.json_of(lib.dvt_loops_suggest, self._handle, _call.text(name, "Loops.suggest: name")))

    def tune(
        self,
        inputs: Mapping[str, ArrayLike],
        target: str = "cpu",
        *,
        trials: Optional[int] = None,
        search: Optional[str] = None,
        seed: Optional[int] = None,
        threads: Optional[int] = None,
        copy: bool = False,
        progress: Progress = None,
    ) -> Tuple[Loops, Dict[str, Any]]:
        """Searches the values of the `sample` steps; without any steps, on the CPU, the compiler's own schedules.

        inputs: as of `run`; each candidate is checked on them. target: "cpu", by measured time, or "accel", by cycles.
        trials: candidates that are measured; None: 64. search, seed: as of `dovetail.tune`.
        threads: run kernels of the CPU; None: 1.

        Returns the program with the best schedule, and the search: "best_cost" and "default_cost" in "unit" (cycles or
        ns), "best_decisions", "trials", "illegal" (combinations that a step or the target rejects) and others. Ctrl-C
        ends it. Raises InputError where the steps have no sample, or none of its values is legal.
        """
        call = LongCall("Loops.tune", progress)
        dtypes = {each.name: each.dtype for each in self.inputs}
        rows = named_tensors(inputs, "Loops.tune: inputs", dtypes, copy)
        options = _call.options(
            dvt_loops_tune_options,
            "Loops.tune",
            target=target,
            search=search,
            trials=_call.at_least_one(trials, "Loops.tune: trials"),
            seed=_call.at_least_one(seed, "Loops.tune: seed"),
            threads=_call.at_least_one(threads, "Loops.tune: threads"),
            callbacks=ctypes.pointer(call.callbacks),
        )
        out, report = ctypes.c_void_p(), ctypes.c_void_p()
        call.run(lib.dvt_loops_tune, self._handle, rows, len(rows), options, ctypes.byref(out), ctypes.byref(report))
        return Loops(_call.Handle(lib.dvt_loops_free, out), self._source), _call.taken_json(report)

    def cycles(self, hardware: Optional[HardwareLike] = None, *, engine: str = "cycle") -> int:
        """The accelerator's cycles for the program, on inputs of zeros: values do not change them."""
        session = self.compile("accel", hardware).session(engine=engine)
        session.run({each.name: aligned(each.dtype, each.shape) for each in self.inputs})
        return builtins.sum(step.get("cycles", 0) for step in session.report["steps"])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        ins, outs = (", ".join(map(str, each)) for each in (self.inputs, self.outputs))
        steps = self.trace.count("\n")
        return f"<dovetail.loops.Loops {self.describe()['name']}: {ins} -> {outs}; {steps} steps>"


def primitives() -> Dict[str, str]:
    """The steps by name, each with its form: {"split": "split LOOP FACTOR -> OUTER INNER"}. Each is a method of
    `Loops`."""
    return {each["name"]: each["form"] for each in _call.json_of(lib.dvt_primitives)}
