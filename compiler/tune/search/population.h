// The best measured candidates, from which new ones are bred.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compiler/tune/search/explorer.h"

namespace dovetail::tune {

class Population {
 public:
  explicit Population(std::size_t most) : most_(most) {}

  void add(const Candidate& candidate, double cost);  // ignored if the cost is not finite
  bool empty() const { return members_.empty(); }
  std::size_t size() const { return members_.size(); }
  const Point& best(std::size_t rank) const { return members_[rank].point; }

  // The better of two random members.
  const Point& parent(Explorer& explorer) const;
  // Offspring of one parent, with one or two decisions changed, or of two parents. nullopt: not new.
  std::optional<Candidate> breed(Explorer& explorer) const;

 private:
  struct Member {
    Point point;
    double cost;
  };

  std::size_t most_;
  std::vector<Member> members_;  // best first
};

}  // namespace dovetail::tune
