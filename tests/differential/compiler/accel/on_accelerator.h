// Runs an integer graph through compiler and simulators, and compares it with the reference.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/targets.h"

namespace dovetail::test {

struct Ran {
  Json report;                                  // the compiler's report
  std::map<std::string, std::uint64_t> by_row;  // nodes with their own code, by row of the accelerator's table
  std::uint64_t cycles = 0, resets = 0, windows = 0, epilogues = 0, alu_uops = 0;  // of both engines
  std::uint64_t weight_bytes = 0, int4_bytes = 0;                                  // loaded, likewise
};

enum class Demand {
  all_on_accelerator,
  what_fits,  // all nodes, except on `tiny` those whose smallest tile is larger than a buffer
  none,       // a random node may be one that the hardware cannot run
};

// Requires each engine's result to equal the reference's, bit for bit.
inline Ran run_on_accelerator(const graph::Graph& graph, const isa::HardwareConfig& config,
                              const std::map<std::string, NdArray>& inputs,
                              Demand demand = Demand::all_on_accelerator) {
  INFO(config.name << "\n" << graph::to_string(graph));
  CompileOptions options;
  options.available = kit_targets(config);
  options.targets = {"accel"};
  auto compiled = compile({graph, {}}, options);
  INFO((compiled.ok() ? "" : to_string(compiled.errors())));
  REQUIRE(compiled.ok());
  Ran ran{compiled->report, {}};
  for (const NodePlacement& node : compiled->placement) {
    const bool too_large = node.why.starts_with("its smallest tile needs");
    INFO(node.node << ": " << node.why);
    if (demand == Demand::all_on_accelerator || (demand == Demand::what_fits && !too_large))
      CHECK(node.target != "host");
    if (!node.row.empty()) ++ran.by_row[node.row];
  }
  auto reference = Reference::make(graph);
  REQUIRE(reference.ok());
  const auto expected = reference->run(inputs);
  REQUIRE(expected.ok());
  for (const char* engine : {"functional", "cycle"}) {
    INFO(engine);
    auto executor = runtime::Executor::make(compiled->bundle, *runtime::simulator_factory(engine));
    REQUIRE(executor.ok());
    const auto result = executor->run(inputs);
    INFO((result.ok() ? "" : to_string(result.errors())));
    REQUIRE(result.ok());
    for (const auto& [name, array] : result->outputs) CHECK((array == expected->at(name)));
    for (const runtime::StepProfile& step : result->steps)
      for (const auto& [part, launch] : step.launches) {
        ran.cycles += launch.cycles;
        ran.resets += launch.counters.value().gemm_reset_uops;
        ran.windows += launch.counters->window_uops + launch.counters->window_pushes;
        ran.epilogues += launch.counters->epilogue_uops;
        ran.alu_uops += launch.counters->alu_uops;
        ran.weight_bytes += launch.counters->bytes_loaded[static_cast<std::size_t>(isa::Memory::wgt)];
        ran.int4_bytes += launch.counters->bytes_loaded[static_cast<std::size_t>(isa::Memory::wgt4)];
      }
  }
  return ran;
}

}  // namespace dovetail::test
