#include "compiler/target/all.h"

#include "compiler/target/accel/target.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/host/target.h"

namespace dovetail {

namespace {

struct Row {
  std::string_view name;
  TargetPointer (*make)(const TargetOptions& options);
};
constexpr Row kTargets[] = {
    {"accel", [](const TargetOptions& options) { return accel::make_target(options.hardware, options.clock_mhz); }},
    {"cpu", [](const TargetOptions& options) { return cpu::make_target(options.processor, options.fuse); }},
    {"host", [](const TargetOptions&) { return host::make_target(); }},
};

}  // namespace

std::vector<TargetPointer> built_in_targets(const TargetOptions& options) {
  std::vector<TargetPointer> targets;
  for (const Row& row : kTargets) targets.push_back(row.make(options));
  return targets;
}

std::vector<std::string_view> built_in_target_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kTargets) names.push_back(row.name);
  return names;
}

}  // namespace dovetail
