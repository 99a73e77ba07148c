// A sweep over a space: proposes points, measures them on all processors, keeps them in a file, and knows the front.
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
  std::uint64_t done = 0, known = 0;  // points finished now; of them, found in the file
  std::uint64_t measured = 0, infeasible = 0, pruned = 0;
  std::uint64_t planned = 0;
  std::size_t front = 0;
};

struct SweepOptions {
  std::string strategy = "exhaustive";
  std::uint64_t points = 0;  // at most; 0: all there are
  std::uint64_t seed = 1;
  int jobs = 0;  // 0: one for each processor
  // Who measures; null: `jobs` threads of this process. Its other processes do_job() of the same space.
  Farm* farm = nullptr;
  // Points that are proposed at once: enough for those that share their hardware to meet, and to keep every process
  // busy; few enough for a strategy to learn, and for bounds to prune by the front so far.
  std::uint64_t batch = 64;
  bool prune = true;  // leave out points whose lower bounds a measured point beats: none of them is on the front
  bool check = true;  // run each hardware's programs on the functional simulator, and compare with the CPU
  Work* work = nullptr;
  std::function<void(const SweepProgress& progress)> on_progress = nullptr;
};

// Resumes what the file holds. Errors: of the file; results that are wrong; the work was stopped.
Result<SweepProgress> sweep(const Space& space, const EvaluatorFor& evaluator, PointsFile& file,
                            const SweepOptions& options);
Result<SweepProgress> sweep(const Space& space, const Evaluator& evaluator, PointsFile& file,
                            const SweepOptions& options);

// Positions of the measured points that no other one beats.
std::vector<std::size_t> front_of(std::span<const PointRecord> points, std::span<const Objective> objectives);

}  // namespace dovetail::explore
