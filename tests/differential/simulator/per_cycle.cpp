#include "tests/differential/simulator/per_cycle.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "isa/codec.h"
#include "isa/semantics/load.h"
#include "isa/semantics/uop_loop.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/timing.h"
#include "isa/verify/token_machine.h"

namespace dovetail::test {

namespace {

using namespace isa::spec;
using isa::Queue;
using simulator::Cycle;
using simulator::Direction;
using simulator::MemoryCause;
using simulator::MemorySplit;
using simulator::StallCause;
using simulator::UnitClass;

constexpr Cycle kNever = ~Cycle{0};
constexpr Cycle value(const TimingConstant& constant) { return static_cast<Cycle>(constant.value); }

// --- Section 3 ---

struct BurstOf {
  std::uint64_t address;
  std::uint32_t beats;
};
struct Slot {
  bool data;        // it needs the oldest beat of the buffer
  bool opens_beat;  // the first slot of a beat
  bool last_of_beat;
};
struct Geometry {
  std::vector<BurstOf> bursts;
  std::vector<Slot> slots;
};

void add_row(const isa::HardwareConfig& config, std::uint64_t address, std::uint64_t elements,
             std::uint64_t element_bytes, Geometry& geometry) {
  const auto bus = static_cast<std::uint64_t>(config.bus_bytes);
  const std::uint64_t first = address / bus, last = (address + elements * element_bytes - 1) / bus;
  const auto most = static_cast<std::uint64_t>(std::min(config.burst_beats, config.outstanding_beats));
  for (std::uint64_t beat = first; beat <= last;) {
    std::uint64_t beats = 1;
    while (beats < most && beat + beats <= last && (beat + beats) * bus % 4096 != 0) ++beats;
    geometry.bursts.push_back({beat * bus, static_cast<std::uint32_t>(beats)});
    beat += beats;
  }
  if (element_bytes >= bus) {
    for (std::uint64_t beat = first; beat <= last; ++beat) geometry.slots.push_back({true, true, true});
  } else {
    for (std::uint64_t i = 0; i < elements; ++i) {
      const std::uint64_t at = address + i * element_bytes;
      const bool opens = i == 0 || at % bus == 0;
      const bool last_of_beat = i + 1 == elements || (at + element_bytes) % bus == 0;
      geometry.slots.push_back({true, opens, last_of_beat});
    }
  }
}

Geometry geometry_of(const isa::HardwareConfig& config, const isa::Transfer& transfer) {
  Geometry geometry;
  if (transfer.x_size == 0) return geometry;
  const auto bytes = static_cast<std::uint64_t>(config.element_bytes(transfer.memory));
  const std::uint64_t columns = std::uint64_t{transfer.x_pad_0} + transfer.x_size + transfer.x_pad_1;
  const auto pads = [&](std::uint64_t count) {
    geometry.slots.insert(geometry.slots.end(), count, {false, false, false});
  };
  pads(transfer.y_pad_0 * columns);
  for (std::uint64_t y = 0; y < transfer.y_size; ++y) {
    pads(transfer.x_pad_0);
    add_row(config, (transfer.dram_base + y * transfer.x_stride) * bytes, transfer.x_size, bytes, geometry);
    pads(transfer.x_pad_1);
  }
  pads(transfer.y_pad_1 * columns);
  return geometry;
}

// --- Sections 4 and 5 ---

// A requester and its beat buffer.
struct Reader {
  std::deque<BurstOf> left;  // bursts to request
  Cycle active_from = kNever;
  std::int64_t credits = 0, credits_given = 0;  // at the beginning of the cycle, and their change
  std::deque<Cycle> beats;                      // arrival of each beat that has not left
  std::deque<BurstOf> granted;                  // bursts granted and not accepted
  Cycle last_grant = kNever;
  // For each burst, from the requesting one back to the oldest whose beats have not all left: the causes of its delay,
  // and the number of beats left.
  struct Delay {
    MemorySplit parts;
    std::uint32_t beats = 0;
  };
  std::deque<Delay> delays;
  Cycle waited = 0;  // by the unit, for the oldest burst

