// The ranking of a machine without XGBoost: what the nearest measured candidates cost.
#pragma once

#include <string_view>

#include "compiler/tune/ranking.h"
#include "compiler/tune/training_rows.h"

namespace dovetail::tune {

// The mean of the logarithms of the costs of the nearest rows, the nearer the heavier. Each feature counts in units of
// its deviation among all rows, so that one that never changes counts nothing.
class NeighborRanking final : public Ranking {
 public:
  std::string_view name() const override { return "nearest neighbors"; }
  void add(std::span<const double> features, double cost) override { rows_.add(features, cost); }
  // Equal numbers for all: it has learned too little to tell them apart.
  std::vector<double> predict(std::span<const std::vector<double>> features) override;

 private:
  TrainingRows rows_;
};

}  // namespace dovetail::tune
