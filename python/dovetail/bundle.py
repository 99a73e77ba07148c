"""Compiled models."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _call, show
from ._library import lib
from ._prototypes import dvt_load_options, dvt_tensor_info
from .errors import InputError, bad_argument
from .report import Report
from .tensors import TensorInfo, dtype_name, shape_of

if TYPE_CHECKING:
    from .program import Program
    from .session import Session

_COMPILE = "dovetail.compile(model, targets).session() runs it"


def _unpickled(content: bytes, trust: str, name: str, compiled: Optional[Dict[str, Any]]) -> Bundle:
    bundle = Bundle.load(content, trust=trust, name=name)
    bundle.compile_report = None if compiled is None else Report(compiled)
    return bundle


class Bundle:
    """A compiled model: code, constants, memory plan. `dovetail.compile` makes one, `Bundle.load` reads one.

    Immutable, and usable from several threads.

    inputs: name, type and shape of each input; of the first program, where the bundle has several.
    outputs: name, type and shape of each output.
    compile_report: what `dovetail compile --json` prints (docs/schema/compile.json); None for a bundle that was loaded.
    """

    inputs: Tuple[TensorInfo, ...]
    outputs: Tuple[TensorInfo, ...]
    compile_report: Optional[Report]

    def __init__(
        self, handle: _call.Handle, compiled: Optional[Dict[str, Any]] = None, own_targets: Sequence[Any] = ()
    ) -> None:
        """For this package: users call `dovetail.compile` or `Bundle.load`."""
        self._handle = handle
        self.compile_report = None if compiled is None else Report(compiled)
        self._own_targets = tuple(own_targets)
        self._states: Optional[Dict[str, str]] = None
        self.inputs = self._infos(lib.dvt_bundle_input_count, lib.dvt_bundle_input)
        self.outputs = self._infos(lib.dvt_bundle_output_count, lib.dvt_bundle_output)

    def _infos(self, count: Any, get: Any) -> Tuple[TensorInfo, ...]:
        infos: List[TensorInfo] = []
        for index in range(count(self._handle)):
            info = dvt_tensor_info(ctypes.sizeof(dvt_tensor_info))
            _call.check(get(self._handle, index, ctypes.byref(info)))
            infos.append(TensorInfo(info.name.decode(errors="replace"), dtype_name(info.dtype), shape_of(info)))
        return tuple(infos)

    @classmethod
    def load(cls, source: Union[_call.PathLike, bytes], *, trust: str = "recorded", name: str = "bundle") -> Bundle:
        """Reads a bundle and checks it completely, its code included.

        source: the path of a `.dvt` file, or its bytes.
        trust: whether machine code in it may run: "recorded", if this user's compiler has recorded the file; "always",
            for a file whose maker you trust as you trust a program; "never". A bundle whose machine code may not run
            loads, and makes no session.
        name: the bundle's name in diagnostics, where the source is bytes.

        Raises InputError if the file is not a valid bundle.
        """
        number = _call.enumeration("dvt_trust", trust, "Bundle.load: trust")
        options = _call.options(dvt_load_options, "Bundle.load", trust=number)
        out = ctypes.c_void_p()
        if isinstance(source, (bytes, bytearray, memoryview)):
            content = bytes(source)
            label = _call.text(name, "Bundle.load: name")
            _call.check(lib.dvt_bundle_load_memory(content, len(content), label, options, ctypes.byref(out)))
        elif not isinstance(source, (str, os.PathLike)):
            why = f"its type is {type(source).__name__}"
            raise bad_argument("Bundle.load: source", why, "give a path or bytes; of a model: " + _COMPILE)
        else:
            path = _call.path_text(source, "Bundle.load: source")
            try:
                _call.check(lib.dvt_bundle_load_file(path, options, ctypes.byref(out)))
            except InputError as error:
                if not path.endswith(b".onnx") or not os.path.exists(source):
                    raise
                hint = f"the file is a model: {_COMPILE}"
                raise InputError([each._replace(hint=hint) for each in error.diagnostics]) from None
        return cls(_call.Handle(lib.dvt_bundle_free, out))

    def __getattr__(self, name: str) -> Any:
        meant = ": bundle.session() makes a session, whose method it is" if name in ("run", "bind", "evaluate") else ""
        raise AttributeError(f"a bundle has no {name}{meant}")

    def __reduce__(self) -> Any:
        """Pickled as its bytes. Machine code that may run here may run where they are loaded, as reading a pickle runs
        what is in it."""
        if self._own_targets:
            raise TypeError("a bundle with steps of the caller's targets cannot be copied or pickled: use Bundle.to_bytes")
        trust = "always" if self.describe()["may_run"] else "never"
        return _unpickled, (self.to_bytes(), trust, self.name, self.compile_report)

    def save(self, path: _call.PathLike) -> None:
        """Writes the file, whose name ends in `.dvt`. Machine code that this process compiled is recorded as this
        user's, so that it may run when the file is loaded."""
        _call.check(lib.dvt_bundle_save(self._handle, _call.path_text(path, "Bundle.save: path")))

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        content, size = ctypes.c_void_p(), ctypes.c_size_t()
        _call.check(lib.dvt_bundle_serialize(self._handle, ctypes.byref(content), ctypes.byref(size)))
        try:
            return ctypes.string_at(content.value or 0, size.value)
        finally:
            lib.dvt_free(content)

    def describe(self) -> Dict[str, Any]:
        """"name", "inputs", "outputs", "targets" (the steps of each), "hardware", "steps", "machine_code", "may_run",
        "shapes" (the inputs of all programs), "states" and "report"."""
        return dict(_call.json_of(lib.dvt_bundle_describe, self._handle))

    @property
    def states(self) -> Dict[str, str]:
        """The inputs that are states, each with the output that is its value in the next run of a session."""
        if self._states is None:
            self._states = dict(self.describe()["states"])
        return dict(self._states)

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self.describe()["name"])

    @property
    def report(self) -> Report:
        """The compiler's report in the bundle: its nodes, schedules, memory plan, passes, hardware and system."""
        return Report(self.describe()["report"] or {})

    def verify(self) -> Dict[str, Any]:
        """Proves the accelerator's programs free of races, deadlock and undefined reads. Needs the compiler.

        Returns {"summary": text, "problems": a list of diagnostics}, the list being empty where all is proven.
        """
        return dict(_call.json_of(lib.dvt_bundle_verify, self._handle))

    def programs(self) -> List[Program]:
        """The accelerator's programs, one for each of its steps, as assembly with the names of layers. They can be
        checked and simulated alone: their names include the tensors that the step reads and writes, which are zeros
        at first. Of a bundle for several shapes: those of the first. Needs the compiler.

        >>> program = bundle.programs()[0]
        >>> program.simulate({"image": tensor}, ["logits"], engine="cycle")
        """
        from .program import programs_of

        return programs_of(self)

    def session(self, **options: Any) -> Session:
        """A session that runs this bundle: `Session(bundle, **options)`."""
        from .session import Session

        return Session(self, **options)

    def _repr_html_(self) -> str:
        return show.bundle_html(self)

    def __repr__(self) -> str:
        about = self.describe()
        targets = ", ".join(f"{name} {count}" for name, count in about["targets"].items())
        ins, outs = (_call.listed(map(str, each)) for each in (self.inputs, self.outputs))
        return f"<dovetail.Bundle {about['name']}: {ins} -> {outs}; steps: {targets}>"
