#include "simulator/cycle/execution.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "isa/semantics/load.h"
#include "isa/spec/memories.h"
#include "isa/text.h"
#include "simulator/cycle/count.h"
#include "simulator/image_range.h"
#include "simulator/token_errors.h"

namespace dovetail::simulator {

Execution::Execution(const isa::HardwareConfig& config, Values values, Work* work)
    : config_(config), rules_(config), uops_(config), meter_(work) {
  if (values == Values::computed) core_.emplace(config, FunctionalOptions{.work = work});
}

void Execution::reset() {
  if (core_) core_->reset();
  uops_.reset();
}

Machine::Launch Execution::begin(std::span<const isa::Instruction> program, std::size_t first_index, Dram& dram,
                                 std::uint64_t program_base, bool trace) {
  program_ = program;
  first_index_ = first_index;
  dram_ = &dram;
  counters_ = values_ = {};
  errors_.clear();
  beyond_image_ = false;
  started_ = 0;
  return {.program = program,
          .first_index = first_index,
          .program_address = program_base + first_index * static_cast<std::uint64_t>(config_.instruction_bytes()),
          .uops = uops_.uops(),
          .on_start =
              [this](std::size_t instruction) {
                if (execute(instruction)) [[likely]]
                  return true;
                failed_at_ = first_index_ + instruction;
                return false;
              },
          .trace = trace};
}

bool Execution::refuse(std::size_t instruction, const Fault& fault) {
  if (meter_.stopped()) {
    errors_ = {meter_.work()->stopped_at(fmt::format("instruction {}", first_index_ + instruction))};
    return false;
  }
  errors_ = {{.what = fmt::format("cannot execute `{}`", isa::format_instruction(program_[instruction])),
              .where = fmt::format("instruction {}", first_index_ + instruction),
              .why = fault.why,
              .hint = fault.hint}};
  beyond_image_ = fault.outside_image;
  return false;
}

bool Execution::execute(std::size_t index) {
  const isa::Instruction& instruction = program_[index];
  ++started_;
  if (!rules_.is_legal(instruction)) [[unlikely]] {
    errors_ = rules_.check(instruction);
    for (Diagnostic& error : errors_) error.where = fmt::format("instruction {}", first_index_ + index);
    return false;
  }
  count(config_, instruction, routes_.of(instruction), uops_.uops(), counters_);
  if (const auto* load = std::get_if<isa::Load>(&instruction.body); load != nullptr && load->x_size != 0)
    counters_.sram_of(isa::spec::info(load->memory).buffer).writes += isa::semantics::loaded_elements(*load);
  if (core_) {
    if (!core_->execute(instruction, *dram_, values_)) return refuse(index, core_->fault());
  } else {
    const auto check = [&](const isa::Transfer& transfer, const char* action) {
      if (transfer.x_size == 0 || transfer.y_size == 0) return true;
      const auto size = static_cast<std::uint64_t>(config_.element_bytes(transfer.memory));
      const ByteRange range = bytes_moved(transfer, size);
      return covers(*dram_, range) || refuse(index, outside_image(*dram_, range, size, action));
    };
    if (const auto* load = std::get_if<isa::Load>(&instruction.body); load != nullptr && !check(*load, "read"))
      return false;
    if (const auto* store = std::get_if<isa::Store>(&instruction.body); store != nullptr && !check(*store, "written"))
      return false;
  }
  if (const auto* load = std::get_if<isa::Load>(&instruction.body); load != nullptr && load->memory == isa::Memory::uop)
    DOVETAIL_CHECK(uops_.load(*load, *dram_), "the micro-ops must be inside the image, as checked before");
  return true;
}

Result<Counters> Execution::outcome(const Machine& machine) const {
  if (machine.stopped()) return errors_;
  if (meter_.stopped()) return meter_.work()->stopped_at(fmt::format("after {} instructions", started_));
  if (!machine.done() || machine.tokens_left()) {
    Diagnostics errors = token_errors(config_, program_, first_index_);
    DOVETAIL_CHECK(!errors.empty(), "the launch stops although its tokens let it continue");
    return errors;
  }
  Counters counters = counters_;
  machine.count(counters);
  complete(counters, config_);
  return counters;
}

std::optional<LaunchError> Execution::error(const Machine& machine) const {
  using isa::spec::ErrorCode;
  if (machine.stopped()) return LaunchError{beyond_image_ ? ErrorCode::decode_error : ErrorCode::illegal, failed_at_};
  if (!machine.done() || !machine.tokens_left()) return std::nullopt;
  LaunchError error{ErrorCode::leftover_tokens, first_index_ + program_.size()};
  for (const isa::TokenFifo fifo : isa::kAllFifos) error.tokens[isa::index(fifo)] = machine.tokens_left(fifo);
  return error;
}

Result<std::uint64_t> program_base_of(const isa::HardwareConfig& config, const EngineOptions& options, const Dram& dram,
                                      std::size_t instructions) {
  const auto instruction_bytes = static_cast<std::uint64_t>(config.instruction_bytes());
  if (!options.program_base)
    return program_place(config, dram.base, dram.bytes.size(), instructions * instruction_bytes);
  const std::uint64_t base = *options.program_base;
  if (!fits_address_space(config, base, 0, instructions)) return outside_address_space(config, base, 0, instructions);
  if (base % instruction_bytes == 0) return base;
  return Diagnostic{"cannot place the program in memory", fmt::format("program base {:#x}", base),
                    fmt::format("the address is not a multiple of {}, the bytes of an instruction", instruction_bytes),
                    "choose another --program-base, or leave it to the engine"};
}

Result<std::uint64_t> program_base_of(const isa::HardwareConfig& config, const EngineOptions& options, const Dram& dram,
                                      std::span<const isa::Launch> launches) {
  std::size_t end = 0;
  for (const isa::Launch& launch : launches) {
    end = std::max(end, launch.begin + launch.count);
    if (launch.accelerator >= static_cast<std::size_t>(options.accelerators))
      return Diagnostic{"cannot run a launch", fmt::format("launch {}:{}", launch.begin, launch.count),
                        fmt::format("it runs on accelerator {}, and the system has {}, numbered from 0",
                                    launch.accelerator, options.accelerators),
                        "use as many accelerators as the program was compiled for, or one (--accelerators 1), which "
                        "runs all launches"};
  }
  return program_base_of(config, options, dram, end);
}

}  // namespace dovetail::simulator
