// Exports a model or a bundle as C (export/project.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/graph/graph.h"
#include "driver/compile_model.h"
#include "export/project.h"

namespace dovetail::driver {

// The options of a model that is compiled to be exported.
ModelOptions portable_model(ModelOptions options);

// Scales and zero points of inputs that only DequantizeLinear reads, and of outputs that QuantizeLinear or an operator
// with an output scale computes, as far as they are one number.
std::map<std::string, exporting::Quantization> border_quantization(const graph::Graph& imported);

struct GoldenOptions {
  std::map<std::string, std::string> files = {};  // of inputs, by name
  std::map<std::string, NdArray> tensors = {};    // the same, read already
  std::uint64_t seed = 1;                         // of the other ones
};

struct Exported {
  exporting::Plan plan;
  exporting::GoldenVector golden;
};
// Plans the program and computes one vector of its test by the interpreter. `title`: the model, for comments.
Result<Exported> export_bundle(const bundle::Bundle& bundle, const std::string& title, exporting::Options options,
                               const GoldenOptions& golden = {});

}  // namespace dovetail::driver
