"""The quantization operators of `canonical.py` as QuantizeLinear and DequantizeLinear, for the ONNX exporter."""

from __future__ import annotations

from typing import Any, Callable, Dict

import numpy as np
import onnxscript
import torch
from onnxscript import ir, opset21 as op

from .quantized_graph import OPS

OPSET = 21  # the first with int16 and blocks


def _numpy(dtype: int) -> "np.dtype[Any]":
    return ir.DataType(dtype).numpy()


def _constant(value: Any, dtype: Any) -> Any:
    tensor: Any = ir.tensor(np.asarray(value, dtype))
    return op.Constant(value=tensor)


def _float32(x: Any) -> Any:
    return x if x.dtype == ir.DataType.FLOAT else op.Cast(x, to=ir.DataType.FLOAT)


def quantize_per_tensor(x: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int) -> Any:
    """clamp(round(x / scale) + zero_point, quant_min, quant_max). A range that is narrower than the type's is a Clip
    before the quantization, at bounds that are steps, which equals one after it, since rounding is monotone."""
    kind, x, step = _numpy(dtype), _float32(x), np.float32(scale)
    limits = np.iinfo(kind)
    if (quant_min, quant_max) != (limits.min, limits.max):
        low, high = (np.float32(bound - zero_point) * step for bound in (quant_min, quant_max))
        x = op.Clip(x, _constant(low, np.float32), _constant(high, np.float32))
    return op.QuantizeLinear(x, _constant(step, np.float32), _constant(zero_point, kind))


def quantize_per_channel(
    x: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: int
) -> Any:
    """As `quantize_per_tensor`, with a scale for each index along the axis; a narrower range is a Clip of the steps."""
    kind = _numpy(dtype)
    limits = np.iinfo(kind)
    zeros: Any = op.Cast(op.Mul(scales, _constant(0, np.float32)) if zero_points is None else zero_points, to=dtype)
    steps: Any = op.QuantizeLinear(_float32(x), scales, zeros, axis=axis)
    if (quant_min, quant_max) == (limits.min, limits.max):
        return steps
    return op.Clip(steps, _constant(quant_min, kind), _constant(quant_max, kind))


def _to(x: Any, out_dtype: int) -> Any:
    return x if out_dtype in (-1, None, ir.DataType.FLOAT) else op.Cast(x, to=out_dtype)


def dequantize_per_tensor(
    x: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int, out_dtype: int = -1
) -> Any:
    """(x - zero_point) * scale"""
    zero = [_constant(zero_point, _numpy(dtype))] if zero_point else []
    return _to(op.DequantizeLinear(x, _constant(scale, np.float32), *zero), out_dtype)


def dequantize_per_channel(
    x: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: int, out_dtype: int = -1
) -> Any:
    """(x - zero_points) * scales, along the axis."""
    zeros = [] if zero_points is None else [op.Cast(zero_points, to=dtype)]
    return _to(op.DequantizeLinear(x, scales, *zeros, axis=axis), out_dtype)


def translation_table() -> Dict[Callable[..., Any], Callable[..., Any]]:
    """For `torch.onnx.export(custom_translation_table=...)`."""
    return {
        OPS.quantize_per_tensor.default: quantize_per_tensor,
        OPS.quantize_per_channel.default: quantize_per_channel,
        OPS.dequantize_per_tensor.default: dequantize_per_tensor,
        OPS.dequantize_per_channel.default: dequantize_per_channel,
    }
