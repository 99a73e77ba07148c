// The file of a Verilated model. Its name stands for all that the model was made from, so that one of another design,
// package or Verilator is never taken for it; its last bytes say how long it is, so that a part of it never is.
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
  std::string package;    // generated from the configuration, its name left out
  std::string design;     // names and contents of the design's files, and the interface of models
  std::string processor;  // models are compiled for it, and a home folder may be shared with another
};

// `design` is the folder with rtl/, sva/ and tb/, `kit` the one that the test bench's includes are written from. No
// file in `design`: RtlModelSources::design is empty.
RtlModelSources rtl_model_sources(const isa::HardwareConfig& config, const RtlModelKind& kind,
                                  const std::filesystem::path& design, const std::filesystem::path& kit);

// "rtl-<number>-", the number one of all sources. The file's name continues with Verilator's version.
std::string rtl_model_prefix(const RtlModelSources& sources);
std::string rtl_model_file(const RtlModelSources& sources, const std::string& verilator);
// Of Verilator's run time, compiled as in this recipe.
std::string rtl_run_time_file(const RtlModelSources& sources, const std::string& verilator);

// Of the Verilator on the PATH, in characters that file names may have: "verilator-5.006-2023-01-22". nullopt: there is
// none. Asked once in a process.
const std::optional<std::string>& verilator_version();

// Appends the seal, after which the file is complete on the medium. A loader of shared objects takes no notice of it.
Result<void> seal_rtl_model(const std::filesystem::path& path);
// Why the file is not a whole model, or nullopt.
std::optional<std::string> rtl_model_damage(const std::filesystem::path& path);

}  // namespace dovetail::simulator
