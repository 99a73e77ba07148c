// A space of design points: values for parameters of the hardware and of its system, from a JSON file.
// docs/howto/exploring.md describes the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/area/clock_model.h"
#include "explore/sweep/metrics.h"
#include "explore/sweep/numerics.h"
#include "isa/system.h"

namespace dovetail::explore {

// What a sweep minimizes or, where larger is better, maximizes.
struct Objective {
  Formula formula;
  bool larger = false;
  const std::string& key() const { return formula.text(); }  // name in files: "latency_ms"
  std::string title() const;                                 // name in reports: "latency, ms"
};

// Bounds of a metric or formula.
struct Constraint {
  Formula formula;
  std::optional<double> least = {}, most = {};
  const std::string& key() const { return formula.text(); }
};

// One choice: values of parameters that are set together.
using Assignment = std::vector<std::pair<std::string, Json>>;
struct Axis {
  std::string name;  // the name of its parameter, or of several, joined by '+'
  std::vector<Assignment> choices;
};
// The index of the choice on each axis.
using Genes = std::vector<std::int32_t>;

class Space {
 public:
  // Reports all errors: unknown keys and parameters, parameters on two axes, values that no configuration may have,
  // empty axes. Relative paths of hardware and DRAM files begin in the folder of `where`.
  static Result<Space> parse(const Json& json, std::string_view where);

  const isa::Machine& base() const { return base_; }
  // Axes that do not change programs come last, so that neighbors in counting order share programs.
  const std::vector<Axis>& axes() const { return axes_; }
  const std::vector<Objective>& objectives() const { return objectives_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }

  std::uint64_t size() const;  // number of points, including invalid ones; saturates
  // In counting order, the last axis first. Precondition: index < size().
  Genes genes(std::uint64_t index) const;
  // Errors: those of validate() for the combination; the clock model does not apply.
  Result<isa::Machine> machine(const Genes& genes) const;
  // What gives the points their clocks; nullopt: the base machine and the axes.
  const std::optional<ClockModel>& clock_model() const { return clock_model_; }
  // The numeric choices of the point.
  Numerics numerics(const Genes& genes) const;
  bool has_numerics() const;  // whether an axis is a numeric choice
  // Sixteen hexadecimal digits: a hash of the point's machine, and of its numeric choices if the space has any.
  std::string key(const isa::Machine& machine, const Genes& genes) const;
  // The inverse of chosen(). Precondition: `chosen` comes from it.
  Genes genes_of(const Json& chosen) const;
  // nullopt: it comes from another space.
  std::optional<Genes> find_genes(const Json& chosen) const;
  // The base machine with all changes, in the form of `--hw`: "1x16x16-ext,bus_bytes=16,clock_mhz=400".
  std::string name_of(const isa::Machine& machine) const;
  // The parameters that have several values, as chosen, for reports.
  Json chosen(const Genes& genes) const;
  // The file's content without its formatting, and the hashes of the DRAM files and of the hardware file that it names:
  // equal spaces have equal texts.
  std::string text() const { return json_.dump() + files_ + (clock_model_ ? clock_model_->key() : ""); }

 private:
  Json json_;
  Json base_json_;
  isa::Machine base_;
  std::string base_name_;
  std::filesystem::path folder_;  // of the space's file
  std::string files_;             // the hashes of files
  std::optional<ClockModel> clock_model_;
  std::vector<Axis> axes_;
  std::vector<Objective> objectives_;
  std::vector<Constraint> constraints_;
};

// Whether a parameter belongs to the system around the hardware: programs do not depend on it.
bool is_of_system(std::string_view parameter);

// "compact" or "wide".
std::string_view encoding_name(const isa::HardwareConfig& hardware);

// The parameters in which two machines differ, in the form of `--hw`: "block_in=32,clock_mhz=200".
std::string changes(const isa::Machine& from, const isa::Machine& to);
// Sixteen hexadecimal digits: a hash of everything except names. A DRAM file counts by its numbers, not by its path.
std::string key_of(const isa::Machine& machine);

}  // namespace dovetail::explore
