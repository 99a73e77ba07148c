// Values as typed on the command line: addresses, launches, NAME=VALUE, lists. Diagnostics name the option.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "isa/verify.h"

namespace dovetail::cli {

// Help of --hw.
inline constexpr const char* kHardwareHelp =
    "a named configuration (`dovetail hw list`) or a JSON file (the kit's or VTA's), with optional changes: "
    "NAME,key=value,...";

// Decimal, or hexadecimal after "0x".
Result<std::uint64_t> parse_address(std::string_view option, std::string_view text);
// The same for a part of a larger text; nullopt if it is not a number, which the caller reports.
std::optional<std::uint64_t> number_of(std::string_view text);

// A decimal number from `least` to `most`.
Result<std::int64_t> parse_count(std::string_view option, std::string_view text, std::int64_t least = 0,
                                 std::int64_t most = std::numeric_limits<std::int64_t>::max());

// `texts`: "BEGIN:COUNT" each; no text means one launch of the whole program.
Result<std::vector<isa::Launch>> parse_launches(const std::vector<std::string>& texts, std::size_t program_size);

// "NAME=VALUE", divided at the last '=' (names in models may contain one). Error: a name occurs twice.
Result<std::map<std::string, std::string>> parse_assignments(std::string_view option,
                                                             const std::vector<std::string>& texts);

// "NAME=1x3x224x224", "batch=1": one set of shapes. A name that occurs several times gives several sets: its first
// shape is in the first set, and so on. A name that occurs once belongs to all sets. Returns at least one set, which is
// empty without `texts`.
Result<std::vector<std::map<std::string, Shape>>> parse_shapes(const std::vector<std::string>& texts);

// "accel,cpu": names of targets that this version has, each once, in order of preference.
Result<std::vector<std::string>> parse_targets(std::string_view option, std::string_view text);
// "accel,cpu,cuda": the same, in the order of the rows of a comparison.
Result<std::vector<std::string>> parse_compared_targets(std::string_view text);
// Each value may name several configurations; a part without '=' begins the next configuration: "1x16x16,1x32x32",
// "1x16x16,clock_mhz=200,1x32x32".
std::vector<std::string> split_configurations(const std::vector<std::string>& values);

}  // namespace dovetail::cli
