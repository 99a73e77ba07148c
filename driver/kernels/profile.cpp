#include "driver/kernels/profile.h"

#include <algorithm>
#include <utility>

#include "base/saturating.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "driver/loop_counts.h"
#include "loops/rewrite.h"
#include "runtime/bandwidth.h"

namespace dovetail::driver {

namespace {

// Whether the sums of products are of integers: which of the processor's peaks counts.
bool multiplies_integers(const loops::Program& program) {
  return std::ranges::none_of(program.parameters,
                              [](const loops::Parameter& each) { return is_floating(each.buffer->dtype); });
}

Result<LoopProfile> profile_accelerator(LoopProfile profile, const LoopProgram& program, LoopRunner& runner,
                                        const Tensors& inputs) {
  DOVETAIL_ASSIGN(LoopRunner::Ran ran, runner.run(inputs));
  profile.cycles = ran.cycles;
  profile.packing_seconds = ran.packing_seconds;
  profile.timed = std::move(ran.timed);
  if (!ran.cycles || profile.timed.empty()) {
    profile.seconds = spread_of({ran.seconds});
    return profile;
  }
  DOVETAIL_ASSIGN(const System system, program.system());
  profile.seconds = spread_of({static_cast<double>(*ran.cycles) / system.clock_mhz * 1e-6});
  const TimedProgram& timed = profile.timed.front();
  const simulator::Profile cycles = profile_of(timed, trace_of(std::span(&timed, 1)), system.memory);
  const double giga_cycles = system.clock_mhz * 1e-3, bytes = static_cast<double>(profile.bytes);
  if (profile.operations == 0) return profile;
  profile.roofline = Roofline{2 * cycles.peak_macs_per_cycle * giga_cycles, cycles.peak_rate.both_ways * giga_cycles,
                              bytes > 0 ? profile.operations / bytes : 0};
  return profile;
}

}  // namespace

std::uint64_t parameter_bytes(const loops::Program& program) {
  std::uint64_t bytes = 0;
  for (const loops::Parameter& parameter : program.parameters)
    bytes = saturating_sum(bytes, static_cast<std::uint64_t>(size_bytes(parameter.buffer->dtype)) *
                                      static_cast<std::uint64_t>(element_count(parameter.buffer->shape)));
  return bytes;
}

Result<LoopProfile> profile_loops(const LoopProgram& program, const std::string& target, const Tensors& inputs,
                                  const LoopProfileOptions& options) {
  LoopProfile profile;
  profile.target = target;
  profile.operations = known_operations(program.written());
  profile.bytes = parameter_bytes(program.written());
  RunnerOptions detailed = options.runner;
  detailed.detail = RunnerOptions::Detail::timed_programs;
  DOVETAIL_ASSIGN(LoopRunner runner, LoopRunner::make(program, target, detailed));
  profile.threads = runner.threads();
  if (target == bundle::kAccelTarget) return profile_accelerator(std::move(profile), program, runner, inputs);
  DOVETAIL_ASSIGN(const LoopRunner::Ran first, runner.run(inputs));
  std::vector<double> seconds, packing;
  for (std::int64_t i = 0; i < options.repeat; ++i) {
    DOVETAIL_ASSIGN(const LoopRunner::Ran ran, runner.run(inputs));
    seconds.push_back(ran.seconds);
    packing.push_back(ran.packing_seconds);
  }
  profile.seconds = spread_of(seconds);
  profile.packing_seconds = spread_of(packing).median;
  if (target != bundle::kCpuTarget) return profile;
  profile.peak =
      multiplies_integers(program.written()) ? runtime::measure_int8_peak() : runtime::measure_float32_peak();
  if (profile.peak->giga_operations > 0 && profile.bytes > 0 && profile.operations > 0)
    profile.roofline = Roofline{profile.peak->giga_operations * profile.threads,
                                runtime::measure_read_bandwidth(profile.bytes, profile.threads),
                                profile.operations / static_cast<double>(profile.bytes)};
  return profile;
}

}  // namespace dovetail::driver
