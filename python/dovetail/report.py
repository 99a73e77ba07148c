"""Reports: the JSON of the commands, as dicts that a notebook shows."""

from __future__ import annotations

import json
from typing import Any, Dict

from . import _call, plots, show
from .show import page_of, report_html


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

    def plot(self, ax: Any = None) -> Any:
        """Plots what the report is about: the roofline of a simulated program or a trace, the front of a sweep, the
        time of each step of a run or profile. Needs matplotlib.

        ax: the matplotlib.axes.Axes to draw into; None: of a new figure.

        Returns the Axes. Raises InputError for reports of another kind.
        """
        return plots.plot_report(self, ax)

    def _repr_html_(self) -> str:
        return report_html(self)
