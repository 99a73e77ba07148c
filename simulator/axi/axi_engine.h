// The engine that runs launches on an accelerator of a board, by the driver that the kit gives to firmware
// (examples/driver/dovetail_driver.h). A launch has the cycles that the device counts. What the device cannot check, it
// never sees: each launch is first simulated without values (make_cycle_timing), so that one which would hang, or reach
// memory outside its image, is refused. The counters come from there too.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "isa/config.h"
#include "simulator/axi/device.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

// The environment variable that names the device: a place as parse_board_place() reads it; "rtl", the Verilated design;
// open files that this process inherited; "none". Unset: the only one of this machine.
inline constexpr const char* kAxiVariable = "DOVETAIL_AXI";
inline constexpr std::string_view kVerilatedPlace = "rtl", kNoPlace = "none";

// What the variable says. Errors: it names no place; unset, there is no device, or there are several.
Result<void> axi_place();

// A device, and the blocks of its memory that simulators have.
class SharedAxiDevice;
// Error: the device is not an accelerator of the configuration. It runs a small program, since the register CONFIG has
// no sizes of buffers: their first and last elements take part in a product, which must be right.
Result<std::shared_ptr<SharedAxiDevice>> share_axi_device(std::unique_ptr<AxiDevice> device,
                                                          const isa::HardwareConfig& config);
// A simulator on the device. Several take turns. Its reset() has no effect: SRAM keeps its contents, as a device cannot
// be reset by a driver.
std::unique_ptr<Simulator> make_axi(const isa::HardwareConfig& config, std::shared_ptr<SharedAxiDevice> device,
                                    const EngineOptions& options = {});

// The same on the device that the environment names, which the process opens once. Errors also: several accelerators.
Result<std::unique_ptr<Simulator>> make_axi(const isa::HardwareConfig& config, const EngineOptions& options = {});

}  // namespace dovetail::simulator
