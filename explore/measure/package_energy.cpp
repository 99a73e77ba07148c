#include "explore/measure/package_energy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/file.h"

namespace dovetail::explore {

namespace {

namespace fs = std::filesystem;

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

Result<std::uint64_t> read_number(const fs::path& file) {
  DOVETAIL_ASSIGN(const std::string text, read_text_file(file));
  const std::string_view line = first_line(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size())
    return Diagnostic{"cannot read the processor's energy", file.string(), "the file contains no number",
                      "this is a bug of the Linux kernel"};
  return number;
}

}  // namespace

Result<PackageEnergy> PackageEnergy::open(const fs::path& folder) {
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot measure the processor's energy", folder.string(), std::move(why), std::move(hint)};
  };
  std::error_code error;
  std::vector<fs::path> zones;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    zones.push_back(entry->path());
  if (error) return bad(error.message(), "RAPL needs an Intel or AMD processor, and virtual machines hide it");
  std::sort(zones.begin(), zones.end());
  PackageEnergy energy;
  for (const fs::path& zone : zones) {
    const auto name = read_text_file(zone / "name");
    if (!name.ok() || !first_line(*name).starts_with("package")) continue;
    Counter counter{.file = zone / "energy_uj"};
    const auto now = read_number(counter.file), range = read_number(zone / "max_energy_range_uj");
    if (!now.ok()) return bad(now.errors().front().why, "on most systems only root can read it");
    if (!range.ok()) return bad(range.errors().front().why, "this is a bug of the Linux kernel");
    counter.last_uj = *now;
    counter.range_uj = *range;
    energy.counters_.push_back(std::move(counter));
  }
  if (energy.counters_.empty())
    return bad("there is no power zone for a package of the processor", "virtual machines hide the counters");
  return energy;
}

Result<double> PackageEnergy::joules() {
  for (Counter& counter : counters_) {
    DOVETAIL_ASSIGN(const std::uint64_t now, read_number(counter.file));
    const std::uint64_t used =
        now >= counter.last_uj ? now - counter.last_uj : counter.range_uj - counter.last_uj + now;
    joules_ += static_cast<double>(used) * 1e-6;
    counter.last_uj = now;
  }
  return joules_;
}

}  // namespace dovetail::explore
