#include "export/plan.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "bundle/code/flow.h"
#include "bundle/code/host.h"
#include "compiler/assemble/plan_memory.h"
#include "export/c_text.h"
#include "loops/print.h"

namespace dovetail::exporting {

using bundle::Bundle;
using bundle::Step;
using bundle::Tensor;
using bundle::TensorIndex;

namespace {

// The name without the layout of a packed constant: "conv/weight@i0,i2,i3,i1".
std::string_view plain_name(const Tensor& tensor) {
  const std::string_view name = tensor.name;
  return name.substr(0, name.find('@'));
}

std::string type_text(const Tensor& tensor) {
  return fmt::format("{}{}", dovetail::name(tensor.dtype), to_string(tensor.shape));
}

Diagnostic cannot_export(std::string where, std::string why, std::string hint) {
  return {"cannot export", std::move(where), std::move(why), std::move(hint)};
}

// What a C program cannot run, all of it.
Result<void> check(const Bundle& bundle, bool object) {
  Diagnostics problems;
  if (!bundle.other_shapes.empty())
    problems.push_back(
        cannot_export(bundle.name,
                      fmt::format("the bundle has programs for {} sets of shapes; an exported program has one",
                                  bundle.other_shapes.size() + 1),
                      "compile the model with one --shape for each name"));
  std::map<std::string, std::vector<std::string>> others;  // steps by target
  for (const Step& step : bundle.steps)
    if (step.target != (object ? bundle::kCpuTarget : bundle::kHostTarget) && step.target != bundle::kAccelTarget)
      others[step.target].push_back(step.name);
  for (const auto& [target, steps] : others) {
    constexpr std::size_t kShown = 8;
    const std::vector<std::string> shown(steps.begin(),
                                         steps.begin() + static_cast<std::ptrdiff_t>(std::min(steps.size(), kShown)));
    const std::string names = fmt::format("{}{}", fmt::join(shown, ", "), steps.size() > kShown ? ", ..." : "");
    if (target == bundle::kFlowTarget)
      problems.push_back(cannot_export(names, "steps of control flow (If, Loop, Scan) are not exported yet",
                                       "export the parts of the model without them (--from, --to)"));
    else
      problems.push_back(cannot_export(
          names,
          fmt::format("{} of target {}: only loop programs and programs of the accelerator are exported",
                      steps.size() == 1 ? "a step" : "steps", target),
          "give the model instead of the bundle, or compile it with `dovetail compile MODEL --target accel,cpu --cpu "
          "portable -o B.dvt`"));
  }
  return problems;
}

class Planner {
 public:
  Planner(const Bundle& bundle, Options options) : bundle_(bundle) { plan_.options = std::move(options); }

  Result<Plan> run() {
    plan_.model = bundle_.name;
    DOVETAIL_TRY(check(bundle_, plan_.options.object.has_value()));
    add_ports();
    if (plan_.options.object) {
      DOVETAIL_TRY(take_kernels(*plan_.options.object));
    } else {
      DOVETAIL_TRY(group_kernels());
      DOVETAIL_TRY(print_kernels());
    }
    DOVETAIL_TRY(take_regions());
    DOVETAIL_TRY(check_libm());
    place_memory();
    DOVETAIL_TRY(check_arena());
    add_calls();
    for (const PlannedConstant& constant : plan_.constants) plan_.constant_bytes += constant.value->bytes().size();
    return std::move(plan_);
  }

 private:
  const Tensor& tensor(TensorIndex index) const { return bundle_.tensors[static_cast<std::size_t>(index)]; }
  std::string prefixed(std::string_view name) const { return fmt::format("{}_{}", plan_.options.name, name); }

  Port port(TensorIndex index, std::set<std::string>& taken) const {
    const Tensor& t = tensor(index);
    Port port{unique_identifier(t.name, taken), t.name, t.dtype, t.shape};
    const auto found = plan_.options.quantization.find(t.name);
    if (found != plan_.options.quantization.end()) port.quantization = found->second;
    return port;
  }

