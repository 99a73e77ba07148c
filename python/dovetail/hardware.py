"""Configurations of the accelerator's hardware, as values."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np

from . import _call, show
from ._library import lib
from .errors import bad_argument

_SYSTEM = ("clock_mhz", "memory", "memory_clock_mhz", "accelerators")


def _word(value: Any) -> str:
    return ("false", "true")[bool(value)] if isinstance(value, (bool, np.bool_)) else str(value)


class Hardware:
    """A configuration of the hardware: every parameter is an attribute. Immutable; equal where all parameters are.

    `dovetail.hardware` makes one; it is accepted wherever a hardware is. docs/gen/isa.md has the parameters with ranges
    and units; those of the system are clock_mhz, memory, memory_clock_mhz and accelerators, None where not set.

    >>> wide = dovetail.hardware("1x16x16-ext", inp_buffer_bytes=65536)
    >>> wide.block_in, wide.inp_buffer_bytes
    (16, 65536)
    """

    __slots__ = ("_base", "_changes", "_parameters")

    def __init__(self, base: str, changes: Mapping[str, Any]) -> None:
        """For this package: users call `dovetail.hardware`."""
        object.__setattr__(self, "_base", base)
        object.__setattr__(self, "_changes", dict(changes))
        text = _call.text(str(self), "hardware")
        object.__setattr__(self, "_parameters", _call.json_of(lib.dvt_hardware, text))

    def __str__(self) -> str:
        """The text that the command line's `--hw` takes."""
        return ",".join([self._base, *(f"{key}={_word(value)}" for key, value in self._changes.items())])

    def _repr_html_(self) -> str:
        return show.hardware_html(self)

    def __repr__(self) -> str:
        return f"<dovetail.Hardware {self}>"

    def __getattr__(self, name: str) -> Any:
        parameters = object.__getattribute__(self, "_parameters")
        if name in parameters:
            return parameters[name]
        system = parameters.get("system", {})
        if name in system:
            return system[name]
        if name in _SYSTEM:
            return None
        raise AttributeError(f"the hardware has no parameter {name}; it has {', '.join(self._names())}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a hardware is a value: use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a hardware is a value")

    def _names(self) -> List[str]:
        return [*(key for key in self._parameters if key != "system"), *_SYSTEM]

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._names()]

    def _key(self) -> str:
        return json.dumps({**self._parameters, "name": ""}, sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Hardware) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Tuple[Any, ...]:
        return Hardware, (self._base, self._changes)

    def replace(self, **parameters: Any) -> Hardware:
        """The same with other parameters. Raises InputError for unknown parameters and values outside their range."""
        return Hardware(self._base, {**self._changes, **parameters})

    def to_json(self) -> Dict[str, Any]:
        """All parameters, as a JSON file for `--hw` has them."""
        return dict(json.loads(json.dumps(self._parameters)))

    def save(self, path: _call.PathLike) -> None:
        """Writes the JSON file, which `dovetail.hardware` and `--hw` read."""
        show.write(path, json.dumps(self.to_json(), indent=1) + "\n")

    def area(self, flow: Optional[str] = None, *, technology: Optional[_call.PathLike] = None) -> Dict[str, Any]:
        """The chip area. Needs the compiler.

        flow: None: the estimate of a model that is fitted to runs of Yosys (docs/schema/area-estimate.json).
            "xc7:estimate", "xcup:estimate": the same for the resources of an FPGA (docs/schema/fpga-estimate.json).
            Both are of all accelerators together. "generic", "xc7" or "xcup": a result of Yosys that the kit keeps, or
            else Yosys runs, for minutes where arrays are large (docs/schema/area.json): one accelerator.
        technology: of the estimate: "cmos28", "cmos7" or the path of a JSON file
            (docs/howto/own-memory-and-technology.md). None: the kit's 45 nm.
        """
        if technology is not None:
            if flow is not None:
                hint = "leave out the flow: the estimate has the technology"
                raise bad_argument("Hardware.area: technology", "a flow has its own technology", hint)
            path = _call.path_text(technology, "Hardware.area: technology")
            return dict(_call.json_of(lib.dvt_area_in, _call.text(str(self), "hardware"), path))
        flow_text = None if flow is None else _call.text(flow, "Hardware.area: flow")
        return dict(_call.json_of(lib.dvt_area, _call.text(str(self), "hardware"), flow_text))


HardwareLike = Union[Hardware, str, "os.PathLike[str]", Mapping[str, Any]]
"""A Hardware, or what `dovetail.hardware` takes."""


def hardware(name: HardwareLike = "1x16x16", **parameters: Any) -> Hardware:
    """A configuration of the hardware.

    >>> dovetail.hardware("1x16x16-ext", inp_buffer_bytes=512, clock_mhz=300)

    name: of a named configuration (`named_hardware()`), the path of a JSON file, "NAME,key=value,...", or the
        parameters as a dict, as `to_json` returns them. Parameters that are not given are those of 1x16x16.
    parameters: changes, among them those of the system: clock_mhz, memory, memory_clock_mhz, accelerators.

    Raises InputError for unknown names and parameters, and for values outside their range.
    """
    if isinstance(name, Hardware):
        return name.replace(**parameters) if parameters else name
    if isinstance(name, Mapping):
        return _of_json({**name, **parameters})
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"hardware: name must be a name, a path, a dict or a Hardware, not {type(name).__name__}")
    return Hardware(os.fspath(name), parameters)


def _of_json(parameters: Mapping[str, Any]) -> Hardware:
    """The parameters as the fewest changes of a named configuration."""
    system = dict(parameters.get("system", {}))
    if "," in str(system.get("memory", "")):
        raise bad_argument("hardware: memory", "a memory with parameters cannot be a change", "write a JSON file")
    given = {**hardware().to_json(), **parameters, **system}
    best: Optional[Hardware] = None
    for base in named_hardware():
        own = {**base.to_json(), **base.to_json().get("system", {})}
        changes = {
            key: value for key, value in given.items() if key not in ("name", "system") and own.get(key) != value
        }
        if best is None or len(changes) < len(best._changes):
            best = Hardware(str(base), changes)
    assert best is not None
    return best


def named_hardware() -> List[Hardware]:
    """The named configurations."""
    return [Hardware(each["name"], {}) for each in _call.json_of(lib.dvt_hardware, None)]


def hardware_text(value: Optional[HardwareLike], where: str) -> Optional[bytes]:
    """The text for the library; None: not given."""
    if isinstance(value, (Hardware, Mapping)):
        return _call.text(str(hardware(value)), where)
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{where} must be a name, a path, a dict or a Hardware, not {type(value).__name__}")
    return _call.path_text(value, where)
