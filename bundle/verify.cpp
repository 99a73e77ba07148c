// Rules for a bundle before it is written or run, independent of its targets.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/bundle.h"

namespace dovetail::bundle {

namespace {

class Verifier {
 public:
  Verifier(const Bundle& bundle, int depth) : bundle_(bundle), depth_(depth), defined_(bundle.tensors.size(), false) {}

  Diagnostics run() {
    check_spaces();
    check_tensors();
    for (const TensorIndex input : bundle_.inputs) {
      define(input, "the list of inputs");
      if (!in_range(input)) continue;
      const Tensor& tensor = bundle_.tensors[static_cast<std::size_t>(input)];
      if (tensor.offset || tensor.space != kHostSpace)
        fail(fmt::format("input {} has an offset, though it is in the caller's memory", tensor_text(input)));
    }
    for (std::size_t i = 0; i < bundle_.steps.size(); ++i) {
      const Step& step = bundle_.steps[i];
      step_ = fmt::format("steps[{}] \"{}\"", i, step.name);
      if (step.target.empty()) fail("the target is missing");
      for (const TensorIndex index : step.arguments) use(index, "an argument");
      for (const TensorIndex index : step.results) define(index, "a result");
    }
    step_ = "outputs";
    std::set<TensorIndex> outputs;
    for (const TensorIndex output : bundle_.outputs) {
      use(output, "the list of outputs");
      if (!outputs.insert(output).second) fail(fmt::format("tensor {} is listed twice", tensor_text(output)));
    }
    check_extents();
    check_states();
    check_overwriting();
    if (problems_.empty()) check_memory();
    if (problems_.empty()) check_programs();
    return std::move(problems_);
  }

 private:
  void fail(std::string why) {
    problems_.push_back({"invalid bundle", step_, std::move(why), "make the bundle again with `dovetail compile`"});
  }
  bool in_range(TensorIndex index) const {
    return index >= 0 && static_cast<std::size_t>(index) < bundle_.tensors.size();
  }
  // Whether the chain of views from this tensor ends: each view must come after its base tensor.
  bool sound(TensorIndex index) const {
    while (const auto& root = bundle_.tensors[static_cast<std::size_t>(index)].view_of) {
      if (*root < 0 || *root >= index) return false;
      index = *root;
    }
    return true;
  }
  std::string tensor_text(TensorIndex index) const {
    return in_range(index) ? fmt::format("\"{}\"", bundle_.tensors[static_cast<std::size_t>(index)].name)
                           : fmt::format("{}", index);
  }

  void check_spaces() {
    step_ = "spaces";
    if (bundle_.spaces.empty()) fail("the host's memory space is missing");
    for (std::size_t i = 0; i < bundle_.spaces.size(); ++i) {
      const MemorySpace& space = bundle_.spaces[i];
      step_ = fmt::format("spaces[{}] \"{}\"", i, space.name);
      if (space.target.empty()) fail("the target is missing");
      if (space.bytes > UINT64_MAX - space.base)
        fail(fmt::format("the memory's {} bytes from {:#x} end beyond the last address", space.bytes, space.base));
    }
    step_ = "modules";
    std::set<std::string_view> targets;
    for (const Module& module : bundle_.modules)
      if (!targets.insert(module.target).second) fail(fmt::format("two modules are for target {}", module.target));
  }

  void check_tensors() {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < bundle_.tensors.size(); ++i) {
      const Tensor& tensor = bundle_.tensors[i];
      step_ = fmt::format("tensors[{}]", i);
      if (tensor.name.empty()) fail("a tensor has no name");
      if (!names.insert(tensor.name).second) fail(fmt::format("two tensors are named \"{}\"", tensor.name));
      for (const std::int64_t extent : tensor.shape)
        if (extent < 0) fail(fmt::format("\"{}\" has the negative extent {}", tensor.name, extent));
      if (tensor.offset && (tensor.constant || tensor.view_of))
        fail(fmt::format("\"{}\" has an offset, but is a constant or a view", tensor.name));
      if (tensor.space < 0 || static_cast<std::size_t>(tensor.space) >= bundle_.spaces.size())
        fail(fmt::format("\"{}\" is in memory space {}, but there are only {}", tensor.name, tensor.space,
                         bundle_.spaces.size()));
      else if (tensor.space != kHostSpace && !tensor.view_of && (tensor.constant || !tensor.offset))
        fail(fmt::format("\"{}\" is in memory \"{}\", but has no offset there", tensor.name,
                         bundle_.spaces[static_cast<std::size_t>(tensor.space)].name));
      if (tensor.view_of) check_view(i);
      if (!tensor.constant) continue;
      defined_[i] = true;
      if (tensor.constant->dtype() != tensor.dtype || tensor.constant->shape() != tensor.shape)
        fail(fmt::format("\"{}\" is {}{}, but its constant is {}{}", tensor.name, name(tensor.dtype),
                         to_string(tensor.shape), name(tensor.constant->dtype()), to_string(tensor.constant->shape())));
    }
    step_ = "inputs";
  }

