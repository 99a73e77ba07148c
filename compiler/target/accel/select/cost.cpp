#include "compiler/target/accel/select/cost.h"

#include <algorithm>

#include "compiler/target/accel/select/operation_program.h"
#include "loops/rewrite.h"

namespace dovetail::accel {

namespace {

// From the first request to the first byte, and from the last byte to the response. Both occur once, the rest overlaps.
constexpr std::uint64_t kLatencyCycles = 128;

std::uint64_t parts(std::uint64_t whole, std::int64_t part) {
  return (whole + static_cast<std::uint64_t>(part) - 1) / static_cast<std::uint64_t>(part);
}

// Adds the work of a program except its stores.
void add_work(const loops::Program& program, const Core& config, CycleEstimate& estimate) {
  loops::visit_stmts(program.body, [&](const loops::Stmt& stmt) {
    const auto* block = std::get_if<loops::Block>(&stmt->node);
    if (block == nullptr) return;
    std::uint64_t points = 1, results = 1;
    for (const loops::Iterator& iterator : block->iterators) {
      points *= static_cast<std::uint64_t>(iterator.extent);
      if (iterator.kind == loops::IterKind::spatial) results *= static_cast<std::uint64_t>(iterator.extent);
    }
    const std::string& name = block->name;
    const std::uint64_t elements = parts(points, config.batch * config.block_out);
    // LOAD and STORE cost bytes, not cycles of the compute unit.
    if (name == "pad" || name == "out" || name == "table" || name.ends_with("load") || name.ends_with("constants") ||
        name.ends_with(".copy"))
      return;
    if (name.ends_with("conv") || name == "product" || name.ends_with("widen") || name.ends_with(".sums"))
      estimate.gemm += parts(points, config.batch * config.block_in * config.block_out) +
                       parts(results, config.batch * config.block_out);
    else estimate.alu += elements;
  });
}

}  // namespace

CycleEstimate estimate_cycles(const graph::Graph& graph, const Operation& operation, const Core& config) {
  const std::vector<loops::Program> programs = operation_programs(graph, operation, config);
  CycleEstimate estimate;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    add_work(programs[i], config, estimate);
    for (const loops::Parameter& parameter : programs[i].parameters) {
      const auto bytes =
          static_cast<std::uint64_t>(element_count(parameter.buffer->shape) * size_bytes(parameter.buffer->dtype));
      // All parts write the same result.
      if (parameter.role != loops::ParameterRole::output) estimate.loaded += bytes;
      else if (i == 0) estimate.stored += bytes;
    }
  }
  if (const auto* move = std::get_if<MoveOperation>(&operation.body); move && move->position)
    estimate.stored = estimate.loaded;  // the other rows stay
  estimate.cycles = kLatencyCycles + std::max({estimate.gemm + estimate.alu, parts(estimate.loaded, config.bus_bytes),
                                               parts(estimate.stored, config.bus_bytes)});
  return estimate;
}

}  // namespace dovetail::accel
