#include "compiler/target/accel/divide_region.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/select/operation_program.h"

namespace dovetail::accel {

using graph::ValueId;

namespace {

// Expected cycles from the end of one group to the first products of the next one: the last responses to stores, then
// the latency of instructions, micro-ops and operands. How much of that would be hidden without the new group differs,
// so each of these numbers gives a way to divide a region, as do one port for all and a port for each accelerator.
// Without counting, the middle number and one port decide.
constexpr std::array kCyclesBetweenGroups{150.0, 600.0, 2400.0};

// A share with what it accesses.
struct Planned {
  Share share;
  std::vector<Box> reads, writes;  // reads: of each input
  int phase = 0;                   // ProgramBoxes::phase
};
// A way to divide an operation.
struct Plan {
  std::vector<Planned> shares;
  double cycles = 0;       // expected, without those between groups, if the memory is fast enough
  double port_cycles = 0;  // at least, of one port of the memory for all transfers
  int groups_between = 0;  // groups that begin within the operation
  std::optional<Operation> replaced = std::nullopt;  // has more programs, on accelerators of `kind`
  std::size_t kind = 0;

  std::int64_t accelerators() const {
    std::set<std::size_t> all;
    for (const Planned& planned : shares) all.insert(planned.share.accelerator);
    return static_cast<std::int64_t>(all.size());
  }
};

// Accesses of the shares that run together.
class Accesses {
 public:
  Accesses(const std::vector<OperationForms>& operations, const RegionLayouts& layouts) : layouts_(layouts) {
    for (const OperationForms& forms : operations) {
      const Operation& operation = forms.any();
      if (const auto* move = std::get_if<MoveOperation>(&operation.body); move && move->position)
        overwrites_.emplace(operation.output, operation.inputs[0]);
    }
  }

  void clear() { of_values_.clear(); }
  // Whether the share must not run together with the others: it meets an access of another accelerator, and one of the
  // two writes.
  bool conflicts(const Operation& operation, const Planned& planned) const {
    bool meets = false;
    each(operation, planned, [&](ValueId value, const Box& box, bool writes) {
      const auto found = of_values_.find(value);
      if (found == of_values_.end()) return;
      for (const Access& other : found->second)
        meets |= other.accelerator != planned.share.accelerator && (writes || other.writes) && other.box.meets(box);
    });
    return meets;
  }
  void add(const Operation& operation, const Planned& planned) {
    each(operation, planned, [&](ValueId value, const Box& box, bool writes) {
      of_values_[value].push_back({box, planned.share.accelerator, writes});
    });
  }

 private:
  struct Access {
    Box box;
    std::size_t accelerator;
    bool writes;
  };

  template <typename Visit>
  void each(const Operation& operation, const Planned& planned, Visit&& visit) const {
    for (std::size_t i = 0; i < planned.reads.size(); ++i) at_root(operation.inputs[i], planned.reads[i], false, visit);
    for (const Box& box : planned.writes) at_root(operation.output, box, true, visit);
  }
  // The value whose memory it has, and the place there.
  template <typename Visit>
  void at_root(ValueId value, Box box, bool writes, Visit&& visit) const {
    for (;;) {
      if (const auto view = layouts_.views.find(value); view != layouts_.views.end()) {
        box.blocks.begin += view->second.block;
        box.blocks.end += view->second.block;
        value = view->second.base;
      } else if (const auto other = overwrites_.find(value); other != overwrites_.end()) {
        value = other->second;
      } else {
        return visit(value, box, writes);
      }
    }
  }

  const RegionLayouts& layouts_;
  std::map<ValueId, ValueId> overwrites_;  // results that have the memory of an input
  std::map<ValueId, std::vector<Access>> of_values_;
};

class Divider {
 public:
  Divider(const graph::Graph& graph, const std::vector<OperationForms>& operations, const RegionLayouts& layouts,
          const Division& division, const Cores& cores, const std::shared_ptr<Memo>& memo)
      : graph_(graph), operations_(operations), layouts_(layouts), division_(division), cores_(cores), memo_(memo) {}

