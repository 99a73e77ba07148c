#include "compiler/import/external_data.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/printable.h"
#include "compiler/import/messages.h"

namespace dovetail::import {
namespace {

namespace fs = std::filesystem;

Diagnostic external_refused(const std::string& where, std::string why, std::string hint) {
  return {"cannot read external tensor data", where, std::move(why), std::move(hint)};
}

std::optional<std::int64_t> parse_count(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

bool lies_inside(const fs::path& file, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end() && rest != file.end();
}

}  // namespace

Result<ExternalData::Range> ExternalData::find(const onnx::Tensor& tensor, std::int64_t bytes,
                                               const std::string& where) const {
  std::string location;
  std::int64_t offset = 0, length = bytes;
  for (const onnx::KeyValue& entry : tensor.external_data) {
    if (entry.key == "location") {
      location = entry.value;
    } else if (entry.key == "offset" || entry.key == "length") {
      const auto count = parse_count(entry.value);
      if (!count)
        return external_refused(where, fmt::format("{} \"{}\" is not a byte count", entry.key, printable(entry.value)),
                                "export the model again");
      (entry.key == "offset" ? offset : length) = *count;
    }
  }
  if (location.empty()) return external_refused(where, "no location is given", "export the model again");
  if (length != bytes)
    return external_refused(where, fmt::format("the tensor needs {} bytes, length says {}", bytes, length),
                            "export the model again");
  if (folder_.empty())
    return external_refused(
        where, fmt::format("its data are in {}, but the model was not read from a folder", printable(location)),
        "import the model from its file");

  std::error_code error;
  const fs::path root = fs::weakly_canonical(folder_, error);
  const fs::path file = fs::weakly_canonical(root / fs::path(location), error);
  if (error || location.find('\0') != std::string::npos || fs::path(location).is_absolute() || !lies_inside(file, root))
    return external_refused(where,
                            fmt::format("{} is outside the model's folder {}", printable(location), root.string()),
                            "put the data file next to the model");
  if (!fs::is_regular_file(file, error))
    return external_refused(where, fmt::format("{} is missing", file.string()), "put the data file next to the model");

  const auto size = static_cast<std::int64_t>(fs::file_size(file, error));
  if (error || offset > size || bytes > size - offset)
    return external_refused(
        where, fmt::format("{} bytes from offset {} of {}, which has {} bytes", bytes, offset, file.string(), size),
        "the data file is truncated; copy it again");
  files_->insert(file);
  return Range{file, offset, bytes};
}

Result<void> ExternalData::reserve(const Range& range, const std::string& where) {
  *bytes_ += static_cast<std::uint64_t>(range.bytes);
  return check_memory("cannot read external tensor data",
                      fmt::format("{}, with all tensors before it, from {}", where, range.file.string()), *bytes_);
}

Result<void> ExternalData::read(const Range& range, const std::string& where, std::span<std::byte> to) const {
  std::ifstream stream(range.file, std::ios::binary);
  stream.seekg(range.offset);
  if (!stream.read(reinterpret_cast<char*>(to.data()), range.bytes))
    return external_refused(where, fmt::format("{} cannot be read", range.file.string()), "check its permissions");
  return {};
}

}  // namespace dovetail::import
