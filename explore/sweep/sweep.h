// A sweep over a space: proposes points, measures them on all processors, stores them in a file, and tracks the front.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "explore/distribute/farm.h"
#include "explore/sweep/evaluate.h"
#include "explore/sweep/measure_points.h"
#include "explore/sweep/points_file.h"
#include "explore/sweep/space.h"
#include "explore/sweep/strategy.h"

namespace dovetail::explore {

struct SweepProgress {
  std::uint64_t done = 0, known = 0;  // finished points, and those of them that were in the file
  std::uint64_t measured = 0, infeasible = 0, pruned = 0, failed = 0;
  std::uint64_t planned = 0;
  std::size_t front = 0;
};

struct SweepOptions {
  std::string strategy = "exhaustive";
  std::uint64_t points = 0;  // maximum number of points; 0: all
  std::uint64_t seed = 1;
  int jobs = 0;  // 0: one for each processor
  // Measures the points; null: `jobs` threads of this process do. The farm's other processes call do_job() for the same
  // space.
  Farm* farm = nullptr;
  // Number of points that are proposed at once: large enough to collect points that share their hardware and to keep
  // every process busy; small enough for a strategy to learn, and for bounds to prune by the current front.
  std::uint64_t batch = 64;
  bool prune = true;  // skip points whose lower bounds a measured point beats, which are never on the front
  MeasurePlan measure = {};
  Work* work = nullptr;
  std::function<void(const SweepProgress& progress)> on_progress = nullptr;
  // Called with each finished point, by one thread at a time. `known`: it was in the file.
  std::function<void(const PointRecord& point, bool known)> on_point = nullptr;
};

// Continues the sweep in the file. Errors: those of the file; the machine has no more resources; the work was stopped.
Result<SweepProgress> sweep(const Space& space, const EvaluatorFor& evaluator, PointsFile& file,
                            const SweepOptions& options);
Result<SweepProgress> sweep(const Space& space, const Evaluator& evaluator, PointsFile& file,
                            const SweepOptions& options);

// Positions of the measured points that no other point dominates.
std::vector<std::size_t> front_of(std::span<const PointRecord> points, std::span<const Objective> objectives);

}  // namespace dovetail::explore
