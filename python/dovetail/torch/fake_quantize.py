"""Fake quantizers as constants.

A module that is trained with quantization (torch.ao's eager QAT, torchao's) holds fake quantizers, which observe, and
branch on their buffers; `torch.export` cannot follow them. `freeze` replaces each by the quantization that its buffers
describe. A convolution or linear layer that QAT fused with its batch normalization becomes one layer with the folded
weight, which is what its fake quantizer has seen.
"""

from __future__ import annotations

import copy
from typing import Any, Optional, Tuple, cast

import torch
from torch import nn

from ..errors import bad_argument


def _is_fake_quantizer(module: nn.Module) -> bool:
    return hasattr(module, "fake_quant_enabled") and hasattr(module, "calculate_qparams")


def _is_fused_with_normalization(module: nn.Module) -> bool:
    return hasattr(module, "weight_fake_quant") and hasattr(module, "bn") and hasattr(module, "to_float")


def _axis(module: Any, where: str) -> Optional[int]:
    """The axis of a scale per channel; None: one scale."""
    if getattr(module, "block_size", None) is not None:  # of torchao's AffineFakeQuantize
        whole = type(module.granularity).__name__
        if whole == "PerTensor":
            return None
        if whole == "PerAxis":
            return int(module.granularity.axis)
        raise bad_argument(where, f"its granularity is {whole}", "use PerTensor or PerAxis")
    return int(module.ch_axis) if module.scale.numel() > 1 or getattr(module, "is_per_channel", False) else None


class _Frozen(nn.Module):
    """Quantizes and dequantizes by constants."""

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(self, module: Any, where: str) -> None:
        super().__init__()
        if getattr(module, "is_dynamic", False):
            raise bad_argument(where, "it chooses the scale of each tensor at run time", "use one with static scales")
        if "float_qparams" in str(getattr(module, "qscheme", "")):
            raise bad_argument(where, "its zero points are not integers", "use an affine or symmetric scheme")
        scale, zero_point = module.scale.detach().flatten(), module.zero_point.detach().flatten()
        if not bool((scale > 0).all()):
            why = f"its scale is {scale.min().item():g}, and must be > 0"
            raise bad_argument(where, why, "train or calibrate first")
        self.axis = _axis(module, where)
        self.range: Tuple[int, int] = int(module.quant_min), int(module.quant_max)
        self.register_buffer("scale", scale.to(torch.float32))
        self.register_buffer("zero_point", zero_point.round().clamp(*self.range).to(torch.int32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.axis is None:
            return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, *self.range)
        return torch.fake_quantize_per_channel_affine(x, self.scale, self.zero_point, self.axis, *self.range)


class _Folded(nn.Module):
    """A layer whose weight is quantized after the normalization has been folded into it."""

    def __init__(self, module: Any, where: str) -> None:
        super().__init__()
        self.layer = module.to_float().eval()
        self.name = "weight" if hasattr(self.layer, "weight") else "0.weight"  # fused with a ReLU: a Sequential
        self.weight_fake_quant = _frozen(module.weight_fake_quant, f"{where}.weight_fake_quant")
        after = getattr(module, "activation_post_process", nn.Identity())
        self.activation_post_process = _frozen(after, f"{where}.activation_post_process")

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        weight = self.weight_fake_quant(self.layer.get_parameter(self.name))
        y = torch.func.functional_call(self.layer, {self.name: weight}, inputs)
        return cast(torch.Tensor, self.activation_post_process(y))


def _frozen(module: nn.Module, where: str) -> nn.Module:
    if _is_fused_with_normalization(module):
        return _Folded(module, where)
    if _is_fake_quantizer(module):
        enabled = bool(cast(torch.Tensor, module.fake_quant_enabled)[0] == 1)
        return _Frozen(module, where) if enabled else nn.Identity()
    for name, child in list(module.named_children()):
        replacement = _frozen(child, f"{where}.{name}" if where else name)
        if replacement is not child:
            setattr(module, name, replacement)
    return module


def freeze(module: nn.Module) -> nn.Module:
    """The module with constant quantization: a copy, or the module itself if it has no fake quantizer.

    Raises InputError, naming the submodule, for a fake quantizer that is not static, or not trained.
    """
    if not any(map(_is_fake_quantizer, module.modules())):
        return module
    return _frozen(copy.deepcopy(module), "")
