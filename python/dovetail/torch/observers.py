"""Observers and fake quantizers for the values of a network: what torchao calls quantization specifications."""

from __future__ import annotations

from typing import Any, Dict, Tuple, Type

import torch
from torchao.quantization.pt2e import (  # type: ignore[import-untyped]
    FakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationSpec  # type: ignore[import-untyped]

WEIGHT_LIMIT = 127  # symmetric


class _PowersOfTwo:
    """The next larger power of two as scale."""

    def calculate_qparams(self, **named: Any) -> Tuple[torch.Tensor, torch.Tensor]:
        scale, zero_point = super().calculate_qparams(**named)  # type: ignore[misc]
        larger = torch.exp2(torch.ceil(torch.log2(scale)))
        low: int = self.quant_min  # type: ignore[attr-defined]
        moved = torch.round(low + (zero_point - low) * (scale / larger)).to(zero_point.dtype)
        return larger, torch.where(zero_point == 0, zero_point, moved)


def _with_powers_of_two(observer: Type[Any]) -> Type[Any]:
    # torchao recognizes observers per channel by their names.
    return type(f"PowersOfTwo{observer.__name__}", (_PowersOfTwo, observer), {})


ACTIVATION_OBSERVERS: Dict[str, Type[Any]] = {"min-max": MinMaxObserver, "histogram": HistogramObserver}


class Specifications:
    """The specifications of one network."""

    def __init__(self, *, calibration: str, qat: bool, symmetric: bool, per_tensor: bool, powers_of_two: bool) -> None:
        self._qat, self._per_tensor, self._powers_of_two = qat, per_tensor, powers_of_two
        observer = MovingAverageMinMaxObserver if qat else ACTIVATION_OBSERVERS[calibration]
        scheme = torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine
        self.activation = self._specification(observer, (-128, 127), scheme)

    def weight(self, axis: int, per_channel: bool = True) -> QuantizationSpec:
        """Symmetric int8 with a scale for each index along the axis, that of the output channels."""
        limits = (-WEIGHT_LIMIT, WEIGHT_LIMIT)
        if self._per_tensor or not per_channel:
            observer = MovingAverageMinMaxObserver if self._qat else MinMaxObserver
            return self._specification(observer, limits, torch.per_tensor_symmetric)
        observer = MovingAveragePerChannelMinMaxObserver if self._qat else PerChannelMinMaxObserver
        return self._specification(observer, limits, torch.per_channel_symmetric, ch_axis=axis)

    def _specification(
        self, observer: Type[Any], limits: Tuple[int, int], scheme: Any, **axis: int
    ) -> QuantizationSpec:
        if self._powers_of_two:
            observer = _with_powers_of_two(observer)
        make = FakeQuantize.with_args(observer=observer, **axis) if self._qat else observer
        return QuantizationSpec(
            dtype=torch.int8,
            observer_or_fake_quant_ctr=make,
            quant_min=limits[0],
            quant_max=limits[1],
            qscheme=scheme,
            **axis,
        )