  // A view comes after its tensor, so that chains end.
  void check_view(std::size_t index) {
    const Tensor& view = bundle_.tensors[index];
    if (view.constant) fail(fmt::format("\"{}\" is both a view and a constant", view.name));
    if (*view.view_of < 0 || static_cast<std::size_t>(*view.view_of) >= index)
      return fail(fmt::format("\"{}\" is a view of tensor {}, which must precede it", view.name, *view.view_of));
    const Tensor& root = bundle_.tensors[static_cast<std::size_t>(*view.view_of)];
    if (root.dtype != view.dtype || element_count(root.shape) != element_count(view.shape))
      fail(fmt::format("\"{}\", {}{}, is a view of \"{}\", {}{}, which differs in type or size", view.name,
                       name(view.dtype), to_string(view.shape), root.name, name(root.dtype), to_string(root.shape)));
    if (root.space != view.space)
      fail(fmt::format("view \"{}\" of \"{}\" is in memory space {}, but its base is in {}", view.name, root.name,
                       view.space, root.space));
  }

  void check_extents() {
    step_ = "extents";
    std::set<TensorIndex> known;
    for (const OutputExtent& row : bundle_.extents) {
      use(row.extent, "the list of extents");
      if (!in_range(row.extent)) continue;
      if (std::ranges::find(bundle_.outputs, row.output) == bundle_.outputs.end()) {
        fail(fmt::format("tensor {} has a run-time extent, but only outputs may have one", tensor_text(row.output)));
        continue;
      }
      if (!in_range(row.output)) continue;  // already reported as an output
      const Tensor &output = bundle_.tensors[static_cast<std::size_t>(row.output)],
                   &extent = bundle_.tensors[static_cast<std::size_t>(row.extent)];
      if (!known.insert(row.output).second)
        fail(fmt::format("output \"{}\" has two run-time extents; at most one is possible", output.name));
      if (row.axis < 0 || row.axis >= std::ssize(output.shape))
        fail(fmt::format("output \"{}\" of shape {} has a run-time extent along axis {}, which does not exist",
                         output.name, to_string(output.shape), row.axis));
      if (!output.layout.empty())
        fail(fmt::format("output \"{}\" has both a run-time extent and a layout", output.name));
      if (extent.dtype != DType::int64 || extent.shape != Shape{1})
        fail(fmt::format("run-time extent \"{}\" is {}{}, expected int64[1]", extent.name, name(extent.dtype),
                         to_string(extent.shape)));
    }
  }

  void check_states() {
    step_ = "states";
    std::set<TensorIndex> known;
    for (const State& row : bundle_.states) {
      if (std::ranges::find(bundle_.inputs, row.input) == bundle_.inputs.end() ||
          std::ranges::find(bundle_.outputs, row.output) == bundle_.outputs.end()) {
        fail(fmt::format("a state is from input {} to output {}, but is not both", tensor_text(row.input),
                         tensor_text(row.output)));
        continue;
      }
      if (!in_range(row.input) || !in_range(row.output)) continue;  // already reported
      const Tensor &input = bundle_.tensors[static_cast<std::size_t>(row.input)],
                   &output = bundle_.tensors[static_cast<std::size_t>(row.output)];
      if (!known.insert(row.input).second || (row.output != row.input && !known.insert(row.output).second))
        fail(
            fmt::format("the state from \"{}\" to \"{}\" shares a tensor with another state", input.name, output.name));
      if (input.dtype != output.dtype || input.shape != output.shape)
        fail(fmt::format("the state \"{}\" is {}{}, and its output \"{}\" is {}{}", input.name, name(input.dtype),
                         to_string(input.shape), output.name, name(output.dtype), to_string(output.shape)));
      if (std::ranges::find(bundle_.extents, row.output, &OutputExtent::output) != bundle_.extents.end())
        fail(fmt::format("the state's output \"{}\" has an extent that depends on values", output.name));
    }
  }

