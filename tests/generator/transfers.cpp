// LOADs and STOREs of every memory, pad and stride kind.
#include <algorithm>
#include <type_traits>
#include <variant>

#include "isa/offset.h"
#include "isa/spec/memories.h"
#include "isa/spec/range.h"
#include "tests/generator/builder.h"

namespace dovetail::test {
namespace {

bool is_uop(const isa::Transfer& transfer) { return transfer.memory == isa::Memory::uop; }

template <auto kMember>
std::uint64_t most(const isa::HardwareConfig& config) {
  return static_cast<std::uint64_t>(isa::spec::range_of<isa::Load, kMember>(config).most);
}

}  // namespace

std::uint64_t Builder::dram_elements(isa::Memory memory) const {
  return memory == isa::Memory::uop ? uop_count_ : (data_end_ - data_begin_) / bytes(memory);
}

isa::Memory Builder::draw_loaded() {
  if (config_.table && random_.chance(10)) return isa::Memory::tab;
  if (config_.weights4 && random_.chance(15)) return isa::Memory::wgt4;
  return random_.pick({isa::Memory::uop, isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc, isa::Memory::acc8});
}

isa::Instruction Builder::draw_load() { return draw_load(draw_loaded()); }

isa::Instruction Builder::draw_load(isa::Memory memory) {
  if (random_.chance(5)) return draw_nop(false);
  isa::Load load{isa::Transfer{.memory = memory}};
  auto pads = random_.pick({PadKind::none, PadKind::none, PadKind::rows, PadKind::columns, PadKind::both});
  if (!isa::spec::info(memory).takes_pads) pads = PadKind::none;
  draw_shape(load, pads, random_.pick({StrideKind::packed, StrideKind::gap, StrideKind::overlap}),
             random_.chance(depth(memory) == 1 ? 25 : 4));
  load.offset = config_.offset && random_.chance(50);
  return {{}, load};
}

isa::Instruction Builder::draw_store() {
  if (random_.chance(5)) return draw_nop(true);
  isa::Store store{isa::Transfer{.memory = isa::Memory::out}};
  draw_shape(store, PadKind::none, random_.pick({StrideKind::packed, StrideKind::gap, StrideKind::overlap}),
             random_.chance(3));
  store.saturate = config_.saturate && random_.chance(50);
  store.offset = config_.offset && random_.chance(50);
  return {{}, store};
}

// An instruction that moves nothing, whatever its other fields are.
isa::Instruction Builder::draw_nop(bool store) {
  isa::Transfer nop;
  const auto up_to = [&](std::uint64_t most) { return static_cast<std::uint32_t>(random_.below(most + 1)); };
  nop.sram_base = up_to(most<&isa::Transfer::sram_base>(config_));
  nop.dram_base = random_.below(most<&isa::Transfer::dram_base>(config_) + 1);
  nop.y_size = up_to(most<&isa::Transfer::y_size>(config_));
  nop.x_stride = up_to(most<&isa::Transfer::x_stride>(config_));
  const std::uint64_t most_pad = most<&isa::Transfer::x_pad_0>(config_);
  for (auto pad : {&isa::Transfer::y_pad_0, &isa::Transfer::y_pad_1, &isa::Transfer::x_pad_0, &isa::Transfer::x_pad_1})
    nop.*pad = up_to(most_pad);
  nop.offset = config_.offset && random_.chance(50);
  if (store) {
    nop.memory = isa::Memory::out;
    return {{}, isa::Store{nop}};
  }
  nop.memory = draw_loaded();
  return {{}, isa::Load{nop}};
}

// Draws sizes of the given kind until they fit SRAM and DRAM, smaller at each try; one element always fits.
void Builder::draw_shape(isa::Transfer& transfer, PadKind pads, StrideKind stride, bool no_rows) {
  const bool row_pads = pads == PadKind::rows || pads == PadKind::both;
  const bool column_pads = pads == PadKind::columns || pads == PadKind::both;
  // Sometimes rows of several bursts.
  const bool long_rows = random_.chance(4);
  const std::uint64_t longest =
      3 * static_cast<std::uint64_t>(config_.burst_beats * config_.bus_bytes) / bytes(transfer.memory);
  const std::uint64_t most_pad = most<&isa::Transfer::x_pad_0>(config_);
  for (std::uint64_t bound = 14; bound > 0; --bound) {
    const auto draw = [&](std::uint64_t least, std::uint64_t most) {
      return static_cast<std::uint32_t>(random_.between(least, std::max(least, std::min(most, bound))));
    };
    transfer.x_size = draw(1, 12);
    transfer.y_size = no_rows ? 0 : stride == StrideKind::packed ? draw(1, 10) : draw(2, 10);
    if (long_rows && !no_rows) {
      transfer.x_size = static_cast<std::uint32_t>(
          random_.between(1, std::min(1 + longest * bound / 14, most<&isa::Transfer::x_size>(config_))));
      transfer.y_size = stride == StrideKind::packed ? 1 : 2;
    }
    transfer.x_stride = stride == StrideKind::packed ? transfer.x_size
                        : stride == StrideKind::gap  ? transfer.x_size + draw(1, 6)
                                                     : static_cast<std::uint32_t>(random_.below(transfer.x_size));
    // At least one of the two pads of a kind.
    const auto draw_pads = [&](bool padded, std::uint32_t& first, std::uint32_t& second) {
      first = padded && random_.chance(70) ? draw(1, 4) : 0;
      second = padded && (first == 0 || random_.chance(60)) ? draw(1, most_pad) : 0;
    };
    draw_pads(row_pads, transfer.y_pad_0, transfer.y_pad_1);
    draw_pads(column_pads, transfer.x_pad_0, transfer.x_pad_1);
    if (place_in_dram(transfer)) return;
  }
  transfer.x_size = transfer.y_size = transfer.x_stride = 1;
  transfer.y_pad_0 = transfer.y_pad_1 = transfer.x_pad_0 = transfer.x_pad_1 = 0;
  place_in_dram(transfer);
}

// Chooses both base addresses. Returns false if the transfer fits nowhere.
bool Builder::place_in_dram(isa::Transfer& transfer) {
  const std::uint64_t rows = std::uint64_t{transfer.y_pad_0} + transfer.y_size + transfer.y_pad_1;
  const std::uint64_t elements = rows * (std::uint64_t{transfer.x_pad_0} + transfer.x_size + transfer.x_pad_1);
  const std::uint64_t room = depth(transfer.memory);
  if (elements > room || (elements > 1 && elements * bytes(transfer.memory) > options_.most_transfer_bytes))
    return false;
  const isa::Extent part = part_of(transfer.memory);
  if (elements <= part.end - part.begin && !is_uop(transfer) && random_.chance(75))
    transfer.sram_base = static_cast<std::uint32_t>(part.begin + random_.below(part.end - part.begin - elements + 1));
  else
    transfer.sram_base =
        static_cast<std::uint32_t>(random_.chance(20) ? room - elements : random_.below(room - elements + 1));
  // A transfer of nothing may begin after the last element, as far as its field allows.
  transfer.sram_base =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(transfer.sram_base, most<&isa::Transfer::sram_base>(config_)));
  const std::uint64_t hull =
      transfer.y_size == 0 ? 0 : std::uint64_t{transfer.y_size - 1} * transfer.x_stride + transfer.x_size;
  const std::uint64_t available = dram_elements(transfer.memory);
  if (hull > available) return false;
  // Stores mostly keep to one half, loads to the other: every conflict needs a relay through the compute queue.
  const bool store = transfer.memory == isa::Memory::out;
  std::uint64_t first = 0, last = available - hull;
  if (!is_uop(transfer) && random_.chance(80) && hull <= available / 2) {
    first = store ? available / 2 : 0;
    last = store ? available - hull : available / 2 - hull;
  }
  transfer.dram_base = (is_uop(transfer) ? base_ : data_begin_) / bytes(transfer.memory) + random_.between(first, last);
  return true;
}

