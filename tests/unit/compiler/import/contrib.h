// One node of the domain com.microsoft: imported, run by the reference.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "compiler/reference/reference.h"
#include "tests/catch.h"
#include "tests/contrib_definitions.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail::test::contrib {

struct ContribNode {
  std::string op;
  std::string domain = "com.microsoft";
  std::vector<onnx::Message> attributes = {};
  std::vector<std::string> outputs = {"y"};

  // An omitted operand has an empty name.
  ContribNode& input(std::string name, const NdArray& array) {
    std::vector<onnx::Extent> extents;
    for (const std::int64_t extent : array.shape()) extents.emplace_back(static_cast<int>(extent));
    model.inputs.push_back(onnx::value_info(name, array.dtype(), extents));
    values[name] = array;
    names.push_back(std::move(name));
    return *this;
  }
  ContribNode& constant(std::string name, const NdArray& array) {
    model.initializers.push_back(onnx::tensor(name, array));
    names.push_back(std::move(name));
    return *this;
  }
  ContribNode& omitted() {
    names.emplace_back();
    return *this;
  }
  template <typename Value>
  ContribNode& with(std::string_view name, const Value& value) {
    attributes.push_back(onnx::attribute(name, value));
    return *this;
  }

  Result<import::Imported> imported() {
    onnx::Model whole = model;
    whole.opset = 17;
    onnx::Message made = onnx::node(op, names, outputs, attributes);
    if (!domain.empty()) made.text(7, domain);
    whole.nodes = {made};
    for (const std::string& output : outputs)
      if (!output.empty()) whole.outputs.push_back(onnx::Message().text(1, output));
    return whole.import();
  }
  std::map<std::string, NdArray> run() {
    const auto graph = imported();
    REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
    const auto reference = Reference::make(graph->graph);
    REQUIRE((reference.ok() ? "" : to_string(reference.errors())) == "");
    const auto result = reference->run(values);
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    return *result;
  }
  NdArray run1() { return run().at("y"); }
  std::string refusal() {
    const auto graph = imported();
    REQUIRE_FALSE(graph.ok());
    return to_string(graph.errors());
  }

  onnx::Model model = {};
  std::vector<std::string> names = {};
  std::map<std::string, NdArray> values = {};
};

inline NdArray drawn_reals(std::mt19937& rng, const Shape& shape, double scale = 1) {
  std::uniform_real_distribution<double> draw(-scale, scale);
  NdArray array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, draw(rng));
  return array;
}
inline NdArray drawn_integers(std::mt19937& rng, DType dtype, const Shape& shape, int low, int high) {
  std::uniform_int_distribution<int> draw(low, high);
  NdArray array(dtype, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, draw(rng));
  return array;
}

}  // namespace dovetail::test::contrib
