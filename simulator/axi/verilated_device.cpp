#include "simulator/axi/verilated_device.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "isa/spec/registers.h"
#include "isa/spec/timing.h"
#include "simulator/memory/memory.h"
#include "simulator/rtl/library.h"
#include "simulator/rtl/model_api.h"

namespace dovetail::simulator {

namespace {

constexpr std::uint32_t kControl = isa::spec::kRegisters[0].offset;
static_assert(isa::spec::kRegisters[0].name == "CONTROL");

class VerilatedDevice final : public AxiDevice {
 public:
  VerilatedDevice(const isa::HardwareConfig& config, const VerilatedDeviceOptions& options,
                  std::shared_ptr<const RtlLibrary> library)
      : library_(std::move(library)),
        times_(make_memory(options.engine.memory, config.bus_bytes)),
        beat_(static_cast<std::size_t>(config.bus_bytes)),
        name_("the Verilated design of " + config.name),
        base_(std::uint64_t{1} << (config.address_bits - 1)),
        processor_(std::min(options.bytes, base_)),
        dram_(processor_.size()),
        host_{.context = this,
              .accept = [](void* self, std::uint64_t cycle, int direction, std::uint64_t address, std::uint32_t beats,
                           std::uint64_t* answer) -> int {
                const Answer given =
                    of(self).times_->accept(cycle, direction == 0 ? Direction::read : Direction::write, address, beats);
                *answer = given.cycle;
                return given.accepted;
              },
              .read = [](void* self, std::uint64_t address, int,
                         std::uint8_t* beat) { return of(self).read_beat(address, beat); },
              .write = [](void* self, std::uint64_t address, const std::uint8_t* beat,
                          const std::uint8_t* strobes) { return of(self).write_beat(address, beat, strobes); },
              .event = [](void*, int, int, std::uint32_t, std::uint64_t, int) {},
              .port = [](void*, std::uint64_t, std::uint32_t, const std::uint32_t*) {},
              .goes_on = [](void*) { return 1; }},
        model_(library_->api()->create(1, options.engine.assertions)) {
    const dovetail_rtl_launch launch{.program_base = 0,
                                     .offset = 0,
                                     .begin = 0,
                                     .count = 0,
                                     .address_to_data = static_cast<std::uint32_t>(isa::spec::kAddressToData.value),
                                     .slave = nullptr};
    if (model_ != nullptr) library_->api()->attach(model_, &host_, &launch);
    else lost_ = true;
  }
  ~VerilatedDevice() override {
    if (model_ != nullptr) library_->api()->destroy(model_);
  }
  VerilatedDevice(const VerilatedDevice&) = delete;
  VerilatedDevice& operator=(const VerilatedDevice&) = delete;

  std::string name() const override { return name_; }
  std::uint32_t read(std::uint32_t offset) override {
    std::uint32_t value = 0;
    if (lost_) return value;
    lost_ = library_->api()->read_register(model_, offset, &value) < 0;
    return value;
  }
  void write(std::uint32_t offset, std::uint32_t value) override {
    if (lost_) return;
    if (offset == kControl) times_->reset();
    lost_ = library_->api()->write_register(model_, offset, value, 0xf) < 0;
  }
  // Time passes until the interrupt.
  Result<void> wait(std::chrono::milliseconds) override {
    constexpr std::uint64_t kCycles = 1000, kAtMost = 20'000;
    for (std::uint64_t cycles = 0; !lost_ && cycles < kAtMost; cycles += kCycles) {
      if (library_->api()->interrupt(model_) != 0) return {};
      const int running = library_->api()->advance(model_, kCycles);
      lost_ = running < 0;
      if (running == 0) return {};
    }
    if (!lost_) return {};
    return Diagnostic{"lost the device", name_, "an assertion of the design failed; see its message above",
                      "report the program: this is a bug in hw/rtl", Cause::work};
  }

  std::uint64_t base() const override { return base_; }
  std::span<std::byte> memory() override { return processor_; }
  Result<void> clean(std::uint64_t offset, std::uint64_t bytes) override {
    std::memcpy(dram_.data() + offset, processor_.data() + offset, bytes);
    return {};
  }
  Result<void> invalidate(std::uint64_t offset, std::uint64_t bytes) override {
    std::memcpy(processor_.data() + offset, dram_.data() + offset, bytes);
    return {};
  }

 private:
  static constexpr int kOkay = 0, kDecodeError = 3;
  static VerilatedDevice& of(void* self) { return *static_cast<VerilatedDevice*>(self); }

  int read_beat(std::uint64_t address, std::uint8_t* beat) const {
    const std::uint64_t at = address - base_;
    if (at >= dram_.size() || beat_ > dram_.size() - at) return kDecodeError;
    std::memcpy(beat, dram_.data() + at, beat_);
    return kOkay;
  }
  int write_beat(std::uint64_t address, const std::uint8_t* beat, const std::uint8_t* strobes) {
    const std::uint64_t at = address - base_;
    if (at >= dram_.size() || beat_ > dram_.size() - at) return kDecodeError;
    for (std::size_t i = 0; i < beat_; ++i)
      if ((strobes[i / 8] >> (i % 8) & 1) != 0) dram_[at + i] = std::byte{beat[i]};
    return kOkay;
  }

  std::shared_ptr<const RtlLibrary> library_;
  std::unique_ptr<Memory> times_;
  std::size_t beat_;
  std::string name_;
  std::uint64_t base_;
  std::vector<std::byte> processor_, dram_;  // the memory as each of them sees it
  dovetail_rtl_host host_;
  void* model_;
  bool lost_ = false;
};

}  // namespace

Result<std::unique_ptr<AxiDevice>> make_verilated_device(const isa::HardwareConfig& config,
                                                         const VerilatedDeviceOptions& options) {
  DOVETAIL_ASSIGN(auto library,
                  options.model ? RtlLibrary::open(*options.model) : RtlLibrary::open_of(config, options.engine));
  return std::unique_ptr<AxiDevice>(std::make_unique<VerilatedDevice>(config, options, std::move(library)));
}

}  // namespace dovetail::simulator
