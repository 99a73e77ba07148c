#include "driver/kernels/legal_steps.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/schedule.h"
#include "driver/kernels/loop_tree.h"
#include "loops/rewrite.h"

namespace dovetail::driver {

namespace {

struct LoopFacts {
  std::string name;
  std::int64_t extent;
  std::vector<std::string> inside;  // the loops around it
};
struct BlockFacts {
  std::string name;
  std::vector<std::string> inside, reads, writes, iterators;
};

// The loops and blocks of a program, in its order.
struct Contents {
  std::vector<LoopFacts> loops;
  std::vector<BlockFacts> blocks;

  explicit Contents(const loops::Program& program) {
    std::vector<std::string> around;
    add(program.body, around);
  }

 private:
  void add(const loops::Stmt& stmt, std::vector<std::string>& around) {
    if (!stmt) return;
    if (const auto* loop = std::get_if<loops::For>(&stmt->node)) {
      loops.push_back({loop->var->name, loop->extent, around});
      around.push_back(loop->var->name);
      add(loop->body, around);
      around.pop_back();
    } else if (const auto* block = std::get_if<loops::Block>(&stmt->node)) {
      BlockFacts facts{block->name, around, {}, {}, {}};
      for (const loops::Region& region : block->reads) facts.reads.push_back(region.buffer->name);
      for (const loops::Region& region : block->writes) facts.writes.push_back(region.buffer->name);
      for (const loops::Iterator& iterator : block->iterators) facts.iterators.push_back(iterator.var->name);
      blocks.push_back(std::move(facts));
    } else if (const auto* sequence = std::get_if<loops::Sequence>(&stmt->node)) {
      for (const loops::Stmt& each : sequence->body) add(each, around);
    } else if (const auto* branch = std::get_if<loops::If>(&stmt->node)) {
      add(branch->then_body, around);
      add(branch->else_body, around);
    }
  }
};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<loops::Buffer> buffers_of(const loops::Program& program) {
  std::vector<loops::Buffer> buffers;
  for (const loops::Parameter& parameter : program.parameters) buffers.push_back(parameter.buffer);
  buffers.insert(buffers.end(), program.allocations.begin(), program.allocations.end());
  return buffers;
}

// Tries steps on copies of one program.
class Trial {
 public:
  explicit Trial(const LoopProgram& program) : program_(program) {}

  void step(std::string primitive, std::vector<std::string> arguments) {
    schedule::Schedule copy = program_.schedule();
    const std::string text = schedule::to_string(schedule::Step{primitive, arguments, {}});
    if (!tried_.insert(text).second) return;
    if (copy.apply({std::move(primitive), std::move(arguments), {}}).ok())
      accepted.push_back({text, count_loops(copy.program())});
  }

  std::vector<Suggestion> accepted;