void move_by_offset(GeneratedProgram& program, std::uint64_t seed) {
  const isa::HardwareConfig& config = program.config;
  if (!config.offset) return;
  Random random(seed ^ 0x0ff5e7);
  // Micro-ops are first in the image, so no base falls below 0.
  program.offset = random.chance(20) ? 0 : random.between(0, program.dram_base + (random.chance(50) ? 0 : 64));
  for (isa::Instruction& instruction : program.program)
    std::visit(
        [&]<typename Body>(Body& body) {
          if constexpr (std::is_base_of_v<isa::Transfer, Body>) {
            if (!body.offset || body.x_size == 0) return;
            const std::uint64_t elements =
                program.offset / static_cast<std::uint64_t>(config.element_bytes(body.memory));
            if (elements <= body.dram_base) body.dram_base -= elements;
            else body.offset = false;
          }
        },
        instruction.body);
}

GeneratedProgram settled(GeneratedProgram program) {
  if (program.offset != 0) program.program = isa::at_offset(program.config, program.program, program.offset);
  program.offset = 0;
  return program;
}

// Loads that cover `elements`, ascending, and the elements between and after them, so that few loads are needed.
void Builder::define(isa::Memory memory, const std::vector<std::uint32_t>& elements) {
  for (std::size_t i = 0; i < elements.size();) {
    std::size_t last = i;
    const bool narrow = random_.chance(50);
    const isa::Memory from = narrow && memory == isa::Memory::acc                       ? isa::Memory::acc8
                             : narrow && memory == isa::Memory::wgt && config_.weights4 ? isa::Memory::wgt4
                                                                                        : memory;
    isa::Load load{isa::Transfer{.memory = from, .sram_base = elements[i], .y_size = 1}};
    const std::uint64_t most = dram_elements(load.memory);
    const std::uint64_t reach =
        std::min({most, depth(memory) - elements[i], random_.between(16, 80),
                  std::max<std::uint64_t>(1, options_.most_transfer_bytes / bytes(load.memory))});
    while (last + 1 < elements.size() && elements[last + 1] - elements[i] < reach) ++last;
    load.x_size = static_cast<std::uint32_t>(reach);
    load.x_stride = load.x_size;
    load.dram_base = data_begin_ / bytes(load.memory) + random_.below(most - load.x_size + 1);
    emit({{}, load});
    i = last + 1;
  }
}

}  // namespace dovetail::test
