// The tensors that a run computed, under the names of the model, to be written or compared.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "runtime/executor.h"

namespace dovetail::driver {

struct KeptTensor {
  std::string name, step;  // `step`: the step that computed it
  NdArray array;
};
// The results of steps and the outputs, in the order of the steps, each name once. Results have the model's shape if
// the bundle's report contains it, else their target's layout. A tensor that exists only inside a kernel is missing.
// Precondition: `run` is a run of that bundle with keep_tensors.
std::vector<KeptTensor> kept_tensors(const bundle::Bundle& bundle, const runtime::RunResult& run);
// Adds to the bundle's report the shapes of the graph that kept_tensors() needs.
void remember_shapes(bundle::Bundle& bundle, const graph::Graph& graph);

// Writes them as folder/NAME.npy, and index.json: [{"name", "file", "step", "dtype", "shape"}], in the same order.
Result<void> write_tensors(const std::filesystem::path& folder, const std::vector<KeptTensor>& tensors);

// Reads a .npz file, or a folder of .npy files. Returns arrays by name; for a file of a folder, its name without .npy.
Result<std::map<std::string, NdArray>> read_expected(const std::filesystem::path& path);

}  // namespace dovetail::driver
