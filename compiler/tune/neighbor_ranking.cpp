#include "compiler/tune/neighbor_ranking.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dovetail::tune {

namespace {

constexpr std::size_t kNeighbors = 5, kFewestNeighborRows = 8;

// 1 / deviation of each feature; 0 if all values are equal.
std::vector<double> weights_of(const TrainingRows& rows) {
  const std::size_t width = rows.features(0).size();
  const auto count = static_cast<double>(rows.size());
  std::vector<double> mean(width), squares(width);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t i = 0; i < width; ++i) mean[i] += rows.features(row)[i] / count;
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t i = 0; i < width; ++i) squares[i] += std::pow(rows.features(row)[i] - mean[i], 2) / count;
  for (double& each : squares) each = each > 1e-12 ? 1 / std::sqrt(each) : 0;
  return squares;
}

}  // namespace

std::vector<double> NeighborRanking::predict(std::span<const std::vector<double>> features) {
  std::vector<double> predicted(features.size(), 0.0);
  if (rows_.size() < kFewestNeighborRows) return predicted;
  const std::vector<double> weights = weights_of(rows_), labels = rows_.labels();
  std::vector<std::pair<double, std::size_t>> nearest(rows_.size());  // squared distance, row
  for (std::size_t at = 0; at < features.size(); ++at) {
    if (features[at].size() != weights.size()) continue;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      double distance = 0;
      for (std::size_t i = 0; i < weights.size(); ++i)
        distance += std::pow((features[at][i] - rows_.features(row)[i]) * weights[i], 2);
      nearest[row] = {distance, row};
    }
    std::partial_sort(nearest.begin(), nearest.begin() + kNeighbors, nearest.end());
    double sum = 0, total = 0;
    for (std::size_t i = 0; i < kNeighbors; ++i) {
      const double weight = 1 / (1e-6 + std::sqrt(nearest[i].first));
      sum += weight * labels[nearest[i].second];
      total += weight;
    }
    predicted[at] = sum / total;
  }
  return predicted;
}

}  // namespace dovetail::tune
