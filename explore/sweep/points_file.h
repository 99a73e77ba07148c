// The points of a sweep in a SQLite database: several explorers may work on it at once. Each point is measured by one
// of them; when an explorer is killed, another one measures the point that it had claimed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/sweep/space.h"

namespace dovetail::explore {

enum class PointState : std::uint8_t {
  measured,
  infeasible,  // the configuration is invalid, no program fits it, or it breaks a constraint
  pruned,      // its lower bounds are beaten by a measured point
  failed,      // its programs compute another result, or could not be compiled or timed: a bug of the kit
};
std::string_view name(PointState state);
PointState state_of(std::string_view name);  // the inverse

struct PointRecord {
  std::string key;      // of the machine: key_of()
  std::string machine;  // as --hw takes it; the memory is in `values`
  PointState state = PointState::measured;
  std::string why;               // why it was not measured
  Json chosen = Json::object();  // the values of the axes
  Json values = Json::object();  // numbers by name: "latency_ms", ...
  Json models = Json::array();   // what each model took
  bool operator==(const PointRecord&) const = default;
};
// Why a record is not a point of the space, as a sweep writes it; empty: it is.
std::string damage_of(const PointRecord& record, const Space& space);
// A row of "points" in docs/schema/explore.json.
Json to_json(const PointRecord& point);

// Only one thread may use it at a time.
class PointsFile {
 public:
  // Creates a missing file. `identity`: identifies models, space and kit; a file with another identity is rejected.
  // `space`: of the points, which outlives the file; null: points are not compared with it when they are read.
  static Result<PointsFile> open(const std::filesystem::path& path, const Json& identity, const Space* space = nullptr);
  PointsFile(PointsFile&&) noexcept;
  PointsFile& operator=(PointsFile&&) noexcept;
  ~PointsFile();

  enum class Claim : std::uint8_t {
    ours,    // to be measured, and finished
    done,    // there is a record
    others,  // another explorer measures it
  };
  Result<Claim> claim(const std::string& key);
  Result<void> finish(const PointRecord& record);
  // Errors of both readers: a row that is damaged, or not of the space.
  Result<std::optional<PointRecord>> find(const std::string& key) const;
  // Sorted by key.
  Result<std::vector<PointRecord>> all() const;

 private:
  struct State;
  explicit PointsFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::explore
