// dovetail_threads: runs a model's CUDA kernels on run_threads. See usage(); ./dev threads runs it on all models.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/target/cuda/target.h"
#include "compiler/target/host/target.h"
#include "tests/threads/layers.h"

namespace {

using namespace dovetail;

int usage() {
  fmt::print(
      stderr,
      "usage: dovetail_threads MODEL.onnx [--most-macs N] [--most-steps N] [--seed N]\n"
      "Runs all kernels that the CUDA back end makes of the model, with threads in adversarial orders, and compares\n"
      "each tensor with the reference. Prints a report as JSON.\n"
      "--most-macs   whole where the model has no more multiply-adds (default 50000000); else by layer: each layer\n"
      "              that it has once, made smaller\n"
      "--most-steps  of a layer, as the reference counts them (default 1000000)\n"
      "--seed        of inputs and of orders (default 5)\n"
      "Exit code 1: a tensor differs, or a kernel breaks a rule.\n");
  return 2;
}

struct Arguments {
  std::string model;
  std::uint64_t most_macs = 50'000'000, most_steps = 1'000'000, seed = 5;
};

Result<graph::Graph> optimized(const std::string& file) {
  DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(file));
  CompileOptions options;
  options.available = {cuda::make_target({.architectures = {"sm_90a"}}), host::make_target()};
  options.targets = {"cuda"};  // whose passes run
  options.stop_after = "graph";
  DOVETAIL_ASSIGN(Compiled compiled, compile(std::move(imported), options));
  return std::move(compiled.optimized);
}

Result<Json> report(const Arguments& arguments, bool& failed) {
  DOVETAIL_ASSIGN(const graph::Graph graph, optimized(arguments.model));
  DOVETAIL_ASSIGN(const std::vector<FusedGroup> groups, fuse_groups(graph, graph.topological_order()));
  DOVETAIL_ASSIGN(const test::Work work, test::work_of(groups));
  const std::vector<test::Configuration> configurations = test::configurations();
  test::Schedules schedules;
  const bool whole = work.macs < arguments.most_macs;
  test::Walk walk;
  Json cuts = Json::object(), other_kinds = Json::array();
  if (whole) {
    DOVETAIL_ASSIGN(walk, test::walk_graph(graph, configurations, schedules, arguments.seed));
  } else {
    DOVETAIL_ASSIGN(const std::vector<test::Layer> layers,
                    test::layers_of(graph, configurations, schedules, arguments.most_steps));
    for (const test::Layer& layer : layers) {
      auto one = test::walk_graph(layer.graph, configurations, schedules, arguments.seed);
      if (!one) walk.failures.push_back(fmt::format("{}: {}", layer.name, to_string(one.errors())));
      else walk += *one;
      if (!layer.cuts.empty()) cuts[layer.name] = layer.cuts;
      if (!layer.kinds_kept) other_kinds.push_back(layer.name);
    }
  }
  failed = !walk.failures.empty();
  Json made{
      {"macs", work.macs},      {"groups_of_model", groups.size()}, {"whole", whole},          {"groups", walk.groups},
      {"macs_run", walk.macs},  {"kernels", walk.kernels},          {"tensors", walk.tensors}, {"kinds", walk.kinds},
      {"seed", arguments.seed}, {"failures", walk.failures}};
  if (!whole) {
    made["smaller"] = cuts.size();
    made["of_other_kinds"] = other_kinds;
    made["cuts"] = cuts;
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto number = [&](std::uint64_t& to) {
      char* end = nullptr;
      if (i + 1 == words.size()) return false;
      to = std::strtoull(words[++i].data(), &end, 10);
      return *end == '\0' && !words[i].empty();
    };
    bool right = true;
    if (words[i] == "--most-macs") right = number(arguments.most_macs);
    else if (words[i] == "--most-steps") right = number(arguments.most_steps);
    else if (words[i] == "--seed") right = number(arguments.seed);
    else if (words[i].starts_with("-") || !arguments.model.empty()) return usage();
    else arguments.model = words[i];
    if (!right) return usage();
  }
  if (arguments.model.empty()) return usage();
  bool failed = false;
  const auto begin = std::chrono::steady_clock::now();
  auto made = report(arguments, failed);
  if (!made) {
    fmt::print(stderr, "{}\n", to_string(made.errors()));
    return 1;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  (*made)["seconds"] = std::round(seconds.count() * 10) / 10;
  fmt::print("{}\n", made->dump());
  return failed ? 1 : 0;
}
