"""A PT2E quantizer for the accelerator."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, cast

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (  # type: ignore[import-untyped]
    QuantizationAnnotation,
    QuantizationSpec,
    QuantizationSpecBase,
    Quantizer,
    SharedQuantizationSpec,
)

from ..errors import bad_argument
from . import operators
from .attention import write_out_attention
from .observers import ACTIVATION_OBSERVERS, Specifications
from .operators import operator_of

_KEY = "quantization_annotation"


def _is_float_tensor(value: object) -> bool:
    found = value.meta.get("val") if isinstance(value, Node) else None
    return isinstance(found, torch.Tensor) and found.dtype == torch.float32


def _is_constant(node: Node) -> bool:
    return node.op == "get_attr" or (
        node.op == "call_function" and bool(node.all_input_nodes) and all(map(_is_constant, node.all_input_nodes))
    )


def _tensors(node: Node) -> List[Node]:
    """The float tensors that a node reads, constants excepted."""
    return [each for each in node.all_input_nodes if _is_float_tensor(each) and not _is_constant(each)]


def _annotate(node: Node, inputs: Dict[Node, QuantizationSpecBase], output: Optional[QuantizationSpecBase]) -> None:
    annotation = node.meta.setdefault(_KEY, QuantizationAnnotation())
    annotation.input_qspec_map.update(inputs)
    annotation.output_qspec = output or annotation.output_qspec
    annotation._annotated = True


def _is_integer(node: Node) -> bool:
    """Whether a node's result is annotated, or the parts of its result may be."""
    annotation = node.meta.get(_KEY)
    return annotation is not None and (annotation.output_qspec is not None or not _is_float_tensor(node))


