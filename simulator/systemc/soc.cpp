#include "simulator/systemc/soc.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "isa/spec/registers.h"
#include "simulator/cycle/execution.h"
#include "simulator/systemc/accelerator.h"
#include "simulator/systemc/burst_extension.h"
#include "simulator/systemc/kernel.h"

namespace dovetail::simulator::systemc {

using soc::Rv32;
using soc::SystemRun;
using soc::Target;

namespace {

// Of an instruction of PicoRV32 on average, with the fetch from RAM.
constexpr std::uint32_t kCyclesPerInstruction = 5;
// The bit of the UART's register DATA that marks a new byte.
constexpr std::uint32_t kIsNew = 1u << 8;
// Interrupts are taken after so many instructions at the latest.
constexpr std::uint64_t kQuantum = 1000;

const sc_core::sc_time& period() {
  static const sc_core::sc_time time(1, sc_core::SC_NS);
  return time;
}
Cycle cycles_now() { return static_cast<Cycle>(sc_core::sc_time_stamp() / period()); }

bool is_in(Target target, std::uint32_t address) {
  const soc::Window& window = soc::window(target);
  return address >> window.log2_bytes == window.base >> window.log2_bytes;
}
bool is_at(Target target, std::string_view name, std::uint32_t address) {
  return address == soc::window(target).base + soc::soc_register(target, name).offset;
}

}  // namespace

SocMemory::SocMemory(sc_core::sc_module_name name, const soc::SystemOptions& options)
    : sc_module(name),
      port("port"),
      times_(make_memory(options.memory, options.config.bus_bytes)),
      bytes_(options.memory_bytes),
      broken_(options.broken) {
  port.register_b_transport(this, &SocMemory::transport);
  port.register_transport_dbg(this, &SocMemory::debug);
}

void SocMemory::begin(Cycle cycle) {
  times_->reset();
  origin_ = cycle;
  launched_ = true;
}

bool SocMemory::has(std::uint64_t address, std::uint64_t bytes) const {
  if (launched_ && broken_ && *broken_ - address < bytes) return false;
  return address <= bytes_.size() && bytes <= bytes_.size() - address;
}

bool SocMemory::read(std::uint64_t address, std::uint32_t& word) const {
  if (!has(address, 4)) return false;
  std::memcpy(&word, bytes_.data() + address, 4);
  return true;
}

bool SocMemory::write(std::uint64_t address, std::uint32_t word, std::uint32_t mask) {
  std::uint32_t old = 0;
  if (!read(address, old)) return false;
  word = (old & ~mask) | (word & mask);
  std::memcpy(bytes_.data() + address, &word, 4);
  return true;
}

bool SocMemory::move(tlm::tlm_generic_payload& transaction) {
  const unsigned char* enables = transaction.get_byte_enable_ptr();
  unsigned char* data = transaction.get_data_ptr();
  const std::uint64_t address = transaction.get_address();
  const unsigned bytes = transaction.get_data_length();
  if (!has(address, bytes)) return false;
  if (transaction.is_read()) {
    std::memcpy(data, bytes_.data() + address, bytes);
    return true;
  }
  for (unsigned i = 0; i < bytes; ++i)
    if (enables == nullptr || enables[i % transaction.get_byte_enable_length()] != TLM_BYTE_DISABLED)
      bytes_[address + i] = data[i];
  return true;
}

void SocMemory::transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time&) {
  BurstExtension* burst = nullptr;
  transaction.get_extension(burst);
  transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  if (burst != nullptr) {
    burst->answered = true;
    burst->answer = times_->accept(burst->cycle - origin_, burst->direction, transaction.get_address(), burst->beats);
    burst->answer.cycle += origin_;
    if (!burst->answer.accepted) return;
    burst->delay = times_->explain(burst->direction);
  }
  if (!move(transaction)) transaction.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);  // SLVERR
}

// The accelerator reads its program and the whole memory at the beginning of a launch: broken places do not matter.
unsigned SocMemory::debug(tlm::tlm_generic_payload& transaction) {
  const auto broken = std::exchange(broken_, std::nullopt);
  const bool moved = move(transaction);
  broken_ = broken;
  return moved ? transaction.get_data_length() : 0;
}

SocProcessor::SocProcessor(sc_core::sc_module_name name, std::span<const std::byte> firmware,
                           const soc::SystemOptions& options, SocMemory& memory)
    : sc_module(name),
      accelerator("accelerator"),
      interrupt("interrupt"),
      options_(options),
      memory_(memory),
      ram_(soc::kRamBytes),
      core_(ram_, *this),
      input_(options.serial_input) {
  std::ranges::copy(firmware, ram_.begin());
  SC_HAS_PROCESS(SocProcessor);
  SC_THREAD(run);
}

