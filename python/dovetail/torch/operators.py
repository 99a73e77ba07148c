"""What the accelerator computes in integers, by operators of an exported graph.

Names are those of `torch.ops.aten`, without the overload and the underscore of in-place forms.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from torch.fx import Node

# Products: the axis of the output channels of the weight, argument 1. The bias is argument 2.
PRODUCTS: Dict[str, int] = {"conv1d": 0, "conv2d": 0, "linear": 0, "conv_transpose2d": 1}
# Products of two tensors; the second may be a constant, whose last axis is that of the output channels.
MATRIX_PRODUCTS = frozenset("matmul bmm mm".split())
# Sums and products of two tensors. With a number or a constant they are functions of one tensor.
SUMS = frozenset("add sub mul".split())
NORMALIZATIONS = frozenset("batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training".split())
# They become bounds of the operation before them, if nothing else reads its result.
CLAMPS = frozenset("relu relu6 hardtanh clamp clamp_min".split())
AVERAGES = frozenset("avg_pool1d avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d mean sum".split())
COMPUTING = SUMS | NORMALIZATIONS | CLAMPS | AVERAGES
WITH_NORMALIZATION = frozenset(PRODUCTS) - {"linear"}
WITH_CLAMP = SUMS | NORMALIZATIONS | AVERAGES | MATRIX_PRODUCTS | frozenset(PRODUCTS)
# Functions of one tensor, element by element: a table of 256 values, or two lines.
FUNCTIONS = frozenset("""
    sigmoid tanh hardswish hardsigmoid silu gelu leaky_relu prelu elu selu celu mish softplus exp log sqrt erf
    abs neg pow reciprocal round div maximum minimum
    """.split())
# They move or select values, which keep their scale.
MOVES = frozenset("""
    max_pool1d max_pool2d adaptive_max_pool2d amax amin flatten reshape view permute transpose t squeeze
    unsqueeze slice select expand repeat tile cat concat split split_with_sizes chunk unbind getitem pad
    constant_pad_nd upsample_nearest2d pixel_shuffle pixel_unshuffle channel_shuffle contiguous clone dropout
    dropout1d dropout2d feature_dropout
    """.split())


def operator_of(node: Node) -> Optional[str]:
    """The operator's name; None: the node calls none."""
    if node.op != "call_function":
        return None
    target: Any = node.target
    schema = getattr(target, "_schema", None)
    name = str(schema.name).rpartition("::")[2] if schema else getattr(target, "__name__", "")
    return name.rstrip("_") if not name.startswith("__") else name
