// Which task gets the next batch, and which gets none.
#include "compiler/tune/allocation.h"

#include <cmath>
#include <limits>
#include <map>

#include "tests/catch.h"

using dovetail::tune::Allocation;
using dovetail::tune::AllocationOptions;
using State = Allocation::State;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

AllocationOptions without_fair_turns() {
  AllocationOptions options;
  options.fair_turn = 0;
  return options;
}

}  // namespace

TEST_CASE("allocation: at first every task gets a batch, the most expensive first") {
  Allocation allocation({{1, 100}, {10, 50}, {1, 300}});
  std::vector<std::size_t> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(*allocation.next());
    allocation.learn(order.back(), 16, 1);
  }
  CHECK(order == std::vector<std::size_t>{1, 2, 0});
}

TEST_CASE("allocation: the task with the largest expected gain is next, by weight, cost and recent slope") {
  Allocation weights({{1, 100}, {3, 100}}, without_fair_turns());
  for (const std::size_t task : {0, 1}) weights.learn(task, 16, 90);
  CHECK(weights.next() == 1);

  Allocation slopes({{1, 100}, {1, 100}}, without_fair_turns());
  slopes.learn(0, 16, 60);  // larger gain, but less is left
  slopes.learn(1, 16, 60);
  slopes.learn(0, 16, 59);
  slopes.learn(1, 16, 40);
  CHECK(slopes.gain(0) > 0);
  CHECK(slopes.next() == (slopes.gain(0) > slopes.gain(1) ? 0 : 1));
  CHECK(slopes.gain(1) == Approx(0.2 * 60 / 32 + 0.8 * 40 / 32));  // (100 - 40) / 32 trials; 40 left
}

TEST_CASE("allocation: trials go where the network's time is") {
  // Each halving of a task's remaining gain takes as many trials as the previous one.
  const std::vector<Allocation::Share> shares{{1, 1000}, {4, 1000}, {1, 10}};
  Allocation allocation(shares);
  std::map<std::size_t, std::size_t> trials;
  for (int i = 0; i < 60; ++i) {
    const auto task = allocation.next();
    REQUIRE(task);
    trials[*task] += 8;
    const double n = static_cast<double>(trials[*task]);
    allocation.learn(*task, 8, shares[*task].default_cost * (0.5 + 0.5 / (1 + n / 32)));
  }
  CHECK(trials[1] > trials[0]);
  CHECK(trials[0] > trials[2]);
  CHECK(trials[2] >= 8);
  CHECK(allocation.network_cost() < 5010);
}

TEST_CASE("allocation: stagnating and exhausted tasks are stopped, until there is none") {
  AllocationOptions options;
  options.patience_trials = 32;
  Allocation allocation({{100, 1000}, {1, 10}}, options);
  double cost = 10;
  std::size_t first = 0;
  for (int i = 0; i < 40; ++i) {
    const auto task = allocation.next();
    REQUIRE(task);
    if (*task == 0) first += 8;
    allocation.learn(*task, 8, *task == 0 ? 999.9 : cost *= 0.9);  // the first gains too little
  }
  CHECK(first == 32);
  CHECK(allocation.state(0) == State::stagnated);
  CHECK(allocation.state(1) == State::open);
  allocation.exhausted(1);
  CHECK(allocation.state(1) == State::exhausted);
  CHECK_FALSE(allocation.next());
}

TEST_CASE("allocation: a task without a working schedule does not hold up the others") {
  Allocation allocation({{1, kInfinity}, {1, 10}});
  std::map<std::size_t, std::size_t> batches;
  for (int i = 0; i < 30; ++i) {
    const auto task = allocation.next();
    REQUIRE(task);
    ++batches[*task];
    allocation.learn(*task, 4, *task == 0 ? kInfinity : 10.0 / (i + 1));
  }
  CHECK(batches[0] <= 3);  // its first, and its regular turns
  CHECK(batches[1] >= 27);
  CHECK(std::isfinite(allocation.network_cost()));
}

TEST_CASE("allocation: without tasks there is nothing to do") { CHECK_FALSE(Allocation({}).next()); }