  bool asks(Cycle c) const { return !left.empty() && c >= active_from && credits >= left.front().beats; }
  bool idle(Cycle c) const { return left.empty() && (last_grant == kNever || last_grant < c); }
  bool usable(Cycle c) const {
    return !beats.empty() && beats.front() != kNever && c >= beats.front() + value(kBeatToSlot);
  }
  void leave() {
    beats.pop_front();
    ++credits_given;
    if (--delays.front().beats == 0) delays.pop_front();
  }
  // The burst that requests, or is to request next, follows those that are granted and not used up.
  Delay& asking() {
    if (asking_is_listed) return delays.back();
    asking_is_listed = true;
    return delays.emplace_back(Delay{{}, left.front().beats});
  }
  bool asking_is_listed = false;
  // The burst at AR, which is the latest granted one.
  Delay& at_address() { return delays[delays.size() - 1 - (asking_is_listed ? 1 : 0)]; }
  void grant(Cycle c) {
    active_from = c + 1;
    last_grant = c;
    credits_given -= left.front().beats;
    asking();
    asking_is_listed = false;
    granted.push_back(left.front());
    left.pop_front();
  }
  void accept(Cycle first_beat) {
    for (Cycle i = 0; i < granted.front().beats; ++i) beats.push_back(first_beat + i);
    granted.pop_front();
  }
  void commit() {
    credits += credits_given;
    credits_given = 0;
  }
};

// Section 11: cycle by cycle, from the first part in the order.
MemorySplit divide(Cycle wait, MemorySplit parts) {
  MemorySplit split;
  for (; wait > 0; --wait) {
    MemoryCause cause = MemoryCause::latency;
    for (const MemoryCause part : {MemoryCause::arbitration, MemoryCause::full, MemoryCause::bandwidth,
                                   MemoryCause::row_miss, MemoryCause::refresh})
      if (parts[part] > 0) cause = part;
    ++split[cause];
    if (cause != MemoryCause::latency) --parts[cause];
  }
  return split;
}

// A counter whose changes are visible in the next cycle.
struct Counted {
  std::int64_t count = 0, change = 0;
  void commit() {
    count += change;
    change = 0;
  }
};

struct Command {
  std::size_t instruction;
  Cycle issue;
};
struct CommandQueue {
  std::deque<Command> waiting;
  std::optional<Command> entering;
  bool leaving = false;
  Cycle last_start = kNever;
  void commit() {
    if (leaving) waiting.pop_front();
    leaving = false;
    if (entering) waiting.push_back(*entering);
    entering.reset();
  }
};

struct Running {
  std::size_t instruction = 0;
  isa::TokenUse use;
  Cycle start = kNever, complete = kNever, end = kNever;
};

class PerCycle {
 public:
  PerCycle(const isa::HardwareConfig& config, simulator::Memory& memory, std::span<const isa::Instruction> program,
           const isa::DramImage& image, std::vector<isa::Uop>& uops)
      : config_(config), memory_(memory), program_(program), image_(image), uops_(uops), codec_(config) {}

  simulator::LaunchTrace run(std::size_t first_index, std::uint64_t program_address);

 private:
  // The same for every unit.
  bool at_head(Queue queue, Cycle c) const {
    const CommandQueue& commands = queues_[isa::index(queue)];
    if (commands.waiting.empty()) return false;
    return c >= commands.waiting.front().issue + value(kIssueToStart) &&
           (commands.last_start == kNever || c >= commands.last_start + 1);
  }
  std::size_t head(Queue queue) const { return queues_[isa::index(queue)].waiting.front().instruction; }
  bool token_missing(Queue queue, bool previous) const {
    const isa::TokenUse use = isa::token_use(program_[head(queue)]);
    for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo) {
      const bool from_previous =
          fifo == isa::index(isa::TokenFifo::load_to_compute) || fifo == isa::index(isa::TokenFifo::compute_to_store);
      if ((use.pops >> fifo & 1) != 0 && from_previous == previous && tokens_[fifo].count == 0) return true;
    }
    return false;
  }
  bool tokens_there(Queue queue) const { return !token_missing(queue, true) && !token_missing(queue, false); }
  bool has_room(isa::TokenUse use) const {
    for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo)
      if ((use.pushes >> fifo & 1) != 0 && tokens_[fifo].count == config_.token_queue_depth) return false;
    return true;
  }
  Running start(Queue queue, Cycle c);
  void end(Running& running, Cycle c);
  void add(Queue unit, UnitClass what) { ++trace_.classes[isa::index(unit)][static_cast<std::size_t>(what)]; }
  void add_idle(Queue unit, Cycle c) {
    if (!at_head(unit, c)) add(unit, UnitClass::fetch);
    else if (!tokens_there(unit)) add(unit, UnitClass::token);
    else add(unit, UnitClass::hand_over);
  }

