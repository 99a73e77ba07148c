#include "compiler/target/accel/last_accesses.h"

#include <algorithm>

namespace dovetail::accel {

using isa::AccessKind;
using isa::Queue;

namespace {

// Branch-free: a vector loop.
int latest(const std::vector<int>& instructions, const std::vector<isa::Extent>& runs) {
  int result = kNone;
  for (const isa::Extent& run : runs)
    for (std::uint64_t e = run.begin; e < run.end; ++e) result = std::max(result, instructions[e]);
  return result;
}

void fill(std::vector<int>& instructions, const std::vector<isa::Extent>& runs, int instruction) {
  for (const isa::Extent& run : runs)
    std::fill(instructions.begin() + static_cast<std::ptrdiff_t>(run.begin),
              instructions.begin() + static_cast<std::ptrdiff_t>(run.end), instruction);
}

}  // namespace

LastAccesses::LastAccesses(const isa::HardwareConfig& config, const Stream& stream) {
  const auto sram = [&](isa::Memory memory, Queue writer, Queue reader) {
    const auto depth = static_cast<std::size_t>(config.depth(memory));
    srams_[place(memory)] = {writer, reader, std::vector<int>(depth, kNone), std::vector<int>(depth, kNone)};
  };
  sram(isa::Memory::inp, Queue::load, Queue::compute);
  sram(isa::Memory::wgt, Queue::load, Queue::compute);
  sram(isa::Memory::acc, Queue::compute, Queue::store);
  for (const StreamInstruction& item : stream.instructions) shared_.add(isa::dram_access(config, item.instruction));
  shared_.close();
}

Clock LastAccesses::conflicts(Queue queue, const Accesses& accesses, const Clock& known) const {
  Clock found = known;
  const auto meet = [&](Queue other, int instruction) {
    int& last = found[isa::index(other)];
    last = std::max(last, instruction);
  };
  for (const isa::SramAccess& access : accesses.sram) {
    const Sram& sram = srams_[place(access.memory)];
    if (queue == sram.reader) {
      if (sram.last_written > found[isa::index(sram.writer)]) meet(sram.writer, latest(sram.written, access.runs));
    } else if (access.kind != AccessKind::read) {
      if (sram.last_read > found[isa::index(sram.reader)]) meet(sram.reader, latest(sram.read, access.runs));
    }
  }
  const isa::DramAccess& dram = accesses.dram;
  if (!dram.empty() && shared_.meets(dram.write, dram.hull()))
    for (std::uint64_t y = 0; y < dram.rows; ++y)
      dram_.query(dram.row(y), [&](const Bytes& bytes, isa::Extent) {
        if (!dram.write) return meet(Queue::store, bytes.last[isa::index(Queue::store)]);
        for (const Queue reader : {Queue::load, Queue::compute}) meet(reader, bytes.last[isa::index(reader)]);
      });
  for (std::size_t q = 0; q < found.size(); ++q)
    if (found[q] == known[q]) found[q] = kNone;
  return found;
}

void LastAccesses::record(Queue queue, const Accesses& accesses, int instruction) {
  for (const isa::SramAccess& access : accesses.sram) {
    Sram& sram = srams_[place(access.memory)];
    if (queue == sram.reader) {
      fill(sram.read, access.runs, instruction);
      sram.last_read = instruction;
    } else if (access.kind != AccessKind::read) {
      fill(sram.written, access.runs, instruction);
      sram.last_written = instruction;
    }
  }
  const isa::DramAccess& dram = accesses.dram;
  if (dram.empty() || !shared_.meets(dram.write, dram.hull())) return;
  for (std::uint64_t y = 0; y < dram.rows; ++y) {
    // A store forgets the readers: it waits for them, and so does whatever waits for it.
    if (dram.write) {
      Bytes bytes;
      bytes.last[isa::index(Queue::store)] = instruction;
      dram_.assign(dram.row(y), bytes);
    } else {
      dram_.update(dram.row(y), [&](Bytes& bytes, isa::Extent) { bytes.last[isa::index(queue)] = instruction; });
    }
  }
}

}  // namespace dovetail::accel
