"""What an installed wheel does.  usage, in an environment with the wheel: check.py CASE DIGITS_FOLDER [ARGUMENTS...]

digits FOLDER   all 3,600 logits on accelerator and CPU; FOLDER/digits.dvt is written for the case runtime
memory          outputs are shared with NumPy, and outlive their session
engines         all that run here, with equal values, and equal cycles of those that count them
command         `python -m dovetail` and the script `dovetail`
order NAMES...  imports these packages of onnxruntime, llvmlite and dovetail in this order, and uses each
runtime FOLDER  runs FOLDER/digits.dvt without the compiler
"""

import ctypes
import importlib.metadata
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

DIGITS = pathlib.Path(sys.argv[2])
MODEL = DIGITS / "digits_int8.onnx"
HARDWARE = "1x16x16-ext"


def images():
    return np.load(DIGITS / "test_images.npy")


def check_logits(bundle, **options):
    """All logits of a bundle are the reference's."""
    session = bundle.session(**options)
    found = np.concatenate([session.run({"image": image[np.newaxis]})["logits"] for image in images()])
    integers = np.load(DIGITS / "expected_int8_logits.npy").reshape(found.shape).astype(np.float32)
    # The scale and the zero point of the model's last operator, DequantizeLinear.
    zero = integers[found == 0][0]
    scale = found.max() / (integers.max() - zero)
    np.testing.assert_array_equal(found, (integers - zero) * scale)
    assert found.size == 3600 and found.dtype == scale.dtype == np.float32
    return found.size


def digits(folder):
    import dovetail
    accel = dovetail.compile(MODEL, "accel,cpu", HARDWARE)
    checked = [check_logits(bundle) for bundle in (accel, dovetail.compile(MODEL, "cpu"))]
    dovetail.compile(MODEL, "accel,cpu", HARDWARE, cpu="baseline").save(f"{folder}/digits.dvt")
    return f"{checked[0]:,} logits on the accelerator and {checked[1]:,} on the CPU are the reference's"


def memory():
    import dovetail
    session = dovetail.compile(MODEL, "cpu").session()
    output = session.run({"image": images()[:1]})["logits"]
    again = np.from_dlpack(output)
    assert again.ctypes.data == output.ctypes.data
    kept = output.copy()
    del session, output
    np.testing.assert_array_equal(again, kept)
    return "DLPack shares the pointer, and an output outlives its session"


def engines():
    import dovetail
    bundle = dovetail.compile(MODEL, "accel,cpu", HARDWARE)
    values, cycles = [], {}
    for engine in dovetail.engines():
        if engine["missing"] and "rtl build" not in engine["missing"]:
            print(f"no engine {engine['name']}: {engine['missing']}")
            continue
        if engine["name"] == "rtl":
            said("rtl", "build", "--hw", HARDWARE)  # into this user's cache, unless it is there
        session = bundle.session(engine=engine["name"])
        values.append(session.run({"image": images()[:1]})["logits"])
        if engine["has_clock"]:
            steps = session.report["steps"]
            cycles[engine["name"]] = sum(step["cycles"] for step in steps if step["target"] == "accel")
    for other in values:
        np.testing.assert_array_equal(other, values[0])
    assert cycles["cycle"] > 1000 and len(set(cycles.values())) == 1, cycles
    return f"{cycles['cycle']:,} cycles on engines {', '.join(cycles)}"


def started(*words):
    command = [sys.executable, "-m", "dovetail", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def said(*words, status=0):
    with started(*words) as process:
        text = process.communicate(timeout=600)[0]
    assert process.returncode == status, (words, process.returncode, text)
    return text


def command():
    import dovetail
    assert "all equal" in said("run", MODEL, "--target", "accel,cpu", "--hw", HARDWARE, "--check")
    assert "there is no command" in said("inspekt", status=2)
    script = pathlib.Path(sys.executable).parent / "dovetail"
    version = subprocess.run([script, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert version == f"dovetail {dovetail.__version__}\n", version
    assert dovetail.__version__ == importlib.metadata.version("dovetail-kit")
    with started("isa", "--format", "markdown") as process:
        process.stdout.close()  # the reader leaves
        assert process.wait(60) == -signal.SIGPIPE
    with tempfile.TemporaryDirectory() as folder:
        with started("tune", MODEL, "--target", "cpu", "--records", f"{folder}/records.db") as process:
            time.sleep(3)  # it searches
            process.send_signal(signal.SIGINT)
            text = process.communicate(timeout=60)[0]
    assert process.returncode == -signal.SIGINT and "tuned" in text, (process.returncode, text)
    return "python -m dovetail and the script run, and end as a program does"


def use_onnxruntime():
    import onnxruntime
    session = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    return session.run(None, {"image": images()[:1]})[0].argmax()


def use_llvmlite():
    import llvmlite.binding as llvm
    if hasattr(llvm, "initialize") and llvm.llvm_version_info[0] < 20:
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("define i32 @twice(i32 %x) {\n  %y = add i32 %x, %x\n  ret i32 %y\n}\n")
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(engine.get_function_address("twice"))(21) == 42


def use_dovetail():
    import dovetail
    check = dovetail.compile(MODEL, "cpu").session().run({"image": images()[:1]})["logits"]
    return check.argmax()


def order(*names):
    for name in names:
        importlib.import_module(name)
    results = [globals()[f"use_{name}"]() for name in (*names, *reversed(names))]
    classes = {int(result) for result in results if result is not None}
    assert len(classes) == 1, results
    return f"imported in the order {', '.join(names)}"


def runtime(folder):
    import dovetail
    assert not dovetail.has_compiler
    checked = check_logits(dovetail.Bundle.load(f"{folder}/digits.dvt", trust="always"))
    try:
        dovetail.compile(MODEL, "cpu")
    except dovetail.InputError as error:
        assert "pip install dovetail-kit" in str(error), error
    else:
        raise AssertionError("the runtime compiles")
    assert "pip install dovetail-kit" in said("--version", status=2)
    return f"{checked:,} logits without the compiler, which it says how to install"


def main():
    import dovetail
    assert "site-packages" in dovetail.library_path, dovetail.library_path
    print(globals()[sys.argv[1]](*sys.argv[3:]))


if __name__ == "__main__":
    main()
