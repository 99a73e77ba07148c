"""One form for the many ways in which PyTorch writes quantization.

`canonicalize` rewrites an exported graph to four operators of `quantized_decomposed`, whose parameters are known:

    quantize_per_tensor(x, scale: float, zero_point: int, quant_min, quant_max, dtype)
    dequantize_per_tensor(q, scale: float, zero_point: int, quant_min, quant_max, dtype)
    quantize_per_channel(x, scales: constant, zero_points: constant or None, axis, quant_min, quant_max, dtype)
    dequantize_per_channel(q, scales: constant, zero_points: constant or None, axis, quant_min, quant_max, dtype)

Quantized constants are computed here, by PyTorch. PyTorch quantizes by round(x * (1 / scale)), and ONNX by round(x /
scale), which differ where a quotient is next to a tie. A value that no integers determine, such as an input of the
model, is therefore multiplied by 1 / scale first, and quantized with scale 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, cast

import torch
from torch.fx import GraphModule, Node

from ..errors import Diagnostic, InputError
from .lines import line_of
from .quantized_graph import ATEN, Parameters, QuantizedGraph, Refused

_INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32)


def _integer_type(limits: Tuple[int, int], zero_point: torch.Tensor) -> torch.dtype:
    """The smallest type with a range and its zero points."""
    low, high = min(limits[0], int(zero_point.min())), max(limits[1], int(zero_point.max()))
    for dtype in _INTEGERS:
        if torch.iinfo(dtype).min <= low and high <= torch.iinfo(dtype).max:
            return dtype
    raise Refused(f"its steps are {low} to {high}, more than 32 bits")


def _named(node: Node) -> Dict[str, Any]:
    """The arguments of a call by the names of the operator's schema, defaults included."""
    arguments = cast(Any, node.target)._schema.arguments
    found = {argument.name: argument.default_value for argument in arguments if argument.has_default_value()}
    found.update({argument.name: value for argument, value in zip(arguments, node.args)})
    found.update(node.kwargs)
    return found


def _parameters(
    graph: QuantizedGraph, scale: Any, zero_point: Any, axis: Optional[int], low: Any, high: Any, dtype: Any
) -> Parameters:
    try:
        scale, zero_point, low, high = (graph.constant(each) for each in (scale, zero_point, low, high))
    except Refused as refused:
        raise Refused(f"its scale is not a constant: {refused}") from None
    given = torch.as_tensor(scale, dtype=None if isinstance(scale, torch.Tensor) else torch.float64).flatten()
    scales = given.to(torch.float32)
    zero_points = torch.zeros_like(scales) if zero_point is None else torch.as_tensor(zero_point).flatten()
    if zero_points.is_floating_point() and bool((zero_points != zero_points.round()).any()):
        raise Refused("its zero points are not integers")
    if not bool((scales > 0).all() & scales.isfinite().all()):
        raise Refused(f"its scale is {scales.min().item():g}, and must be > 0 and finite")
    if axis is None and (scales.numel() != 1 or zero_points.numel() != 1):
        raise Refused(f"it has {scales.numel()} scales and {zero_points.numel()} zero points for one tensor")
    limits = int(low), int(high)
    dtype = dtype or _integer_type(limits, zero_points)
    inverse = float((1.0 / given[0]).to(torch.float32))
    return Parameters(scales, zero_points.to(torch.int64), axis, limits, dtype, inverse)


def _axis_of_blocks(graph: QuantizedGraph, block_size: Sequence[int], shape: Sequence[int]) -> Optional[int]:
    """torchao's block sizes as an axis; None: one scale for the tensor."""
    cut = [axis for axis, (block, extent) in enumerate(zip(block_size, shape)) if block != extent]
    if not cut:
        return None
    if len(cut) == 1 and block_size[cut[0]] == 1:
        return cut[0]
    raise Refused(f"its blocks of {list(block_size)} of a tensor of {list(shape)} are neither the tensor nor a channel")


def _read(graph: QuantizedGraph, node: Node) -> Tuple[Node, Parameters]:
    """The tensor and the parameters of a quantizing, dequantizing or fake quantizing operator."""
    a = _named(node)
    x = cast(Node, a["input"] if "input" in a else a["self"])
    scale = a["scale"] if "scale" in a else a["scales"]
    zero_point = a.get("zero_point", a.get("zero_points"))
    axis = a.get("axis")
    if "block_size" in a:
        axis = _axis_of_blocks(graph, a["block_size"], x.meta["val"].shape)
    dtype: Any = a.get("dtype") or a.get("input_dtype" if "input_dtype" in a else "output_dtype")
    low, high = a.get("quant_min"), a.get("quant_max")
    if low is None or high is None:
        low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    p = _parameters(graph, scale, zero_point, axis, low, high, dtype)
    if rule_of(node) in (_fake_quantize, _fake_quantize_with_mask):  # in C++: 1.0f / static_cast<float>(scale)
        p = replace(p, inverse=float(1.0 / p.scale[0]))
    if p.dtype not in _INTEGERS:
        raise Refused(f"its steps are {str(p.dtype).replace('torch.', '')}, not integers of 8, 16 or 32 bits")
    return x, p if p.axis is None else replace(p, axis=p.axis % x.meta["val"].dim())


def _quantize(graph: QuantizedGraph, node: Node) -> Node:
    x, p = _read(graph, node)
    if graph.is_constant(node):
        return graph.add_constant(graph.constant(node))
    if p.dtype == torch.int32:
        raise Refused("it quantizes to int32 at run time, and QuantizeLinear has at most 16 bits")
    return graph.quantize(node, x, p)


