// A simulated machine as a driver sees it: for drivers, and for programs of `dovetail export` without a board.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "capi/arguments.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "driver/system.h"
#include "isa/system.h"
#include "runtime/executor.h"
#include "simulator/driven_machine.h"

struct dvt_machine {
  std::mutex mutex;  // of the registers
  std::unique_ptr<dovetail::simulator::DrivenMachine> machine;
};

namespace dovetail::capi {

namespace {

Result<std::unique_ptr<dvt_machine>> make_machine(std::string_view hardware, const dvt_session_options* options,
                                                  std::uint64_t base, std::uint64_t bytes) {
  DOVETAIL_ASSIGN(const SessionSettings settings, settings_of(options, "dvt_machine_create: options"));
  if (settings.engine == "systemc" || settings.engine == "axi")
    return bad_argument("dvt_machine_create: options, engine",
                        fmt::format("engine {} has registers itself", settings.engine),
                        "use engine functional, cycle or rtl");
  DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_machine(hardware));
  DOVETAIL_ASSIGN(const driver::System system,
                  driver::resolve_system(machine.system, machine.hardware.name, settings.system));
  DOVETAIL_ASSIGN(const runtime::MakeSimulator make,
                  runtime::simulator_factory(settings.engine, {.memory = system.memory}));
  std::vector<isa::HardwareConfig> accelerators;
  const isa::AcceleratorConfigs configs = machine.configs();
  for (std::int64_t i = 0; i < system.accelerators; ++i) accelerators.push_back(configs[static_cast<std::size_t>(i)]);
  auto made = std::make_unique<dvt_machine>();
  DOVETAIL_ASSIGN(made->machine,
                  simulator::DrivenMachine::make(accelerators, base, bytes,
                                                 [&](const isa::HardwareConfig& config) { return make({config}); }));
  return made;
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_machine_create(const char* hardware, const dvt_session_options* options, uint64_t base, uint64_t bytes,
                               dvt_machine** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_machine_create: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(hardware, "dvt_machine_create: hardware"));
    DOVETAIL_ASSIGN(auto machine, make_machine(hardware, options, base, bytes));
    *out = machine.release();
    return {};
  });
}

void dvt_machine_free(dvt_machine* machine) { delete machine; }

uint32_t dvt_machine_accelerators(const dvt_machine* machine) {
  return machine == nullptr ? 0 : static_cast<uint32_t>(machine->machine->accelerators());
}

void* dvt_machine_memory(dvt_machine* machine) {
  return machine == nullptr ? nullptr : machine->machine->memory().data();
}

dvt_status* dvt_machine_read(dvt_machine* machine, uint32_t accelerator, uint32_t offset, uint32_t* value) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(machine, "dvt_machine_read: machine"));
    DOVETAIL_TRY(require(value, "dvt_machine_read: value"));
    const std::scoped_lock lock(machine->mutex);
    DOVETAIL_ASSIGN(*value, machine->machine->read(accelerator, offset));
    return {};
  });
}

dvt_status* dvt_machine_write(dvt_machine* machine, uint32_t accelerator, uint32_t offset, uint32_t value) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(machine, "dvt_machine_write: machine"));
    const std::scoped_lock lock(machine->mutex);
    return machine->machine->write(accelerator, offset, value);
  });
}

}  // extern "C"
