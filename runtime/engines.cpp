// The list of engines: a new simulator is a row here.
#include <array>
#include <atomic>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/executor.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "simulator/rtl/build.h"
#include "simulator/rtl/rtl.h"
#include "simulator/systemc_engine.h"

namespace dovetail::runtime {

namespace {

using Make = Result<std::unique_ptr<simulator::Simulator>> (*)(const isa::HardwareConfig& config,
                                                               const simulator::EngineOptions& options);

struct EngineRow {
  std::string_view name;
  std::string_view description;
  Make make;
};

constexpr std::array<EngineRow, 4> kEngines{{
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
     }},
    {"systemc", "the cycle model as a TLM-2.0 platform",
     [](const isa::HardwareConfig& config,
        const simulator::EngineOptions& options) -> Result<std::unique_ptr<simulator::Simulator>> {
       DOVETAIL_TRY(isa::validate(config));
       return simulator::make_systemc(config, options);
     }},
    {"rtl", "the Verilated design; one model for each configuration",
     [](const isa::HardwareConfig& config,
        const simulator::EngineOptions& options) -> Result<std::unique_ptr<simulator::Simulator>> {
       DOVETAIL_TRY(isa::validate(config));
       DOVETAIL_ASSIGN(auto simulator, simulator::make_rtl(config, {.engine = options}));
       return std::unique_ptr<simulator::Simulator>(std::move(simulator));
     }},
}};

// Some engines are loaded from files that a kit may lack.
bool is_here(const EngineRow& row) { return row.name != "systemc" || simulator::find_systemc_engine(); }

std::string missing(const EngineRow& row) {
  if (!is_here(row)) {
    const Diagnostic problem = simulator::no_systemc_engine();
    return fmt::format("{}; {}", problem.why, problem.hint);
  }
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

std::vector<Engine> engines() {
  std::vector<Engine> list;
  for (const EngineRow& row : kEngines)
    list.push_back({row.name, row.description, is_here(row), has_clock(row.name), missing(row)});
  return list;
}

Result<MakeSimulator> simulator_factory(std::string_view engine, const simulator::EngineOptions& options) {
  std::vector<std::string_view> available;
  for (const EngineRow& row : kEngines) {
    if (is_here(row)) available.push_back(row.name);
    if (row.name != engine) continue;
    if (!is_here(row)) return simulator::no_systemc_engine();
    // Two simulators must not write the same file.
    return MakeSimulator([make = row.make, options,
                          made = std::make_shared<std::atomic<std::size_t>>(0)](const isa::HardwareConfig& config) {
      simulator::EngineOptions own = options;
      if (own.waves) own.waves = simulator::waves_file(*own.waves, (*made)++);
      return make(config, own);
    });
  }
  return Diagnostic{fmt::format("no engine \"{}\"", engine), "", "there is no engine of that name",
                    fmt::format("available engines: {}", fmt::join(available, ", "))};
}

}  // namespace dovetail::runtime
