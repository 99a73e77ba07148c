// Model-guided search, as in AutoTVM (Chen et al.: Learning to Optimize Tensor Programs, NeurIPS 2018) and Ansor (Zheng
// et al., OSDI 2020): from a pool of completed but unmeasured candidates, the best by the ranking are proposed first.
// The pool is fed with variations of the best measured candidates and of the best of the pool, and with random draws.
// Candidates that are not proposed stay in the pool, since completing a candidate costs more than ranking it.
//
// A beam search runs alongside. Its prefixes, completed with analytic choices, are the ranking's first training data;
// later, the two share each batch in proportion to their recent finds. The beam is good where the analytic choices are
// good, the pool where they are not.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "compiler/tune/search/all.h"
#include "compiler/tune/search/population.h"

namespace dovetail::tune {

namespace {

constexpr std::size_t kParents = 16;
constexpr std::size_t kPool = 256;                      // candidates kept from batch to batch
constexpr std::size_t kFewestNew = 32, kMostNew = 128;  // completed for one batch
constexpr std::size_t kNewPerProposal = 4;
constexpr double kDrawn =
    0.25;  // share of the new ones; half of the others vary the best measured, half the pool's best
constexpr double kBranched =
    0.5;  // share of the variations of the best measured with analytic choices after the change
constexpr std::size_t kPoolParents = 16;
constexpr double kEpsilon = 0.05;     // share of the proposals drawn at random from the pool
constexpr std::size_t kOpening = 24;  // trials of the beam alone if the ranking has no data of other tasks
constexpr double kLeastShare = 0.1;   // minimum share of a batch, for both beam and pool
constexpr std::size_t kGood = 4;      // number of best measured candidates that count as finds
constexpr double kMemory = 0.9;       // decay of a find's weight per trial

class Guided final : public Search {
 public:
  Guided(SearchSpace& space, Ranking& ranking, std::uint64_t seed)
      : explorer_(space, seed), beam_(make_beam(space, ranking, seed + 1)), ranking_(ranking), measured_(kParents) {}

  std::vector<Candidate> propose(std::size_t most) override {
    if (most == 0 || !explorer_.start()) return {};
    const std::size_t needed = std::clamp(kNewPerProposal * most, kFewestNew, kMostNew);
    const auto drawn = static_cast<std::size_t>(kDrawn * static_cast<double>(needed));
    feed(drawn, [&] { return explorer_.draw(); });
    const bool ranked = rank();
    if (learnt_ == 0 && ranked) opening_ = 0;
    const bool opening = learnt_ < opening_;
    std::vector<Candidate> proposed =
        from_beam(opening ? most : static_cast<std::size_t>(std::lround(beam_share() * static_cast<double>(most))));
    if (proposed.size() == most) return proposed;

    feed((needed - drawn) / 2, [&] { return variation_of_measured(); });
    rank();
    const std::size_t parents = std::min(kPoolParents, pool_.size());
    if (parents > 0)
      feed((needed - drawn) / 2, [&] { return explorer_.vary(Point(pool_[explorer_.below(parents)]), 1); });
    rank();
    best_of_pool(most, proposed);
    return proposed;
  }

  void learn(const Candidate& candidate, double cost) override {
    explorer_.learn(candidate, cost);
    beam_->learn(candidate, cost);
    measured_.add(candidate, cost);
    count(candidate.text());
    ++learnt_;
    if (!candidate.features.empty()) ranking_.add(candidate.features, cost);
  }

 private:
  // Adds new candidates to the pool; draws when `make` returns none.
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

  // A candidate that was dropped from the pool, once nothing else is left.
  std::optional<Candidate> restored() {
    while (!dropped_.empty()) {
      auto candidate = explorer_.complete(dropped_.back());
      dropped_.pop_back();
      if (candidate && !proposed_.contains(candidate->text())) return candidate;
    }
    return std::nullopt;
  }

  // Sorts the pool, best first. False: the ranking has learned too little to distinguish them.
  bool rank() {
    std::vector<std::vector<double>> features;
    for (const Candidate& candidate : pool_) features.push_back(candidate.features);
    const std::vector<double> scores = ranking_.predict(features);
    std::vector<std::size_t> order(pool_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    explorer_.shuffle(order);  // random order among equal ones
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
    std::vector<Candidate> sorted;
    for (const std::size_t i : order) sorted.push_back(std::move(pool_[i]));
    pool_ = std::move(sorted);
    return !scores.empty() && std::ranges::min(scores) < std::ranges::max(scores);
  }

  // How often the proposals of one side are among the best, with more weight on recent ones.
  struct Yield {
    double tried = 2, good = 1;  // prior: one of two

    void add(bool is_good) {
      tried = kMemory * tried + 1;
      good = kMemory * good + (is_good ? 1 : 0);
    }
    double rate() const { return (good + 1e-9) / tried; }
  };

  // Called after `text` was added to the measured candidates.
  void count(const std::string& text) {
    if (!proposed_.contains(text)) return;
    bool good = false;
    for (std::size_t i = 0; i < std::min(kGood, measured_.size()); ++i) good |= measured_.best(i).text == text;
    (from_beam_.contains(text) ? beam_yield_ : pool_yield_).add(good);
  }

  double beam_share() const {
    const double share = beam_yield_.rate() / (beam_yield_.rate() + pool_yield_.rate());
    return std::clamp(share, kLeastShare, 1 - kLeastShare);
  }

  std::vector<Candidate> from_beam(std::size_t most) {
    std::vector<Candidate> proposed = beam_->propose(most);
    std::erase_if(proposed, [&](const Candidate& each) { return !proposed_.insert(each.text()).second; });
    for (const Candidate& each : proposed) {
      explorer_.claim(each);
      from_beam_.insert(each.text());
    }
    std::erase_if(pool_, [&](const Candidate& each) { return proposed_.contains(each.text()); });
    return proposed;
  }

  std::optional<Candidate> variation_of_measured() {
    if (!measured_.empty() && explorer_.fraction() < kBranched) return explorer_.branch(measured_.parent(explorer_));
    return measured_.breed(explorer_);
  }

  // Adds the best of the pool until there are `most` proposals.
  void best_of_pool(std::size_t most, std::vector<Candidate>& proposed) {
    while (proposed.size() < most && !pool_.empty()) {
      const std::size_t at = explorer_.fraction() < kEpsilon ? explorer_.below(pool_.size()) : 0;
      proposed_.insert(pool_[at].text());
      proposed.push_back(std::move(pool_[at]));
      pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (; pool_.size() > kPool; pool_.pop_back()) dropped_.push_back(pool_.back().decisions());
  }

  Explorer explorer_;
  std::unique_ptr<Search> beam_;
  Ranking& ranking_;
  Population measured_;
  std::size_t learnt_ = 0, opening_ = kOpening;
  std::unordered_set<std::string> proposed_, from_beam_;
  Yield beam_yield_, pool_yield_;
  std::vector<Candidate> pool_;
  std::vector<schedule::Decisions> dropped_;
};

}  // namespace

std::unique_ptr<Search> make_guided(SearchSpace& space, Ranking& ranking, std::uint64_t seed) {
  return std::make_unique<Guided>(space, ranking, seed);
}

}  // namespace dovetail::tune
