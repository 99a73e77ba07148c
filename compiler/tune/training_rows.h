// What a ranking learns from: features and the logarithms of costs, of rows of one length.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace dovetail::tune {

class TrainingRows {
 public:
  // False: there is such a row already, or it is of another length than those before. Beyond `most` the oldest go.
  bool add(std::span<const double> features, double cost);

  std::size_t size() const { return rows_.size(); }
  const std::vector<double>& features(std::size_t row) const { return rows_[row].first; }
  // The logarithm of the cost of each row. One that did not work is worse than all that did, by a factor: far enough to
  // be told from them, near enough not to drown what tells those apart.
  std::vector<double> labels() const;

 private:
  using Row = std::pair<std::vector<double>, double>;  // features, cost
  static constexpr std::size_t kMost = 2048;

  std::deque<Row> rows_;
  std::set<Row> known_;
};

}  // namespace dovetail::tune
