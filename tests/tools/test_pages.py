#!/usr/bin/env python3
"""Pages that commands write, shown by Chromium, where it is installed: nothing overflows a phone's screen or covers other text, all charts are
drawn, light and dark differ, and a page looks the same every time."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

SOURCE = pathlib.Path(os.environ.get("DOVETAIL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
CLI = os.environ.get("DOVETAIL_CLI", str(SOURCE / "build/release/bin/dovetail"))
DIGITS = SOURCE / "examples/digits/digits_int8.onnx"
WIDTHS = (390, 1280)  # a phone, and a window
PAGES = {
    "run.html": ["run", DIGITS, "--target", "accel", "--engine", "cycle", "--html", "run.html"],
    "profile.html": ["profile", DIGITS, "--target", "accel", "--repeat", "1", "--html", "profile.html"],
    "compare.html": ["compare", DIGITS, "--target", "accel,cpu,cuda", "--repeat", "5", "--html", "compare.html"],
    "explain.html": ["compare", DIGITS, "--explain", "--hw", "1x16x16-ext,1x8x8", "--repeat", "1", "--html", "explain.html"],
    "tune.html": ["tune", DIGITS, "--target", "accel", "--task", "conv1", "--trials", "2", "--records", "r.db", "--html", "tune.html"],
    "quantize.html": ["quantize", SOURCE / "examples/digits/digits_float.onnx", "-o", "q.onnx", "--samples", SOURCE / "examples/digits/test_images.npy",
                      "--html", "quantize.html"],
    "sweep/report.html": ["explore", DIGITS, "space.json", "-o", "sweep"],
}
SPACE = {"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16], "memory": ["ideal", "bank:ddr4-2400"]}}
# What the page's layout is, as JSON in an element of the frame around it: its width; boxes of texts that are visible, each with the box of what
# clips it; charts, with the number of colors of a canvas.
FRAME = """<!doctype html><body><iframe src="{page}" style="width:{pixels}px;height:900px;border:0"></iframe><p id="found"></p><script>
addEventListener("load", () => setTimeout(() => {{
  const view = document.querySelector("iframe").contentWindow, page = view.document;
  const boxes = [], charts = [];
  const clip = element => {{
    for (let at = element; at && at !== page.body; at = at.parentElement)
      if (view.getComputedStyle(at).overflowX !== "visible" && at.namespaceURI.endsWith("xhtml")) return at.getBoundingClientRect();
    return null;
  }};
  const walk = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {{
    const element = node.parentElement, style = view.getComputedStyle(element);
    if (!node.data.trim() || ["SCRIPT", "STYLE", "OPTION", "TITLE", "title"].includes(element.tagName)) continue;
    if (style.visibility !== "visible" || style.position === "fixed" || !element.checkVisibility({{opacityProperty: true}})) continue;
    const range = page.createRange();
    range.selectNodeContents(node);
    const by = clip(element);
    for (const box of range.getClientRects())
      boxes.push([node.data.trim().slice(0, 40), box.left, box.top, box.right, box.bottom, by ? [by.left, by.top, by.right, by.bottom] : null]);
  }}
  for (const canvas of page.querySelectorAll("canvas")) {{
    const seen = new Set();
    if (canvas.width && canvas.height) {{
      const data = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      for (let i = 0; i < data.length; i += 7) seen.add(data[i]);
    }}
    charts.push([canvas.id || "canvas", canvas.width, canvas.height, seen.size]);
  }}
  for (const svg of page.querySelectorAll("svg")) {{
    const box = svg.getBoundingClientRect();
    charts.push(["svg", box.width, box.height, svg.querySelectorAll("*").length]);
  }}
  const first = page.querySelector("td"), root = page.documentElement;
  const found = {{width: root.scrollWidth, cell: first ? first.getBoundingClientRect().width : 999, boxes, charts,
    headings: [...page.querySelectorAll("h1, h2")].filter(each => each.checkVisibility()).map(each => each.textContent.trim())}};
  document.getElementById("found").textContent = "FOUND=" + encodeURIComponent(JSON.stringify(found)) + "=END";
}}, 300));
</script></body>"""
# The headings after the title, in their order, and the charts.
RUN = ("Timeline", "Cycles of each unit", "Roofline", "Layers", "The same instructions on other hardware", "Energy")
STRUCTURE = {
    "run.html": (RUN, ["timeline", "svg"]),
    "profile.html": (RUN, ["timeline", "svg"]),
    "compare.html": ((str(DIGITS),), []),
    "explain.html": (("Causes", "Layers"), []),
    "tune.html": (("conv1",), ["svg"]),
    "quantize.html": (("Outputs", "Layers", "Tensors"), []),
    "sweep/report.html": (("Points", "The point that was chosen", "Parallel coordinates", "What a step changes", "The front"), ["scatter", "parallel"]),
}
# A page with each fault: a text beyond the screen, two texts at one place, and a canvas without a drawing.
FAULTY = """<!doctype html><body style="margin:0"><h1>x</h1><p style="width:2000px;text-align:right">too far right</p>
<p style="position:absolute;top:200px;left:10px">one label</p><p style="position:absolute;top:203px;left:14px">another label</p>
<div style="overflow-x:auto;width:200px"><p style="width:900px;text-align:right">clipped</p></div><canvas id="blank" width="50" height="50"></canvas>"""
CHROMIUM = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--hide-scrollbars",
            "--virtual-time-budget=3000"]


def chromium(folder: pathlib.Path, *options: str) -> str:
    shown = subprocess.run([*CHROMIUM, f"--user-data-dir={folder}/profile", *options], capture_output=True, text=True, check=False, timeout=120)
    return shown.stdout


def visible(box):
    """The part of a text's box that is not clipped."""
    left, top, right, bottom = box[1:5]
    if box[5]:
        left, top, right, bottom = max(left, box[5][0]), max(top, box[5][1]), min(right, box[5][2]), min(bottom, box[5][3])
    return (left, top, right, bottom) if right - left > 1 and bottom - top > 1 else None


