// Instruction streams, run on a simulator.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/little_endian.h"
#include "bundle/code/accel.h"
#include "runtime/device/all.h"
#include "simulator/run_launches.h"
#include "simulator/work_estimate.h"

namespace dovetail::runtime {

namespace {

// Steps that share it see the same DRAM.
class AccelMemory : public DeviceMemory {
 public:
  // A few leading bytes align the first byte of the space: other steps access tensors in place.
  explicit AccelMemory(const bundle::MemorySpace& space)
      : dram{space.base, std::vector<std::byte>(space.bytes + bundle::kTensorAlignment)},
        base_(space.base),
        image_(space.bytes) {
    const std::uint64_t over = reinterpret_cast<std::uintptr_t>(dram.bytes.data()) % bundle::kTensorAlignment;
    const std::uint64_t lead = over == 0 || base_ < bundle::kTensorAlignment ? 0 : bundle::kTensorAlignment - over;
    dram.base -= lead;
    dram.bytes.resize(lead + space.bytes);  // smaller, so it is not reallocated
  }

  // A part that keeps its contents when a run begins.
  void keep(std::uint64_t offset, std::uint64_t bytes) { kept_[offset] = bytes; }
  void add(const bundle::Segment& segment) {
    std::ranges::copy(segment.bytes.bytes(), image_.begin() + static_cast<std::ptrdiff_t>(segment.address - base_));
  }
  std::byte* at(std::uint64_t address) { return dram.bytes.data() + (address - dram.base); }
  std::byte* of(const Operand& operand) {
    return operand.memory == this ? at(base_ + operand.offset) : operand.bytes.data();
  }

  std::span<std::byte> bytes() override {
    const bool aligned = reinterpret_cast<std::uintptr_t>(at(base_)) % bundle::kTensorAlignment == 0;
    return aligned ? std::span(at(base_), image_.size()) : std::span<std::byte>();
  }
  Result<void> begin() override {
    std::uint64_t from = 0;
    const auto reset_to = [&](std::uint64_t end) {
      std::copy_n(image_.begin() + static_cast<std::ptrdiff_t>(from), end - from, at(base_ + from));
    };
    for (const auto& [offset, bytes] : kept_) {
      reset_to(offset);
      from = offset + bytes;
    }
    reset_to(image_.size());
    return {};
  }
  Result<void> copy_in(std::uint64_t offset, std::span<const std::byte> bytes) override {
    std::ranges::copy(bytes, at(base_ + offset));
    return {};
  }
  Result<void> copy_out(std::uint64_t offset, std::span<std::byte> bytes) override {
    std::copy_n(at(base_ + offset), bytes.size(), bytes.begin());
    return {};
  }

  simulator::Dram dram;

 private:
  std::uint64_t base_;
  std::vector<std::byte> image_;                 // the initial contents in every run
  std::map<std::uint64_t, std::uint64_t> kept_;  // the bytes at an offset, which a run leaves to the next
};

class AccelKernel : public DeviceKernel {
 public:
  AccelKernel(const bundle::Bundle& bundle, bundle::CodedStep<bundle::AccelCode> step,
              std::shared_ptr<AccelMemory> memory, std::unique_ptr<simulator::Simulator> simulator)
      : bundle_(bundle), step_(std::move(step)), memory_(std::move(memory)), simulator_(std::move(simulator)) {}

  Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) override {
    const bundle::AccelCode& code = step_.code;
    const auto size = [&](bundle::TensorIndex tensor) {
      return bundle::size_bytes(bundle_.tensors[static_cast<std::size_t>(tensor)]);
    };
    for (std::size_t i = 0; i < code.argument_addresses.size(); ++i)
      if (std::byte* from = memory_->of(arguments[i]), *to = memory_->at(code.argument_addresses[i]); from != to)
        std::copy_n(from, size(step_.step->arguments[i]), to);
    simulator_->reset();
    if (code.offset) DOVETAIL_TRY(set_offset(arguments.back().bytes));
    counters_ = {};
    by_accelerator_.assign(code.others.empty() ? 0 : code.others.size() + 1, {});
    timing_.clear();
    DOVETAIL_TRY(simulator::run_launches(
        *simulator_, code.program, code.launches, memory_->dram, [&](const simulator::Ended& ended) {
          counters_ += ended.sum();
          for (std::size_t i = 0; i < ended.launches.size() && !by_accelerator_.empty(); ++i)
            by_accelerator_[ended.launches[i].accelerator] += ended.counters[i];
          if (ended.timing != nullptr) timing_.push_back({ended.last, *ended.timing});
        }));
    for (std::size_t i = 0; i < results.size(); ++i)
      if (std::byte* from = memory_->at(code.result_addresses[i]), *to = memory_->of(results[i]); from != to)
        std::copy_n(from, size(step_.step->results[i]), to);
    return {};
  }

