// Machine code in bundles: which steps have it, and which files this user trusts. `dovetail compile` records the
// bundles that it writes; a file with machine code that is not recorded runs only if the user explicitly trusts it
// (docs/reference/trust-and-limits.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "runtime/device.h"

namespace dovetail::runtime {

// The targets whose devices execute code of the bundle directly, without duplicates, including its programs for other
// shapes. A target without a device is not included: its code is never executed.
std::vector<std::string> machine_code_targets(const bundle::Bundle& bundle,
                                              const std::vector<std::shared_ptr<Device>>& devices);

// The record: one line for each compiled bundle with machine code: its SHA-256, two spaces, and its path, in the format
// of sha256sum. It is in the user's state folder (base/user_folder.h), which no other user may write to.
Result<std::filesystem::path> bundle_record();
// Adds a file. Error: the record cannot be written, and the file will not be in it.
Result<void> record_bundle(const Pieces& file, const std::filesystem::path& path);
// Why the record does not trust this file; nullopt: it does.
std::optional<std::string> not_recorded(std::span<const std::byte> bytes);

}  // namespace dovetail::runtime