  // Each operation is divided so that the whole takes the fewest expected cycles: shortest paths through the plans of
  // all operations, where the next operation waits for a new group if it depends on other accelerators.
  Result<std::vector<DividedRegion>> layers() {
    std::vector<std::vector<Plan>> plans;
    for (std::size_t o = 0; o < operations_.size(); ++o) {
      DOVETAIL_ASSIGN(std::vector<Plan> of_operation, plans_of(o));
      plans.push_back(std::move(of_operation));
    }
    if (!division_.count || division_.cycles_between_groups)
      return std::vector{by_paths(
          plans, {division_.accelerators, 1, division_.cycles_between_groups.value_or(kCyclesBetweenGroups[1])})};
    std::vector<DividedRegion> ways = undivided(operations_, cores_);
    for (std::int64_t most = division_.accelerators; most > 1; most = most == 2 ? 1 : (most + 1) / 2)
      for (const std::int64_t ports : {std::int64_t{1}, most})
        for (const double between : kCyclesBetweenGroups) {
          if (most < division_.accelerators && between != kCyclesBetweenGroups[1]) continue;
          DividedRegion way = by_paths(plans, {most, ports, between});
          if (std::ranges::find(ways, way.shares, &DividedRegion::shares) == ways.end()) ways.push_back(std::move(way));
        }
    return ways;
  }

  // Each accelerator runs neighboring operations, for one block of images after the other. In group t, stage s works on
  // block t - s.
  Result<std::vector<DividedRegion>> stages() {
    std::int64_t images = 1;
    std::vector<double> cycles;
    for (std::size_t o = 0; o < operations_.size(); ++o) {
      const Operation& operation = operations_[o].any();
      const std::int64_t units = slice_units(operation, inputs_of(o), output_of(o), SliceAxis::images, cores_.first());
      if (o == 0) images = units;
      if (units != images || units == 1) return not_by_images(operation, o == 0 ? units : images);
      if (is_only_view(operation)) {
        cycles.push_back(0);
        continue;
      }
      DOVETAIL_ASSIGN(const double expected, cycles_of(0, operation, sliced(o, 0, {SliceAxis::images, 0, 1}).programs));
      cycles.push_back(expected);
    }
    const std::vector<std::size_t> ends = stage_ends(cycles);
    std::vector<Share> shares;
    const auto stages = static_cast<std::int64_t>(ends.size());
    for (std::int64_t t = 0; t < images + stages - 1; ++t)
      for (std::int64_t s = 0; s < stages; ++s) {
        const std::int64_t image = t - s;
        if (image < 0 || image >= images) continue;
        const auto stage = static_cast<std::size_t>(s);
        for (std::size_t o = stage == 0 ? 0 : ends[stage - 1]; o < ends[stage]; ++o)
          shares.push_back(
              {o, {SliceAxis::images, image, image + 1}, std::nullopt, stage, static_cast<std::size_t>(t)});
      }
    return std::vector{DividedRegion{operations_, std::move(shares)}};
  }

  // Everything on the first accelerator of a kind, for each kind that can compute all of it; else each operation on the
  // first kind that can.
  static std::vector<DividedRegion> undivided(const std::vector<OperationForms>& operations, const Cores& cores) {
    std::vector<DividedRegion> ways;
    for (std::size_t kind = 0; kind < cores.kinds(); ++kind) {
      if (!std::ranges::all_of(operations, [&](const auto& forms) { return forms.by_kind[kind].has_value(); }))
        continue;
      DividedRegion& region = ways.emplace_back(DividedRegion{operations, {}});
      for (std::size_t o = 0; o < operations.size(); ++o)
        region.shares.push_back({o, {}, std::nullopt, cores.first_of_kind(kind), 0});
    }
    if (!ways.empty()) return ways;
    DividedRegion region{operations, {}};
    for (std::size_t o = 0; o < operations.size(); ++o)
      region.shares.push_back({o, {}, std::nullopt, cores.first_of_kind(operations[o].first_kind()), o});
    return {std::move(region)};
  }

 private:
  struct Assumptions {
    std::int64_t most = 1;   // accelerators that divide an operation
    std::int64_t ports = 1;  // of the memory
    double between = 0;      // cycles between groups
  };

