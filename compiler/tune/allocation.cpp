#include "compiler/tune/allocation.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace dovetail::tune {

Allocation::Allocation(const std::vector<Share>& tasks, AllocationOptions options) : options_(options) {
  for (const Share& share : tasks)
    tasks_.push_back({share.weight, {{0, share.default_cost}}, State::open, 0, share.default_cost});
}

// Optimistic estimate: the gain per trial stays the same, so that as many trials again would remove the whole cost.
double Allocation::gain(std::size_t task) const {
  const auto& [weight, history, state, gained_at, cost_then] = tasks_[task];
  const Entry& now = history.back();
  if (state != State::open || !std::isfinite(now.best_cost)) return 0;
  const Entry& before = history[history.size() - std::min(history.size(), options_.window + 1)];
  const double spent = static_cast<double>(now.trials - before.trials);
  const bool has_slope = spent > 0 && std::isfinite(before.best_cost);
  const double recent = has_slope ? (before.best_cost - now.best_cost) / spent : 0;
  const double possible = now.best_cost / static_cast<double>(std::max<std::size_t>(1, now.trials));
  return weight * (options_.recent_share * recent + (1 - options_.recent_share) * possible);
}

bool Allocation::fair_turn_is_due() const { return options_.fair_turn > 0 && (batches_ + 1) % options_.fair_turn == 0; }

std::optional<std::size_t> Allocation::next() const {
  std::optional<std::size_t> best;
  const auto take_if = [&](std::size_t task, const auto& better) {
    if (tasks_[task].state == State::open && (!best || better(task, *best))) best = task;
  };
  const auto spent_in = [&](std::size_t task) { return tasks_[task].weight * tasks_[task].history.back().best_cost; };
  for (std::size_t task = 0; task < tasks_.size(); ++task)
    if (trials(task) == 0) take_if(task, [&](std::size_t a, std::size_t b) { return spent_in(a) > spent_in(b); });
  if (best) return best;
  const bool fair = fair_turn_is_due();
  for (std::size_t task = 0; task < tasks_.size(); ++task)
    take_if(task, [&](std::size_t a, std::size_t b) { return fair ? trials(a) < trials(b) : gain(a) > gain(b); });
  return best;
}

void Allocation::learn(std::size_t task, std::size_t trials, double best_cost) {
  DOVETAIL_CHECK(task < tasks_.size(), "unknown task");
  Task& each = tasks_[task];
  ++batches_;
  const Entry last = each.history.back();
  each.history.push_back({last.trials + trials, std::min(last.best_cost, best_cost)});
  const Entry& now = each.history.back();
  if (now.best_cost < each.cost_then * (1 - options_.least_gain)) {
    each.gained_at = now.trials;
    each.cost_then = now.best_cost;
  } else if (options_.patience_trials > 0 && now.trials - each.gained_at >= options_.patience_trials &&
             each.state == State::open) {
    each.state = State::stagnated;
  }
}

void Allocation::exhausted(std::size_t task) {
  DOVETAIL_CHECK(task < tasks_.size(), "unknown task");
  tasks_[task].state = State::exhausted;
}

double Allocation::network_cost() const {
  double sum = 0;
  for (const Task& task : tasks_)
    if (std::isfinite(task.history.back().best_cost)) sum += task.weight * task.history.back().best_cost;
  return sum;
}

}  // namespace dovetail::tune
