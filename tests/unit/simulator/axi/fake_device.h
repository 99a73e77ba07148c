// A device in software: the registers of a DrivenMachine, and a memory of which processor and accelerator see different
// bytes until the caches are maintained.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isa/spec/registers.h"
#include "simulator/axi/device.h"
#include "simulator/driven_machine.h"

namespace dovetail::simulator::testing {

inline std::uint32_t register_at(std::string_view name) {
  return std::ranges::find(isa::spec::kRegisters, name, &isa::spec::Register::name)->offset;
}

class FakeDevice : public AxiDevice {
 public:
  // What a test watches; it outlives the device.
  struct Watch {
    int launches = 0, waits = 0;
    std::uint64_t cleaned = 0;  // bytes
    bool hangs = false;         // launches never end
    std::function<void()> on_wait = nullptr;
    std::uint32_t error = 0;  // not 0: launches end with this error code
  };

  FakeDevice(std::unique_ptr<DrivenMachine> machine, std::uint64_t base, Watch* watch)
      : machine_(std::move(machine)), base_(base), processor_(machine_->memory().size()), watch_(watch) {}

  std::string name() const override { return "the fake"; }
  std::uint32_t read(std::uint32_t offset) override {
    const std::uint32_t value = machine_->read(0, offset).value();
    if (offset != register_at("STATUS") || watch_ == nullptr || watch_->launches == 0) return value;
    if (watch_->hangs) return 1;
    if (watch_->error != 0) return 4 | watch_->error << 4;
    return value;
  }
  void write(std::uint32_t offset, std::uint32_t value) override {
    if (offset == register_at("CONTROL") && watch_ != nullptr) ++watch_->launches;
    [[maybe_unused]] const bool fine = machine_->write(0, offset, value).ok();
  }
  Result<void> wait(std::chrono::milliseconds) override {
    if (watch_ != nullptr) ++watch_->waits;
    if (watch_ != nullptr && watch_->on_wait) watch_->on_wait();
    return {};
  }
  std::uint64_t base() const override { return base_; }
  std::span<std::byte> memory() override { return processor_; }
  Result<void> clean(std::uint64_t offset, std::uint64_t bytes) override {
    if (watch_ != nullptr) watch_->cleaned += bytes;
    std::copy_n(processor_.begin() + static_cast<std::ptrdiff_t>(offset), bytes,
                machine_->memory().begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  Result<void> invalidate(std::uint64_t offset, std::uint64_t bytes) override {
    std::copy_n(machine_->memory().begin() + static_cast<std::ptrdiff_t>(offset), bytes,
                processor_.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }

 private:
  std::unique_ptr<DrivenMachine> machine_;
  std::uint64_t base_;
  std::vector<std::byte> processor_;
  Watch* watch_;
};

}  // namespace dovetail::simulator::testing
