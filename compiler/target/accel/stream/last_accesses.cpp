#include "compiler/target/accel/stream/last_accesses.h"

#include <algorithm>
#include <numeric>

namespace dovetail::accel {

using isa::AccessKind;
using isa::Queue;

namespace {

// Bytes per element of a transfer, whose pieces are whole elements.
std::int64_t element_bytes(const isa::HardwareConfig& config, const isa::Instruction& instruction) {
  if (const auto* load = std::get_if<isa::Load>(&instruction.body)) return config.element_bytes(load->memory);
  return config.element_bytes(std::get<isa::Store>(instruction.body).memory);
}

}  // namespace

LastAccesses::LastAccesses(const isa::HardwareConfig& config, const Stream& stream) {
  const auto sram = [&](isa::Memory memory, Queue writer, Queue reader) {
    const auto depth = static_cast<std::size_t>(config.depth(memory));
    srams_[place(memory)] = {writer, reader, LastTouch(depth), LastTouch(depth)};
  };
  sram(isa::Memory::inp, Queue::load, Queue::compute);
  sram(isa::Memory::wgt, Queue::load, Queue::compute);
  sram(isa::Memory::acc, Queue::compute, Queue::store);
  for (const StreamInstruction& item : stream.instructions) shared_.add(dram_access(config, item));
  shared_.close();
  std::uint64_t begin = UINT64_MAX, end = 0, granule = 0;
  for (const StreamInstruction& item : stream.instructions) {
    const isa::DramAccess access = dram_access(config, item);
    if (access.empty() || !shared_.meets(access.write, access.hull())) continue;
    begin = std::min(begin, access.begin);
    end = std::max(end, access.hull().end);
    granule = std::gcd(std::gcd(granule, access.begin), std::gcd(access.row_bytes, access.stride_bytes));
    granule = std::gcd(granule, static_cast<std::uint64_t>(element_bytes(config, item.instruction)));
  }
  if (granule == 0) return;
  dram_ = {begin, granule, {}};
  for (LastTouch& last : dram_.last) last = LastTouch(static_cast<std::size_t>((end - begin) / granule));
}

void LastAccesses::clear() {
  for (Sram& sram : srams_) {
    sram.written.clear();
    sram.read.clear();
    sram.last_written = sram.last_read = kNone;
  }
  for (LastTouch& last : dram_.last) last.clear();
}

Clock LastAccesses::conflicts(Queue queue, const Accesses& accesses, const Clock& known) const {
  Clock found = known;
  const auto meet = [&](Queue other, int instruction) {
    int& last = found[isa::index(other)];
    last = std::max(last, instruction);
  };
  for (const isa::SramAccess& access : accesses.sram) {
    if (access.memory == isa::Memory::tab) continue;  // of the compute queue alone
    const Sram& sram = srams_[place(access.memory)];
    if (queue == sram.reader) {
      if (sram.last_written > found[isa::index(sram.writer)]) meet(sram.writer, sram.written.latest(access.runs));
    } else if (access.kind != AccessKind::read) {
      if (sram.last_read > found[isa::index(sram.reader)]) meet(sram.reader, sram.read.latest(access.runs));
    }
  }
  const isa::DramAccess& dram = accesses.dram;
  if (!dram.empty() && shared_.meets(dram.write, dram.hull()))
    for (std::uint64_t y = 0; y < dram.rows; ++y) {
      const isa::Extent row = dram_.granules(dram.row(y));
      if (dram.write)
        for (const Queue reader : {Queue::load, Queue::compute})
          meet(reader, dram_.last[isa::index(reader)].latest(row));
      else meet(Queue::store, dram_.last[isa::index(Queue::store)].latest(row));
    }
  for (std::size_t q = 0; q < found.size(); ++q)
    if (found[q] == known[q]) found[q] = kNone;
  return found;
}

void LastAccesses::record(Queue queue, const Accesses& accesses, int instruction) {
  for (const isa::SramAccess& access : accesses.sram) {
    if (access.memory == isa::Memory::tab) continue;
    Sram& sram = srams_[place(access.memory)];
    if (queue == sram.reader) {
      sram.read.touch(access.runs, instruction);
      sram.last_read = instruction;
    } else if (access.kind != AccessKind::read) {
      sram.written.touch(access.runs, instruction);
      sram.last_written = instruction;
    }
  }
  const isa::DramAccess& dram = accesses.dram;
  if (dram.empty() || !shared_.meets(dram.write, dram.hull())) return;
  for (std::uint64_t y = 0; y < dram.rows; ++y) {
    const isa::Extent row = dram_.granules(dram.row(y));
    dram_.last[isa::index(queue)].touch(row, instruction);
    // A store clears the readers: it waits for them, so later instructions that wait for the store wait for them too.
    if (dram.write)
      for (const Queue reader : {Queue::load, Queue::compute}) dram_.last[isa::index(reader)].touch(row, kNone);
  }
}

}  // namespace dovetail::accel
