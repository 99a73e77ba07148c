#include "compiler/tune/training_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dovetail::tune {

namespace {
constexpr double kWorseByFactor = 2, kLeastOfFailures = 4;  // relative to the worst cost; relative to the default's
constexpr double kLeastCost = 1e-6;
}  // namespace

bool TrainingRows::add(std::span<const double> features, double cost) {
  if (!rows_.empty() && features.size() != rows_.front().first.size()) return false;
  if (std::isnan(cost)) cost = std::numeric_limits<double>::infinity();
  Row row{{features.begin(), features.end()}, std::max(cost, kLeastCost)};
  for (double& feature : row.first)
    if (!std::isfinite(feature)) feature = 0;  // NaN cannot be ordered
  if (!known_.insert(row).second) return false;
  rows_.push_back(std::move(row));
  if (rows_.size() > kMost) {
    known_.erase(rows_.front());
    rows_.pop_front();
  }
  return true;
}

std::vector<double> TrainingRows::labels() const {
  double worst = 0;
  for (const Row& row : rows_)
    if (std::isfinite(row.second)) worst = std::max(worst, row.second);
  const double failure = std::log(std::max(kWorseByFactor * worst, kLeastOfFailures));
  std::vector<double> labels;
  for (const Row& row : rows_) labels.push_back(std::isfinite(row.second) ? std::log(row.second) : failure);
  return labels;
}

}  // namespace dovetail::tune
