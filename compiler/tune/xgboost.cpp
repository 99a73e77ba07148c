#include "compiler/tune/xgboost.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "base/shared_library.h"
#include "compiler/tune/training_rows.h"

namespace dovetail::tune {

// From xgboost/c_api.h; every function except the version's returns 0 on success.
using DMatrixHandle = void*;
using BoosterHandle = void*;
struct XgboostFunctions {
  void (*version)(int* major, int* minor, int* patch);
  const char* (*last_error)();
  int (*make_matrix)(const float* data, std::uint64_t rows, std::uint64_t columns, float missing, DMatrixHandle* out);
  int (*set_floats)(DMatrixHandle matrix, const char* field, const float* values, std::uint64_t count);
  int (*free_matrix)(DMatrixHandle matrix);
  int (*make_booster)(const DMatrixHandle* matrices, std::uint64_t count, BoosterHandle* out);
  int (*set_parameter)(BoosterHandle booster, const char* name, const char* value);
  int (*update)(BoosterHandle booster, int iteration, DMatrixHandle matrix);
  int (*predict)(BoosterHandle booster, DMatrixHandle matrix, const char* config, const std::uint64_t** shape,
                 std::uint64_t* rank, const float** result);
  int (*free_booster)(BoosterHandle booster);
};

namespace {

constexpr std::array kLibraryNames{"libxgboost.so.0", "libxgboost.so"};
constexpr const char* kInstall = "install libxgboost (Debian: apt-get install libxgboost0)";

// Squared errors of logarithms: with few rows, they rank better than XGBoost's pairwise objective, and they need no
// groups (docs/howto/tuning.md). Each node samples the features, many of which are strongly correlated.
constexpr std::array<std::array<const char*, 2>, 10> kTreeParameters{{{"objective", "reg:squarederror"},
                                                                      {"tree_method", "hist"},
                                                                      {"max_bin", "32"},
                                                                      {"max_depth", "6"},
                                                                      {"eta", "0.15"},
                                                                      {"colsample_bynode", "0.3"},
                                                                      {"base_score", "0"},
                                                                      {"nthread", "1"},
                                                                      {"seed", "0"},
                                                                      {"verbosity", "0"}}};
constexpr int kRounds = 50;
constexpr std::size_t kFewestTreeRows = 8;  // minimum rows for training
constexpr std::size_t kRetrainShare = 20;   // trained again when a twentieth of the rows is new

template <typename Function>
bool find_function(const SharedLibrary& library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(library.find(symbol));
  return function != nullptr;
}

// The name of the first missing symbol; empty: all are present.
std::string find_functions(const SharedLibrary& library, XgboostFunctions& api) {
  std::string missing;
  const auto find = [&](const char* symbol, auto*& function) {
    if (!find_function(library, symbol, function) && missing.empty()) missing = symbol;
  };
  find("XGBoostVersion", api.version);
  find("XGBGetLastError", api.last_error);
  find("XGDMatrixCreateFromMat", api.make_matrix);
  find("XGDMatrixSetFloatInfo", api.set_floats);
  find("XGDMatrixFree", api.free_matrix);
  find("XGBoosterCreate", api.make_booster);
  find("XGBoosterSetParam", api.set_parameter);
  find("XGBoosterUpdateOneIter", api.update);
  find("XGBoosterPredictFromDMatrix", api.predict);
  find("XGBoosterFree", api.free_booster);
  return missing;
}

}  // namespace

struct XgboostRanking::State {
  explicit State(const XgboostFunctions& functions) : api(functions) {}
  ~State() { forget(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void forget() {
    if (booster != nullptr) api.free_booster(booster);
    booster = nullptr;
  }

  void check(int status, std::string_view what) const {
    DOVETAIL_CHECK(status == 0, fmt::format("XGBoost could not {}: {}", what, api.last_error()));
  }

  // Freed with `free_matrix`.
  template <typename RowOf>
  DMatrixHandle matrix(std::size_t count, std::size_t columns, const RowOf& row_of) const {
    std::vector<float> values;
    values.reserve(count * columns);
    for (std::size_t row = 0; row < count; ++row)
      for (const double value : row_of(row)) values.push_back(static_cast<float>(value));
    DMatrixHandle made = nullptr;
    check(api.make_matrix(values.data(), count, columns, std::numeric_limits<float>::quiet_NaN(), &made),
          "create a matrix");
    return made;
  }

  void train() {
    forget();
    const std::vector<double> costs = rows.labels();
    const std::vector<float> labels(costs.begin(), costs.end());
    const DMatrixHandle data =
        matrix(rows.size(), rows.features(0).size(), [&](std::size_t row) { return std::span(rows.features(row)); });
    check(api.set_floats(data, "label", labels.data(), labels.size()), "set labels");
    check(api.make_booster(&data, 1, &booster), "create a model");
    for (const auto& [name, value] : kTreeParameters) check(api.set_parameter(booster, name, value), "set a parameter");
    for (int round = 0; round < kRounds; ++round) check(api.update(booster, round, data), "train");
    check(api.free_matrix(data), "free a matrix");
    trained_on = rows.size();
    added = 0;
  }

  XgboostFunctions api;
  BoosterHandle booster = nullptr;
  TrainingRows rows;
  std::size_t trained_on = 0, added = 0;  // rows at the last training; rows added since then
};

Result<std::unique_ptr<Ranking>> XgboostRanking::make(const std::filesystem::path& library) {
  std::vector<std::filesystem::path> names{kLibraryNames.begin(), kLibraryNames.end()};
  if (!library.empty()) names = {library};
  Diagnostics problems;
  for (const std::filesystem::path& name : names) {
    auto loaded = SharedLibrary::open(name);
    if (!loaded.ok()) {
      problems.push_back(
          {"cannot rank with XGBoost", name.string(), loaded.errors().front().why, kInstall, Cause::resource});
      continue;
    }
    XgboostFunctions api{};
    if (const std::string missing = find_functions(*loaded, api); !missing.empty()) {
      problems.push_back(
          {"cannot rank with XGBoost", name.string(), "the library has no function " + missing, kInstall});
      continue;
    }
    int major = 0, minor = 0, patch = 0;
    api.version(&major, &minor, &patch);
    if (!takes_version(major, minor)) {
      problems.push_back({"cannot rank with XGBoost", name.string(),
                          fmt::format("the library has version {}.{}.{}, expected 1.4 to 3", major, minor, patch),
                          kInstall});
      continue;
    }
    loaded->keep();  // its threads would crash if it were unloaded
    return std::unique_ptr<Ranking>(new XgboostRanking(std::make_unique<State>(api)));
  }
  return problems;
}

bool XgboostRanking::takes_version(int major, int minor) {
  return (major == 1 && minor >= 4) || major == 2 || major == 3;
}

XgboostRanking::XgboostRanking(std::unique_ptr<State> state) : state_(std::move(state)) {}
XgboostRanking::~XgboostRanking() = default;

void XgboostRanking::add(std::span<const double> features, double cost) {
  if (state_->rows.add(features, cost)) ++state_->added;
}

std::vector<double> XgboostRanking::predict(std::span<const std::vector<double>> features) {
  std::vector<double> predicted(features.size(), 0.0);
  State& state = *state_;
  if (features.empty() || state.rows.size() < kFewestTreeRows) return predicted;
  if (state.booster == nullptr || state.added * kRetrainShare >= state.trained_on) state.train();
  const std::size_t width = state.rows.features(0).size();
  if (std::ranges::any_of(features, [&](const std::vector<double>& row) { return row.size() != width; }))
    return predicted;
  const DMatrixHandle data =
      state.matrix(features.size(), width, [&](std::size_t row) { return std::span(features[row]); });
  const std::uint64_t* shape = nullptr;
  std::uint64_t rank = 0;
  const float* values = nullptr;
  constexpr const char* kConfig =
      R"({"type": 0, "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})";
  state.check(state.api.predict(state.booster, data, kConfig, &shape, &rank, &values), "predict");
  std::copy_n(values, features.size(), predicted.begin());
  state.check(state.api.free_matrix(data), "free a matrix");
  return predicted;
}

}  // namespace dovetail::tune