  DividedRegion by_paths(const std::vector<std::vector<Plan>>& plans, const Assumptions& assumed) const {
    struct Path {
      double cycles = 0;
      std::size_t before = 0;
    };
    std::vector<std::vector<Path>> paths;
    for (std::size_t o = 0; o < plans.size(); ++o) {
      std::vector<Path>& row = paths.emplace_back();
      for (const Plan& plan : plans[o]) {
        const double own = plan.accelerators() > assumed.most
                               ? std::numeric_limits<double>::infinity()
                               : std::max(plan.cycles, plan.port_cycles / static_cast<double>(assumed.ports)) +
                                     plan.groups_between * assumed.between;
        Path best{o == 0 ? own : std::numeric_limits<double>::infinity(), 0};
        for (std::size_t before = 0; o > 0 && before < plans[o - 1].size(); ++before) {
          const double cycles =
              paths[o - 1][before].cycles + own + (depends(o, plan, plans[o - 1][before]) ? assumed.between : 0);
          if (cycles < best.cycles) best = {cycles, before};
        }
        row.push_back(best);
      }
    }
    std::vector<std::size_t> taken(plans.size());
    for (std::size_t o = plans.size(); o-- > 0;)
      taken[o] =
          o + 1 == plans.size()
              ? static_cast<std::size_t>(std::ranges::min_element(paths[o], {}, &Path::cycles) - paths[o].begin())
              : paths[o + 1][taken[o + 1]].before;
    DividedRegion region{operations_, {}};
    Accesses together(operations_, layouts_);  // of the last group
    std::size_t group = 0;
    for (std::size_t o = 0; o < plans.size(); ++o) {
      const Plan& plan = plans[o][taken[o]];
      if (plan.replaced) region.operations[o].by_kind[plan.kind] = *plan.replaced;
      // All shares of a phase are in one group.
      for (std::size_t begin = 0, end = 0; begin < plan.shares.size(); begin = end) {
        while (end < plan.shares.size() && plan.shares[end].phase == plan.shares[begin].phase) ++end;
        const std::span phase(plan.shares.begin() + static_cast<std::ptrdiff_t>(begin), end - begin);
        if (begin > 0 || std::ranges::any_of(phase, [&](const Planned& planned) {
              return together.conflicts(operations_[o].any(), planned);
            })) {
          ++group;
          together.clear();
        }
        for (const Planned& planned : phase) {
          together.add(operations_[o].any(), planned);
          region.shares.push_back(planned.share);
          region.shares.back().group = group;
        }
      }
    }
    return region;
  }

  std::vector<TensorLayout> inputs_of(std::size_t operation) const {
    std::vector<TensorLayout> inputs;
    for (const ValueId input : operations_[operation].any().inputs) {
      const auto layout = layouts_.layouts.find(input);
      inputs.push_back(layout == layouts_.layouts.end() ? TensorLayout{} : layout->second);
    }
    return inputs;
  }
  const TensorLayout& output_of(std::size_t operation) const {
    return layouts_.layouts.at(operations_[operation].any().output);
  }
  // The form for accelerators of the kind. Precondition: they have one.
  const Operation& form(std::size_t operation, std::size_t kind) const { return *operations_[operation].by_kind[kind]; }
  SlicedOperation sliced(std::size_t operation, std::size_t kind, const Slice& slice) const {
    return slice_operation(form(operation, kind), inputs_of(operation), output_of(operation), slice,
                           cores_.of_kind(kind));
  }
  // Whether the result has the memory of the operand.
  bool is_only_view(const Operation& operation) const { return !layouts_.layouts.at(operation.output).folds.empty(); }
  // The parts of a movement that are not copied, since their source has the place of their result.
  std::vector<bool> in_place(const Operation& operation) const {
    std::vector<bool> parts;
    if (const auto* move = std::get_if<MoveOperation>(&operation.body))
      for (const MoveSpec& part : move->parts) parts.push_back(is_in_place(operation, part, layouts_));
    return parts;
  }

  Result<double> cycles_of(std::size_t kind, const Operation& operation, const loops::Program& program) const {
    return expected_cycles(kind_of(operation), program, cores_.of_kind(kind), memo_);
  }
  Result<double> cycles_of(std::size_t kind, const Operation& operation,
                           const std::vector<loops::Program>& programs) const {
    double sum = 0;
    for (const loops::Program& program : programs) {
      DOVETAIL_ASSIGN(const double cycles, cycles_of(kind, operation, program));
      sum += cycles;
    }
    return sum;
  }
  // What the shared port transfers takes at least this long.
  double port_cycles(std::size_t operation, const Plan& plan) const {
    const std::vector<TensorLayout> inputs = inputs_of(operation);
    std::int64_t read = 0, written = 0;
    for (const Planned& planned : plan.shares) {
      for (std::size_t i = 0; i < planned.reads.size(); ++i) read += planned.reads[i].bytes(inputs[i]);
      for (const Box& box : planned.writes) written += box.bytes(output_of(operation));
    }
    return static_cast<double>(std::max(read, written)) / static_cast<double>(cores_.first().bus_bytes);
  }

