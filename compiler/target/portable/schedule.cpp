#include "compiler/target/portable/schedule.h"

#include <algorithm>
#include <optional>

#include "bundle/code/cpu.h"
#include "compiler/schedule/context.h"
#include "compiler/schedule/task.h"
#include "loops/rewrite.h"

namespace dovetail::portable {

using namespace loops;

namespace {

constexpr std::string_view kReduction = "reduction", kElementwise = "elementwise", kNone = "none";

std::vector<std::string> reductions(const schedule::Context& c) {
  std::vector<std::string> names;
  for (const std::string& name : c.blocks())
    if (c.block(name)->init) names.push_back(name);
  return names;
}

int readers(const schedule::Context& c, const Buffer& buffer) {
  int count = 0;
  for (const std::string& name : c.blocks())
    for (const Region& read : c.block(name)->reads) count += read.buffer == buffer;
  return count;
}

// A chain of elementwise blocks becomes one block.
void join_elementwise(schedule::Context& c) {
  for (const std::string& name : c.blocks()) {
    const Block& block = *c.block(name);
    if (block.init || block.writes.size() != 1 || readers(c, block.writes.front().buffer) != 1) continue;
    bool reduces = false;  // its reader computes each element several times
    for (const std::string& other : c.blocks())
      for (const Region& read : c.block(other)->reads)
        reduces |= read.buffer == block.writes.front().buffer && c.block(other)->init != nullptr;
    if (!reduces) c.attempt("inline", {name});
  }
}

// One block that reduces, with what is elementwise before and after it: a convolution, a matrix product, a pooling. The
// sums of a tile are in registers, and the blocks after it compute their results from there.
bool write_reduction(schedule::Context& c) {
  const std::vector<std::string> all = reductions(c);
  if (all.size() != 1) return false;
  const std::string main = all.front();
  const Block& block = *c.block(main);
  if (block.writes.size() != 1) return false;
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind == IterKind::ordered || iterator.extent == 0) return false;
  const std::vector<std::string> loops = c.own_loops(main);
  const auto spatial = static_cast<std::size_t>(std::ranges::count_if(
      block.iterators, [](const Iterator& iterator) { return iterator.kind == IterKind::spatial; }));
  if (loops.size() != block.iterators.size() || spatial == 0 || spatial == loops.size()) return false;
  const std::vector<std::string> names = c.blocks();
  const std::vector<std::string> before(names.begin(), std::ranges::find(names, main));

  const std::string last = c.gather_epilogue(main, "register");
  const std::string innermost = loops[spatial - 1];
  c.s.reverse_compute_at(last, innermost);
  if (!c.s.status().ok()) return true;
  // A padded image: the rows that the window needs, for each row of results.
  if (spatial >= 3)
    for (const std::string& name : before) c.attempt("compute_at", {name, loops[spatial - 2]});
  return true;
}

bool write_elementwise(schedule::Context& c) {
  join_elementwise(c);
  return true;
}

}  // namespace

PortableSchedule schedule_portable(const Program& program) {
  schedule::Task task;
  task.target = bundle::kCpuTarget;
  task.program = program;
  for (const auto& [kind, write] : {std::pair{kReduction, &write_reduction}, {kElementwise, &write_elementwise}}) {
    schedule::Context c(task);
    if (!write(c)) continue;
    if (auto scheduled = c.finish(); scheduled.ok())
      return {std::move(scheduled->program), std::move(scheduled->trace), std::string(kind)};
  }
  return {program, {}, std::string(kNone)};
}

}  // namespace dovetail::portable
