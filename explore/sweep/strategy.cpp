#include "explore/sweep/strategy.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "isa/nearest.h"

namespace dovetail::explore {

namespace {

class Exhaustive : public Strategy {
 public:
  Exhaustive(const Space& space, std::uint64_t) : space_(space), size_(space.size()) {}

  std::vector<Genes> propose(std::size_t most) override {
    std::vector<Genes> points;
    for (; points.size() < most && next_ < size_; ++next_) points.push_back(space_.genes(next_));
    return points;
  }
  void observe(std::span<const Trial>) override {}

 private:
  const Space& space_;
  std::uint64_t size_, next_ = 0;
};

// The base of strategies that draw points.
class Drawing : public Strategy {
 public:
  Drawing(const Space& space, std::uint64_t seed) : space_(space), random_(seed), size_(space.size()) {}

 protected:
  std::uint64_t below(std::uint64_t end) { return random_.next() % end; }
  bool chance(double probability) { return static_cast<double>(random_.next() >> 11) * 0x1p-53 < probability; }
  std::int32_t draw(std::size_t axis) { return static_cast<std::int32_t>(below(space_.axes()[axis].choices.size())); }
  Genes draw() {
    Genes genes(space_.axes().size());
    for (std::size_t axis = 0; axis < genes.size(); ++axis) genes[axis] = draw(axis);
    return genes;
  }
  // False if the point was proposed before.
  bool take(const Genes& genes) { return seen_.insert(genes).second; }
  bool exhausted() const { return seen_.size() >= size_; }

  // A new point from `make`, or any new point if `make` only repeats points. Precondition: not exhausted().
  template <typename Make>
  Genes fresh(const Make& make) {
    constexpr int kTries = 64;
    for (int i = 0; i < kTries; ++i)
      if (Genes genes = make(); take(genes)) return genes;
    for (int i = 0; i < kTries; ++i)
      if (Genes genes = draw(); take(genes)) return genes;
    // Nearly all points were proposed, so take the next new one from a random start.
    for (std::uint64_t index = below(size_);; index = (index + 1) % size_)
      if (Genes genes = space_.genes(index); take(genes)) return genes;
  }

  const Space& space_;

 private:
  SplitMix64 random_;
  std::uint64_t size_;
  std::set<Genes> seen_;
};

class Random : public Drawing {
 public:
  using Drawing::Drawing;

  std::vector<Genes> propose(std::size_t most) override {
    std::vector<Genes> points;
    while (points.size() < most && !exhausted()) points.push_back(fresh([&] { return draw(); }));
    return points;
  }
  void observe(std::span<const Trial>) override {}
};

// NSGA-II (Deb et al. 2002): tournaments by front and crowding, uniform crossover, a step to a neighboring choice or
// any as mutation, survivors of parents and children together.
class Evolution : public Drawing {
 public:
  using Drawing::Drawing;

  std::vector<Genes> propose(std::size_t most) override {
    std::vector<Genes> points;
    const std::size_t count = std::min(most, kPopulation);
    while (points.size() < count && !exhausted())
      points.push_back(fresh([&] { return population_.size() < 2 ? draw() : child(); }));
    return points;
  }

  void observe(std::span<const Trial> trials) override {
    for (const Trial& trial : trials)
      if (trial.costs) population_.push_back({trial.genes, *trial.costs, {}});
    std::vector<Costs> costs;
    for (const Member& member : population_) costs.push_back(member.costs);
    if (costs.empty()) return;
    const std::vector<Rank> ranks = rank(costs);
    for (std::size_t i = 0; i < population_.size(); ++i) population_[i].rank = ranks[i];
    std::ranges::stable_sort(population_, [](const Member& a, const Member& b) { return better(a.rank, b.rank); });
    if (population_.size() > kPopulation) population_.resize(kPopulation);
  }

 private:
  static constexpr std::size_t kPopulation = 32;
  static constexpr double kCross = 0.9, kStep = 0.6;

  struct Member {
    Genes genes;
    Costs costs;
    Rank rank;
  };
  static bool better(const Rank& a, const Rank& b) {
    return a.front != b.front ? a.front < b.front : a.crowding > b.crowding;
  }

  const Genes& parent() {
    const Member& a = population_[below(population_.size())];
    const Member& b = population_[below(population_.size())];
    return better(b.rank, a.rank) ? b.genes : a.genes;
  }
  Genes child() {
    Genes genes = parent();
    if (chance(kCross)) {
      const Genes& other = parent();
      for (std::size_t axis = 0; axis < genes.size(); ++axis)
        if (chance(0.5)) genes[axis] = other[axis];
    }
    for (std::size_t axis = 0; axis < genes.size(); ++axis) {
      if (!chance(1.0 / static_cast<double>(genes.size()))) continue;
      const auto last = static_cast<std::int32_t>(space_.axes()[axis].choices.size()) - 1;
      genes[axis] = chance(kStep) ? std::clamp(genes[axis] + (chance(0.5) ? 1 : -1), 0, last) : draw(axis);
    }
    return genes;
  }

  std::vector<Member> population_;
};

template <typename Made>
std::unique_ptr<Strategy> make(const Space& space, std::uint64_t seed) {
  return std::make_unique<Made>(space, seed);
}

constexpr std::array<StrategyRow, 3> kStrategies{{
    {"exhaustive", "every point, in order", make<Exhaustive>},
    {"random", "points drawn without repetition", make<Random>},
    {"evolution", "NSGA-II: children of the points that no other point beats", make<Evolution>},
}};

}  // namespace

std::span<const StrategyRow> strategies() { return kStrategies; }

Result<const StrategyRow*> find_strategy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const StrategyRow& row : kStrategies) {
    if (row.name == name) return &row;
    names.push_back(row.name);
  }
  return Diagnostic{"invalid value for --strategy", std::string(name), "there is no strategy of this name",
                    isa::suggestion(name, names)};
}

}  // namespace dovetail::explore