def covered(boxes):
    """Pairs of texts whose visible parts overlap by more than two pixels in both directions."""
    shown = sorted(((visible(box), box[0]) for box in boxes if visible(box)), key=lambda each: each[0][1])
    pairs = []
    for i, (a, text) in enumerate(shown):
        for b, other in shown[i + 1:]:
            if b[1] > a[3] - 2:
                break
            if min(a[2], b[2]) - max(a[0], b[0]) > 2 and min(a[3], b[3]) - max(a[1], b[1]) > 2:
                pairs.append((text, other))
    return pairs


@unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "space.json").write_text(json.dumps(SPACE))
        for line in PAGES.values():
            written = subprocess.run([CLI, *map(str, line)], capture_output=True, text=True, check=False, cwd=cls.folder)
            assert written.returncode == 0, written.stderr

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    def layout(self, page: str, pixels: int):
        (self.folder / "frame.html").write_text(FRAME.format(page=page, pixels=pixels))
        shown = chromium(self.folder, "--window-size=1400,1000", "--dump-dom", f"file://{self.folder}/frame.html")
        found = re.search(r"FOUND=(.*)=END", shown)
        self.assertIsNotNone(found, shown[-300:])
        return json.loads(urllib.parse.unquote(found[1]))

    def picture(self, page: str, pixels: int, dark: bool = False) -> bytes:
        file = self.folder / "picture.png"
        file.unlink(missing_ok=True)
        chromium(self.folder, f"--window-size={pixels},1400", f"--screenshot={file}",
                 f"--blink-settings=preferredColorScheme={0 if dark else 1}", f"file://{self.folder}/{page}")
        self.assertTrue(file.exists(), page)
        return file.read_bytes()

    def test_layout(self) -> None:
        for page in PAGES:
            for pixels in WIDTHS:
                with self.subTest(page=page, pixels=pixels):
                    found = self.layout(page, pixels)
                    self.assertLessEqual(found["width"], pixels)
                    self.assertGreaterEqual(found["cell"], 40)  # a name is not a column of letters
                    self.assertTrue(found["boxes"])
                    beyond = [box[0] for box in found["boxes"] if box[5] is None and (box[3] > pixels + 1 or box[1] < -1)]
                    self.assertEqual(beyond, [])
                    self.assertEqual(covered(found["boxes"]), [])
                    for name, width, height, drawn in found["charts"]:
                        self.assertTrue(width > 0 and height > 0 and drawn > 2, (name, width, height, drawn))

    def test_structure(self) -> None:
        for page, (headings, charts) in STRUCTURE.items():
            with self.subTest(page=page):
                for pixels in WIDTHS:
                    found = self.layout(page, pixels)
                    self.assertEqual(tuple(found["headings"][1:]), headings)
                    self.assertEqual([chart[0] for chart in found["charts"]], charts)

    def test_faults_are_found(self) -> None:
        (self.folder / "faulty.html").write_text(FAULTY)
        found = self.layout("faulty.html", 390)
        self.assertGreater(found["width"], 390)
        self.assertEqual([box[0] for box in found["boxes"] if box[5] is None and box[3] > 391], ["too far right"])
        self.assertEqual(covered(found["boxes"]), [("one label", "another label")])
        self.assertEqual(found["charts"], [["blank", 50, 50, 1]])

    def test_pictures(self) -> None:
        for page in PAGES:
            with self.subTest(page=page):
                light = self.picture(page, 1280)
                self.assertEqual(light[:4], b"\x89PNG")
                self.assertGreater(len(light), 10000)  # not an empty page
                self.assertEqual(light, self.picture(page, 1280))
                self.assertNotEqual(light, self.picture(page, 1280, dark=True))


if __name__ == "__main__":
    if not shutil.which("chromium"):
        print("chromium is not installed")
        sys.exit(77)
    unittest.main(verbosity=2)