class DovetailQuantizer(Quantizer):  # type: ignore[misc]
    """Annotates what the accelerator computes in integers, for torchao's PT2E quantization.

    >>> prepared = prepare_pt2e(torch.export.export(model, (image,)).module(), DovetailQuantizer())
    >>> for sample in samples:
    ...     prepared(sample)
    >>> compiled = dovetail.torch.compile(convert_pt2e(prepared), (image,), targets="accel,cpu")

    Activations are int8 with a zero point. Weights are symmetric int8, -127 to 127, with a scale for each output
    channel. A product, a sum or an average is one result with the normalization, ReLU or clamp after it. Operators that
    move or select values (pooling by maximum, concatenation, reshaping) share one scale between operands and results.
    Other operators (LayerNorm, bilinear interpolation) stay float.
    """

    def __init__(
        self,
        *,
        qat: bool = False,
        calibration: str = "min-max",
        symmetric: bool = False,
        per_tensor: bool = False,
        powers_of_two: bool = False,
        keep_float: Sequence[str] = (),
    ) -> None:
        """qat: fake quantizers, for `prepare_qat_pt2e`, not observers, for `prepare_pt2e`.
        calibration: the range of activations: "min-max", or "histogram", the one with the least square error.
        symmetric: all zero points are 0. per_tensor: one scale for each weight tensor.
        powers_of_two: scales are powers of two, so that hardware without multipliers in its epilogue is exact, and
            the integers equal those of PyTorch's float evaluation, always.
        keep_float: modules, by their names in the network ("features.3"), whose operators stay float.
        """
        super().__init__()
        if calibration not in ACTIVATION_OBSERVERS:
            choices = ", ".join(map(repr, ACTIVATION_OBSERVERS))
            raise bad_argument("DovetailQuantizer: calibration", f"{calibration!r} is unknown", f"use one of {choices}")
        if qat and calibration != "min-max":
            why = "training with quantization observes by moving averages of minima and maxima"
            raise bad_argument("DovetailQuantizer: calibration", why, "omit it with qat=True")
        self._keep_float = frozenset(keep_float)
        self._seen: List[str] = []
        self._specifications = Specifications(
            calibration=calibration, qat=qat, symmetric=symmetric, per_tensor=per_tensor, powers_of_two=powers_of_two
        )
        self._activation: QuantizationSpec = self._specifications.activation

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Called by `prepare_pt2e` and `prepare_qat_pt2e`: writes attention out."""
        for node in write_out_attention(model):
            node.meta[_KEY] = QuantizationAnnotation()
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Called by `prepare_pt2e` and `prepare_qat_pt2e`."""
        nodes = [node for node in model.graph.nodes if self._is_chosen(node)]
        for node in nodes:
            if _is_float_tensor(node) and _KEY not in node.meta:
                self._annotate_computing(node)
        for node in nodes:
            if operator_of(node) in operators.MOVES and any(map(_is_integer, node.all_input_nodes)):
                self._share(node)
        for node in reversed(nodes):  # before the first operation: quantize, then move
            if operator_of(node) in operators.MOVES and _KEY not in node.meta and self._all_read_integers(node):
                self._share(node)
        return model

    def validate(self, model: GraphModule) -> None:
        """Called by torchao. Raises InputError for a name in `keep_float` that no operator is in."""
        unknown = self._keep_float.difference(self._seen)
        if unknown:
            raise bad_argument(
                "DovetailQuantizer: keep_float",
                f"no operator is in module {min(unknown)!r}",
                f"name one of: {', '.join(sorted(filter(None, set(self._seen))))}",
            )

    def _is_chosen(self, node: Node) -> bool:
        stack = (node.meta.get("nn_module_stack") or {}).values()
        modules = [str(name).removeprefix("L['self'].") for name, _ in stack]
        self._seen += modules
        return node.op == "call_function" and self._keep_float.isdisjoint(modules)

    def _annotate_computing(self, node: Node) -> None:
        name = operator_of(node)
        tensors = _tensors(node)
        inputs: Dict[Node, QuantizationSpecBase] = {each: self._activation for each in tensors}
        if name in operators.PRODUCTS:
            x, weight = cast(Node, node.args[0]), cast(Node, node.args[1])
            if _is_constant(weight):
                inputs = {x: self._activation, weight: self._specification_of_weight(node, name)}
        elif name in operators.MATRIX_PRODUCTS:
            weight = cast(Node, node.args[1])
            if _is_constant(weight):
                axes = weight.meta["val"].dim()
                inputs[weight] = self._specifications.weight(axes - 1, per_channel=axes == 2)
        elif name not in operators.COMPUTING and (name not in operators.FUNCTIONS or len(tensors) != 1):
            return
        if tensors:
            _annotate(node, inputs, None)
            _annotate(self._last(node, name), {}, self._activation)

    def _specification_of_weight(self, node: Node, name: str) -> QuantizationSpec:
        axis = operators.PRODUCTS[name]
        # The output channels of a transposed convolution in groups are not an axis of the weight.
        in_groups = axis == 1 and len(node.args) > 6 and node.args[6] != 1
        return self._specifications.weight(axis, per_channel=not in_groups)

    def _last(self, node: Node, name: Optional[str]) -> Node:
        """The node whose result is the integer one: normalization and clamp are part of the operation before them."""
        fused = [operators.CLAMPS] if name in operators.WITH_CLAMP else []
        if name in operators.WITH_NORMALIZATION:
            fused.insert(0, operators.NORMALIZATIONS)
        for kinds in fused:
            users = list(node.users)
            if len(users) == 1 and operator_of(users[0]) in kinds and self._is_chosen(users[0]):
                node = users[0]
                node.meta.setdefault(_KEY, QuantizationAnnotation())  # annotated with the operation
        return node

    def _all_read_integers(self, node: Node) -> bool:
        """Whether every user of a node reads it as integers."""

        def reads(user: Node) -> bool:
            annotation = user.meta.get(_KEY)
            if annotation and node in annotation.input_qspec_map:
                return True
            return operator_of(user) == "getitem" and self._all_read_integers(user)

        return bool(node.users) and all(map(reads, node.users))

    def _share(self, node: Node) -> None:
        """One scale for the operands and the result of a node that moves values."""
        if operator_of(node) == "getitem":
            source = cast(Node, node.args[0])
            first = _tensors(source)[0] if _tensors(source) else None
            if first is not None and _KEY in source.meta:
                _annotate(node, {}, SharedQuantizationSpec((first, source)))
            return
        tensors = _tensors(node)
        if not tensors:
            return
        shared = SharedQuantizationSpec((tensors[0], node))
        inputs: Dict[Node, QuantizationSpecBase] = {tensors[0]: self._activation}
        inputs.update({each: shared for each in tensors[1:]})
        _annotate(node, inputs, shared if _is_float_tensor(node) else None)
