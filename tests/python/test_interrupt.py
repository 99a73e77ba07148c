#!/usr/bin/env python3
"""Ctrl-C stops every long call with KeyboardInterrupt, and nothing is lost. Callbacks that raise; the program's end."""
import signal
import tempfile
import time
import unittest

from environment import DIGITS, HARDWARE, finish, run, start

HEAD = f"""
import sys, threading, time
import numpy as np, dovetail
model, float_model = {str(DIGITS / "digits_int8.onnx")!r}, {str(DIGITS / "digits_float.onnx")!r}
images = np.load({str(DIGITS / "test_images.npy")!r})
image = {{"image": images[:1]}}
hardware = {HARDWARE!r}
def ready():
    print("ready", flush=True)
"""

# Each begins a long call, prints "ready" when it is in it, and after Ctrl-C shows that nothing is lost.
CALLS = {
    "profile": """
session = dovetail.compile(model, "accel,cpu", hardware).session(engine="cycle")
expected = session.run(image)["logits"]
threading.Timer(0.3, ready).start()
try:
    session.profile(image, repeat=1000000)
except KeyboardInterrupt:
    np.testing.assert_array_equal(session.run(image)["logits"], expected)
    print("interrupted")
""",
    "run": """
session = dovetail.compile(model, "accel,cpu", hardware).session(engine="cycle")
expected = session.run(image)["logits"]
binding = session.bind({"image": images[:1].copy()})
threading.Timer(0.3, ready).start()
try:
    while True:
        session.run(image)
        binding.run()
except KeyboardInterrupt:
    np.testing.assert_array_equal(session.run(image)["logits"], expected)
    np.testing.assert_array_equal(binding.run()["logits"], expected)
    print("interrupted")
""",
    "check": """
session = dovetail.compile(model, "accel,cpu", hardware).session()
threading.Timer(0.3, ready).start()
try:
    while True: session.check(image)
except KeyboardInterrupt:
    assert session.check(image)["different"] == 0
    print("interrupted")
""",
    "evaluate": """
session = dovetail.compile(model, "accel,cpu", hardware).session(engine="cycle")
def progress(what, done, all):
    if done > 3: ready()
def forever():
    while True: yield {"image": images}
try:
    session.evaluate(forever(), progress=progress)
except KeyboardInterrupt:
    session.run(image)
    print("interrupted")
""",
    "compile": """
def progress(what, done, all):
    ready()
    time.sleep(0.02)
try:
    while True: dovetail.compile(model, "cpu", progress=progress)
except KeyboardInterrupt:
    dovetail.compile(model, "cpu").session().run(image)
    print("interrupted")
""",
    "quantize": """
def progress(what, done, all):
    ready()
    time.sleep(0.02)
try:
    dovetail.quantize(float_model, {"image": np.concatenate([images] * 30)}, calibration="entropy", progress=progress)
except KeyboardInterrupt:
    print("interrupted")
""",
    "tune": """
def progress(what, done, all):
    if what == "trials" and done > 16: ready()
try:
    dovetail.tune(model, "accel,cpu", hardware, records="records.db", trials=100000, early_stop=0, progress=progress)
except KeyboardInterrupt:
    report = dovetail.tune(model, "accel,cpu", hardware, records="records.db", trials=1)
    assert sum(task["known"] for task in report["tasks"]) >= 16, report
    bundle = dovetail.compile(model, "accel,cpu", hardware, records="records.db")
    assert bundle.session().check(image)["different"] == 0
    print("interrupted")
""",
    "explore": """
space = {"hardware": hardware, "axes": {"wgt_buffer_bytes": {"from": 32768, "to": 262144, "times": 2},
         "acc_buffer_bytes": [32768, 65536, 131072], "inp_buffer_bytes": [8192, 16384, 32768, 65536],
         "bus_bytes": [8, 16], "requant": [False, True], "memory": ["ideal", "bank:ddr4-2400"],
         "clock_mhz": {"from": 100, "to": 1000, "plus": 25}}}
seen = []
try:
    for point in dovetail.explore(model, space, "sweep", jobs=1):
        seen.append(point)
        if len(seen) > 30: ready()
except KeyboardInterrupt:
    again = dovetail.explore(model, space, "sweep", jobs=1)
    known = 0
    for point in again:
        if not point.known: break
        known += 1
    assert known >= len(seen) > 30, (known, len(seen))
    assert repr(again).startswith("<dovetail.Exploration, stopped: "), again
    print("interrupted")
""",
}


