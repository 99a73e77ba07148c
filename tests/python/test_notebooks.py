#!/usr/bin/env python3
"""The notebooks of examples/notebooks run from their first cell to the last, and what they show is HTML. Without
Jupyter: a cell is Python whose last expression is shown. Cells with the tag of a package are left out without it."""

import ast
import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest

from environment import SOURCE

FOLDER = SOURCE / "examples" / "notebooks"


def run_cell(source, names, where):
    """Runs a cell. Returns the value of its last expression, or None."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), where, "eval"), names)


class Notebooks(unittest.TestCase):
    def test_they_are_stored_without_outputs(self):
        paths = sorted(FOLDER.glob("*.ipynb"))
        self.assertEqual(len(paths), 4)
        readme = (FOLDER / "README.md").read_text()
        for path in paths:
            self.assertIn(f"]({path.name})", readme)
            notebook = json.loads(path.read_text())
            self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
            self.assertEqual(len({cell["id"] for cell in notebook["cells"]}), len(notebook["cells"]))
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), path)

    def test_they_run(self):
        if importlib.util.find_spec("matplotlib"):
            import matplotlib

            matplotlib.use("Agg")
        before = os.getcwd()
        for path in sorted(FOLDER.glob("*.ipynb")):
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                for name in ("digits", "first_week"):
                    os.symlink(SOURCE / "examples" / name, f"{folder}/{name}")
                os.mkdir(f"{folder}/notebooks")
                os.chdir(f"{folder}/notebooks")
                names, shown, left_out = {"__name__": "__main__"}, 0, 0
                try:
                    for cell in json.loads(path.read_text())["cells"]:
                        packages = cell["metadata"].get("tags", [])
                        if cell["cell_type"] != "code":
                            continue
                        if not all(map(importlib.util.find_spec, packages)):
                            left_out += 1
                            continue
                        with contextlib.redirect_stdout(io.StringIO()):
                            value = run_cell("".join(cell["source"]), names, path.name)
                        if type(value).__module__.startswith("dovetail"):
                            shows = value._repr_html_()
                            self.assertTrue(shows.startswith("<style>"), shows[:80])
                            self.assertTrue(shows.endswith(("</div>", "</p>")), shows[-80:])
                            shown += 1
                finally:
                    os.chdir(before)
                self.assertGreater(shown, 1, "what the notebook shows as HTML")
                if left_out:
                    print(f"{path.name}: {left_out} cells need packages that are not here", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
