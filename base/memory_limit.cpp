#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <fmt/format.h>

namespace dovetail {

namespace {

constexpr const char* kVariable = "DOVETAIL_MEMORY_LIMIT";

// The machine's memory, or the limit of the process's control group (version 2, as containers have it).
std::uint64_t machine_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  std::uint64_t bytes = pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                                              : std::uint64_t{1} << 32;
  std::ifstream group("/sys/fs/cgroup/memory.max");  // a number, or "max"
  if (std::uint64_t most = 0; group >> most && most > 0) bytes = std::min(bytes, most);
  return bytes;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    int shift;
  };
  constexpr std::array<Unit, 4> kUnits{{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};
  int shift = 0;
  for (const Unit& unit : kUnits)
    if (text.ends_with(unit.name)) {
      shift = unit.shift;
      text.remove_suffix(unit.name.size());
      break;
    }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (value > (std::uint64_t{std::numeric_limits<std::int64_t>::max()} >> shift)) return std::nullopt;
  return value << shift;
}

Result<std::uint64_t> memory_limit() {
  if (const char* given = std::getenv(kVariable); given != nullptr && *given != '\0') {
    if (const auto bytes = parse_bytes(given)) return *bytes;
    return Diagnostic{fmt::format("invalid value for {}", kVariable), given, "the limit must be a number of bytes",
                      "write it as 512MiB, 8GiB or 1073741824"};
  }
  static const std::uint64_t available = machine_bytes();
  return available / 4 * 3;
}

Result<void> check_memory(std::string_view what, const std::string& where, std::uint64_t bytes) {
  DOVETAIL_ASSIGN(const std::uint64_t limit, memory_limit());
  if (bytes <= limit) return {};
  return Diagnostic{std::string(what), where, fmt::format("{} bytes of memory > limit {}", bytes, limit),
                    fmt::format("check that it is the right file, or raise {}", kVariable)};
}

}  // namespace dovetail
