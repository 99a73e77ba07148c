#include "isa/verify/command_queues.h"

#include <bit>

#include "isa/spec/alu_ops.h"

namespace dovetail::isa {
namespace {

// The beats that a LOAD of INP or WGT requests; counting stops beyond `most`.
std::uint64_t beats_of(const Instruction& instruction, const QueueDepths& depths, std::uint64_t most) {
  const auto& load = std::get<Load>(instruction.body);
  if (load.x_size == 0) return 0;
  const std::uint64_t element = load.memory == Memory::inp   ? depths.inp_bytes
                                : load.memory == Memory::wgt ? depths.wgt_bytes
                                                             : depths.wgt4_bytes;
  const int bus_log2 = std::countr_zero(depths.bus_bytes);
  std::uint64_t address = load.dram_base * element, beats = 0;
  for (std::uint64_t row = 0; row < load.y_size && beats <= most; ++row, address += load.x_stride * element)
    beats += ((address + load.x_size * element - 1) >> bus_log2) - (address >> bus_log2) + 1;
  return beats;
}

}  // namespace

ComputeKind compute_kind(const Instruction& instruction) {
  if (product_loop(instruction) != nullptr) return ComputeKind::gemm;
  const auto* alu = std::get_if<Alu>(&instruction.body);
  if (alu == nullptr) return ComputeKind::serial;
  if (!spec::is_alu_op(alu->op)) return ComputeKind::alu;  // illegal; the verifier continues
  switch (spec::info(alu->op).kind) {
    case spec::AluKind::alu: return ComputeKind::alu;
    case spec::AluKind::alu_long: return ComputeKind::alu_long;
  }
  return ComputeKind::alu;
}

QueueDepths queue_depths(const HardwareConfig& config) {
  const auto count = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  return {.commands = count(config.command_queue_depth),
          .tokens = count(config.token_queue_depth),
          .load_beats = count(config.outstanding_beats),
          .bus_bytes = count(config.bus_bytes),
          .inp_bytes = count(config.element_bytes(Memory::inp)),
          .wgt_bytes = count(config.element_bytes(Memory::wgt)),
          .wgt4_bytes = count(config.element_bytes(Memory::wgt4))};
}

CommandQueues::CommandQueues(QueueDepths depths) : depths_(depths) {}

void CommandQueues::begin(std::span<const Instruction> launch) {
  launch_ = launch;
  for (Unit& unit : units_) unit.first = unit.waiting = unit.first_flying = unit.flying = 0;
  tokens_.fill(0);
  unfinished_ = 0;
}

void CommandQueues::grow(Unit& unit) {
  std::rotate(unit.ring.begin(), unit.ring.begin() + static_cast<std::ptrdiff_t>(unit.first), unit.ring.end());
  unit.first = 0;
  unit.ring.resize(std::min(depths_.commands, std::max<std::size_t>(16, 2 * unit.ring.size())));
}

// An instruction in flight other than the oldest is complete or about to complete: only the oldest can keep the unit
// from starting more.
bool CommandQueues::takes_head(Queue queue) const {
  const Unit& at = unit(queue);
  switch (queue) {
    case Queue::load: {
      if (at.flying > static_cast<std::size_t>(spec::kLoadWaiting.value)) return false;
      // The head's bursts are requested after those of all preceding loads have been granted. When the oldest load
      // waits to push, its beats have left the buffer; those of the others are still there.
      std::uint64_t beats = 0;
      for (std::size_t k = 1; k < at.flying && beats <= depths_.load_beats; ++k)
        beats += beats_of(launch_[at.in_flight(k).instruction], depths_, depths_.load_beats);
      return beats <= depths_.load_beats;
    }
    case Queue::compute: {
      const ComputeKind kind = compute_kind(launch_[at.head().instruction]);
      return kind != ComputeKind::serial && kind == compute_kind(launch_[at.in_flight(0).instruction]) &&
             at.flying < static_cast<std::size_t>(spec::kComputeInFlight.value);
    }
    case Queue::store: return false;
  }
  return false;
}

std::optional<std::size_t> CommandQueues::head(Queue queue) const {
  const Unit& at = unit(queue);
  if (at.waiting == 0) return std::nullopt;
  return at.head().instruction;
}

std::optional<std::size_t> CommandQueues::oldest(Queue queue) const {
  const Unit& at = unit(queue);
  if (at.flying == 0) return std::nullopt;
  return at.in_flight(0).instruction;
}

}  // namespace dovetail::isa
