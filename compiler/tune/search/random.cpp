// Distinct uniform draws: the baseline for all other searches.
#include "compiler/tune/search/all.h"
#include "compiler/tune/search/explorer.h"

namespace dovetail::tune {

namespace {

class Random final : public Search {
 public:
  Random(SearchSpace& space, std::uint64_t seed) : explorer_(space, seed) {}

  std::vector<Candidate> propose(std::size_t most) override {
    std::vector<Candidate> proposed;
    while (proposed.size() < most) {
      auto candidate = explorer_.draw();
      if (!candidate) break;
      proposed.push_back(*std::move(candidate));
    }
    return proposed;
  }

  void learn(const Candidate& candidate, double cost) override { explorer_.learn(candidate, cost); }

 private:
  Explorer explorer_;
};

}  // namespace

std::unique_ptr<Search> make_random(SearchSpace& space, Ranking&, std::uint64_t seed) {
  return std::make_unique<Random>(space, seed);
}

}  // namespace dovetail::tune