  void charge(Queue unit, std::size_t instruction, Cycle& wait, const MemorySplit& parts) {
    const MemorySplit split = divide(wait, parts);
    trace_.waits->units[isa::index(unit)] += split;
    trace_.waits->instructions[instruction] += split;
    wait = 0;
  }

  void addresses(Cycle c);
  void fetch(Cycle c);
  void load(Cycle c);
  void compute(Cycle c);
  void store(Cycle c);
  void writer(Cycle c);
  void commit(Cycle c);
  void expand(const isa::Instruction& instruction, Cycle s, Running& running);

  const isa::HardwareConfig& config_;
  simulator::Memory& memory_;
  std::span<const isa::Instruction> program_;
  isa::DramImage image_;
  std::vector<isa::Uop>& uops_;
  isa::Codec codec_;
  simulator::LaunchTrace trace_;
  std::size_t ended_ = 0;
  Cycle last_end_ = 0, last_event_ = 0;

  std::array<CommandQueue, 3> queues_;
  std::array<Counted, isa::kTokenFifos> tokens_;
  // The resources that the head of each queue waited for in the previous cycle.
  struct Before {
    bool unit = false, drain = false, token_prev = false, token_next = false;
  };
  std::array<Before, 3> before_, now_;

  // Memory port.
  Reader fetch_reader_, compute_reader_, load_reader_;
  Reader* address_ = nullptr;  // the owner of the address register
  Cycle address_valid_ = 0;

  // Fetch.
  std::deque<Slot> fetch_slots_;
  std::size_t next_ = 0;
  std::uint64_t beats_of_next_ = 0;

  // Load.
  struct Loading {
    Running running;
    Geometry geometry;
  };
  std::deque<Loading> load_fifo_;
  std::optional<Loading> drained_;
  std::deque<Slot> load_slots_;
  Cycle take_ = 0, load_last_slot_ = 0;
  bool load_ended_now_ = false;

  // Compute.
  enum class Kind { serial, gemm, alu, alu_long };
  Kind kind_of(const isa::Instruction& instruction) const;
  struct Step {
    Cycle u = 0, b = 0, c = 0;
    bool empty = false;
    std::uint64_t dst = 0, src = 0;
    Cycle r() const { return b + c - 1; }
  };
  struct InRead {
    Cycle begin, end;
    Cycle interlocked;  // the first cycles in R
  };
  std::deque<Running> in_flight_;  // up to and including their end
  std::optional<Step> last_step_;
  std::vector<std::pair<Cycle, std::uint64_t>> long_writes_;  // of kind alu_long: cycle and dst, of the last steps
  Kind last_kind_ = Kind::serial;
  std::deque<InRead> reads_;
  std::deque<Slot> serial_slots_;
  bool serial_ = false;
  Cycle last_compute_end_ = kNever;

  // Store.
  std::optional<Running> stored_;
  std::deque<Slot> fill_slots_;
  std::deque<BurstOf> store_bursts_;  // bursts to be filled
  Counted places_;
  std::uint32_t filled_of_burst_ = 0;
  struct Full {
    BurstOf burst;
    Cycle p;
  };
  // For each burst of the instruction that has been taken: the causes of its latency.
  struct Way {
    std::uint64_t first_beat = 0, beats = 0;  // of the instruction
    MemorySplit to_address, memory;
    Cycle first_data = kNever;
  };
  std::vector<Way> ways_;
  std::uint64_t beats_opened_ = 0;  // of the instruction
  Cycle store_waited_ = 0;
  std::deque<Full> full_;
  std::size_t unanswered_ = 0;
  std::optional<Cycle> aw_from_;
  BurstOf aw_{};
  struct Sending {
    Cycle begin;
    std::uint32_t beats;
  };
  std::deque<Sending> sending_;
  Cycle last_data_ = kNever, response_ = kNever, last_store_end_ = kNever;
};

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

