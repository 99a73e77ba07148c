// What schedule functions of the CPU share: a schedule in the making, the layouts it decided, and the names of its
// blocks and loops.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/fuse/fuse.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/default_schedule.h"

namespace dovetail::cpu {

class Builder {
 public:
  Builder(const FusedGroup& group, const GroupLayouts& layouts, const Cpu& cpu);

  schedule::Schedule s;
  const Cpu& cpu;

  // Takes a step that may be refused; whether it was taken.
  bool attempt(const std::string& primitive, std::vector<std::string> arguments, std::vector<std::string> results = {});

  std::vector<std::string> blocks() const;                   // in program order
  const loops::Block* block(const std::string& name) const;  // null where there is none; lives until the next step
  std::vector<std::string> loops_of(const std::string& block) const;   // around it, outermost first
  std::vector<std::string> own_loops(const std::string& block) const;  // those around it alone
  std::int64_t extent(const std::string& loop) const;                  // 1 where there is no such loop
  std::string existing(const std::string& loop) const { return extent(loop) > 1 ? loop : ""; }
  loops::Buffer buffer(const std::string& name) const;
  loops::Buffer written_by(const std::string& block) const;
  std::vector<loops::Region> reads_of(const std::string& block) const;  // copies: a step replaces the program

  // The layout of a parameter or intermediate buffer. Repeated requests for a parameter must agree.
  void lay_out(const std::string& buffer, const std::string& index_map);
  // Arguments and results lie as they were asked for, and all images between them channels-last where one of those
  // does.
  void follow_layouts();
  // The same for one argument: it lies as it was asked for.
  void follow_layout(const std::string& argument);

  // Makes the activations of integer block `main` unsigned (compiler/target/cpu/shift_activations.h) and corrects the
  // bias, which must be a constant added behind it; before the first step of the schedule. Whether that could be done.
  bool shift_activations(const std::string& main, std::int64_t channels = 1);
  // Writes down that the accumulator of integer block `main` stays below kSmallAccumulator where its weights and bias
  // say so, as a clamp that changes nothing: requantisation is then a few operations of binary64. Before the first
  // step.
  void bound_accumulator(const std::string& main, const std::string& weights);

  // Gathers everything behind block `main` into one elementwise block: what `main` writes is then a buffer in scope
  // `scope`, and the block returned turns it into the result. Copies where nothing follows `main`.
  std::string gather_epilogue(const std::string& main, const std::string& scope);

  // Splits `loop` by `factor` unless that is its extent or more; returns {outer or "", inner}.
  std::pair<std::string, std::string> tile(const std::string& loop, std::int64_t factor);
  // Splits `loop` into vectors (of `lanes` at most) and vectorizes the inner part; the outer part, if any, is returned.
  std::string vectorize(const std::string& loop, std::int64_t lanes);
  void unroll(const std::string& loop);          // nothing for ""
  void reorder(std::vector<std::string> loops);  // "" are left out
  // Fuses loops of one perfect nest, outermost first, into one that runs on all threads.
  void parallel(const std::vector<std::string>& loops);

  ScheduledGroup finish(std::string kind) const;

 private:
  std::optional<std::size_t> argument(const std::string& name) const;  // position of a parameter
  std::optional<std::size_t> bias_of(const std::string& main) const;  // of the constant that is added to its int32 sums

  const FusedGroup& group_;
  const GroupLayouts& given_;
  std::set<std::string> follows_;               // parameters that lie as they were asked for
  std::map<std::string, std::string> layouts_;  // by parameter
  std::map<std::size_t, NdArray> constants_;    // arguments whose value is another than the group's
};

std::int64_t largest_divisor(std::int64_t value, std::int64_t at_most);
// Elements at multiples of that distance fall into one or two sets of the first level and evict each other.
bool crowds_sets(std::int64_t distance_bytes, const Cpu& cpu);

}  // namespace dovetail::cpu
