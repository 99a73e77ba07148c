// Properties of a target, so that no other code compares target names: a row for each of the kit's targets, defined
// next to the type of its code. docs/howto/adding-a-target.md lists the users of each property.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/json.h"
#include "bundle/bundle.h"
#include "isa/accelerators.h"

namespace dovetail::bundle {

// What runs a target's steps.
enum class TargetDevice : std::uint8_t {
  accelerator,  // an engine of the simulator or of the design
  processor,    // machine code on threads of this machine
  gpu,          // a GPU of this machine
  interpreter   // the program itself, without machine code
};

// A step in a description of its bundle. JSON: the members after name and target.
struct StepDescription {
  Json json = Json::object();
  std::optional<std::uint64_t> instructions = {}, memory_bytes = {};
  std::optional<isa::AcceleratorConfigs> hardware = {};
};
// The description of a step of which only the size is known.
StepDescription describe_by_size(const Bundle& bundle, const Step& step);

struct TargetFacts {
  std::string_view name;  // Step::target
  TargetDevice device;
  // Whether steps are timed by cycles and a clock; otherwise their time on the device is measured.
  bool has_clock;
  // Whether the target runs nodes that none of the user's targets supports, so that any bundle may have steps for it.
  bool takes_leftovers;
  // Whether the target supports only floats: it gets the float network instead of the quantized model.
  bool floats_only;
  // Whether float results of the step may differ from the reference's by rounding: they depend on the order of sums, on
  // contraction or on a mathematics library. Precondition of this and the next two: the step's code is valid.
  bool (*rounds_freely)(const Step& step);
  // Arithmetic operations of the step, a multiply-add counted as two; null: unknown.
  std::uint64_t (*operations)(const Step& step);
  StepDescription (*describe)(const Bundle& bundle, const Step& step);
};

// All of the kit's.
std::span<const TargetFacts* const> all_target_facts();
// Null for a target that the caller provides (docs/howto/adding-a-target.md).
const TargetFacts* find_target_facts(std::string_view target);

// For any target. A caller's target is assumed to be bit-exact, has no clock, and runs on none of these devices.
bool rounds_freely(const Step& step);
bool has_clock(std::string_view target);
bool runs_on(TargetDevice device, std::string_view target);
StepDescription describe(const Bundle& bundle, const Step& step);

// For rows.
inline bool always(const Step&) { return true; }
inline bool never(const Step&) { return false; }

}  // namespace dovetail::bundle
