// The file of a Verilated model. Its name identifies everything that the model was made from, so that a model of
// another design, package or Verilator is never used by mistake; its last bytes (the seal) record its length, so that
// truncation is detected.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "isa/config.h"
#include "simulator/rtl/recipe.h"

namespace dovetail::simulator {

struct RtlModelSources {
  RtlRecipe recipe;
  std::string package;    // generated from the configuration, without its name
  std::string map;        // of a system on chip: the package of its memory map
  std::string design;     // names and contents of the design's files, and the interface of models
  std::string processor;  // models are compiled for it, and a home folder may be shared between processors
};

// `design` is the folder with rtl/, sva/ and tb/, `kit` the one that the test bench's includes are relative to. If
// `design` has no files: RtlModelSources::design is empty.
RtlModelSources rtl_model_sources(const isa::HardwareConfig& config, const RtlModelKind& kind,
                                  const std::filesystem::path& design, const std::filesystem::path& kit);

// "rtl-<number>-", of a system on chip "soc-<number>-", where the number is a hash of all sources. The file's name
// continues with Verilator's version.
std::string rtl_model_prefix(const RtlModelSources& sources);
std::string rtl_model_file(const RtlModelSources& sources, const std::string& verilator);
// The file of Verilator's run time, compiled as in this recipe.
std::string rtl_run_time_file(const RtlModelSources& sources, const std::string& verilator);

// The version of the Verilator on the PATH, in characters that file names may have: "verilator-5.006-2023-01-22".
// nullopt: there is none. Queried once per process.
const std::optional<std::string>& verilator_version();

// Appends the seal to a complete file, and flushes it to disk. A loader of shared objects ignores it.
Result<void> seal_rtl_model(const std::filesystem::path& path);
// Why the file is not a complete model, or nullopt.
std::optional<std::string> rtl_model_damage(const std::filesystem::path& path);

}  // namespace dovetail::simulator
