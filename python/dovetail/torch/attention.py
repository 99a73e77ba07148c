"""Scaled dot product attention as two matrix products, which the accelerator computes, with a float softmax between."""

from __future__ import annotations

import math
from typing import Any, Dict, List, cast

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

_ATTENTION = torch.ops.aten.scaled_dot_product_attention.default
_NAMES = [argument.name for argument in cast(Any, _ATTENTION)._schema.arguments]


def _written_out(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any, is_causal: bool, scale: Any) -> Any:
    """The definition in PyTorch's documentation."""
    scores = torch.matmul(q, k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    if mask is not None:
        hidden = mask.logical_not() if mask.dtype == torch.bool else None
        scores = scores + mask if hidden is None else scores.masked_fill(hidden, -math.inf)
    return torch.matmul(torch.softmax(scores, -1), v)


def write_out_attention(module: GraphModule) -> List[Node]:
    """Replaces attention in an exported graph by its definition, in place; not where heads are grouped. Returns the
    nodes between the products, which stay float."""
    between: List[Node] = []
    for node in list(module.graph.nodes):
        if node.op != "call_function" or node.target is not _ATTENTION:
            continue
        named: Dict[str, Any] = {**dict(zip(_NAMES, node.args)), **node.kwargs}
        if named.get("enable_gqa") or named.get("dropout_p"):
            continue
        given = [named["query"], named["key"], named["value"], named.get("attn_mask")]
        tensors = [each for each in given if isinstance(each, Node)]

        def definition(*values: torch.Tensor) -> Any:
            q, k, v = values[:3]
            mask = values[3] if len(values) > 3 else None
            return _written_out(q, k, v, mask, bool(named.get("is_causal")), named.get("scale"))

        values = [each.meta["val"] for each in tensors]
        with values[0].fake_mode:
            traced = make_fx(definition, pre_dispatch=True)(*values)
        inputs = dict(zip((each for each in traced.graph.nodes if each.op == "placeholder"), tensors))
        before = set(module.graph.nodes)
        with module.graph.inserting_before(node):
            result = module.graph.graph_copy(traced.graph, cast(Dict[Node, Node], inputs))
        for new in module.graph.nodes:
            if new in before:
                continue
            new.meta.update({key: node.meta[key] for key in ("stack_trace", "nn_module_stack") if key in node.meta})
            if new.target not in (torch.ops.aten.matmul.default, torch.ops.aten.transpose.int):
                between.append(new)
        node.replace_all_uses_with(cast(Node, result))
        module.graph.erase_node(node)
    module.recompile()
    return between
