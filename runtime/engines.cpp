// The list of engines: a new simulator is a row here.
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/executor.h"
#include "simulator/axi/axi_engine.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "simulator/rtl/build.h"
#include "simulator/rtl/rtl.h"
#include "simulator/systemc_engine.h"

namespace dovetail::runtime {

namespace {

// Accelerators that differ, on an engine that simulates one: each launch begins when the one before it has ended.
class OneAfterTheOther final : public simulator::Simulator {
 public:
  // `simulators`: one for each configuration, by AcceleratorConfigs::kind().
  OneAfterTheOther(isa::AcceleratorConfigs configs,
                   std::map<std::size_t, std::unique_ptr<simulator::Simulator>> simulators)
      : configs_(std::move(configs)), simulators_(std::move(simulators)) {}

  std::string_view name() const override { return simulators_.begin()->second->name(); }
  Simulator& of_accelerator(std::size_t accelerator) override {
    Simulator& one = *simulators_.at(configs_.kind(accelerator));
    if (configs_[accelerator].offset) one.set_offset(offset());
    return one;
  }
  // Runs the program on the first accelerator.
  Result<simulator::Counters> launch(std::span<const isa::Instruction> program, simulator::Dram& dram,
                                     std::size_t first_index) override {
    return of_accelerator(0).launch(program, dram, first_index);
  }
  void reset() override {
    for (const auto& [kind, simulator] : simulators_) simulator->reset();
  }

 private:
  isa::AcceleratorConfigs configs_;
  std::map<std::size_t, std::unique_ptr<simulator::Simulator>> simulators_;
};

using Make = Result<std::unique_ptr<simulator::Simulator>> (*)(const isa::HardwareConfig& config,
                                                               const simulator::EngineOptions& options);

struct EngineRow {
  std::string_view name;
  std::string_view description;
  Make make;
  bool together = false;  // simulates several accelerators
};

constexpr std::array<EngineRow, 5> kEngines{{
    {"functional", "values only, no time; the specification that the others are compared with",
     [](const isa::HardwareConfig& config,
        const simulator::EngineOptions& options) -> Result<std::unique_ptr<simulator::Simulator>> {
       DOVETAIL_TRY(isa::validate(config));
       return simulator::make_functional(config, {.work = options.work});
     }},
    {"cycle", "values and the exact cycles of the hardware",
     [](const isa::HardwareConfig& config,
        const simulator::EngineOptions& options) -> Result<std::unique_ptr<simulator::Simulator>> {
       DOVETAIL_TRY(isa::validate(config));
       return simulator::make_cycle(config, options);
     },
     true},
    {"systemc", "the cycle model as a TLM-2.0 platform",
     [](const isa::HardwareConfig& config,
        const simulator::EngineOptions& options) -> Result<std::unique_ptr<simulator::Simulator>> {
       DOVETAIL_TRY(isa::validate(config));
       return simulator::make_systemc(config, options);
     },
     true},
    {"rtl", "the Verilated design; one model for each configuration",
     [](const isa::HardwareConfig& config,
        const simulator::EngineOptions& options) -> Result<std::unique_ptr<simulator::Simulator>> {
       DOVETAIL_TRY(isa::validate(config));
       DOVETAIL_ASSIGN(auto simulator, simulator::make_rtl(config, {.engine = options}));
       return std::unique_ptr<simulator::Simulator>(std::move(simulator));
     }},
    {"axi", "the accelerator of this machine's board, driven through its registers",
     [](const isa::HardwareConfig& config,
        const simulator::EngineOptions& options) -> Result<std::unique_ptr<simulator::Simulator>> {
       DOVETAIL_TRY(isa::validate(config));
       return simulator::make_axi(config, options);
     }},
}};

// Why an engine is not here, if it is not: some are loaded from files that a kit may lack, or need a device.
std::optional<Diagnostic> absence(const EngineRow& row) {
  if (row.name == "systemc" && !simulator::find_systemc_engine()) return simulator::no_systemc_engine();
  if (row.name == "axi")
    if (const auto place = simulator::axi_place(); !place.ok()) return place.errors().front();
  return std::nullopt;
}

std::string missing(const EngineRow& row) {
  if (const auto problem = absence(row)) return fmt::format("{}; {}", problem->why, problem->hint);
  const auto tool = row.name == "rtl" ? simulator::missing_rtl_tool() : std::nullopt;
  return tool ? fmt::format("no {0}, which makes its models; `sudo apt-get install {0}`", *tool) : "";
}

}  // namespace

std::vector<std::string_view> engine_names() {
  std::vector<std::string_view> names;
  for (const EngineRow& row : kEngines) names.push_back(row.name);
  return names;
}

bool has_clock(std::string_view engine) { return engine != "functional"; }
bool has_timeline(std::string_view engine) { return has_clock(engine) && engine != "axi"; }
std::string no_timeline(std::string_view engine) {
  return fmt::format("engine {} {}", engine,
                     has_clock(engine) ? "counts the cycles of launches, not of instructions" : "has no clock");
}

std::vector<Engine> engines() {
  std::vector<Engine> list;
  for (const EngineRow& row : kEngines)
    list.push_back({row.name, row.description, !absence(row), has_clock(row.name), missing(row)});
  return list;
}

Result<MakeSimulator> simulator_factory(std::string_view engine, const simulator::EngineOptions& options) {
  std::vector<std::string_view> available;
  for (const EngineRow& row : kEngines) {
    if (row.name != engine) {
      if (!absence(row)) available.push_back(row.name);
      continue;
    }
    if (auto problem = absence(row)) return *std::move(problem);
    // Two simulators must not write the same file.
    const auto make_one = [make = row.make, made = std::make_shared<std::atomic<std::size_t>>(0)](
                              const isa::HardwareConfig& config, simulator::EngineOptions own) {
      if (own.waves) own.waves = simulator::waves_file(*own.waves, (*made)++);
      return make(config, own);
    };
    return MakeSimulator([make_one, options, together = row.together](
                             const isa::AcceleratorConfigs& configs) -> Result<std::unique_ptr<simulator::Simulator>> {
      simulator::EngineOptions own = options;
      own.others = configs.others();
      if (configs.same()) return make_one(configs.first(), own);
      own.accelerators = static_cast<std::int64_t>(configs.size());
      own.by_launch = true;
      if (together) {
        for (const isa::HardwareConfig& other : configs.others()) DOVETAIL_TRY(isa::validate(other));
        return make_one(configs.first(), own);
      }
      own.others.clear();
      std::map<std::size_t, std::unique_ptr<simulator::Simulator>> simulators;
      for (std::size_t i = 0; i < configs.size(); ++i) {
        if (configs.kind(i) != i) continue;
        DOVETAIL_ASSIGN(simulators[i], make_one(configs[i], own));
      }
      return std::unique_ptr<simulator::Simulator>(std::make_unique<OneAfterTheOther>(configs, std::move(simulators)));
    });
  }
  return Diagnostic{fmt::format("no engine \"{}\"", engine), "", "there is no engine of that name",
                    fmt::format("available engines: {}", fmt::join(available, ", "))};
}

}  // namespace dovetail::runtime
