"""The names of the C interface in the library's diagnostics, as names of this package."""

from __future__ import annotations

import re
from typing import Match

_CLASSES = {
    "bundle": "Bundle", "loops": "loops.Loops", "model": "Model", "program": "Program", "records": "Records",
    "region": "Region", "session": "Session", "trace": "Trace",
}
# Methods and functions whose name is another one, or that are members of a class.
_RENAMED = {
    "dvt_area": "Hardware.area",
    "dvt_bundle_input": "Bundle.inputs",
    "dvt_bundle_load_file": "Bundle.load",
    "dvt_bundle_load_memory": "Bundle.load",
    "dvt_bundle_output": "Bundle.outputs",
    "dvt_bundle_serialize": "Bundle.to_bytes",
    "dvt_model_load_file": "Model",
    "dvt_model_load_memory": "Model",
    "dvt_page": "Report.page",
    "dvt_primitives": "loops.primitives",
    "dvt_program_assemble": "Program",
    "dvt_records_import": "Records.import_",
    "dvt_session_bind_input": "Session.bind",
    "dvt_session_bind_output": "Session.bind",
    "dvt_session_create": "Session",
    "dvt_session_run_bound": "Binding.run",
    "DVT_TRUST_ALWAYS": 'trust="always"',
    "DVT_TRUST_NEVER": 'trust="never"',
}


def _python_name(found: Match[str]) -> str:
    name = found.group()
    if name in _RENAMED:
        return _RENAMED[name]
    kind, _, rest = name[len("dvt_") :].partition("_")
    return f"{_CLASSES[kind]}.{rest}" if kind in _CLASSES else name[len("dvt_") :]


def python_names(text: str) -> str:
    """ "dvt_session_run: options, threads" as "Session.run: threads"."""
    if "dvt_" not in text and "DVT_" not in text:
        return text
    return re.sub(r"\b(?:dvt|DVT)_\w+", _python_name, text).replace(": options, ", ": ")
