"""From a module to ONNX, in memory."""

from __future__ import annotations

import inspect
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union, cast

import torch
from torch import nn
from torch.export import Dim, ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from ..errors import Diagnostic, InputError
from .canonical import canonicalize, rule_of
from .fake_quantize import freeze
from .lines import line_of, line_of_error, line_of_stack

Module = Union[nn.Module, ExportedProgram]
_MISSING = re.compile(r"OpOverload\(op='(?P<op>[\w.]+)', overload='(?P<overload>\w+)'\)")


class Exported(NamedTuple):
    """A model, and how the arguments and results of the module map to its inputs and outputs."""

    model: bytes
    """ONNX."""
    inputs: Tuple[Union[str, List[Any]], ...]
    """For each flattened argument the name of its input, or [the constant that it was]."""
    outputs: Tuple[Union[str, int, List[Any]], ...]
    """For each flattened result the name of its output, or the index of the argument that it is, or [a constant]."""
    in_spec: Any
    out_spec: Any
    shares_memory: bool
    """Whether a result of the module is a view of an argument or of another result."""
    lines: Dict[str, str]
    """The module's line that a node of the model comes from."""


def _problem(what: str, where: str, why: str, hint: str) -> InputError:
    return InputError([Diagnostic(what, where, why, hint)])


def _summary(error: BaseException) -> str:
    """The first line of an exception's text, and the next one where the first ends with a colon."""
    lines = str(error).strip().splitlines()[:2] or [""]
    return f"{type(error).__name__}: " + (" ".join(lines) if lines[0].endswith(":") else lines[0])


def _capture(module: nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any], dynamic_shapes: Any) -> ExportedProgram:
    # The ONNX exporter names an extent by a text.
    extents = pytree.tree_map(lambda each: Dim.DYNAMIC if isinstance(each, str) else each, dynamic_shapes)
    try:
        with torch.no_grad():
            return torch.export.export(module, args, kwargs, dynamic_shapes=extents, strict=False)
    except Exception as error:  # whatever the module or torch raises
        hint = "torch.export must be able to capture the module; its message is the cause of this exception"
        raise _problem("cannot export the module", line_of_error(error), _summary(error), hint) from error


# The argument that says so.
_TRAINING = {
    "aten::dropout": "train",
    "aten::feature_dropout": "train",
    "aten::alpha_dropout": "train",
    "aten::native_dropout": "train",
    "aten::batch_norm": "training",
    "aten::_native_batch_norm_legit": "training",
}


def _refuse_training(program: ExportedProgram) -> None:
    problems: List[Diagnostic] = []
    for node in program.graph.nodes:
        schema: Any = getattr(node.target, "_schema", None) if node.op == "call_function" else None
        flag = _TRAINING.get(schema.name) if schema else None
        if flag is None:
            continue
        position = [argument.name for argument in schema.arguments].index(flag)
        if (node.args[position] if len(node.args) > position else node.kwargs.get(flag)) is True:
            why = f"{schema.name} is in training mode"
            problems.append(Diagnostic("cannot export the module", line_of(node), why, "call module.eval() first"))
    if problems:
        raise InputError(problems)


def _refuse_changes(program: ExportedProgram) -> None:
    """Refuses a module that changes its buffers or arguments, which a bundle cannot."""
    signature = program.graph_signature
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if changed:
        hint = "return the new value instead, and pass it as an argument"
        raise InputError(
            [
                Diagnostic("cannot export the module", name, "the module changes it when it runs", hint)
                for name in changed
            ]
        )


def _placeholder(operator: Any) -> Any:
    """A translation for an operator that has none, so that the export continues to the next one."""
    from onnxscript import opset21 as op

    def translate(*arguments: Any, **_: Any) -> Any:
        results = [op.Constant(value_float=0.0) for _ in operator._schema.returns]
        return results[0] if len(results) == 1 else tuple(results)

    return translate


def _translate(program: ExportedProgram, dynamic_shapes: Any) -> Any:
    """The ONNX program. Raises InputError with a diagnostic for each node whose operator has no translation."""
    from .translation import OPSET, translation_table

    table = translation_table()
    missing: Dict[Any, str] = {}
    while True:
        try:
            found: Any = torch.onnx.export(
                program,
                dynamo=True,
                opset_version=OPSET,
                custom_translation_table=table,
                dynamic_shapes=dynamic_shapes,
                verbose=False,
                optimize=not missing,
            )
        except torch.onnx.errors.OnnxExporterError as error:
            cause: Optional[BaseException] = error
            while cause is not None and cause.__cause__ is not None:
                cause = cause.__cause__
            match = _MISSING.search(str(cause))
            operator = match and _operator(match["op"], match["overload"])
            if not operator or operator in missing:
                raise _problem(
                    "cannot translate the module to ONNX",
                    "",
                    _summary(cause or error),
                    "the exporter's message is the cause of this exception",
                ) from error
            missing[operator] = f"{match['op']} has no translation to ONNX" if match else ""
            table[operator] = _placeholder(operator)
            continue
        if not missing:
            return found
        raise InputError(
            [
                Diagnostic(
                    "cannot translate the module to ONNX",
                    line_of(node),
                    missing[node.target],
                    "replace the operator by others in the module",
                )
                for node in found.exported_program.graph.nodes
                if node.target in missing
            ]
        )


