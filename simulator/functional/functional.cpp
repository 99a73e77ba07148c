#include "simulator/functional/functional.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/processor.h"
#include "isa/legal.h"
#include "isa/text.h"
#include "isa/verify/command_queues.h"
#include "simulator/functional/core.h"
#include "simulator/functional/routes.h"
#include "simulator/sram_reader.h"
#include "simulator/token_errors.h"

namespace dovetail::simulator {

namespace {

using isa::Queue;

std::array<Queue, 3> priorities(ExecutionOrder order) {
  if (order == ExecutionOrder::store_first) return {Queue::store, Queue::compute, Queue::load};
  return {Queue::load, Queue::compute, Queue::store};
}

class FunctionalSimulator final : public Simulator, public SramReader {
 public:
  FunctionalSimulator(const isa::HardwareConfig& config, const FunctionalOptions& options)
      : config_(config),
        order_(options.order),
        work_(options.work),
        stop_before_(options.stop_before),
        rules_(config),
        core_(config, options),
        queues_(isa::queue_depths(config)) {}

  std::string_view name() const override { return "functional"; }
  void reset() override { core_.reset(); }
  std::optional<LaunchError> error() const override { return error_; }
  Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram, std::size_t first_index) override;
  NdArray read_sram(isa::Memory memory, std::size_t begin, std::size_t count) const override {
    return core_.sram().read(memory, begin, count);
  }
  bool is_written(isa::Memory memory, std::size_t element) const override {
    return core_.sram().is_written(memory, element);
  }

 private:
  enum class Step : std::uint8_t { moved, stuck, failed };

  // One launch in progress.
  struct Launch {
    std::span<const isa::Instruction> program;
    Dram& dram;
    std::size_t first_index;
    Counters counters;
    std::size_t next = 0;  // the first instruction that is not fetched
    bool is_over = false;  // stop_before returned true
    Diagnostics errors;
  };

  Step fetch(Launch& launch);
  Step run_units(Launch& launch);
  bool execute(Launch& launch, std::size_t instruction, const Route& route);
  Step refuse(Launch& launch, std::size_t instruction);
  std::string state(const Launch& launch) const;

