"""Modules that are compiled."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence

import torch
from torch.utils import _pytree as pytree

from .. import compiler, model as models
from ..bundle import Bundle
from ..compiler import TargetsLike
from ..errors import Error, bad_argument
from ..hardware import HardwareLike
from ..session import Session
from .export import Exported, Module, export
from .lines import located

_from_dlpack: Any = getattr(torch, "from_dlpack")


class Compiled:
    """A compiled module: called with the module's arguments, it returns its results.

    Tensors are passed through DLPack without a copy. They are in the host's memory, contiguous, of the types and shapes
    of the example arguments. Results own their memory and have no gradient.

    model: the model that was compiled, ONNX.
    bundle: what `dovetail.compile` made of it.
    session: what runs it, with the options `engine` and `threads` of `compile`.
    """

    def __init__(self, exported: Exported, model: bytes, bundle: Bundle, session: Session) -> None:
        """For this package: users call `dovetail.torch.compile`."""
        self._exported = exported
        self.model: bytes = model
        self.bundle: Bundle = bundle
        self.session: Session = session
        self._dtypes = {info.name: getattr(torch, info.dtype) for info in bundle.inputs}

    @property
    def shares_memory(self) -> bool:
        """Whether a result of the module itself is a view of an argument or of another result. Results of the compiled
        module are not."""
        return self._exported.shares_memory

    def _flat(self, args: Any, kwargs: Any) -> List[Any]:
        values, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._exported.in_spec:
            why = f"their structure is {spec}, and was {self._exported.in_spec}"
            raise bad_argument("compiled module: arguments", why, "pass arguments like those of the export")
        return values

    def _named(self, values: Sequence[Any]) -> Dict[str, torch.Tensor]:
        named: Dict[str, torch.Tensor] = {}
        for name, value in zip(self._exported.inputs, values):
            if isinstance(name, list):
                if value != name[0]:
                    why = f"{value!r} is given where the export had {name[0]!r}, which is a constant of the model"
                    raise bad_argument("compiled module: arguments", why, "compile the module again, or pass a tensor")
                continue
            tensor = named[name] = torch.as_tensor(value).detach()
            where, dtype = f"compiled module: {name}", self._dtypes.get(name, tensor.dtype)
            if tensor.device.type != "cpu":
                why = f"it is on device {tensor.device}"
                raise bad_argument(where, why, "bundles take tensors in the host's memory: call .cpu()")
            if tensor.dtype != dtype:
                raise bad_argument(where, f"its type is {tensor.dtype}, not {dtype}", f"call .to({dtype})")
            if not tensor.is_contiguous():
                raise bad_argument(where, f"it is not contiguous: {tensor.stride()}", "call .contiguous()")
        return named

    def named_inputs(self, *args: Any, **kwargs: Any) -> Dict[str, torch.Tensor]:
        """The arguments as inputs of the bundle, for `Session.run`, `profile` and `check`."""
        return self._named(self._flat(args, kwargs))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._flat(args, kwargs)
        found = self.session.run(self._named(values))
        flat = [
            each[0] if isinstance(each, list) else values[each] if isinstance(each, int) else _from_dlpack(found[each])
            for each in self._exported.outputs
        ]
        return pytree.tree_unflatten(flat, self._exported.out_spec)

    def __repr__(self) -> str:
        return f"<dovetail.torch.Compiled {self.bundle!r}>"


def _samples(exported: Exported, calibration: Iterable[Any]) -> Iterable[Dict[str, torch.Tensor]]:
    """Each sample, the arguments of one call, as inputs of the model."""
    for sample in calibration:
        args = tuple(sample) if isinstance(sample, (list, tuple)) else (sample,)
        values: List[Any] = pytree.tree_flatten((args, {}))[0]
        yield {name: value for name, value in zip(exported.inputs, values) if isinstance(name, str)}


def compile(
    module: Module,
    args: Sequence[Any] = (),
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    targets: TargetsLike = "cpu",
    hardware: Optional[HardwareLike] = None,
    calibration: Optional[Iterable[Any]] = None,
    dynamic_shapes: Any = None,
    engine: Optional[str] = None,
    **options: Any,
) -> Compiled:
    """Compiles a module through `torch.export` and ONNX.

    >>> compiled = dovetail.torch.compile(model.eval(), (image,), targets="accel,cpu", hardware="1x16x16-ext")
    >>> compiled(image)

    module: an nn.Module in evaluation mode, what `convert_pt2e` returns, one with fake quantizers (eager QAT), or an
        ExportedProgram.
    args, kwargs: example arguments, which set types and shapes.
    targets, hardware: as of `dovetail.compile`.
    calibration: samples, each the arguments of one call (a tensor, or a tuple); the module is quantized to int8 on them
        (`dovetail.quantize`). None: it is compiled as it is, quantized or float.
    dynamic_shapes: as of `torch.export.export`. `shapes`, as of `dovetail.compile`, then gives the extents:
        `dynamic_shapes=({0: "batch"},), shapes={"batch": [1, 8]}`. Without it they are those of the arguments.
    engine, threads: as of `Session`. options: all others as of `dovetail.compile`.

    Raises InputError, naming the module's line, for what does not export, and for what the kit cannot compile.
    """
    exported = export(module, args, kwargs, dynamic_shapes=dynamic_shapes)
    model = exported.model
    if dynamic_shapes is not None and "shapes" not in options:
        examples = zip(exported.inputs, pytree.tree_flatten((args, kwargs or {}))[0])
        options["shapes"] = {name: tuple(torch.as_tensor(each).shape) for name, each in examples if isinstance(name, str)}
    try:
        if calibration is not None:
            quantized = models.quantize(model, _samples(exported, calibration), shapes=options.get("shapes"))
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "int8.onnx")
                quantized.model.save(path)
                model = path.read_bytes()
        bundle = compiler.compile(model, targets, hardware, **options)
    except Error as error:
        raise located(error, exported.lines) from error
    return Compiled(exported, model, bundle, bundle.session(engine=engine, threads=options.get("threads", 0)))
