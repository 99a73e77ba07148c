// docs/reference/timing.md, sections 1, 2 and 7. A launch: start and end of instructions, the order of the units within
// a cycle, and the addresses of both ports.
#include <algorithm>

#include "tests/differential/simulator/per_cycle/model.h"
#include "tests/differential/simulator/per_cycle/per_cycle.h"

namespace dovetail::test::per_cycle {

Running PerCycle::start(Queue queue, Cycle c) {
  CommandQueue& commands = queues_[isa::index(queue)];
  const Command command = commands.waiting.front();
  const Cycle h =
      std::max(command.issue + value(kIssueToStart), commands.last_start == kNever ? 0 : commands.last_start + 1);
  const Before& before = before_[isa::index(queue)];
  StallCause cause = StallCause::none;
  if (c == command.issue + value(kIssueToStart)) cause = StallCause::fetch;
  else if (c == h) cause = StallCause::none;
  else if (before.unit) cause = StallCause::unit;
  else if (before.drain) cause = StallCause::drain;
  else if (before.token_prev) cause = StallCause::token_prev;
  else if (before.token_next) cause = StallCause::token_next;
  simulator::TraceEvent& event = trace_.events[command.instruction];
  event.unit = queue;
  event.issue = command.issue;
  event.start = c;
  event.cause = cause;
  commands.leaving = true;
  commands.last_start = c;
  Running running{.instruction = command.instruction, .use = isa::token_use(program_[command.instruction]), .start = c};
  for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo) tokens_[fifo].change -= running.use.pops >> fifo & 1;
  last_event_ = c;
  return running;
}

void PerCycle::end(Running& running, Cycle c) {
  for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo) tokens_[fifo].change += running.use.pushes >> fifo & 1;
  running.end = c;
  trace_.events[running.instruction].end = c;
  last_end_ = last_event_ = c;
  ++ended_;
}

void PerCycle::addresses(Cycle c) {
  bool accepted = false, refused = false;
  if (address_ != nullptr && c >= address_valid_) {
    const BurstOf& burst = address_->granted.front();
    if (const auto answer = memory_.accept(c, Direction::read, burst.address, burst.beats); answer.accepted) {
      address_->accept(answer.cycle);
      address_->at_address().parts += memory_.explain(Direction::read);
      accepted = true;
      last_event_ = c;
    } else {
      refused = true;
      ++address_->at_address().parts[MemoryCause::full];
    }
  }
  if (aw_from_ && c >= *aw_from_) {
    if (const auto answer = memory_.accept(c, Direction::write, aw_.address, aw_.beats); answer.accepted) {
      sending_.push_back({c + value(kAddressToData), aw_.beats});
      last_data_ = c + value(kAddressToData) + aw_.beats - 1;
      response_ = answer.cycle;
      --unanswered_;
      aw_from_.reset();
      last_event_ = c;
      ways_.back().memory = memory_.explain(Direction::write);
      ways_.back().first_data = c + value(kAddressToData);
    } else {
      ++ways_.back().to_address[MemoryCause::full];
    }
  }
  const bool chooses = address_ == nullptr || accepted;
  if (chooses) address_ = nullptr;
  for (Reader* reader : {&fetch_reader_, &compute_reader_, &load_reader_}) {
    if (!reader->asks(c)) continue;
    if (!chooses || address_ != nullptr) {
      ++reader->asking().parts[refused ? MemoryCause::full : MemoryCause::arbitration];
      continue;
    }
    reader->grant(c);
    address_ = reader;
    address_valid_ = c + value(kGrantToAddress);
    last_event_ = c;
  }
}

void PerCycle::commit(Cycle) {
  for (CommandQueue& queue : queues_) queue.commit();
  for (Counted& fifo : tokens_) fifo.commit();
  for (Reader* reader : {&fetch_reader_, &compute_reader_, &load_reader_}) reader->commit();
  places_.commit();
  before_ = now_;
  now_ = {};
}

simulator::LaunchTrace PerCycle::run(std::size_t first_index, std::uint64_t program_address) {
  memory_.reset();
  for (Reader* reader : {&fetch_reader_, &compute_reader_, &load_reader_}) reader->credits = config_.outstanding_beats;
  trace_.events.resize(program_.size());
  trace_.waits.emplace().instructions.resize(program_.size());
  for (std::size_t i = 0; i < program_.size(); ++i) trace_.events[i].instruction = first_index + i;
  if (!program_.empty()) {
    Geometry geometry;
    add_row(config_, program_address, program_.size(), static_cast<std::uint64_t>(config_.instruction_bytes()),
            geometry);
    fetch_reader_.left.assign(geometry.bursts.begin(), geometry.bursts.end());
    fetch_reader_.active_from = value(kLaunchToRequest);
    fetch_slots_.assign(geometry.slots.begin(), geometry.slots.end());
  }
  constexpr Cycle kStandstill = 100'000;
  Cycle c = 0;
  for (; !(c >= 1 && ended_ == program_.size() && (ended_ == 0 || c >= last_end_ + value(kEndToDone))); ++c) {
    if (c > last_event_ + kStandstill) return trace_;
    addresses(c);
    fetch(c);
    load(c);
    compute(c);
    store(c);
    writer(c);
    commit(c);
  }
  trace_.cycles = c;
  return trace_;
}

}  // namespace dovetail::test::per_cycle

namespace dovetail::test {

simulator::LaunchTrace run_per_cycle(const isa::HardwareConfig& config, simulator::Memory& memory,
                                     std::span<const isa::Instruction> program, std::size_t first_index,
                                     std::uint64_t program_address, const isa::DramImage& image,
                                     std::vector<isa::Uop>& uops) {
  return per_cycle::PerCycle(config, memory, program, image, uops).run(first_index, program_address);
}

}  // namespace dovetail::test
