// Values as typed on the command line: addresses, launches, NAME=VALUE, names of tensors. Diagnostics
// name the option.
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

// Decimal, or hexadecimal behind "0x".
Result<std::uint64_t> parse_address(std::string_view option, std::string_view text);
// The same of a part of a larger text, which has its own message; nothing where it is no number.
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

// A name as it appears in files and on the command line: every character (code point of UTF-8; a byte where it is none)
// outside A-Za-z0-9_.- becomes '_'.
std::string plain_name(std::string_view name);
// The one of `names` that `given` means: itself, or the only one whose plain name is `given`'s. `kind`: "input",
// "node".
Result<std::string> match_name(std::string_view option, std::string_view kind, const std::vector<std::string>& names,
                               std::string_view given);

}  // namespace dovetail::cli