def _dequantize(graph: QuantizedGraph, node: Node) -> Node:
    a = _named(node)
    try:
        x, p = _read(graph, node)
        return graph.dequantize(node, x, p, _out_dtype(a))
    except Refused:
        if graph.is_constant(node):  # blocks of a weight: there is no integer form, and its values are known
            return graph.add_constant(graph.constant(node))
        raise


def _out_dtype(a: Dict[str, Any]) -> torch.dtype:
    """The type of a dequantized tensor."""
    found = a.get("out_dtype") or (a.get("output_dtype") if "input_dtype" in a else None)
    return cast(torch.dtype, found or torch.float32)


def _fake_quantize(graph: QuantizedGraph, node: Node) -> Node:
    x, p = _read(graph, node)
    if p.dtype == torch.int32:
        raise Refused(f"its steps are {p.range[0]} to {p.range[1]}, and QuantizeLinear has at most 16 bits")
    return graph.dequantize(node, graph.quantize(node, x, p), p, x.meta["val"].dtype)


def _fake_quantize_with_mask(graph: QuantizedGraph, node: Node) -> Node:
    result = _fake_quantize(graph, node)
    for user in list(node.users):
        if user.args[1] == 0:
            user.replace_all_uses_with(result)
        elif user.users:
            raise Refused("its mask is used, as in training")
    return result


def _dynamic(graph: QuantizedGraph, node: Node) -> Node:
    raise Refused("it chooses scales at run time; the accelerator needs them as constants")


def _sixth(graph: QuantizedGraph, node: Node) -> Node:
    """hardsigmoid and hardswish as PyTorch computes them, with a division by 6: ONNX multiplies by binary32(1 / 6),
    which moves values that are ties."""
    x = cast(Node, node.args[0])
    y = graph.call(node, ATEN.clamp.default, graph.call(node, ATEN.add.Tensor, x, 3.0), 0.0, 6.0)
    if "hardswish" in str(node.target):
        y = graph.call(node, ATEN.mul.Tensor, x, y)
    return graph.call(node, ATEN.div.Tensor, y, 6.0)


Rule = Callable[[QuantizedGraph, Node], Node]
RULES: Dict[str, Rule] = {
    "quantized_decomposed::quantize_per_tensor": _quantize,
    "quantized_decomposed::quantize_per_channel": _quantize,
    "quantized_decomposed::dequantize_per_tensor": _dequantize,
    "quantized_decomposed::dequantize_per_channel": _dequantize,
    "quantized_decomposed::dequantize_per_channel_group": _dequantize,
    "quantized_decomposed::fake_quant_per_channel": _fake_quantize,
    "quantized_decomposed::quantize_per_token": _dynamic,
    "quantized_decomposed::dequantize_per_token": _dynamic,
    "quantized_decomposed::choose_qparams": _dynamic,
    "quantized_decomposed::choose_qparams_symmetric": _dynamic,
    "quantized_decomposed::choose_qparams_per_token": _dynamic,
    "quantized_decomposed::choose_qparams_per_token_asymmetric": _dynamic,
    "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl": _dynamic,
    "torchao::quantize_affine": _quantize,
    "torchao::dequantize_affine": _dequantize,
    "torchao::choose_qparams_affine": _dynamic,
    "aten::fake_quantize_per_tensor_affine": _fake_quantize,
    "aten::fake_quantize_per_channel_affine": _fake_quantize,
    "aten::fake_quantize_per_tensor_affine_cachemask": _fake_quantize_with_mask,
    "aten::fake_quantize_per_channel_affine_cachemask": _fake_quantize_with_mask,
    "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _fake_quantize_with_mask,
    "aten::fused_moving_avg_obs_fake_quant": _dynamic,
    "aten::_fused_moving_avg_obs_fq_helper": _dynamic,
}

# Functions between a dequantization and a quantization, which become tables of integers.
TABLES: Dict[str, Rule] = {"aten::hardsigmoid": _sixth, "aten::hardswish": _sixth, "aten::hardswish_": _sixth}


def _table_of(node: Node) -> Optional[Rule]:
    """The rule for a function that becomes a table; None: there is none."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or schema.name not in TABLES:
        return None
    between = [node.args[0], *node.users]
    if schema.is_mutable and len(cast(Node, node.args[0]).users) > 1:  # another node reads what it writes
        return None
    return TABLES[schema.name] if all(isinstance(each, Node) and rule_of(each) for each in between) else None


def rule_of(node: Node) -> Optional[Rule]:
    """The rule for an operator; None: it is not about quantization."""
    schema = getattr(node.target, "_schema", None)
    return RULES.get(schema.name) if node.op == "call_function" and schema else None


def canonicalize(module: GraphModule) -> None:
    """Rewrites the quantization of an exported graph in place. Raises InputError with a diagnostic for each operator
    that has no exact form."""
    graph = QuantizedGraph(module)
    problems: List[Diagnostic] = []
    for node in list(module.graph.nodes):
        rule = rule_of(node) or _table_of(node)
        if not graph.determined.isdisjoint(node.all_input_nodes):
            graph.determined.add(node)
        if rule is None or not node.users:
            continue
        try:
            if rule is _dynamic and graph.is_constant(node):
                continue  # its users evaluate it
            with module.graph.inserting_before(node):
                result = rule(graph, node)
            if rule is not _quantize:
                graph.determined.add(result)
            node.replace_all_uses_with(result)
        except Refused as refused:
            name = cast(Any, node.target)._schema.name
            hint = "quantize statically: prepare_pt2e, calibrate, convert_pt2e" if rule is _dynamic else ""
            problems.append(
                Diagnostic("cannot translate a quantization operator", line_of(node), f"{name}: {refused}", hint)
            )
    if problems:
        raise InputError(problems)
    module.graph.eliminate_dead_code()
    module.recompile()
