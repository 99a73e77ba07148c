"""What a call raises: the kit's diagnostics as exceptions.

Every exception has `diagnostics`, all that the call found. Catch `InputError` (also a ValueError) for a mistake in what
was asked for, `WorkError` (also a RuntimeError) for work that failed, `ResourceError` where memory, threads or the disk
ran out, `InternalError` for a defect of the kit, and `Error` for all of them.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Sequence, Tuple, Type


class Diagnostic(NamedTuple):
    """One problem. All members are texts, "" where there is nothing to say.

    what: what failed.
    where: the file, node or argument.
    why: the violated rule.
    hint: the remedy.
    cause: "input", "work", "resource" or "internal", as the classes of errors.
    """

    what: str
    where: str
    why: str
    hint: str
    cause: str = "input"

    def __str__(self) -> str:
        text = self.what + (f" ({self.where})" if self.where else "") + (f": {self.why}" if self.why else "")
        return text + (f"\n  hint: {self.hint}" if self.hint else "")


class Error(Exception):
    """The base of this package's exceptions.

    >>> try:
    ...     dovetail.compile("missing.onnx", "cpu")
    ... except dovetail.Error as error:
    ...     print(error.diagnostics[0].why)

    diagnostics: all problems that the call found, at least one.
    """

    diagnostics: Tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        """For this package: its calls raise it."""
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))

    @property
    def what(self) -> str:
        """What failed, of the first diagnostic."""
        return self.diagnostics[0].what

    @property
    def where(self) -> str:
        """The file, node or argument, of the first diagnostic."""
        return self.diagnostics[0].where

    @property
    def why(self) -> str:
        """The violated rule, of the first diagnostic."""
        return self.diagnostics[0].why

    @property
    def hint(self) -> str:
        """The remedy, of the first diagnostic."""
        return self.diagnostics[0].hint


class InputError(Error, ValueError):
    """A mistake in what the caller asked for."""


class WorkError(Error, RuntimeError):
    """The request is valid, and the work failed."""


class ResourceError(Error):
    """The machine has run out: no memory, no thread, a full disk."""


class InternalError(Error):
    """A defect of the kit. Please report it with the call and its arguments."""


class PlacementWarning(UserWarning):
    """`compile`: the accelerator is among the targets, and none of the model's multiplications runs on it."""


OF_CAUSE: Dict[str, Type[Error]] = {
    "input": InputError,
    "work": WorkError,
    "resource": ResourceError,
    "internal": InternalError,
}


def bad_argument(where: str, why: str, hint: str) -> InputError:
    """The exception for an argument. `where`: "compile: level"."""
    return InputError([Diagnostic("bad argument", where, why, hint)])
