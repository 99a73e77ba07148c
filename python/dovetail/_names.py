"""The names of the C interface in the library's texts, as names of this package."""

from __future__ import annotations

import re
from typing import Match

_CLASSES = {
    "bundle": "Bundle", "loops": "loops.Loops", "machine": "Machine", "model": "Model", "program": "Program", "records": "Records",
    "region": "Region", "session": "Session", "trace": "Trace",
}
# Methods and functions whose name is another one, or that are members of a class.
_RENAMED = {
    "dvt_area": "Hardware.area",
    "dvt_area_in": "Hardware.area",
    "dvt_explain": "Trace.explain",
    "dvt_hardware": "named_hardware",
    "dvt_bundle_input": "Bundle.inputs",
    "dvt_bundle_load_file": "Bundle.load",
    "dvt_bundle_load_memory": "Bundle.load",
    "dvt_bundle_output": "Bundle.outputs",
    "dvt_bundle_serialize": "Bundle.to_bytes",
    "dvt_machine_create": "Machine",
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


# Arguments with the values that a text gives to them: `engine` cycle, `place` NODE=cpu, `shapes` x=1x3x224x224.
_WITH_VALUE = re.compile(
    r"`(?P<text>engine|targets|cpu|gpu|offload|stages)` "
    r"(?P<word>functional|cycle|rtl|accel|cpu|native|baseline|interpreter|always|sm_\w+|(?<=stages` )[a-z]+)\b(?! or )"
    r"|`(?P<number>clock_mhz|accelerators)` (?P<digits>[\d.]+\d|\d)"
    r"|`(?P<dict>place|shapes|decide)` (?P<key>[^\s=,;:]+)=(?P<value>[\w.{}]+)"
)


def _literal(name: str, value: str) -> str:
    if name == "shapes" and "x" in value:
        return f"({', '.join(value.split('x'))})"
    return f'"{value}"' if name == "place" else value


def _with_value(found: Match[str]) -> str:
    row = found.groupdict()
    if row["text"]:
        word = f'"{row["word"]}"'
        return f"`{row['text']}={f'[{word}]' if row['text'] == 'stages' else word}`"
    if row["number"]:
        return f"`{row['number']}={row['digits']}`"
    return f"`{row['dict']}={{\"{row['key']}\": {_literal(row['dict'], row['value'])}}}`"


def python_names(text: str) -> str:
    """ "dvt_session_run: options, threads" as "Session.run: threads", and "`engine` cycle" as "`engine="cycle"`"."""
    if "dvt_" in text or "DVT_" in text:
        text = re.sub(r"\b(?:dvt|DVT)_\w+", _python_name, text).replace(": options, ", ": ")
    text = _WITH_VALUE.sub(_with_value, text).replace("`dovetail ", "`python -m dovetail ")
    text = text.replace("give as many extents as the model", "give a tuple of as many extents (a list is several shapes)")
    return text.replace('`compile_stages` with `stages=["trace"]` shows', "`decisions` lists")
