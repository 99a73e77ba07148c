#include "simulator/cycle/uop_memory.h"

#include <algorithm>

#include "isa/semantics/load.h"
#include "simulator/image_range.h"

namespace dovetail::simulator {

UopMemory::UopMemory(const isa::HardwareConfig& config)
    : codec_(config),
      uop_bytes_(static_cast<std::uint64_t>(config.uop_bytes())),
      uops_(static_cast<std::size_t>(config.depth(isa::Memory::uop))) {}

void UopMemory::reset() { std::fill(uops_.begin(), uops_.end(), isa::Uop{}); }

bool UopMemory::load(const isa::Load& load, const Dram& dram) {
  if (load.x_size == 0) return true;
  if (load.y_size != 0 && !covers(dram, bytes_moved(load, uop_bytes_))) return false;
  isa::semantics::for_each_loaded_run(
      load,
      [&](std::uint64_t at, std::uint64_t count) {
        std::fill_n(uops_.begin() + static_cast<std::ptrdiff_t>(at), count, isa::Uop{});
      },
      [&](std::uint64_t at, std::uint64_t from, std::uint64_t count) {
        const std::byte* bytes = dram.bytes.data() + (from * uop_bytes_ - dram.base);
        for (std::uint64_t i = 0; i < count; ++i)
          uops_[at + i] = codec_.decode_uop({bytes + i * uop_bytes_, uop_bytes_});
      });
  return true;
}

}  // namespace dovetail::simulator
