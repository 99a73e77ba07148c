#include "driver/kernels/own_sketch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "loops/rewrite.h"

namespace dovetail::driver {

namespace {

constexpr const char* kProduct = "gemm";  // as the operators of matrix products name their block

// The name of the only block that sums products over its last iterator; empty: none, or several.
std::string product_block(const loops::Program& program) {
  std::string name;
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    const loops::Block& block = *schedule::as_block(path.back());
    const bool sums = block.init && block.iterators.size() >= 3 &&
                      block.iterators.back().kind == loops::IterKind::reduce && block.reads.size() >= 2;
    if (!sums) continue;
    if (!name.empty()) return "";
    name = block.name;
  }
  return name;
}

loops::Program with_block_named(loops::Program program, const std::string& from, const std::string& to) {
  const auto path = schedule::find_block(program.body, from);
  loops::Block block = *schedule::as_block(path->back());
  block.name = to;
  program.body = schedule::replace(program.body, path->back(), loops::make_stmt(std::move(block)));
  return program;
}

Result<std::optional<OwnSketch>> try_kind(schedule::Task task, const cpu::Kind& kind, const cpu::Cpu& processor) {
  task.kind = kind.name;
  OwnSketch own{std::move(task), cpu::sketch_of(kind, processor)};
  auto scheduled = schedule::try_run(own.sketch, own.task, schedule::Deciding{});
  if (!scheduled.ok()) return scheduled.errors();
  if (!*scheduled || (*scheduled)->decisions.empty()) return std::optional<OwnSketch>();
  return std::optional(std::move(own));
}

}  // namespace

Result<OwnSketch> sketch_for(const schedule::Task& task, const cpu::Cpu& processor) {
  const std::string product = product_block(task.program);
  const bool free_name = schedule::free_name(task.program, kProduct) == kProduct || product == kProduct;
  if (!product.empty() && free_name) {
    schedule::Task renamed = task;
    renamed.program = with_block_named(task.program, product, kProduct);
    auto own = try_kind(std::move(renamed), *cpu::find_kind("matmul"), processor);
    if (own.ok() && *own) {
      (*own)->renamed[kProduct] = product;
      return **std::move(own);
    }
  }
  DOVETAIL_ASSIGN(std::optional<OwnSketch> own, try_kind(task, *cpu::find_kind("generic"), processor));
  if (own) return *std::move(own);
  return Diagnostic{fmt::format("cannot tune {}", task.program.name), task.target,
                    "the compiler's schedule of the program has no choices", "give a schedule with sample steps"};
}

std::vector<schedule::Step> with_own_names(std::vector<schedule::Step> trace,
                                           const std::map<std::string, std::string>& renamed) {
  for (schedule::Step& step : trace)
    for (std::string& argument : step.arguments)
      if (const auto own = renamed.find(argument); own != renamed.end()) argument = own->second;
  return trace;
}

}  // namespace dovetail::driver
