#!/usr/bin/env python3
"""Runs Stream (stream-dse 2) on a convolution.  usage: run_stream.py LAYER.json FOLDER

Needs Python 3.12 or newer and the packages stream-dse and six, which stream-dse needs but does not declare. The layer is a row of
those that export_tflite.py prints; it becomes an ONNX file with one int8 convolution, without values. The hardware is
stream/system.yaml. Prints JSON: cycles, bytes that the memory reads, of inputs and weights, and writes, multiplications, the
cycles in which results leave the accumulators, tiles, the share of the multipliers that the tiles use, and seconds and processor
time from the ONNX file to the answer, without Python's imports. A layer that Stream does not accept has `error` instead.
"""

import contextlib
import json
import math
import pathlib
import shutil
import sys
import time

import onnx
import yaml
from stream.api import SolveOptions, evaluate_mapping
from stream.frontends import load_workload

SYSTEM = pathlib.Path(__file__).resolve().parent / "stream/system.yaml"
DRAM = 1


def write_onnx(layer, path):
    """The convolution as a model; weights have a shape and no values, which Stream does not read."""
    kernel, stride, pads, extent = layer["kernel"], layer["stride"], layer["pads"], layer["extent"]
    pixels = [(extent[i] + pads[i] + pads[i + 2] - kernel[i]) // stride[i] + 1 for i in range(2)]
    int8 = onnx.TensorProto.INT8
    weight = onnx.TensorProto(name="weight", data_type=int8, dims=[layer["filters"], layer["channels"], *kernel])
    node = onnx.helper.make_node("Conv", ["input", "weight"], ["output"], name="conv", kernel_shape=kernel, strides=stride,
                                 pads=pads)
    source = onnx.helper.make_tensor_value_info("input", int8, [1, layer["channels"], *extent])
    result = onnx.helper.make_tensor_value_info("output", int8, [1, layer["filters"], *pixels])
    graph = onnx.helper.make_graph([node], "layer", [source], [result], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)


def estimated(path, folder):
    """Stream's figures of the model; raises what Stream raises."""
    begin, busy = time.monotonic(), time.process_time()
    workload = load_workload(str(path))
    macs = math.prod(workload.get_dimension_size(dim) for dim in workload.unique_dimensions()[0])
    estimate = evaluate_mapping(str(SYSTEM), workload, str(folder), options=SolveOptions(artifacts=False))
    seconds = {"seconds": round(time.monotonic() - begin, 2), "processor_seconds": round(time.process_time() - busy, 2)}
    groups = estimate.context.get("group_memory_accesses")
    if len(groups) != 1 or groups[0] is None:
        raise ValueError("Stream reports no accesses of the memory")
    dram = next(core for core in groups[0]["cores"] if core["core_id"] == DRAM)
    costs = estimate.context.get("cost_lut")
    (node,) = costs.get_nodes()
    (core,) = costs.get_cores(node)
    cost = costs.get_cost(node, core)
    # Without ZigZag's evaluation, Stream falls back to a number of cycles without memories: not what is compared here.
    if cost.cme is None:
        raise ValueError("ZigZag found no mapping of a tile, so Stream only has ideal cycles")
    mapping = yaml.safe_load((folder / "group_0/mapping.yaml").read_text(encoding="utf-8"))
    tiles = {tile["dim"].split(".")[1]: tile["tile"] for tile in mapping["fused_groups"][0]["intra_core_tiling"]}
    # After each tile the results leave the accumulators; ZigZag does not overlap this with products.
    tile_macs = math.prod(cost.cme.layer.layer_dim_sizes.data.values())
    unload = macs // tile_macs * int(cost.cme.latency_total2 - cost.cme.latency_total1)
    # Accesses are as wide as the port of the memory.
    read = {tensor["tensor"]: tensor["read"] * dram["read_bandwidth"] // 8 for tensor in dram["tensors"]}
    return {"cycles": int(estimate.cycles), "read_bytes": sum(read.values()), "input_bytes": read["input"],
            "weight_bytes": read["weight"], "written_bytes": dram["write"] * dram["write_bandwidth"] // 8, "macs": macs,
            "unload_cycles": unload, "tiles": tiles, "used": round(cost.ideal_cycle / cost.ideal_temporal_cycle, 3), **seconds}


def main():
    layer, folder = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")), pathlib.Path(sys.argv[2])
    # Stream reuses costs that it finds in its folder: the time would not be that of a first answer.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = folder / "layer.onnx"
    write_onnx(layer, model)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = estimated(model, folder)
    except (ValueError, RuntimeError, NotImplementedError, AssertionError, KeyError) as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
