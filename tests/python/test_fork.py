#!/usr/bin/env python3
"""Forked processes: a session works in the child, or the call says what to do; nothing hangs."""
import unittest

from environment import DIGITS, HARDWARE, run

HEAD = f"""
import os, signal, sys, threading, time
import numpy as np, numpy.testing, dovetail  # NumPy imports it late, under a lock of the interpreter
model = {str(DIGITS / "digits_int8.onnx")!r}
images = np.load({str(DIGITS / "test_images.npy")!r})
image = {{"image": images[:1]}}

def in_child(function):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs is killed
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
"""


class Fork(unittest.TestCase):
    def test_a_session_works_in_the_child(self):
        for target, engine in (("cpu", "functional"), (f"accel,cpu", "functional"), ("accel,cpu", "cycle")):
            for threads in (1, 2):
                with self.subTest(f"{target}, {engine}, {threads} threads"):
                    run(HEAD + f"""
bundle = dovetail.compile(model, {target!r}, {HARDWARE!r})
session = bundle.session(engine={engine!r}, threads={threads})
binding = session.bind({{"image": images[:1].copy()}})
expected = session.run(image)["logits"]
binding.run()
def child():
    for _ in range(20):
        np.testing.assert_array_equal(session.run(image)["logits"], expected)
        binding.outputs["logits"][...] = 0
        np.testing.assert_array_equal(binding.run()["logits"], expected)
    session.profile(image, repeat=2)
    session.evaluate(image)
    in_child(lambda: np.testing.assert_array_equal(session.run(image)["logits"], expected))  # a grandchild
    np.testing.assert_array_equal(dovetail.compile(model, "cpu").session().run(image)["logits"], expected)
for _ in range(3):
    in_child(child)
np.testing.assert_array_equal(session.run(image)["logits"], expected)
""")

    def test_while_other_threads_run_the_session(self):
        run(HEAD + """
session = dovetail.compile(model, "cpu").session(threads=2)
expected = session.run(image)["logits"]
binding = session.bind({"image": images[:1].copy()})
stop = False
def work(run):
    while not stop:
        np.testing.assert_array_equal(run()["logits"], expected)
threads = [threading.Thread(target=work, args=[run]) for run in (lambda: session.run(image), binding.run)]
for thread in threads: thread.start()
def child():
    for _ in range(20):
        np.testing.assert_array_equal(session.run(image)["logits"], expected)
        np.testing.assert_array_equal(binding.run()["logits"], expected)
for _ in range(20):
    in_child(child)
stop = True
for thread in threads: thread.join()
""")

    def test_while_another_thread_compiles(self):
        out = run(HEAD + """
session = dovetail.compile(model, "cpu").session(threads=1)
expected = session.run(image)["logits"]
stop = False
def work():
    while not stop:
        dovetail.compile(model, "cpu")
thread = threading.Thread(target=work)
thread.start()
refused = []
def child():
    for call in (lambda: session.run(image), lambda: dovetail.compile(model, "cpu")):
        try:
            call()
        except dovetail.WorkError as error:
            print(error.why, "|", error.hint, flush=True)
for _ in range(10):
    in_child(child)
stop = True
thread.join()
np.testing.assert_array_equal(session.run(image)["logits"], expected)
""")
        self.assertIn("this process was forked while another thread was in dovetail's compile, whose locks remain | "
                      "fork before or after that call, or start processes with multiprocessing's \"spawn\"", out)

    def test_multiprocessing_with_fork_and_spawn(self):
        for method in ("fork", "spawn"):
            run(HEAD.replace("\nimport os", "\nimport multiprocessing, os") + f"""
def classes(rows):
    return [int(session.run({{"image": row[np.newaxis]}})["logits"].argmax()) for row in rows]
session = dovetail.compile(model, "cpu").session(threads=1)
if __name__ == "__main__":
    expected = classes(images[:40])
    if {method!r} == "fork":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert sum(pool.map(classes, [images[:20], images[20:40]]), []) == expected
    else:
        # Bundles travel as bytes.
        content = session.bundle.to_bytes()
        import pickle
        assert pickle.loads(pickle.dumps(content)) == content
        error = pickle.loads(pickle.dumps(dovetail.InputError([dovetail.Diagnostic("a", "b", "c", "d")])))
        assert error.hint == "d" and isinstance(error, dovetail.InputError)
        hardware = pickle.loads(pickle.dumps(dovetail.hardware("tiny", batch=2)))
        assert hardware == dovetail.hardware("tiny", batch=2) and hardware.batch == 2
""")


if __name__ == "__main__":
    unittest.main()
