// Hand-made bundles whose steps choose and repeat: y = c ? x + 1 : x * 2, and v doubled n times.
#pragma once

#include "bundle/code/flow.h"
#include "tests/unit/bundle/sample.h"

namespace dovetail::test {

// x -> y of four int8, by one host step whose element is `expression` of x[i].
inline bundle::Bundle elementwise_program(const std::string& name, const std::string& expression) {
  bundle::Bundle program;
  program.name = name;
  program.tensors = {{"x", DType::int8, {4}, {}}, {"y", DType::int8, {4}, {}}};
  program.inputs = {0};
  program.outputs = {1};
  program.report = Json::object();
  program.steps.push_back(host_step(name, {name},
                                    "program p {\n input x: int8[4]\n output y: int8[4]\n for a in 4 { block b { "
                                    "spatial i in 4 = a\n reads x[i]\n writes y[i]\n y[i] = " +
                                        expression + "\n } } }",
                                    {0}, {1}));
  return program;
}

inline bundle::Bundle if_bundle() {
  bundle::Bundle bundle;
  bundle.name = "choice";
  bundle.tensors = {{"c", DType::boolean, {}, {}}, {"x", DType::int8, {4}, {}}, {"y", DType::int8, {4}, {}}};
  bundle.inputs = {0, 1};
  bundle.outputs = {2};
  bundle.report = Json::object();
  bundle::Step step{"choose", {}, {"If_0"}, {0, 1, 1}, {2}};
  bundle::encode(bundle::FlowCode{}, step);
  step.programs = {elementwise_program("then", "x[i] + 1"), elementwise_program("else", "x[i] * 2")};
  bundle.steps.push_back(std::move(step));
  return bundle;
}

// Results: v after the loop, `all` v after each iteration, and the number of iterations. `trips`: n is given, otherwise
// the loop has no trip count.
inline bundle::Bundle loop_bundle(bool trips = true, std::int64_t limit = 5) {
  bundle::Bundle bundle, body = elementwise_program("body", "x[i] * 2");
  NdArray yes(DType::boolean, {});
  yes.set_int64(0, 1);
  body.tensors.push_back({"i", DType::int64, {}, {}});
  body.tensors.push_back({"again", DType::boolean, {}, yes});
  body.tensors.push_back({"seen", DType::int8, {4}, {}});
  body.steps.push_back(
      host_step("seen", {"seen"},
                "program s {\n input y: int8[4]\n output s: int8[4]\n for a in 4 { block b { spatial i "
                "in 4 = a\n reads y[i]\n writes s[i]\n s[i] = y[i]\n } } }",
                {1}, {4}));
  body.inputs = {2, 0};
  body.outputs = {3, 1, 4};
  bundle.name = "loop";
  bundle.tensors = {{"n", DType::int64, {}, {}},
                    {"x", DType::int8, {4}, {}},
                    {"y", DType::int8, {4}, {}},
                    {"all", DType::int8, {limit, 4}, {}},
                    {"count", DType::int64, {1}, {}}};
  bundle.inputs = {0, 1};
  bundle.outputs = {2, 3};
  bundle.extents = {{3, 0, 4}};
  bundle.report = Json::object();
  bundle::Step step{"repeat", {}, {"Loop_0"}, {1}, {2, 3, 4}};
  if (trips) step.arguments = {0, 1};
  bundle::encode(bundle::FlowCode{bundle::FlowLoop{1, limit, trips, false}}, step);
  step.programs = {std::move(body)};
  bundle.steps.push_back(std::move(step));
  return bundle;
}

}  // namespace dovetail::test
