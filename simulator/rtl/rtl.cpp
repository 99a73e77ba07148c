#include "simulator/rtl/rtl.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isa/legal.h"
#include "isa/spec/registers.h"
#include "isa/spec/timing.h"
#include "isa/verify/token_use.h"
#include "simulator/cycle/count.h"
#include "simulator/cycle/execution.h"
#include "simulator/functional/routes.h"
#include "simulator/rtl/library.h"
#include "simulator/rtl/model_api.h"
#include "simulator/rtl/outcome.h"
#include "simulator/rtl/port_watch.h"

namespace dovetail::simulator {

namespace {

dovetail_rtl_slave to_model(const AxiSlave& slave) {
  return {.seed = slave.seed,
          .write_order = static_cast<std::uint32_t>(slave.write_order),
          .ready_percent = static_cast<std::uint32_t>(slave.ready_percent),
          .valid_percent = static_cast<std::uint32_t>(slave.valid_percent),
          .most_read_latency = static_cast<std::uint32_t>(slave.most_read_latency),
          .most_response_latency = static_cast<std::uint32_t>(slave.most_response_latency)};
}

class VerilatedSimulator final : public RtlSimulator {
 public:
  VerilatedSimulator(const isa::HardwareConfig& config, RtlOptions options, std::shared_ptr<const RtlLibrary> library)
      : config_(config),
        options_(std::move(options)),
        rules_(config),
        codec_(config),
        library_(std::move(library)),
        memory_(make_memory(options_.engine.memory, config.bus_bytes)),
        bus_bytes_(static_cast<std::uint64_t>(config.bus_bytes)) {
    for (const isa::Memory memory : {isa::Memory::uop, isa::Memory::wgt, isa::Memory::inp, isa::Memory::acc})
      element_bytes_[static_cast<std::size_t>(memory)] = static_cast<std::size_t>(config.element_bytes(memory));
    power_up();
  }
  ~VerilatedSimulator() override { power_down(); }
  VerilatedSimulator(const VerilatedSimulator&) = delete;
  VerilatedSimulator& operator=(const VerilatedSimulator&) = delete;

  std::string_view name() const override { return "rtl"; }
  void reset() override {
    power_down();
    power_up();
  }
  Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram, std::size_t first_index) override;
  const LaunchTrace* timing() const override { return timing_ ? &*timing_ : nullptr; }
  std::optional<LaunchError> error() const override { return error_; }

  std::vector<std::byte> sram_element(isa::Memory memory, std::uint64_t index) const override {
    std::vector<std::byte> element(element_bytes_[static_cast<std::size_t>(memory)]);
    if (model_ != nullptr)
      library_->api()->read_sram(model_, static_cast<int>(memory), index,
                                 reinterpret_cast<std::uint8_t*>(element.data()));
    return element;
  }
  std::optional<std::uint32_t> read_register(std::uint32_t offset) override {
    std::uint32_t value = 0;
    if (model_ == nullptr || library_->api()->read_register(model_, offset, &value) != 0) return std::nullopt;
    return value;
  }
  bool write_register(std::uint32_t offset, std::uint32_t value, unsigned strobes) override {
    return model_ != nullptr && library_->api()->write_register(model_, offset, value, static_cast<int>(strobes)) == 0;
  }
  bool interrupt() const override { return model_ != nullptr && library_->api()->interrupt(model_) != 0; }
  MemoryStatistics memory_statistics() const override { return memory_->statistics(); }

 private:
  void power_up() {
    model_ = library_->api()->create(options_.power_up_seed, options_.engine.assertions);
    waves_open_ = false;
    timing_.reset();
  }
  void power_down() {
    if (model_ != nullptr) library_->api()->destroy(model_);
    model_ = nullptr;
  }

  // Opened at the first launch: without a launch there is no file. After a reset, another file is used.
  Result<void> open_waves() {
    if (!options_.engine.waves || waves_open_) return {};
    const std::filesystem::path& first = *options_.engine.waves;
    const std::filesystem::path path =
        waves_files_ == 0 ? first
                          : first.parent_path() / fmt::format("{}-run{}{}", first.stem().string(), waves_files_ + 1,
                                                              first.extension().string());
    if (library_->api()->open_waves(model_, path.c_str()) == 0)
      return Diagnostic{"cannot write waveforms", path.string(),
                        "the file cannot be opened, or the model was built without waveforms",
                        "choose a folder that can be written"};
    ++waves_files_;
    waves_open_ = true;
    return {};
  }

