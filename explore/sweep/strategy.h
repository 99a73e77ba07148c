// Strategies choose the points of a space. A strategy proposes points, observes their costs, and proposes again. It
// depends on nothing else, so that a sweep is the same for any number of processors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explore/sweep/front.h"
#include "explore/sweep/space.h"

namespace dovetail::explore {

struct Trial {
  Genes genes;
  std::optional<Costs> costs;  // nullopt: the point is infeasible, or breaks a constraint
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Up to `most` points that were not proposed before. Empty: no points are left.
  virtual std::vector<Genes> propose(std::size_t most) = 0;
  // Takes the results of the points that the last propose() returned, in their order.
  virtual void observe(std::span<const Trial> trials) = 0;
};

struct StrategyRow {
  std::string_view name, summary;
  std::unique_ptr<Strategy> (*make)(const Space& space, std::uint64_t seed);
};
std::span<const StrategyRow> strategies();
// Error: there is no strategy of that name.
Result<const StrategyRow*> find_strategy(std::string_view name);

}  // namespace dovetail::explore
