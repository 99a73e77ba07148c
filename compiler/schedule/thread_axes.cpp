#include "compiler/schedule/thread_axes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/block_form.h"
#include "loops/combine.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

bool is_block_axis(std::string_view axis) { return axis.starts_with("block."); }

}  // namespace

std::span<const ThreadAxis> thread_axes() {
  static constexpr std::array rows{
      ThreadAxis{"block.x", 2147483647}, ThreadAxis{"block.y", 65535}, ThreadAxis{"block.z", 65535},
      ThreadAxis{"thread.x", 1024},      ThreadAxis{"thread.y", 1024}, ThreadAxis{"thread.z", 64},
  };
  return rows;
}

bool joins_threads(const Path& path) {
  const For& loop = *as_for(path.back());
  if (loop.kind != ForKind::thread || is_block_axis(loop.thread_axis)) return false;
  const Stmt* inner = &loop.body;
  for (const For* below = as_for(*inner); below != nullptr; below = as_for(*inner)) {
    if (below->kind != ForKind::thread && below->extent != 1) return false;
    inner = &below->body;
  }
  const Block* block = as_block(*inner);
  const auto* update = block != nullptr ? std::get_if<Store>(&block->body->node) : nullptr;
  if (update == nullptr || !combine_of(update->targets)) return false;
  if (block->predicate && mentions(substitute(block->predicate, bindings_of(*block)), loop.var)) return false;
  // Only one axis may reduce: threads of another reducing axis would each combine their part separately.
  for (const Iterator& iterator : block->iterators)
    for (const For* around : loops_of(path))
      if (around != &loop && around->kind == ForKind::thread && iterator.kind == IterKind::reduce &&
          mentions(iterator.binding, around->var))
        return false;
  bool reduces = false;
  for (const Iterator& iterator : block->iterators) {
    if (!mentions(iterator.binding, loop.var)) continue;
    if (iterator.kind != IterKind::reduce) return false;
    reduces = true;
  }
  return reduces;
}

std::optional<Conflict> broken_axis(const Program& program, const Path& path, const IntrinsicTable& intrinsics) {
  const For& loop = *as_for(path.back());
  const auto axes = thread_axes();
  const auto axis =
      std::find_if(axes.begin(), axes.end(), [&](const ThreadAxis& row) { return row.name == loop.thread_axis; });
  if (axis == axes.end()) {
    std::vector<std::string_view> names;
    for (const ThreadAxis& row : axes) names.push_back(row.name);
    return Conflict{fmt::format("there is no thread axis {}", loop.thread_axis),
                    fmt::format("the axes are {}", fmt::join(names, ", "))};
  }
  if (loop.extent > axis->most)
    return Conflict{fmt::format("it has {} iterations, but {} has at most {}", loop.extent, axis->name, axis->most),
                    "split it and bind one of both loops"};

  const auto same_axis = [&](const For* other) {
    return other && other != &loop && other->kind == ForKind::thread && other->thread_axis == loop.thread_axis;
  };
  const For* nested = nullptr;
  for (const For* around : loops_of(path))
    if (same_axis(around)) nested = around;
  visit_stmts(loop.body, [&](const Stmt& stmt) {
    if (same_axis(as_for(stmt))) nested = as_for(stmt);
  });
  if (nested)
    return Conflict{fmt::format("loop {} of the same nest is bound to {} already", nested->var->name, axis->name),
                    "bind it to another axis, or fuse the loops"};

  std::map<std::string, std::int64_t> threads;
  std::optional<Conflict> conflict;
  visit_stmts(top_statement(path), [&](const Stmt& stmt) {
    const For* other = as_for(stmt);
    if (!other || other->kind != ForKind::thread) return;
    if (same_axis(other) && other->extent != loop.extent)
      conflict = Conflict{fmt::format("it has {} iterations, loop {} of the same kernel binds {} of them to {}",
                                      loop.extent, other->var->name, other->extent, axis->name),
                          "split both by one factor"};
    if (!is_block_axis(other->thread_axis))
      threads[other->thread_axis] = std::max(threads[other->thread_axis], other->extent);
  });
  if (conflict) return conflict;
  std::int64_t product = 1;
  for (const auto& [name, extent] : threads) product *= std::max<std::int64_t>(extent, 1);
  if (!is_block_axis(axis->name) && product > kMostThreads)
    return Conflict{
        fmt::format("the thread axes of the kernel would make {} threads, more than {}", product, kMostThreads),
        "split and bind a smaller loop"};

  if (is_block_axis(axis->name))
    for (auto at = std::find(path.begin(), path.end(), top_statement(path)); at != path.end(); ++at) {
      const For* around = as_for(*at);
      if (!around || around->kind != ForKind::thread || !is_block_axis(around->thread_axis))
        return Conflict{
            around
                ? fmt::format("loop {} around it is {}, but blocks cannot wait for one another between its iterations",
                              around->var->name,
                              around->kind == ForKind::thread ? "bound to " + around->thread_axis
                                                              : std::string(name(around->kind)))
                : "it shares the loop around it with other statements, for which blocks cannot wait",
            "bind the outermost loops of a nest to block axes, one right below the other"};
    }
  if (joins_threads(path)) return std::nullopt;
  return carried_dependence(program, path, intrinsics);
}

}  // namespace dovetail::schedule
