"""Traces: what each instruction of the accelerator did, and when."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

from . import _call, plots, show
from ._library import lib
from .errors import bad_argument
from .report import Report

UNITS = ("load", "compute", "store")
"""The units of the accelerator that work at the same time; arrays have their positions."""
CAUSES = ("none", "fetch", "unit", "drain", "token_prev", "token_next")
"""Why an instruction did not start a cycle earlier; arrays have their positions (docs/reference/timing.md)."""

_EVENT = np.dtype(
    [
        ("launch", "i4"),
        ("instruction", "i8"),
        ("unit", "i1"),
        ("issue", "i8"),
        ("start", "i8"),
        ("end", "i8"),
        ("cause", "i1"),
        ("layer", "i4"),
    ]
)
_TOKEN = np.dtype([("from", "i1"), ("to", "i1"), ("pushed", "i8"), ("popped", "i8")])


class Trace:
    """The trace of a run on an engine with a clock. `Session.trace` and `Program.simulate(trace=True)` make one.

    >>> trace = session.trace({"image": image})
    >>> trace.events["end"].max(), trace.layers
    >>> trace.plot()

    A notebook shows it as the kit's page: timeline, use of the cycles, roofline, layers.

    text: the trace file, JSON. ui.perfetto.dev opens it.
    report: "latency", "energy", and of each program of the accelerator, in "programs", the "timing": cycles, bounds,
        roofline, layers, and with `what_if` the cycles on other hardware (docs/schema/run.json).
    layers: the model's nodes; the number of an event's layer is a position in it. The first is "": not known.
    cycles: of all launches, which follow each other.
    events: a structured array with a row for each instruction, in program order: "launch"; "instruction", its number in
        the program; "unit", 0 load, 1 compute, 2 store; the cycles of "issue", "start" and "end" (its last cycle) from
        the start of the first launch; "cause", why it did not start a cycle earlier: 0 none, 1 fetch, 2 unit, 3 drain,
        4 token_prev, 5 token_next (docs/reference/timing.md); "layer", a position in `layers`.
    instructions: the text of each event's instruction.
    tokens: a structured array with a row for each dependency token: the units that it goes "from" and "to", and the
        cycles at which it was "pushed" and "popped".
    """

    text: str
    report: Report
    layers: Tuple[str, ...]
    cycles: int
    events: np.ndarray[Any, Any]
    instructions: Tuple[str, ...]
    tokens: np.ndarray[Any, Any]

    def __init__(self, text: str, report: Optional[Mapping[str, Any]] = None) -> None:
        """text: a trace file, as `dovetail run --trace` writes it.
        report: what was measured with it.

        Raises InputError for other text.
        """
        self.text = text
        self.report = Report(report or {})
        try:
            self._read(json.loads(text))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            why = f"it is not the text of a trace file: {error}"
            raise bad_argument("Trace: text", why, "give what `Trace.save` or `dovetail run --trace` wrote") from None

    def _read(self, file: Mapping[str, Any]) -> None:
        self.layers = tuple(file["sources"])
        self.cycles = sum(launch["cycles"] for launch in file["launches"])
        rows: List[Tuple[int, ...]] = []
        origin = 0
        for number, launch in enumerate(file["launches"]):
            for instruction, unit, issue, start, end, cause, layer in launch["events"]:
                times = (origin + issue, origin + start, origin + end)
                rows.append((number, instruction, UNITS.index(unit), *times, CAUSES.index(cause), layer))
            origin += launch["cycles"]
        self.events = np.array(rows, _EVENT)
        slices = [each for each in file["traceEvents"] if each["ph"] == "X"]
        self.instructions = tuple(each["args"]["what"] for each in slices)
        self.tokens = np.array(self._pairs(file["traceEvents"]), _TOKEN)
        if len(self.instructions) != len(self.events):
            raise ValueError(f"{len(self.events)} events, and {len(self.instructions)} slices")

    @staticmethod
    def _pairs(events: List[Dict[str, Any]]) -> List[Tuple[int, int, int, int]]:
        pushed = {each["id"]: each for each in events if each["ph"] == "s"}
        popped = (each for each in events if each["ph"] == "f")
        pairs = ((pushed[each["id"]], each) for each in popped)
        return [(push["tid"] - 1, pop["tid"] - 1, push["ts"], pop["ts"]) for push, pop in pairs]

    def summary(self) -> Report:
        """"cycles", "instructions", "units" (the cycles of each unit by what it did), "waits" (for memory, by reason)
        and "counters", as `dovetail trace --json` prints them (docs/schema/trace.json). Needs the compiler."""
        return Report(_call.json_of(lib.dvt_trace_summary, _call.text(self.text, "Trace.summary")))

    def diff(self, other: Trace) -> Report:
        """How another trace differs: whether they are "equal"; the first instruction whose fields differ,
        "instructions"; the first one that differs in time, "cycles"; each with "launch", "instruction" and "what", or
        None (docs/schema/trace-diff.json). This trace counts as right. Needs the compiler."""
        texts = [_call.text(each.text, "Trace.diff") for each in (self, other)]
        return Report(_call.json_of(lib.dvt_trace_diff, *texts))

    def explain(self, other: Trace) -> Report:
        """Why the run of another trace takes another time and energy, layer by layer and by causes: the differences of
        `other` ("b") minus this one ("a"), as `dovetail compare --explain --json` prints them
        (docs/schema/explanation.json, docs/howto/comparing.md). A notebook shows it as the kit's page. Needs the
        compiler, and traces that `Session.trace` made.

        >>> fast = dovetail.compile(model, "accel,cpu", "1x16x16-g2").session(engine="cycle").trace(inputs)
        >>> session.trace(inputs).explain(fast)["difference"]["ms_by_cause"]
        """
        texts = [_call.text(json.dumps(each.report), "Trace.explain") for each in (self, other)]
        return Report(_call.json_of(lib.dvt_explain, *texts))

    def save(self, path: _call.PathLike) -> None:
        """Writes the trace file, for `dovetail trace` and ui.perfetto.dev; the page, where the name ends in `.html`."""
        show.write(path, self.page() if os.fspath(path).endswith(".html") else self.text)

    def page(self) -> str:
        """The page of the run: HTML that needs nothing but a browser. Needs the compiler."""
        return show.page_of(self.text)

    def save_page(self, path: _call.PathLike) -> None:
        """Writes the page to a file."""
        show.write(path, self.page())

    def plot(self, ax: Any = None, *, begin: int = 0, end: Optional[int] = None) -> Any:
        """Plots the timeline: a track for each unit, a bar for each instruction, an arrow for each token. Needs
        matplotlib.

        ax: the matplotlib.axes.Axes to draw into; None: of a new figure. begin, end: the cycles that are shown; None:
            all.

        Returns the Axes.
        """
        return plots.timeline(self, ax, begin, end)

    def roofline(self, ax: Any = None) -> Any:
        """Plots the roofline of the accelerator, with a dot for each layer, of which the eight slowest are named.
        `report["programs"][0]["timing"]["layers"]` has all, with "name", "macs_per_byte" (x), "macs_per_cycle" (y), and
        "useful_macs_per_cycle", without multiplications by zeros of padding and of depthwise weights. Needs matplotlib. Returns the Axes."""
        return plots.plot_report(self.report, ax)

    def _repr_html_(self) -> str:
        return show.trace_html(self)

    def __repr__(self) -> str:
        return f"<dovetail.Trace: {self.cycles} cycles, {len(self.events)} instructions, {len(self.tokens)} tokens>"
