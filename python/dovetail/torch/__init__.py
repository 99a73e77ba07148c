"""The door from PyTorch.

>>> compiled = dovetail.torch.compile(model.eval(), (image,), targets="accel,cpu", hardware="1x16x16-ext")
>>> logits = compiled(image)

Needs PyTorch with onnx and onnxscript, which its ONNX exporter uses. torchao is needed by
`DovetailQuantizer` alone.
"""

from typing import TYPE_CHECKING, Any

from .._suggest import name_keywords as _name_keywords
from ..compiler import compile as _compile
from .biases import quantize_biases
from .compiled import Compiled, compile
from .dynamo import backend
from .export import Exported, export

if TYPE_CHECKING:
    from .quantizer import DovetailQuantizer

__all__ = ["Compiled", "DovetailQuantizer", "Exported", "backend", "compile", "export", "quantize_biases"]

_name_keywords(globals(), ("compile", "export"), {"compile": _compile})


def __getattr__(name: str) -> Any:
    if name == "DovetailQuantizer":  # needs torchao
        from .quantizer import DovetailQuantizer

        return DovetailQuantizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
