#include "bundle/code/move_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bundle/code/accel.h"
#include "isa/move_memory.h"

namespace dovetail::bundle {

namespace {

std::vector<isa::Instruction> moved(const AccelCode& code, std::uint64_t distance) {
  std::vector<isa::Instruction> program = code.program;
  const std::vector<std::size_t> accelerators = isa::accelerators_of(program.size(), code.launches);
  for (std::size_t i = 0; i < program.size(); ++i)
    isa::move_address(code.configs()[accelerators[i]], program[i], distance);
  return program;
}

std::vector<std::byte> encoded(const AccelCode& code) {
  auto bytes = isa::encode_program(code.configs(), code.program, code.launches);
  DOVETAIL_CHECK(bytes.ok(), "a moved program must fit its configuration: " + to_string(bytes.errors()));
  return *std::move(bytes);
}

void move(AccelCode& code, std::uint64_t distance) {
  const std::vector<std::byte> before = encoded(code);
  code.program = moved(code, distance);
  for (Segment& segment : code.segments) {
    if (segment.address == code.program_base && std::ranges::equal(segment.bytes.bytes(), before))
      segment.bytes = Blob(encoded(code));
    segment.address += distance;
  }
  code.program_base += distance;
  for (auto* addresses : {&code.argument_addresses, &code.result_addresses})
    for (std::uint64_t& address : *addresses) address += distance;
}

}  // namespace

Result<Bundle> with_memory_at(Bundle bundle, std::uint64_t base) {
  DOVETAIL_ASSIGN(auto steps, accel_steps(bundle));
  const auto refuse = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot move the accelerator's memory", fmt::format("{:#x}", base), std::move(why),
                      std::move(hint)};
  };
  if (base % kMemoryGranule != 0)
    return refuse(fmt::format("the address is not a multiple of {}", kMemoryGranule),
                  fmt::format("give a multiple, for example {:#x}", base / kMemoryGranule * kMemoryGranule));
  for (auto& step : steps) {
    const MemorySpace& space = bundle.spaces[static_cast<std::size_t>(step.code.space)];
    const std::uint64_t end = std::uint64_t{1} << step.code.config.address_bits;
    if (base > end || space.bytes > end - base)
      return refuse(
          fmt::format("the memory of {} bytes would end beyond {:#x}, the end of the addresses of {} (address_bits {})",
                      space.bytes, end, step.code.config.name, step.code.config.address_bits),
          "give a lower address, or hardware with more `address_bits`");
    move(step.code, base - space.base);
    encode(step.code, bundle.steps[step.index]);
  }
  for (const auto& step : steps) bundle.spaces[static_cast<std::size_t>(step.code.space)].base = base;
  return bundle;
}

}  // namespace dovetail::bundle
