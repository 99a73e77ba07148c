#!/usr/bin/env python3
"""Plots of sweeps over one space, a panel for each, as SVG for light and for dark pages.

usage: plot_points.py {points|steps} [--mark PARAMETER] [--color PARAMETER] -o PLOT.svg TITLE=REPORT.json...

REPORT.json is the output of `dovetail explore ... --json`.

points: latency across, area up, a dot for each measured point. --color: by the values of a parameter (or of parameters
        that are set together, named by one of them). --mark: a yes-or-no parameter, hollow where it is no. A line joins the
        points that no other point beats in these two; those on the front of all objectives have a ring.
steps:  the effect of a step of each parameter, all else equal: a dot for each objective, at its factor.
"""

import argparse
import html
import json
import math
import sys
from pathlib import Path

# Colors that the color-blind can distinguish (Okabe and Ito), darker on light pages.
STYLE = """
svg { font: 12px system-ui, sans-serif; }
text { fill: #3b434d; } .title { font-size: 13px; font-weight: 600; } .grid { stroke: #d9dee5; } .one { stroke: #6b7480; }
.page { fill: #ffffff; } .front { fill: none; stroke: #3b434d; stroke-width: 1.2; } .ring { fill: none; stroke: #3b434d; stroke-width: 1.2; }
.c0 { --c: #0065a8; } .c1 { --c: #c25100; } .c2 { --c: #007d5a; } .c3 { --c: #ab4a85; } .c4 { --c: #6b7480; }
.full { fill: var(--c); fill-opacity: 0.75; } .hollow { fill: none; stroke: var(--c); stroke-width: 1.3; } .line { stroke: var(--c); }
@media (prefers-color-scheme: dark) { text { fill: #cdd5de; } .grid { stroke: #303843; } .one { stroke: #98a3b0; } .page { fill: #15181d; }
.front, .ring { stroke: #cdd5de; } .c0 { --c: #5cb8f0; } .c1 { --c: #e88a3c; } .c2 { --c: #2fbd92; } .c3 { --c: #d98abb; } .c4 { --c: #98a3b0; } }
"""
COLoRS = 5
PANEL, LEFT, RIGHT, TOP, BOTTOM = 400, 52, 18, 62, 46
HEIGHT = 280  # of the scatter's axes
ROW, ROW_LEFT = 22, 190  # of the steps


class Svg:
    def __init__(self, width, height, label):
        self.width, self.height = width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img" aria-label="{html.escape(label)}">',
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
        ]

    def text(self, x, y, text, anchor="start", kind=None):
        style = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text{style} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def upwards(self, x, y, text):
        """Its end is at y."""
        self.parts.append(f'<text transform="translate({x:.1f} {y:.1f}) rotate(-90)" text-anchor="end">{html.escape(text)}</text>')

    def path(self, kind, path):
        self.parts.append(f'<path class="{kind}" d="{path}"/>')

    def dot(self, kind, x, y, radius):
        self.parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')

    def __str__(self):
        return "\n".join(self.parts) + "\n</svg>\n"


def log_marks(low, high):
    digits = (1, 2, 5) if high / low > 8 else (1, 1.5, 2, 3, 4, 5, 7)
    marks = [d * 10.0**p for p in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for d in digits]
    return [mark for mark in marks if low <= mark <= high]


def legend(svg, entries):
    """Entries (text, kind of a dot) in one row."""
    x = LEFT
    for text, kind in entries:
        if kind == "front":
            svg.path("front", f"M{x - 6:.0f} 18h14")
        else:
            svg.dot(kind, x, 18, 5.5 if kind == "ring" else 4)
        svg.text(x + 12, 22, text)
        x += 30 + 6.6 * len(text)


def plain(value):
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def axis_of(report, parameter):
    for axis in report["axes"]:
        if parameter in axis["choices"][0]:
            return axis
    sys.exit(f"plot_points.py: the space has no parameter {parameter}")


