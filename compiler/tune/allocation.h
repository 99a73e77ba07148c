// Which task of a network is tuned next: the one whose next trials promise the largest gain in the network's time. No
// clock and no chance: a function of what it was told.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace dovetail::tune {

struct AllocationOptions {
  // A task that has not gained `least_gain` (a share of its best cost) in so many trials has stagnated. 0: never.
  std::size_t patience_trials = 128;
  double least_gain = 0.005;
  // Ansor's gradient (Zheng et al., OSDI 2020, section 6 and appendix A): what the recent past promises, against what
  // is possible at all.
  double recent_share = 0.2;
  std::size_t window = 3;  // batches that count as the recent past
  // One batch in so many goes to the task with the fewest trials, whatever it promises. 0: none does.
  std::size_t fair_turn = 20;
};

// By the order in which tasks were given.
class Allocation {
 public:
  struct Share {
    double weight = 1;        // how often the network runs the task
    double default_cost = 0;  // in one unit for all tasks; infinity: not known yet
  };
  enum class State : unsigned char {
    open,
    stagnated,  // stopped early
    exhausted,  // its search has no further candidates
  };

  explicit Allocation(const std::vector<Share>& tasks, AllocationOptions options = {});

  // At first every task gets one batch, those first in which the network spends most. nullopt: none is open any more.
  std::optional<std::size_t> next() const;
  // What a batch gave: how many trials, and what the task's best candidate costs now (the default included).
  void learn(std::size_t task, std::size_t trials, double best_cost);
  void exhausted(std::size_t task);

  State state(std::size_t task) const { return tasks_[task].state; }
  std::size_t trials(std::size_t task) const { return tasks_[task].history.back().trials; }
  // Expected gain of the next trial, in the network's cost.
  double gain(std::size_t task) const;
  // Sum of weight * best cost of the tasks whose cost is known.
  double network_cost() const;

 private:
  struct Entry {
    std::size_t trials;
    double best_cost;
  };
  struct Task {
    double weight;
    std::vector<Entry> history;  // after each batch; the first: the default
    State state = State::open;
    std::size_t gained_at = 0;  // trials, when the best last became better by enough
    double cost_then;
  };

  bool fair_turn_is_due() const;

  AllocationOptions options_;
  std::vector<Task> tasks_;
  std::size_t batches_ = 0;
};

}  // namespace dovetail::tune
