"""Programs of the accelerator: assembled, checked and simulated.

>>> program = dovetail.Program(open("matmul.s").read())
>>> program.check()["clean"]
True
>>> run = program.simulate({"x": x}, ["y"], engine="cycle", trace=True)
>>> run.outputs["y"], run.cycles, run.trace.events["start"]
"""

from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _call, show
from ._library import lib
from ._prototypes import dvt_program, dvt_session_options, dvt_simulate_options
from ._work import LongCall, Progress
from .bundle import Bundle
from .hardware import Hardware, HardwareLike, hardware as as_hardware, hardware_text
from .report import Report
from .session import named_tensors, take_tensors
from .tensors import ArrayLike
from .trace import Trace

Bytes = Union[bytes, bytearray, memoryview, "npt.NDArray[np.uint8]"]


class Simulation:
    """What a simulation gave. A notebook shows its cycles, or its counters where the engine has no clock.

    outputs: arrays by the texts of the places that were asked for.
    report: what `dovetail simulate --json` prints (docs/schema/simulate.json).
    trace: the events of all instructions; None without `trace=True`.
    """

    outputs: Dict[str, Any]
    report: Report
    trace: Optional[Trace]

    def __init__(self, outputs: Dict[str, Any], report: Report, trace: Optional[Trace]) -> None:
        """For this module: users call `Program.simulate`."""
        self.outputs, self.report, self.trace = outputs, report, trace

    @property
    def counters(self) -> Dict[str, Any]:
        """What was executed and moved (docs/reference/events.md)."""
        return dict(self.report["counters"])

    @property
    def cycles(self) -> Optional[int]:
        """The cycles of all launches; None with an engine without a clock, or with `until`."""
        return int(self.report["timing"]["cycles"]) if "timing" in self.report else None

    def _repr_html_(self) -> str:
        return show.simulation_html(self)

    def __repr__(self) -> str:
        time = "" if self.cycles is None else f", {self.cycles} cycles"
        return f"<dovetail.Simulation of {self.report['program']}, engine {self.report['engine']}{time}>"


