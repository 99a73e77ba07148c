// Profiles a session: medians of repeated runs, step by step, compared with ceilings.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/code/cpu.h"
#include "driver/energy.h"
#include "driver/gpu_profile.h"
#include "driver/latency.h"
#include "driver/session.h"
#include "driver/timed_program.h"
#include "runtime/peak.h"

namespace dovetail::driver {

struct ProfiledStep {
  StepTime time;  // medians
  simulator::Counters counters;
  std::vector<std::string> origins = {};
  std::optional<bundle::CpuCode> kernel = {};  // the kernel of a CPU step

  double giga_operations_per_second() const;  // rate of the kernel
};

struct Profile {
  std::int64_t repeat = 0;
  int threads = 1;
  std::vector<ProfiledStep> steps = {};  // the program's steps, then inner_steps()
  Latency latency = {};
  std::vector<TimedProgram> timed = {};    // the accelerator's steps in the first run
  std::optional<EnergyFacts> energy = {};  // energy of the accelerator
  GpuProfile gpu = {};
  runtime::Peak float32_peak = {}, int8_peak = {};  // peaks of one core
  std::string launched = {};                        // how the device launched all steps of the last run

  // What the accelerator does in its own time, with two operations for each multiplication of the model; nullopt: its
  // time, its energy or the model's multiplications are not known.
  struct Rates {
    double tops = 0, watts = 0, tops_per_w = 0;
  };
  std::optional<Rates> rates() const;

  std::vector<StepTime> times() const;
  // The rate of the step's kernel as a share of the peak of all threads; 0 where that is unknown.
  double share_of_peak(const ProfiledStep& step) const;
};

struct ProfilePlan {
  std::int64_t repeat = 10;  // timed runs, after one run to warm up
  explore::EnergyTable energy;
  std::atomic<std::int64_t>* done = nullptr;  // counts runs; null: not counted
};
// Errors: those of a run.
Result<Profile> profile(Session& session, const std::map<std::string, NdArray>& inputs, const ProfilePlan& plan);

}  // namespace dovetail::driver