  void add_ports() {
    std::set<std::string> taken{"run", "inputs", "outputs", "arena"};
    for (const TensorIndex input : bundle_.inputs) plan_.inputs.push_back(port(input, taken));
    outputs_ = bundle_.outputs;
    for (const TensorIndex output : bundle_.outputs) plan_.outputs.push_back(port(output, taken));
    for (const bundle::OutputExtent& extent : bundle_.extents) {
      const std::string& output = tensor(extent.output).name;
      for (Port& one : plan_.outputs)
        if (one.tensor == output)
          one.note +=
              fmt::format("{}the valid extent of axis {} depends on values", one.note.empty() ? "" : "; ", extent.axis);
      if (std::ranges::find(outputs_, extent.extent) != outputs_.end()) continue;
      outputs_.push_back(extent.extent);
      Port added = port(extent.extent, taken);
      added.note = fmt::format("the valid extent of axis {} of {}", extent.axis, comment_text(output));
      plan_.outputs.push_back(std::move(added));
    }
    for (const bundle::State& state : bundle_.states)
      for (Port& input : plan_.inputs)
        if (input.tensor == tensor(state.input).name)
          input.note = fmt::format("a state: zeros in the first run, then what the run before gave for {}",
                                   comment_text(tensor(state.output).name));
  }

  // Without the prefix: what the program itself defines.
  static std::set<std::string> own_names() { return {"run", "load", "inputs", "outputs", "image", "reset", "configs"}; }

  // Equal programs are one kernel.
  Result<void> group_kernels() {
    DOVETAIL_ASSIGN(const auto steps, bundle::host_steps(bundle_));
    std::map<std::string, std::size_t> known;
    std::set<std::string> functions = own_names();
    for (const auto& coded : steps) {
      loops::Program program = coded.code.program;
      const std::string name = std::exchange(program.name, "kernel");
      const auto [found, added] = known.emplace(loops::to_string(program), plan_.kernels.size());
      if (added) {
        PlannedKernel kernel{.function = prefixed(unique_identifier(coded.step->name, functions)),
                             .program = std::move(program)};
        kernel.program.name = name;
        plan_.kernels.push_back(std::move(kernel));
        users_.emplace_back();
      }
      users_[found->second].push_back(steps_.size());
      steps_.push_back({coded.step, coded.index, found->second});
    }
    return {};
  }

  // The steps of the accelerator, between those that call kernels.
  Result<void> take_regions() {
    DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(bundle_));
    names_ = own_names();
    for (const PlannedKernel& kernel : plan_.kernels)
      names_.insert(kernel.function.substr(plan_.options.name.size() + 1));
    DOVETAIL_ASSIGN(plan_.accelerator, plan_accelerator(bundle_, steps, plan_.options.name, names_));
    for (const auto& coded : steps) {
      steps_.push_back({coded.step, coded.index, {}, regions_.size()});
      regions_.push_back(coded.code);
    }
    std::ranges::sort(steps_, {}, &PlannedStep::index);
    return {};
  }

  // The kernels of the objects, each with all operands of its steps.
  Result<void> take_kernels(const ObjectKernels& object) {
    DOVETAIL_ASSIGN(const auto steps, bundle::cpu_steps(bundle_));
    std::map<std::string, std::size_t> known;
    for (const auto& coded : steps) {
      const auto [found, added] = known.emplace(coded.code.symbol, plan_.kernels.size());
      if (added) {
        PlannedKernel kernel{.function = coded.code.symbol, .first_site = plan_.sites.texts.size()};
        kernel.code.uses.assign(coded.step->arguments.size() + coded.step->results.size(), true);
        kernel.code.workspace = {{"shared", DType::uint8, coded.code.shared_bytes},
                                 {"local", DType::uint8, coded.code.local_bytes}};
        kernel.code.fails = !coded.code.failures.empty();
        std::ranges::copy(coded.code.failures, std::back_inserter(plan_.sites.texts));
        plan_.kernels.push_back(std::move(kernel));
      }
      PlannedKernel& kernel = plan_.kernels[found->second];
      kernel.comments.push_back(comment_text(nodes_of(*coded.step)));
      if (const auto functions = object.libm.find(coded.code.symbol); functions != object.libm.end())
        for (const std::string& function : functions->second) {
          plan_.needs.libm.insert(function);
          plan_.libm_nodes[function].push_back(coded.step->name);
        }
      for (const TensorIndex index : coded.step->results) plan_.needs.floats |= is_floating(tensor(index).dtype);
      steps_.push_back({coded.step, coded.index, found->second});
    }
    plan_.stack_bytes = object.stack_bytes;
    plan_.arena_alignment = object.alignment;
    return {};
  }

