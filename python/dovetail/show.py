"""How objects show in a notebook: the kit's pages in a frame, else a short table in the same style.

Both follow the light or dark theme of Jupyter and VS Code, else of the browser, load nothing, and change nothing around
them: styles are those of elements with the class `dovetail`, and a page is in a frame, whose scripts cannot reach the
notebook.
"""

from __future__ import annotations

import ctypes
import errno
import json
import math
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from . import _call
from ._library import has_compiler, lib
from .errors import OF_CAUSE, Diagnostic

if TYPE_CHECKING:
    from .bundle import Bundle
    from .evaluation import Evaluation
    from .hardware import Hardware
    from .model import Model
    from .program import Program, Simulation
    from .search import Exploration
    from .tensors import TensorInfo
    from .trace import Trace

Cell = Any
Facts = Sequence[Tuple[str, Cell]]

PAGE_KINDS = ("comparison", "explanation", "explore", "quantize", "trace", "tune")
"""The kinds of reports that have a page (dvt_page)."""
MOST_PAGE_BYTES = 8 << 20
"""A notebook keeps what it shows: a larger page is only written to files."""
MOST_ROWS = 40

# The colors of the kit's pages (cli/report/html_page.cpp).
_LIGHT = "color-scheme:light;--panel:#fff;--line:#d9dee5;--text:#1c2128;--muted:#5f6975;--bar:#2563c9"
_DARK = "color-scheme:dark;--panel:#1b2027;--line:#303843;--text:#e3e7ec;--muted:#97a2af;--bar:#77a7f3"
_THEMES = (
    f".dovetail{{{_LIGHT}}}@media (prefers-color-scheme:dark){{.dovetail{{{_DARK}}}}}"
    f"body[data-jp-theme-light=true] .dovetail,body.vscode-light .dovetail{{{_LIGHT}}}"
    f"body[data-jp-theme-light=false] .dovetail,body.vscode-dark .dovetail{{{_DARK}}}"
)
_STYLE = (
    f"<style>{_THEMES}"
    "div.dovetail{background:var(--panel);color:var(--text);border:1px solid var(--line);border-radius:8px;"
    "padding:10px 14px;margin:4px 0;font:13px/1.5 system-ui,sans-serif;overflow-x:auto}"
    ".dovetail b{font-weight:600}.dovetail p{margin:2px 0;color:var(--muted)}"
    ".dovetail table{border-collapse:collapse;margin:6px 0;color:var(--text);background:none;font-size:13px}"
    ".dovetail tr,.dovetail tr:nth-child(even),.dovetail tr:hover{background:none}"
    # Jupyter's rules for tables have two classes.
    "div.dovetail.dovetail th,div.dovetail.dovetail td{padding:2px 10px;border:1px solid var(--line);text-align:left;"
    "background:none;color:var(--text);vertical-align:top;white-space:normal;max-width:none}"
    "div.dovetail.dovetail th{font-weight:600;color:var(--muted)}"
    "div.dovetail.dovetail td.number{text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}.dovetail summary{cursor:pointer;color:var(--muted)}"
    ".dovetail i.bar{display:inline-block;height:9px;border-radius:2px;background:var(--bar);vertical-align:baseline}"
    "iframe.dovetail{width:100%;border:1px solid var(--line);border-radius:8px;resize:vertical}"
    ".dovetail-untrusted{display:none}</style>"
)

# A frame takes its theme from the browser: where the notebook has another one, its page gets that before it is shown.
_THEME_OF_FRAME = """<script>(() => {
  const frame = document.currentScript.previousElementSibling, body = document.body;
  const light = body.dataset.jpThemeLight === "true" || body.classList.contains("vscode-light");
  const dark = body.dataset.jpThemeLight === "false" || body.classList.contains("vscode-dark");
  if (!light && !dark) return;
  const themed = frame.cloneNode();  // a frame that loads already is not shown again
  themed.srcdoc = frame.srcdoc
    .replaceAll("(prefers-color-scheme: dark)", dark ? "all" : "not all")
    .replaceAll("color-scheme: light dark", dark ? "color-scheme: dark" : "color-scheme: light");
  frame.replaceWith(themed);
})()</script>"""


def seconds_text(seconds: float) -> str:
    """A time with its unit: 0.00132 as "1.32 ms"."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def bytes_text(count: float) -> str:
    """A number of bytes with its unit."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count:.0f} bytes"


