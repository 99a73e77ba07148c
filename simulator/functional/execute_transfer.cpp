// LOAD and STORE.
#include <fmt/format.h>

#include "isa/semantics/load.h"
#include "isa/semantics/store.h"
#include "isa/spec/memories.h"
#include "isa/verify/token_machine.h"
#include "simulator/functional/core.h"

namespace dovetail::simulator {

bool Core::dram_range_fits(const isa::Transfer& transfer, const Dram& dram, const char* action) {
  if (transfer.y_size == 0) return true;
  const std::uint64_t size = element_bytes(transfer.memory);
  const ByteRange range = bytes_moved(transfer, size);
  if (covers(dram, range)) return true;
  fault_ = outside_image(dram, range, size, action);
  return false;
}

void Core::count_bursts(const isa::Transfer& transfer, isa::Queue unit, Counters& counters) const {
  const BurstTotals totals = burst_totals(bus_, transfer, element_bytes(transfer.memory));
  PortEvents& port = counters.port[isa::index(unit)];
  port.bursts += totals.bursts;
  port.beats += totals.beats;
}

bool Core::run(const isa::Load& load, Dram& dram, Counters& counters) {
  if (load.x_size == 0) {
    ++counters.nops;
    return true;
  }
  const isa::Memory sram = isa::spec::info(load.memory).buffer;
  const std::uint64_t elements = isa::semantics::loaded_elements(load);
  if (!dram_range_fits(load, dram, "read")) return false;

  const std::uint64_t size = element_bytes(load.memory);
  isa::semantics::for_each_loaded_run(
      load, [&](std::uint64_t at, std::uint64_t count) { sram_.write_zeros(load.memory, at, count); },
      [&](std::uint64_t at, std::uint64_t from, std::uint64_t count) {
        sram_.write(load.memory, at, count, dram.bytes.data() + (from * size - dram.base));
      });
  sram_.defined(sram).define(load.sram_base, elements);
  if (config_.epilogue && sram == isa::Memory::acc) sram_.requantized().undefine(load.sram_base, elements);
  counters.bytes_loaded[static_cast<std::size_t>(load.memory)] += std::uint64_t{load.y_size} * load.x_size * size;
  counters.sram_of(sram).writes += elements;
  count_bursts(load, isa::spec::info(load.memory).load_queue, counters);
  return true;
}

bool Core::run(const isa::Store& store, Dram& dram, Counters& counters) {
  if (store.x_size == 0) {
    ++counters.nops;
    return true;
  }
  const std::uint64_t elements = isa::semantics::stored_elements(store);
  if (elements == 0) return true;
  if (!dram_range_fits(store, dram, "written")) return false;
  if (const auto hole = sram_.defined(isa::Memory::acc).find_undefined(store.sram_base, store.sram_base + elements - 1))
    return fail(fmt::format("element {} of acc is stored, but was not written since reset", *hole),
                "load the element first, reset it with GEMM, or shorten the store");

  const std::uint64_t size = element_bytes(store.memory);
  isa::semantics::for_each_stored_run(store, [&](std::uint64_t from, std::uint64_t to, std::uint64_t count) {
    sram_.read_out(from, count, store.saturate, dram.bytes.data() + (to * size - dram.base));
  });
  counters.bytes_stored += elements * size;
  count_bursts(store, isa::Queue::store, counters);
  return true;
}

}  // namespace dovetail::simulator
