#include "isa/accelerators.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "isa/codec.h"
#include "isa/offset.h"

namespace dovetail::isa {

namespace {

// Calls `visit` with the configuration, begin and end of each longest run of instructions of one accelerator.
template <typename Visit>
Result<void> each_run(const AcceleratorConfigs& configs, std::size_t size, std::span<const Launch> launches,
                      Visit&& visit) {
  const std::vector<std::size_t> accelerators = accelerators_of(size, launches);
  for (std::size_t begin = 0, end = 0; begin < size; begin = end) {
    while (end < size && accelerators[end] == accelerators[begin]) ++end;
    DOVETAIL_TRY(visit(configs[accelerators[begin]], begin, end));
  }
  return {};
}

}  // namespace

std::size_t AcceleratorConfigs::kind(std::size_t accelerator) const {
  if (same()) return 0;
  std::size_t first = 0;
  while ((*this)[first] != (*this)[accelerator]) ++first;
  return first;
}

Result<void> check_common(const AcceleratorConfigs& configs) {
  Diagnostics errors;
  const HardwareConfig& first = configs.first();
  for (const HardwareConfig& other : configs.others()) {
    const auto differ = [&](std::string_view what, auto one, auto another, std::string_view why, std::string hint) {
      if (one != another)
        errors.push_back({"cannot combine the accelerators", fmt::format("{} and {}", first.name, other.name),
                          fmt::format("their {} are {} and {}, and {}", what, one, another, why), std::move(hint)});
    };
    const std::string equal = "combine configurations in which it is equal";
    differ("`batch`", first.batch, other.batch, "they work on the same blocks of images", equal);
    differ("`bus_bytes`", first.bus_bytes, other.bus_bytes, "their ports are those of one memory",
           fmt::format("write {},bus_bytes={}", other.name, first.bus_bytes));
    differ("`address_bits`", first.address_bits, other.address_bits, "they work in one memory",
           fmt::format("write {},address_bits={}", other.name, first.address_bits));
    differ("bytes of an instruction", first.instruction_bytes(), other.instruction_bytes(),
           "their instructions are one program", equal);
  }
  return errors;
}

std::vector<std::size_t> accelerators_of(std::size_t program_size, std::span<const Launch> launches) {
  std::vector<std::size_t> accelerators(program_size);
  for (std::size_t l = launches.size(); l-- > 0;) {
    const std::size_t begin = std::min(launches[l].begin, program_size),
                      count = std::min(launches[l].count, program_size - begin);
    std::fill_n(accelerators.begin() + static_cast<std::ptrdiff_t>(begin), count, launches[l].accelerator);
  }
  return accelerators;
}

Result<std::vector<std::byte>> encode_program(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                                              std::span<const Launch> launches) {
  if (configs.same()) return Codec(configs.first()).encode_program(program);
  std::vector<std::byte> bytes;
  DOVETAIL_TRY(each_run(configs, program.size(), launches,
                        [&](const HardwareConfig& config, std::size_t begin, std::size_t end) -> Result<void> {
                          DOVETAIL_ASSIGN(const std::vector<std::byte> part,
                                          Codec(config).encode_program(program.subspan(begin, end - begin)));
                          bytes.insert(bytes.end(), part.begin(), part.end());
                          return {};
                        }));
  return bytes;
}

Result<std::vector<Instruction>> decode_program(const AcceleratorConfigs& configs, std::span<const std::byte> bytes,
                                                std::span<const Launch> launches, std::string_view where) {
  const auto unit = static_cast<std::size_t>(configs.first().instruction_bytes());
  if (configs.same() || bytes.size() % unit != 0) return Codec(configs.first()).decode_program(bytes, where);
  std::vector<Instruction> program;
  DOVETAIL_TRY(each_run(configs, bytes.size() / unit, launches,
                        [&](const HardwareConfig& config, std::size_t begin, std::size_t end) -> Result<void> {
                          DOVETAIL_ASSIGN(
                              const std::vector<Instruction> part,
                              Codec(config).decode_program(bytes.subspan(begin * unit, (end - begin) * unit),
                                                           fmt::format("{}, instructions from {}", where, begin)));
                          program.insert(program.end(), part.begin(), part.end());
                          return {};
                        }));
  return program;
}

std::vector<Instruction> at_offset(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                                   std::span<const Launch> launches, std::uint64_t offset) {
  if (configs.same()) return at_offset(configs.first(), program, offset);
  const std::vector<std::size_t> accelerators = accelerators_of(program.size(), launches);
  std::vector<Instruction> moved;
  for (std::size_t i = 0; i < program.size(); ++i)
    moved.push_back(at_offset(configs[accelerators[i]], program.subspan(i, 1), offset).front());
  return moved;
}

}  // namespace dovetail::isa
