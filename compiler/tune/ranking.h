// A model of what candidates cost: learns from what was measured, and says which of those that were not are worth it.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace dovetail::tune {

class Ranking {
 public:
  virtual ~Ranking() = default;
  virtual std::string_view name() const = 0;
  // `cost`: as a multiple of what the task's default schedule costs, so that tasks share one model. Infinity: it did
  // not work.
  virtual void add(std::span<const double> features, double cost) = 0;
  // The less, the better; comparable among candidates of one task.
  virtual std::vector<double> predict(std::span<const std::vector<double>> features) = 0;
};

}  // namespace dovetail::tune
