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

// Of --hw.
inline constexpr const char* kHardwareHelp =
    "a named configuration (`dovetail hw list`) or a JSON file, ours or VTA's, and changes: NAME,key=value,...";

// Decimal, or hexadecimal after "0x".
Result<std::uint64_t> parse_address(std::string_view option, std::string_view text);
// The same of a part of a larger text, which has its own message; nothing where it is not a number.
std::optional<std::uint64_t> number_of(std::string_view text);

// A decimal number in that range.
Result<std::int64_t> parse_count(std::string_view option, std::string_view text, std::int64_t least = 0,
                                 std::int64_t most = std::numeric_limits<std::int64_t>::max());

// "BEGIN:COUNT" each; none means one launch of the whole program.
Result<std::vector<isa::Launch>> parse_launches(const std::vector<std::string>& texts, std::size_t program_size);

// "NAME=VALUE", divided at the last '=' (names of models may hold one). A name twice is an error.
Result<std::map<std::string, std::string>> parse_assignments(std::string_view option,
                                                             const std::vector<std::string>& texts);

// "NAME=1x3x224x224", "batch=1": one set of shapes. A name that is given several times gives several sets, its
// first shape in the first and so on; names that are given once belong to all of them. At least one set, empty where
// nothing is given.
Result<std::vector<std::map<std::string, Shape>>> parse_shapes(const std::vector<std::string>& texts);

// "accel,cpu": names of targets that this version has, each once, in order of preference.
Result<std::vector<std::string>> parse_targets(std::string_view option, std::string_view text);
// "accel,cpu,cuda": the same, in the order of the rows of a comparison.
Result<std::vector<std::string>> parse_compared_targets(std::string_view text);
// Each value may name several configurations: a part without '=' begins the next one, as in "1x16x16,1x32x32" and
// "1x16x16,clock_mhz=200,1x32x32".
std::vector<std::string> split_configurations(const std::vector<std::string>& values);

}  // namespace dovetail::cli
