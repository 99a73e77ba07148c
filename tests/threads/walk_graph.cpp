#include "tests/threads/walk_graph.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/target/support/gpu_cost.h"
#include "loops/interpreter.h"
#include "loops/operations.h"
#include "loops/print.h"
#include "loops/product_sum.h"
#include "loops/threads/run_threads.h"

namespace dovetail::test {

namespace {

enum class Integers { any, small };  // small: those that may be indices

NdArray drawn(const graph::TensorType& type, Integers integers, SplitMix64& random) {
  NdArray array(type.dtype, type.shape);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const auto value = static_cast<std::int64_t>(random.next() % 255) - 127;
    if (is_floating(type.dtype)) array.set_double(i, static_cast<double>(value) / 99);
    else array.set_int64(i, type.dtype == DType::boolean ? value & 1 : integers == Integers::small ? value & 1 : value);
  }
  return array;
}

// A group's arguments are those in `values`, which its results are added to.
class GroupWalk {
 public:
  GroupWalk(const std::string& name, FusedGroup& group, std::map<graph::ValueId, NdArray>& values, Schedules& schedules,
            SplitMix64& random, Walk& walk)
      : name_(name),
        group_(group),
        values_(values),
        schedules_(schedules),
        random_(random),
        walk_(walk),
        program_(group.program) {
    for (std::size_t i = 0; i < group.arguments.size(); ++i)
      arguments_.push_back(group.constants[i] != nullptr ? *group.constants[i] : values.at(group.arguments[i]));
  }

  Result<void> run(const std::vector<Configuration>& configurations) {
    walk_.macs += loops::count_operations(program_).macs;
    ++walk_.groups;
    const loops::Program fixed = loops::with_fixed_rounding(program_);
    DOVETAIL_ASSIGN(const std::vector<NdArray> in_order, loops::evaluate(fixed, arguments_));
    DOVETAIL_ASSIGN(const std::vector<NdArray> free, loops::evaluate(program_, arguments_));
    for (const Configuration& one : configurations) {
      const bool keeps = one.sums == cuda::FloatSums::in_order;
      group_.program = keeps ? fixed : program_;
      const double tolerance = one.gpu.tf32 ? gpu::kTf32Tolerance : kFreeSums;
      DOVETAIL_TRY(compare(one, keeps ? in_order : free, keeps || !loops::reduces_floats(program_) ? 0 : tolerance));
    }
    for (std::size_t i = 0; i < in_order.size(); ++i) values_.insert_or_assign(group_.results[i], in_order[i]);
    return {};
  }

 private:
  Result<void> compare(const Configuration& configuration, const std::vector<NdArray>& expected, double tolerance) {
    DOVETAIL_ASSIGN(const auto found, schedules_.of(group_, configuration));
    const cuda::ScheduledGroup& scheduled = *found;
    walk_.kinds.insert(scheduled.kind);
    std::string text = loops::to_string(scheduled.kernels);
    for (const auto& [position, constant] : scheduled.constants) text += fmt::format(" {}", position);
    // For sums of floats, the reference has another order too.
    if (!done_.emplace(std::move(text), tolerance == 0).second) return {};
    std::vector<NdArray> arguments = arguments_;
    for (const auto& [position, constant] : scheduled.constants) arguments[position] = constant;
    const auto have = loops::run_threads(scheduled.kernels, scheduled.program.parameters, arguments, random_.next());
    walk_.kernels += static_cast<std::int64_t>(scheduled.kernels.kernels.size());
    const std::string where = fmt::format("{}, {} ({})", name_, configuration.name, scheduled.kind);
    if (!have) {
      walk_.failures.push_back(fmt::format("{}: {}", where, to_string(have.errors())));
      return {};
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ++walk_.tensors;
      const std::string differs = difference(have->at(i), expected[i], tolerance);
      if (!differs.empty()) walk_.failures.push_back(fmt::format("{}: result {}: {}", where, i, differs));
    }
    return {};
  }

  const std::string& name_;
  FusedGroup& group_;
  std::map<graph::ValueId, NdArray>& values_;
  Schedules& schedules_;
  SplitMix64& random_;
  Walk& walk_;
  const loops::Program program_;
  std::vector<NdArray> arguments_;
  std::set<std::pair<std::string, bool>> done_;
};

Result<Walk> walk_with(const graph::Graph& graph, const std::vector<Configuration>& configurations,
                       Schedules& schedules, std::uint64_t seed, Integers integers) {
  SplitMix64 random(seed);
  std::map<graph::ValueId, NdArray> values;
  for (const graph::ValueId input : graph.inputs)
    values.emplace(input, drawn(graph.value(input).type, integers, random));
  DOVETAIL_ASSIGN(std::vector<FusedGroup> groups, fuse_groups(graph, graph.topological_order()));
  Walk walk;
  for (FusedGroup& group : groups) {
    const std::string& name = graph.node(group.anchor).name;
    DOVETAIL_TRY(GroupWalk(name, group, values, schedules, random, walk).run(configurations));
  }
  return walk;
}

}  // namespace