void PerCycle::fetch(Cycle c) {
  simulator::FetchTime& time = trace_.waits->fetch;
  if (fetch_slots_.empty()) {
    ++time.done;
    return;
  }
  if (!fetch_reader_.usable(c)) {
    ++fetch_reader_.waited;
    return;
  }
  time.memory += divide(fetch_reader_.waited, fetch_reader_.delays.front().parts);
  fetch_reader_.waited = 0;
  const std::uint64_t beats_per_instruction =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, config_.instruction_bytes() / config_.bus_bytes));
  const Slot slot = fetch_slots_.front();
  if (beats_of_next_ + 1 < beats_per_instruction) {
    ++beats_of_next_;
  } else {
    const std::size_t unit = isa::index(isa::token_use(program_[next_]).queue);
    CommandQueue& queue = queues_[unit];
    if (queue.waiting.size() >= static_cast<std::size_t>(config_.command_queue_depth)) {
      ++time.queue_full[unit];
      return;
    }
    queue.entering = Command{next_, c};
    beats_of_next_ = 0;
    ++next_;
    last_event_ = c;
  }
  ++time.issue;
  if (slot.last_of_beat) fetch_reader_.leave();
  fetch_slots_.pop_front();
}

void PerCycle::load(Cycle c) {
  // Drainer: it takes the instruction in max(s + 1, previous end), works, and ends.
  bool work = false, memory = false, push = false;
  const bool was_draining = drained_.has_value();
  if (drained_ && c > take_) {
    Running& running = drained_->running;
    if (!load_slots_.empty()) {
      const Slot slot = load_slots_.front();
      if (!slot.data || load_reader_.usable(c)) {
        work = true;
        if (slot.data) charge(Queue::load, running.instruction, load_reader_.waited, load_reader_.delays.front().parts);
        if (slot.last_of_beat) load_reader_.leave();
        load_slots_.pop_front();
        if (load_slots_.empty()) running.complete = c + value(kSlotToEnd);
      } else {
        memory = true;
        ++load_reader_.waited;
      }
    } else {
      if (running.complete == kNever) running.complete = take_ + value(kTakeToSlot);
      if (c >= running.complete) {
        if (has_room(running.use)) {
          end(running, c);
          drained_.reset();
        } else {
          push = true;
        }
      }
    }
  }
  const bool free = !drained_;
  bool taken = false;
  const std::size_t started_not_taken = load_fifo_.size();
  if (free && !load_fifo_.empty() && c >= load_fifo_.front().running.start + value(kStartToTake)) {
    drained_ = std::move(load_fifo_.front());
    load_fifo_.pop_front();
    load_slots_.assign(drained_->geometry.slots.begin(), drained_->geometry.slots.end());
    take_ = c;
    taken = true;
  }

  if (work) add(Queue::load, UnitClass::work);
  else if (memory) add(Queue::load, UnitClass::memory);
  else if (push) add(Queue::load, UnitClass::push);
  else if (was_draining || taken) add(Queue::load, UnitClass::pipeline);
  else add_idle(Queue::load, c);

  if (!at_head(Queue::load, c)) return;
  const bool idle = load_reader_.idle(c), room = started_not_taken < static_cast<std::size_t>(value(kLoadWaiting));
  now_[0] = {.unit = !idle,
             .drain = !room,
             .token_prev = token_missing(Queue::load, true),
             .token_next = token_missing(Queue::load, false)};
  if (!idle || !room || !tokens_there(Queue::load)) return;
  const Running running = start(Queue::load, c);
  Loading loading{running, geometry_of(config_, std::get<isa::Load>(program_[running.instruction].body))};
  load_reader_.left.assign(loading.geometry.bursts.begin(), loading.geometry.bursts.end());
  load_reader_.active_from = c + value(kStartToRequest);
  load_fifo_.push_back(std::move(loading));
}

PerCycle::Kind PerCycle::kind_of(const isa::Instruction& instruction) const {
  if (isa::product_loop(instruction) != nullptr) return Kind::gemm;
  if (const auto* alu = std::get_if<isa::Alu>(&instruction.body))
    return isa::spec::info(alu->op).kind == isa::spec::AluKind::alu_long ? Kind::alu_long : Kind::alu;
  return Kind::serial;
}

