#include "isa/verify/uop_overwrite.h"

#include <map>
#include <utility>

#include "isa/verify/accesses.h"
#include "isa/verify/interval_map.h"

namespace dovetail::isa {
namespace {

struct UopReader {
  std::size_t instruction = 0;
  bool fetched = false;
  bool set = false;
  auto operator<=>(const UopReader&) const = default;
};

// For each byte that is loaded as a micro-op or fetched: the first instruction that loads it or is encoded in it.
IntervalMap<UopReader> constant_bytes(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                                      std::span<const Launch> launches, std::optional<std::uint64_t> program_base) {
  IntervalMap<UopReader> readers;
  const auto claim = [&](Extent extent, UopReader reader) {
    readers.update(extent, [&](UopReader& owner, Extent) {
      if (!owner.set) owner = reader;
    });
  };
  const auto bytes = static_cast<std::uint64_t>(configs.first().instruction_bytes());
  for (const Launch& launch : launches)
    for (std::size_t i = launch.begin; i < launch.begin + launch.count; ++i) {
      if (program_base) claim({*program_base + i * bytes, *program_base + (i + 1) * bytes}, {i, true, true});
      const auto* load = std::get_if<Load>(&program[i].body);
      if (load == nullptr || load->memory != Memory::uop) continue;
      const DramAccess access = dram_access(configs[launch.accelerator], program[i]);
      for (std::uint64_t y = 0; y < access.rows; ++y) claim(access.row(y), {i, false, true});
    }
  return readers;
}

}  // namespace

void find_uop_overwrites(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                         std::span<const Launch> launches, std::optional<std::uint64_t> program_base,
                         FindingSet& findings) {
  const IntervalMap<UopReader> readers = constant_bytes(configs, program, launches, program_base);
  if (readers.empty()) return;
  for (const Launch& launch : launches)
    for (std::size_t i = launch.begin; i < launch.begin + launch.count; ++i) {
      const DramAccess access = dram_access(configs[launch.accelerator], program[i]);
      if (!access.write || access.empty()) continue;
      bool meets = false;
      readers.query(access.hull(), [&](const UopReader&, Extent) { meets = true; });
      if (!meets) continue;
      std::map<UopReader, std::vector<Extent>> overwritten;
      for (std::uint64_t y = 0; y < access.rows; ++y)
        readers.query(access.row(y),
                      [&](const UopReader& reader, Extent part) { overwritten[reader].push_back(part); });
      for (auto& [reader, extents] : overwritten)
        if (findings.admit(std::max(i, reader.instruction)))
          findings.add(uop_overwrite_finding(program, i, reader.instruction, reader.fetched, std::move(extents)));
    }
}

}  // namespace dovetail::isa
