// The training data of a ranking: features and logarithms of costs, in rows of one length.
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
  // False: the row exists already, or its length differs from the previous ones. Beyond `most`, the oldest rows are
  // removed.
  bool add(std::span<const double> features, double cost);

  std::size_t size() const { return rows_.size(); }
  const std::vector<double>& features(std::size_t row) const { return rows_[row].first; }
  // The logarithm of the cost of each row. A failed candidate is worse than all measured ones, by a factor: large
  // enough to distinguish it, small enough not to hide the differences among those.
  std::vector<double> labels() const;

 private:
  using Row = std::pair<std::vector<double>, double>;  // features, cost
  static constexpr std::size_t kMost = 2048;

  std::deque<Row> rows_;
  std::set<Row> known_;
};

}  // namespace dovetail::tune
