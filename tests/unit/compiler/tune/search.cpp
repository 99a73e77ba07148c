// Every search on spaces with a known optimum: no candidate twice, none missed, and an end.
#include "compiler/tune/search.h"

#include <fmt/format.h>

#include "compiler/tune/neighbor_ranking.h"
#include "compiler/tune/rankings.h"
#include "tests/skip.h"
#include "tests/unit/compiler/tune/synthetic_space.h"

using namespace dovetail;
using namespace dovetail::test;

namespace {

struct Case {
  std::string name;
  std::vector<SyntheticDecision> decisions;
  SyntheticSpace::Cost cost;
  SyntheticSpace::Legal legal = {};

  SyntheticSpace space() const { return {decisions, cost, legal}; }
};

double distance(std::int64_t a, std::int64_t b) { return std::abs(static_cast<double>(a - b)); }

std::vector<std::int64_t> up_to(std::int64_t last) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 1; i <= last; ++i) all.push_back(i);
  return all;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"separable",
       {decision("x", up_to(6), 2), decision("y", up_to(5)), decision("z", up_to(4))},
       [](const Values& v) { return 1 + distance(v.at("x"), 5) + distance(v.at("y"), 3) + distance(v.at("z"), 4); }},
      {"dependent",  // the inner tile divides the outer; unrolling is decided only for small tiles
       {decision("outer", {1, 2, 4, 6, 12}, 2),
        {"inner",
         [](const Values& v) {
           std::vector<std::int64_t> divisors;
           for (std::int64_t d = 1; d <= v.at("outer"); ++d)
             if (v.at("outer") % d == 0) divisors.push_back(d);
           return divisors;
         }},
        {"unroll",
         [](const Values& v) {
           return v.at("inner") <= 3 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{};
         }},
        decision("slots", {1, 2, 3})},
       [](const Values& v) {
         return 1 + distance(v.at("outer"), 6) + distance(v.at("inner"), 2) + (v.contains("unroll") ? 0.0 : 3.0) +
                distance(v.at("slots"), 2);
       }},
      {"infeasible regions",  // a tile that does not fit, and holes
       {decision("x", {1, 2, 4, 8, 16}), decision("y", {1, 2, 4, 8, 16}), decision("z", {1, 2, 4})},
       [](const Values& v) { return 1 + 64.0 / static_cast<double>(v.at("x") * v.at("y")) + distance(v.at("z"), 2); },
       [](const Values& v) { return v.at("x") * v.at("y") <= 32 && (v.at("x") + v.at("y") + v.at("z")) % 5 != 0; }},
      {"tiny",
       {decision("x", {1, 2}), decision("y", {7})},
       [](const Values& v) { return 1.0 + distance(v.at("x"), 2); }},
      {"one candidate", {decision("x", {3})}, [](const Values&) { return 1.0; }},
      {"no decisions", {}, [](const Values&) { return 1.0; }},
  };
  return all;
}

Searched searched(const Case& c, const tune::SearchRow& row, std::uint64_t seed, std::size_t trials = 4096) {
  SyntheticSpace space = c.space();
  tune::NeighborRanking ranking;
  const auto search = row.make(space, ranking, seed);
  return search_space(space, *search, trials);
}

}  // namespace

TEST_CASE("search: an unknown name is refused, and the error lists the known names") {
  CHECK((*tune::find_search("beam"))->name == "beam");
  CHECK_THAT(to_string(tune::find_search("grid").errors()),
             Catch::Matchers::ContainsSubstring("guided, random, annealing, evolutionary, beam"));
}

TEST_CASE("search: a candidate's text is its decisions by name") {
  const Case& c = cases().front();
  SyntheticSpace space = c.space();
  SplitMix64 random(1);
  const auto candidate = space.complete({{"z", "2"}}, tune::Rest::analytic, random);
  REQUIRE(candidate);
  CHECK(candidate->text() == "x=3 y=1 z=2");
  CHECK(candidate->decisions() == schedule::Decisions{{"x", "3"}, {"y", "1"}, {"z", "2"}});
}

TEST_CASE("search: each search proposes all candidates of a small space once, finds the best, and ends") {
  for (const Case& c : cases()) {
    std::set<std::string> expected = all_candidates(c.decisions, c.legal);
    SyntheticSpace space = c.space();
    expected.erase(space.default_candidate()->text());
    for (const tune::SearchRow& row : tune::searches())
      for (const std::uint64_t seed : {1, 2}) {
        INFO(c.name << ", " << row.name << ", seed " << seed);
        const Searched found = searched(c, row, seed);
        CHECK(std::set<std::string>(found.proposed.begin(), found.proposed.end()) == expected);
        CHECK(found.proposed.size() == expected.size());
      }
  }
}

TEST_CASE("search: the same seed gives the same candidates, another seed gives others") {
  const Case& c = cases().front();
  for (const tune::SearchRow& row : tune::searches()) {
    INFO(row.name);
    CHECK(searched(c, row, 7, 40).proposed == searched(c, row, 7, 40).proposed);
    CHECK(searched(c, row, 7, 40).proposed != searched(c, row, 8, 40).proposed);
  }
}

TEST_CASE("search: candidates that are already known are not proposed") {
  const Case& c = cases().front();
  for (const tune::SearchRow& row : tune::searches()) {
    INFO(row.name);
    SyntheticSpace space = c.space();
    tune::NeighborRanking ranking;
    const auto search = row.make(space, ranking, 1);
    SplitMix64 random(5);
    std::set<std::string> known;
    for (int i = 0; i < 60; ++i) {
      const auto candidate = space.complete({}, tune::Rest::random, random);
      search->learn(*candidate, space.cost(*candidate));
      known.insert(candidate->text());
    }
    std::size_t proposed = 0;
    for (auto batch = search->propose(16); !batch.empty(); batch = search->propose(16))
      for (const tune::Candidate& candidate : batch) {
        CHECK(known.insert(candidate.text()).second);
        search->learn(candidate, space.cost(candidate));
        ++proposed;
      }
    known.insert(space.default_candidate()->text());
    CHECK(known.size() == 6 * 5 * 4);
    CHECK(proposed > 0);
  }
}

