// Gradient-boosted trees (Chen, Guestrin: XGBoost, KDD 2016) through XGBoost's C API. The library is loaded when a
// ranking is created: building does not need it, and a machine without it uses another ranking (rankings.h).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/tune/ranking.h"

namespace dovetail::tune {

class XgboostRanking final : public Ranking {
 public:
  // Loads `library`, or the first of the usual names that the loader finds. Errors: not found, a symbol is missing, or
  // the version is not supported.
  static Result<std::unique_ptr<Ranking>> make(const std::filesystem::path& library = {});
  // From 1.4, the first with all functions, to 3: later versions may have changed them.
  static bool takes_version(int major, int minor);

  ~XgboostRanking() override;
  std::string_view name() const override { return "XGBoost"; }
  // A duplicate row counts once. The oldest rows are removed when there are too many to train on quickly.
  void add(std::span<const double> features, double cost) override;
  // Trains first if enough rows were added. All numbers are equal if it has learned too little to distinguish
  // candidates.
  std::vector<double> predict(std::span<const std::vector<double>> features) override;

 private:
  struct State;
  explicit XgboostRanking(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::tune
