// Reading files that may be pipes or devices: an endless one is refused early.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail {

// What a pipe or a device must deliver. `may_begin` is asked about what came so far, at 64 KiB and whenever that has
// doubled.
struct ExpectedFile {
  std::string_view kind;  // "an ONNX model"
  std::function<bool(std::span<const std::byte> so_far)> may_begin;
};

// As read_file (base/file.h). Error also: a pipe or a device delivers something else. Without a function everything may
// come.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit_bytes,
                                         const ExpectedFile& expected);

}  // namespace dovetail