def _is_view(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(result.alias_info is not None for result in schema.returns)


class _Interface:
    """How arguments and results of a captured module map to inputs and outputs."""

    def __init__(self, program: ExportedProgram) -> None:
        signature = program.graph_signature
        arguments = [spec.arg for spec in signature.input_specs if spec.kind == InputKind.USER_INPUT]
        self.inputs = [[arg.value] if isinstance(arg, ConstantArgument) else arg.name for arg in arguments]
        self.results = [spec.arg for spec in signature.output_specs if spec.kind == OutputKind.USER_OUTPUT]
        names = [arg.name for arg in self.results if not isinstance(arg, ConstantArgument)]
        self.computed = [name for name in dict.fromkeys(names) if name not in self.inputs]
        self.in_spec, self.out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        self.shares_memory = self._shares_memory(program)

    def _shares_memory(self, program: ExportedProgram) -> bool:
        owners = []
        for node in program.graph.output_node().args[0]:
            while isinstance(node, Node) and _is_view(node):
                node = node.args[0]
            owners.append(node)
        computed = [owner for owner in owners if isinstance(owner, Node)]
        return len(set(computed)) < len(computed) or any(owner.op == "placeholder" for owner in computed)

    @property
    def is_plain(self) -> bool:
        """Whether the results are what the exporter takes: distinct tensors that are computed."""
        return [arg.name for arg in self.results] == self.computed

    def reduced(self, module: nn.Module) -> nn.Module:
        """The module with `computed` as its results."""
        names = [arg.name for arg in self.results]
        kept = [names.index(name) for name in self.computed]

        def forward(*args: Any, **kwargs: Any) -> Tuple[Any, ...]:
            flat = pytree.tree_flatten(module(*args, **kwargs))[0]
            return tuple(flat[index] for index in kept)

        wrapper = nn.Module()
        wrapper.inner = module
        forward.__signature__ = inspect.signature(module.forward)  # type: ignore[attr-defined]
        wrapper.forward = forward
        return wrapper

    def exported(self, found: Any) -> Exported:
        """Of the ONNX program, whose inputs and outputs are those of this interface, in order."""
        graph = found.model.graph
        named = [name for name in self.inputs if not isinstance(name, list)]
        assert (len(named), len(self.computed)) == (len(graph.inputs), len(graph.outputs))
        inputs = dict(zip(named, [each.name for each in graph.inputs]))
        outputs = dict(zip(self.computed, [each.name for each in graph.outputs]))
        results: List[Union[str, int, List[Any]]] = [
            (
                [arg.value]
                if isinstance(arg, ConstantArgument)
                else self.inputs.index(arg.name) if arg.name in self.inputs else outputs[arg.name]
            )
            for arg in self.results
        ]
        names = tuple(each if isinstance(each, list) else inputs[each] for each in self.inputs)
        return Exported(
            found.model_proto.SerializeToString(),
            names,
            tuple(results),
            self.in_spec,
            self.out_spec,
            self.shares_memory,
            {node.name: line_of_stack(node.metadata_props.get("pkg.torch.onnx.stack_trace", "")) for node in graph},
        )


def _operator(name: str, overload: str) -> Any:
    space, _, rest = name.partition(".")
    return getattr(getattr(getattr(torch.ops, space, None), rest, None), overload, None)


def export(
    module: Module,
    args: Sequence[Any] = (),
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    dynamic_shapes: Any = None,
) -> Exported:
    """Exports a module to ONNX, in memory.

    module: an nn.Module in evaluation mode, what `convert_pt2e` returns, or an ExportedProgram.
    args, kwargs: example arguments; of an ExportedProgram its own if they are omitted.
    dynamic_shapes: as of `torch.export.export`; an extent may be a text, its name in the model.

    Raises InputError that names the module's lines: for a module that cannot be captured, an operator without a
    translation, quantization that is not static.
    """
    if isinstance(module, ExportedProgram):
        if not args and not kwargs and module.example_inputs is not None:
            args, kwargs = module.example_inputs
        program = module
    elif not isinstance(module, nn.Module):
        raise TypeError(f"module must be an nn.Module or an ExportedProgram, not {type(module).__name__}")
    elif not isinstance(args, (tuple, list)):  # a tensor would be taken apart
        raise TypeError(f"args must be a tuple of arguments, not {type(args).__name__}: write (x,) for one")
    else:
        program = _capture(freeze(module), tuple(args), dict(kwargs or {}), dynamic_shapes)
    _refuse_training(program)
    interface = _Interface(program)
    if not interface.computed:
        raise _problem("cannot export the module", "", "it computes no tensor from its arguments", "return a tensor")
    quantized = any(rule_of(node) for node in program.graph.nodes)
    if quantized or not interface.is_plain:
        captured = program.module()
        if quantized:
            canonicalize(captured)
        reduced = captured if interface.is_plain else interface.reduced(captured)
        program = _capture(reduced, tuple(args), dict(kwargs or {}), dynamic_shapes)
    found = _translate(program, dynamic_shapes)
    _refuse_changes(found.exported_program)
    return interface.exported(found)