  Result<std::vector<Plan>> plans_of(std::size_t o) const {
    std::vector<Plan> plans;
    std::vector<double> whole;  // cycles, by kind; not a number where the kind cannot compute the operation
    for (std::size_t kind = 0; kind < cores_.kinds(); ++kind) {
      whole.push_back(std::numeric_limits<double>::quiet_NaN());
      if (!operations_[o].by_kind[kind]) continue;
      DOVETAIL_ASSIGN(Plan plan, whole_plan(o, kind));
      whole.back() = plan.cycles;
      plans.push_back(std::move(plan));
    }
    if (is_only_view(operations_[o].any())) return std::vector{plans.front()};
    for (std::size_t kind = 0; kind < cores_.kinds(); ++kind) {
      if (!operations_[o].by_kind[kind]) continue;
      const Operation& operation = form(o, kind);
      if (program_boxes(operation, inputs_of(o), output_of(o), cores_.of_kind(kind)).empty()) {
        for (const SliceAxis axis : {SliceAxis::images, SliceAxis::channels, SliceAxis::rows, SliceAxis::columns})
          DOVETAIL_TRY(add_by_slices(o, axis, whole, plans));
        break;  // accelerators of all kinds divide it
      }
      const std::vector<std::size_t> equal = of_kind(kind);
      for (std::int64_t parts = static_cast<std::int64_t>(equal.size()); parts > 1;
           parts = parts == 2 ? 1 : (parts + 1) / 2)
        DOVETAIL_TRY(add_by_programs(o, kind, in_place(operation),
                                     std::span(equal).first(static_cast<std::size_t>(parts)), plans));
    }
    return plans;
  }

  // The first accelerator of the kind computes it whole.
  Result<Plan> whole_plan(std::size_t o, std::size_t kind) const {
    const Operation& operation = form(o, kind);
    Plan plan;
    Planned whole{{o, {}, std::nullopt, cores_.first_of_kind(kind), 0}, {}, {}};
    if (is_only_view(operation)) {
      plan.shares = {whole};
      return plan;
    }
    for (const TensorLayout& input : inputs_of(o)) whole.reads.push_back(whole_box(input));
    whole.writes = {whole_box(output_of(o))};
    plan.shares = {whole};
    const std::vector<bool> kept = in_place(operation);
    const std::vector<loops::Program> programs = sliced(o, kind, {}).programs;
    for (std::size_t p = 0; p < programs.size(); ++p) {
      if (p < kept.size() && kept[p]) continue;
      DOVETAIL_ASSIGN(const double cycles, cycles_of(kind, operation, programs[p]));
      plan.cycles += cycles;
    }
    return plan;
  }

  std::vector<std::size_t> of_kind(std::size_t kind) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < cores_.size(); ++i)
      if (cores_.kind(i) == kind) all.push_back(i);
    return all;
  }