// Expands the steps by the recurrence of section 9.
void PerCycle::expand(const isa::Instruction& instruction, Cycle s, Running& running) {
  const Kind kind = kind_of(instruction);
  if (last_kind_ != kind) last_step_.reset();
  last_kind_ = kind;
  std::optional<Step> within;  // the previous step of this instruction
  Cycle to_write = 0;
  // `reads`: the indices of ACC that an ALU step reads.
  const auto enter = [&](Step step, Cycle cost, const std::vector<std::uint64_t>& reads) {
    step.u = s + value(kStartToStep);
    if (last_step_) step.u = std::max({step.u, last_step_->u + 1, last_step_->b - 1});
    step.b = step.u + value(kStepToRead);
    if (last_step_) step.b = std::max(step.b, last_step_->b + last_step_->c);
    Cycle wait = 0;
    if (kind == Kind::alu_long && !step.empty) {
      for (const auto& [written, dst] : long_writes_)
        if (written > step.b && std::count(reads.begin(), reads.end(), dst) != 0)
          wait = std::max(wait, written - step.b);
    }
    step.c = wait + cost;
    reads_.push_back({step.b, step.b + step.c, wait});
    if (kind == Kind::alu_long && !step.empty) {
      std::erase_if(long_writes_, [&](const auto& write) { return write.first <= step.b; });
      long_writes_.push_back({step.r() + value(kAluLongReadToWrite), step.dst});
    }
    last_step_ = step;
    within = step;
  };
  const isa::UopLoop* loop = isa::uop_loop(instruction);
  const auto* alu = std::get_if<isa::Alu>(&instruction.body);
  if (alu == nullptr) {
    to_write = value(kGemmReadToWrite);
    if (config_.epilogue) to_write += value(kAccToOut) + (config_.table ? value(kTableToOut) : 0);
  } else {
    to_write = value(kind == Kind::alu ? kAluReadToWrite : kAluLongReadToWrite);
  }
  const bool any = loop->iter_out != 0 && loop->iter_in != 0 && loop->uop_begin < loop->uop_end;
  if (any && isa::has_epilogue(instruction)) enter(Step{}, value(kEpilogueParameterCycles), {});
  for (std::uint64_t y = 0; y < loop->iter_out; ++y)
    for (std::uint64_t x = 0; x < loop->iter_in; ++x)
      for (std::uint64_t k = loop->uop_begin; k < loop->uop_end; ++k) {
        Step step;
        step.dst = uops_[k].dst + y * loop->dst_factor_out + x * loop->dst_factor_in;
        step.src = uops_[k].src + y * loop->src_factor_out + x * loop->src_factor_in;
        if (alu == nullptr) {
          enter(step, value(kGemmCyclesPerUop), {});
        } else if (const std::uint64_t elements = isa::spec::source_elements(*alu); elements == 0) {
          const Cycle batch = static_cast<Cycle>(config_.batch);
          enter(step,
                alu->op == isa::AluOp::recip   ? batch * value(kRecipCyclesPerRow)
                : alu->op == isa::AluOp::rsqrt ? batch * value(kRsqrtCyclesPerRow)
                                               : 1,
                {step.dst});
        } else {
          const bool repeated =
              within && within->src == step.src && !(within->dst >= step.src && within->dst < step.src + elements);
          std::vector<std::uint64_t> reads{step.dst};
          for (std::uint64_t i = 0; i < elements && !repeated; ++i) reads.push_back(step.src + i);
          enter(step, value(repeated ? kAluCyclesPerUopRepeated : *isa::spec::info(alu->op).vector_cycles), reads);
        }
      }
  if (!any) {
    Step step;
    step.empty = true;
    enter(step, 1, {});
  }
  running.complete = last_step_->r() + to_write + value(kWriteToEnd);
}

