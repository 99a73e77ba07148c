// Tensor data outside the model file. A model names files by relative paths; they must be inside the model's folder,
// after resolving links, so that an untrusted model cannot read other files.
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
struct Tensor;
}

namespace dovetail::import {

// The data files of one model. The memory limit (base/memory_limit.h) applies to the sum of its tensors: a model of a
// few bytes can name one file any number of times.
class ExternalData {
 public:
  // `folder`: where the files must be; empty: external data are rejected.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Where `bytes` bytes of a tensor's data are stored. Error: not in an external file, or the file is missing or too
  // short.
  struct Range {
    std::filesystem::path file;
    std::int64_t offset = 0, bytes = 0;
    auto operator<=>(const Range&) const = default;
  };
  Result<Range> find(const onnx::Tensor& tensor, std::int64_t bytes, const std::string& where) const;

  // To be called before memory for the range is allocated. Error: the sum of the reserved ranges exceeds the limit.
  Result<void> reserve(const Range& range, const std::string& where);
  // Precondition: `to` has the range's size.
  Result<void> read(const Range& range, const std::string& where, std::span<std::byte> to) const;

  // The files in which tensors were found, by this object or a copy.
  const std::set<std::filesystem::path>& files() const { return *files_; }

 private:
  std::filesystem::path folder_;
  std::shared_ptr<std::uint64_t> bytes_ = std::make_shared<std::uint64_t>(0);  // copies count together
  std::shared_ptr<std::set<std::filesystem::path>> files_ = std::make_shared<std::set<std::filesystem::path>>();
};

}  // namespace dovetail::import