TEST_CASE("search: an exhausted space costs no further work") {
  const Case& c = cases().front();
  for (const tune::SearchRow& row : tune::searches()) {
    INFO(row.name);
    SyntheticSpace space = c.space();
    tune::NeighborRanking ranking;
    const auto search = row.make(space, ranking, 1);
    search_space(space, *search, 4096);
    const int before = space.completed;
    for (int i = 0; i < 10; ++i) CHECK(search->propose(8).empty());
    CHECK(space.completed - before < 1000);
  }
}

TEST_CASE("search: a task without a schedule has no candidates") {
  for (const tune::SearchRow& row : tune::searches()) {
    INFO(row.name);
    SyntheticSpace space(
        {decision("x", {1, 2})}, [](const Values&) { return 1.0; }, [](const Values&) { return false; });
    tune::NeighborRanking ranking;
    CHECK(row.make(space, ranking, 1)->propose(8).empty());
  }
}

TEST_CASE("search: the best is found even if a third of the candidates fails") {
  // Measuring fails wherever the sum is 2 more than a multiple of 3, including neighbors of the best.
  const Case c{
      "failing", {decision("x", up_to(8)), decision("y", up_to(8)), decision("z", up_to(4))}, [](const Values& v) {
        if ((v.at("x") + v.at("y") + v.at("z")) % 3 == 2) return std::numeric_limits<double>::infinity();
        return 2 + distance(v.at("x"), 6) + distance(v.at("y"), 5) + distance(v.at("z"), 2);
      }};
  for (const tune::SearchRow& row : tune::searches()) {
    INFO(row.name);
    const Searched found = searched(c, row, 3);
    CHECK(found.proposed.size() == 8 * 8 * 4 - 1);
    CHECK(found.best_text == "x=6 y=5 z=2");
  }
}

namespace {

// 4,096 candidates that resemble tiles of a product: traffic falls and the working set grows with the tile, lanes and
// unrolling help until they no longer fit, threads until there is no work to share; and a part that no model explains.
SyntheticSpace tiled_product() {
  const std::vector<std::int64_t> sizes{1, 2, 4, 8};
  return {{decision("m", sizes, 1), decision("n", sizes, 1), decision("k", sizes, 3), decision("lanes", sizes, 1),
           decision("unroll", sizes, 0), decision("threads", sizes, 0)},
          [](const Values& v) {
            const auto at = [&](const char* name) { return static_cast<double>(v.at(name)); };
            const double m = at("m"), n = at("n"), k = at("k");
            const double work = 1 / at("lanes") * (1 + 0.5 / at("unroll")) * (at("lanes") > n ? 1.5 : 1);
            const double traffic = 0.4 / m + 0.4 / n + 0.1 / k;
            const double spilled = m * n * at("unroll") > 64 ? 0.5 : 0, missed = m * k + n * k + m * n > 80 ? 0.6 : 0;
            const double shared = std::min(at("threads"), 16 / m);
            std::uint64_t bits = 0;
            for (const auto& [name, value] : v) bits = bits * 31 + static_cast<std::uint64_t>(value);
            const double noise = static_cast<double>(SplitMix64(bits).next() % 1000) / 20000;
            return (work + traffic + spilled + missed) / shared * (1 + 0.05 * at("threads")) * (1 + noise);
          }};
}

double median_best(std::string_view name, std::size_t trials) {
  std::vector<double> best;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SyntheticSpace space = tiled_product();
    const auto chosen = tune::make_ranking();
    best.push_back(search_space(space, *(*tune::find_search(name))->make(space, *chosen.ranking, seed), trials).best);
  }
  std::ranges::sort(best);
  return best[best.size() / 2];
}

}  // namespace

TEST_CASE("search: guided search finds in 64 trials what random search finds in 512") {
  if (const auto chosen = tune::make_ranking(); !chosen.why.empty()) return test::skip(chosen.why);
  const double guided = median_best("guided", 64), random = median_best("random", 512);
  INFO(fmt::format("guided {:.4f}, random {:.4f}", guided, random));
  CHECK(guided <= random);
}

TEST_CASE("search: an earlier ranking helps guided search from its first trials") {
  const auto first_best = [](std::size_t known) {
    std::vector<double> best;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SyntheticSpace space = tiled_product();
      const auto chosen = tune::make_ranking();
      SplitMix64 random(seed + 100);
      const double unit = space.cost(*space.default_candidate());
      for (std::size_t i = 0; i < known; ++i) {  // as if from another task, whose candidates the search does not learn
        const auto candidate = space.complete({}, tune::Rest::random, random);
        chosen.ranking->add(candidate->features, space.cost(*candidate) / unit);
      }
      best.push_back(search_space(space, *(*tune::find_search("guided"))->make(space, *chosen.ranking, seed), 16).best);
    }
    std::ranges::sort(best);
    return best[best.size() / 2];
  };
  const double with = first_best(200), without = first_best(0);
  INFO(fmt::format("with {:.4f}, without {:.4f}", with, without));
  CHECK(with < 0.8 * without);
}

TEST_CASE("search: the other searches beat random draws in 128 trials") {
  const double random = median_best("random", 128);
  for (const char* name : {"annealing", "evolutionary", "guided"}) {
    const double other = median_best(name, 128);
    INFO(fmt::format("{} {:.4f}, random {:.4f}", name, other, random));
    CHECK(other < random);
  }
}