void PerCycle::compute(Cycle c) {
  while (!in_flight_.empty() && in_flight_.front().end != kNever && in_flight_.front().end < c) in_flight_.pop_front();
  while (!reads_.empty() && reads_.front().end <= c) reads_.pop_front();

  bool work = false, interlock = false, memory = false, push = false;
  if (!reads_.empty() && c >= reads_.front().begin)
    (c < reads_.front().begin + reads_.front().interlocked ? interlock : work) = true;
  if (serial_ && !in_flight_.empty() && c > in_flight_.back().start && in_flight_.back().end == kNever) {
    Running& running = in_flight_.back();
    if (!serial_slots_.empty()) {
      const Slot slot = serial_slots_.front();
      if (!slot.data || compute_reader_.usable(c)) {
        work = true;
        if (slot.data)
          charge(Queue::compute, running.instruction, compute_reader_.waited, compute_reader_.delays.front().parts);
        if (slot.last_of_beat) compute_reader_.leave();
        serial_slots_.pop_front();
        if (serial_slots_.empty()) running.complete = c + value(kSlotToEnd);
      } else {
        memory = true;
        ++compute_reader_.waited;
      }
    } else if (running.complete == kNever) {
      running.complete = running.start + 1;
    }
  }
  // Instructions end in order: only the oldest waits to push.
  if (!in_flight_.empty()) {
    const Running& oldest = in_flight_.front();
    push = oldest.complete != kNever && c >= oldest.complete && !has_room(oldest.use);
  }

  // In flight as of this cycle, before an instruction starts in it.
  const std::size_t flying = in_flight_.size();
  const bool at = at_head(Queue::compute, c);
  if (work) add(Queue::compute, UnitClass::work);
  else if (interlock) add(Queue::compute, UnitClass::interlock);
  else if (memory) add(Queue::compute, UnitClass::memory);
  else if (push) add(Queue::compute, UnitClass::push);
  bool classed = work || interlock || memory || push;

  bool may_start = false;
  if (at) {
    const Kind kind = kind_of(program_[head(Queue::compute)]);
    const bool same = flying != 0 && kind == last_kind_ && kind != Kind::serial && !serial_;
    const bool front_free = !last_step_ || last_step_->u <= c;
    const bool drain = flying != 0 && (!same || flying >= static_cast<std::size_t>(value(kComputeInFlight)));
    now_[1] = {.unit = same && !front_free,
               .drain = drain,
               .token_prev = token_missing(Queue::compute, true),
               .token_next = token_missing(Queue::compute, false)};
    may_start = tokens_there(Queue::compute) && (flying == 0 || (!drain && front_free));
  }
  if (!classed && flying == 0 && !may_start) add_idle(Queue::compute, c);
  else if (!classed) add(Queue::compute, UnitClass::pipeline);

  // The oldest instruction that has not ended.
  for (Running& running : in_flight_) {
    if (running.end != kNever) continue;
    if (running.complete != kNever && c >= running.complete && (last_compute_end_ == kNever || c > last_compute_end_) &&
        has_room(running.use)) {
      end(running, c);
      last_compute_end_ = c;
    }
    break;
  }

  if (!may_start) return;
  Running running = start(Queue::compute, c);
  const isa::Instruction& instruction = program_[running.instruction];
  serial_ = kind_of(instruction) == Kind::serial;
  if (serial_) {
    last_kind_ = Kind::serial;
    last_step_.reset();
    Geometry geometry;
    if (const auto* load = std::get_if<isa::Load>(&instruction.body)) {
      geometry = geometry_of(config_, *load);
      if (load->memory == isa::Memory::uop)
        isa::semantics::for_each_loaded_run(
            *load,
            [&](std::uint64_t sram, std::uint64_t count) {
              for (std::uint64_t i = 0; i < count; ++i) uops_[sram + i] = isa::Uop{};
            },
            [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
              const auto bytes = static_cast<std::uint64_t>(config_.uop_bytes());
              for (std::uint64_t i = 0; i < count; ++i)
                uops_[sram + i] = codec_.decode_uop(image_.bytes.subspan((dram + i) * bytes - image_.base, bytes));
            });
    }
    compute_reader_.left.assign(geometry.bursts.begin(), geometry.bursts.end());
    compute_reader_.active_from = c + value(kStartToRequest);
    serial_slots_.assign(geometry.slots.begin(), geometry.slots.end());
  } else {
    expand(instruction, c, running);
  }
  in_flight_.push_back(running);
}

