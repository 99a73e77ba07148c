// Markov chains with the Metropolis rule, as FlexFlow searches its strategies (Jia, Zaharia, Aiken: Beyond Data and
// Model Parallelism for Deep Neural Networks, MLSys 2019, section 6.2): one decision changes at a time, and a worse
// candidate is accepted with probability exp(-(its cost - the current cost) / temperature). The temperature is a share
// of the best cost, so that it means the same for every task, and decreases with every measurement.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/tune/search/all.h"
#include "compiler/tune/search/explorer.h"

namespace dovetail::tune {

namespace {

constexpr std::size_t kChains = 4;
constexpr double kFirstTemperature = 0.3, kLastTemperature = 0.01;  // shares of the best cost
constexpr double kCooling = 0.985;                                  // per measurement
constexpr int kMoves = 16;                                          // moves of a chain per proposal

class Annealing final : public Search {
 public:
  Annealing(SearchSpace& space, std::uint64_t seed) : explorer_(space, seed) {}

  std::vector<Candidate> propose(std::size_t most) override {
    std::vector<Candidate> proposed;
    while (proposed.size() < most) {
      const std::size_t chain = next_chain_;
      next_chain_ = (next_chain_ + 1) % kChains;
      auto candidate = step(chain);
      if (!candidate) candidate = explorer_.draw();
      if (!candidate) break;
      chain_of_[candidate->text()] = chain;
      proposed.push_back(*std::move(candidate));
    }
    return proposed;
  }

  void learn(const Candidate& candidate, double cost) override {
    explorer_.learn(candidate, cost);
    const Point point(candidate);
    const double known = *explorer_.cost(point.text);
    if (!std::isfinite(known)) return;
    best_ = std::min(best_, known);
    temperature_ = std::max(kLastTemperature, temperature_ * kCooling);
    measured_.insert_or_assign(point.text, point);
    // A candidate that was not proposed here, such as the default, can be the start of the first chain.
    const auto proposed_by = chain_of_.find(point.text);
    move(chains_[proposed_by == chain_of_.end() ? 0 : proposed_by->second], point, known);
  }

 private:
  struct Chain {
    std::optional<Point> at;
    double cost = std::numeric_limits<double>::infinity();
  };

  void move(Chain& chain, const Point& to, double cost) {
    const bool worse = chain.at && cost > chain.cost;
    if (worse && explorer_.fraction() >= std::exp((chain.cost - cost) / (temperature_ * best_))) return;
    chain = {to, cost};
  }

  // The chain moves over candidates that are already measured until it reaches a new one.
  std::optional<Candidate> step(std::size_t index) {
    Chain& chain = chains_[index];
    for (int i = 0; i < kMoves && chain.at; ++i) {
      const schedule::Decisions decisions = explorer_.variation(*chain.at, 1);
      const auto known = measured_.find(text_of(decisions));
      if (known != measured_.end()) move(chain, known->second, *explorer_.cost(known->first));
      else if (auto candidate = explorer_.take(decisions)) return candidate;
    }
    return std::nullopt;
  }

  Explorer explorer_;
  std::array<Chain, kChains> chains_;
  std::size_t next_chain_ = 0;
  double best_ = std::numeric_limits<double>::infinity(), temperature_ = kFirstTemperature;
  std::unordered_map<std::string, std::size_t> chain_of_;
  std::unordered_map<std::string, Point> measured_;
};

}  // namespace

std::unique_ptr<Search> make_annealing(SearchSpace& space, Ranking&, std::uint64_t seed) {
  return std::make_unique<Annealing>(space, seed);
}

}  // namespace dovetail::tune