  // `whole`: cycles of the operation on one accelerator of each kind.
  Result<void> add_by_slices(std::size_t o, SliceAxis axis, const std::vector<double>& whole,
                             std::vector<Plan>& plans) const {
    const auto units_of = [&](std::size_t kind) {
      return slice_units(form(o, kind), inputs_of(o), output_of(o), axis, cores_.of_kind(kind));
    };
    // Those that can be cut at the same places, the fastest first.
    std::vector<std::size_t> accelerators;
    std::int64_t units = 1;
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      const std::size_t kind = cores_.kind(i);
      if (std::isnan(whole[kind])) continue;
      const std::int64_t own = units_of(kind);
      if (accelerators.empty()) units = own;
      if (own == units) accelerators.push_back(i);
    }
    std::ranges::stable_sort(accelerators, {}, [&](std::size_t i) { return whole[cores_.kind(i)]; });
    // Also between fewer accelerators, which may need less of the memory.
    for (std::int64_t parts = std::min(units, static_cast<std::int64_t>(accelerators.size())); parts > 1;
         parts = parts == 2 ? 1 : (parts + 1) / 2)
      DOVETAIL_TRY(
          add_by_slices(o, axis, units, std::span(accelerators).first(static_cast<std::size_t>(parts)), whole, plans));
    return {};
  }

  // Units [ends[i - 1], ends[i]) for each of the accelerators: evenly between equal ones, else by their speeds.
  std::vector<std::int64_t> ends_of(std::int64_t units, std::span<const std::size_t> accelerators,
                                    const std::vector<double>& whole) const {
    double sum = 0;
    for (const std::size_t i : accelerators) sum += 1 / std::max(1.0, whole[cores_.kind(i)]);
    const auto parts = static_cast<std::int64_t>(accelerators.size());
    const bool equal = std::ranges::all_of(
        accelerators, [&](std::size_t i) { return cores_.kind(i) == cores_.kind(accelerators.front()); });
    std::vector<std::int64_t> ends;
    double speed = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      speed += 1 / std::max(1.0, whole[cores_.kind(accelerators[static_cast<std::size_t>(part)])]);
      ends.push_back(equal ? (part + 1) * units / parts : std::llround(static_cast<double>(units) * speed / sum));
    }
    ends.back() = units;
    return ends;
  }

  Result<void> add_by_slices(std::size_t o, SliceAxis axis, std::int64_t units,
                             std::span<const std::size_t> accelerators, const std::vector<double>& whole,
                             std::vector<Plan>& plans) const {
    Plan plan;
    double weights = 0;
    std::map<std::size_t, std::int64_t> largest;  // part of each kind
    const std::vector<std::int64_t> ends = ends_of(units, accelerators, whole);
    for (std::size_t part = 0; part < accelerators.size(); ++part) {
      const Slice slice{axis, part == 0 ? 0 : ends[part - 1], ends[part]};
      if (slice.begin == slice.end) continue;  // too slow for a unit
      const std::size_t accelerator = accelerators[part], kind = cores_.kind(accelerator);
      SlicedOperation made = sliced(o, kind, slice);
      for (const loops::Program& program : made.programs)
        for (const loops::Parameter& parameter : program.parameters)
          if (parameter.buffer->name == kWeights)
            weights += static_cast<double>(element_count(parameter.buffer->shape));
      if (slice.end - slice.begin > largest[kind]) {
        largest[kind] = slice.end - slice.begin;
        DOVETAIL_ASSIGN(const double cycles, cycles_of(kind, form(o, kind), made.programs));
        plan.cycles = std::max(plan.cycles, cycles);
      }
      plan.shares.push_back({{o, slice, std::nullopt, accelerator, 0}, std::move(made.reads), {made.write}});
    }
    if (plan.shares.size() < 2) return {};
    plan.port_cycles = port_cycles(o, plan) + weights / static_cast<double>(cores_.first().bus_bytes);
    plans.push_back(std::move(plan));
    return {};
  }

  // Programs of a phase are divided evenly between equal accelerators; phases follow each other.
  Result<void> add_by_programs(std::size_t o, std::size_t kind, const std::vector<bool>& kept,
                               std::span<const std::size_t> accelerators, std::vector<Plan>& plans) const {
    const Core& core = cores_.of_kind(kind);
    Plan plan;
    plan.kind = kind;
    plan.replaced = with_more_programs(form(o, kind), static_cast<std::int64_t>(accelerators.size()), kept);
    const Operation& operation = *plan.replaced;
    const std::vector<TensorLayout> inputs = inputs_of(o);
    const std::vector<bool> in_place_now = in_place(operation);
    std::vector<ProgramBoxes> boxes = program_boxes(operation, inputs, output_of(o), core);
    const std::vector<loops::Program> programs = operation_programs(operation, inputs, output_of(o), core);
    DOVETAIL_CHECK(boxes.size() == programs.size(), "each program has boxes");
    for (std::size_t begin = 0, end = 0; begin < boxes.size(); begin = end) {
      std::vector<std::size_t> phase;
      for (; end < boxes.size() && boxes[end].phase == boxes[begin].phase; ++end)
        if (end >= in_place_now.size() || !in_place_now[end]) phase.push_back(end);
      if (phase.empty()) continue;
      const std::size_t parts = std::min(phase.size(), accelerators.size());
      // Programs of a phase take equal times, nearly.
      DOVETAIL_ASSIGN(const double cycles, cycles_of(kind, operation, programs[phase.front()]));
      plan.cycles += cycles * static_cast<double>((phase.size() + parts - 1) / parts);
      plan.groups_between += boxes[begin].phase > 0 ? 1 : 0;
      for (std::size_t i = 0; i < phase.size(); ++i)
        plan.shares.push_back({{o, {}, phase[i], accelerators[i * parts / phase.size()], 0},
                               std::move(boxes[phase[i]].reads),
                               std::move(boxes[phase[i]].writes),
                               boxes[begin].phase});
    }
    // Programs that write parts of the same places cannot run together.
    Accesses accesses(operations_, layouts_);
    for (const Planned& planned : plan.shares) {
      if (accesses.conflicts(operation, planned)) return {};
      accesses.add(operation, planned);
    }
    plan.port_cycles = port_cycles(o, plan);
    if (plan.shares.size() > 1) plans.push_back(std::move(plan));
    return {};
  }

  bool depends(std::size_t o, const Plan& plan, const Plan& before) const {
    Accesses accesses(operations_, layouts_);
    for (const Planned& planned : before.shares) accesses.add(operations_[o - 1].any(), planned);
    return std::ranges::any_of(
        plan.shares, [&](const Planned& planned) { return accesses.conflicts(operations_[o].any(), planned); });
  }

  // The ends of at most as many stages as there are accelerators, for which the longest one is the shortest.
  std::vector<std::size_t> stage_ends(const std::vector<double>& cycles) const {
    const std::size_t n = cycles.size();
    const auto most = std::min(static_cast<std::size_t>(division_.accelerators), n);
    std::vector<double> sum(n + 1);
    for (std::size_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + cycles[i];
    // longest[k][i]: of the first i operations in k + 1 stages.
    std::vector<std::vector<double>> longest(most, std::vector<double>(n + 1));
    std::vector<std::vector<std::size_t>> cut(most, std::vector<std::size_t>(n + 1));
    for (std::size_t i = 0; i <= n; ++i) longest[0][i] = sum[i];
    for (std::size_t k = 1; k < most; ++k)
      for (std::size_t i = 0; i <= n; ++i) {
        longest[k][i] = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j <= i; ++j)
          if (const double stage = std::max(longest[k - 1][j], sum[i] - sum[j]); stage < longest[k][i]) {
            longest[k][i] = stage;
            cut[k][i] = j;
          }
      }
    std::vector<std::size_t> ends{n};
    for (std::size_t k = most - 1; k > 0; --k) ends.push_back(cut[k][ends.back()]);
    std::ranges::reverse(ends);
    const auto [first, last] = std::ranges::unique(ends);
    ends.erase(first, last);
    if (ends.front() == 0) ends.erase(ends.begin());
    return ends;
  }

  Diagnostic not_by_images(const Operation& operation, std::int64_t images) const {
    const std::string name = graph_.node(operation.nodes.back()).name;
    const std::string hint = "divide its layers (split=layers)";
    const auto impossible = [&](std::string why, std::string remedy) {
      return Diagnostic{"cannot divide the model into stages", name, std::move(why), std::move(remedy), Cause::request};
    };
    if (layouts_.layouts.at(operation.output).rows > 0)
      return impossible("stages work on one image after the other, and a matrix has the rows of all images", hint);
    if (images <= 1)
      return impossible(
          fmt::format("stages work on blocks of {} image{} of a batch, and the result of {} has one block",
                      cores_.first().batch, cores_.first().batch == 1 ? "" : "s", name),
          fmt::format("compile it for a batch of at least {}, or {}", 2 * cores_.first().batch, hint));
    return impossible(fmt::format("the images of {} cannot be computed one after the other", name), hint);
  }

  const graph::Graph& graph_;
  const std::vector<OperationForms>& operations_;
  const RegionLayouts& layouts_;
  const Division& division_;
  const Cores& cores_;
  const std::shared_ptr<Memo>& memo_;
};

}  // namespace

Result<std::vector<DividedRegion>> divide_region(const graph::Graph& graph,
                                                 const std::vector<OperationForms>& operations,
                                                 const RegionLayouts& layouts, const Division& division,
                                                 const Cores& cores, const std::shared_ptr<Memo>& memo) {
  if (!division.divides()) return Divider::undivided(operations, cores);
  Divider divider(graph, operations, layouts, division, cores, memo);
  if (division.split == isa::Split::layers) return divider.layers();
  DOVETAIL_CHECK(cores.same(), "accelerators that differ divide layers");
  return divider.stages();
}

}  // namespace dovetail::accel