  // Memory as seen by the port: the program, which only fetch reads, and the image, which all others access. A transfer
  // beyond the image does not depend on the program's address.
  struct Window {
    std::uint64_t base;
    std::span<std::byte> bytes;
  };
  Window window(bool of_fetch) {
    return of_fetch ? Window{code_base_, code_} : Window{dram_->base, std::span(dram_->bytes)};
  }
  bool accept(std::uint64_t cycle, Direction direction, std::uint64_t address, std::uint32_t beats,
              std::uint64_t* answer);
  int read(std::uint64_t address, bool of_fetch, std::uint8_t* beat);
  int write(std::uint64_t address, const std::uint8_t* beat, const std::uint8_t* strobes);
  void event(int kind, int unit, std::uint32_t instruction, std::uint64_t cycle, int cause);
  bool goes_on();
  std::array<std::uint32_t, isa::kTokenFifos> tokens_left();
  LaunchTrace time(const dovetail_rtl_result& result);
  void count_events(const dovetail_rtl_events& events, Counters& counters) const;

  isa::HardwareConfig config_;
  RtlOptions options_;
  isa::LegalityRules rules_;
  isa::Codec codec_;
  Routes routes_;
  std::shared_ptr<const RtlLibrary> library_;
  std::unique_ptr<Memory> memory_;
  std::uint64_t bus_bytes_;
  std::array<std::size_t, 4> element_bytes_{};  // by isa::Memory: uop, wgt, inp, acc
  void* model_ = nullptr;                       // null: an assertion failed during reset
  bool waves_open_ = false;
  int waves_files_ = 0;
  std::optional<LaunchTrace> timing_;
  std::optional<LaunchError> error_;