Cycle SocProcessor::now() const { return cycles_now() + (core_.instructions() - passed_) * kCyclesPerInstruction; }

// Time passes for the instructions that were executed.
void SocProcessor::pass_time() {
  const std::uint64_t instructions = core_.instructions() - passed_;
  passed_ += instructions;
  if (instructions != 0) wait(static_cast<double>(instructions * kCyclesPerInstruction) * period());
}

std::uint32_t SocProcessor::lines() const {
  const auto line = [](std::string_view name, bool level) { return level ? 1u << soc::soc_interrupt(name).line : 0u; };
  return line("ACCELERATOR", interrupt.read()) | line("TIMER", timer_enabled_ && now() >= compare_) |
         line("FAULT", (fault_ & 1) != 0);
}

// The simulation ends when nothing is left to do: a launch that still runs comes to its end.
void SocProcessor::end(SystemRun::End how) {
  result_.end = how;
  result_.cycles = now();
}

bool SocProcessor::is_over() {
  if (options_.work != nullptr && options_.work->stopped()) end(SystemRun::End::stopped);
  else if (now() >= options_.limit_cycles) end(SystemRun::End::limit);
  else return false;
  return true;
}

void SocProcessor::run() {
  wait(sc_core::SC_ZERO_TIME);  // the accelerator waits for its start by then
  while (!is_over()) {
    core_.set_interrupts(lines());
    const std::uint64_t before = core_.instructions();
    const Rv32::Stop stop = core_.run(kQuantum, kCyclesPerInstruction);
    if (options_.work != nullptr) options_.work->count((core_.instructions() - before) * kCyclesPerInstruction);
    if (stop == Rv32::Stop::asked) return end(SystemRun::End::ended);
    if (stop == Rv32::Stop::trap) return end(SystemRun::End::trap);
    pass_time();
    if (stop == Rv32::Stop::waiting && lines() == 0) sleep();
  }
}

// Until an interrupt, or the end of the run.
void SocProcessor::sleep() {
  const Cycle from = cycles_now();
  Cycle until = options_.limit_cycles;
  if (timer_enabled_) until = std::min(until, compare_);
  if (until > from) wait(static_cast<double>(until - from) * period(), interrupt.value_changed_event());
  result_.waiting += cycles_now() - from;
}

void SocProcessor::fault(std::uint32_t address, bool is_write) {
  if ((fault_ & 1) == 0) {
    fault_ = 1u | (is_write ? 2u : 0u);
    fault_address_ = address;
  }
  core_.set_interrupts(lines());
}

// The other side receives a byte, and answers one that asks for input after all its earlier answers.
void SocProcessor::send(unsigned char byte) {
  const Cycle byte_cycles = Cycle{10} * (divider_ + 1);
  begun_ = std::max(now(), sent_);
  sent_ = begun_ + byte_cycles;
  if (byte == soc::kEndOfRun) return core_.stop();
  if (byte != soc::kAskForInput) {
    result_.serial += static_cast<char>(byte);
    return;
  }
  const Cycle from = arrivals_.empty() ? sent_ : std::max(sent_, arrivals_.back().cycle);
  arrivals_.push_back({from + byte_cycles, static_cast<unsigned char>(input_.next())});
}

// A byte that has not been read is replaced by the next one.
void SocProcessor::receive() {
  for (; !arrivals_.empty() && arrivals_.front().cycle <= now(); arrivals_.pop_front())
    received_ = kIsNew | arrivals_.front().byte;
}

bool SocProcessor::access_accelerator(tlm::tlm_command command, std::uint32_t offset, std::uint32_t& value) {
  pass_time();
  if (command == tlm::TLM_WRITE_COMMAND && offset == isa::spec::kRegisters[0].offset && (value & 1) != 0)
    memory_.begin(cycles_now());
  static_assert(isa::spec::kRegisters[0].name == "CONTROL");
  tlm::tlm_generic_payload transaction;
  transaction.set_command(command);
  transaction.set_address(offset);
  transaction.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
  transaction.set_data_length(4);
  transaction.set_streaming_width(4);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  accelerator->b_transport(transaction, delay);
  // The line follows within this time.
  for (int i = 0; i < 3; ++i) wait(sc_core::SC_ZERO_TIME);
  core_.set_interrupts(lines());
  return transaction.is_response_ok();
}

