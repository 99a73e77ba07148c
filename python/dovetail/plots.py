"""Plots with matplotlib: roofline, timeline, front, steps.

The colors are those of Okabe and Ito, which color-blind people distinguish, and which show on white and on black.
Text and lines have the colors of matplotlib's style.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

import numpy as np

from .errors import Diagnostic, InputError, bad_argument

if TYPE_CHECKING:
    from .trace import Trace

BLUE, ORANGE, GREEN, PURPLE, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"
_GRAY = "#8C8C8C"
_OF_TARGET = {"accel": BLUE, "cpu": ORANGE, "cuda": GREEN}
# Kinds of instructions, in the order in which they are looked for: the first word of the text begins with one.
_OF_INSTRUCTION = {"gemm": BLUE, "alu": PURPLE, "load": GREEN, "store": ORANGE}
MOST_ARROWS = 400
NAMED_LAYERS = 8


def _axes(ax: Any, height: float = 3.6) -> Any:
    if ax is not None:
        return ax
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        why = "matplotlib is not installed"
        raise InputError([Diagnostic("cannot plot", "matplotlib", why, "pip install matplotlib")]) from None
    return pyplot.subplots(figsize=(8.0, height), layout="constrained")[1]


def _foreground() -> str:
    return str(importlib.import_module("matplotlib").rcParams["text.color"])


def plot_report(report: Mapping[str, Any], ax: Any = None) -> Any:
    """`Report.plot`."""
    kind = report.get("kind")
    if kind == "explore":
        return front(report, ax)
    if kind in ("session-run", "session-profile"):
        return steps(report, ax)
    timings = [each["timing"] for each in report.get("programs", []) if "timing" in each]
    if report.get("timing"):
        timings = [report["timing"]]
    if not timings:
        why = f"a report of the kind {kind} has no plot" if kind else "it has no timing"
        raise bad_argument("plot", why, "plot a run, a profile, a trace, a sweep, or a simulation on engine cycle")
    return roofline(timings, ax)


def roofline(timings: Sequence[Mapping[str, Any]], ax: Any = None) -> Any:
    """The accelerator's roof, and below it each layer and each whole program. x: multiplications for each byte of the
    busier direction of the port, or of both where they share the memory's rate; y: multiplications for each cycle.

    timings: the "timing" of each program (docs/schema/run.json), on the same hardware.
    """
    ax = _axes(ax)
    rows = [row for timing in timings for row in timing["layers"] if row["macs_per_cycle"] and row["macs_per_byte"]]
    wholes = [timing["roofline"] for timing in timings if timing["roofline"]["macs_per_cycle"]]
    peak = timings[0]["roofline"]["peak_macs_per_cycle"]
    bytes_per_cycle = timings[0]["roofline"]["peak_bytes_per_cycle"]
    ridge = peak / bytes_per_cycle
    reach = [each["macs_per_byte"] for each in [*rows, *wholes]] or [ridge]
    x = np.geomspace(min(*reach, ridge) / 2, max(*reach, ridge) * 4, 64)
    ax.plot(x, np.minimum(peak, x * bytes_per_cycle), color=_foreground(), linewidth=1.5)
    ax.text(x[-1], 1.1 * peak, f"{peak:g} MACs a cycle", ha="right", fontsize=8)
    ax.text(
        x[0],
        1.2 * x[0] * bytes_per_cycle,
        f"{bytes_per_cycle:g} bytes a cycle",
        fontsize=8,
        rotation=np.degrees(np.arctan(bytes_per_cycle)),  # of the line, in the data's coordinates
        rotation_mode="anchor",
        transform_rotates_text=True,
    )
    most = max((row["cycles"] for row in rows), default=1)
    ax.scatter(
        [row["macs_per_byte"] for row in rows],
        [row["macs_per_cycle"] for row in rows],
        color=BLUE,
        s=[20 + 180 * row["cycles"] / most for row in rows],
        alpha=0.9,
        linewidths=0,
        label="layer (area: cycles)" + f"; the {NAMED_LAYERS} slowest are named" * (len(rows) > NAMED_LAYERS),
    )
    # Points of layers are close to each other: the names are in a column, in the order of the points' heights.
    slowest = sorted(rows, key=lambda each: -float(each["cycles"]))[:NAMED_LAYERS]
    for index, row in enumerate(sorted(slowest, key=lambda each: -float(each["macs_per_cycle"]))):
        ax.annotate(
            _tail(row["name"]),
            (row["macs_per_byte"], row["macs_per_cycle"]),
            fontsize=8,
            va="center",
            xytext=(1.03, 0.95 - index * 0.9 / NAMED_LAYERS),
            textcoords="axes fraction",
            arrowprops={"arrowstyle": "-", "color": _GRAY, "linewidth": 0.6, "relpos": (0, 0.5)},
        )
    ax.scatter(
        [each["macs_per_byte"] for each in wholes],
        [each["macs_per_cycle"] for each in wholes],
        marker="D",
        color=ORANGE,
        s=60,
        label="whole program",
        zorder=3,
    )
    ax.set(xscale="log", yscale="log", xlabel="multiplications for each byte", ylabel="multiplications for each cycle")
    ax.set_title("Roofline")
    ax.legend(loc="lower right", fontsize=8)
    return ax


def _tail(name: str) -> str:
    """A name, of which the end says most, in at most 32 characters."""
    return name if len(name) <= 32 else "..." + name[-29:]


def timeline(trace: Trace, ax: Any = None, begin: int = 0, end: Optional[int] = None) -> Any:
    """`Trace.plot`."""
    from .trace import UNITS

    ax = _axes(ax, 2.8)
    last = trace.cycles if end is None else end
    if not begin < last:
        raise bad_argument("plot: begin, end", f"they are {begin} and {last}", "give cycles of which begin is less")
    events = trace.events
    shown = np.flatnonzero((events["end"] >= begin) & (events["start"] < last))
    for kind, color in (*_OF_INSTRUCTION.items(), ("other", _GRAY)):
        of_kind = [index for index in shown if _kind(trace.instructions[index]) == kind]
        for unit in range(len(UNITS)):
            bars = [
                (int(events["start"][i]), int(events["end"][i] - events["start"][i] + 1))
                for i in of_kind
                if events["unit"][i] == unit
            ]
            ax.broken_barh(bars, (_height(unit) - 0.3, 0.6), facecolors=color, edgecolors="none")
        if of_kind:
            ax.plot([], [], color=color, linewidth=6, label=kind)
    tokens = trace.tokens[(trace.tokens["popped"] >= begin) & (trace.tokens["pushed"] < last)]
    if len(tokens) <= MOST_ARROWS:
        for token in tokens:
            up = 0.3 if _height(token["to"]) > _height(token["from"]) else -0.3
            ax.annotate(
                "",
                (token["popped"], _height(token["to"]) - up),
                (token["pushed"], _height(token["from"]) + up),
                arrowprops={"arrowstyle": "->", "color": _foreground(), "linewidth": 0.5, "alpha": 0.6},
                annotation_clip=True,
            )
    ax.set_yticks([_height(unit) for unit in range(len(UNITS))], UNITS)
    ax.set(xlim=(begin, last), ylim=(-0.6, len(UNITS) - 0.4), xlabel="cycle")
    hidden = f"; {len(tokens)} tokens are not drawn: show fewer cycles" if len(tokens) > MOST_ARROWS else ""
    ax.set_title(f"{trace.cycles:,} cycles{hidden}", fontsize=10)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    return ax


def _height(unit: int) -> int:
    return 2 - int(unit)


def _kind(instruction: str) -> str:
    word = instruction.split(None, 1)[0]
    return next((kind for kind in _OF_INSTRUCTION if word.startswith(kind)), "other")


def front(report: Mapping[str, Any], ax: Any = None) -> Any:
    """The measured points of a sweep, and those of its front, across the first two objectives. With a third objective
    the front's points have its color."""
    measured = [row["values"] for row in report["points"] if row["state"] == "measured"]
    if not measured:
        raise bad_argument("plot", "no point of the sweep was measured", "explore a space with legal points")
    ax = _axes(ax, 4.2)
    best = [report["points"][row["point"]]["values"] for row in report["front"]]
    objectives: List[Dict[str, Any]] = list(report["objectives"])
    keys = [each["key"] for each in objectives]
    across, up = (keys[0], keys[1] if len(keys) > 1 else keys[0])
    ax.scatter([row[across] for row in measured], [row[up] for row in measured], color=_GRAY, s=14, label="measured")
    values: Dict[str, Any] = {"color": BLUE}
    if len(keys) > 2:
        values = {
            "c": [row[keys[2]] for row in best],
            "cmap": "cividis",
            "edgecolors": _foreground(),
            "linewidths": 0.6,
        }
    points = ax.scatter(
        [row[across] for row in best], [row[up] for row in best], s=48, label="front", zorder=3, **values
    )
    if len(keys) > 2:
        ax.figure.colorbar(points, ax=ax, label=objectives[2]["title"])
    else:
        ordered = sorted((row[across], row[up]) for row in best)
        ax.plot([x for x, _ in ordered], [y for _, y in ordered], color=BLUE, linewidth=1)
    for set_scale, key in ((ax.set_xscale, across), (ax.set_yscale, up)):
        values_of_key = [row[key] for row in measured]
        if 0 < 10 * min(values_of_key) < max(values_of_key):
            set_scale("log")
    titles = {each["key"]: each["title"] for each in objectives}
    ax.set(xlabel=titles[across], ylabel=titles[up])
    ax.set_title(f"{len(measured):,} points measured, {len(best):,} on the front", fontsize=10)
    ax.legend(fontsize=8)
    return ax


def steps(report: Mapping[str, Any], ax: Any = None) -> Any:
    """The time of each step of a run or profile on this machine."""
    rows = report["steps"]
    ax = _axes(ax, 1.2 + 0.3 * len(rows))
    for target in dict.fromkeys(row["target"] for row in rows):
        own = [(len(rows) - 1 - index, row) for index, row in enumerate(rows) if row["target"] == target]
        color = _OF_TARGET.get(target, SKY)
        ax.barh([at for at, _ in own], [1e3 * row["seconds"] for _, row in own], color=color, label=target)
    ax.set_yticks(range(len(rows)), [row["name"] for row in reversed(rows)])
    ax.set(xlabel="milliseconds on this machine")
    ax.legend(fontsize=8)
    return ax
