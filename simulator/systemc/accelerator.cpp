#include "simulator/systemc/accelerator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "isa/offset.h"
#include "isa/spec/registers.h"
#include "isa/text.h"
#include "simulator/engine_options.h"

namespace dovetail::simulator::systemc {

namespace {

using sc_core::sc_time;

constexpr std::uint32_t offset_of(std::string_view name) {
  for (const isa::spec::Register& row : isa::spec::kRegisters)
    if (row.name == name) return row.offset;
  throw "no such register";
}
constexpr std::uint32_t kControl = offset_of("CONTROL"), kStatus = offset_of("STATUS"),
                        kErrorInstruction = offset_of("ERROR_INSTRUCTION"),
                        kInterruptEnable = offset_of("INTERRUPT_ENABLE"),
                        kInterruptStatus = offset_of("INTERRUPT_STATUS"), kProgramBaseLo = offset_of("PROGRAM_BASE_LO"),
                        kProgramBaseHi = offset_of("PROGRAM_BASE_HI"),
                        kInstructionBegin = offset_of("INSTRUCTION_BEGIN"),
                        kInstructionCount = offset_of("INSTRUCTION_COUNT"), kCyclesLo = offset_of("CYCLES_LO"),
                        kCyclesHi = offset_of("CYCLES_HI"), kTokensLoad = offset_of("TOKENS_LOAD"),
                        kTokensStore = offset_of("TOKENS_STORE"), kOffsetLo = offset_of("OFFSET_LO"),
                        kOffsetHi = offset_of("OFFSET_HI");

constexpr std::uint32_t kDoneBit = 1, kErrorBit = 2;  // in both interrupt registers
static_assert(isa::spec::kInterruptStatusFields[0].name == "done" &&
              isa::spec::kInterruptStatusFields[1].name == "error");

}  // namespace

Accelerator::Accelerator(sc_core::sc_module_name name, const AcceleratorOptions& options, Execution& execution)
    : sc_module(name),
      registers("registers"),
      memory("memory"),
      interrupt("interrupt"),
      options_(options),
      codec_(options.config),
      execution_(execution),
      port_(*this),
      machine_(options.config, port_) {
  registers.register_b_transport(this, &Accelerator::access_register);
  SC_HAS_PROCESS(Accelerator);
  SC_THREAD(run);
  // The interrupt line has a single driving process, since several events change it.
  SC_METHOD(drive_interrupt);
  sensitive << interrupt_changed_;
}

// A burst writes only the bytes of its STORE: other initiators may have written adjacent bytes since this launch read
// its image. A store's values are computed when it starts, before its first burst is sent.
void Accelerator::Port::fill_write(std::uint64_t address, std::size_t bytes) {
  const Dram& image = owner_.image_;
  const ByteRange& row = owner_.stored_.row();
  for (std::size_t i = 0; i < bytes; ++i)
    if (address + i >= row.begin && address + i < row.end) {
      data_[i] = std::to_integer<unsigned char>(image.bytes[address + i - image.base]);
      enables_[i] = TLM_BYTE_ENABLED;
    }
}

// A burst is one transaction with its data.
Answer Accelerator::Port::accept(Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) {
  const auto bus = static_cast<std::size_t>(owner_.options_.config.bus_bytes);
  const std::size_t bytes = beats * bus;
  data_.assign(bytes, 0);
  enables_.assign(bytes, TLM_BYTE_DISABLED);
  if (direction == Direction::write) fill_write(address, bytes);

  BurstExtension extension;
  extension.cycle = owner_.origin_ + cycle;
  extension.direction = direction;
  extension.beats = beats;
  tlm::tlm_generic_payload transaction;
  transaction.set_command(direction == Direction::read ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND);
  transaction.set_address(address + owner_.options_.window);
  transaction.set_data_ptr(data_.data());
  transaction.set_data_length(static_cast<unsigned>(bytes));
  transaction.set_streaming_width(static_cast<unsigned>(bytes));
  if (direction == Direction::write) {
    transaction.set_byte_enable_ptr(enables_.data());
    transaction.set_byte_enable_length(static_cast<unsigned>(bytes));
  }
  transaction.set_extension(&extension);
  sc_time delay = sc_core::SC_ZERO_TIME;
  owner_.memory->b_transport(transaction, delay);
  transaction.clear_extension(&extension);
  if (direction == Direction::write && (!extension.answered || extension.answer.accepted))
    owner_.stored_.sent(address + bytes);
  if (!transaction.is_response_ok() && !failure_)
    failure_ = Failure{transaction.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE
                           ? isa::spec::ErrorCode::decode_error
                           : isa::spec::ErrorCode::slave_error,
                       owner_.machine_.at_port(direction)};

  MemorySplit& delayed = delays_[static_cast<std::size_t>(direction)];
  if (extension.answered) {
    if (!extension.answer.accepted) return {false, extension.answer.cycle - owner_.origin_};
    delayed = extension.delay;
    return {true, extension.answer.cycle - owner_.origin_};
  }
  // The whole burst has passed after the delay, in whole cycles.
  const auto passed = static_cast<Cycle>(std::ceil(delay / owner_.options_.clock_period));
  delayed = {};
  if (direction == Direction::read) {
    const Cycle first = std::max(cycle + std::max<Cycle>(1, passed >= beats ? passed - beats + 1 : 1), last_read_ + 1);
    last_read_ = first + beats - 1;
    delayed[MemoryCause::latency] = first - cycle;
    return {true, first};
  }
  last_write_ = std::max({cycle + beats + 1, cycle + passed, last_write_ + 1});
  delayed[MemoryCause::latency] = last_write_ - cycle;
  return {true, last_write_};
}

std::uint64_t Accelerator::cycles_now() const {
  return static_cast<std::uint64_t>(sc_core::sc_time_stamp() / options_.clock_period) - origin_;
}

std::uint32_t Accelerator::read_register(std::uint32_t offset) const {
  const std::uint64_t cycles = busy_ ? cycles_now() : cycles_;
  if (offset == kStatus)
    return static_cast<std::uint32_t>(busy_) | static_cast<std::uint32_t>(done_) << 1 |
           static_cast<std::uint32_t>(error_) << 2 | error_code_ << 4;
  if (offset == kErrorInstruction) return error_instruction_;
  if (offset == kInterruptEnable) return interrupt_enable_;
  if (offset == kInterruptStatus) return interrupt_status_;
  if (offset == kProgramBaseLo) return static_cast<std::uint32_t>(program_base_);
  if (offset == kProgramBaseHi) return static_cast<std::uint32_t>(program_base_ >> 32);
  if (offset == kOffsetLo) return static_cast<std::uint32_t>(offset_);
  if (offset == kOffsetHi) return static_cast<std::uint32_t>(offset_ >> 32);
  if (offset == kInstructionBegin) return begin_;
  if (offset == kInstructionCount) return count_;
  if (offset == kCyclesLo) return static_cast<std::uint32_t>(cycles);
  if (offset == kCyclesHi) return static_cast<std::uint32_t>(cycles >> 32);
  if (offset == kTokensLoad) return tokens_left(isa::TokenFifo::load_to_compute, isa::TokenFifo::compute_to_load);
  if (offset == kTokensStore) return tokens_left(isa::TokenFifo::compute_to_store, isa::TokenFifo::store_to_compute);
  for (const isa::spec::Register& row : isa::spec::kRegisters)
    if (row.offset == offset) return row.reset(options_.config);
  return 0;
}

// The register has two fields of 16 bits. It is valid only when the launch has completed, because the machine is
// simulated ahead of SystemC's time.
std::uint32_t Accelerator::tokens_left(isa::TokenFifo low, isa::TokenFifo high) const {
  if (error_code_ != static_cast<std::uint32_t>(isa::spec::ErrorCode::leftover_tokens)) return 0;
  const auto field = [&](isa::TokenFifo fifo) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(machine_.tokens_left(fifo), 0xffff));
  };
  return field(low) | field(high) << 16;
}

