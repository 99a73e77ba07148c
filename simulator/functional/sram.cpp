#include "simulator/functional/sram.h"

#include <algorithm>

#include "isa/semantics/table.h"
#include "simulator/functional/kernels/pack.h"

namespace dovetail::simulator {

namespace {

std::size_t depth(const isa::HardwareConfig& config, isa::Memory memory) {
  return static_cast<std::size_t>(config.depth(memory));
}

TileLayout layout_for(const isa::HardwareConfig& config, const Kernels& kernels) {
  return {.batch = static_cast<std::size_t>(config.batch),
          .block_in = static_cast<std::size_t>(config.block_in),
          .block_out = static_cast<std::size_t>(config.block_out),
          .group_depth = kernels.group_depth};
}

}  // namespace

// A kernel may read a whole vector even if an element is shorter: INP and its compensation have a spare vector at the
// end.
Sram::Sram(const isa::HardwareConfig& config, const Kernels& kernels)
    : codec_(config),
      uop_bytes_(static_cast<std::size_t>(config.uop_bytes())),
      layout_(layout_for(config, kernels)),
      uop_dst_(depth(config, isa::Memory::uop)),
      uop_src_(uop_dst_.size()),
      uop_wgt_(uop_dst_.size()),
      inp_(depth(config, isa::Memory::inp) * layout_.inp_words() + kVectorLanes),
      compensation_(depth(config, isa::Memory::inp) * layout_.batch + kVectorLanes),
      wgt_(depth(config, isa::Memory::wgt) * layout_.wgt_words() / kVectorLanes),
      acc_(depth(config, isa::Memory::acc) * layout_.vectors()),
      table_(depth(config, isa::Memory::tab) * isa::spec::kTableEntries),
      out_(config.epilogue ? depth(config, isa::Memory::acc) * layout_.acc_words() : 0),
      requantized_(config.epilogue ? depth(config, isa::Memory::acc) : 0),
      uop_defined_(depth(config, isa::Memory::uop)),
      inp_defined_(depth(config, isa::Memory::inp)),
      wgt_defined_(depth(config, isa::Memory::wgt)),
      acc_defined_(depth(config, isa::Memory::acc)),
      tab_defined_(depth(config, isa::Memory::tab)) {
  // "All elements read as zero" in the kernels' form: a stored weight of 0 may be biased.
  write_zeros(isa::Memory::wgt, 0, depth(config, isa::Memory::wgt));
}

void Sram::define_all() {
  for (DefinedElements* memory : {&uop_defined_, &inp_defined_, &wgt_defined_, &acc_defined_, &tab_defined_})
    memory->define_all();
}

void Sram::write(isa::Memory memory, std::size_t begin, std::size_t count, const std::byte* dram) {
  switch (memory) {
    case isa::Memory::uop: return write_uops(begin, count, dram);
    case isa::Memory::wgt:
      return pack_wgt(layout_, dram, count,
                      reinterpret_cast<std::uint32_t*>(wgt_.data()) + begin * layout_.wgt_words());
    case isa::Memory::wgt4:
      return pack_wgt4(layout_, dram, count,
                       reinterpret_cast<std::uint32_t*>(wgt_.data()) + begin * layout_.wgt_words());
    case isa::Memory::inp:
      return pack_inp(layout_, dram, count, inp_.data() + begin * layout_.inp_words(),
                      compensation_.data() + begin * layout_.batch);
    case isa::Memory::acc: return unpack_acc(layout_, dram, count, acc_element(begin));
    case isa::Memory::acc8: return unpack_acc8(layout_, dram, count, acc_element(begin));
    case isa::Memory::tab: return isa::semantics::load_table(table_, {dram, sizeof(std::uint16_t) * table_.size()});
    case isa::Memory::out: break;  // not a destination of LOAD
  }
}

void Sram::write_zeros(isa::Memory memory, std::size_t begin, std::size_t count) {
  switch (memory) {
    case isa::Memory::uop:
      for (auto* index : {&uop_dst_, &uop_src_, &uop_wgt_}) std::fill_n(index->begin() + begin, count, 0);
      return;
    case isa::Memory::wgt:
    case isa::Memory::wgt4:
      std::fill_n(reinterpret_cast<std::uint32_t*>(wgt_.data()) + begin * layout_.wgt_words(),
                  count * layout_.wgt_words(), zero_weights(layout_));
      return;
    case isa::Memory::inp:
      std::fill_n(inp_.begin() + begin * layout_.inp_words(), count * layout_.inp_words(), 0);
      std::fill_n(compensation_.begin() + begin * layout_.batch, count * layout_.batch, 0);
      return;
    case isa::Memory::acc:
    case isa::Memory::acc8: std::fill_n(acc_element(begin), count * layout_.acc_words(), 0); return;
    case isa::Memory::out:
    case isa::Memory::tab: return;  // not a destination of LOAD; has no pads
  }
}

void Sram::write_uops(std::size_t begin, std::size_t count, const std::byte* dram) {
  for (std::size_t i = 0; i < count; ++i) {
    const isa::Uop uop = codec_.decode_uop({dram + i * uop_bytes_, uop_bytes_});
    uop_dst_[begin + i] = uop.dst;
    uop_src_[begin + i] = uop.src;
    uop_wgt_[begin + i] = uop.wgt;
  }
}

void Sram::read_out(std::size_t begin, std::size_t count, bool saturate, std::byte* dram) const {
  narrow_acc(layout_, acc_element(begin), count, saturate, dram);
  if (out_.empty() || count == 0 || !requantized_.any(begin, begin + count - 1)) return;
  for (std::size_t i = 0; i < count; ++i)
    if (requantized_[begin + i])
      std::memcpy(dram + i * layout_.lanes(), out_.data() + (begin + i) * layout_.acc_words(), layout_.lanes());
}

NdArray Sram::read(isa::Memory memory, std::size_t begin, std::size_t count) const {
  const auto n = static_cast<std::int64_t>(count), batch = static_cast<std::int64_t>(layout_.batch),
             in = static_cast<std::int64_t>(layout_.block_in), out = static_cast<std::int64_t>(layout_.block_out);
  switch (memory) {
    case isa::Memory::uop: {
      NdArray array(DType::uint32, {n, 3});
      for (std::size_t i = 0; i < count; ++i) {
        array.data<std::uint32_t>()[3 * i] = uop_dst_[begin + i];
        array.data<std::uint32_t>()[3 * i + 1] = uop_src_[begin + i];
        array.data<std::uint32_t>()[3 * i + 2] = uop_wgt_[begin + i];
      }
      return array;
    }
    case isa::Memory::wgt:
    case isa::Memory::wgt4: {
      NdArray array(DType::int8, {n, out, in});
      unpack_wgt(layout_, reinterpret_cast<const std::uint32_t*>(wgt_.data()) + begin * layout_.wgt_words(), count,
                 array.bytes().data());
      return array;
    }
    case isa::Memory::inp: {
      NdArray array(DType::int8, {n, batch, in});
      unpack_inp(layout_, inp_.data() + begin * layout_.inp_words(), count, array.bytes().data());
      return array;
    }
    case isa::Memory::out: {
      NdArray array(DType::int8, {n, batch, out});
      read_out(begin, count, false, array.bytes().data());
      return array;
    }
    case isa::Memory::tab: {
      NdArray array(DType::uint16, {n, isa::spec::kTableEntries});
      std::ranges::copy(table_, array.data<std::uint16_t>().begin());
      return array;
    }
    case isa::Memory::acc:
    case isa::Memory::acc8: break;
  }
  NdArray array(DType::int32, {n, batch, out});
  for (std::size_t i = 0; i < count; ++i)
    std::copy_n(acc_element(begin + i), layout_.lanes(),
                array.data<std::int32_t>().begin() + static_cast<std::ptrdiff_t>(i * layout_.lanes()));
  return array;
}

}  // namespace dovetail::simulator
