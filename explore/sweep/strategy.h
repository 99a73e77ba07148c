// How the points of a space are chosen. A strategy proposes, is told what came of it, and proposes again; what it does
// depends on nothing else, so that a sweep is the same however many processors it has.
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
  std::optional<Costs> costs;  // none: the point is impossible, or breaks a constraint
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // At most so many points, none that was proposed before. Empty: there are no more.
  virtual std::vector<Genes> propose(std::size_t most) = 0;
  // What came of all that was proposed since the last time, in its order.
  virtual void tell(std::span<const Trial> trials) = 0;
};

struct StrategyRow {
  std::string_view name, summary;
  std::unique_ptr<Strategy> (*make)(const Space& space, std::uint64_t seed);
};
std::span<const StrategyRow> strategies();
// Error: there is none of that name.
Result<const StrategyRow*> find_strategy(std::string_view name);

}  // namespace dovetail::explore