def _text(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 or math.isinf(value) else f"{value:,.0f}"
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, default=str)
    return str(value)


def _cell(value: Cell) -> str:
    if isinstance(value, _Html):
        return f"<td>{value}</td>"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"<td{' class=number' if number else ''}>{escape(_text(value))}</td>"


class _Html(str):
    """HTML, which is not escaped."""


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table; of many rows the first `MOST_ROWS`. Numbers are aligned to the right."""
    every = list(rows)
    if not every:
        return ""
    top = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in every[:MOST_ROWS])
    more = len(every) - MOST_ROWS
    tail = f"<p>... and {more:,} more</p>" if more > 0 else ""
    return f"<table><tr>{top}</tr>{body}</table>{tail}"


def facts(rows: Facts) -> str:
    """A table of names and values; values that are None are left out."""
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_text(value))}</td></tr>" for name, value in rows if value is not None
    )
    return f"<table>{body}</table>"


def folded(title: str, content: str) -> str:
    """Content that a click opens."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>" if content else ""


def panel(title: str, *parts: str) -> str:
    """A titled box."""
    return f"{_STYLE}<div class=dovetail><b>{escape(title)}</b>{''.join(parts)}</div>"


def page_of(report: str) -> str:
    """The page of a report, as the commands write it with --html: a document that needs nothing but a browser.

    report: JSON text of one of `PAGE_KINDS`. Raises InputError for other JSON. Needs the compiler.
    """
    out = ctypes.c_void_p()
    _call.check(lib.dvt_page(_call.text(report, "page"), ctypes.byref(out)))
    return _call.take_text(out)