  void check_overwriting() {
    if (!problems_.empty()) return;
    const std::vector<LiveRange> ranges = live_ranges(bundle_);
    for (std::size_t s = 0; s < bundle_.steps.size(); ++s)
      for (const TensorIndex result : bundle_.steps[s].results) {
        const Tensor& tensor = bundle_.tensors[static_cast<std::size_t>(result)];
        if (!tensor.overwrites) continue;
        step_ = fmt::format("steps[{}] \"{}\"", s, bundle_.steps[s].name);
        const TensorIndex other = *tensor.overwrites;
        if (std::ranges::find(bundle_.steps[s].arguments, other) == bundle_.steps[s].arguments.end() ||
            !in_range(other))
          fail(fmt::format("a result overwrites {}, which is not an argument", tensor_text(other)));
        else if (const Tensor& there = bundle_.tensors[static_cast<std::size_t>(other)];
                 there.dtype != tensor.dtype || there.shape != tensor.shape || there.space != tensor.space ||
                 !there.offset || there.offset != tensor.offset || there.view_of || tensor.space == kHostSpace)
          fail(fmt::format("\"{}\", {}{}, overwrites \"{}\", {}{}, which has another type or place", tensor.name,
                           name(tensor.dtype), to_string(tensor.shape), there.name, name(there.dtype),
                           to_string(there.shape)));
        else if (ranges[static_cast<std::size_t>(other)].last != static_cast<std::ptrdiff_t>(s))
          fail(fmt::format("a result overwrites \"{}\", which is read later", there.name));
      }
    step_ = "residents";
    std::set<TensorIndex> known;
    for (const Resident& row : bundle_.residents)
      if (!in_range(row.after) || bundle_.tensors[static_cast<std::size_t>(row.after)].overwrites != row.before ||
          std::ranges::find(bundle_.inputs, row.input) == bundle_.inputs.end() ||
          std::ranges::find(bundle_.outputs, row.output) == bundle_.outputs.end() || !known.insert(row.input).second ||
          !known.insert(row.output).second)
        fail(fmt::format("tensor {} does not stay between the input {} and the output {}", row.after, row.input,
                         row.output));
  }

  void check_programs() {
    for (std::size_t i = 0; i < bundle_.steps.size(); ++i) {
      const Step& step = bundle_.steps[i];
      step_ = fmt::format("steps[{}] \"{}\"", i, step.name);
      if (!step.programs.empty() && depth_ == kMostNestedPrograms) {
        fail(fmt::format("programs of steps are nested more than {} deep", kMostNestedPrograms));
        continue;
      }
      for (std::size_t p = 0; p < step.programs.size(); ++p) {
        const Bundle& program = step.programs[p];
        if (!program.other_shapes.empty()) fail(fmt::format("programs[{}] has programs for other shapes", p));
        if (!program.extents.empty()) fail(fmt::format("programs[{}] has outputs whose extents depend on values", p));
        if (!program.states.empty()) fail(fmt::format("programs[{}] has states", p));
        for (Diagnostic& problem : Verifier(program, depth_ + 1).run()) {
          problem.where = fmt::format("{}, programs[{}], {}", step_, p, problem.where);
          problems_.push_back(std::move(problem));
        }
      }
    }
  }

  // Checks that tensors that are live in one space at the same time are disjoint.
  void check_memory() {
    const std::vector<LiveRange> ranges = live_ranges(bundle_);
    std::vector<std::size_t> placed;
    for (std::size_t i = 0; i < bundle_.tensors.size(); ++i) {
      const Tensor& tensor = bundle_.tensors[i];
      if (!tensor.offset) continue;
      step_ = fmt::format("tensors[{}]", i);
      if (*tensor.offset % kTensorAlignment != 0)
        fail(fmt::format("\"{}\" is at {}, which is not a multiple of {}", tensor.name, *tensor.offset,
                         kTensorAlignment));
      const std::uint64_t bytes = size_bytes(tensor),
                          all = bundle_.spaces[static_cast<std::size_t>(tensor.space)].bytes;
      if (bytes > all || *tensor.offset > all - bytes)
        fail(fmt::format("\"{}\", {} bytes at {}, exceeds the memory of {} bytes", tensor.name, bytes, *tensor.offset,
                         all));
      placed.push_back(i);
    }
    if (!problems_.empty()) return;
    // In order of definition; each tensor is compared with those still live, which are few.
    std::sort(placed.begin(), placed.end(),
              [&](std::size_t a, std::size_t b) { return ranges[a].first < ranges[b].first; });
    if (disjoint(placed, ranges)) return;
    std::vector<std::size_t> alive;
    for (const std::size_t i : placed) {
      std::erase_if(alive, [&](std::size_t other) { return ranges[other].last < ranges[i].first; });
      const Tensor& tensor = bundle_.tensors[i];
      for (const std::size_t other : alive) {
        const Tensor& there = bundle_.tensors[other];
        if (tensor.overwrites == static_cast<TensorIndex>(other)) continue;
        if (tensor.space == there.space && *tensor.offset < *there.offset + size_bytes(there) &&
            *there.offset < *tensor.offset + size_bytes(tensor)) {
          step_ = fmt::format("tensors[{}]", i);
          fail(fmt::format("\"{}\", {} bytes at {}, overlaps \"{}\", {} bytes at {}, and both are live at step {}",
                           tensor.name, size_bytes(tensor), *tensor.offset, there.name, size_bytes(there),
                           *there.offset, ranges[i].first));
        }
      }
      alive.push_back(i);
    }
  }

