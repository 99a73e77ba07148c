// The kernels that the CUDA back end makes of a graph, on run_threads: group after group, each on the results of
// earlier groups, in every configuration in which the back end schedules it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/fuse/fuse.h"
#include "compiler/graph/graph.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/cuda/schedule_group.h"

namespace dovetail::test {

// A configuration for scheduling groups: the machine, and whether sums of floats keep their order.
struct Configuration {
  std::string name;  // "sm_80 in order"
  cuda::Gpu gpu;
  cuda::FloatSums sums = cuda::FloatSums::in_order;
};
// sm_80 and sm_90a, each with sums in order (-O 1), free (-O 2), and free with products in TF32, whose factors
// run_threads rounds where the program does.
std::vector<Configuration> configurations();

// Schedules take long: those of groups seen before are kept. A group whose schedule changes constants has a separate
// one.
class Schedules {
 public:
  Result<std::shared_ptr<const cuda::ScheduledGroup>> of(const FusedGroup& group, const Configuration& configuration);

 private:
  std::map<std::string, std::shared_ptr<const cuda::ScheduledGroup>> known_;
};

// For a group whose float sums may be added in any order: the allowed distance of a result from the reference's,
// relative to the largest element, as in `run --check`; with TF32, gpu::kTf32Tolerance. All other groups have the
// reference's bits.
inline constexpr double kFreeSums = 1e-4;
// Where such a sum is rounded to an integer, one element in this many may differ by 1.
inline constexpr std::int64_t kFewOf = 100;

// Describes the elements in which a tensor differs; empty: none. `tolerance`: of floats, relative to the largest
// element; for integers it allows one in kFewOf; 0: bits are compared.
std::string difference(const NdArray& actual, const NdArray& expected, double tolerance);

struct Walk {
  std::int64_t groups = 0;
  std::int64_t kernels = 0;  // kernels that have run; of a group, each text once
  std::int64_t tensors = 0;  // compared
  std::uint64_t macs = 0;    // of the groups, each once
  std::set<std::string> kinds = {};
  std::vector<std::string> failures = {};

  Walk& operator+=(const Walk& other);
};

// The values of the graph's inputs, and the orders of threads, are drawn from `seed`. Errors: the back end cannot
// schedule the graph.
Result<Walk> walk_graph(const graph::Graph& graph, const std::vector<Configuration>& configurations,
                        Schedules& schedules, std::uint64_t seed);

// The reference's counts for the groups of a graph.
struct Work {
  std::uint64_t macs = 0, steps = 0;
};
Result<Work> work_of(const std::vector<FusedGroup>& groups);
// Kinds of the schedules, in the order of groups and configurations.
Result<std::vector<std::string>> kinds_of(const std::vector<FusedGroup>& groups,
                                          const std::vector<Configuration>& configurations, Schedules& schedules);

}  // namespace dovetail::test
