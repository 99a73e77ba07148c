#include "driver/bundle_file.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/machine_code_permission.h"
#include "bundle/code/accel.h"
#include "bundle/code/target_facts.h"
#include "bundle/format.h"
#include "driver/value_text.h"
#include "isa/system.h"
#include "isa/verify.h"
#include "runtime/device/all.h"
#include "runtime/machine_code.h"

namespace dovetail::driver {

Result<bool> is_bundle_file(const std::string& path) {
  if (path.ends_with(bundle::kFileExtension)) return true;
  // The bytes of a pipe can be read only once.
  if (std::error_code error; !std::filesystem::is_regular_file(path, error)) return false;
  std::string head(bundle::format::kMagic.size(), '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head != bundle::format::kMagic) return false;
  return Diagnostic{
      "cannot read the model", path,
      fmt::format("the file is a bundle, but its name does not end in {}: only a file with such a name is "
                  "loaded as code",
                  bundle::kFileExtension),
      fmt::format("name it {}{}", path, bundle::kFileExtension)};
}

Result<void> check_code(const bundle::Bundle& bundle, std::string_view path) {
  const auto checked = runtime::check_code(bundle, runtime::built_in_devices({}));
  Diagnostics problems = checked.errors();
  for (Diagnostic& problem : problems) problem.where = fmt::format("{}, {}", path, problem.where);
  return problems;
}

Result<bundle::Bundle> read_bundle_to_run(const std::string& path, bool user_trusts) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, std::size_t{1} << 32, bundle::format::kExpected));
  DOVETAIL_ASSIGN(bundle::Bundle bundle, bundle::parse(bytes, path, bundle::MachineCode::untrusted));
  DOVETAIL_TRY(check_code(bundle, path));
  const auto targets = runtime::machine_code_targets(bundle, runtime::built_in_devices({}));
  if (targets.empty()) return bundle;
  DOVETAIL_TRY(
      check_machine_code(fmt::format("cannot run {}", path), fmt::format("target {}", fmt::join(targets, ", "))));
  if (const auto why = user_trusts ? std::nullopt : runtime::not_recorded(bytes))
    return Diagnostic{
        "cannot run bundle", path,
        fmt::format("the bundle has machine code in the steps of {}, and no record shows that `dovetail compile` "
                    "wrote it for you: {}",
                    fmt::join(targets, ", "), *why),
        "compile the model again, or add --trust if you know who made the file: its code can do everything that "
        "you can"};
  bundle.machine_code = bundle::MachineCode::trusted;
  return bundle;
}

Result<void> check_made_for_targets(const bundle::Bundle& bundle, const std::string& path,
                                    const std::vector<std::string>& targets) {
  std::set<std::string> missing;
  for (const bundle::Bundle* program : bundle::all_programs(bundle))
    for (const bundle::Step& step : program->steps)
      if (const auto* facts = bundle::find_target_facts(step.target); facts == nullptr || !facts->takes_leftovers)
        missing.insert(step.target);
  for (const std::string& target : targets) missing.erase(target);
  if (missing.empty()) return {};
  const std::string others = fmt::format("{}", fmt::join(missing, " and "));
  return Diagnostic{"cannot run bundle", path,
                    fmt::format("the bundle was compiled for {}, but --target is {}", others, fmt::join(targets, ",")),
                    fmt::format("add {} to --target, or compile the model again", others)};
}

Result<void> check_made_for_hardware(const bundle::Bundle& bundle, const std::string& path,
                                     const std::string& hardware) {
  for (const bundle::Bundle* program : bundle::all_programs(bundle)) {
    DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(*program));
    for (const auto& [index, step, code] : steps) {
      DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_machine(hardware));
      const isa::AcceleratorConfigs configs = machine.configs(), made_for = code.configs();
      bool same = configs.size() == made_for.size();
      for (std::size_t i = 0; same && i < configs.size(); ++i) {
        isa::HardwareConfig own = made_for[i];
        own.name = configs[i].name;  // the names may differ
        same = own == configs[i];
      }
      if (!same)
        return Diagnostic{"cannot run bundle", path,
                          configs.same() && made_for.same()
                              ? fmt::format("the bundle was compiled for {}, but --hw is {}", config_text(code.config),
                                            config_text(machine.hardware))
                              : fmt::format("the bundle was compiled for {}, but --hw is {}", isa::name_of(made_for),
                                            isa::name_of(configs)),
                          "remove --hw, or compile the model again"};
    }
  }
  return {};
}

Result<VerifiedBundle> verify_programs(const bundle::Bundle& bundle) {
  struct Verified {
    const bundle::Bundle* program;
    bundle::CodedStep<bundle::AccelCode> step;
  };
  std::vector<Verified> steps;
  std::vector<const bundle::Bundle*> open{&bundle};
  for (std::size_t i = 0; i < open.size(); ++i) {
    DOVETAIL_ASSIGN(auto coded, bundle::accel_steps(*open[i]));
    for (auto& step : coded) steps.push_back({open[i], std::move(step)});
    for (const bundle::Step& step : open[i]->steps)
      for (const bundle::Bundle& inner : step.programs) open.push_back(&inner);
  }
  VerifiedBundle verified;
  std::size_t instructions = 0;
  for (const auto& [program, coded] : steps) {
    const auto& [index, step, code] = coded;
    const bundle::MemorySpace& memory = program->spaces[static_cast<std::size_t>(code.space)];
    const std::vector<std::byte> image = bundle::initial_image(memory, code);
    isa::VerifyOptions options;
    options.launches = code.launches;
    options.dram = isa::DramImage{memory.base, image};
    options.program_base = code.program_base;
    const isa::VerifyReport report = isa::verify(code.configs(), code.program, options);
    for (const isa::Finding& finding : report.findings) {
      verified.problems.push_back(finding.diagnostic);
      verified.problems.back().where = fmt::format("step {}, {}", step->name, finding.diagnostic.where);
    }
    instructions += code.program.size();
  }
  verified.summary =
      fmt::format("{} program{}, {} instructions: no race, no deadlock, no leftover token, no undefined read",
                  steps.size(), steps.size() == 1 ? "" : "s", instructions);
  return verified;
}

}  // namespace dovetail::driver
