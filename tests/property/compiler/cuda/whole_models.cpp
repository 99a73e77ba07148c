// Whole models on run_threads: kernel after kernel, each on what the kernels before it have made, in adversarial orders
// of threads. Where sums keep their order, every tensor that leaves a kernel has the bits of the interpreter. By
// default the digits; DOVETAIL_THREADS_MODELS names other files, with a colon between them, and DOVETAIL_THREADS_REPORT
// a file to which a line of JSON for each is written.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "base/json.h"
#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/target/host/target.h"
#include "tests/property/compiler/cuda/kernel_case.h"

using namespace dovetail;
using namespace dovetail::cuda::test;

namespace {

std::vector<std::string> files_of(const char* list) {
  const std::string digits = std::string(DOVETAIL_SOURCE_DIR) + "/examples/digits/digits_";
  if (list == nullptr) return {digits + "int8.onnx", digits + "float.onnx"};
  std::vector<std::string> files;
  std::istringstream text(list);
  for (std::string file; std::getline(text, file, ':');) files.push_back(file);
  return files;
}

graph::Graph optimised(const std::string& file) {
  auto imported = import::import_onnx_file(file);
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  CompileOptions options;
  options.available = {host::make_target()};
  options.stop_after = "graph";
  auto compiled = compile(*imported, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  return std::move(compiled->optimised);
}

struct Walk {
  int kernels = 0, tensors = 0;
  std::set<std::string> kinds = {};
};

// Every group's kernels on its arguments, which earlier groups made; the values are those of the group's own program.
Walk walk(const graph::Graph& graph, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::map<graph::ValueId, NdArray> values;
  for (const graph::ValueId input : graph.inputs) values.emplace(input, random_values(graph.value(input).type, random));
  static const cuda::Gpu gpu = cuda::parse_gpu("", cuda::kDefaultArchitectures).value();
  auto groups = fuse_groups(graph, graph.topological_order());
  REQUIRE((groups.ok() ? "" : to_string(groups.errors())) == "");
  Walk done;
  for (FusedGroup& group : *groups) {
    INFO(graph.node(group.nodes.back()).name);
    group.program = loops::with_fixed_rounding(std::move(group.program));
    std::vector<NdArray> arguments;
    for (std::size_t i = 0; i < group.arguments.size(); ++i)
      arguments.push_back(group.constants[i] != nullptr ? *group.constants[i] : values.at(group.arguments[i]));
    auto expected = loops::evaluate(group.program, arguments);
    REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
    auto scheduled = cuda::schedule_group(group, gpu, nullptr, cuda::FloatSums::in_order);
    REQUIRE((scheduled.ok() ? "" : to_string(scheduled.errors())) == "");
    for (const auto& [position, constant] : scheduled->constants) arguments[position] = constant;
    const auto have = loops::run_threads(scheduled->kernels, scheduled->program.parameters, arguments, random.next());
    REQUIRE((have.ok() ? "" : to_string(have.errors())) == "");
    REQUIRE(have->size() == group.results.size());
    for (std::size_t i = 0; i < have->size(); ++i) {
      REQUIRE(((*have)[i] == (*expected)[i]));  // not their text, which is long
      values.insert_or_assign(group.results[i], (*have)[i]);
      ++done.tensors;
    }
    done.kernels += static_cast<int>(scheduled->kernels.kernels.size());
    done.kinds.insert(scheduled->kind);
  }
  return done;
}

}  // namespace

TEST_CASE("cuda: whole models have the interpreter's bits in adversarial orders of threads") {
  const char* const report = std::getenv("DOVETAIL_THREADS_REPORT");
  for (const std::string& file : files_of(std::getenv("DOVETAIL_THREADS_MODELS"))) {
    INFO(file);
    const auto begin = std::chrono::steady_clock::now();
    const Walk done = walk(optimised(file), 5);
    CHECK(done.kernels >= 3);
    if (report == nullptr) continue;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::ofstream(report, std::ios::app) << Json{{"model", file},
                                                 {"kernels", done.kernels},
                                                 {"tensors", done.tensors},
                                                 {"kinds", done.kinds},
                                                 {"seconds", std::round(seconds.count() * 10) / 10}}
                                                .dump()
                                         << "\n";
  }
}
