// Chooses the task of a network to tune next: the one whose next trials promise the largest reduction of the network's
// latency. Deterministic: a function of the reported results, without clock or random numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace dovetail::tune {

struct AllocationOptions {
  // A task that has not gained `least_gain` (a share of its best cost) in this many trials has stagnated. 0: never.
  std::size_t patience_trials = 128;
  double least_gain = 0.005;
  // Ansor's gradient (Zheng et al., OSDI 2020, section 6 and appendix A): weight of the recent gain against the
  // possible gain.
  double recent_share = 0.2;
  std::size_t window = 3;  // number of recent batches
  // One batch out of this many goes to the task with the fewest trials, whatever its expected gain. 0: none.
  std::size_t fair_turn = 20;
};

// Tasks are numbered in the order given to the constructor.
class Allocation {
 public:
  struct Share {
    double weight = 1;        // how often the network runs the task
    double default_cost = 0;  // in the same unit for all tasks; infinity: not known yet
  };
  enum class State : unsigned char {
    open,
    stagnated,  // stopped early
    exhausted,  // its search has no more candidates
  };

  explicit Allocation(const std::vector<Share>& tasks, AllocationOptions options = {});

  // At first every task gets one batch, the most expensive tasks of the network first. nullopt: no task is open.
  std::optional<std::size_t> next() const;
  // Reports a batch: its number of trials, and the cost of the task's best candidate so far (including the default).
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
    std::size_t gained_at = 0;  // number of trials at the last sufficient gain
    double cost_then;
  };

  bool fair_turn_is_due() const;

  AllocationOptions options_;
  std::vector<Task> tasks_;
  std::size_t batches_ = 0;
};

}  // namespace dovetail::tune
