// Samples of a model's inputs from files: arrays, pictures, folders of either.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "driver/preprocess.h"

namespace dovetail::driver {

// The inputs of a graph as those of a bundle, for which samples are read.
bundle::Bundle inputs_of(const graph::Graph& graph, const std::string& name);

// Reads rows of one input: .npy and .pb files unchanged; a picture as one row, made by `preprocess`; the files of a
// folder in the order of their names, concatenated along the first axis (an array without that axis is one row). Files
// whose names begin with a dot are ignored. Errors: a picture without `preprocess`, or for another input than it names.
Result<NdArray> read_rows(const std::filesystem::path& path, const bundle::Tensor& input,
                          const std::optional<Preprocess>& preprocess);

// Samples for all inputs, by input name. Reads the files of read_rows() for a model with one input, and a .npz with an
// array for each input, or a folder of such files. `source`: what named the path, in diagnostics.
Result<std::map<std::string, NdArray>> read_samples(std::string_view source, const std::filesystem::path& path,
                                                    const bundle::Bundle& bundle,
                                                    const std::optional<Preprocess>& preprocess);

}  // namespace dovetail::driver
