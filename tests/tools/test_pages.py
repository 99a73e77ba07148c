#!/usr/bin/env python3
"""Pages that commands write need no horizontal scrolling at 400 pixels, except for tables in boxes; checked with Chromium, where it is installed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
DIGITS = SOURCE / "examples/digits/digits_int8.onnx"
PIXELS = 400
PAGES = {
    "run.html": ["run", DIGITS, "--target", "accel", "--engine", "cycle", "--html", "run.html"],
    "compare.html": ["compare", DIGITS, "--target", "accel,cpu,cuda", "--repeat", "5", "--html", "compare.html"],
    "tune.html": ["tune", DIGITS, "--target", "accel", "--task", "conv1", "--trials", "2", "--records", "r.db", "--html", "tune.html"],
    "quantize.html": ["quantize", SOURCE / "examples/digits/digits_float.onnx", "-o", "q.onnx", "--samples", SOURCE / "examples/digits/test_images.npy",
                      "--html", "quantize.html"],
    "sweep/report.html": ["explore", DIGITS, "space.json", "-o", "sweep"],
}
FRAME = """<!doctype html><body><iframe src="{page}" style="width:{pixels}px;height:900px;border:0"></iframe><p id="width"></p><script>
addEventListener("load", () => {{ const page = document.querySelector("iframe").contentDocument.documentElement;
  const first = page.querySelector("td");
  document.getElementById("width").textContent = "WIDTH=" + page.scrollWidth + " CELL=" + (first ? Math.round(first.getBoundingClientRect().width) : 999); }});
</script></body>"""


@unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
class Pages(unittest.TestCase):
    def test_narrow(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "space.json").write_text('{"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16]}}')
            for page, line in PAGES.items():
                written = subprocess.run([CLI, *map(str, line)], capture_output=True, text=True, check=False, cwd=folder)
                self.assertEqual(written.returncode, 0, written.stderr)
                for pixels in (PIXELS, 1280):
                    (pathlib.Path(folder) / "frame.html").write_text(FRAME.format(page=page, pixels=pixels))
                    shown = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                                            f"--user-data-dir={folder}/profile", "--dump-dom", f"file://{folder}/frame.html"],
                                           capture_output=True, text=True, check=False, timeout=60)
                    found = re.search(r"WIDTH=(\d+) CELL=(\d+)", shown.stdout)
                    self.assertIsNotNone(found, shown.stdout[-300:])
                    with self.subTest(page=page, pixels=pixels):
                        self.assertLessEqual(int(found[1]), pixels)
                        self.assertGreaterEqual(int(found[2]), 40)  # a name is not a column of letters


if __name__ == "__main__":
    if not shutil.which("chromium"):
        print("chromium is not installed")
        sys.exit(77)
    unittest.main(verbosity=2)