std::vector<Configuration> configurations() {
  std::vector<Configuration> list;
  for (const cuda::Gpu& gpu : cuda::variants_of(cuda::parse_gpu("", cuda::kDefaultArchitectures).value())) {
    const std::string& name = gpu.architectures.front();
    list.push_back({name + " in order", gpu, cuda::FloatSums::in_order});
    list.push_back({name + " free", gpu, cuda::FloatSums::free});
    list.push_back({name + " TF32", gpu, cuda::FloatSums::free});
    list.back().gpu.tf32 = true;
  }
  return list;
}

std::string difference(const NdArray& actual, const NdArray& expected, double tolerance) {
  if (actual == expected) return "";
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) return "another type or shape";
  double largest = 0;
  for (std::int64_t i = 0; i < expected.count(); ++i)
    if (const double value = std::abs(expected.as_double(i)); std::isfinite(value)) largest = std::max(largest, value);
  std::int64_t wrong = 0, a_step = 0, first = -1;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double a = actual.as_double(i), b = expected.as_double(i);
    const bool close = tolerance > 0 && (a == b || (std::isnan(a) && std::isnan(b)) ||
                                         (is_floating(expected.dtype()) && std::abs(a - b) <= tolerance * largest));
    if (close || (tolerance == 0 && a == b && std::signbit(a) == std::signbit(b))) continue;
    const bool rounded = tolerance > 0 && !is_floating(expected.dtype()) && std::abs(a - b) == 1;
    if (wrong + a_step == 0 || (!rounded && wrong == 0)) first = i;
    ++(rounded ? a_step : wrong);
  }
  // Values that are rounded to integers may end up on the other side of a half.
  if (wrong == 0 && a_step * kFewOf <= expected.count()) return tolerance == 0 ? "other bits" : "";
  wrong += a_step;
  return fmt::format("{} of {} elements differ, the first is {}: {} instead of {}", wrong, expected.count(), first,
                     actual.as_double(first), expected.as_double(first));
}

Walk& Walk::operator+=(const Walk& other) {
  groups += other.groups;
  kernels += other.kernels;
  tensors += other.tensors;
  macs += other.macs;
  kinds.insert(other.kinds.begin(), other.kinds.end());
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
  return *this;
}

Result<std::shared_ptr<const cuda::ScheduledGroup>> Schedules::of(const FusedGroup& group,
                                                                  const Configuration& configuration) {
  std::string key = configuration.name + "\n" + loops::to_string(group.program);
  for (const NdArray* constant : group.constants) key += constant != nullptr ? 'c' : 'v';
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  DOVETAIL_ASSIGN(cuda::ScheduledGroup scheduled,
                  cuda::schedule_group(group, configuration.gpu, nullptr, configuration.sums));
  auto made = std::make_shared<const cuda::ScheduledGroup>(std::move(scheduled));
  if (made->constants.empty()) known_.emplace(std::move(key), made);
  return std::shared_ptr<const cuda::ScheduledGroup>(std::move(made));
}

Result<Walk> walk_graph(const graph::Graph& graph, const std::vector<Configuration>& configurations,
                        Schedules& schedules, std::uint64_t seed) {
  // Where the reference refuses the drawn values, an integer was an index.
  auto walk = walk_with(graph, configurations, schedules, seed, Integers::any);
  return walk.ok() ? walk : walk_with(graph, configurations, schedules, seed, Integers::small);
}

Result<Work> work_of(const std::vector<FusedGroup>& groups) {
  Work work;
  for (const FusedGroup& group : groups) {
    work.macs += loops::count_operations(group.program).macs;
    work.steps += loops::count_steps(group.program);
  }
  return work;
}

Result<std::vector<std::string>> kinds_of(const std::vector<FusedGroup>& groups,
                                          const std::vector<Configuration>& configurations, Schedules& schedules) {
  std::vector<std::string> kinds;
  for (FusedGroup group : groups) {
    const loops::Program program = group.program;
    const loops::Program fixed = loops::with_fixed_rounding(program);
    for (const Configuration& one : configurations) {
      group.program = one.sums == cuda::FloatSums::in_order ? fixed : program;
      DOVETAIL_ASSIGN(const auto scheduled, schedules.of(group, one));
      kinds.push_back(scheduled->kind);
    }
  }
  return kinds;
}

}  // namespace dovetail::test
