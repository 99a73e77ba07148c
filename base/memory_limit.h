// The limit of the memory that a file, a tensor or a run may request. Sizes that inputs claim are compared with it
// before anything is allocated, so that a file of a few bytes cannot exhaust the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail {

// A number of bytes as people write it: "512MiB", "8GiB", "4096". nullopt: not such a number, or above 2^63.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// The environment's DOVETAIL_MEMORY_LIMIT, else three quarters of the memory of this machine, or of the process's
// container. Error: the variable is not a number of bytes.
Result<std::uint64_t> memory_limit();

// Error: `bytes` exceed the limit. `what` is the action that fails, and `where` names the file and the tensor.
Result<void> check_memory(std::string_view what, const std::string& where, std::uint64_t bytes);

}  // namespace dovetail
