// The points of a sweep in a SQLite database: several explorers work on it at once, each point is measured by one of
// them, and what one of them leaves behind when it is killed another one takes over.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace dovetail::explore {

enum class PointState : std::uint8_t {
  measured,
  infeasible,  // no valid configuration, what no program fits, or beyond a constraint
  pruned,      // its lower bounds are beaten by a measured point
};
std::string_view name(PointState state);

struct PointRecord {
  std::string key;      // of the machine: key_of()
  std::string machine;  // as --hw takes it; the memory alongside it in `values`
  PointState state = PointState::measured;
  std::string why;               // where it was not measured
  Json chosen = Json::object();  // the values of the axes
  Json values = Json::object();  // by name: "latency_ms", ..., numbers
  Json models = Json::array();   // what each model took
  bool operator==(const PointRecord&) const = default;
};

// Of one thread at a time.
class PointsFile {
 public:
  // Makes it where there is none. `identity`: of models, space and kit; a file of another one is refused.
  static Result<PointsFile> open(const std::filesystem::path& path, const Json& identity);
  PointsFile(PointsFile&&) noexcept;
  PointsFile& operator=(PointsFile&&) noexcept;
  ~PointsFile();

  enum class Claim : std::uint8_t {
    ours,    // to be measured, and finished
    done,    // there is a record
    others,  // another explorer is at it
  };
  Result<Claim> claim(const std::string& key);
  Result<void> finish(const PointRecord& record);
  Result<std::optional<PointRecord>> find(const std::string& key) const;
  // By key.
  Result<std::vector<PointRecord>> all() const;

 private:
  struct State;
  explicit PointsFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::explore
