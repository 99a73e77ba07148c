"""The databases of `tune`."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Optional

from . import _call
from ._library import lib
from .report import Report


class Records:
    """A database of tuning records: a file, which `tune` writes and `compile(records=...)` reads. Needs the compiler.

    >>> dovetail.Records("records.db").list()

    A task is named by its key, or by the beginning of its key. Raises InputError for missing files, files of another
    kind, unknown tasks, and beginnings of several keys.
    """

    def __init__(self, path: _call.PathLike) -> None:
        """path: of the file; `merge` and `import_` create it if it does not exist."""
        self._path = _call.path_text(path, "Records: path")

    def list(self, task: Optional[str] = None) -> List[Dict[str, Any]]:
        """The tasks, with their best and default costs: what `dovetail records list --json` prints
        (docs/schema/records-list.json). task: None: all."""
        rows: List[Dict[str, Any]] = _call.json_of(lib.dvt_records_list, self._path, self._task(task, "list"))
        return rows

    def show(self, task: str) -> List[Dict[str, Any]]:
        """The rows of `list` for one task, each with its "candidates", the best first: decisions, trace and cost
        (docs/schema/records-show.json)."""
        rows: List[Dict[str, Any]] = _call.json_of(lib.dvt_records_show, self._path, self._task(task, "show"))
        return rows

    def merge(self, *others: _call.PathLike) -> Report:
        """Adds the records of other databases. Returns the numbers "added" and "replaced"."""
        paths = _call.texts([_call.path_text(each, "Records.merge").decode(errors="surrogateescape") for each in others],
                            "Records.merge")
        return Report(_call.json_of(lib.dvt_records_merge, self._path, paths))

    def export(self, task: Optional[str] = None) -> str:
        """The records as text, a line of JSON each. task: None: all."""
        out = ctypes.c_void_p()
        _call.check(lib.dvt_records_export(self._path, self._task(task, "export"), ctypes.byref(out)))
        return _call.take_text(out)

    def import_(self, lines: str) -> Report:
        """Adds the records of such text, all or none. Returns the numbers "added" and "replaced"."""
        return Report(_call.json_of(lib.dvt_records_import, self._path, _call.text(lines, "Records.import_: lines")))

    @staticmethod
    def _task(task: Optional[str], method: str) -> Optional[bytes]:
        return None if task is None else _call.text(task, f"Records.{method}: task")

    def __repr__(self) -> str:
        return f"<dovetail.Records {self._path.decode(errors='replace')}>"
