// A schedule under construction: the interface in which the sketches of all targets are written. It has the steps
// (`s`), also in forms that tolerate missing loops; queries about the program; decisions; and layouts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/schedule/parameter_layouts.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"

namespace dovetail::schedule {

// One of several numbers that are decided jointly. Its candidates may depend on the numbers before it.
struct Choice {
  std::string name;
  std::function<std::vector<std::int64_t>(std::span<const std::int64_t> before)> candidates;
};
// The estimated cost of a joint choice of values, in any unit; nullopt if the values do not fit the machine.
using Cost = std::function<std::optional<double>(std::span<const std::int64_t> values)>;

class Context {
 public:
  explicit Context(const Task& task, Deciding deciding = {});

  const Task& task;
  Schedule s;

  // ---- Decisions. Returns, and records, the value that the caller gave, else a drawn value or the analytic choice.
  // After an error, returns the analytic choice or the first candidate.

  // Precondition: `analytic` is one of the candidates.
  std::int64_t sample(const std::string& name, const std::vector<std::int64_t>& candidates, std::int64_t analytic);
  std::string sample(const std::string& name, const std::vector<std::string>& candidates, const std::string& analytic);
  // Factors of `extent`, outermost first.
  std::vector<std::int64_t> sample_factors(const std::string& name, std::int64_t extent,
                                           const std::vector<std::int64_t>& analytic);
  // Decides several numbers jointly: given ones as given, the others with the least cost (the first of equals), or
  // drawn among values that fit. `cost` is called only if a number is open, or given ones may not fit. Empty if nothing
  // fits; the caller reports why (Schedule::fail).
  std::vector<std::int64_t> sample(std::span<const Choice> choices, const std::function<Result<Cost>()>& cost);
  // The estimated cost of the last joint decision; nullopt if there was none, or all its numbers were given.
  std::optional<double> cost() const { return cost_; }

  // Schedule::kept() and take(), layouts included.
  KeptSteps kept() const;
  void take(const KeptSteps& kept);

  // ---- Questions

  std::vector<std::string> blocks() const;                   // in program order
  const loops::Block* block(const std::string& name) const;  // null where there is none; lives until the next step
  std::vector<std::string> loops_of(const std::string& block) const;   // around it, outermost first
  std::vector<std::string> own_loops(const std::string& block) const;  // those around it alone
  bool has_loop(const std::string& name) const;
  std::int64_t extent(const std::string& loop) const;  // 1 where there is no such loop
  std::string existing(const std::string& loop) const { return extent(loop) > 1 ? loop : ""; }
  std::vector<std::string> present(const std::vector<std::string>& loops) const;  // those that there are
  loops::Buffer buffer(const std::string& name) const;
  loops::Buffer written_by(const std::string& block) const;
  std::vector<loops::Region> reads_of(const std::string& block) const;  // copies: a step replaces the program

  // ---- Steps

  // Takes a step as a trace has it: a sample is decided, and the layout of a parameter is recorded.
  void replay(const Step& step);
  // Takes a step that may be refused; whether it was taken.
  bool attempt(const std::string& primitive, std::vector<std::string> arguments, std::vector<std::string> results = {});
  // Splits `loop` by `factor` unless that is its extent or more; returns {outer or "", inner}.
  std::pair<std::string, std::string> tile(const std::string& loop, std::int64_t factor);
  // Splits `loop`, if it is there, into loops of these names.
  void split(const std::string& loop, std::int64_t factor, const std::string& outer, const std::string& inner);
  // Splits `loop` into vectors (of at most `lanes`) and vectorizes the inner part; returns the outer part, if any.
  std::string vectorize(const std::string& loop, std::int64_t lanes);
  void unroll(const std::string& loop);          // nothing for "" or one iteration
  void reorder(std::vector<std::string> loops);  // "" are left out
  // Moves those of these loops that exist in the nest around `block` to its innermost positions.
  void move_inside(const std::string& block, const std::vector<std::string>& innermost);
  // Fuses loops of one perfect nest, outermost first, into one loop that runs on all threads; if that cannot be proven
  // legal, parallelizes the longest loop.
  void parallel(const std::vector<std::string>& loops);
  // Replaces the nest at `at`, a loop or a block, by the first intrinsic that it matches.
  void tensorize(const std::string& at);
  // Combines everything after block `main` into one elementwise block, which is returned: `main` then writes a buffer
  // in scope `scope`, from which the block computes the result. If nothing follows `main`, the block copies.
  std::string gather_epilogue(const std::string& main, const std::string& scope);

  // ---- Layouts

  // The layout of a parameter or intermediate buffer; nothing for "". Repeated requests must agree.
  void lay_out(const std::string& buffer, const std::string& index_map);
  // Whether a parameter has the layout that the task requires, but could have another one.
  void follow_layout(const std::string& parameter);

  // Returns the schedule; error if `given` has a decision that was never sampled.
  Result<Scheduled> finish() const;

 private:
  // The word given for a sample, null where it is left open.
  const std::string* given(const std::string& name, const Space& space) const;
  std::string record(const std::string& name, const Space& space, const std::string& analytic);
  // With so many cheaper ones; empty where fewer fit.
  std::vector<std::int64_t> least(std::span<const Choice> choices, const Cost& cost, std::size_t rank);
  std::vector<std::int64_t> drawn(std::span<const Choice> choices, const Cost& cost);

  Deciding deciding_;
  std::optional<double> cost_;
  std::set<std::string> follows_;
  std::map<std::string, std::string> layouts_;
  ParameterLayouts replayed_;  // the layouts by replay()
};

}  // namespace dovetail::schedule