  // State of the running launch.
  Dram* dram_ = nullptr;
  std::vector<std::byte> code_;
  std::uint64_t code_base_ = 0;
  std::size_t first_index_ = 0;
  std::vector<TraceEvent> events_;
  std::vector<std::uint8_t> progress_;  // number of events of each instruction so far
  PortWatch watch_;
};

bool VerilatedSimulator::accept(std::uint64_t cycle, Direction direction, std::uint64_t address, std::uint32_t beats,
                                std::uint64_t* answer) {
  const Answer given = memory_->accept(cycle, direction, address, beats);
  *answer = given.cycle;
  if (given.accepted) watch_.accepted(direction, cycle, given.cycle, beats, memory_->explain(direction));
  return given.accepted;
}

int VerilatedSimulator::read(std::uint64_t address, bool of_fetch, std::uint8_t* beat) {
  if (options_.bad_range && address >= options_.bad_range->begin && address < options_.bad_range->end)
    return options_.bad_range->response;
  const Window from = window(of_fetch);
  const std::uint64_t at = address - from.base, size = from.bytes.size();
  if (at < size && bus_bytes_ <= size - at) {
    std::memcpy(beat, from.bytes.data() + at, bus_bytes_);
    return 0;
  }
  // It extends beyond an end.
  bool known = false;
  for (std::uint64_t i = 0; i < bus_bytes_; ++i) {
    const bool inside = at + i < size;
    known |= inside;
    beat[i] = inside ? std::to_integer<std::uint8_t>(from.bytes[at + i]) : std::uint8_t{0};
  }
  return known ? 0 : 3;
}

int VerilatedSimulator::write(std::uint64_t address, const std::uint8_t* beat, const std::uint8_t* strobes) {
  if (options_.bad_range && address >= options_.bad_range->begin && address < options_.bad_range->end)
    return options_.bad_range->response;
  const Window to = window(false);
  int response = 0;
  for (std::uint64_t i = 0; i < bus_bytes_; ++i) {
    if ((strobes[i / 8] >> (i % 8) & 1) == 0) continue;
    const std::uint64_t at = address + i - to.base;
    if (at < to.bytes.size()) to.bytes[at] = std::byte{beat[i]};
    else response = 3;
  }
  return response;
}

void VerilatedSimulator::event(int kind, int unit, std::uint32_t instruction, std::uint64_t cycle, int cause) {
  const std::size_t at = instruction - first_index_;
  if (at >= progress_.size()) return;  // a faulty design may name any instruction
  ++progress_[at];
  if (!options_.engine.trace) return;
  TraceEvent& event = events_[at];
  if (kind == 0) event.issue = cycle;
  if (kind == 1) event.start = cycle, event.cause = static_cast<StallCause>(cause);
  if (kind == 2) event.end = cycle;
  event.unit = static_cast<isa::Queue>(unit);
}

// The outcome of a launch that has ended.
LaunchTrace VerilatedSimulator::time(const dovetail_rtl_result& result) {
  LaunchTrace timing{.cycles = result.cycles, .events = std::move(events_)};
  for (std::size_t u = 0; u < timing.classes.size(); ++u)
    std::copy(std::begin(result.classes[u]), std::end(result.classes[u]), timing.classes[u].begin());
  if (options_.engine.trace && !options_.slave) timing.waits = watch_.finish(timing.cycles);
  return timing;
}

// A cycle counts as one step: a GEMM has about one cycle per micro-op.
bool VerilatedSimulator::goes_on() {
  Work* const work = options_.engine.work;
  if (work == nullptr) return true;
  work->count(DOVETAIL_RTL_POLL_CYCLES);
  return !work->stopped();
}

// Everything that signals of the design can count comes from them; instructions, bytes and tokens follow from the
// program.
void VerilatedSimulator::count_events(const dovetail_rtl_events& events, Counters& counters) const {
  for (std::size_t i = 0; i < kSrams.size(); ++i)
    counters.sram_of(kSrams[i]) = {.reads = events.sram_reads[i], .writes = events.sram_writes[i]};
  const auto port = [&](std::size_t unit) {
    return PortEvents{.bursts = events.bursts[unit],
                      .beats = events.beats[unit],
                      .buffer = {.reads = events.buffer_reads[unit], .writes = events.buffer_writes[unit]}};
  };
  for (std::size_t unit = 0; unit < counters.port.size(); ++unit) counters.port[unit] = port(unit);
  counters.fetch = port(counters.port.size());
  counters.gemm_uops = events.gemm_steps;
  counters.gemm_reset_uops = events.gemm_resets;
  counters.window_uops = events.window_steps;
  counters.window_pushes = events.window_pushes;
  counters.epilogue_uops = events.epilogue_steps;
  counters.epilogue_parameters = events.epilogue_parameters;
  counters.epilogue_lookups = events.epilogue_lookups;
  counters.macs = (events.gemm_steps + events.window_steps) * static_cast<std::uint64_t>(config_.macs_per_uop());
  std::copy_n(std::begin(events.alu_steps), counters.alu_uops_by_op.size(), counters.alu_uops_by_op.begin());
  counters.alu_uops = std::accumulate(std::begin(events.alu_steps), std::end(events.alu_steps), std::uint64_t{0});
}

// The FIFOs' registers hold two fields of 16 bits each.
std::array<std::uint32_t, isa::kTokenFifos> VerilatedSimulator::tokens_left() {
  std::array<std::uint32_t, isa::kTokenFifos> tokens{};
  std::size_t fifo = 0;
  for (const isa::spec::Register& row : isa::spec::kRegisters) {
    if (row.name != "TOKENS_LOAD" && row.name != "TOKENS_STORE") continue;
    const std::uint32_t both = read_register(row.offset).value_or(0);
    for (const isa::spec::RegisterField& field : row.fields) tokens[fifo++] = both >> field.bit & 0xffff;
  }
  return tokens;
}

Result<Counters> VerilatedSimulator::launch(std::span<const isa::Instruction> program, Dram& dram,
                                            std::size_t first_index) {
  timing_.reset();
  error_.reset();
  if (model_ == nullptr)
    return Diagnostic{"the design violated one of its assertions", config_.name,
                      "the assertion failed during reset; see its message above", std::string(kDesignAtFault)};
  const std::span<const isa::Instruction> moved = at_offset(config_, program);
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (rules_.is_legal(moved[i])) continue;
    error_ = {isa::spec::ErrorCode::illegal, first_index + i};
    Diagnostics errors = rules_.check(moved[i]);
    for (Diagnostic& error : errors) error.where = fmt::format("instruction {}", first_index + i);
    return errors;
  }
  const auto unit = static_cast<std::uint64_t>(config_.instruction_bytes());
  DOVETAIL_ASSIGN(code_, codec_.encode_program(program));
  for (const auto& [at, bytes] : options_.patches)
    if (at >= first_index && at - first_index < program.size())
      std::ranges::copy(bytes, code_.begin() + static_cast<std::ptrdiff_t>((at - first_index) * unit));
  DOVETAIL_ASSIGN(const std::uint64_t base,
                  program_base_of(config_, options_.engine, dram, first_index + program.size()));
  code_base_ = base + first_index * unit;
  dram_ = &dram;
  first_index_ = first_index;
  events_.assign(options_.engine.trace ? program.size() : 0, {});
  progress_.assign(program.size(), 0);
  for (std::size_t i = 0; i < events_.size(); ++i) events_[i].instruction = first_index + i;
  memory_->reset();
  watch_.begin(events_.size(), first_index);

