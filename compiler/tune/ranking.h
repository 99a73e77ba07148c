// A model of candidate costs: learns from measurements, and predicts which unmeasured candidates are worth measuring.
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
  // `cost`: relative to the cost of the task's default schedule, so that tasks share one model. Infinity: the candidate
  // failed.
  virtual void add(std::span<const double> features, double cost) = 0;
  // Lower is better; comparable among candidates of one task.
  virtual std::vector<double> predict(std::span<const std::vector<double>> features) = 0;
};

}  // namespace dovetail::tune
