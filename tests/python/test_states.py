#!/usr/bin/env python3
"""States: values that stay in a session from run to run, as the keys and values of a decoder."""
import copy
import pathlib
import tempfile
import threading
import unittest

import environment  # noqa: F401  finds the package

import numpy as np

import dovetail

LENGTH = 8


def states_of(model):
    outputs = [row["name"] for row in model.describe()["outputs"] if row["name"].startswith("present.")]
    return {"past." + name[len("present.") :]: name for name in outputs}


class States(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = dovetail.zoo_model("stories15m_decode", sequence=LENGTH)
        cls.states = states_of(cls.model)
        cls.bundle = dovetail.compile(cls.model, "cpu", states=cls.states)
        cls.embeddings = np.random.default_rng(1).standard_normal((1, LENGTH, 288)).astype(np.float32)

    def inputs(self, position):
        return {"embedding": self.embeddings[:, position : position + 1].copy(), "position": np.array([position])}

    def test_decoding_equals_the_whole_sequence(self):
        whole = dovetail.compile(dovetail.zoo_model("stories15m", sequence=LENGTH), "cpu").session()
        expected = whole.run({"embeddings": self.embeddings})["logits"]
        session = self.bundle.session()
        for position in range(LENGTH):
            outputs = session.run(self.inputs(position))
        self.assertEqual(list(outputs), ["logits"])
        np.testing.assert_allclose(outputs["logits"].ravel(), expected.ravel(), rtol=0, atol=2e-4)

    def test_states_are_seen_set_and_kept(self):
        self.assertEqual(len(self.states), 12)
        self.assertRegex(repr(self.bundle), r"past.layer1.value: float32\[1, 6, 8, 48\] and 10 more -> .* and 9 more; steps: cpu \d+>$")
        self.assertEqual(dovetail.compile(self.model, "cpu", states={"past.*": "present.*"}).states, self.states)
        self.assertEqual(self.bundle.states, self.states)
        session = self.bundle.session()
        self.assertFalse(any(each.any() for each in session.states.values()))
        session.run(self.inputs(0))
        first = session.states
        self.assertEqual(set(first), set(self.states))
        key = first["past.layer1.key"]
        self.assertTrue(key[:, :, 0].all())
        self.assertFalse(key[:, :, 1:].any())
        second = session.run(self.inputs(1))["logits"]
        # What is measured or fails does not change them.
        now = session.states
        session.profile(self.inputs(2), repeat=2)
        with self.assertRaises(dovetail.InputError):
            session.run({"position": np.array([0])})
        with self.assertRaises(dovetail.InputError):
            session.evaluate({"embedding": self.embeddings[:, :1].copy(), "position": np.array([0])})
        for name, value in session.states.items():
            np.testing.assert_array_equal(value, now[name])
        session.set_states(first)
        np.testing.assert_array_equal(session.run(self.inputs(1))["logits"], second)
        # Given for one run, from which the next continues.
        session.set_states()
        np.testing.assert_array_equal(session.run({**self.inputs(1), **first})["logits"], second)
        for name, value in session.states.items():
            np.testing.assert_array_equal(value, now[name])

    def test_bound(self):
        plain, session = self.bundle.session(), self.bundle.session()
        binding = session.bind()
        self.assertEqual((set(binding.inputs), set(binding.outputs)), ({"embedding", "position"}, {"logits"}))
        for position in range(LENGTH):
            for name, value in self.inputs(position).items():
                binding.inputs[name][...] = value
            binding.run()
            expected = plain.run(self.inputs(position))["logits"]
            np.testing.assert_array_equal(binding.outputs["logits"], expected)
        for name, value in session.states.items():
            np.testing.assert_array_equal(value, plain.states[name])

    def test_bindings_of_one_session_do_not_share_buffers(self):
        session = self.bundle.session()
        key = np.full((1, 6, LENGTH, 48), 5, np.float32)
        given = session.bind({"past.layer1.key": key}, {"present.layer1.key": np.empty_like(key)})
        plain = session.bind()
        for binding in (given, plain, given, plain):
            for name, value in self.inputs(1).items():
                binding.inputs[name][...] = value
        given.run()
        written = given.outputs["present.layer1.key"].copy()
        self.assertTrue((written[:, :, 2:] == 5).all() and (written[:, :, 1] != 5).any())
        session.set_states()
        given.outputs["present.layer1.key"][...] = 7
        plain.run()
        self.assertFalse(session.states["past.layer1.key"][:, :, 2:].any())
        self.assertTrue((given.outputs["present.layer1.key"] == 7).all())

    def test_a_name_goes_before_a_pattern(self):
        names = {"past.layer1.key": "present.layer1.value", "past.layer1.value": "present.layer1.key"}
        bundle = dovetail.compile(self.model, "cpu", states={"past.*": "present.*", **names})
        self.assertEqual(bundle.states, {**self.states, **names})

    def test_saved_and_copied_bundles_have_them(self):
        with tempfile.TemporaryDirectory() as folder:
            self.bundle.save(pathlib.Path(folder) / "decode.dvt")
            loaded = dovetail.Bundle.load(pathlib.Path(folder) / "decode.dvt")
        for bundle in (loaded, copy.deepcopy(self.bundle)):
            self.assertEqual(bundle.states, self.states)
            session = bundle.session()
            session.run(self.inputs(0))
            self.assertTrue(session.states["past.layer1.key"].any())

    def test_a_cache_in_the_memory_of_an_accelerator(self):
        length = 16  # each head's keys fill whole blocks
        float_model = dovetail.zoo_model("stories15m_decode", sequence=length)
        float_session, samples = dovetail.compile(float_model, "cpu", states=self.states).session(), []
        for position in range(LENGTH):
            samples.append({**self.inputs(position), **float_session.states})
            float_session.run(self.inputs(position))
        model = dovetail.quantize(float_model, samples).model
        bundle = dovetail.compile(model, "accel,cpu", "1x16x16-g3", states=self.states)
        self.assertRegex(repr(bundle), r"steps: .*\baccel 1\b")
        cpu = dovetail.compile(model, "cpu", states=self.states).session()
        session, binding = bundle.session(engine="cycle"), None
        for position in range(LENGTH):
            expected = cpu.run(self.inputs(position))["logits"]
            if position % 2:
                binding = binding or session.bind()
                for name, value in self.inputs(position).items():
                    binding.inputs[name][...] = value
                outputs = binding.run()
            else:
                outputs = session.run(self.inputs(position))
            np.testing.assert_array_equal(outputs["logits"], expected)
            if position in (2, 3):
                self.assertEqual(session.check(self.inputs(position + 1))["different"], 0)
                for name, value in session.states.items():
                    np.testing.assert_array_equal(value, cpu.states[name])
        shape = (1, 6, length, 48)
        bound = session.bind(outputs={"present.layer1.key": np.full(shape, 7, np.float32)})
        for name, value in self.inputs(5).items():
            bound.inputs[name][...] = value
        bound.run()
        np.testing.assert_array_equal(bound.outputs["present.layer1.key"], session.states["past.layer1.key"])
        expected = session.run(self.inputs(4))["logits"]
        for _ in range(3):  # runs that are stopped leave the states as they were
            ended = threading.Event()

            def stop():
                while not ended.wait(0.02):  # between two runs it has no effect
                    session.stop()

            thread = threading.Thread(target=stop)
            thread.start()
            with self.assertRaises(dovetail.Error):
                while True:
                    session.run(self.inputs(4))
            ended.set()
            thread.join()
            np.testing.assert_array_equal(session.run(self.inputs(4))["logits"], expected)
        now = session.states
        for name, value in now.items():
            self.assertTrue(value.any(), name)
        for position in (-1, length):
            with self.assertRaisesRegex(dovetail.Error, "positions from 0 to 15|outside 0 <= index < 16"):
                session.run({**self.inputs(0), "position": np.array([position])})
        for name, value in session.states.items():
            np.testing.assert_array_equal(value, now[name])

    def test_what_does_not_fit(self):
        for states, why in (
            ({"nonesuch": "present.layer1.key"}, "nonesuch"),
            ({"past.layer1.key": "nonesuch"}, "nonesuch"),
            ({"embedding": "logits"}, "a state keeps its type and shape"),
            ({"past.layer1.key": "present.layer1.key", "past.layer2.key": "present.layer1.key"}, "another state"),
            ({"before.*": "present.*"}, "no input has such a name"),
            ({"past.*": "now.*"}, "now.layer1.key"),
            ("past.layer1.key", "has no value"),
        ):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                dovetail.compile(self.model, "cpu", states=states)
        session = self.bundle.session()
        for values, why in (({"nonesuch": np.zeros(3, np.float32)}, "there is no state of this name"),
                            ({"past.layer1.key": np.zeros(3, np.float32)}, r"the value is float32\[3\]"),
                            ({"past.layer1.key": np.zeros((1, 6, LENGTH, 48))}, "its type is float64")):
            with self.subTest(why), self.assertRaisesRegex(dovetail.InputError, why):
                session.set_states(values)


if __name__ == "__main__":
    unittest.main()