  static std::string nodes_of(const Step& step) {
    return step.origins.empty() ? step.name : fmt::format("{}", fmt::join(step.origins, " + "));
  }

  Result<void> print_kernels() {
    Diagnostics problems;
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      PlannedKernel& kernel = plan_.kernels[k];
      const Step& first = *steps_[users_[k].front()].step;
      const bool shared = users_[k].size() > 1;
      std::set<std::string> taken;
      std::vector<std::string> names, operands;
      std::size_t argument = 0, result = 0;
      for (const loops::Parameter& parameter : kernel.program.parameters) {
        const bool output = parameter.role == loops::ParameterRole::output;
        const Tensor& t = tensor(output ? first.results[result++] : first.arguments[argument++]);
        names.push_back(unique_identifier(shared ? std::string_view(parameter.buffer->name) : plain_name(t), taken));
        operands.push_back(fmt::format("{} {}", names.back(), type_text(t)));
      }
      Needs needs;
      auto code = print_kernel(kernel.program, std::move(names), plan_.sites, needs);
      if (!code.ok()) {
        for (Diagnostic problem : code.errors()) problems.push_back(std::move(problem));
        continue;
      }
      kernel.code = *std::move(code);
      kernel.is_empty = kernel.code.body.empty();
      for (const std::size_t user : users_[k]) {
        const Step& step = *steps_[user].step;
        kernel.comments.push_back(comment_text(nodes_of(step)));
        for (const std::string& function : needs.libm) plan_.libm_nodes[function].push_back(step.name);
      }
      for (std::size_t i = 0; i < operands.size(); ++i)
        if (kernel.code.uses[i]) kernel.comments.push_back("  " + comment_text(operands[i]));
      plan_.stack_bytes = std::max(plan_.stack_bytes, kernel.code.stack_bytes);
      plan_.needs.libm.insert(needs.libm.begin(), needs.libm.end());
      plan_.needs.extra.insert(needs.extra.begin(), needs.extra.end());
      plan_.needs.floats |= needs.floats, plan_.needs.doubles |= needs.doubles;
      plan_.needs.failures |= needs.failures;
    }
    return problems;
  }

  Result<void> check_libm() const {
    if (plan_.options.libm || plan_.libm_nodes.empty()) return {};
    Diagnostics problems;
    for (const auto& [function, nodes] : plan_.libm_nodes)
      problems.push_back(cannot_export(
          fmt::format("{}", fmt::join(nodes, ", ")),
          fmt::format("{} calls {} of the mathematical library, which --no-libm excludes",
                      nodes.size() == 1 ? "the node" : "each of these nodes", function),
          "quantize the model (`dovetail quantize`), export the part without these nodes (--to), or leave out "
          "--no-libm"));
    return problems;
  }

