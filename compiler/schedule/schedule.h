// Schedules: checked rewrites of loop programs that keep their meaning (float reductions may be reassociated, nothing
// else). A schedule is its trace: a list of steps in text that names loops, blocks and buffers, and names what each
// step creates. The tuner's record, a user's script and a test's input are the same thing.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::schedule {

// "split conv.o 16 -> conv.o_0 conv.o_1": one line of a trace. Words hold no blanks.
struct Step {
  std::string primitive;
  std::vector<std::string> arguments;
  std::vector<std::string> results;  // names given to what the step creates; empty: the primitive's default names
  bool operator==(const Step&) const = default;
};
std::string to_string(const Step& step);
std::string to_string(std::span<const Step> trace);
Result<std::vector<Step>> parse_trace(std::string_view text, std::string_view where);  // '#' begins a comment

// A row of the list in primitives/all.cpp. `apply` sees a verified program and a step whose argument count lies in the
// given range; it returns the rewritten program or says which rule forbids the step. It fills in step.results where
// they were left to it.
struct Primitive {
  std::string_view name;
  std::string_view signature;  // for help and diagnostics: "split LOOP FACTOR -> OUTER INNER"
  std::size_t min_arguments, max_arguments;
  std::size_t results;  // how many names a step may give to what it creates
  Result<loops::Program> (*apply)(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
};
std::span<const Primitive> all_primitives();
const Primitive* find_primitive(std::string_view name);

// A program under transformation and the trace that led to it. A refused step leaves both unchanged.
class Schedule {
 public:
  // `intrinsics` must outlive the schedule; what tensorize may name.
  Schedule(loops::Program program, const loops::IntrinsicTable& intrinsics);

  const loops::Program& program() const { return program_; }
  const std::vector<Step>& trace() const { return trace_; }

  Result<void> apply(Step step);
  Result<void> replay(std::span<const Step> trace);

  // Shorthands for apply. Errors are kept: after the first refused step the others do nothing, and status() reports
  // which step and why, so that schedule functions read as a list of steps.
  Schedule& split(const std::string& loop, std::int64_t factor, const std::string& outer, const std::string& inner);
  Schedule& split(const std::string& loop, const std::string& factor, const std::string& outer,
                  const std::string& inner);  // "$tile"
  Schedule& fuse(const std::string& outer, const std::string& inner, const std::string& fused);
  Schedule& reorder(const std::vector<std::string>& loops);
  Schedule& unroll(const std::string& loop);
  Schedule& vectorize(const std::string& loop);
  Schedule& parallel(const std::string& loop);
  Schedule& blockize(const std::string& loop, const std::string& block);
  Schedule& bind(const std::string& loop, const std::string& axis);
  Schedule& vthread(const std::string& loop);
  Schedule& pipeline(const std::string& loop, std::int64_t stages);
  Schedule& compute_at(const std::string& block, const std::string& loop);
  Schedule& reverse_compute_at(const std::string& block, const std::string& loop);
  Schedule& inline_block(const std::string& block);
  Schedule& reverse_inline(const std::string& block);
  Schedule& cache_read(const std::string& block, const std::string& buffer, const std::string& scope,
                       const std::string& cached);
  Schedule& cache_write(const std::string& block, const std::string& buffer, const std::string& scope,
                        const std::string& cached);
  Schedule& reindex(const std::string& block, const std::string& buffer, const std::string& reindexed);
  Schedule& pad(const std::string& block, const std::string& iterator, std::int64_t multiple);
  Schedule& rfactor(const std::string& block, const std::string& loop, const std::string& partial);
  Schedule& set_scope(const std::string& buffer, const std::string& scope);
  Schedule& transform_layout(const std::string& buffer, const std::string& index_map);
  Schedule& decompose_reduction(const std::string& block, const std::string& loop, const std::string& init_block);
  Schedule& tensorize(const std::string& loop, const std::string& intrinsic);
  Schedule& annotate(const std::string& loop_or_block, const std::string& key, const std::string& value);
  // Decides NAME: as preset by decide(), else the first candidate. Later steps write "$NAME"; the value is returned as
  // well, for what depends on it (1 where the step is refused).
  std::int64_t sample(const std::string& name, const std::vector<std::int64_t>& candidates);
  void decide(std::map<std::string, std::int64_t> decisions) { presets_ = std::move(decisions); }
  Result<void> status() const { return errors_; }

 private:
  Schedule& step(std::string primitive, std::vector<std::string> arguments, std::vector<std::string> results = {});

  loops::Program program_;
  const loops::IntrinsicTable* intrinsics_;
  std::vector<Step> trace_;
  std::map<std::string, std::int64_t> presets_;
  Diagnostics errors_;
};

}  // namespace dovetail::schedule
