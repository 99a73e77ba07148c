// A population of the best measured candidates; their offspring are measured next, with a share of random immigrants
// that keeps the population from narrowing to one part of the space.
#include "compiler/tune/search/all.h"
#include "compiler/tune/search/population.h"

namespace dovetail::tune {

namespace {

constexpr std::size_t kPopulation = 32;
constexpr std::size_t kFounders = 16;  // members before which half of the proposals are immigrants
constexpr double kImmigrants = 0.1;

class Evolutionary final : public Search {
 public:
  Evolutionary(SearchSpace& space, std::uint64_t seed) : explorer_(space, seed), population_(kPopulation) {}

  std::vector<Candidate> propose(std::size_t most) override {
    std::vector<Candidate> proposed;
    while (proposed.size() < most) {
      const double immigrants = population_.size() < kFounders ? 0.5 : kImmigrants;
      std::optional<Candidate> candidate;
      if (explorer_.fraction() >= immigrants) candidate = population_.breed(explorer_);
      if (!candidate) candidate = explorer_.draw();
      if (!candidate) break;
      proposed.push_back(*std::move(candidate));
    }
    return proposed;
  }

  void learn(const Candidate& candidate, double cost) override {
    explorer_.learn(candidate, cost);
    population_.add(candidate, cost);
  }

 private:
  Explorer explorer_;
  Population population_;
};

}  // namespace

std::unique_ptr<Search> make_evolutionary(SearchSpace& space, Ranking&, std::uint64_t seed) {
  return std::make_unique<Evolutionary>(space, seed);
}

}  // namespace dovetail::tune
