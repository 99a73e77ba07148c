// Files that are the same in every exported folder, as text: export/tiny, and examples/driver for programs with an
// accelerator.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dovetail::exporting {

struct SharedFile {
  enum class Of : std::uint8_t { every, accelerator };  // programs
  std::string_view name, text;
  Of of = Of::every;
};
std::span<const SharedFile> shared_files();

}  // namespace dovetail::exporting
