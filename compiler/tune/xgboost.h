// Gradient-boosted trees (Chen, Guestrin: XGBoost, KDD 2016) through XGBoost's C API. The library is loaded when a
// ranking is made: nothing of it is needed to build, and a machine without it has another ranking (rankings.h).
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
  // Of `library`, or of the first of the usual names that the loader finds. Errors: there is none, it lacks a function,
  // or its version is another.
  static Result<std::unique_ptr<Ranking>> make(const std::filesystem::path& library = {});
  // From 1.4, the first with all functions, to 3: of later ones the functions may have changed.
  static bool takes_version(int major, int minor);

  ~XgboostRanking() override;
  std::string_view name() const override { return "XGBoost"; }
  // A row that it has already counts once. The oldest go when there are too many to train on quickly.
  void add(std::span<const double> features, double cost) override;
  // Trains first where enough was added. Equal numbers for all: it has learned too little to tell them apart.
  std::vector<double> predict(std::span<const std::vector<double>> features) override;

 private:
  struct State;
  explicit XgboostRanking(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::tune
