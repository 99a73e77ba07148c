// Reads a JSON document against what it should hold. The first broken expectation is kept as a diagnostic with the path
// of the value
// ("steps[2].segments[0].address"); everything read after it yields harmless defaults, so that a reader needs one check
// at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace dovetail::bundle {

class ManifestValue {
 public:
  // `errors` gets the first problem; `where` names the file. Both, and `json`, outlive this and all values reached from
  // it.
  ManifestValue(const Json& json, std::string_view where, Diagnostics& errors)
      : ManifestValue(&json, "", where, errors) {}

  ManifestValue at(std::string_view key) const;  // a member that must be there
  std::optional<ManifestValue> find(std::string_view key) const;
  std::vector<ManifestValue> items() const;  // of an array
  std::string text() const;
  bool flag() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  std::uint64_t natural(std::uint64_t high) const;
  std::vector<std::string> texts() const;
  const Json& json() const { return *json_; }
  const std::string& path() const { return path_; }

  bool ok() const { return errors_->empty(); }
  void fail(std::string why) const;  // records a problem of this value

 private:
  ManifestValue(const Json* json, std::string path, std::string_view where, Diagnostics& errors)
      : json_(json), path_(std::move(path)), where_(where), errors_(&errors) {}
  ManifestValue nothing() const;

  const Json* json_;
  std::string path_;
  std::string_view where_;
  Diagnostics* errors_;
};

}  // namespace dovetail::bundle
