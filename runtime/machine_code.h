// Machine code in bundles: which of it there is, and which this user trusts. `dovetail compile` keeps a record of the
// bundles that it writes; a file with machine code that is not in it runs only where the user vouches for it
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

// The targets whose devices run code of the bundle as it is, each once, also of its programs for other shapes. A target
// without a device is none: nobody runs its code.
std::vector<std::string> machine_code_targets(const bundle::Bundle& bundle,
                                              const std::vector<std::shared_ptr<Device>>& devices);

// Of a whole file; 64 hexadecimal digits (FIPS 180-4).
std::string sha256(std::span<const std::byte> bytes);
std::string sha256(const Pieces& file);

// One line for each bundle with machine code that was compiled: its SHA-256, two spaces, where it was written, as
// sha256sum has it. It lies in the user's state folder (base/user_folder.h), which nobody else may write to.
Result<std::filesystem::path> bundle_record();
// Adds a file. Error: the record cannot be written, and the file will not be found in it.
Result<void> record_bundle(const Pieces& file, const std::filesystem::path& path);
// Why the record does not vouch for this file; nullopt: it does.
std::optional<std::string> not_recorded(std::span<const std::byte> bytes);

}  // namespace dovetail::runtime