def write(path: _call.PathLike, text: str) -> None:
    """Writes a text file, and makes its folder where it does not exist."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        cause = "resource" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EIO) else "input"
        row = Diagnostic("cannot write file", os.fspath(path), str(error.strerror), "check the path and its permissions", cause)
        raise OF_CAUSE[cause]([row]) from error


def framed(page: str, height: int = 560) -> str:
    """A page in a frame; "" if it is too large."""
    if len(page) > MOST_PAGE_BYTES:
        return ""
    content = escape(page, quote=True)
    # allow-scripts without allow-same-origin: the page's scripts see nothing of the notebook. Of a notebook that is not
    # trusted, Jupyter shows neither frames nor styles, and so the text.
    return (
        f'{_STYLE}<iframe class=dovetail sandbox="allow-scripts" style="height:{height}px" srcdoc="{content}"></iframe>'
        f"{_THEME_OF_FRAME}<p class=dovetail-untrusted>An interactive page, which a trusted notebook shows: run the "
        "cell, or trust the notebook.</p>"
    )


def _bar(share: float) -> _Html:
    return _Html(f'<i class=bar style="width:{max(1, round(120 * share))}px"></i>')


def _infos(infos: Iterable[TensorInfo]) -> str:
    return ", ".join(map(str, infos))


def bundle_html(bundle: Bundle) -> str:
    """What a bundle is: inputs, outputs, targets, and where each node runs."""
    about = bundle.describe()
    report = about["report"] or {}
    estimate: Mapping[str, Any] = {} if bundle.compile_report is None else bundle.compile_report.get("estimate") or {}
    placed = [
        (row["node"], row["op"], row["target"], row.get("why", ""))
        for row in report.get("nodes", [])
        if row["target"] != "folded"
    ]
    memory = (report.get("memory") or {}).get("bytes")
    rows: Facts = [
        ("inputs", _infos(bundle.inputs)),
        ("outputs", _infos(bundle.outputs)),
        ("steps", ", ".join(f"{name} {count}" for name, count in about["targets"].items())),
        (
            "hardware",
            (about["hardware"] or {}).get("name") if isinstance(about["hardware"], dict) else about["hardware"],
        ),
        ("latency, estimated", f"{estimate['ms']:.4g} ms" if "ms" in estimate else None),
        ("memory of tensors", None if memory is None else bytes_text(memory)),
        ("machine code", "none" if not about["machine_code"] else "may run" if about["may_run"] else "may not run"),
    ]
    nodes = folded(f"{len(placed)} nodes and their targets", table(("node", "operator", "target", "why"), placed))
    return panel(f"Bundle {about['name']}", facts(rows), nodes)


def model_html(model: Model) -> str:
    """What a model is: inputs, outputs, operators."""
    about = model.describe()
    operators = ", ".join(f"{name} {count}" for name, count in about["operators"].items())
    ends = [(kind, ", ".join(f"{row['name']}: {row['type']}" for row in about[kind])) for kind in ("inputs", "outputs")]
    return panel(f"Model {about['graph']}", facts([*ends, ("operators", operators)]))


def hardware_html(hardware: Hardware) -> str:
    """All parameters, those that were changed first."""
    values = hardware.to_json()
    system = values.pop("system", {})
    every = {key: value for key, value in {**values, **system}.items() if key != "name"}
    changed = [(key, every[key]) for key in hardware._changes if key in every]
    others = [(key, value) for key, value in every.items() if key not in hardware._changes]
    return panel(
        f"Hardware {hardware}", facts(changed) if changed else "", folded("all other parameters", facts(others))
    )


def evaluation_html(evaluation: Evaluation) -> str:
    """The numbers of an evaluation."""
    samples = evaluation.samples

    def share(count: Optional[int]) -> Optional[str]:
        return None if count is None else f"{count:,} of {samples:,}, {count / max(1, samples):.2%}"

    per_sample = None if evaluation.cycles is None else f"{evaluation.cycles / max(1, samples):,.0f} for each sample"
    rows: Facts = [
        ("samples", f"{samples:,} in {evaluation.runs:,} runs, {seconds_text(evaluation.seconds)}"),
        ("top-1", share(evaluation.top1)),
        ("top-5", share(evaluation.top5)),
        ("cycles", per_sample),
    ]
    return panel("Evaluation", facts(rows))


def _steps(report: Mapping[str, Any]) -> str:
    steps = report["steps"]
    most = max((step["seconds"] for step in steps), default=0) or 1
    rows = [
        (step["name"], step["target"], seconds_text(step["seconds"]), _bar(step["seconds"] / most), step.get("cycles"))
        for step in steps
    ]
    return table(("step", "target", "time on this machine", "", "cycles"), rows)


def _run_html(report: Mapping[str, Any]) -> str:
    seconds = report["seconds"]
    spread = isinstance(seconds, Mapping)
    text = (
        f"median {seconds_text(seconds['median'])} of {report['repeat']} runs; 10 % to 90 %: "
        f"{seconds_text(seconds['low'])} to {seconds_text(seconds['high'])}"
        if spread
        else seconds_text(seconds)
    )
    rows: Facts = [
        ("engine", report["engine"]),
        ("threads", report["threads"]),
        ("time on this machine", text),
        ("cycles", sum(step.get("cycles", 0) for step in report["steps"]) or None),
    ]
    return panel("Profile" if spread else "Run", facts(rows), _steps(report), _counters(report))


def timing_html(timing: Mapping[str, Any], title: str) -> str:
    """Where the cycles of a program went."""
    roofline = timing["roofline"]
    layers = [
        (
            layer["name"],
            layer["cycles"],
            _bar(layer["cycles"] / max(1, timing["cycles"])),
            layer["macs_per_cycle"],
            layer["macs_per_byte"],
        )
        for layer in timing["layers"]
    ]
    rows: Facts = [
        ("cycles", f"{timing['cycles']:,} = {timing['ms']:.4g} ms at {timing['clock_mhz']:g} MHz"),
        ("multiplications", f"{roofline['macs_per_cycle']:.3g} a cycle of {roofline['peak_macs_per_cycle']:g}"),
        ("of the tightest bound", f"{timing['of_tightest_bound']:.1%}"),
    ]
    changes = [
        (each["change"], each["cycles"], f"{timing['cycles'] / max(1, each['cycles']):.2f}x")
        for each in timing.get("what_if") or []
    ]
    return panel(
        title,
        facts(rows),
        table(("layer", "cycles", "", "MACs a cycle", "MACs a byte"), layers),
        folded("the same instructions on other hardware", table(("change", "cycles", "speedup"), changes)),
    )


def _what_if_html(report: Mapping[str, Any]) -> str:
    """What each step changes, in percent of the values of the hardware as it is."""
    base = report["values"]
    titles = {"latency_ms": "latency, ms", "area_mm2": "area, mm²", "energy_mj": "energy, mJ"}
    rows: List[Sequence[Cell]] = [("(as it is)", *(base[key] for key in titles), None)]
    for step in report["steps"]:
        values = step.get("values")
        changes = [f"{values[key] / base[key] - 1:+.1%}" if values else None for key in titles]
        encoding = None if step["encoding"] == report["encoding"] else f"{step['encoding']} instructions"
        rows.append((step["change"], *changes, step.get("why") or encoding))
    return panel(f"What if {report['machine']} had more", table(("change", *titles.values(), "note"), rows))


def _counters(report: Mapping[str, Any]) -> str:
    counters = report.get("counters") or {}
    plain = [(key, value) for key, value in counters.items() if value and not isinstance(value, (dict, list))]
    return folded("counters", facts(plain) if plain else "")


def program_html(program: Program) -> str:
    """What a program is: its hardware, memory and names, and its text."""
    about = program.map
    names = [
        (each["name"], each["kind"], f"{each['value']:#x}" if each["kind"] == "address" else each["value"],
         f"{each['type']}{each['shape']}" if each.get("type") else None)
        for each in about["symbols"]
    ]
    rows: Facts = [
        ("hardware", program.hardware.name),
        ("instructions", about["instructions"]),
        ("launches", len(about["launches"]) or None),
        ("memory", f"{bytes_text(about['image']['bytes'])} from {about['image']['base']:#x}"),
    ]
    text = f"<pre>{escape(program.text)}</pre>" if len(program.text) < MOST_PAGE_BYTES else ""
    return panel(
        f"Program {program.name}",
        facts(rows),
        folded(f"{len(names)} names", table(("name", "kind", "value", "type"), names)),
        folded("assembly", text),
    )


def simulation_html(simulation: Simulation) -> str:
    """Where the cycles of a simulation went; where there are none, what ran."""
    report = simulation.report
    if report.get("timing"):
        return report_html(report)
    until = report.get("until")
    stopped = None if until is None else f"{until['place']}: before instruction {until.get('instruction', '-')}"
    rows: Facts = [
        ("engine", report["engine"]),
        ("stopped at", stopped),
        ("MACs", report["counters"]["macs"]),
        ("time on this machine", seconds_text(report["seconds"])),
        ("outputs", ", ".join(f"{name}: {each.dtype}{list(each.shape)}" for name, each in simulation.outputs.items())),
    ]
    return panel(f"Simulation of {report['program']}", facts(rows), _counters(report))


def report_html(report: Mapping[str, Any]) -> str:
    """A report: its page, or a table of what it holds."""
    kind = str(report.get("kind", "report"))
    if kind in PAGE_KINDS and has_compiler:
        page = framed(page_of(json.dumps(report)))
        if page:
            return page
    if kind in ("session-run", "session-profile"):
        return _run_html(report)
    if kind == "what-if":
        return _what_if_html(report)
    if kind == "session-trace":
        return "".join(timing_html(each["timing"], each["name"]) for each in report["programs"])
    if report.get("timing"):
        return timing_html(report["timing"], str(report.get("program", kind)))
    plain = [(key, value) for key, value in report.items() if not isinstance(value, (dict, list)) and key != "kind"]
    deep = [
        folded(f"{key}: {len(value)}", table(("", ""), value.items()) if isinstance(value, dict) else _rows(value))
        for key, value in report.items()
        if isinstance(value, (dict, list)) and value
    ]
    return panel(kind, facts(plain), *deep)


def _rows(values: Sequence[Any]) -> str:
    """A list, as a table with the simple members of its rows."""
    if not all(isinstance(value, dict) for value in values):
        return table(("",), ((value,) for value in values))
    head: Dict[str, None] = {}
    for value in values:
        head.update((key, None) for key, each in value.items() if not isinstance(each, (dict, list)))
    return table(list(head), ([value.get(key) for key in head] for value in values))


def trace_html(trace: Trace) -> str:
    """The page of a trace; where it is too large, a table."""
    return (has_compiler and framed(trace.page(), 720)) or report_html(trace.report)


def exploration_html(exploration: Exploration) -> str:
    """The page of a sweep that has ended; of one that runs, its latest points."""
    sweep = exploration._sweep
    if sweep.ended and sweep.error is None:
        return report_html(exploration.report)
    points = exploration.points[-MOST_ROWS:]
    head: List[str] = list(dict.fromkeys(key for point in points for key in point.row()))
    rows = [[point.row().get(key) for key in head] for point in reversed(points)]
    state = "stopped" if sweep.ended else "running"
    return panel(f"Exploration, {state}: {len(exploration.points):,} points", table(head, rows))
