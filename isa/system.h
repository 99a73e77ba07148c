// The environment of an accelerator: its clock, and the memory at its port. It turns cycles into seconds. It is not
// part of the hardware: it enters no generated package, no key of a model and no program.
// docs/reference/memory-models.md, «The system», gives the reasons for the defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/accelerators.h"
#include "isa/config.h"

namespace dovetail::isa {

inline constexpr double kLeastClockMhz = 1, kMostClockMhz = 1'000'000;
inline constexpr std::int64_t kMostAccelerators = 64;
// The clock that the named configurations reach (at most 69 levels of logic of 40 ps: 362 MHz), unless their file has a
// lower one: 1x16x16-g2 and 1x16x16-g3.
inline constexpr double kDefaultClockMhz = 350;

// What several accelerators divide between them.
enum class Split : std::uint8_t {
  samples,  // each runs the whole model on its own sample
  layers,   // all work on each layer of one sample: on parts of its result
  stages,   // each runs some of the layers, on one image of a batch after the other: a pipeline
};
std::string_view name(Split split);
std::optional<Split> split_named(std::string_view name);

struct SystemConfig {
  double clock_mhz = kDefaultClockMhz;
  // A memory model in the syntax of --memory (simulator/memory/memory.h), parsed where it is used. The path of a DRAM
  // file is relative to the working folder; in a file, it is relative to the file's folder.
  std::string memory = "ideal";
  std::optional<double> memory_clock_mhz = std::nullopt;  // clock of a DRAM; absent: that of its standard
  // Number of accelerators that share the memory (docs/howto/several-accelerators.md); 1 to kMostAccelerators.
  std::int64_t accelerators = 1;
  // The configurations of all accelerators after the first, where they differ; empty: all have the machine's. Otherwise
  // `accelerators` is one more than these.
  std::vector<HardwareConfig> others = {};
  Split split = Split::samples;

  bool operator==(const SystemConfig&) const = default;
};

// A configuration and its environment: the whole content of a hardware JSON.
struct Machine {
  HardwareConfig hardware;  // of the first accelerator
  SystemConfig system = {};

  bool is_uniform() const { return system.others.empty(); }
  AcceleratorConfigs configs() const { return {hardware, system.others}; }
};
// The name of the configuration; of accelerators that differ, of all of them: "1x32x32+2*1x16x16-ext,bus_bytes=16".
std::string name_of(const Machine& machine);
std::string name_of(const AcceleratorConfigs& configs);

// The named configurations (isa/configs/*.json), in listing order.
const std::vector<Machine>& named_machines();

// Like load_config(), with the "system" section. "A+3*B" is a system of accelerators that differ: one A and three B.
// Changes follow the configuration that they change; those of the system follow the last one. Both accept changes after
// the name or path, as in "1x16x16,inp_buffer_bytes=512,clock_mhz=200": they are validated too. If the hardware is
// changed, the changes are appended to the configuration's name, so that the name is valid for --hw.
Result<Machine> load_machine(std::string_view text);
// The same, for features of one configuration. `what` names the feature. Error also: accelerators that differ.
Result<Machine> load_uniform_machine(std::string_view text, std::string_view what);
Result<void> check_uniform(const Machine& machine, std::string_view what);
// Errors: accelerators that differ do not divide layers, or do not have what they must share (check_common).
Result<void> check_accelerators(const Machine& machine);
Result<Machine> machine_from_json(const Json& json, std::string_view where);
// config_to_json()'s members, then "system".
Json machine_to_json(const Machine& machine);

// {"clock_mhz", "memory", "memory_clock_mhz" where it is given, "accelerators" where there are several, "split" where
// it is not "samples", "others" where accelerators differ}.
Json system_to_json(const SystemConfig& system);
Result<SystemConfig> system_from_json(const Json& json, std::string_view where);

// A memory model from a file in `folder`: the relative path of a DRAM file, as in "bank:parts/mine.json", becomes one
// from the working folder. Any other memory is returned unchanged.
std::string memory_from(std::string_view memory, const std::filesystem::path& folder);

}  // namespace dovetail::isa
