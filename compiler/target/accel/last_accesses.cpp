#include "compiler/target/accel/last_accesses.h"

#include <algorithm>
#include <numeric>

namespace dovetail::accel {

using isa::AccessKind;
using isa::Queue;

namespace {

// Branch-free: a vector loop.
int latest(const std::vector<int>& instructions, const isa::Extent& run) {
  int result = kNone;
  for (std::uint64_t e = run.begin; e < run.end; ++e) result = std::max(result, instructions[e]);
  return result;
}
int latest(const std::vector<int>& instructions, const std::vector<isa::Extent>& runs) {
  int result = kNone;
  for (const isa::Extent& run : runs) result = std::max(result, latest(instructions, run));
  return result;
}

// Of a transfer: pieces of it are whole elements.
std::int64_t element_bytes(const isa::HardwareConfig& config, const isa::Instruction& instruction) {
  if (const auto* load = std::get_if<isa::Load>(&instruction.body)) return config.element_bytes(load->memory);
  return config.element_bytes(std::get<isa::Store>(instruction.body).memory);
}

void fill(std::vector<int>& instructions, const isa::Extent& run, int instruction) {
  std::fill(instructions.begin() + static_cast<std::ptrdiff_t>(run.begin),
            instructions.begin() + static_cast<std::ptrdiff_t>(run.end), instruction);
}
void fill(std::vector<int>& instructions, const std::vector<isa::Extent>& runs, int instruction) {
  for (const isa::Extent& run : runs) fill(instructions, run, instruction);
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
  std::uint64_t begin = UINT64_MAX, end = 0, granule = 0;
  for (const StreamInstruction& item : stream.instructions) {
    const isa::DramAccess access = isa::dram_access(config, item.instruction);
    if (access.empty() || !shared_.meets(access.write, access.hull())) continue;
    begin = std::min(begin, access.begin);
    end = std::max(end, access.hull().end);
    granule = std::gcd(std::gcd(granule, access.begin), std::gcd(access.row_bytes, access.stride_bytes));
    granule = std::gcd(granule, static_cast<std::uint64_t>(element_bytes(config, item.instruction)));
  }
  if (granule == 0) return;
  dram_ = {begin, granule, {}};
  dram_.last.fill(std::vector<int>(static_cast<std::size_t>((end - begin) / granule), kNone));
}

void LastAccesses::clear() {
  for (Sram& sram : srams_) {
    std::ranges::fill(sram.written, kNone);
    std::ranges::fill(sram.read, kNone);
    sram.last_written = sram.last_read = kNone;
  }
  for (std::vector<int>& last : dram_.last) std::ranges::fill(last, kNone);
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
    for (std::uint64_t y = 0; y < dram.rows; ++y) {
      const isa::Extent row = dram_.granules(dram.row(y));
      if (dram.write)
        for (const Queue reader : {Queue::load, Queue::compute})
          meet(reader, latest(dram_.last[isa::index(reader)], row));
      else meet(Queue::store, latest(dram_.last[isa::index(Queue::store)], row));
    }
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
    const isa::Extent row = dram_.granules(dram.row(y));
    fill(dram_.last[isa::index(queue)], row, instruction);
    // A store forgets the readers: it waits for them, and so does whatever waits for it.
    if (dram.write)
      for (const Queue reader : {Queue::load, Queue::compute}) fill(dram_.last[isa::index(reader)], row, kNone);
  }
}

}  // namespace dovetail::accel
