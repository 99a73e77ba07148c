#include "driver/soc_system.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "driver/soc_report.h"
#include "simulator/rtl/build.h"
#include "simulator/rtl/find.h"

namespace dovetail::driver {

namespace fs = std::filesystem;
namespace soc = simulator::soc;

namespace {

Diagnostic not_ended(const soc::SystemRun& run, const std::string& title, std::uint64_t limit) {
  const std::string last = last_line(run.serial);
  const std::string said = last.empty() ? "nothing came over the serial line"
                                        : fmt::format("the last line over the serial line is \"{}\"", last);
  if (run.end == soc::SystemRun::End::trap)
    return {"the processor stopped", title,
            fmt::format("it met an instruction or an access that it does not support, after {} cycles; {}", run.cycles,
                        said),
            "look at the firmware with a waveform", Cause::work};
  return {"the firmware did not end", title,
          fmt::format("it ran for {} cycles, the limit; in {} of them the processor waited for an interrupt; {}", limit,
                      run.waiting, said),
          "allow more cycles, or look at the firmware with a waveform", Cause::work};
}

}  // namespace

Result<fs::path> soc_model(const isa::HardwareConfig& config, const SocOptions& options) {
  if (options.engine != "rtl") return fs::path();
  if (options.model) return *options.model;
  DOVETAIL_ASSIGN(fs::path core, soc::find_core());
  const simulator::RtlModelKind kind{.waves = options.waves.has_value(), .core = std::move(core)};
  if (!options.build_missing) return simulator::find_rtl_model(config, kind);
  return simulator::find_or_build_rtl_model(config, {.kind = kind, .report = options.report});
}

Result<SystemMeasured> run_system(std::span<const std::byte> firmware, const fs::path& model, soc::SystemOptions system,
                                  const SocOptions& options, const std::string& title) {
  if (options.report) options.report("running the system");
  system.limit_cycles = options.limit_cycles;
  system.broken = options.broken;
  system.assertions = options.assertions;
  system.waves = options.waves;
  system.work = options.work;
  const auto start = std::chrono::steady_clock::now();
  DOVETAIL_ASSIGN(soc::SystemRun run, options.engine == "systemc" ? soc::run_systemc(firmware, system)
                                                                  : soc::run_verilated(firmware, model, system));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (run.end == soc::SystemRun::End::stopped) return options.work->stopped_at(fmt::format("cycle {}", run.cycles));
  if (run.end != soc::SystemRun::End::ended) return not_ended(run, title, options.limit_cycles);
  return SystemMeasured{std::move(run), seconds};
}

}  // namespace dovetail::driver
