"""`torch.compile(module, backend="dovetail")`.

PyTorch finds `dovetail.torch:backend` by the entry point `dovetail` of the group `torch_dynamo_backends`.
"""

from __future__ import annotations

import logging
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Set, Tuple

import torch
from torch import nn

from ..errors import Error
from .compiled import Compiled, compile

_log = logging.getLogger("dovetail.torch")

_State = Tuple[Tuple[int, int], ...]


class _Unsupported(Exception):
    """Why a graph runs eagerly."""


class _Bound(nn.Module):
    """A graph with some of its arguments as parameters and buffers."""

    def __init__(self, graph_module: nn.Module, constants: Mapping[int, torch.Tensor], count: int) -> None:
        super().__init__()
        self.graph_module = graph_module
        self.positions = {index: f"constant_{index}" for index in constants}
        self.count = count
        for index, value in constants.items():
            constant = value.detach()  # a tensor of inference mode cannot be exported
            self.register_buffer(self.positions[index], constant.clone() if constant.is_inference() else constant)

    def forward(self, *args: Any) -> Any:
        rest = iter(args)
        every = [getattr(self, self.positions[i]) if i in self.positions else next(rest) for i in range(self.count)]
        return self.graph_module(*every)


class _Graph:
    """A graph of TorchDynamo: a compiled module for each shape of its arguments, and the graph itself."""

    def __init__(self, graph_module: torch.fx.GraphModule, examples: Sequence[Any], options: Dict[str, Any]) -> None:
        self._graph_module = graph_module
        self._options = options
        # Parameters and buffers are arguments, which become constants of the bundle.
        self._constants = [
            index
            for index, value in enumerate(examples)
            if isinstance(value, nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None
        ]
        self._inputs = [index for index in range(len(examples)) if index not in set(self._constants)]
        self._compiled: Dict[Any, Tuple[_State, Compiled]] = {}
        self._failed: Set[Any] = set()  # shapes that do not compile, or did not run
        self._reported: Set[str] = set()

    def __call__(self, *args: Any) -> Any:
        inputs = [args[index] for index in self._inputs]
        key = tuple((each.shape, each.dtype) if isinstance(each, torch.Tensor) else each for each in inputs)
        reason = self._reason(args)
        if not reason and key not in self._failed:
            try:
                compiled = self._of(key, args, inputs)
                return compiled(*(each.contiguous() if isinstance(each, torch.Tensor) else each for each in inputs))
            except Exception as error:  # a backend never fails where eager would run
                self._failed.add(key)
                reason = str(error) if isinstance(error, (Error, _Unsupported)) else f"{type(error).__name__}: {error}"
        if reason and reason not in self._reported:
            self._reported.add(reason)
            _log.warning("a graph of %d operations runs eagerly: %s", len(self._graph_module.graph.nodes), reason)
        return self._graph_module(*args)

    @staticmethod
    def _reason(args: Sequence[Any]) -> str:
        """Why these arguments are not for a bundle."""
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
            return "gradients are recorded; call the module under torch.no_grad()"
        for each in tensors:
            if each.device.type != "cpu":
                return f"a tensor is on device {each.device}; bundles take tensors in the host's memory"
        return ""

    def _state(self, args: Sequence[Any]) -> _State:
        """The memory and the version of each constant, which change with its values."""
        values = [args[index] for index in self._constants]
        return tuple((each.data_ptr(), 0 if each.is_inference() else each._version) for each in values)

    def _of(self, key: Any, args: Sequence[Any], inputs: Sequence[Any]) -> Compiled:
        """The compiled module for the shapes of the inputs, and the values of the constants."""
        state = self._state(args)
        known = self._compiled.get(key)
        if known is None or known[0] != state:
            module = _Bound(self._graph_module, {index: args[index] for index in self._constants}, len(args)).eval()
            with torch.inference_mode(False), torch.no_grad():
                examples = tuple(each.clone() if isinstance(each, torch.Tensor) else each for each in inputs)
                known = state, compile(module, examples, **self._options)
            if known[1].shares_memory:
                raise _Unsupported("a result is a view of an argument or of another result")
            self._compiled[key] = known
        return known[1]


def backend(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Optional[Dict[str, Any]] = None,
    **_: Any,
) -> Callable[..., Any]:
    """A backend of `torch.compile`.

    >>> fast = torch.compile(model.eval(), backend="dovetail", options={"targets": "accel,cpu"})
    >>> with torch.no_grad():
    ...     fast(image)

    options: as of `dovetail.torch.compile`. Each shape is compiled when it first occurs, and again when a parameter has
    changed. Graphs that record gradients, change their arguments, have tensors outside of the host's memory, or fail to
    compile run eagerly; the logger "dovetail.torch" gives the reason.
    """
    return _Graph(graph_module, example_inputs, dict(options or {}))