  DOVETAIL_TRY(open_waves());

  const dovetail_rtl_host host{
      .context = this,
      .accept = [](void* self, std::uint64_t cycle, int direction, std::uint64_t address, std::uint32_t beats,
                   std::uint64_t* answer) -> int {
        return static_cast<VerilatedSimulator*>(self)->accept(
            cycle, direction == 0 ? Direction::read : Direction::write, address, beats, answer);
      },
      .read =
          [](void* self, std::uint64_t address, int of_fetch, std::uint8_t* beat) {
            return static_cast<VerilatedSimulator*>(self)->read(address, of_fetch != 0, beat);
          },
      .write =
          [](void* self, std::uint64_t address, const std::uint8_t* beat, const std::uint8_t* strobes) {
            return static_cast<VerilatedSimulator*>(self)->write(address, beat, strobes);
          },
      .event = [](void* self, int kind, int unit, std::uint32_t instruction, std::uint64_t cycle,
                  int cause) { static_cast<VerilatedSimulator*>(self)->event(kind, unit, instruction, cycle, cause); },
      .port =
          [](void* self, std::uint64_t cycle, std::uint32_t signals, const std::uint32_t moved[3]) {
            static_cast<VerilatedSimulator*>(self)->watch_.cycle(cycle, signals, moved);
          },
      .goes_on = [](void* self) -> int { return static_cast<VerilatedSimulator*>(self)->goes_on(); }};
  dovetail_rtl_slave slave{};
  if (options_.slave) slave = to_model(*options_.slave);
  const dovetail_rtl_launch what{.program_base = base,
                                 .offset = offset(),
                                 .begin = static_cast<std::uint32_t>(first_index),
                                 .count = static_cast<std::uint32_t>(program.size()),
                                 .address_to_data = static_cast<std::uint32_t>(isa::spec::kAddressToData.value),
                                 .slave = options_.slave ? &slave : nullptr};
  dovetail_rtl_result result;
  library_->api()->launch(model_, &host, &what, &result);
  if (result.outcome == DOVETAIL_RTL_STOPPED) {
    reset();
    return options_.engine.work->stopped_at(fmt::format("cycle {}", result.cycles));
  }
  if (result.outcome != DOVETAIL_RTL_DONE) {
    RtlOutcome outcome{.result = result, .launch = moved, .first_index = first_index, .progress = progress_};
    if (result.outcome == DOVETAIL_RTL_ERROR) {
      outcome.tokens = tokens_left();
      error_ = {static_cast<isa::spec::ErrorCode>(result.error_code), result.error_instruction};
      if (error_->code == isa::spec::ErrorCode::leftover_tokens)
        std::ranges::copy(outcome.tokens, error_->tokens.begin());
    }
    if (result.outcome == DOVETAIL_RTL_ASSERTION) reset();
    if (result.outcome == DOVETAIL_RTL_DEADLOCK) timing_ = {.events = std::move(events_)};
    if (result.error_code == static_cast<std::uint32_t>(isa::spec::ErrorCode::leftover_tokens)) timing_ = time(result);
    return explain(config_, outcome);
  }
  LaunchTrace timing = time(result);
  Counters counters;
  for (const isa::Instruction& instruction : program)
    count(config_, instruction, routes_.of(instruction), {}, counters);
  count_events(result.events, counters);
  if (!options_.slave) counters.dram = memory_->finish(timing.cycles);
  timing.counters = counters;
  timing_ = std::move(timing);
  return counters;
}

}  // namespace

Result<std::unique_ptr<RtlSimulator>> make_rtl(const isa::HardwareConfig& config, const RtlOptions& options) {
  if (options.engine.accelerators > 1 && !options.engine.by_launch)
    return Diagnostic{"cannot run several accelerators",
                      fmt::format("engine rtl, {} accelerators", options.engine.accelerators),
                      "a Verilated model is one accelerator with its own memory",
                      "use --engine cycle or systemc: for one accelerator their cycles equal those of the design"};
  DOVETAIL_ASSIGN(auto library,
                  options.model ? RtlLibrary::open(*options.model) : RtlLibrary::open_of(config, options.engine));
  return std::unique_ptr<RtlSimulator>(std::make_unique<VerilatedSimulator>(config, options, std::move(library)));
}

}  // namespace dovetail::simulator