void PerCycle::store(Cycle c) {
  bool work = false, memory = false, push = false;
  const bool was = stored_.has_value();
  if (stored_ && c > stored_->start) {
    if (!fill_slots_.empty()) {
      const Slot slot = fill_slots_.front();
      if (slot.opens_beat && places_.count == config_.outstanding_beats) {
        memory = true;
        ++store_waited_;
      } else {
        work = true;
        if (store_waited_ > 0) {
          // The entry was used by the beat that precedes this one by the number of entries.
          const std::uint64_t sent = beats_opened_ - static_cast<std::uint64_t>(config_.outstanding_beats);
          const auto way =
              std::find_if(ways_.begin(), ways_.end(), [&](const Way& w) { return sent < w.first_beat + w.beats; });
          MemorySplit parts = way->to_address;
          parts[MemoryCause::bandwidth] += c - way->first_data;
          charge(Queue::store, stored_->instruction, store_waited_, parts);
        }
        if (slot.opens_beat) ++places_.change, ++beats_opened_;
        if (slot.last_of_beat && ++filled_of_burst_ == store_bursts_.front().beats) {
          full_.push_back({store_bursts_.front(), c + value(kFillToBuffer) + value(kBufferToWriter)});
          ++unanswered_;
          store_bursts_.pop_front();
          filled_of_burst_ = 0;
        }
        fill_slots_.pop_front();
      }
    } else if (stored_->complete == kNever) {
      if (trace_.events[stored_->instruction].start + 1 == c && response_ == kNever && unanswered_ == 0) {
        stored_->complete = c;
      } else if (unanswered_ == 0 && response_ != kNever && c >= response_ + value(kResponseToEnd)) {
        stored_->complete = c;
      } else {
        memory = true;
        ++store_waited_;
      }
      if (store_waited_ > 0 && stored_->complete != kNever) {
        MemorySplit parts = ways_.back().to_address;
        parts += ways_.back().memory;
        charge(Queue::store, stored_->instruction, store_waited_, parts);
      }
    }
    if (stored_->complete != kNever && c >= stored_->complete) {
      if (has_room(stored_->use)) {
        end(*stored_, c);
        last_store_end_ = c;
        stored_.reset();
      } else {
        push = true;
      }
    }
  }
  bool starts = false;
  if (at_head(Queue::store, c)) {
    const bool idle = !was && (last_store_end_ == kNever || c >= last_store_end_ + value(kEndToStart));
    now_[2] = {.unit = !idle,
               .drain = false,
               .token_prev = token_missing(Queue::store, true),
               .token_next = token_missing(Queue::store, false)};
    starts = idle && tokens_there(Queue::store);
  }
  if (work) add(Queue::store, UnitClass::work);
  else if (memory) add(Queue::store, UnitClass::memory);
  else if (push) add(Queue::store, UnitClass::push);
  else if (was || starts) add(Queue::store, UnitClass::pipeline);
  else add_idle(Queue::store, c);
  if (!starts) return;
  stored_ = start(Queue::store, c);
  const Geometry geometry = geometry_of(config_, std::get<isa::Store>(program_[stored_->instruction].body));
  fill_slots_.assign(geometry.slots.begin(), geometry.slots.end());
  store_bursts_.assign(geometry.bursts.begin(), geometry.bursts.end());
  response_ = kNever;
  ways_.clear();
  beats_opened_ = 0;
}

void PerCycle::writer(Cycle c) {
  if (!sending_.empty() && c >= sending_.front().begin) {
    --places_.change;
    if (--sending_.front().beats == 0) sending_.pop_front();
    else sending_.front().begin = c + 1;
  }
  // It takes the next burst when the last W beat of the previous burst is sent.
  if (!aw_from_ && !full_.empty() && c >= full_.front().p && (last_data_ == kNever || c >= last_data_)) {
    aw_ = full_.front().burst;
    Way way{.first_beat = ways_.empty() ? 0 : ways_.back().first_beat + ways_.back().beats,
            .beats = aw_.beats,
            .to_address = {},
            .memory = {}};
    way.to_address[MemoryCause::bandwidth] = c - full_.front().p;
    ways_.push_back(way);
    full_.pop_front();
    aw_from_ = c + value(kWriterToAddress);
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

}  // namespace

simulator::LaunchTrace run_per_cycle(const isa::HardwareConfig& config, simulator::Memory& memory,
                                     std::span<const isa::Instruction> program, std::size_t first_index,
                                     std::uint64_t program_address, const isa::DramImage& image,
                                     std::vector<isa::Uop>& uops) {
  return PerCycle(config, memory, program, image, uops).run(first_index, program_address);
}

}  // namespace dovetail::test
