#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/machine_code_permission.h"
#include "base/shared_library.h"
#include "isa/spec/timing.h"
#include "simulator/rtl/model_file.h"
#include "simulator/soc/memory_map.h"
#include "simulator/soc/model_api.h"
#include "simulator/soc/serial_input.h"
#include "simulator/soc/system.h"

namespace dovetail::simulator::soc {

namespace {

constexpr int kSlaveError = 2;

// The accelerator's memory at the port of the design.
class VerilatedSystem {
 public:
  VerilatedSystem(const SystemOptions& options, const dovetail_soc_api& api)
      : options_(options),
        api_(api),
        times_(make_memory(options.memory, options.config.bus_bytes)),
        beat_(static_cast<std::uint64_t>(options.config.bus_bytes)),
        bytes_(options.memory_bytes + beat_),
        input_(options.serial_input) {}

  Result<SystemRun> run(std::span<const std::byte> firmware) {
    const Model model(api_, api_.create(1, options_.assertions ? 1 : 0));
    if (!model) return failed_assertion("the assertion failed during reset");
    if (options_.waves && api_.open_waves(model.get(), options_.waves->c_str()) == 0)
      return Diagnostic{"cannot write waveforms", options_.waves->string(), "the file cannot be opened",
                        "choose a folder that can be written"};
    const std::uint64_t ram =
        api_.load(model.get(), reinterpret_cast<const std::uint8_t*>(firmware.data()), firmware.size());
    DOVETAIL_CHECK(ram == kRamBytes && firmware.size() <= ram, fmt::format("RAM has {} bytes", ram));
    const dovetail_soc_host host = functions();
    const dovetail_soc_run what{.bit_cycles = kUartDivider + 1,
                                .end_of_run = kEndOfRun,
                                .ask_for_input = kAskForInput,
                                .limit = options_.limit_cycles,
                                .address_to_data = static_cast<std::uint32_t>(isa::spec::kAddressToData.value),
                                .memory_bytes = static_cast<std::uint32_t>(options_.memory_bytes)};
    dovetail_soc_result result;
    api_.run(model.get(), &host, &what, &result);
    if (result.outcome == DOVETAIL_SOC_ASSERTION) return failed_assertion(result.assertion);
    return SystemRun{.end = end_of(result.outcome),
                     .cycles = result.cycles,
                     .waiting = result.waiting,
                     .serial = std::move(serial_)};
  }

 private:
  struct Destroy {
    const dovetail_soc_api* api;
    void operator()(void* model) const { api->destroy(model); }
  };
  class Model : public std::unique_ptr<void, Destroy> {
   public:
    Model(const dovetail_soc_api& api, void* model) : unique_ptr(model, Destroy{&api}) {}
  };

  static VerilatedSystem& of(void* self) { return *static_cast<VerilatedSystem*>(self); }
  static SystemRun::End end_of(int outcome) {
    switch (outcome) {
      case DOVETAIL_SOC_LIMIT: return SystemRun::End::limit;
      case DOVETAIL_SOC_TRAP: return SystemRun::End::trap;
      case DOVETAIL_SOC_STOPPED: return SystemRun::End::stopped;
      default: return SystemRun::End::ended;
    }
  }
  Diagnostic failed_assertion(std::string why) const {
    return {"the design violated one of its assertions", options_.config.name, std::move(why),
            "report the run: this is a bug in hw/rtl or hw/soc", Cause::work};
  }

  dovetail_soc_host functions() {
    return {.memory = {.context = this,
                       .accept = [](void* self, std::uint64_t cycle, int direction, std::uint64_t address,
                                    std::uint32_t beats, std::uint64_t* answer) -> int {
                         return of(self).accept(cycle, direction, address, beats, *answer);
                       },
                       .read = [](void* self, std::uint64_t address, int,
                                  std::uint8_t* beat) { return of(self).read(address, beat); },
                       .write = [](void* self, std::uint64_t address, const std::uint8_t* beat,
                                   const std::uint8_t* strobes) { return of(self).write(address, beat, strobes); },
                       .event = [](void*, int, int, std::uint32_t, std::uint64_t, int) {},
                       .port = [](void*, std::uint64_t, std::uint32_t, const std::uint32_t*) {},
                       .goes_on = [](void* self) -> int { return of(self).goes_on(); }},
            .launch =
                [](void* self) {
                  of(self).times_->reset();
                  of(self).launched_ = true;
                },
            .serial = [](void* self, int byte) { of(self).serial_ += static_cast<char>(byte); },
            .input = [](void* self) -> int { return of(self).input_.next(); }};
  }

  int accept(std::uint64_t cycle, int direction, std::uint64_t address, std::uint32_t beats, std::uint64_t& answer) {
    const Answer given = times_->accept(cycle, direction == 0 ? Direction::read : Direction::write, address, beats);
    answer = given.cycle;
    return given.accepted ? 1 : 0;
  }
  bool has(std::uint64_t address) const {
    if (launched_ && options_.broken && *options_.broken - address < beat_) return false;
    return address < options_.memory_bytes && beat_ <= options_.memory_bytes - address;
  }
  int read(std::uint64_t address, std::uint8_t* beat) const {
    std::memset(beat, 0, beat_);
    if (!has(address)) return kSlaveError;
    std::memcpy(beat, bytes_.data() + address, beat_);
    return 0;
  }
  int write(std::uint64_t address, const std::uint8_t* beat, const std::uint8_t* strobes) {
    if (!has(address)) return kSlaveError;
    for (std::size_t i = 0; i < beat_; ++i)
      if ((strobes[i / 8] >> (i % 8) & 1) != 0) bytes_[address + i] = beat[i];
    return 0;
  }
  int goes_on() {
    if (options_.work == nullptr) return 1;
    options_.work->count(DOVETAIL_RTL_POLL_CYCLES);
    return options_.work->stopped() ? 0 : 1;
  }

  const SystemOptions& options_;
  const dovetail_soc_api& api_;
  std::unique_ptr<Memory> times_;
  std::uint64_t beat_;
  std::vector<std::uint8_t> bytes_;
  bool launched_ = false;
  std::string serial_;
  SerialInput input_;
};

}  // namespace

Result<SystemRun> run_verilated(std::span<const std::byte> firmware, const std::filesystem::path& model,
                                const SystemOptions& options) {
  DOVETAIL_TRY(check_machine_code("cannot run the design", "a Verilated system on chip"));
  const auto bad = [&](std::string why, Cause cause = Cause::input) {
    return Diagnostic{"cannot load the model of the system", model.string(), std::move(why),
                      "build it again: `dovetail soc build --hw CONFIG`", cause};
  };
  // The loader would read beyond the end of a truncated file.
  if (auto damage = rtl_model_damage(model)) return bad(*std::move(damage));
  auto object = SharedLibrary::open(model);
  if (!object.ok()) return bad(object.errors().front().why, cause_of(object.errors()));
  const auto entry = reinterpret_cast<dovetail_soc_entry>(object->find(DOVETAIL_SOC_ENTRY));
  if (entry == nullptr) return bad("the file is not a system on chip");
  const dovetail_soc_api* const api = entry();
  if (api->version != DOVETAIL_SOC_API_VERSION)
    return bad(
        fmt::format("the model's interface has version {}, but this kit's {}", api->version, DOVETAIL_SOC_API_VERSION));
  return VerilatedSystem(options, *api).run(firmware);
}

}  // namespace dovetail::simulator::soc