def plot_points(reports, color, mark):
    svg = Svg(PANEL * len(reports), TOP + HEIGHT + BOTTOM, "latency and area of the measured points")
    first = reports[0][1]
    choices = axis_of(first, color)["choices"] if color else [{}]
    names = ["×".join(plain(value) for value in choice.values()) for choice in choices]
    entries = [(name, f"c{i % COLoRS} full") for i, name in enumerate(names)] if color else []
    if mark:
        entries.append((f"without {mark}", "c4 hollow"))
    legend(svg, entries + [("on the front of all objectives", "ring"), ("front of these two", "front")])
    measured = [[point for point in report["points"] if point["state"] == "measured"] for _, report in reports]
    areas = [point["values"]["area_mm2"] for points in measured for point in points]
    low_area, high_area = 0, max(areas) * 1.05
    for panel, ((title, report), points) in enumerate(zip(reports, measured)):
        left, width = PANEL * panel + LEFT, PANEL - LEFT - RIGHT
        times = [point["values"]["latency_ms"] for point in points]
        low, high = min(times) / 1.15, max(times) * 1.15
        x_of = lambda ms: left + width * math.log(ms / low) / math.log(high / low)
        y_of = lambda area: TOP + HEIGHT * (high_area - area) / (high_area - low_area)
        svg.text(left, TOP - 12, title, kind="title")
        step = next(s for s in (0.5, 1, 2, 5, 10, 20) if high_area / s <= 8)
        for i in range(int(high_area / step) + 1):
            svg.path("grid", f"M{left:.1f} {y_of(i * step):.1f}h{width:.1f}")
            svg.text(left - 6, y_of(i * step) + 4, f"{i * step:g}", "end")
        for ms in log_marks(low, high):
            svg.path("grid", f"M{x_of(ms):.1f} {TOP:.1f}v{HEIGHT:.1f}")
            svg.text(x_of(ms), TOP + HEIGHT + 16, f"{ms:g}", "middle")
        svg.text(left + width / 2, TOP + HEIGHT + 34, "latency, ms", "middle")
        if panel == 0:
            svg.upwards(14, TOP, "area, mm²")
        front = {row["point"] for row in report["front"]}
        for index, point in enumerate(report["points"]):
            if point["state"] != "measured":
                continue
            chosen = {key: point["chosen"][key] for key in choices[0]}
            kind = "full" if not mark or point["chosen"][mark] else "hollow"
            x, y = x_of(point["values"]["latency_ms"]), y_of(point["values"]["area_mm2"])
            svg.dot(f"c{choices.index(chosen) % COLoRS} {kind}", x, y, 2.6)
            if index in front:
                svg.dot("ring", x, y, 5.5)
        best, path = math.inf, ""
        for point in sorted(points, key=lambda p: (p["values"]["latency_ms"], p["values"]["area_mm2"])):
            x, y = x_of(point["values"]["latency_ms"]), y_of(point["values"]["area_mm2"])
            if point["values"]["area_mm2"] < best:
                best = point["values"]["area_mm2"]
                path += f"H{x:.1f}V{y:.1f}" if path else f"M{x:.1f} {y:.1f}"
        svg.path("front", path)
    return svg


def step_name(row):
    name, before, after = row["axis"], row["from"], row["to"]
    if (before, after) == ("false", "true"):
        return name
    if name.endswith("_buffer_bytes"):
        return f"{name.removesuffix('_buffer_bytes').upper()} {int(before) // 1024} to {int(after) // 1024} KiB"
    if name == "bus_bytes":
        return f"port {before} to {after} bytes"
    if name == "block_in+block_out":
        return f"blocks {before} to {after}".replace("+", "×")
    if name == "memory":
        return f"{before} memory to {after.split(':')[-1]}"
    return f"{name} {before} to {after}"


def plot_steps(reports):
    rows = max(len(report["steps"]) for _, report in reports)
    height = rows * ROW
    svg = Svg(ROW_LEFT + (PANEL - LEFT) * len(reports), TOP + height + BOTTOM, "what a step of each parameter changes")
    titles = [objective["title"].split(",")[0] for objective in reports[0][1]["objectives"]]
    legend(svg, [(title, f"c{i % COLoRS} full") for i, title in enumerate(titles)])
    factors = [factor for _, report in reports for row in report["steps"] for factor in row["factors"]]
    low, high = min(factors) / 1.08, max(factors) * 1.08
    for panel, (title, report) in enumerate(reports):
        left, width = ROW_LEFT + (PANEL - LEFT) * panel, PANEL - LEFT - 28
        x_of = lambda factor: left + width * math.log(factor / low) / math.log(high / low)
        svg.text(left, TOP - 12, title, kind="title")
        for factor in (0.25, 0.3, 0.4, 0.5, 0.7, 1, 1.4, 2, 3, 4):
            if low <= factor <= high:
                svg.path("one" if factor == 1 else "grid", f"M{x_of(factor):.1f} {TOP - 4:.1f}v{height + 4:.1f}")
                svg.text(x_of(factor), TOP + height + 16, f"{factor:g}×", "middle")
        for i, row in enumerate(report["steps"]):
            y = TOP + ROW * (i + 0.5)
            if panel == 0:
                svg.text(left - 12, y + 4, step_name(row), "end")
            svg.path("grid", f"M{left:.1f} {y:.1f}h{width:.1f}")
            for objective, factor in enumerate(row["factors"]):
                svg.dot(f"c{objective % COLoRS} full", x_of(factor), y + 3.4 * (objective - (len(row["factors"]) - 1) / 2), 4)
    return svg


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["points", "steps"])
    parser.add_argument("--mark")
    parser.add_argument("--color")
    parser.add_argument("-o", dest="out", required=True, type=Path)
    parser.add_argument("reports", nargs="+", metavar="TITLE=REPORT.json")
    arguments = parser.parse_args()
    reports = []
    for text in arguments.reports:
        title, _, path = text.partition("=")
        reports.append((title, json.loads(Path(path).read_text(encoding="utf-8"))))
    svg = plot_points(reports, arguments.color, arguments.mark) if arguments.what == "points" else plot_steps(reports)
    arguments.out.write_text(str(svg), encoding="utf-8")


main()
