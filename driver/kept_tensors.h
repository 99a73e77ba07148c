// What a run has computed on its way, under the names of the model: to be written and compared.
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
  std::string name, step;  // `step`: that computed it
  NdArray array;
};
// In the order of the steps, each name once: results of steps, taken out of their layout as far as the bundle's report
// knows the shape that they have in the model; the outputs. A tensor that only exists inside a kernel is not there.
// Precondition: the run is of that bundle, with keep_tensors.
std::vector<KeptTensor> kept_tensors(const bundle::Bundle& bundle, const runtime::RunResult& run);
// Puts into the bundle's report what kept_tensors() needs to know of the graph that it was made of.
void remember_shapes(bundle::Bundle& bundle, const graph::Graph& graph);

// Writes them as folder/NAME.npy, and index.json: [{"name", "file", "step", "dtype", "shape"}], in the same order.
Result<void> write_tensors(const std::filesystem::path& folder, const std::vector<KeptTensor>& tensors);

// A .npz file, or a folder of .npy files: by name; of a file in a folder, the name without its end.
Result<std::map<std::string, NdArray>> read_expected(const std::filesystem::path& path);

}  // namespace dovetail::driver