std::optional<std::uint32_t> SocProcessor::read_target(std::uint32_t address) {
  std::uint32_t word = 0;
  if (is_in(Target::memory, address)) {
    if (memory_.read(address - soc::window(Target::memory).base, word)) return word;
    return std::nullopt;
  }
  if (is_in(Target::accelerator, address)) {
    const std::uint32_t offset = address - soc::window(Target::accelerator).base;
    if (access_accelerator(tlm::TLM_READ_COMMAND, offset, word)) return word;
    return std::nullopt;
  }
  if (is_at(Target::uart, "DATA", address)) {
    receive();
    return std::exchange(received_, received_ & 0xff);
  }
  if (is_at(Target::uart, "STATUS", address)) {
    receive();
    return (now() >= begun_ ? 1u : 0u) | (received_ & kIsNew) >> 7;
  }
  if (is_at(Target::uart, "DIVIDER", address)) return divider_;
  if (is_at(Target::system, "TIME_LO", address)) {
    time_high_ = static_cast<std::uint32_t>(now() >> 32);
    return static_cast<std::uint32_t>(now());
  }
  if (is_at(Target::system, "TIME_HI", address)) return time_high_;
  if (is_at(Target::system, "COMPARE_LO", address)) return static_cast<std::uint32_t>(compare_);
  if (is_at(Target::system, "COMPARE_HI", address)) return static_cast<std::uint32_t>(compare_ >> 32);
  if (is_at(Target::system, "TIMER_ENABLE", address)) return timer_enabled_ ? 1 : 0;
  if (is_at(Target::system, "FAULT", address)) return fault_;
  if (is_at(Target::system, "FAULT_ADDRESS", address)) return fault_address_;
  if (is_at(Target::system, "MEMORY_BYTES", address)) return static_cast<std::uint32_t>(options_.memory_bytes);
  return std::nullopt;
}

bool SocProcessor::write_target(std::uint32_t address, std::uint32_t value, std::uint32_t mask) {
  constexpr std::uint64_t kLow = 0xffffffff;
  if (is_in(Target::memory, address)) return memory_.write(address - soc::window(Target::memory).base, value, mask);
  if (mask != ~0u) return false;  // registers are written as a whole
  if (is_in(Target::accelerator, address))
    return access_accelerator(tlm::TLM_WRITE_COMMAND, address - soc::window(Target::accelerator).base, value);
  if (is_at(Target::uart, "DATA", address)) {
    if (now() < begun_) return false;
    send(static_cast<unsigned char>(value));
    return true;
  }
  if (is_at(Target::uart, "DIVIDER", address)) divider_ = value & 0xffff;
  else if (is_at(Target::system, "COMPARE_LO", address)) compare_ = (compare_ & ~kLow) | value;
  else if (is_at(Target::system, "COMPARE_HI", address)) compare_ = (compare_ & kLow) | std::uint64_t{value} << 32;
  else if (is_at(Target::system, "TIMER_ENABLE", address)) timer_enabled_ = (value & 1) != 0;
  else if (is_at(Target::system, "FAULT", address)) fault_ &= ~(value & 1);
  else return false;
  core_.set_interrupts(lines());
  return true;
}

std::uint32_t SocProcessor::read(std::uint32_t address) {
  const auto word = read_target(address);
  if (!word) fault(address, false);
  return word.value_or(0);
}

void SocProcessor::write(std::uint32_t address, std::uint32_t value, std::uint32_t mask) {
  if (!write_target(address, value, mask)) fault(address, true);
}

namespace {

Result<SystemRun> simulate(std::span<const std::byte> firmware, const soc::SystemOptions& options) {
  Execution execution(options.config, Values::computed, options.work);
  SocMemory memory("memory", options);
  sc_core::sc_signal<bool> line("line");
  Accelerator accelerator("accelerator",
                          {.config = options.config, .clock_period = period(), .image_bytes = options.memory_bytes},
                          execution);
  SocProcessor processor("processor", firmware, options, memory);
  processor.accelerator.bind(accelerator.registers);
  processor.interrupt.bind(line);
  accelerator.interrupt.bind(line);
  accelerator.memory.bind(memory.port);
  sc_core::sc_start();
  return processor.result();
}

}  // namespace

}  // namespace dovetail::simulator::systemc

extern "C" __attribute__((visibility("default"))) dovetail::Result<dovetail::simulator::soc::SystemRun>*
dovetail_run_soc(const std::span<const std::byte>* firmware, const dovetail::simulator::soc::SystemOptions* options) {
  using namespace dovetail::simulator::systemc;
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  setenv("SC_COPYRIGHT_MESSAGE", "DISABLE", 0);
  return new dovetail::Result<SystemRun>(in_fresh_kernel([&] { return simulate(*firmware, *options); }));
}
