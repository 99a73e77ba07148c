// Reads a JSON document and checks it against the expected structure. The first mismatch is recorded as a diagnostic
// with the path of the value ("steps[2].arguments[0]"); later reads return defaults, so that a reader needs only one
// check at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace dovetail::bundle {

class CheckedJson {
 public:
  // The source, for diagnostics.
  struct Source {
    std::string_view where;     // the file or the step
    std::string_view document;  // part of it: "manifest", "code"
  };
  // `errors` receives the first problem. It and `json` outlive this object and all values reached from it.
  CheckedJson(const Json& json, Source source, Diagnostics& errors) : CheckedJson(&json, "", source, errors) {}

  CheckedJson at(std::string_view key) const;  // a required member
  std::optional<CheckedJson> find(std::string_view key) const;
  std::vector<CheckedJson> items() const;  // elements of an array
  std::string text() const;
  bool flag() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  std::uint64_t natural(std::uint64_t high = UINT64_MAX) const;
  std::vector<std::string> texts() const;
  std::vector<std::uint64_t> naturals() const;
  const Json& json() const { return *json_; }
  const std::string& path() const { return path_; }

  bool ok() const { return errors_->empty(); }
  void fail(std::string why) const;  // records a problem of this value

 private:
  CheckedJson(const Json* json, std::string path, Source source, Diagnostics& errors)
      : json_(json), path_(std::move(path)), source_(source), errors_(&errors) {}
  CheckedJson nothing() const;

  const Json* json_;
  std::string path_;
  Source source_;
  Diagnostics* errors_;
};

}  // namespace dovetail::bundle