class Interrupt(unittest.TestCase):
    def test_ctrl_c(self):
        for name, program in CALLS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                process = start(HEAD + program, cwd=folder)
                first, sent = process.stdout.readline(), time.monotonic()
                process.send_signal(signal.SIGINT)
                status, out, errors = finish(process)
                self.assertEqual((first, status, errors), ("ready\n", 0, ""))
                self.assertTrue(out.endswith("interrupted\n"), out)
                print(f"{name}: {time.monotonic() - sent:.2f} s with what followed", flush=True)

    def test_none_is_lost(self):
        """Python ignores what a signal's handler raises where Python frees an object."""
        run(HEAD + """
import random, signal
lost, sent = [], 0
sys.unraisablehook = lambda what: lost.append(what.object)
class Sent(BaseException): pass
def handler(*_):
    global sent
    sent += 1
    raise Sent
signal.signal(signal.SIGALRM, handler)
session = dovetail.compile(model, "cpu").session()
calls = {"arrays": lambda: session.run(image), "handles": lambda: dovetail.Model(model)}
for name, call in calls.items():
    for _ in range(300):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 2e-3))
            end = time.monotonic() + 5
            while time.monotonic() < end: call()
        except Sent:
            pass
    assert sent == 300 and not lost, (name, sent, lost)
    sent = 0
""")

    def test_callbacks_that_raise(self):
        with tempfile.TemporaryDirectory() as folder:
            out = run(HEAD + f"""
class Mine(Exception):
    pass
def progress(what, done, all):
    raise Mine(what)
space = {{"hardware": hardware, "axes": {{"bus_bytes": [8, 16]}}}}
session = dovetail.compile(model, "cpu").session()
for call in (
    lambda: dovetail.compile(model, "cpu", progress=progress),
    lambda: dovetail.quantize(float_model, {{"image": images}}, progress=progress),
    lambda: dovetail.tune(model, "accel,cpu", hardware, records={folder!r} + "/records.db", progress=progress),
    lambda: dovetail.explore(model, space, {folder!r} + "/sweep", progress=progress).wait(),
    lambda: session.evaluate({{"image": images}}, progress=progress),
):
    try:
        call()
    except Mine as error:
        print(error)
try:
    dovetail.compile(model, "cpu", progress=lambda *each: sys.exit(3))
except SystemExit as error:
    print(error.code)
for wrong in (True, 3, "x"):
    try:
        dovetail.compile(model, "cpu", progress=wrong)
    except TypeError as error:
        print(error)
""")
        lines = out.splitlines()
        self.assertEqual(len(lines), 9, out)
        self.assertEqual(lines[4:6], ["samples", "3"])
        self.assertEqual(lines[6], "compile: progress must be None, False or a function, not True")

    def test_log(self):
        out = run(HEAD + """
import logging
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
dovetail.quantize(float_model, {"image": np.zeros((2, 1, 8, 8), np.float32)})
""")
        self.assertRegex(out, r"(?m)^dovetail WARNING ")

    def test_the_interpreter_ends(self):
        for name, program in {
            "while a session lives": 'session = dovetail.compile(model, "cpu").session()\nsession.run(image)',
            "in a cycle": """
class C: pass
c = C()
c.c, c.s = c, dovetail.compile(model, "cpu").session()
c.s.run(image)""",
            "while a thread runs": """
session = dovetail.compile(model, "accel,cpu", hardware).session(engine="cycle")
def work():
    while True: session.run(image)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)""",
            "while a thread runs for long": """
session = dovetail.compile(model, "accel,cpu", hardware).session(engine="cycle")
threading.Thread(target=lambda: session.profile(image, repeat=1000000), daemon=True).start()
time.sleep(0.2)""",
            "while a thread compiles": """
def work():
    while True: dovetail.compile(model, "cpu", progress=lambda *each: None)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)""",
            "while a sweep that is dropped runs": """
import gc, tempfile
folder = tempfile.mkdtemp()
space = {"hardware": hardware, "axes": {"bus_bytes": [8, 16], "clock_mhz": {"from": 100, "to": 1000, "plus": 1}}}
dovetail.explore(model, space, folder, jobs=1)
gc.collect()
end = time.time() + 60
while threading.active_count() > 1 and time.time() < end: time.sleep(0.01)
assert threading.active_count() == 1""",
            "while a sweep runs": """
import tempfile
folder = tempfile.mkdtemp()
space = {"hardware": hardware, "axes": {"bus_bytes": [8, 16], "clock_mhz": {"from": 100, "to": 1000, "plus": 1}}}
sweep = dovetail.explore(model, space, folder, jobs=1)
next(iter(sweep.__iter__()))""",
            "in a handler of its end": """
import atexit
bundle = dovetail.compile(model, "cpu")
atexit.register(lambda: dovetail.compile(model, "cpu").session().run(image))""",
            "with an unread error": 'try: dovetail.compile("nonesuch", "cpu")\nexcept dovetail.Error as e: kept = e',
        }.items():
            for _ in range(3):
                with self.subTest(name):
                    # A thread that is stopped at the end may say so.
                    quiet = "threading.excepthook = lambda *_: None"
                    status, _, errors = finish(start(f"{HEAD}\n{quiet}\n{program}"))
                    self.assertEqual((status, errors), (0, ""))


if __name__ == "__main__":
    unittest.main()