  isa::HardwareConfig config_;
  ExecutionOrder order_;
  Work* work_;
  std::function<bool(std::size_t)> stop_before_;
  isa::LegalityRules rules_;
  Routes routes_;
  Core core_;
  isa::CommandQueues queues_;
  std::optional<LaunchError> error_;
};

bool FunctionalSimulator::execute(Launch& launch, std::size_t instruction, const Route& route) {
  const isa::Instruction& what = launch.program[instruction];
  if (stop_before_ && stop_before_(launch.first_index + instruction)) [[unlikely]] {
    launch.is_over = true;
    return false;
  }
  ++launch.counters.instructions[static_cast<std::size_t>(what.opcode())];
  ++launch.counters.queue_instructions[isa::index(route.use.queue)];
  launch.counters.tokens += route.tokens_pushed;
  if (core_.execute(what, launch.dram, launch.counters)) [[likely]]
    return true;
  if (core_.stopped()) {
    launch.errors = {work_->stopped_at(fmt::format("instruction {}", launch.first_index + instruction))};
    return false;
  }
  error_ = {core_.fault().outside_image ? isa::spec::ErrorCode::decode_error : isa::spec::ErrorCode::illegal,
            launch.first_index + instruction};
  launch.errors = {{.what = fmt::format("cannot execute `{}`", isa::format_instruction(what)),
                    .where = fmt::format("instruction {}", launch.first_index + instruction),
                    .why = core_.fault().why + "; " + state(launch),
                    .hint = core_.fault().hint}};
  return false;
}

FunctionalSimulator::Step FunctionalSimulator::refuse(Launch& launch, std::size_t instruction) {
  error_ = {isa::spec::ErrorCode::illegal, launch.first_index + instruction};
  launch.errors = rules_.check(launch.program[instruction]);
  for (Diagnostic& error : launch.errors) {
    error.where = fmt::format("instruction {}", launch.first_index + instruction);
    error.why += "; " + state(launch);
  }
  return Step::failed;
}

// "queue heads: ...; tokens: ...", in one line.
std::string FunctionalSimulator::state(const Launch& launch) const {
  const auto cite = [&](std::size_t instruction) {
    return fmt::format("{} `{}`", launch.first_index + instruction,
                       isa::format_instruction(launch.program[instruction]));
  };
  std::string text = "queue heads:";
  for (const Queue queue : isa::kAllQueues) {
    const auto oldest = queues_.oldest(queue), head = queues_.head(queue);
    text += fmt::format(" {}: {};", isa::name(queue),
                        oldest ? cite(*oldest) + " (started)"
                        : head ? cite(*head)
                               : std::string("empty"));
  }
  text += " tokens:";
  const char* separator = " ";
  for (const isa::TokenFifo fifo : isa::kAllFifos) {
    text += fmt::format("{}{}->{} {}/{}", separator, isa::name(producer(fifo)), isa::name(consumer(fifo)),
                        queues_.tokens(fifo), config_.token_queue_depth);
    separator = ", ";
  }
  return text;
}

// Fetches one instruction (ExecutionOrder::program), or as many as the command queues have room for. An instruction
// that may start and has no waiting predecessor is executed directly.
FunctionalSimulator::Step FunctionalSimulator::fetch(Launch& launch) {
  Step step = Step::stuck;
  while (launch.next < launch.program.size()) {
    const std::size_t instruction = launch.next;
    const Route& route = routes_.of(launch.program[instruction]);
    if (!queues_.has_room(route.use.queue)) return step;
    if (!rules_.is_legal(launch.program[instruction])) [[unlikely]]
      return refuse(launch, instruction);
    ++launch.next;
    step = Step::moved;
    if (order_ != ExecutionOrder::program) {
      queues_.fetch(instruction, route.use);
    } else if (queues_.pass(route.use)) {
      if (!execute(launch, instruction, route)) return Step::failed;
    } else {
      queues_.fetch(instruction, route.use);
      return step;
    }
  }
  return step;
}

// Starts the instruction with the highest priority that may start, until none may; if fetch runs ahead only one, since
// a later one may have a higher priority.
FunctionalSimulator::Step FunctionalSimulator::run_units(Launch& launch) {
  Step step = Step::stuck;
  const auto order = priorities(order_);
  for (bool moved = true; moved;) {
    moved = false;
    for (Queue queue : order)
      while (queues_.end(queue)) moved = true;
    for (Queue queue : order) {
      const auto instruction = queues_.ready(queue);
      if (!instruction) continue;
      queues_.start(queue);
      if (!execute(launch, *instruction, routes_.of(launch.program[*instruction]))) return Step::failed;
      while (queues_.end(queue)) {
      }
      moved = true;
      break;
    }
    if (moved) step = Step::moved;
    if (order_ != ExecutionOrder::program) break;
  }
  return step;
}

Result<Counters> FunctionalSimulator::launch(std::span<const isa::Instruction> program, Dram& dram,
                                             std::size_t first_index) {
  DOVETAIL_TRY(processor_cap());
  error_.reset();
  program = at_offset(config_, program);
  queues_.begin(program);
  Launch launch{.program = program, .dram = dram, .first_index = first_index, .counters = {}, .errors = {}};
  for (bool moving = true; moving;) {
    const Step fetched = fetch(launch);
    const Step ran = fetched == Step::failed || queues_.idle() ? Step::stuck : run_units(launch);
    if (launch.is_over) {
      complete(launch.counters, config_);
      return launch.counters;
    }
    if (fetched == Step::failed || ran == Step::failed) return launch.errors;
    moving = fetched == Step::moved || ran == Step::moved;
  }
  const bool tokens_left =
      std::any_of(isa::kAllFifos.begin(), isa::kAllFifos.end(), [&](auto fifo) { return queues_.tokens(fifo) != 0; });
  if (queues_.idle() && launch.next == program.size()) {
    complete(launch.counters, config_);
    if (!tokens_left) return launch.counters;
    error_ = {isa::spec::ErrorCode::leftover_tokens, first_index + program.size()};
    for (const isa::TokenFifo fifo : isa::kAllFifos) error_->tokens[isa::index(fifo)] = queues_.tokens(fifo);
  }
  Diagnostics errors = token_errors(config_, program, first_index);
  DOVETAIL_CHECK(!errors.empty(), "the launch stops although its tokens let it continue");
  return errors;
}

}  // namespace

std::unique_ptr<Simulator> make_functional(const isa::HardwareConfig& config, const FunctionalOptions& options) {
  return std::make_unique<FunctionalSimulator>(config, options);
}

}  // namespace dovetail::simulator
