#include "tests/torture/campaign.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "isa/spec/config.h"
#include "simulator/rtl/build.h"
#include "tests/generator/mutate.h"
#include "tests/generator/random.h"
#include "tests/torture/repro.h"
#include "tests/torture/torture.h"
#include "tests/torture/wrong.h"

namespace dovetail::test {

namespace {

namespace fs = std::filesystem;

// Each random configuration has separate seeds for its programs.
constexpr std::uint64_t kProgramsOfConfig = 1'000'000;

// Keeps a model for the lifetime of this object: there are hundreds of configurations. Files that all models share
// stay.
class PassingModel {
 public:
  PassingModel(const isa::HardwareConfig& config, const fs::path& folder)
      : model_(simulator::build_rtl_model(config, {.kind = {.optimize = false}, .into = folder})) {}
  ~PassingModel() {
    std::error_code ignored;
    if (model_.ok()) fs::remove(model_->path, ignored);
  }
  PassingModel(const PassingModel&) = delete;
  PassingModel& operator=(const PassingModel&) = delete;
  const Result<simulator::BuiltRtlModel>& built() const { return model_; }

 private:
  Result<simulator::BuiltRtlModel> model_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string shape(const isa::HardwareConfig& config) {
  std::string text =
      fmt::format("{}x{}x{}, {} bytes of SRAM, queues {} and {}, {}-bit addresses, bus {}, bursts {} of {}, {}",
                  config.batch, config.block_in, config.block_out, sram_bytes(config), config.command_queue_depth,
                  config.token_queue_depth, config.address_bits, config.bus_bytes, config.burst_beats,
                  config.outstanding_beats, config.encoding() == isa::Encoding::wide ? "wide" : "compact");
  for (const isa::spec::Extension& extension : isa::spec::kExtensions)
    if (config.*extension.member) text += fmt::format(", {}", extension.key);
  return text;
}

}  // namespace

Campaign::Campaign(const CampaignOptions& options)
    : options_(options),
      limits_(options.limits.value_or(options.engines.rtl ? kRtlLimits : kModelLimits)),
      space_(limits_, options.engines, options.wrong_percent != 0) {}

bool Campaign::run(const isa::HardwareConfig& config) { return run(config, options_.engines, options_.seed); }

std::size_t Campaign::run_random(std::size_t configs) {
  std::size_t differing = 0;
  for (std::uint64_t seed = options_.seed; seed < options_.seed + configs; ++seed)
    differing += !run_random(any_config(seed, limits_), seed);
  return differing;
}

bool Campaign::run_random(const isa::HardwareConfig& config, std::uint64_t seed) {
  fmt::print("{}: {}\n", config.name, shape(config));
  std::fflush(stdout);
  Engines engines = options_.engines;
  std::optional<PassingModel> model;
  if (engines.rtl) {
    const auto start = std::chrono::steady_clock::now();
    model.emplace(config, options_.folder);
    if (!model->built().ok()) {
      fmt::print("{}: no model is given: {}\n", config.name, to_string(model->built().errors()));
      return false;
    }
    engines.model = model->built()->path;
    fmt::print("{}: verilated in {:.1f} s\n", config.name, seconds_since(start));
  }
  space_.add(config);
  return run(config, engines, seed * kProgramsOfConfig);
}

bool Campaign::run(const isa::HardwareConfig& config, const Engines& engines, std::uint64_t first_seed) {
  const auto start = std::chrono::steady_clock::now();
  Random random(first_seed);
  const std::size_t right_before = programs_.instructions(), wrong_before = wrong_programs_;
  const std::uint64_t cycles_before = programs_.cycles();
  for (std::uint64_t seed = first_seed; programs_.instructions() - right_before < options_.instructions; ++seed) {
    const bool wrong = random.chance(options_.wrong_percent);
    if (wrong ? run_wrong(config, engines, seed) : run_right(config, engines, seed)) continue;
    fmt::print("{}: a difference after {} instructions and {} wrong programs\n", config.name,
               programs_.instructions() - right_before, wrong_programs_ - wrong_before);
    return false;
  }
  fmt::print("{}: {} instructions, {} cycles, {} wrong programs, no difference; {:.1f} s\n", config.name,
             programs_.instructions() - right_before, programs_.cycles() - cycles_before,
             wrong_programs_ - wrong_before, seconds_since(start));
  std::fflush(stdout);
  return true;
}

bool Campaign::run_right(const isa::HardwareConfig& config, const Engines& engines, std::uint64_t seed) {
  const TortureCase how = torture_case(config, seed);
  GeneratedProgram program = generate(config, how.program);
  move_by_offset(program, seed);
  std::vector<simulator::LaunchTrace> trace;
  if (const auto wrong = torture(program, how, engines, &trace)) {
    const GeneratedProgram small = options_.shrink ? minimized(program, how, engines) : program;
    report(small, how, explain(small, how, engines));
    return false;
  }
  programs_.add(settled(program), trace);
  space_.add(config, how);
  return true;
}

bool Campaign::run_wrong(const isa::HardwareConfig& config, const Engines& engines, std::uint64_t seed) {
  TortureCase how = torture_case(config, seed);
  how.program.size = std::min<std::size_t>(how.program.size, 80);
  GeneratedProgram program = generate(config, how.program);
  move_by_offset(program, seed);
  Random random(seed);
  if (engines.rtl && random.chance(10)) {
    const auto error = slave_error(program, random.bits());
    if (!error) return true;
    if (const auto wrong = torture_slave_error(program, *error, how, engines)) {
      report(program, how, *wrong);
      return false;
    }
    ++wrong_programs_;
    space_.add_slave_error();
    return true;
  }
  const auto mutation = mutate(program, random);
  if (!mutation) return true;
  Observed observed;
  if (const auto wrong = torture_wrong(program, how, engines, &observed)) {
    const GeneratedProgram small = options_.shrink ? minimized_wrong(program, how, engines) : program;
    report(small, how,
           fmt::format("mutation {}: {}", kMutationNames[static_cast<std::size_t>(*mutation)],
                       explain_wrong(small, how, engines)));
    return false;
  }
  ++wrong_programs_;
  space_.add(*mutation, observed);
  return true;
}

void Campaign::report(const GeneratedProgram& program, const TortureCase& how, const std::string& said) {
  fmt::print("{}\n", said);
  const auto line = write_repro(program, how, options_.folder / program.config.name, "cycle");
  fmt::print("again: {}\n", line.ok() ? *line : to_string(line.errors()));
  std::fflush(stdout);
}

}  // namespace dovetail::test