 private:
  const LoopProgram& program_;
  std::set<std::string> tried_;
};

// Memories in which steps may put a buffer: those of other buffers, and those from which an intrinsic takes operands of
// its type.
std::vector<std::string> scopes_for(const LoopProgram& program, const loops::Buffer& buffer) {
  std::vector<std::string> scopes;
  const auto add = [&](const std::string& scope) {
    if (!contains(scopes, scope)) scopes.push_back(scope);
  };
  for (const loops::Buffer& each : program.program().allocations) add(each->scope);
  add("global");
  for (const loops::Intrinsic& intrinsic : *program.intrinsics())
    for (std::size_t i = 0; i < intrinsic.scopes.size() && i < intrinsic.semantics.parameters.size(); ++i)
      if (!intrinsic.scopes[i].empty() && intrinsic.semantics.parameters[i].buffer->dtype == buffer->dtype)
        add(intrinsic.scopes[i]);
  return scopes;
}

// The steps that copy a buffer before or after a block.
void try_caches(Trial& trial, const LoopProgram& program, const std::string& block, const loops::Buffer& buffer,
                bool reads, bool writes) {
  for (const std::string& scope : scopes_for(program, buffer)) {
    if (reads) trial.step("cache_read", {block, buffer->name, scope});
    if (writes) trial.step("cache_write", {block, buffer->name, scope});
  }
  if (reads) trial.step("reindex", {block, buffer->name});
}

void try_tensorize(Trial& trial, const LoopProgram& program, const std::string& at) {
  for (const loops::Intrinsic& intrinsic : *program.intrinsics()) trial.step("tensorize", {at, intrinsic.name});
}

// Factors of a loop: powers of two below its extent, those that divide it first.
std::vector<std::string> factors_of(std::int64_t extent) {
  std::vector<std::string> exact, others;
  for (const std::int64_t factor : {2, 4, 8, 16, 32, 64})
    if (factor < extent) (extent % factor == 0 ? exact : others).push_back(std::to_string(factor));
  if (exact.empty()) return others;
  return exact;
}

void try_at_loop(Trial& trial, const LoopProgram& program, const Contents& contents, const LoopFacts& loop) {
  const std::string& name = loop.name;
  for (const std::string& factor : factors_of(loop.extent)) trial.step("split", {name, factor});
  for (const LoopFacts& other : contents.loops) {
    if (other.name == name) continue;
    trial.step("fuse", {name, other.name});
    trial.step("merge", {name, other.name});
    if (contains(other.inside, name)) trial.step("reorder", {other.name, name});
    if (contains(loop.inside, other.name)) trial.step("reorder", {name, other.name});
  }
  for (const char* kind : {"parallel", "vectorize", "unroll", "vthread", "blockize"}) trial.step(kind, {name});
  trial.step("pipeline", {name, "2"});
  for (const char* axis : {"block.x", "block.y", "thread.x", "thread.y"}) trial.step("bind", {name, axis});
  try_tensorize(trial, program, name);
  for (const BlockFacts& block : contents.blocks) {
    if (contains(block.inside, name)) {
      trial.step("decompose_reduction", {block.name, name});
      trial.step("rfactor", {block.name, name});
    } else {
      trial.step("compute_at", {block.name, name});
      trial.step("reverse_compute_at", {block.name, name});
    }
  }
}

void try_at_buffer(Trial& trial, const LoopProgram& program, const Contents& contents, const loops::Buffer& of) {
  const std::string& buffer = of->name;
  const std::size_t rank = of->shape.size();
  for (const std::string& scope : scopes_for(program, of)) trial.step("set_scope", {buffer, scope});
  trial.step("slots", {buffer, "2"});
  for (const BlockFacts& block : contents.blocks)
    try_caches(trial, program, block.name, of, contains(block.reads, buffer), contains(block.writes, buffer));
  if (rank < 2) return;
  // The last two dimensions exchanged; and blocks of the last one.
  std::vector<std::string> axes;
  for (std::size_t d = 0; d < rank; ++d) axes.push_back(fmt::format("i{}", d));
  const std::string last = axes.back();
  std::vector<std::string> blocked = axes;
  std::swap(axes[rank - 1], axes[rank - 2]);
  trial.step("transform_layout", {buffer, fmt::format("{}", fmt::join(axes, ","))});
  blocked.back() = last + "/16";
  trial.step("transform_layout", {buffer, fmt::format("{},{}%16", fmt::join(blocked, ","), last)});
}

void try_at_block(Trial& trial, const LoopProgram& program, const Contents& contents, const BlockFacts& block) {
  trial.step("inline", {block.name});
  trial.step("reverse_inline", {block.name});
  for (const LoopFacts& loop : contents.loops) {
    if (contains(block.inside, loop.name)) {
      trial.step("decompose_reduction", {block.name, loop.name});
      trial.step("rfactor", {block.name, loop.name});
    } else {
      trial.step("compute_at", {block.name, loop.name});
      trial.step("reverse_compute_at", {block.name, loop.name});
    }
  }
  for (const loops::Buffer& buffer : buffers_of(program.program()))
    try_caches(trial, program, block.name, buffer, contains(block.reads, buffer->name),
               contains(block.writes, buffer->name));
  for (const std::string& iterator : block.iterators) trial.step("pad", {block.name, iterator, "16"});
  trial.step("matrix_form", {block.name, "16", "16", "16"});
  trial.step("stream_k", {block.name, "16", "16", "16", "2"});
  trial.step("online_softmax", {block.name, "1", "16", "16", "1", "16"});
  try_tensorize(trial, program, block.name);
}

}  // namespace

std::vector<std::string> legal_kinds(const LoopProgram& program) {
  Trial trial(program);
  for (const LoopFacts& loop : Contents(program.program()).loops) {
    trial.step("vectorize", {loop.name});
    trial.step("parallel", {loop.name});
    try_tensorize(trial, program, loop.name);
  }
  std::vector<std::string> steps;
  for (const Suggestion& each : trial.accepted) steps.push_back(each.step);
  return steps;
}

StepEffect effect_of(const LoopProgram* before, const LoopProgram& after) {
  StepEffect effect;
  effect.after = count_loops(after.program());
  const std::vector<std::string> now = legal_kinds(after);
  if (before == nullptr) {
    effect.now_legal = now;
    return effect;
  }
  effect.step = schedule::to_string(after.schedule().trace().back());
  effect.before = count_loops(before->program());
  const std::vector<std::string> then = legal_kinds(*before);
  std::ranges::copy_if(now, std::back_inserter(effect.now_legal), [&](const auto& s) { return !contains(then, s); });
  std::ranges::copy_if(then, std::back_inserter(effect.no_longer_legal),
                       [&](const auto& s) { return !contains(now, s); });
  return effect;
}

Result<std::vector<Suggestion>> suggest(const LoopProgram& program, const std::string& name) {
  const Contents contents(program.program());
  Trial trial(program);
  bool known = false;
  for (const LoopFacts& loop : contents.loops)
    if (loop.name == name) try_at_loop(trial, program, contents, loop), known = true;
  for (const BlockFacts& block : contents.blocks)
    if (block.name == name) try_at_block(trial, program, contents, block), known = true;
  for (const loops::Buffer& buffer : buffers_of(program.program()))
    if (buffer->name == name) try_at_buffer(trial, program, contents, buffer), known = true;
  if (known) return std::move(trial.accepted);
  std::vector<std::string> names;
  for (const LoopFacts& loop : contents.loops) names.push_back(loop.name);
  for (const BlockFacts& block : contents.blocks) names.push_back(block.name);
  return Diagnostic{"cannot suggest steps", name, "the program has no loop, block or buffer of this name",
                    fmt::format("its loops and blocks are {}", fmt::join(names, ", "))};
}

}  // namespace dovetail::driver
