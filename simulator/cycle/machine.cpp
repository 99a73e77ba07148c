#include "simulator/cycle/machine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace dovetail::simulator {

Machine::Machine(const isa::HardwareConfig& config, Memory& memory)
    : memory_(memory),
      config_(config),
      board_{.config = config_, .routes = routes_, .bus = BusGeometry(config)},
      fetch_(board_),
      load_(board_),
      compute_(board_),
      store_(board_) {}

void Machine::begin(Launch launch) {
  launch_ = std::move(launch);
  board_.clear();
  board_.program = launch_.program;
  board_.on_start = launch_.on_start;
  board_.uops = launch_.uops;
  events_.clear();
  if (launch_.trace) {
    events_.resize(launch_.program.size());
    for (std::size_t i = 0; i < events_.size(); ++i) events_[i].instruction = launch_.first_index + i;
  }
  board_.events = launch_.trace ? &events_ : nullptr;
  waits_ = {};
  if (launch_.trace) waits_.instructions.resize(launch_.program.size());
  board_.waits = launch_.trace ? &waits_ : nullptr;
  fetch_.clear(launch_.program_address);
  load_.clear();
  compute_.clear();
  store_.clear();
  address_ = {};
  arbiter_free_ = 0;
  write_from_ = write_shown_ = kUnknown;
}

// Advances every part as far as its known inputs allow.
void Machine::settle() {
  while (board_.awake != 0 && !board_.stopped) {
    const auto part = static_cast<Part>(std::countr_zero(board_.awake));
    board_.awake &= board_.awake - 1;
    switch (part) {
      case Part::load: load_.advance(); break;
      case Part::compute: compute_.advance(); break;
      case Part::store: store_.advance(); break;
      case Part::fetch: fetch_.advance(); break;
    }
  }
}

// The cycle of the arbiter's next choice; kUnknown while an address waits for its acceptance.
Cycle Machine::grants_from() const {
  if (address_.port != nullptr) return kUnknown;
  // const_cast: the same lookup serves const callers and grants, which change the port.
  Machine& self = const_cast<Machine&>(*this);
  const Cycle asks =
      std::min({self.fetch_.port().asks_from(), self.compute_.port().asks_from(), self.load_.port().asks_from()});
  return asks == kUnknown ? kUnknown : std::max(asks, arbiter_free_);
}

Cycle Machine::asks_from(Direction direction) const {
  if (board_.stopped) return kUnknown;
  return direction == Direction::read ? reads_from() : writes_from();
}

Cycle Machine::next() const {
  if (board_.stopped) return kUnknown;
  return std::min({reads_from(), writes_from(), grants_from()});
}

// Within a cycle, reads come before writes, as the memory requires. An acceptance frees the arbiter in the same cycle;
// a grant takes effect in the next.
void Machine::step(Cycle cycle) {
  DOVETAIL_CHECK(cycle != kUnknown, "a step needs an event");
  if (reads_from() == cycle) read();
  else if (writes_from() == cycle) write();
  else grant();
  settle();
}

void Machine::read() {
  const Cycle cycle = address_.from;
  const Answer answer = memory_.accept(cycle, Direction::read, address_.burst.address, address_.burst.beats);
  if (!answer.accepted) {
    address_.from = answer.cycle;
    return;
  }
  if (board_.waits != nullptr) {
    waits_.traffic.add_read(answer.cycle, address_.burst.beats);
    address_.port->explain(cycle - address_.shown, memory_.explain(Direction::read));
    for (ReadPort* port : {&fetch_.port(), &compute_.port(), &load_.port()}) port->note_refused(address_.shown, cycle);
  }
  address_.port->accepted(answer.cycle);
  board_.count_burst(address_.part, address_.burst.beats);
  board_.wake(address_.part);
  address_.port = nullptr;
  arbiter_free_ = cycle;
}

void Machine::write() {
  const Cycle cycle = writes_from();
  const Burst& burst = store_.written();
  const Answer answer = memory_.accept(cycle, Direction::write, burst.address, burst.beats);
  if (!answer.accepted) {
    if (write_shown_ == kUnknown) write_shown_ = cycle;
    write_from_ = answer.cycle;
    return;
  }
  if (board_.waits != nullptr) {
    waits_.traffic.add_written(cycle + static_cast<Cycle>(isa::spec::kAddressToData.value), burst.beats);
    store_.explain(write_shown_ == kUnknown ? 0 : cycle - write_shown_, memory_.explain(Direction::write));
  }
  write_from_ = write_shown_ = kUnknown;
  board_.count_burst(Part::store, burst.beats);
  store_.accepted(cycle, answer.cycle);
}

void Machine::grant() {
  const Cycle cycle = grants_from();
  struct Candidate {
    ReadPort* port;
    Part part;
  };
  for (const Candidate& candidate :
       {Candidate{&fetch_.port(), Part::fetch}, {&compute_.port(), Part::compute}, {&load_.port(), Part::load}}) {
    if (candidate.port->asks_from() > cycle) continue;
    address_ = {.port = candidate.port,
                .part = candidate.part,
                .burst = candidate.port->asked(),
                .instruction =
                    candidate.part == Part::fetch ? 0 : board_.last_started[static_cast<std::size_t>(candidate.part)],
                .from = cycle + static_cast<Cycle>(isa::spec::kGrantToAddress.value),
                .shown = cycle + static_cast<Cycle>(isa::spec::kGrantToAddress.value)};
    candidate.port->grant(cycle);
    board_.wake(candidate.part);
    return;
  }
}

// A unit starts no instruction while it has bursts to request, so pending requests belong to the last one started.
std::size_t Machine::at_port(Direction direction) const {
  if (direction == Direction::write) return board_.last_started[isa::index(isa::Queue::store)];
  if (address_.part != Part::fetch) return address_.instruction;
  const std::uint64_t offset = address_.burst.address - std::min(address_.burst.address, launch_.program_address);
  return offset / static_cast<std::uint64_t>(config_.instruction_bytes());
}

bool Machine::tokens_left() const {
  return std::any_of(isa::kAllFifos.begin(), isa::kAllFifos.end(),
                     [this](isa::TokenFifo fifo) { return tokens_left(fifo) != 0; });
}

void Machine::count(Counters& counters) const {
  for (const isa::Queue unit : kUnits) counters.port[isa::index(unit)] += board_.port[isa::index(unit)];
  counters.fetch = board_.port[static_cast<std::size_t>(Part::fetch)];
  counters.sram_of(isa::Memory::acc).reads += board_.operand_reads;
}

LaunchTrace Machine::result() {
  LaunchTrace trace;
  if (!done()) {
    trace.events = std::move(events_);
    return trace;
  }
  trace.cycles =
      board_.ended == 0 ? 1 : std::max<Cycle>(1, board_.last_end + static_cast<Cycle>(isa::spec::kEndToDone.value));
  load_.finish(trace.cycles);
  compute_.finish(trace.cycles);
  store_.finish(trace.cycles);
  trace.classes = board_.classes;
  trace.events = std::move(events_);
  if (board_.waits != nullptr) {
    fetch_.finish(trace.cycles);
    trace.waits = std::move(waits_);
  }
  return trace;
}

}  // namespace dovetail::simulator
