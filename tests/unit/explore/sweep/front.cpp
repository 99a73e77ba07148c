// Dominance, compared with its definition, on random points with many equal costs.
#include "explore/sweep/front.h"

#include <cmath>
#include <random>

#include "tests/catch.h"

namespace dovetail::explore {

namespace {

std::vector<Costs> random_points(std::mt19937& random, std::size_t count, std::size_t objectives) {
  std::vector<Costs> points(count, Costs(objectives));
  for (Costs& point : points)
    for (double& cost : point) cost = static_cast<double>(random() % 8);
  return points;
}

}  // namespace

TEST_CASE("front: points that no other point dominates, equal points once") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto points = random_points(random, 1 + random() % 30, 1 + random() % 3);
    const std::vector<std::size_t> front = front_of(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool beaten = false, listed = false, equal_listed = false;
      for (const Costs& other : points) beaten = beaten || dominates(other, points[i]);
      for (const std::size_t at : front)
        listed = listed || at == i, equal_listed = equal_listed || points[at] == points[i];
      CHECK(equal_listed == !beaten);
      if (listed) CHECK_FALSE(beaten);
    }
    for (std::size_t a = 0; a < front.size(); ++a)
      for (std::size_t b = a + 1; b < front.size(); ++b) CHECK(points[front[a]] < points[front[b]]);
  }
}

TEST_CASE("front: ranks are successive fronts, the ends of a front have the largest distance") {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    const auto points = random_points(random, 1 + random() % 20, 2);
    const std::vector<Rank> ranks = rank(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      // Dominated by a point of the previous front, and by none of the same or a later one.
      bool by_earlier = ranks[i].front == 0;
      for (std::size_t other = 0; other < points.size(); ++other) {
        if (!dominates(points[other], points[i])) continue;
        CHECK(ranks[other].front < ranks[i].front);
        by_earlier = by_earlier || ranks[other].front == ranks[i].front - 1;
      }
      CHECK(by_earlier);
    }
  }
  const std::vector<Costs> line{{0, 4}, {1, 3}, {2, 2}, {4, 0}};
  const std::vector<Rank> ranks = rank(line);
  CHECK(std::isinf(ranks[0].crowding));
  CHECK(std::isinf(ranks[3].crowding));
  CHECK(ranks[1].crowding == Approx(1.0));  // (2 - 0) / 4 + (4 - 2) / 4
  CHECK(ranks[2].crowding == Approx(1.5));
}

}  // namespace dovetail::explore
