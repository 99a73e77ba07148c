#include "compiler/target/support/loop_support.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/loop_kinds.h"
#include "loops/rewrite.h"
#include "loops/stages.h"

namespace dovetail {

namespace {

constexpr std::string_view kAnywhere = "global";  // the scope of a buffer whose memory the target chooses

std::string honored(const LoopSupport& support) {
  std::vector<std::string_view> names{loops::name(loops::ForKind::serial)};
  for (const loops::ForKind kind : support.kinds) names.push_back(loops::name(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<Diagnostic> refusal(const loops::Program& program, const loops::For& loop, const LoopSupport& support) {
  const auto refuse = [&](std::string why, std::string hint) {
    return Diagnostic{fmt::format("cannot generate code for {}", program.name), fmt::format("loop {}", loop.var->name),
                      std::move(why), std::move(hint)};
  };
  if (loop.kind != loops::ForKind::serial && std::ranges::find(support.kinds, loop.kind) == support.kinds.end())
    return refuse(
        fmt::format("the loop is of kind {}, which target {} does not support", loops::name(loop.kind), support.target),
        fmt::format("remove the schedule step that set the kind (supported: {}), or choose a target that supports it; "
                    "docs/reference/schedules.md lists them",
                    honored(support)));
  if (loop.kind == loops::ForKind::thread &&
      std::ranges::find(support.thread_axes, loop.thread_axis) == support.thread_axes.end())
    return refuse(fmt::format("the loop is bound to {}, a thread axis that target {} does not have", loop.thread_axis,
                              support.target),
                  fmt::format("bind the loop to one of {}", fmt::join(support.thread_axes, ", ")));
  if (loop.kind == loops::ForKind::vectorized && loop.extent > support.most_lanes)
    return refuse(fmt::format("the loop is vectorized over {} iterations, but target {} supports at most {} lanes",
                              loop.extent, support.target, support.most_lanes),
                  "split the loop, and vectorize the inner one");
  if (loop.kind == loops::ForKind::pipelined)
    if (const auto stages = loops::stages_of(loop.annotations); stages && *stages > support.most_stages)
      return refuse(fmt::format("the pipelined loop has {} stages, but target {} supports at most {}", *stages,
                                support.target, support.most_stages),
                    "give fewer stages");
  return std::nullopt;
}

std::optional<Diagnostic> refusal(const loops::Program& program, const loops::Block& block,
                                  const LoopSupport& support) {
  const auto slots = block.annotations.find(schedule::kSlots);
  if (slots == block.annotations.end() || support.slots) return std::nullopt;
  return Diagnostic{
      fmt::format("cannot generate code for {}", program.name), fmt::format("block {}", block.name),
      fmt::format("the block's result has {} slots, which target {} does not support", slots->second, support.target),
      fmt::format("remove the step `slots{}`, or choose a target that supports it; docs/reference/schedules.md "
                  "lists them",
                  block.writes.empty() ? "" : " " + block.writes.front().buffer->name)};
}

}  // namespace

Result<void> check_loops(const loops::Program& program, const LoopSupport& support) {
  Diagnostics errors;
  loops::visit_stmts(program.body, [&](const loops::Stmt& stmt) {
    std::optional<Diagnostic> error;
    if (const auto* loop = std::get_if<loops::For>(&stmt->node)) error = refusal(program, *loop, support);
    if (const auto* block = std::get_if<loops::Block>(&stmt->node)) error = refusal(program, *block, support);
    if (error) errors.push_back(*std::move(error));
  });
  if (support.scopes)
    for (const loops::Buffer& buffer : program.allocations)
      if (buffer->scope != kAnywhere && std::ranges::find(*support.scopes, buffer->scope) == support.scopes->end())
        errors.push_back(
            {fmt::format("cannot generate code for {}", program.name), fmt::format("buffer {}", buffer->name),
             fmt::format("the buffer is in scope {}, which target {} does not have", buffer->scope, support.target),
             fmt::format("remove the step set_scope, or set the scope to one of {}",
                         fmt::join(*support.scopes, ", "))});
  return errors;
}

}  // namespace dovetail
