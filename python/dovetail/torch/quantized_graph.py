"""An exported graph that is rewritten: its constants, and the four quantization operators of `canonical.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Optional, Set, Tuple, cast

import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (declares torch.ops.quantized_decomposed)
from torch.fx import GraphModule, Node

OPS = torch.ops.quantized_decomposed
ATEN = torch.ops.aten


class Refused(Exception):
    """Why an operator has no exact form."""


@dataclass(frozen=True)
class Parameters:
    """One scale and zero point (of one element, axis None), or one for each index along an axis."""

    scale: torch.Tensor
    zero_point: torch.Tensor
    axis: Optional[int]
    range: Tuple[int, int]
    dtype: torch.dtype
    inverse: float = 1.0
    """What PyTorch multiplies by to quantize with one scale: a binary32 number."""


class QuantizedGraph:
    """The graph that is rewritten, and its constants."""

    def __init__(self, module: GraphModule) -> None:
        self.module = module
        self.graph = module.graph
        self.determined: Set[Node] = set()
        """Nodes whose values integers determine: they depend on a dequantized one."""
        self._values: Dict[Node, Any] = {}
        self._added = 0

    def constant(self, value: Any) -> Any:
        """The value of an argument, evaluated by PyTorch. Refused: it depends on an input."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.constant(each) for each in value)
        if not isinstance(value, Node):
            return value
        if value not in self._values:
            if value.op == "get_attr":
                owner: Any = self.module
                for part in str(value.target).split("."):
                    owner = getattr(owner, part)
                self._values[value] = owner.detach() if isinstance(owner, torch.Tensor) else owner
            elif value.op == "call_function" and not value.is_impure():
                arguments = [self.constant(each) for each in value.args]
                named = {name: self.constant(each) for name, each in value.kwargs.items()}
                with torch.no_grad():
                    self._values[value] = cast(Callable[..., Any], value.target)(*arguments, **named)
            else:
                raise Refused(f"{value.name} is computed at run time")
        return self._values[value]

    def is_constant(self, node: Node) -> bool:
        try:
            self.constant(node)
        except Refused:
            return False
        return True

    def add_constant(self, value: torch.Tensor) -> Node:
        name = f"_dovetail_constant_{self._added}"
        self._added += 1
        self.module.register_buffer(name, value.detach().clone())
        node = self.graph.get_attr(name)
        node.meta["val"] = value
        return node

    def call(self, origin: Node, target: Any, *arguments: Any, **named: Any) -> Node:
        node = self.graph.call_function(target, arguments, named)
        kept = ("stack_trace", "nn_module_stack", "val")  # the shape of "val" is the result's
        node.meta.update({key: origin.meta[key] for key in kept if key in origin.meta})
        return node

    # ---- Emitting the four operators ----

    def quantize(self, origin: Node, x: Node, p: Parameters) -> Node:
        if self.is_constant(x):
            value, limits = self.constant(x), (*p.range, p.dtype)
            if p.axis is None:
                return self.add_constant(OPS.quantize_per_tensor(value, float(p.scale), int(p.zero_point), *limits))
            return self.add_constant(OPS.quantize_per_channel(value, p.scale, p.zero_point, p.axis, *limits))
        if p.axis is not None:
            arguments = (*self._per_channel(p), *p.range, p.dtype)
            return self.call(origin, OPS.quantize_per_channel.default, x, *arguments)
        scale = float(p.scale)
        if x not in self.determined and 1 / p.inverse != scale:
            x, scale = self.call(origin, ATEN.mul.Tensor, x, p.inverse), 1.0
        return self.call(origin, OPS.quantize_per_tensor.default, x, scale, int(p.zero_point), *p.range, p.dtype)

    def dequantize(self, origin: Node, q: Node, p: Parameters, out_dtype: torch.dtype) -> Node:
        if p.dtype == torch.int32 and bool(p.zero_point.any()):  # ONNX has no zero point of int32
            shape = [1] * cast(torch.Tensor, self.constant(q)).dim()
            if p.axis is not None:
                shape[p.axis] = -1
            q = self.add_constant(self.constant(q) - p.zero_point.to(torch.int32).reshape(shape))
            p = replace(p, zero_point=torch.zeros_like(p.zero_point))
        named = {} if out_dtype == torch.float32 else {"out_dtype": out_dtype}
        limits = (*p.range, p.dtype)
        if p.axis is None:
            one = float(p.scale), int(p.zero_point)
            return self.call(origin, OPS.dequantize_per_tensor.default, q, *one, *limits, **named)
        return self.call(origin, OPS.dequantize_per_channel.default, q, *self._per_channel(p), *limits, **named)

    def _per_channel(self, p: Parameters) -> Tuple[Node, Optional[Node], Optional[int]]:
        zero_points = p.zero_point.to(torch.int64)
        return self.add_constant(p.scale), self.add_constant(zero_points) if bool(zero_points.any()) else None, p.axis
