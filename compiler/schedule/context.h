// A schedule in the making: the vocabulary in which the sketches of all targets are written. It has the steps (`s`), in
// forms that forgive loops which are not there; questions about the program; decisions; and layouts.
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

#include "compiler/schedule/schedule.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"

namespace dovetail::schedule {

// One of several numbers that are decided together. Its candidates may depend on those before it.
struct Choice {
  std::string name;
  std::function<std::vector<std::int64_t>(std::span<const std::int64_t> before)> candidates;
};
// What values of all choices are thought to cost, in any unit; nullopt where they do not fit the machine.
using Cost = std::function<std::optional<double>(std::span<const std::int64_t> values)>;

class Context {
 public:
  explicit Context(const Task& task, Deciding deciding = {});

  const Task& task;
  Schedule s;

  // ---- Decisions. What the caller gave, else what is drawn or the analytic choice; it is recorded, and returned.
  // After an error the analytic choice, or the first candidate, is returned.

  // Precondition: `analytic` is one of the candidates.
  std::int64_t sample(const std::string& name, const std::vector<std::int64_t>& candidates, std::int64_t analytic);
  std::string sample(const std::string& name, const std::vector<std::string>& candidates, const std::string& analytic);
  // Factors of `extent`, outermost first.
  std::vector<std::int64_t> sample_factors(const std::string& name, std::int64_t extent,
                                           const std::vector<std::int64_t>& analytic);
  // Several together: those given as given, the others such that the cost is least, the first of equals, or drawn among
  // values that fit. `cost` is made where something is left open, or it is not certain that what is given fits. Empty
  // where nothing fits; the caller says why (Schedule::fail).
  std::vector<std::int64_t> sample(std::span<const Choice> choices, const std::function<Result<Cost>()>& cost);
  // What those decided together last are thought to cost; nullopt where none were, or they were all given.
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

  // Takes a step that may be refused; whether it was taken.
  bool attempt(const std::string& primitive, std::vector<std::string> arguments, std::vector<std::string> results = {});
  // Splits `loop` by `factor` unless that is its extent or more; returns {outer or "", inner}.
  std::pair<std::string, std::string> tile(const std::string& loop, std::int64_t factor);
  // Splits `loop`, if it is there, into loops of these names.
  void split(const std::string& loop, std::int64_t factor, const std::string& outer, const std::string& inner);
  // Splits `loop` into vectors (of `lanes` at most) and vectorizes the inner part; the outer part, if any, is returned.
  std::string vectorize(const std::string& loop, std::int64_t lanes);
  void unroll(const std::string& loop);          // nothing for "" or one iteration
  void reorder(std::vector<std::string> loops);  // "" are left out
  // Moves these loops of the nest around `block`, as far as they are there, to its innermost places.
  void move_inside(const std::string& block, const std::vector<std::string>& innermost);
  // Fuses loops of one perfect nest, outermost first, into one that runs on all threads; where that cannot be proven,
  // the longest does.
  void parallel(const std::vector<std::string>& loops);
  // Replaces the nest at `at`, a loop or a block, by the first intrinsic that it unifies with.
  void tensorize(const std::string& at);
  // Gathers everything after block `main` into one elementwise block: what `main` writes is then a buffer in scope
  // `scope`, and the block returned turns it into the result. Copies where nothing follows `main`.
  std::string gather_epilogue(const std::string& main, const std::string& scope);

  // ---- Layouts

  // The layout of a parameter or intermediate buffer; nothing for "". Repeated requests must agree.
  void lay_out(const std::string& buffer, const std::string& index_map);
  // A parameter is stored as the task asks for it, and might be stored otherwise.
  void follow_layout(const std::string& parameter);

  // What came of it, and an error where `given` has a decision that was never sampled.
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
};

}  // namespace dovetail::schedule
