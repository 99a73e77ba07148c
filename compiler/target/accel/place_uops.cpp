#include "compiler/target/accel/stream.h"

#include <algorithm>
#include <optional>

#include "compiler/target/accel/share_kernels.h"
#include "compiler/target/accel/uop_buffer_plan.h"
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

isa::UopLoop* loop_of(isa::Instruction& instruction) {
  if (auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) return gemm;
  if (auto* alu = std::get_if<isa::Alu>(&instruction.body)) return alu;
  return nullptr;
}

isa::Instruction load_uops(std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
  isa::Load load;
  load.memory = isa::Memory::uop;
  load.sram_base = static_cast<std::uint32_t>(sram);
  load.dram_base = dram;
  load.y_size = 1;
  load.x_size = load.x_stride = static_cast<std::uint32_t>(count);
  return {{}, load};
}

// The kernels that are part of no other one, in the order in which the stream first uses any part of them: those of an
// operation lie together.
struct Area {
  std::vector<KernelPart> parts;             // of each kernel of the stream
  std::vector<std::optional<int>> position;  // of each kernel of the stream in `wholes`
  std::vector<int> wholes;
  std::vector<std::uint64_t> sizes;  // of `wholes`
};
Area lay_out(const Stream& stream) {
  Area area{share_kernels(stream.kernels), {}, {}, {}};
  area.position.resize(stream.kernels.size());
  for (const StreamInstruction& item : stream.instructions) {
    if (item.kernel < 0) continue;
    const int whole = area.parts[static_cast<std::size_t>(item.kernel)].whole;
    std::optional<int>& position = area.position[static_cast<std::size_t>(whole)];
    if (position) continue;
    position = static_cast<int>(area.wholes.size());
    area.wholes.push_back(whole);
    area.sizes.push_back(stream.kernels[static_cast<std::size_t>(whole)].size());
  }
  return area;
}

}  // namespace

PlacedUops place_uops(Stream& stream, const isa::HardwareConfig& config, std::uint64_t dram_base) {
  const auto most_loaded = static_cast<std::uint64_t>(isa::spec::range_of<isa::Load, &isa::Load::x_size>(config).most);
  const Area area = lay_out(stream);
  std::vector<KernelUse> uses;
  for (std::size_t i = 0; i < stream.instructions.size(); ++i) {
    const StreamInstruction& item = stream.instructions[i];
    if (item.kernel < 0) continue;
    const int whole = area.parts[static_cast<std::size_t>(item.kernel)].whole;
    uses.push_back({i, *area.position[static_cast<std::size_t>(whole)], item.node});
  }
  const UopBufferPlan plan =
      plan_uop_buffer(area.sizes, uses, static_cast<std::uint64_t>(config.depth(isa::Memory::uop)));

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
      isa::UopLoop& loop = *loop_of(item.instruction);
      const auto k = static_cast<std::size_t>(item.kernel);
      loop.uop_begin = static_cast<std::uint32_t>(*place++ + area.parts[k].offset);
      loop.uop_end = loop.uop_begin + static_cast<std::uint32_t>(stream.kernels[k].size());
    }
    out.push_back(std::move(item));
  }
  stream.instructions = std::move(out);
  return placed;
}

}  // namespace dovetail::accel