void Accelerator::write_register(std::uint32_t offset, std::uint32_t value) {
  if (offset == kControl && (value & 1) != 0 && !busy_) {
    busy_ = true;
    done_ = error_ = false;
    error_code_ = error_instruction_ = 0;
    cycles_ = 0;
    refused_.clear();
    start_.notify(sc_core::SC_ZERO_TIME);
  } else if (offset == kInterruptEnable) {
    interrupt_enable_ = value & (kDoneBit | kErrorBit);
    raise();
  } else if (offset == kInterruptStatus) {
    interrupt_status_ &= ~value;
    raise();
  } else if (offset == kProgramBaseLo) {
    program_base_ = (program_base_ >> 32 << 32) | value;
  } else if (offset == kProgramBaseHi) {
    program_base_ = (program_base_ & 0xffffffff) | std::uint64_t{value} << 32;
  } else if (offset == kOffsetLo || offset == kOffsetHi) {
    const int shift = offset == kOffsetLo ? 0 : 32;
    offset_ = (offset_ & ~(std::uint64_t{0xffffffff} << shift)) | std::uint64_t{value} << shift;
    offset_ &= (std::uint64_t{1} << options_.config.address_bits) - 1;
  } else if (offset == kInstructionBegin) {
    begin_ = value;
  } else if (offset == kInstructionCount) {
    count_ = value;
  }
}