  // Checks that no two simultaneously live tensors overlap: live tensors are disjoint, so a new one is compared only
  // with its two neighbors. `placed`: in order of definition.
  bool disjoint(const std::vector<std::size_t>& placed, const std::vector<LiveRange>& ranges) const {
    using Place = std::pair<SpaceIndex, std::uint64_t>;
    std::map<Place, std::uint64_t> alive;  // maps to the end of the tensor
    std::multimap<std::ptrdiff_t, Place> by_death;
    for (const std::size_t i : placed) {
      const Tensor& tensor = bundle_.tensors[i];
      const std::uint64_t bytes = size_bytes(tensor);
      if (bytes == 0) return false;  // an empty tensor may be inside another: these are compared one by one
      while (!by_death.empty() && by_death.begin()->first < ranges[i].first) {
        alive.erase(by_death.begin()->second);
        by_death.erase(by_death.begin());
      }
      const Place place{tensor.space, *tensor.offset};
      const auto next = alive.lower_bound(place);
      if (next != alive.end() && next->first.first == place.first && next->first.second < place.second + bytes)
        return false;
      if (next != alive.begin())
        if (const auto before = std::prev(next); before->first.first == place.first && before->second > place.second)
          return false;
      alive.emplace_hint(next, place, place.second + bytes);
      by_death.emplace(ranges[i].last, place);
    }
    return true;
  }

  // Every tensor is defined once, before it is used.
  void define(TensorIndex index, std::string_view by) {
    if (!in_range(index))
      return fail(fmt::format("{} names tensor {}, but there are only {}", by, index, bundle_.tensors.size()));
    if (bundle_.tensors[static_cast<std::size_t>(index)].view_of)
      return fail(fmt::format("{} defines tensor {}, which is a view", by, tensor_text(index)));
    if (defined_[static_cast<std::size_t>(index)])
      fail(fmt::format("{} defines tensor {}, which is defined already", by, tensor_text(index)));
    defined_[static_cast<std::size_t>(index)] = true;
  }
  void use(TensorIndex index, std::string_view by) {
    if (!in_range(index))
      return fail(fmt::format("{} names tensor {}, but there are only {}", by, index, bundle_.tensors.size()));
    if (!sound(index)) return;  // reported by check_view
    if (!defined_[static_cast<std::size_t>(root_of(bundle_, index))])
      fail(fmt::format("{} uses tensor {}, which no step has computed yet", by, tensor_text(index)));
  }

  const Bundle& bundle_;
  int depth_;  // nesting of programs of steps
  std::vector<bool> defined_;
  std::string step_;
  Diagnostics problems_;
};

}  // namespace

namespace {

// The names and types of a program's inputs or outputs, with their shapes if requested.
std::vector<std::string> border_of(const Bundle& bundle, const std::vector<TensorIndex>& border, bool shapes) {
  std::vector<std::string> texts;
  for (const TensorIndex index : border) {
    const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
    texts.push_back(fmt::format("{}: {}{}", tensor.name, name(tensor.dtype), shapes ? to_string(tensor.shape) : ""));
  }
  return texts;
}

Diagnostics verify_shapes(const Bundle& bundle) {
  Diagnostics problems;
  std::vector<std::vector<std::string>> taken{border_of(bundle, bundle.inputs, true)};
  for (std::size_t i = 0; i < bundle.other_shapes.size(); ++i) {
    const Bundle& other = bundle.other_shapes[i];
    const auto fail = [&](std::string why) {
      problems.push_back({"invalid bundle", fmt::format("other_shapes[{}]", i), std::move(why),
                          "make the bundle again with `dovetail compile`"});
    };
    if (!other.other_shapes.empty()) fail("a program for another shape must not contain further ones");
    if (const auto verified = verify(other); !verified.ok()) {
      for (Diagnostic problem : verified.errors()) {
        problem.where = fmt::format("other_shapes[{}], {}", i, problem.where);
        problems.push_back(std::move(problem));
      }
      continue;
    }
    if (border_of(other, other.inputs, false) != border_of(bundle, bundle.inputs, false) ||
        border_of(other, other.outputs, false) != border_of(bundle, bundle.outputs, false))
      fail("the program's inputs or outputs differ from those of the first program");
    else if (auto inputs = border_of(other, other.inputs, true);
             std::find(taken.begin(), taken.end(), inputs) != taken.end())
      fail(fmt::format("there is already a program for {}", fmt::join(inputs, ", ")));
    else taken.push_back(std::move(inputs));
  }
  return problems;
}

}  // namespace

Result<void> verify(const Bundle& bundle) {
  Diagnostics problems = Verifier(bundle, 0).run();
  if (problems.empty()) problems = verify_shapes(bundle);
  return problems;
}

}  // namespace dovetail::bundle