  WorkEstimate estimate_work() const override {
    WorkEstimate sum;
    for (const isa::Launch& launch : step_.code.launches)
      sum += simulator::estimate_work(simulator_->name(), step_.code.configs()[launch.accelerator],
                                      std::span(step_.code.program).subspan(launch.begin, launch.count));
    return sum;
  }
  const simulator::Counters* counters() const override { return &counters_; }
  std::vector<TimedLaunch> timing() const override { return timing_; }
  std::vector<simulator::Counters> by_accelerator() const override { return by_accelerator_; }

 private:
  Result<void> set_offset(std::span<const std::byte> number) {
    const auto position = static_cast<std::int64_t>(load_little_endian<std::uint64_t>(number, 0));
    const auto [bytes, most] = *step_.code.offset;
    if (position < 0 || position > most) {
      const bundle::Tensor& tensor = bundle_.tensors[static_cast<std::size_t>(step_.step->arguments.back())];
      return Diagnostic{"cannot run", fmt::format("input {}", tensor.name),
                        fmt::format("the position is {}, and the tensors that are written have positions from 0 to {}",
                                    position, most),
                        "give a position inside them, or compile the model for longer ones"};
    }
    simulator_->set_offset(static_cast<std::uint64_t>(position) * bytes);
    return {};
  }

  const bundle::Bundle& bundle_;
  bundle::CodedStep<bundle::AccelCode> step_;
  std::shared_ptr<AccelMemory> memory_;
  std::unique_ptr<simulator::Simulator> simulator_;
  simulator::Counters counters_;
  std::vector<simulator::Counters> by_accelerator_;
  std::vector<TimedLaunch> timing_;
};

class AccelDevice : public Device {
 public:
  explicit AccelDevice(MakeSimulator make_simulator) : make_simulator_(std::move(make_simulator)) {}

  std::string_view name() const override { return bundle::kAccelTarget; }
  bool runs_machine_code() const override { return false; }

  Result<void> check(const bundle::Bundle& bundle) override {
    DOVETAIL_TRY(bundle::accel_steps(bundle));
    return {};
  }

  Result<DeviceProgram> load(const bundle::Bundle& bundle) override {
    DOVETAIL_ASSIGN(auto steps, bundle::accel_steps(bundle));
    DeviceProgram program;
    std::map<bundle::SpaceIndex, std::shared_ptr<AccelMemory>> memories;
    for (auto& step : steps) {
      std::shared_ptr<AccelMemory>& memory = memories[step.code.space];
      if (!memory) memory = std::make_shared<AccelMemory>(bundle.spaces[static_cast<std::size_t>(step.code.space)]);
      for (const bundle::Segment& segment : step.code.segments) memory->add(segment);
      DOVETAIL_ASSIGN(auto simulator, make_simulator_(step.code.configs()));
      program.kernels.push_back(std::make_unique<AccelKernel>(bundle, std::move(step), memory, std::move(simulator)));
    }
    for (const bundle::Resident& row : bundle.residents)
      if (const bundle::Tensor& tensor = bundle.tensors[static_cast<std::size_t>(row.after)];
          memories.contains(tensor.space))
        memories[tensor.space]->keep(*tensor.offset, bundle::size_bytes(tensor));
    program.memories.insert(memories.begin(), memories.end());
    return program;
  }

 private:
  MakeSimulator make_simulator_;
};

}  // namespace

std::shared_ptr<Device> make_accel_device(MakeSimulator make_simulator) {
  return std::make_shared<AccelDevice>(std::move(make_simulator));
}

}  // namespace dovetail::runtime
