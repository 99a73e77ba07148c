// The ranking used without XGBoost: the cost of the nearest measured candidates.
#pragma once

#include <string_view>

#include "compiler/tune/ranking.h"
#include "compiler/tune/training_rows.h"

namespace dovetail::tune {

// The weighted mean of the logarithms of the nearest rows' costs; nearer rows have more weight. Each feature is scaled
// by its deviation among all rows; a feature that never changes is ignored.
class NeighborRanking final : public Ranking {
 public:
  std::string_view name() const override { return "nearest neighbors"; }
  void add(std::span<const double> features, double cost) override { rows_.add(features, cost); }
  // All numbers are equal if it has learned too little to distinguish candidates.
  std::vector<double> predict(std::span<const std::vector<double>> features) override;

 private:
  TrainingRows rows_;
};

}  // namespace dovetail::tune
