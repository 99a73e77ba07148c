#!/usr/bin/env python3
"""Inputs and outputs without copies: NumPy, DLPack of both versions, and what is refused."""
import array
import ctypes
import gc
import re
import struct
import unittest

from environment import DIGITS, HARDWARE, package

import numpy as np

import dovetail

NUMPY_HAS_VERSIONS = tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 1)


class Old:
    """A producer of DLPack's version 0."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class New(Old):
    """A producer of version 1: NumPy before 2.1 has version 0 alone."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.array.__dlpack__(max_version=max_version) if NUMPY_HAS_VERSIONS else self.array.__dlpack__()


class Interface:
    """A producer of NumPy's array interface."""

    def __init__(self, array):
        self.kept, self.__array_interface__ = array, array.__array_interface__


class OnDevice:
    def __dlpack__(self, **_):
        raise AssertionError("it must not be asked")

    def __dlpack_device__(self):
        return (2, 0)


class Refuses(OnDevice):
    def __dlpack__(self, **_):
        raise BufferError("can't export a tensor that requires grad")

    def __dlpack_device__(self):
        return (1, 0)


class Tensors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bundle = dovetail.compile(DIGITS / "digits_int8.onnx", "accel,cpu", HARDWARE)
        cls.session = cls.bundle.session(threads=1)
        cls.image = np.load(DIGITS / "test_images.npy")[:1]
        cls.logits = cls.session.run({"image": cls.image})["logits"]

    def run_with(self, value, **options):
        return self.session.run({"image": value}, **options)["logits"]

    def test_outputs_share_their_memory_and_outlive_everything(self):
        bundle = dovetail.compile(DIGITS / "digits_int8.onnx", "cpu")
        session = bundle.session()
        logits = session.run({"image": self.image})["logits"]
        shared = np.from_dlpack(logits)
        self.assertEqual(shared.ctypes.data, logits.ctypes.data)
        self.assertTrue(logits.flags.writeable and logits.flags.c_contiguous)
        view = logits[0, 2:4]
        del session, bundle
        gc.collect()
        again = [self.session.run({"image": self.image})["logits"] for _ in range(50)]  # would reuse the memory
        np.testing.assert_array_equal(shared, self.logits)
        del logits, shared
        gc.collect()
        np.testing.assert_array_equal(view, self.logits[0, 2:4])
        self.assertEqual(len({each.ctypes.data for each in again}), 50)

    def test_every_kind_of_producer_is_read_in_place(self):
        transposed = np.ascontiguousarray(self.image)
        kinds = [transposed, Old(transposed), New(transposed), Interface(transposed), memoryview(transposed)]
        for value in kinds:
            np.testing.assert_array_equal(self.run_with(value), self.logits, str(type(value)))
        read_only = self.image.copy()
        read_only.flags.writeable = False
        np.testing.assert_array_equal(self.run_with(read_only), self.logits)
        if NUMPY_HAS_VERSIONS:
            np.testing.assert_array_equal(self.run_with(New(read_only)), self.logits)
        flat = array.array("f", self.image.ravel())
        np.testing.assert_array_equal(self.run_with(memoryview(flat).cast("B").cast("f", (1, 1, 8, 8))), self.logits)
        sub = np.zeros((1, 2, 8, 8), np.float32)
        sub[:, 1] = self.image
        np.testing.assert_array_equal(self.run_with(sub[:, 1:]), self.logits)  # a slice may be contiguous

    def test_a_capsule_is_released(self):
        deleted = []
        base = self.image.copy()

        class Owner(np.ndarray):
            def __del__(self):
                deleted.append(1)

        for kind in (Old, New):
            self.run_with(kind(base.view(Owner)))
            gc.collect()
            self.assertTrue(deleted, kind)
            deleted.clear()

    def test_what_would_need_a_copy_is_refused_and_copied_where_it_is_allowed(self):
        wide = np.zeros((1, 1, 8, 16), np.float32)
        wide[..., ::2] = self.image
        shifted = np.frombuffer(b"\0" + self.image.tobytes(), np.uint8)[1:].view(np.float32).reshape(self.image.shape)
        for value, why in (
            (self.image.astype(np.float64), "its type is float64, and float32 is needed"),
            (self.image.astype(">f4"), "byte order"),
            (wide[..., ::2], r"its strides are \(512, 512, 64, 8\) bytes"),
            (self.image.transpose(0, 1, 3, 2), "its strides"),
            (shifted, "its address is not a multiple"),
            (Old(wide[..., ::2]), "its strides"),
            (self.image.tolist(), "list has neither __dlpack__"),
        ):
            with self.subTest(why):
                with self.assertRaisesRegex(dovetail.InputError, why) as caught:
                    self.run_with(value)
                self.assertEqual(caught.exception.where, "Session.run: inputs, image")
                self.assertIn("copy", caught.exception.hint)
                remedy = re.match(r"pass (.*), or pass copy=True", caught.exception.hint)
                if remedy and isinstance(value, (np.ndarray, list)):
                    remedied = eval(remedy[1], {"numpy": np, "value": value})
                    self.assertEqual(self.run_with(remedied.astype(np.float32, copy=False)).shape, self.logits.shape)
                self.assertEqual(self.run_with(value, copy=True).shape, self.logits.shape)
        np.testing.assert_array_equal(self.run_with(wide[..., ::2], copy=True), self.logits)
        np.testing.assert_array_equal(self.run_with(shifted, copy=True), self.logits)
        np.testing.assert_array_equal(self.run_with(self.image.astype(">f8"), copy=True), self.logits)
        np.testing.assert_array_equal(self.run_with(self.image.tolist(), copy=True), self.logits)

    def test_what_no_copy_can_fix_is_refused(self):
        for value, why in (
            (self.image.astype(np.complex64), "its type is complex64, and the kit has int8, "),
            (np.full((1, 1, 8, 8), "x"), "its type is str"),
            (self.image[0], r"float32\[1, 8, 8\]"),
            (np.zeros((2, 1, 8, 8), np.float32), r"float32\[2, 1, 8, 8\]"),
            (OnDevice(), r"it is on device \(2, 0\) of DLPack"),
            (Refuses(), "requires grad"),
            (np.ma.masked_array(self.image, self.image > 0.5), "some of its elements are masked"),
        ):
            for copy in (False, True):
                with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                    self.run_with(value, copy=copy)
        for inputs, why in (({}, "image"), ({"nonesuch": self.image}, "nonesuch"),
                            ({"im\0age": self.image}, "zero byte"),
                            ({"image": self.image, "more": self.image}, "more")):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                self.session.run(inputs)

    def test_float_to_int_is_not_a_copy(self):
        model = dovetail.Bundle.load(self.bundle.to_bytes(), trust="always")
        self.assertEqual(model.inputs[0].dtype, "float32")
        with self.assertRaisesRegex(dovetail.InputError, "such a copy would change values"):
            dovetail.tensors.borrow(np.zeros(3, np.float32), "x", dtype="int8", copy=True)
        for value, dtype in (([300, 1], "int8"), ([-129], "int8"), ([1 << 40], "int32")):
            with self.assertRaisesRegex(dovetail.InputError, f"outside the range of {dtype}"):
                dovetail.tensors.borrow(np.array(value, np.int64), "x", dtype=dtype, copy=True)
        for value, dtype in (([1e300], "float32"), ([70000.0, np.nan], "float16")):
            with self.assertRaisesRegex(dovetail.InputError, f"outside the range of {dtype}"):
                dovetail.tensors.borrow(np.array(value), "x", dtype=dtype, copy=True)
        for value, dtype in ((np.array([np.inf, np.nan, 1e-300]), "float32"), (np.array([-128, 127]), "int8")):
            np.testing.assert_array_equal(dovetail.tensors.borrow(value, "x", dtype=dtype, copy=True).array, value.astype(dtype))
        borrowed = dovetail.tensors.borrow(np.zeros(3, np.int8), "x", dtype="float32", copy=True)
        self.assertEqual(borrowed.dtype, "float32")

    def test_no_input_is_changed(self):
        kept = self.image.copy()
        self.run_with(self.image)
        np.testing.assert_array_equal(kept, self.image)


