"""Biases in the steps that an accumulator adds."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch.fx import GraphModule, Node

from . import operators
from .quantized_graph import OPS
from .operators import operator_of

_LIMITS = torch.iinfo(torch.int32)


def _scale(module: GraphModule, node: Any) -> Any:
    """The scale of a dequantized tensor, one or one per channel; None: it is not dequantized."""
    name = operator_of(node) if isinstance(node, Node) else None
    if name == "dequantize_per_tensor" and not isinstance(node.args[1], Node):
        return torch.tensor(node.args[1], dtype=torch.float32)
    if name in ("dequantize_per_channel", "dequantize_per_tensor") and cast(Node, node.args[1]).op == "get_attr":
        return cast(torch.Tensor, getattr(module, cast(Any, node.args[1]).target)).flatten().to(torch.float32)
    return None


def quantize_biases(module: GraphModule) -> GraphModule:
    """Rounds float biases to int32 steps of scale(input) * scale(weight), as every integer accumulator does.

    >>> converted = dovetail.torch.quantize_biases(convert_pt2e(prepared))

    module: what `convert_pt2e` returns; changed in place, and returned. Biases that are quantized stay. PyTorch then
    evaluates the biases that the compiled module adds. Compiling needs no such call: it rounds in the same way.
    """
    for node in list(module.graph.nodes):
        if operator_of(node) not in operators.PRODUCTS or len(node.args) < 3:
            continue
        bias = node.args[2]
        scales = [_scale(module, each) for each in node.args[:2]]
        if not isinstance(bias, Node) or bias.op != "get_attr" or any(scale is None for scale in scales):
            continue
        owner: Any = module
        for part in str(bias.target).split("."):
            owner = getattr(owner, part)
        step = (scales[0] * scales[1]).expand(owner.shape).contiguous()
        steps = torch.round(owner.detach().double() / step.double()).clamp(_LIMITS.min, _LIMITS.max).to(torch.int32)
        name = f"_dovetail_{node.name}_bias"
        module.register_buffer(f"{name}_steps", steps)
        module.register_buffer(f"{name}_scale", step)
        module.register_buffer(f"{name}_zero_point", torch.zeros_like(steps, dtype=torch.int64))
        with module.graph.inserting_before(node):
            attributes = [module.graph.get_attr(f"{name}_{part}") for part in ("steps", "scale", "zero_point")]
            arguments: Any = (*attributes, 0, _LIMITS.min, _LIMITS.max, torch.int32)
            dequantized = module.graph.call_function(OPS.dequantize_per_channel.default, arguments)
            dequantized.meta = {key: bias.meta[key] for key in ("stack_trace",) if key in bias.meta}
        node.update_arg(2, dequantized)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module