class Program:
    """A program of the accelerator: assembly text, or raw instructions. Immutable. Needs the compiler.

    `Bundle.programs` gives those of a compiled model.

    name: in diagnostics and reports.
    text: the program as assembly: as it was given, or disassembled.
    instructions: the encoded instructions: uint8, a row for each.
    uops: the encoded micro-ops of the text's .uop lines: uint8, a row for each.
    image: the memory that the program begins with, at the address `map["image"]["base"]`: uint8, one axis.
    map: "hardware", "instructions" (their number), "launches", "image" ("base", "bytes"), "symbols" (the names of data
        and labels: "name", "kind", "value", "bytes", "type", "shape") and "source" (the lines of the instructions), as
        `dovetail asm --map` writes them.
    """

    name: str
    text: str
    instructions: npt.NDArray[np.uint8]
    uops: npt.NDArray[np.uint8]
    image: npt.NDArray[np.uint8]
    map: Dict[str, Any]

    def __init__(
        self,
        source: Union[str, Bytes],
        *,
        hardware: Optional[HardwareLike] = None,
        name: str = "program",
        launches: Sequence[str] = (),
        map: Optional[Mapping[str, Any]] = None,
        image: Optional[Bytes] = None,
    ) -> None:
        """source: assembly text (docs/howto/assembly.md), or raw instructions: bytes, or an array of uint8. Arrays for
            the text's memory are inputs of `simulate`: .data lines that name a file are refused.
        hardware: needed for raw instructions without `map`; the .config of a text must equal it.
        name: in diagnostics.
        launches: "BEGIN:COUNT", instructions that run to their end, one launch after the other; none: those of the
            text or the map, or one launch of all.
        map, image: of raw instructions: names and launches, and the memory that they begin with, as another program's
            attributes have them.

        Raises InputError for malformed text or bytes, with every line that is wrong.
        """
        self.name = name
        self._options = _call.options(
            dvt_program,
            "Program",
            name=name,
            hardware=hardware_text(hardware, "Program: hardware"),
            launches=launches,
            map=None if map is None else json.dumps(map),
        )
        if image is not None:
            self._image = bytes(image)
            self._options.image = ctypes.cast(ctypes.c_char_p(self._image), ctypes.c_void_p)
            self._options.image_size = len(self._image)
        if isinstance(source, str):
            self._options.text = _call.text(source, "Program: source")
        else:
            if not isinstance(source, (bytes, bytearray, memoryview, np.ndarray)):
                raise TypeError(f"Program: source must be str, bytes or an array, not {type(source).__name__}")
            self._content = bytes(source)
            self._options.instructions = ctypes.cast(ctypes.c_char_p(self._content), ctypes.c_void_p)
            self._options.size = len(self._content)
        outputs, facts = ctypes.c_void_p(), ctypes.c_void_p()
        _call.check(lib.dvt_program_assemble(self._options, ctypes.byref(outputs), ctypes.byref(facts)))
        self.map = _call.taken_json(facts)
        arrays = take_tensors(outputs)
        self.instructions, self.uops, self.image = arrays["instructions"], arrays["uops"], arrays["image"]
        self.text = source if isinstance(source, str) else self.disassemble()

    def __reduce__(self) -> Any:
        return _assembled, (bytes(self.instructions), self.name, self.map, bytes(self.image), self.text, self.uops)

    @property
    def hardware(self) -> Hardware:
        """The configuration that the program is for."""
        return as_hardware(self.map["hardware"])

    def disassemble(self) -> str:
        """The instructions as assembly, without names, data and comments."""
        out = ctypes.c_void_p()
        _call.check(lib.dvt_program_disassemble(self._options, ctypes.byref(out)))
        return _call.take_text(out)

    def check(self, inputs: Mapping[str, ArrayLike] = {}, *, copy: bool = False) -> Report:
        """Proves the program free of races, deadlock, leftover tokens and undefined reads.

        inputs: as for `simulate`; micro-ops that are placed there are known to the proof.

        Returns "clean" and "findings", each with "kind", "instruction", "what", "where", "why" and "hint", as
        `dovetail check --json` prints them (docs/schema/check.json).
        """
        rows = named_tensors(inputs, "Program.check: inputs", copy=copy)
        return Report(_call.json_of(lib.dvt_program_check, self._options, rows, len(rows)))

    def simulate(
        self,
        inputs: Mapping[str, ArrayLike] = {},
        outputs: Sequence[str] = (),
        *,
        engine: Optional[str] = None,
        memory: Optional[str] = None,
        clock_mhz: Optional[float] = None,
        accelerators: Optional[int] = None,
        until: Optional[str] = None,
        offset: int = 0,
        trace: bool = False,
        what_if: bool = False,
        copy: bool = False,
        progress: Progress = None,
    ) -> Simulation:
        """Runs the program on an engine.

        inputs: arrays at places in memory: names of the text or map, "x+64", "0x2000".
        outputs: what to read after the run: names, "x+64:int8[4]", "0x2000:int8[4,16]"; with engines functional and
            cycle also on-chip memories, "sram:acc", "sram:inp", "sram:wgt", "sram:out", "sram:uop".
        engine: "functional" (default), "cycle", "systemc" or "rtl".
        memory, clock_mhz, accelerators: of the system, for engines with a clock; None: the hardware's.
        until: stop before this instruction: "#12", ":LINE", a label, "acc[0..7]", "dram 0x2000:64", or with engine
            cycle at a cycle, "@300"; engines functional and cycle.
        offset: the register OFFSET, which instructions with the bit `offset` add to their address; bytes.
        trace: record the events of every instruction. what_if: also time the same instructions on other hardware. Both
            for engines with a clock.

        Raises InputError for places and options that do not fit, WorkError where the program fails: a deadlock, an
        address out of range, an undefined read. Ctrl-C stops it.
        """
        call = LongCall("Program.simulate", progress)
        session = _call.options(
            dvt_session_options,
            "Program.simulate",
            engine=engine,
            memory=memory,
            clock_mhz=_call.above_zero(clock_mhz, "Program.simulate: clock_mhz"),
            accelerators=_call.at_least_one(accelerators, "Program.simulate: accelerators"),
            callbacks=ctypes.pointer(call.callbacks),
        )
        options = _call.options(
            dvt_simulate_options,
            "Program.simulate",
            session=ctypes.pointer(session),
            places=outputs,
            until=until,
            what_if=what_if,
            offset=offset,
        )
        rows = named_tensors(inputs, "Program.simulate: inputs", copy=copy)
        read, report, events = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        call.run(
            lib.dvt_program_simulate,
            self._options,
            options,
            rows,
            len(rows),
            ctypes.byref(read),
            ctypes.byref(report),
            ctypes.byref(events) if trace else None,
        )
        facts = Report(_call.taken_json(report))
        arrays = take_tensors(read)
        if not trace:
            return Simulation(arrays, facts, None)
        timing = {"name": facts["program"], "timing": facts["timing"]}
        measured = {"kind": "session-trace", "engine": facts["engine"], "energy": facts["energy"], "programs": [timing]}
        return Simulation(arrays, facts, Trace(_call.take_text(events), measured))

    def _repr_html_(self) -> str:
        return show.program_html(self)

    def __repr__(self) -> str:
        return f"<dovetail.Program {self.name}: {len(self.instructions)} instructions for {self.hardware.name}>"


def programs_of(bundle: Bundle) -> List[Program]:
    """The accelerator's programs of a bundle (`Bundle.programs`)."""
    outputs, facts = ctypes.c_void_p(), ctypes.c_void_p()
    _call.check(lib.dvt_bundle_programs(bundle._handle, ctypes.byref(outputs), ctypes.byref(facts)))
    arrays = take_tensors(outputs)
    programs = []
    for number, row in enumerate(_call.taken_json(facts)["programs"]):
        instructions, image = arrays[f"instructions {number}"], arrays[f"image {number}"]
        programs.append(_assembled(instructions, row["name"], row["map"], image, row["text"]))
    return programs


def _assembled(instructions: Bytes, name: str, map: Mapping[str, Any], image: Bytes, text: str, uops: Any = None) -> Program:
    """A program of raw instructions that has a text."""
    program = Program(instructions, name=name, map=map, image=image)
    program.text = text
    if uops is not None:
        program.uops = uops
    return program
