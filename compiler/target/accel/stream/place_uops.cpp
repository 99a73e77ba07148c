#include "compiler/target/accel/stream/stream.h"

#include <algorithm>
#include <optional>

#include "compiler/target/accel/stream/share_kernels.h"
#include "compiler/target/accel/stream/uop_buffer_plan.h"
#include "isa/spec/range.h"

namespace dovetail::accel {

int Stream::kernel(std::vector<isa::Uop> uops) {
  std::vector<std::uint32_t> key;
  key.reserve(uops.size() * 3);
  for (const isa::Uop& uop : uops) key.insert(key.end(), {uop.dst, uop.src, uop.wgt});
  const auto [it, fresh] = index_.emplace(std::move(key), static_cast<int>(kernels.size()));
  if (fresh) kernels.push_back(std::move(uops));
  return it->second;
}

namespace {

isa::Instruction load_uops(std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
  isa::Load load;
  load.memory = isa::Memory::uop;
  load.sram_base = static_cast<std::uint32_t>(sram);
  load.dram_base = dram;
  load.y_size = 1;
  load.x_size = load.x_stride = static_cast<std::uint32_t>(count);
  return {{}, load};
}

// Approximate cycles from a LOAD UOP's start to its first micro-op, with DRAM's latency, and for draining the pipe
// before it.
constexpr std::uint64_t kLoadCycles = 80;

// The memory for micro-ops.
struct Area {
  std::vector<KernelPart> parts;  // the part for each kernel of the stream
  // The kernels that get their own place, in the order in which the stream first uses them or a part of them: kernels
  // that one operation uses first are adjacent.
  std::vector<int> wholes;
  std::vector<std::uint64_t> sizes;  // for `wholes`
  std::vector<KernelUse> uses;       // for `wholes`
};
Area lay_out(const Stream& stream, std::vector<KernelPart> parts) {
  Area area{std::move(parts), {}, {}, {}};
  std::vector<std::optional<int>> positions(stream.kernels.size());  // position in `wholes`
  for (std::size_t i = 0; i < stream.instructions.size(); ++i) {
    const StreamInstruction& item = stream.instructions[i];
    if (item.kernel < 0) continue;
    const int whole = area.parts[static_cast<std::size_t>(item.kernel)].whole;
    std::optional<int>& position = positions[static_cast<std::size_t>(whole)];
    if (!position) {
      position = static_cast<int>(area.wholes.size());
      area.wholes.push_back(whole);
      area.sizes.push_back(stream.kernels[static_cast<std::size_t>(whole)].size());
    }
    area.uses.push_back({i, *position, item.node});
  }
  return area;
}

struct UopPlacement {
  Area area;
  UopBufferPlan plan;

  std::uint64_t cycles(const isa::HardwareConfig& config) const {
    std::uint64_t uops = 0;
    for (const UopLoad& load : plan.loads) uops += load.count;
    return plan.loads.size() * kLoadCycles +
           uops * static_cast<std::uint64_t>(config.uop_bytes()) / static_cast<std::uint64_t>(config.bus_bytes);
  }
};
UopPlacement place(const Stream& stream, std::vector<KernelPart> parts, const isa::HardwareConfig& config) {
  UopPlacement placement{lay_out(stream, std::move(parts)), {}};
  placement.plan = plan_uop_buffer(placement.area.sizes, placement.area.uses,
                                   static_cast<std::uint64_t>(config.depth(isa::Memory::uop)));
  return placement;
}

// Shared kernels need less room. But if they do not all fit, a part may load a whole kernel too early.
UopPlacement best_placement(const Stream& stream, const isa::HardwareConfig& config) {
  UopPlacement shared = place(stream, share_kernels(stream.kernels), config);
  if (shared.plan.loads.size() <= 1) return shared;
  std::vector<KernelPart> apart;
  for (std::size_t k = 0; k < stream.kernels.size(); ++k) apart.push_back({static_cast<int>(k), 0});
  UopPlacement own = place(stream, std::move(apart), config);
  return own.cycles(config) < shared.cycles(config) ? own : shared;
}

}  // namespace

PlacedUops place_uops(Stream& stream, const isa::HardwareConfig& config, std::uint64_t dram_base) {
  const auto most_loaded = static_cast<std::uint64_t>(isa::spec::range_of<isa::Load, &isa::Load::x_size>(config).most);
  const auto [area, plan] = best_placement(stream, config);

  PlacedUops placed;
  for (const int whole : area.wholes) {
    const auto& kernel = stream.kernels[static_cast<std::size_t>(whole)];
    placed.uops.insert(placed.uops.end(), kernel.begin(), kernel.end());
  }
  placed.statistics = {.kernels = stream.kernels.size(), .wholes = area.wholes.size()};
  std::vector<StreamInstruction> out;
  out.reserve(stream.instructions.size() + plan.loads.size());
  auto load = plan.loads.begin();
  auto place = plan.places.begin();
  for (std::size_t i = 0; i < stream.instructions.size(); ++i) {
    StreamInstruction& item = stream.instructions[i];
    for (; load != plan.loads.end() && load->at == i; ++load)
      for (std::uint64_t done = 0; done < load->count; done += most_loaded) {
        const std::uint64_t count = std::min(most_loaded, load->count - done);
        out.push_back({load_uops(load->to + done, dram_base + load->from + done, count), -1, item.node});
        ++placed.statistics.loads;
        placed.statistics.loaded_uops += count;
      }
    if (item.kernel >= 0) {
      isa::UopLoop& loop = *isa::uop_loop(item.instruction);
      const auto k = static_cast<std::size_t>(item.kernel);
      loop.uop_begin = static_cast<std::uint32_t>(*place++ + area.parts[k].offset);
      loop.uop_end = loop.uop_begin + static_cast<std::uint32_t>(stream.kernels[k].size()) -
                     (isa::has_epilogue(item.instruction) ? 1 : 0);
    }
    out.push_back(std::move(item));
  }
  stream.instructions = std::move(out);
  return placed;
}

}  // namespace dovetail::accel
