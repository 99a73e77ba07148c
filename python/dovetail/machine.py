"""A machine of accelerators as a driver sees it: registers and memory."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Tuple

import numpy as np

from . import _call
from ._library import lib
from ._prototypes import dvt_session_options
from .hardware import HardwareLike, hardware_text


class Machine:
    """A simulated machine: accelerators with the registers of docs/gen/isa.md, and their memory. A driver runs on it as
    on a board.

    >>> machine = dovetail.Machine("1x16x16-ext", base=0x40000000, size=1 << 20)
    >>> machine.memory[:4] = [1, 2, 3, 4]
    >>> status = machine.read(0x04)  # the register STATUS

    accelerators: their number.
    memory: its bytes, the first of which is at the physical address `base`; as long as the array is used, the machine
        lives.
    """

    def __init__(
        self,
        hardware: HardwareLike,
        *,
        base: int,
        size: int,
        engine: Optional[str] = None,
        memory: Optional[str] = None,
        clock_mhz: Optional[float] = None,
    ) -> None:
        """hardware: as for `compile`; "NAME,accelerators=2" has two accelerators.
        base: the physical address of the memory. size: its bytes, which are zeros.
        engine: runs the launches: "functional" (default), "cycle" or "rtl".
        memory, clock_mhz: the accelerators' system, for engines with a clock; None: the hardware's.
        """
        options = _call.options(
            dvt_session_options,
            "Machine",
            engine=engine,
            memory=memory,
            clock_mhz=_call.above_zero(clock_mhz, "Machine: clock_mhz"),
        )
        out = ctypes.c_void_p()
        given = hardware_text(hardware, "Machine: hardware")
        base = _call.number(base, ctypes.c_uint64, "Machine: base")
        size = _call.number(size, ctypes.c_uint64, "Machine: size")
        _call.check(lib.dvt_machine_create(given, ctypes.byref(options), base, size, ctypes.byref(out)))
        self._machine = _call.Handle(lib.dvt_machine_free, out)
        self.accelerators: int = lib.dvt_machine_accelerators(self._machine)
        view = (ctypes.c_uint8 * size).from_address(lib.dvt_machine_memory(self._machine) or 0)
        setattr(view, "machine", self._machine)  # lives as long as the array
        self.memory: "np.ndarray[Any, np.dtype[np.uint8]]" = np.frombuffer(view, np.uint8)

    def read(self, offset: int, accelerator: int = 0) -> int:
        """The register at this offset, in bytes."""
        value = ctypes.c_uint32()
        place = self._place(accelerator, offset, "read")
        _call.check(lib.dvt_machine_read(self._machine, *place, ctypes.byref(value)))
        return value.value

    def write(self, offset: int, value: int, accelerator: int = 0) -> None:
        """Writes a register. A launch that the write starts has ended when the call returns; an error says why it
        failed, as STATUS does."""
        word = _call.number(value, ctypes.c_uint32, "Machine.write: value")
        _call.check(lib.dvt_machine_write(self._machine, *self._place(accelerator, offset, "write"), word))

    @staticmethod
    def _place(accelerator: int, offset: int, method: str) -> Tuple[int, int]:
        return (
            _call.number(accelerator, ctypes.c_uint32, f"Machine.{method}: accelerator"),
            _call.number(offset, ctypes.c_uint32, f"Machine.{method}: offset"),
        )
