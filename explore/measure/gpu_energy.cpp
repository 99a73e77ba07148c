#include "explore/measure/gpu_energy.h"

#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/shared_library.h"
#include "base/user_folder.h"

namespace dovetail::explore {

namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";

Diagnostic no_energy(std::string why, std::string hint) {
  return {"cannot measure the GPU's energy", "NVML", std::move(why), std::move(hint)};
}

}  // namespace

struct GpuEnergy::State {
  // Signatures of nvml.h. https://docs.nvidia.com/deploy/nvml-api
  using Status = int;  // nvmlReturn_t, 0: success
  using Device = void*;
  struct Nvml {
    Status (*init)();
    Status (*shutdown)();
    const char* (*error)(Status);
    Status (*device)(const char* pci_bus, Device*);
    Status (*energy)(Device, unsigned long long* millijoules);
  };

  explicit State(SharedLibrary opened) : library(std::move(opened)) {}
  ~State() {
    if (begun) nvml.shutdown();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<void> check(Status status, std::string_view action) const {
    if (status == 0) return {};
    return no_energy(fmt::format("{}: {} ({})", action, nvml.error(status), status),
                     "`nvidia-smi -q -d POWER` shows what the device counts");
  }
  Result<unsigned long long> millijoules() const {
    unsigned long long now = 0;
    DOVETAIL_TRY(check(nvml.energy(device, &now), "reading the counter"));
    return now;
  }

  SharedLibrary library;
  Nvml nvml{};
  bool begun = false;
  Device device = nullptr;
  unsigned long long first = 0;  // millijoules
};

GpuEnergy::GpuEnergy(std::unique_ptr<State> state) : state_(std::move(state)) {}
GpuEnergy::GpuEnergy(GpuEnergy&&) noexcept = default;
GpuEnergy::~GpuEnergy() = default;

Result<GpuEnergy> GpuEnergy::open(const std::string& pci_bus) {
  const std::string path = environment("DOVETAIL_NVML").value_or(kLibrary);
  auto library = SharedLibrary::open(path);
  if (!library.ok()) return no_energy(library.errors().front().why, "NVIDIA's driver contains it");
  auto state = std::make_unique<State>(*std::move(library));
  std::string missing;
  const auto bind = [&](auto& pointer, const char* symbol) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(state->library.find(symbol));
    if (pointer == nullptr && missing.empty()) missing = symbol;
  };
  bind(state->nvml.init, "nvmlInit_v2");
  bind(state->nvml.shutdown, "nvmlShutdown");
  bind(state->nvml.error, "nvmlErrorString");
  bind(state->nvml.device, "nvmlDeviceGetHandleByPciBusId_v2");
  bind(state->nvml.energy, "nvmlDeviceGetTotalEnergyConsumption");
  if (!missing.empty()) return no_energy(fmt::format("{} has no function {}", path, missing), "update the driver");
  DOVETAIL_TRY(state->check(state->nvml.init(), "starting it"));
  state->begun = true;
  DOVETAIL_TRY(state->check(state->nvml.device(pci_bus.c_str(), &state->device), "looking for device " + pci_bus));
  DOVETAIL_ASSIGN(state->first, state->millijoules());
  return GpuEnergy(std::move(state));
}

Result<double> GpuEnergy::joules() {
  DOVETAIL_ASSIGN(const unsigned long long now, state_->millijoules());
  return static_cast<double>(now - state_->first) * 1e-3;
}

}  // namespace dovetail::explore
