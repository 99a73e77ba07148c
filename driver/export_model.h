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

// The options of a model that is compiled to be exported as C; and as objects for a processor (cpu::cpu_names), whose
// symbols begin with `name`. Without targets, for the processor alone; else cpu must be the last of them.
ModelOptions portable_model(ModelOptions options);
ModelOptions object_model(ModelOptions options, const std::string& processor, const std::string& name);

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
  std::string archive = {};  // the bytes of NAME.a, if objects are exported
};
// Plans the program and computes one vector of its test by the interpreter. `title`: the model, for comments.
Result<Exported> export_bundle(const bundle::Bundle& bundle, const std::string& title, exporting::Options options,
                               const GoldenOptions& golden = {});
// The bundle with its loop programs as objects for the processor, which do not use its vectors. Error: a program that
// cannot be compiled.
Result<bundle::Bundle> object_bundle(bundle::Bundle portable, const std::string& processor, const std::string& name);
// The same for objects: `objects` is compiled with the options of object_model, or of object_bundle; `reference` with
// those of portable_model, to compute the vector.
Result<Exported> export_objects(const bundle::Bundle& objects, const bundle::Bundle& reference,
                                const std::string& title, exporting::Options options, const GoldenOptions& golden = {});

}  // namespace dovetail::driver
