"""Reports: the JSON of the commands, as dicts that a notebook shows."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

from . import _call, plots, show
from .show import page_of, report_html


MOST_ENTRIES, MOST_CHARACTERS = 12, 40


def _short(value: Any) -> str:
    if isinstance(value, (dict, list)):
        what = "entries" if isinstance(value, dict) else "rows"
        return f"{len(value)} {what}"
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."


class Report(Dict[str, Any]):
    """A report: a dict with the JSON that a command prints with --json (docs/schema). A notebook shows it as a page or
    as a table."""

    def page(self) -> str:
        """The page of a comparison, a sweep, a quantization or a tuning run: HTML that needs nothing but a browser.
        Raises InputError for reports of another kind. Needs the compiler."""
        return page_of(json.dumps(self))

    def save_page(self, path: _call.PathLike) -> None:
        """Writes the page to a file."""
        show.write(path, self.page())

    def save(self, path: _call.PathLike) -> None:
        """Writes the report to a file: the page, where the name ends in `.html`, else JSON."""
        show.write(path, self.page() if os.fspath(path).endswith(".html") else json.dumps(self, indent=1) + "\n")

    def plot(self, ax: Any = None) -> Any:
        """Plots what the report is about: the roofline of a simulated program or a trace, the front of a sweep, the
        time of each step of a run or profile. Needs matplotlib.

        ax: the matplotlib.axes.Axes to draw into; None: of a new figure.

        Returns the Axes. Raises InputError for reports of another kind.
        """
        return plots.plot_report(self, ax)

    def _repr_html_(self) -> str:
        return report_html(self)

    def __repr__(self) -> str:
        """The kind, and each entry as a number, a text, or its length: `dict(report)` has all."""
        rows = [f"{key}: {_short(value)}" for key, value in self.items() if key != "kind"]
        shown = ", ".join(rows[:MOST_ENTRIES]) + (f", and {len(rows) - MOST_ENTRIES} more" * (len(rows) > MOST_ENTRIES))
        return f"<dovetail.Report{' ' + str(self['kind']) if 'kind' in self else ''}: {shown}>"