class BFloat16(unittest.TestCase):
    def test_rounds_to_nearest_even_and_back(self):
        values = np.float32([0, -0.0, 1, 1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, np.inf, -np.inf, 1e-40])
        tensor = dovetail.Tensor.from_float32(values)
        np.testing.assert_array_equal(tensor.numpy()[:5], np.float32([0, -0.0, 1, 1, 1 + 2**-6]))
        np.testing.assert_array_equal(tensor.numpy()[5:8], [np.inf, np.inf, -np.inf])
        self.assertTrue(np.isnan(dovetail.Tensor.from_float32([np.nan, -np.nan]).numpy()).all())
        for bits in range(0, 1 << 16, 7):
            value = struct.unpack("<f", struct.pack("<I", bits << 16))[0]
            if value == value:
                self.assertEqual(int(dovetail.Tensor.from_float32(value).bits()), bits)
        np.testing.assert_array_equal(np.asarray(tensor), tensor.numpy())
        with self.assertRaises(ValueError):
            tensor.__array__(copy=False)
        with self.assertRaisesRegex(dovetail.InputError, "their type is float32"):
            dovetail.Tensor(values)

    def test_dlpack_carries_the_type_in_both_versions(self):
        tensor = dovetail.Tensor.from_float32(np.ones((2, 3), np.float32))
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        for options in ({}, {"max_version": (1, 0)}, {"max_version": (0, 8)}, {"copy": False}, {"copy": True}):
            borrowed = dovetail.tensors.borrow(Once(tensor.__dlpack__(**options)), "x")
            self.assertEqual((borrowed.dtype, borrowed.array.shape), ("bfloat16", (2, 3)))
            same = borrowed.array.ctypes.data == tensor.bits().ctypes.data
            self.assertEqual(same, not options.get("copy"))
            np.testing.assert_array_equal(borrowed.array, tensor.bits())
        for options in ({"stream": 1}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                tensor.__dlpack__(**options)
        newer = tensor.__dlpack__(max_version=(1, 0))
        names = {True: b"dltensor_versioned", False: b"dltensor"}
        is_valid = ctypes.pythonapi.PyCapsule_IsValid
        is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.assertTrue(is_valid(newer, names[NUMPY_HAS_VERSIONS]))
        self.assertTrue(is_valid(tensor.__dlpack__(), b"dltensor"))

    def test_a_model_of_bfloat16(self):
        onnx = package("onnx")
        helper, kind = onnx.helper, onnx.TensorProto.BFLOAT16
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "x"], ["y"])], "double",
            [helper.make_tensor_value_info("x", kind, [1, 5])], [helper.make_tensor_value_info("y", kind, [1, 5])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        bundle = dovetail.compile(model, "cpu")
        self.assertEqual(repr(bundle.inputs[0]), "<x: bfloat16[1, 5]>")
        session = bundle.session(threads=1)
        values = np.float32([[1, 2, -3, 0.5, 100]])
        tensor = dovetail.Tensor.from_float32(values)
        output = session.run({"x": tensor})["y"]
        self.assertIsInstance(output, dovetail.Tensor)
        self.assertEqual(repr(output), "<dovetail.Tensor bfloat16[1, 5]>")
        np.testing.assert_array_equal(output.numpy(), 2 * values)
        binding = session.bind()
        binding.inputs["x"][...] = values
        np.testing.assert_array_equal(binding.run()["y"].numpy(), 2 * values)
        binding.inputs["x"][0, :2] = tensor[0, 2:4]
        np.testing.assert_array_equal(binding.run()["y"].numpy()[0, :2], 2 * values[0, 2:4])
        with self.assertRaisesRegex(dovetail.InputError, "its type is uint16, and bfloat16 is needed"):
            session.run({"x": tensor.bits()})
        with self.assertRaisesRegex(dovetail.InputError, "its type is float32, and bfloat16 is needed"):
            session.run({"x": values})
        with self.assertRaisesRegex(dovetail.InputError, "its type is float64, and bfloat16 is needed"):
            session.run({"x": values.astype(np.float64)})  # NumPy's default type
        ml_dtypes = package("ml_dtypes")
        np.testing.assert_array_equal(session.run({"x": values.astype(ml_dtypes.bfloat16)})["y"].numpy(), 2 * values)


class Once:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


if __name__ == "__main__":
    unittest.main()
