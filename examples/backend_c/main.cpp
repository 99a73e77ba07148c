// backend_c MODEL.onnx [--target LIST] [--strict] [--source]
//
// Compiles the model with the C back end and those of the kit (--target c,cpu by default), reports the target of each
// node, runs it on seeded random inputs and compares every output with the reference. --source prints the C. Exit code
// 0: all outputs agree; 1: an output differs or does not compile; 2: bad usage.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>

#include <fmt/format.h>

#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/host/target.h"
#include "examples/backend_c/backend_c.h"
#include "runtime/executor.h"

namespace {

using namespace dovetail;

// The largest difference, relative to the largest value.
double difference(const NdArray& got, const NdArray& expected) {
  if (got.shape() != expected.shape() || got.dtype() != expected.dtype()) return INFINITY;
  double largest = 0, apart = 0;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    largest = std::max(largest, std::abs(expected.as_double(i)));
    apart = std::max(apart, std::abs(got.as_double(i) - expected.as_double(i)));
  }
  return apart == 0 ? 0 : apart / largest;
}

Result<int> run(const std::string& path, CompileOptions options) {
  DOVETAIL_ASSIGN(import::Imported model, import::import_onnx_file(path));
  const graph::Graph graph = model.graph;
  options.available = {backend_c::make_target(), accel::make_target({}, 1000), cpu::make_native_target(),
                       host::make_target()};
  DOVETAIL_ASSIGN(const Compiled compiled, compile(std::move(model), options));
  for (const NodePlacement& row : compiled.placement)
    fmt::print("{:<24} {:<18} {:<8} {}\n", row.node, row.op, row.target, row.why);

  DOVETAIL_ASSIGN(const auto simulators, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(
      runtime::Executor executor,
      runtime::Executor::make(compiled.bundle, simulators, {.threads = 1, .devices = {backend_c::make_device()}}));
  std::map<std::string, NdArray> inputs;
  std::mt19937 random(1);
  for (const graph::ValueId input : graph.inputs) {
    NdArray array(graph.value(input).type.dtype, graph.value(input).type.shape);
    for (std::int64_t i = 0; i < array.count(); ++i)
      is_floating(array.dtype()) ? array.set_double(i, random() % 2000 / 1000.0 - 1)
                                 : array.set_int64(i, random() % 100);
    inputs.emplace(graph.value(input).name, std::move(array));
  }
  DOVETAIL_ASSIGN(const runtime::RunResult result, executor.run(inputs));
  DOVETAIL_ASSIGN(const Reference reference, Reference::make(graph));
  DOVETAIL_ASSIGN(const auto expected, reference.run(inputs));
  bool equal = true;
  for (const auto& [name, array] : result.outputs) {
    const double apart = difference(array, expected.at(name));
    equal &= apart <= 1e-5;
    fmt::print("output {}: differs by at most {:.2g} of its largest value: {}\n", name, apart,
               apart <= 1e-5 ? "equal up to rounding" : "WRONG");
  }
  return equal ? 0 : 1;
}

int usage() {
  fmt::print(stderr, "usage: backend_c MODEL.onnx [--target LIST] [--strict] [--source]\n");
  return 2;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 2) return usage();
  CompileOptions options;
  options.targets = {"c", "cpu"};
  for (int i = 2; i < argument_count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--strict") options.strict = true;
    else if (argument == "--source") {
      options.dump = {"stream"};
      options.on_dump = [](std::string_view, std::string_view text) { fmt::print("{}\n", text); };
    } else if (argument == "--target" && i + 1 < argument_count) {
      options.targets.clear();
      const std::string list = arguments[++i];
      for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        options.targets.push_back(list.substr(begin, end - begin));
        begin = end + 1;
      }
    } else {
      return usage();
    }
  }
  const Result<int> exit = run(arguments[1], std::move(options));
  if (exit.ok()) return *exit;
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", to_string(exit.errors()));
  return 1;
}
