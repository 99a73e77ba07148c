#include "driver/profile.h"

#include <algorithm>

namespace dovetail::driver {

namespace {

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double ProfiledStep::giga_operations_per_second() const {
  return time.seconds > 0 ? static_cast<double>(kernel->operations) / time.seconds * 1e-9 : 0;
}

std::optional<Profile::Rates> Profile::rates() const {
  if (!energy || !energy->useful_macs || !latency.complete || !(latency.accelerator_seconds > 0)) return std::nullopt;
  const double operations = 2e-12 * static_cast<double>(*energy->useful_macs), joules = energy->energy.joules;
  return Rates{operations / latency.accelerator_seconds, joules / latency.accelerator_seconds, operations / joules};
}

std::vector<StepTime> Profile::times() const {
  std::vector<StepTime> times;
  for (const ProfiledStep& step : steps) times.push_back(step.time);
  return times;
}

double Profile::share_of_peak(const ProfiledStep& step) const {
  const double peak = (step.kernel->integer ? int8_peak : float32_peak).giga_operations * threads;
  return peak > 0 ? step.giga_operations_per_second() / peak : 0;
}

Result<Profile> profile(Session& session, const std::map<std::string, NdArray>& inputs, const ProfilePlan& plan) {
  Profile profile{.repeat = plan.repeat, .threads = session.threads()};
  const runtime::RunOptions options{.copy_outputs = false};
  DOVETAIL_ASSIGN(const runtime::RunResult first, session.run(inputs, options));
  DOVETAIL_ASSIGN(profile.timed, session.timed_programs(first, true));
  for (TimedProgram& timed : profile.timed) timed.layer_joules = layer_joules(timed, session.system(), plan.energy);
  std::map<std::string, NdArray> later = inputs;  // the states continue, as where a session runs again
  for (const bundle::State& state : session.program().states)
    later.erase(session.program().tensors[static_cast<std::size_t>(state.input)].name);
  std::vector<runtime::StepProfile> steps = first.steps;
  std::vector<std::vector<double>> seconds(steps.size());
  for (std::int64_t run = 1; run <= plan.repeat; ++run) {
    if (plan.done != nullptr) *plan.done = run;
    DOVETAIL_ASSIGN(const runtime::RunResult result, session.run(later, options));
    profile.launched = result.launched;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      seconds[s].push_back(result.steps[s].seconds);
      steps[s].programs = result.steps[s].programs;  // programs of the last run
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& all : seconds) medians.push_back(median_of(all));

  const bundle::Bundle& program = session.program();
  const std::vector<StepTime> times = step_times(steps, medians, session.system());
  profile.latency = latency_of(times);
  for (std::size_t s = 0; s < steps.size(); ++s)
    profile.steps.push_back({times[s], steps[s].counters, program.steps[s].origins});
  for (const runtime::StepProfile* inner : inner_steps(steps))
    profile.steps.push_back({times[profile.steps.size()], inner->counters});
  DOVETAIL_ASSIGN(auto kernels, bundle::cpu_steps(program));
  for (auto& [index, step, code] : kernels) profile.steps[index].kernel = std::move(code);
  DOVETAIL_ASSIGN(profile.energy, energy_facts(program, steps, session.system(), plan.energy));
  profile.gpu = gpu_profile(session.executor());
  profile.float32_peak = runtime::measure_float32_peak();
  profile.int8_peak = runtime::measure_int8_peak();
  return profile;
}

}  // namespace dovetail::driver
