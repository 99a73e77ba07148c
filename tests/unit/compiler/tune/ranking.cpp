// What rankings learn, and machines without XGBoost.
#include "compiler/tune/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "compiler/tune/neighbor_ranking.h"
#include "compiler/tune/rankings.h"
#include "compiler/tune/training_rows.h"
#include "compiler/tune/xgboost.h"
#include "tests/catch.h"
#include "tests/skip.h"

using namespace dovetail;

namespace {

constexpr std::size_t kWidth = 12;
constexpr double kInfiniteCost = std::numeric_limits<double>::infinity();

struct Samples {
  std::vector<std::vector<double>> features;
  std::vector<double> costs;
};

// A sum, a product and a threshold of some features; the others have no effect.
double simple_cost(const std::vector<double>& f) { return std::exp(f[0] - 0.5 * f[1] * f[2] + (f[3] > 0.7 ? 0.6 : 0)); }

Samples samples(std::size_t count, std::uint64_t seed) {
  SplitMix64 random(seed);
  Samples made;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> row(kWidth);
    for (double& each : row) each = static_cast<double>(random.next() % 1000) / 1000;
    made.costs.push_back(simple_cost(row));
    made.features.push_back(std::move(row));
  }
  return made;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = static_cast<double>(i);
  return result;
}

// Spearman's rank correlation, without ties.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const auto n = static_cast<double>(a.size());
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
  return 1 - 6 * squares / (n * (n * n - 1));
}

void learn(tune::Ranking& ranking, const Samples& all) {
  for (std::size_t i = 0; i < all.costs.size(); ++i) ranking.add(all.features[i], all.costs[i]);
}

void check_ranking(tune::Ranking& ranking, double least_correlation) {
  const Samples test = samples(1000, 2);
  // Without training all predictions are equal.
  const std::vector<double> nothing = ranking.predict(test.features);
  CHECK(std::ranges::min(nothing) == std::ranges::max(nothing));
  CHECK(ranking.predict({}).empty());
  learn(ranking, samples(400, 1));
  const std::vector<double> predicted = ranking.predict(test.features);
  REQUIRE(predicted.size() == test.costs.size());
  CHECK(rank_correlation(predicted, test.costs) > least_correlation);
  // Failures rank last, and do not disturb the order of the others.
  Samples failing = samples(200, 3);
  for (std::size_t i = 0; i < failing.costs.size(); ++i) {
    failing.features[i][5] += 3;
    failing.costs[i] = i % 2 == 0 ? kInfiniteCost : std::nan("");
  }
  learn(ranking, failing);
  const std::vector<double> after = ranking.predict(test.features), failed = ranking.predict(failing.features);
  CHECK(std::ranges::all_of(after, [](double each) { return std::isfinite(each); }));
  CHECK(rank_correlation(after, test.costs) > least_correlation - 0.05);
  CHECK(std::accumulate(failed.begin(), failed.end(), 0.0) / 200 > std::ranges::max(after) - 0.5);
}

}  // namespace

TEST_CASE("ranking: XGBoost learns a simple function, and ranks failures last") {
  auto trees = tune::XgboostRanking::make();
  if (!trees.ok()) return test::skip(to_string(trees.errors()));
  check_ranking(**trees, 0.9);
}

TEST_CASE("ranking: nearest neighbors learn a simple function, and rank failures last") {
  tune::NeighborRanking neighbors;
  check_ranking(neighbors, 0.6);
}

TEST_CASE("ranking: the same rows give the same predictions, in however many batches they are added") {
  const Samples rows = samples(100, 1), test = samples(50, 2);
  auto trees = tune::XgboostRanking::make();
  if (!trees.ok()) return test::skip(to_string(trees.errors()));
  auto again = tune::XgboostRanking::make();
  learn(**trees, rows);
  learn(**again, rows);
  learn(**again, rows);
  CHECK((*trees)->predict(test.features) == (*again)->predict(test.features));
}

TEST_CASE("ranking: rows of another length are ignored") {
  tune::TrainingRows rows;
  CHECK(rows.add(std::vector<double>{1, 2}, 1));
  CHECK_FALSE(rows.add(std::vector<double>{1, 2, 3}, 1));
  CHECK_FALSE(rows.add(std::vector<double>{1, 2}, 1));
  CHECK(rows.add(std::vector<double>{1, std::nan("")}, kInfiniteCost));
  CHECK(rows.size() == 2);
  CHECK(rows.labels()[1] == Approx(std::log(4.0)));  // a failure costs at least four times the default
  for (int i = 0; i < 5000; ++i) rows.add(std::vector<double>{0, static_cast<double>(i)}, 2);
  CHECK(rows.size() == 2048);
  CHECK(rows.features(0)[1] == 5000 - 2048);  // the oldest were dropped
}

TEST_CASE("ranking: without its library, or with a wrong one, XGBoost is refused with the reason") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(to_string(tune::XgboostRanking::make("libno-such-library.so").errors()),
             ContainsSubstring("libno-such-library.so"));
  CHECK_THAT(to_string(tune::XgboostRanking::make("libm.so.6").errors()),
             ContainsSubstring("the library has no function XGBoostVersion"));
  CHECK(tune::XgboostRanking::takes_version(1, 7));
  CHECK(tune::XgboostRanking::takes_version(1, 4));
  CHECK_FALSE(tune::XgboostRanking::takes_version(1, 3));
  CHECK_FALSE(tune::XgboostRanking::takes_version(4, 0));
  const auto chosen = tune::make_ranking();
  CHECK(chosen.ranking->name() == (chosen.why.empty() ? "XGBoost" : "nearest neighbors"));
}
