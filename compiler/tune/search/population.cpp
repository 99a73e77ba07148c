#include "compiler/tune/search/population.h"

#include <algorithm>
#include <cmath>

namespace dovetail::tune {

namespace {
constexpr double kCrossover = 0.3;     // share of all offspring
constexpr double kSecondChange = 0.3;  // share of all mutations
}  // namespace

void Population::add(const Candidate& candidate, double cost) {
  if (!std::isfinite(cost)) return;
  Point point(candidate);
  std::erase_if(members_, [&](const Member& member) { return member.point.text == point.text; });
  const auto place = std::ranges::upper_bound(members_, cost, {}, &Member::cost);
  members_.insert(place, {std::move(point), cost});
  if (members_.size() > most_) members_.pop_back();
}

const Point& Population::parent(Explorer& explorer) const {
  return members_[std::min(explorer.below(members_.size()), explorer.below(members_.size()))].point;
}

std::optional<Candidate> Population::breed(Explorer& explorer) const {
  if (members_.empty()) return std::nullopt;
  if (members_.size() > 1 && explorer.fraction() < kCrossover) {
    const Point& mother = parent(explorer);
    const Point& father = parent(explorer);
    if (&mother != &father)
      if (auto child = explorer.cross(mother, father)) return child;
  }
  return explorer.vary(parent(explorer), explorer.fraction() < kSecondChange ? 2 : 1);
}

}  // namespace dovetail::tune
