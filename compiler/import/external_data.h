// Tensor data outside the model file. A model names files by relative paths; they must lie inside the model's own
// folder, links resolved, so that a model from elsewhere cannot read what it was not shipped with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace dovetail::onnx {
class Tensor;
}

namespace dovetail::import {

// The data files of one model. Together, its tensors may take as much memory as there is (base/memory_limit.h): a model
// of a few bytes can name one file any number of times.
class ExternalData {
 public:
  // `folder`: where the files may lie; empty: nowhere.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Where `bytes` bytes of a tensor's data lie. Error: not in such a file, or in none that is there and long enough.
  struct Range {
    std::filesystem::path file;
    std::int64_t offset = 0, bytes = 0;
    auto operator<=>(const Range&) const = default;
  };
  Result<Range> find(const onnx::Tensor& tensor, std::int64_t bytes, const std::string& where) const;

  // Before memory for the range is allocated. Error: with what has been asked for so far it exceeds the limit.
  Result<void> reserve(const Range& range, const std::string& where);
  // Precondition: `to` has the range's size.
  Result<void> read(const Range& range, const std::string& where, std::span<std::byte> to) const;

  // In which tensors were found, by this object or a copy.
  const std::set<std::filesystem::path>& files() const { return *files_; }

 private:
  std::filesystem::path folder_;
  std::shared_ptr<std::uint64_t> bytes_ = std::make_shared<std::uint64_t>(0);  // copies count together
  std::shared_ptr<std::set<std::filesystem::path>> files_ = std::make_shared<std::set<std::filesystem::path>>();
};

}  // namespace dovetail::import
