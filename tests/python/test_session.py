#!/usr/bin/env python3
"""Sessions: bound buffers, reports, threads, the order in which objects are freed."""
import copy
import gc
import os
import pickle
import resource
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from environment import DIGITS, HARDWARE, package, run

import numpy as np

import dovetail


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.images = np.load(DIGITS / "test_images.npy")
        cls.labels = np.load(DIGITS / "test_labels.npy")
        cls.accel = dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", HARDWARE)
        cls.cpu = dovetail.compile(DIGITS / "digits_int8.onnx", "cpu")
        session = cls.cpu.session(threads=1)
        cls.logits = np.concatenate([session.run({"image": each[np.newaxis]})["logits"] for each in cls.images])

    def test_buffers_that_the_library_allocates(self):
        for bundle, engine in ((self.accel, "functional"), (self.accel, "cycle"), (self.cpu, None)):
            binding = bundle.session(engine=engine, threads=1).bind()
            self.assertEqual(repr(binding), "<dovetail.Binding of digits_int8: image -> logits>")
            for buffer in (binding.inputs["image"], binding.outputs["logits"]):
                self.assertEqual(buffer.ctypes.data % 64, 0)
                self.assertFalse(buffer.any())
            for image, row in zip(self.images[:20], self.logits):
                binding.inputs["image"][...] = image
                outputs = binding.run()
                self.assertIs(outputs["logits"], binding.outputs["logits"])
                np.testing.assert_array_equal(outputs["logits"][0], row)

    def test_buffers_of_the_caller(self):
        session = self.cpu.session(threads=1)
        memory = np.zeros(64 + 16, np.float32)
        for shift in (0, 1):  # an address that suits kernels, and one that does not
            start = -memory.ctypes.data % 64 // 4 + shift
            image = memory[start : start + 64].reshape(1, 1, 8, 8)
            logits = np.empty((1, 10), np.float32)
            binding = session.bind({"image": image}, {"logits": logits})
            for each, row in zip(self.images[:10], self.logits):
                image[...] = each
                binding.run()
                np.testing.assert_array_equal(logits[0], row)
        read_only = self.images[:1].copy()
        read_only.flags.writeable = False
        np.testing.assert_array_equal(session.bind({"image": read_only}).run()["logits"], self.logits[:1])

    def test_buffers_that_do_not_fit(self):
        session = self.cpu.session(threads=1)
        read_only = np.empty((1, 10), np.float32)
        read_only.flags.writeable = False
        good = self.images[:1]
        for inputs, outputs, why in (
            ({"nonesuch": good}, {}, "there is no input 'nonesuch'"),
            ({}, {"nonesuch": good}, "there is no output 'nonesuch'"),
            ({"image": good.astype(np.float64)}, {}, "its type is float64"),
            ({"image": self.images[:2]}, {}, r"the tensor is float32\[2, 1, 8, 8\]"),
            ({"image": good.transpose(0, 1, 3, 2)}, {}, "its strides"),
            ({}, {"logits": read_only}, "it is read-only"),
            ({}, {"logits": np.empty((10,), np.float32)}, r"float32\[10\]"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                session.bind(inputs, outputs)
        np.testing.assert_array_equal(session.bind({"image": good}).run()["logits"], self.logits[:1])

    def test_images_in_another_order_of_axes(self):
        model = dovetail.zoo_model("resnet8")
        session = dovetail.compile(model, "cpu").session(threads=1)
        (image,) = session.bundle.inputs
        value = np.zeros(image.shape, np.float32)
        session.run({image.name: value})
        for channels_last in (value.transpose(0, 2, 3, 1), np.ascontiguousarray(value.transpose(0, 2, 3, 1))):
            with self.assertRaisesRegex(dovetail.InputError, r"value\.transpose\(0, 3, 1, 2\)"):
                session.run({image.name: channels_last})
        with self.assertRaisesRegex(dovetail.InputError, r"shapes=.*3, 32, 32"):
            session.run({image.name: np.zeros((3, *image.shape[1:]), np.float32)})

    def test_a_bound_buffer_is_not_replaced(self):
        binding = self.cpu.session(threads=1).bind()
        for buffers, name in ((binding.inputs, "image"), (binding.outputs, "logits")):
            with self.assertRaisesRegex(dovetail.InputError, rf"\['{name}'\]\[\.\.\.\] = value"):
                buffers[name] = np.zeros_like(buffers[name])

    def test_a_thread_that_dies_before_its_call(self):
        from dovetail import _work

        def die(job):
            raise SystemExit

        run, _work._Job.run = _work._Job.run, die
        try:
            with self.assertRaises(MemoryError):
                _work.interruptible(lambda: 1, lambda: None)
        finally:
            _work._Job.run = run

    def test_bindings_of_one_session_keep_to_their_buffers(self):
        session = self.cpu.session(threads=1)
        bindings = [session.bind({"image": self.images[i : i + 1].copy()}) for i in range(8)]
        for i in (3, 0, 7, 7, 1):
            np.testing.assert_array_equal(bindings[i].run()["logits"][0], self.logits[i])

        def work(i):
            for _ in range(200):
                bindings[i].outputs["logits"][...] = 0
                np.testing.assert_array_equal(bindings[i].run()["logits"][0], self.logits[i])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        bindings.clear()
        gc.collect()
        np.testing.assert_array_equal(session.run({"image": self.images[:1]})["logits"], self.logits[:1])

    def test_one_session_from_many_threads_and_a_session_for_each(self):
        for bundle, engine in ((self.cpu, None), (self.accel, "cycle")):
            shared = bundle.session(engine=engine)
            own = [bundle.session(engine=engine, threads=1) for _ in range(4)]

            def work(i):
                for k in range(i, 120, 8):
                    for session in (shared, own[i // 2]):
                        row = session.run({"image": self.images[k : k + 1]})["logits"][0]
                        np.testing.assert_array_equal(row, self.logits[k])

            with ThreadPoolExecutor(8) as pool:
                list(pool.map(work, range(8)))

    def test_a_session_made_in_a_thread_that_has_ended(self):
        made = []
        thread = threading.Thread(target=lambda: made.append(self.cpu.session(threads=2)))
        thread.start()
        thread.join()
        np.testing.assert_array_equal(made[0].run({"image": self.images[:1]})["logits"], self.logits[:1])
        made.clear()

    def test_stop_from_another_thread(self):
        session = self.accel.session(engine="cycle")
        session.stop()
        image = {"image": self.images[:1]}
        with ThreadPoolExecutor(2) as pool:
            profiles = [pool.submit(session.profile, image, repeat=1000000) for _ in range(2)]  # one of them waits
            time.sleep(0.2)
            session.stop()
            for profile in profiles:
                with self.assertRaisesRegex(dovetail.WorkError, "Session.stop was called"):
                    profile.result()
        np.testing.assert_array_equal(session.run(image)["logits"], self.logits[:1])

    def test_stop_while_the_reference_is_evaluated(self):
        onnx, numpy_helper = package("onnx"), package("onnx.numpy_helper")
        h, kind, shape = onnx.helper, onnx.TensorProto.FLOAT, [1, 128, 64, 64]
        weights = numpy_helper.from_array(np.ones((128, 128, 3, 3), np.float32), "w")
        node = h.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
        ends = [[h.make_tensor_value_info(name, kind, shape)] for name in "xy"]
        graph = h.make_graph([node], "convolution", *ends, [weights])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
        session = dovetail.compile(model, "cpu").session()
        with ThreadPoolExecutor(1) as pool:
            check = pool.submit(session.check, {"x": np.zeros(shape, np.float32)})
            time.sleep(0.3)
            session.stop()
            with self.assertRaisesRegex(dovetail.WorkError, "Session.stop was called, .* steps done"):
                check.result()

    def test_reports(self):
        session = self.accel.session(engine="cycle")
        with self.assertRaisesRegex(dovetail.InputError, "nothing to report"):
            session.report
        session.run({"image": self.images[:1]})
        report = session.report
        self.assertEqual(report["engine"], "cycle")
        self.assertTrue(any(step.get("cycles", 0) > 0 for step in report["steps"]))
        self.assertGreater(session.energy()["total_mj"] if "total_mj" in session.energy() else 1, 0)
        profile = session.profile({"image": self.images[:1]}, repeat=3)
        self.assertEqual(profile["repeat"], 3)
        self.assertLessEqual(profile["seconds"]["low"], profile["seconds"]["high"])
        kernels = dovetail.compile(DIGITS / "digits_float.onnx", "cpu", threads=1).session(threads=1)
        steps = kernels.profile({"image": self.images[:1]}, repeat=3)["steps"]
        floats = [step for step in steps if step.get("operations") and not step["integer"]]
        convolutions = 2 * 64 * 9 * (1 * 16 + 16 * 16)  # of conv1 and one of 16 channels: lower than all together
        self.assertGreater(sum(step["operations"] for step in floats), convolutions)
        self.assertEqual(set(dovetail.peak()), {"float32", "int8"})
        with self.assertRaisesRegex(dovetail.InputError, "it is 0, outside 1 to 1000000"):
            session.profile({"image": self.images[:1]}, repeat=0)
        check = session.check({"image": self.images[:1]})
        self.assertEqual((check["different"], check["first"]), (0, ""))
        self.assertGreater(check["elements"], 0)
        whole = dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", HARDWARE, all_tensors=True).session()
        self.assertGreater(whole.check({"image": self.images[:1]})["tensors"], check["tensors"])
        with self.assertRaisesRegex(dovetail.InputError, "the bundle has no graph"):
            dovetail.Bundle.load(self.accel.to_bytes(), trust="always").session().check({"image": self.images[:1]})

    def test_options_are_checked(self):
        for options, why in (
            ({"engine": "warp"}, 'no engine "warp"'),
            ({"threads": -1}, "threads"),
            ({"threads": 1 << 40}, "it is 1099511627776, outside -2147483648 to 2147483647"),
            ({"memory": "nonesuch", "engine": "cycle"}, "nonesuch"),
            ({"clock_mhz": 100}, "engine functional has no clock"),
            ({"engine": "cy\0cle"}, "contains a zero byte"),
            ({"clock_mhz": 0, "engine": "cycle"}, "it is 0"),
            ({"accelerators": 0, "engine": "cycle"}, "it is 0"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                self.accel.session(**options)
        for options in ({"threads": 1.5}, {"threads": "2"}, {"engine": 3}):
            with self.subTest(str(options)), self.assertRaises(TypeError):
                self.accel.session(**options)
        slow = self.accel.session(engine="cycle", memory="bank:ddr4-2400", clock_mhz=100)
        np.testing.assert_array_equal(slow.run({"image": self.images[:1]})["logits"], self.logits[:1])

    def test_evaluate(self):
        whole = self.cpu.session(threads=1).evaluate({"image": self.images}, self.labels, keep_outputs=True)
        self.assertEqual((whole.samples, whole.runs, whole.cycles), (360, 360, None))
        self.assertEqual(whole.top1, int((self.logits.argmax(1) == self.labels).sum()))
        self.assertAlmostEqual(whole.accuracy, whole.top1 / 360)
        np.testing.assert_array_equal(whole.outputs["logits"], self.logits)
        self.assertRegex(repr(whole), r"<dovetail.Evaluation of 360 samples, \d+ correct \(9\d.\d\d%\), \S+ s>")
        seen = []
        session = self.accel.session(engine="cycle")
        batches = [({"image": self.images[i : i + 7]}, self.labels[i : i + 7]) for i in range(0, 70, 7)]
        parts = session.evaluate(batches, progress=lambda *each: seen.append(each))
        self.assertEqual(seen, [("batches", i + 1, 10) for i in range(10)])
        self.assertEqual((parts.samples, parts.top1), (70, int((self.logits[:70].argmax(1) == self.labels[:70]).sum())))
        self.assertGreater(parts.cycles, 70 * 1000)
        self.assertEqual(parts.outputs, {})
        streamed = session.evaluate(({"image": each[np.newaxis]} for each in self.images[:5]), keep_outputs=True)
        self.assertIsNone(streamed.accuracy)
        np.testing.assert_array_equal(streamed.outputs["logits"], self.logits[:5])
        for samples, labels, why in (
            ([], None, "there are none"),
            ({"image": self.images}, self.labels[:-1], "of 360 samples"),
            ({"image": self.images}, self.labels.astype(np.float32), "label"),
            ({"image": self.images.astype(np.float64)}, None, "its type is float64"),
            (batches, self.labels, "the samples are an iterable"),
            ({"nonesuch": self.images}, None, "nonesuch"),
            ([batches[0], batches[1][0]], None, "some batches have labels"),
            ([batches[0][0], batches[1]], None, "some batches have labels"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                session.evaluate(samples, labels)

    def test_evaluate_fewer_samples_than_a_batch(self):
        model = dovetail.zoo_model("resnet8", batch=5)
        session = dovetail.compile(model, "cpu").session(threads=1)
        (image,), (scores,) = session.inputs, session.outputs
        samples = np.random.default_rng(1).standard_normal((13, *image.shape[1:])).astype(np.float32)
        expected = session.evaluate(samples[:10], keep_outputs=True).outputs[scores.name]
        for some in (samples[:13], samples[:3], [samples[i : i + 1] for i in range(3)]):
            found = session.evaluate(some, keep_outputs=True)
            self.assertEqual(found.samples, len(some))
            self.assertEqual(found.outputs[scores.name].shape, (len(some), 10))
            np.testing.assert_allclose(found.outputs[scores.name][:10], expected[: len(some)], atol=1e-4)
        found = session.evaluate(samples, expected.argmax(1)[[*range(10), 0, 0, 0]])
        self.assertGreaterEqual(found.top1, 10)

    def test_inputs_of_unequal_counts(self):
        session = dovetail.compile(dovetail.zoo_model("stories15m_decode", sequence=2), "cpu").session(threads=1)
        values = {info.name: np.zeros((6, *info.shape[1:]), info.dtype) for info in session.inputs}
        values["embedding"] = np.zeros((12, 1, 288), np.float32)
        with self.assertRaisesRegex(dovetail.InputError, "give each input the same number"):
            session.evaluate(values)

    def test_forms_of_samples(self):
        session, some, known = self.cpu.session(threads=1), self.images[:8], self.labels[:8]
        right = session.evaluate({"image": some}, known).top1
        for samples, labels in (
            (some, known),
            ((some, known), None),
            (({"image": some}, known), None),
            (zip(some, known), None),
            ([[some[:4], known[:4]], [some[4:], known[4:]]], None),  # a list for each batch, as a loader of PyTorch
        ):
            found = session.evaluate(samples, labels)
            self.assertEqual((found.samples, found.top1), (8, right))
        with self.assertRaisesRegex(dovetail.InputError, r"evaluate\(samples, labels\)"):
            session.evaluate(known, {"image": some})
        with self.assertRaisesRegex(dovetail.InputError, "there are none"):
            session.evaluate(some[:0], known[:0])

    def test_hints_for_other_batches(self):
        session = self.cpu.session(threads=1)
        for call in (session.run, session.check, session.profile):
            with self.assertRaisesRegex(dovetail.InputError, r"takes 1 sample: pass value\[:1\]; Session.evaluate"):
                call({"image": self.images[:4]})
            with self.assertRaisesRegex(dovetail.InputError, r"value\[numpy.newaxis\]"):
                call({"image": self.images[0]})

    def test_arrays_without_names(self):
        session = self.cpu.session(threads=1)
        for call in (session.run, session.profile, session.check, session.bind, session.evaluate):
            arrays = () if call == session.evaluate else ([self.images[:1]], self.images[:1])
            for wrong in (*arrays, "image", 3):
                with self.subTest(f"{call} {type(wrong)}"), self.assertRaisesRegex(TypeError, "a dict of arrays by name"):
                    call(wrong)

    def test_several_shapes(self):
        onnx = package("onnx")
        model = onnx.load(DIGITS / "digits_int8.onnx")
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_param = "batch"
        bundle = dovetail.compile(model, "cpu", shapes={"batch": [1, 4]})
        self.assertEqual([each[0]["shape"] for each in bundle.describe()["shapes"]], [[1, 1, 8, 8], [4, 1, 8, 8]])
        session = bundle.session(threads=1)
        for batch in (1, 4, 1):
            np.testing.assert_array_equal(session.run({"image": self.images[:batch]})["logits"], self.logits[:batch])
        with self.assertRaisesRegex(dovetail.InputError, r"\[3, 1, 8, 8\]"):
            session.run({"image": self.images[:3]})

    def test_objects_are_freed_in_any_order(self):
        kinds = ("bundle", "session", "binding", "outputs")
        for last in range(4):
            bundle = dovetail.Bundle.load(self.cpu.to_bytes(), trust="always")
            session = bundle.session()
            binding = session.bind({"image": self.images[:1].copy()})
            outputs = session.run({"image": self.images[:1]})
            objects = dict(zip(kinds, (bundle, session, binding, outputs)))
            del bundle, session, binding, outputs
            for kind in kinds[last:] + kinds[:last]:
                each = objects.pop(kind)
                if kind == "binding":
                    np.testing.assert_array_equal(each.run()["logits"], self.logits[:1])
                if kind == "outputs":
                    np.testing.assert_array_equal(each["logits"], self.logits[:1])
                del each
                gc.collect()

    def test_sessions_and_models_are_not_copied(self):
        for each in (self.cpu.session(), dovetail.Model(DIGITS / "digits_int8.onnx")):
            for function in (copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                    function(each)

    def test_bundles_are_copied_and_pickled(self):
        for bundle in (self.cpu, self.accel):
            for other in (copy.copy(bundle), copy.deepcopy(bundle), pickle.loads(pickle.dumps(bundle))):
                self.assertEqual(other.to_bytes(), bundle.to_bytes())
                self.assertEqual(other.compile_report, bundle.compile_report)
                outputs = other.session(threads=1).run({"image": self.images[:1]})
                np.testing.assert_array_equal(outputs["logits"][0], self.logits[0])
        # Code that may not run is not trusted because it was pickled.
        untrusted = dovetail.Bundle.load(self.cpu.to_bytes(), trust="never")
        with self.assertRaisesRegex(dovetail.InputError, "may not run"):
            pickle.loads(pickle.dumps(untrusted)).session()

    def test_outputs_that_share_memory(self):
        session = self.cpu.session(threads=1)
        memory = np.zeros(64 + 10, np.float32)
        image, logits = memory[:64].reshape(1, 1, 8, 8), memory[60:70].reshape(1, 10)
        with self.assertRaisesRegex(dovetail.InputError, "logits shares memory with image"):
            session.bind({"image": image}, {"logits": logits})

    def test_no_file_descriptor_is_left(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        sessions = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 8, limits[1]))
        try:
            with self.assertRaisesRegex(dovetail.ResourceError, "close sessions and files"):
                for _ in range(20):
                    sessions.append(self.cpu.session(threads=1))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        sessions.clear()
        self.assertEqual(self.cpu.session(threads=1).run({"image": self.images[:1]})["logits"].shape, (1, 10))

    def test_memory_does_not_grow(self):
        program = f"""
import gc, os
import numpy as np, dovetail
image = {{"image": np.zeros((1, 1, 8, 8), np.float32)}}
def work(count):
    bundle = dovetail.compile({str(DIGITS / 'digits_int8.onnx')!r}, "cpu")
    content = bundle.to_bytes()
    for _ in range(count):
        session = dovetail.Bundle.load(content, trust="always").session(threads=1)
        for _ in range(20):
            session.run(image)
        session.bind().run()
        try:
            session.run({{}})
        except dovetail.InputError:
            pass
def used():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10
work(150)
before = used()
work(400)
print(used() - before)
"""
        self.assertLess(int(run(program)), 8 << 10, "KiB")  # 20 KiB for each session


if __name__ == "__main__":
    unittest.main()
