#include "simulator/systemc/accelerator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "isa/offset.h"
#include "isa/text.h"
#include "simulator/engine_options.h"

namespace dovetail::simulator::systemc {

namespace {

using sc_core::sc_time;

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
      machine_(options.config, port_),
      registers_(options.config) {
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

void Accelerator::write_register(std::uint32_t offset, std::uint32_t value) {
  if (registers_.write(offset, value)) {
    refused_.clear();
    start_.notify(sc_core::SC_ZERO_TIME);
  }
  raise();
}

void Accelerator::access_register(tlm::tlm_generic_payload& transaction, sc_time&) {
  const std::uint64_t offset = transaction.get_address();
  const bool known = registers_.has(offset);
  if (!known || transaction.get_data_length() != 4 || transaction.get_byte_enable_ptr() != nullptr) {
    transaction.set_response_status(known ? tlm::TLM_BURST_ERROR_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  std::uint32_t value = 0;
  if (transaction.is_read()) {
    value = registers_.read(static_cast<std::uint32_t>(offset), cycles_now());
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

void Accelerator::stop(const LaunchError& error) {
  registers_.stop(error, cycles_now());
  raise();
}

void Accelerator::refuse(isa::spec::ErrorCode code, std::size_t instruction, Diagnostics why) {
  refused_ = std::move(why);
  stop({code, instruction});
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
  const std::uint64_t program_base = registers_.program_base();
  const std::uint32_t begin = registers_.begin(), count = registers_.count();
  if (!fits_address_space(options_.config, program_base, begin, count)) {
    refuse(ErrorCode::address_space, begin, {outside_address_space(options_.config, program_base, begin, count)});
    return false;
  }
  const auto instruction_bytes = static_cast<std::size_t>(options_.config.instruction_bytes());
  std::vector<std::byte> code(count * instruction_bytes);
  image_ = {options_.image_base, std::vector<std::byte>(options_.image_bytes)};
  const auto bytes_of = [](std::vector<std::byte>& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); };
  if (!read_memory(program_base + std::uint64_t{begin} * instruction_bytes, bytes_of(code), code.size()) ||
      !read_memory(image_.base, bytes_of(image_.bytes), image_.bytes.size())) {
    refuse(ErrorCode::decode_error, begin,
           {{"cannot start a launch", name(), "the memory does not support debug reads of the program or the image",
             "give the memory a transport_dbg that covers both"}});
    return false;
  }
  auto decoded = codec_.decode_program(code, name());
  if (!decoded.ok()) {
    const std::span<const std::byte> all(code);
    std::size_t first = 0;
    while (codec_.decode(all.subspan(first * instruction_bytes, instruction_bytes)).ok()) ++first;
    refuse(ErrorCode::illegal, begin + first, decoded.errors());
    return false;
  }
  const std::uint64_t offset = registers_.offset();
  program_ = offset == 0 ? *std::move(decoded) : isa::at_offset(options_.config, *decoded, offset);
  return true;
}

Machine::Launch Accelerator::machine_launch() {
  Machine::Launch launch =
      execution_.begin(program_, registers_.begin(), image_, registers_.program_base(), options_.trace);
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
      return refuse(failure->code, registers_.begin() + failure->instruction,
                    {{fmt::format("cannot execute `{}`", isa::format_instruction(program_[failure->instruction])),
                      fmt::format("instruction {}", registers_.begin() + failure->instruction),
                      "the memory responded to one of its bursts with an error",
                      "every address that the program reads or writes must be within memory"}});
  }
  if (machine_.stopped()) return stop(*execution_.error(machine_));
  trace_ = machine_.result();
  if (!machine_.done()) return;  // hardware would wait forever
  wait_until(trace_->cycles);
  if (machine_.tokens_left()) return stop(*execution_.error(machine_));
  registers_.complete(trace_->cycles);
  raise();
}

}  // namespace dovetail::simulator::systemc