void Accelerator::access_register(tlm::tlm_generic_payload& transaction, sc_time&) {
  const std::uint64_t offset = transaction.get_address();
  const bool known =
      std::any_of(isa::spec::kRegisters.begin(), isa::spec::kRegisters.end(), [&](const isa::spec::Register& row) {
        return row.offset == offset && isa::spec::is_enabled(row, options_.config);
      });
  if (!known || transaction.get_data_length() != 4 || transaction.get_byte_enable_ptr() != nullptr) {
    transaction.set_response_status(known ? tlm::TLM_BURST_ERROR_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  std::uint32_t value = 0;
  if (transaction.is_read()) {
    value = read_register(static_cast<std::uint32_t>(offset));
    std::memcpy(transaction.get_data_ptr(), &value, 4);
  } else if (transaction.is_write()) {
    std::memcpy(&value, transaction.get_data_ptr(), 4);
    write_register(static_cast<std::uint32_t>(offset), value);
  }
  transaction.set_response_status(tlm::TLM_OK_RESPONSE);
}

bool Accelerator::read_memory(std::uint64_t address, unsigned char* data, std::size_t bytes) {
  if (bytes == 0) return true;
  tlm::tlm_generic_payload transaction;
  transaction.set_command(tlm::TLM_READ_COMMAND);
  transaction.set_address(address + options_.window);
  transaction.set_data_ptr(data);
  transaction.set_data_length(static_cast<unsigned>(bytes));
  return memory->transport_dbg(transaction) == bytes;
}

void Accelerator::stop(isa::spec::ErrorCode code, std::size_t instruction) {
  cycles_ = cycles_now();
  error_ = true;
  busy_ = false;
  error_code_ = static_cast<std::uint32_t>(code);
  error_instruction_ = static_cast<std::uint32_t>(instruction);
  interrupt_status_ |= kErrorBit;
  raise();
}

void Accelerator::refuse(isa::spec::ErrorCode code, std::size_t instruction, Diagnostics why) {
  refused_ = std::move(why);
  stop(code, instruction);
}

void Accelerator::run() {
  for (;;) {
    wait(start_);
    launch();
  }
}

// Reads and decodes the program, and reads the image. False: the launch was stopped before it began.
bool Accelerator::prepare() {
  using isa::spec::ErrorCode;
  if (!fits_address_space(options_.config, program_base_, begin_, count_)) {
    refuse(ErrorCode::address_space, begin_, {outside_address_space(options_.config, program_base_, begin_, count_)});
    return false;
  }
  const auto instruction_bytes = static_cast<std::size_t>(options_.config.instruction_bytes());
  std::vector<std::byte> code(count_ * instruction_bytes);
  image_ = {options_.image_base, std::vector<std::byte>(options_.image_bytes)};
  const auto bytes_of = [](std::vector<std::byte>& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); };
  if (!read_memory(program_base_ + std::uint64_t{begin_} * instruction_bytes, bytes_of(code), code.size()) ||
      !read_memory(image_.base, bytes_of(image_.bytes), image_.bytes.size())) {
    refuse(ErrorCode::decode_error, begin_,
           {{"cannot start a launch", name(), "the memory does not support debug reads of the program or the image",
             "give the memory a transport_dbg that covers both"}});
    return false;
  }
  auto decoded = codec_.decode_program(code, name());
  if (!decoded.ok()) {
    const std::span<const std::byte> all(code);
    std::size_t first = 0;
    while (codec_.decode(all.subspan(first * instruction_bytes, instruction_bytes)).ok()) ++first;
    refuse(ErrorCode::illegal, begin_ + first, decoded.errors());
    return false;
  }
  program_ = offset_ == 0 ? *std::move(decoded) : isa::at_offset(options_.config, *decoded, offset_);
  return true;
}

Machine::Launch Accelerator::machine_launch() {
  Machine::Launch launch = execution_.begin(program_, begin_, image_, program_base_, options_.trace);
  launch.on_start = [this, execute = std::move(launch.on_start)](std::size_t instruction) {
    if (!execute(instruction)) return false;
    const auto* store = std::get_if<isa::Store>(&program_[instruction].body);
    if (store != nullptr && store->x_size != 0)
      stored_.begin(*store, static_cast<std::uint64_t>(options_.config.element_bytes(store->memory)));
    return true;
  };
  return launch;
}

void Accelerator::launch() {
  using isa::spec::ErrorCode;
  trace_.reset();
  origin_ = static_cast<std::uint64_t>(sc_core::sc_time_stamp() / options_.clock_period);
  if (!prepare()) return;
  port_.reset();
  machine_.begin(machine_launch());
  const auto wait_until = [&](Cycle cycle) {
    const sc_time when = static_cast<double>(origin_ + cycle) * options_.clock_period;
    if (when > sc_core::sc_time_stamp()) wait(when - sc_core::sc_time_stamp());
  };
  for (Cycle cycle; (cycle = machine_.next()) != kUnknown && execution_.goes_on();) {
    wait_until(cycle);
    machine_.step(cycle);
    if (const auto& failure = port_.failure())
      return refuse(failure->code, begin_ + failure->instruction,
                    {{fmt::format("cannot execute `{}`", isa::format_instruction(program_[failure->instruction])),
                      fmt::format("instruction {}", begin_ + failure->instruction),
                      "the memory responded to one of its bursts with an error",
                      "every address that the program reads or writes must be within memory"}});
  }
  if (machine_.stopped())
    return stop(execution_.beyond_image() ? ErrorCode::decode_error : ErrorCode::illegal, execution_.failed_at());
  trace_ = machine_.result();
  if (!machine_.done()) return;  // hardware would wait forever
  wait_until(trace_->cycles);
  cycles_ = trace_->cycles;
  if (machine_.tokens_left()) return stop(isa::spec::ErrorCode::leftover_tokens, begin_ + count_);
  busy_ = false;
  done_ = true;
  interrupt_status_ |= kDoneBit;
  raise();
}

}  // namespace dovetail::simulator::systemc
