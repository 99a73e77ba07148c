// Model-guided search, as AutoTVM (Chen et al.: Learning to Optimize Tensor Programs, NeurIPS 2018) and Ansor (Zheng et
// al., OSDI 2020) do it: of a pool of candidates that were completed and not measured, those come first that the
// ranking likes. The pool is fed with variations of the best measured and of the best of the pool itself, and with
// draws. What is not proposed stays in it, since to complete a candidate costs more than to rank it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/tune/search/all.h"
#include "compiler/tune/search/population.h"

namespace dovetail::tune {

namespace {

constexpr std::size_t kParents = 16;
constexpr std::size_t kPool = 256;                      // candidates that stay from batch to batch
constexpr std::size_t kFewestNew = 32, kMostNew = 128;  // completed for one batch
constexpr std::size_t kNewPerProposal = 4;
constexpr double kDrawn =
    0.25;  // of the new ones; the others are variations, of the best measured and of the pool's best
constexpr std::size_t kPoolParents = 16;
constexpr double kEpsilon = 0.05;            // of the proposals are any of the pool
constexpr double kOpeningNeighbours = 0.75;  // of the first proposals, before anything is learnt, are the default's

class Guided final : public Search {
 public:
  Guided(SearchSpace& space, Ranking& ranking, std::uint64_t seed)
      : explorer_(space, seed), ranking_(ranking), measured_(kParents) {}

  std::vector<Candidate> propose(std::size_t most) override {
    if (most == 0 || !explorer_.start()) return {};
    const std::size_t wanted = std::clamp(kNewPerProposal * most, kFewestNew, kMostNew);
    const auto drawn = static_cast<std::size_t>(kDrawn * static_cast<double>(wanted));
    feed(drawn, [&] { return explorer_.draw(); });
    if (!rank()) return opening(most);
    feed((wanted - drawn) / 2, [&] { return measured_.breed(explorer_); });
    rank();
    const std::size_t parents = std::min(kPoolParents, pool_.size());
    if (parents > 0)
      feed((wanted - drawn) / 2, [&] { return explorer_.vary(Point(pool_[explorer_.below(parents)]), 1); });
    rank();
    return best_of_pool(most);
  }

  void learn(const Candidate& candidate, double cost) override {
    explorer_.learn(candidate, cost);
    measured_.add(candidate, cost);
    if (!candidate.features.empty()) ranking_.add(candidate.features, cost);
  }

 private:
  // New candidates into the pool; draws where `make` has none.
  template <typename Make>
  void feed(std::size_t count, const Make& make) {
    for (std::size_t i = 0; i < count; ++i) {
      std::optional<Candidate> candidate = make();
      if (!candidate) candidate = explorer_.draw();
      if (!candidate) candidate = restored();
      if (!candidate) return;
      pool_.push_back(*std::move(candidate));
    }
  }

  // What the pool had no room for, once nothing else is left.
  std::optional<Candidate> restored() {
    while (!dropped_.empty()) {
      auto candidate = explorer_.complete(dropped_.back());
      dropped_.pop_back();
      if (candidate) return candidate;
    }
    return std::nullopt;
  }

  // Puts the best first. False: the ranking has nothing to say about them, since it has learnt too little.
  bool rank() {
    std::vector<std::vector<double>> features;
    for (const Candidate& candidate : pool_) features.push_back(candidate.features);
    const std::vector<double> scores = ranking_.predict(features);
    std::vector<std::size_t> order(pool_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    explorer_.shuffle(order);  // equal ones in any order
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
    std::vector<Candidate> sorted;
    for (const std::size_t i : order) sorted.push_back(std::move(pool_[i]));
    pool_ = std::move(sorted);
    return !scores.empty() && std::ranges::min(scores) < std::ranges::max(scores);
  }

  std::vector<Candidate> best_of_pool(std::size_t most) {
    std::vector<Candidate> proposed;
    while (proposed.size() < most && !pool_.empty()) {
      const std::size_t at = explorer_.fraction() < kEpsilon ? explorer_.below(pool_.size()) : 0;
      propose_from_pool(at, proposed);
    }
    for (; pool_.size() > kPool; pool_.pop_back()) dropped_.push_back(pool_.back().decisions());
    return proposed;
  }

  // Nothing is learnt yet: the default with one decision after the other changed, and candidates that lie far apart.
  std::vector<Candidate> opening(std::size_t most) {
    std::vector<Candidate> proposed;
    const Point start = *explorer_.start();
    const auto neighbours = static_cast<std::size_t>(std::ceil(kOpeningNeighbours * static_cast<double>(most)));
    while (proposed.size() < neighbours) {
      auto neighbour = explorer_.redecide(start, varied_++);
      if (!neighbour) break;
      proposed.push_back(*std::move(neighbour));
    }
    while (proposed.size() < most && !pool_.empty()) propose_from_pool(farthest(start, proposed), proposed);
    return proposed;
  }

  void propose_from_pool(std::size_t at, std::vector<Candidate>& proposed) {
    proposed.push_back(std::move(pool_[at]));
    pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // The candidate of the pool whose nearest among `start` and `others` is farthest.
  std::size_t farthest(const Point& start, const std::vector<Candidate>& others) const {
    std::size_t best = 0, best_distance = 0;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      std::size_t nearest = distance(pool_[i].sampled, start.sampled);
      for (const Candidate& other : others) nearest = std::min(nearest, distance(pool_[i].sampled, other.sampled));
      if (nearest > best_distance) best = i, best_distance = nearest;
    }
    return best;
  }

  // Decisions in which they differ.
  static std::size_t distance(const std::vector<schedule::Decision>& a, const std::vector<schedule::Decision>& b) {
    std::size_t different = 0;
    for (const schedule::Decision& decision : a) {
      const auto other = std::ranges::find(b, decision.name, &schedule::Decision::name);
      different += other == b.end() || other->value != decision.value ? 1 : 0;
    }
    return different;
  }

  Explorer explorer_;
  Ranking& ranking_;
  Population measured_;
  std::size_t varied_ = 0;  // decisions of the default, in turn
  std::vector<Candidate> pool_;
  std::vector<schedule::Decisions> dropped_;
};

}  // namespace

std::unique_ptr<Search> make_guided(SearchSpace& space, Ranking& ranking, std::uint64_t seed) {
  return std::make_unique<Guided>(space, ranking, seed);
}

}  // namespace dovetail::tune
