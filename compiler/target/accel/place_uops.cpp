#include "compiler/target/accel/stream.h"

#include <algorithm>

#include <fmt/format.h>

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

isa::UopLoop* uop_loop(isa::Instruction& instruction) {
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

}  // namespace

std::vector<isa::Uop> place_uops(Stream& stream, const isa::HardwareConfig& config, std::uint64_t dram_base) {
  const auto most_loaded = static_cast<std::uint64_t>(isa::spec::range_of<isa::Load, &isa::Load::x_size>(config).most);
  const auto depth = static_cast<std::uint64_t>(config.depth(isa::Memory::uop));
  std::vector<isa::Uop> area;
  std::vector<std::uint64_t> offset;  // of each kernel in the area
  for (const auto& kernel : stream.kernels) {
    DOVETAIL_CHECK(kernel.size() <= depth,
                   fmt::format("a kernel of {} micro-ops for a buffer of {}", kernel.size(), depth));
    offset.push_back(area.size());
    area.insert(area.end(), kernel.begin(), kernel.end());
  }

  std::vector<StreamInstruction> out;
  if (area.size() <= depth) {
    for (std::uint64_t begin = 0; begin < area.size(); begin += most_loaded)
      out.push_back({load_uops(begin, dram_base + begin, std::min<std::uint64_t>(most_loaded, area.size() - begin)), -1,
                     stream.instructions.empty() ? -1 : stream.instructions.front().node});
    for (StreamInstruction& item : stream.instructions) {
      if (item.kernel >= 0) {
        isa::UopLoop& loop = *uop_loop(item.instruction);
        loop.uop_begin = static_cast<std::uint32_t>(offset[static_cast<std::size_t>(item.kernel)]);
        loop.uop_end =
            loop.uop_begin + static_cast<std::uint32_t>(stream.kernels[static_cast<std::size_t>(item.kernel)].size());
      }
      out.push_back(item);
    }
  } else {
    struct Resident {
      int kernel;
      std::uint64_t begin, end;
    };
    std::vector<Resident> resident;  // oldest first
    std::uint64_t next = 0;
    for (StreamInstruction& item : stream.instructions) {
      if (item.kernel >= 0) {
        auto found =
            std::find_if(resident.begin(), resident.end(), [&](const Resident& r) { return r.kernel == item.kernel; });
        if (found == resident.end()) {
          const std::uint64_t size = stream.kernels[static_cast<std::size_t>(item.kernel)].size();
          if (next + size > depth) next = 0;
          std::erase_if(resident, [&](const Resident& r) { return r.begin < next + size && next < r.end; });
          resident.push_back({item.kernel, next, next + size});
          const std::uint64_t from = offset[static_cast<std::size_t>(item.kernel)];
          for (std::uint64_t done = 0; done < size; done += most_loaded)
            out.push_back(
                {load_uops(next + done, dram_base + from + done, std::min(most_loaded, size - done)), -1, item.node});
          next += size;
          found = resident.end() - 1;
        }
        isa::UopLoop& loop = *uop_loop(item.instruction);
        loop.uop_begin = static_cast<std::uint32_t>(found->begin);
        loop.uop_end = static_cast<std::uint32_t>(found->end);
      }
      out.push_back(item);
    }
  }
  stream.instructions = std::move(out);
  return area;
}

}  // namespace dovetail::accel