  // The place of each root tensor that a step computes: an output of the caller, or an offset in the arena.
  void place_memory() {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const TensorIndex root = bundle::root_of(bundle_, outputs_[i]);
      const Tensor& t = tensor(root);
      const bool computed = !t.constant && t.space == bundle::kHostSpace &&
                            std::ranges::find(bundle_.inputs, root) == bundle_.inputs.end();
      if (computed && !direct_.contains(root)) direct_[root] = i;
    }
    const auto ranges = bundle::live_ranges(bundle_);
    std::vector<MemoryItem> items;
    std::vector<TensorIndex> roots;
    for (std::size_t s = 0; s < bundle_.steps.size(); ++s)
      for (const TensorIndex result : bundle_.steps[s].results) {
        const TensorIndex root = bundle::root_of(bundle_, result);
        if (direct_.contains(root) || tensor(root).space != bundle::kHostSpace) continue;
        auto range = ranges[static_cast<std::size_t>(root)];
        range.first = static_cast<std::ptrdiff_t>(s), range.last = std::max(range.first, range.last);
        items.push_back({bundle::size_bytes(tensor(root)), range});
        roots.push_back(root);
      }
    for (const PlannedStep& step : steps_) {
      const auto at = static_cast<std::ptrdiff_t>(step.index);
      for (const KernelWorkspace& buffer : workspace_of(step)) items.push_back({buffer.bytes, {at, at}});
    }
    plan_.arena_bytes = place_items(items, plan_.arena_alignment);
    std::size_t next = 0;
    for (; next < roots.size(); ++next) {
      offsets_[roots[next]] = items[next].offset;
      sizes_.emplace_back(items[next].bytes, plain_name(tensor(roots[next])));
    }
    for (const PlannedStep& step : steps_) {
      workspace_.emplace_back();
      for (const KernelWorkspace& buffer : workspace_of(step)) {
        sizes_.emplace_back(buffer.bytes, fmt::format("workspace of {}", step.step->name));
        workspace_.back().push_back(items[next++].offset);
      }
    }
  }

  Result<void> check_arena() const {
    if (!plan_.options.most_arena_bytes || plan_.arena_bytes <= *plan_.options.most_arena_bytes) return {};
    auto sizes = sizes_;
    std::ranges::stable_sort(sizes, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> largest;
    constexpr std::size_t kShown = 4;
    for (std::size_t i = 0; i < std::min(sizes.size(), kShown); ++i)
      largest.push_back(fmt::format("{} ({} bytes)", sizes[i].second, sizes[i].first));
    return cannot_export(plan_.model,
                         fmt::format("the arena has {} bytes > {} bytes of --max-arena; the largest parts are {}",
                                     plan_.arena_bytes, *plan_.options.most_arena_bytes, fmt::join(largest, ", ")),
                         "allow a larger arena, or export a smaller model or a part of it (--from, --to)");
  }

  std::size_t constant(TensorIndex root) {
    const auto found = constants_.find(root);
    if (found != constants_.end()) return found->second;
    const Tensor& t = tensor(root);
    for (std::size_t i = 0; i < plan_.constants.size(); ++i)
      if (plan_.constants[i].value.is_same_as(t.constant)) return constants_[root] = i;
    const std::string name = prefixed(unique_identifier(plain_name(t), names_));
    plan_.constants.push_back({name, t.name, t.constant});
    return constants_[root] = plan_.constants.size() - 1;
  }

  Place place(TensorIndex index, bool written) {
    const TensorIndex root = bundle::root_of(bundle_, index);
    const Tensor& t = tensor(root);
    if (t.constant) return {Place::Of::constant, constant(root), t.dtype, false};
    const auto input = std::ranges::find(bundle_.inputs, root);
    if (input != bundle_.inputs.end())
      return {Place::Of::input, static_cast<std::uint64_t>(input - bundle_.inputs.begin()), t.dtype, false};
    if (t.space != bundle::kHostSpace) return {Place::Of::device, *t.offset, t.dtype, written};
    if (const auto found = direct_.find(root); found != direct_.end())
      return {Place::Of::output, found->second, t.dtype, written};
    return {Place::Of::arena, offsets_[root], t.dtype, written};
  }

  void add_calls() {
    for (std::size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].kernel) add_kernel(s);
      else add_region(s);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const TensorIndex root = bundle::root_of(bundle_, outputs_[i]);
      const auto found = direct_.find(root);
      const std::uint64_t bytes = bundle::size_bytes(tensor(outputs_[i]));
      if ((found != direct_.end() && found->second == i) || bytes == 0) continue;
      plan_.calls.emplace_back(
          Copy{{Place::Of::output, i, tensor(root).dtype, true}, place(outputs_[i], false), bytes});
    }
  }

  void add_kernel(std::size_t s) {
    const PlannedKernel& kernel = plan_.kernels[*steps_[s].kernel];
    if (kernel.is_empty) return;
    const Step& step = *steps_[s].step;
    KernelCall call{*steps_[s].kernel, {}, {}};
    std::size_t argument = 0, result = 0;
    for (std::size_t i = 0; i < kernel.code.uses.size(); ++i) {
      const bool output = plan_.options.object ? i >= step.arguments.size()
                                               : kernel.program.parameters[i].role == loops::ParameterRole::output;
      const TensorIndex index = output ? step.results[result++] : step.arguments[argument++];
      if (kernel.code.uses[i]) call.arguments.push_back(place(index, output));
    }
    for (std::size_t i = 0; i < kernel.code.workspace.size(); ++i)
      call.workspace.push_back({Place::Of::arena, workspace_[s][i], kernel.code.workspace[i].dtype, true});
    plan_.calls.emplace_back(std::move(call));
    for (const TensorIndex index : step.results)
      if (const Tensor& root = tensor(bundle::root_of(bundle_, index));
          root.space != bundle::kHostSpace && bundle::size_bytes(root) > 0)
        unclean_.push_back({*root.offset, bundle::size_bytes(root)});
  }

  void add_region(std::size_t s) {
    const Step& step = *steps_[s].step;
    const bundle::AccelCode& code = regions_[steps_[s].region];
    RegionCall call{steps_[s].region, {}, {}};
    const auto in_memory = [&](TensorIndex index, std::uint64_t address) {
      return Place{Place::Of::device, address - plan_.accelerator->base, tensor(index).dtype, true};
    };
    for (std::size_t i = 0; i < code.argument_addresses.size(); ++i) {
      const TensorIndex index = step.arguments[i];
      const std::uint64_t address = code.argument_addresses[i];
      const std::uint64_t bytes = bundle::size_bytes(tensor(index));
      if (is_in_place(bundle_, index, code, address) || bytes == 0) continue;
      const Place to = in_memory(index, address);
      plan_.calls.emplace_back(Copy{to, place(index, false), bytes});
      unclean_.push_back({to.at, bytes});
    }
    call.clean = std::exchange(unclean_, {});
    if (code.offset) call.position = place(step.arguments.back(), false);
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < code.result_addresses.size(); ++i) {
      const TensorIndex index = step.results[i];
      const Place from = in_memory(index, code.result_addresses[i]);
      const std::uint64_t bytes = bundle::size_bytes(tensor(index));
      const bool in_place = is_in_place(bundle_, index, code, code.result_addresses[i]);
      if (bytes == 0) continue;
      if (!in_place) copies.push_back({place(index, true), from, bytes});
      if (!in_place || is_read_by_processor(index)) call.invalidate.push_back({from.at, bytes});
    }
    plan_.calls.emplace_back(std::move(call));
    for (const Copy& copy : copies) plan_.calls.emplace_back(copy);
  }

  // Whether a kernel or a copy reads the tensor, which is in the accelerator's memory.
  bool is_read_by_processor(TensorIndex index) const {
    const TensorIndex root = bundle::root_of(bundle_, index);
    const auto is_it = [&](TensorIndex other) { return bundle::root_of(bundle_, other) == root; };
    if (std::ranges::any_of(outputs_, is_it)) return true;
    return std::ranges::any_of(steps_, [&](const PlannedStep& step) {
      const std::vector<TensorIndex>& arguments = step.step->arguments;
      if (step.kernel) return std::ranges::any_of(arguments, is_it);
      const bundle::AccelCode& code = regions_[step.region];
      for (std::size_t i = 0; i < arguments.size(); ++i)
        if (is_it(arguments[i]) && (i >= code.argument_addresses.size() ||
                                    !is_in_place(bundle_, arguments[i], code, code.argument_addresses[i])))
          return true;
      return false;
    });
  }

  struct PlannedStep {
    const Step* step;
    std::size_t index;  // in the bundle
    std::optional<std::size_t> kernel = {};
    std::size_t region = 0;  // without a kernel
  };

  std::span<const KernelWorkspace> workspace_of(const PlannedStep& step) const {
    if (!step.kernel) return {};
    return plan_.kernels[*step.kernel].code.workspace;
  }

  const Bundle& bundle_;
  Plan plan_;
  std::vector<PlannedStep> steps_;
  std::vector<TensorIndex> outputs_;                   // and extents that depend on values
  std::vector<std::vector<std::size_t>> users_;        // by kernel: its steps
  std::map<TensorIndex, std::size_t> direct_;          // root tensors that a kernel writes to an output
  std::map<TensorIndex, std::uint64_t> offsets_;       // root tensors in the arena
  std::vector<std::vector<std::uint64_t>> workspace_;  // offsets by step
  std::vector<std::pair<std::uint64_t, std::string>> sizes_;
  std::map<TensorIndex, std::size_t> constants_;
  std::set<std::string> names_;             // without the prefix, of functions, constants and tables
  std::vector<bundle::AccelCode> regions_;  // of PlannedAccelerator::regions
  std::vector<MemoryRange> unclean_;        // that the processor has written in the accelerator's memory since a launch
};

}  // namespace

std::size_t Plan::steps() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(calls, [](const PlannedCall& call) { return !std::holds_alternative<Copy>(call); }));
}

Result<void> check_exportable(const Bundle& bundle) { return check(bundle, false); }

Result<Plan> plan_project(const Bundle& bundle, Options options) { return Planner(bundle, std::move(options)).run(); }

}  // namespace dovetail::exporting
