#include "bundle/code/flow.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "bundle/checked_json.h"
#include "bundle/code/text.h"

namespace dovetail::bundle {

namespace {

constexpr std::int64_t kMostCarried = 1 << 20, kMostIterations = std::int64_t{1} << 40;

struct Type {
  DType dtype;
  Shape shape;
  bool operator==(const Type&) const = default;
};
std::string text(const Type& type) { return fmt::format("{}{}", name(type.dtype), to_string(type.shape)); }

std::vector<Type> types(const Bundle& bundle, const std::vector<TensorIndex>& tensors) {
  std::vector<Type> all;
  for (const TensorIndex index : tensors) {
    const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
    all.push_back({tensor.dtype, tensor.shape});
  }
  return all;
}

class Check {
 public:
  Check(const Bundle& bundle, const Step& step)
      : step_(step), arguments_(types(bundle, step.arguments)), results_(types(bundle, step.results)) {}

  std::vector<std::string> run(const FlowCode& code) {
    if (const std::size_t expected = code.loop ? 1 : 2; step_.programs.size() != expected) {
      fail(fmt::format("the step has {} programs, expected {}", step_.programs.size(), expected));
      return problems_;
    }
    if (code.loop) loop(*code.loop);
    else choice();
    return std::move(problems_);
  }

 private:
  void fail(std::string why) { problems_.push_back(std::move(why)); }

  void equal(const std::string& what, const std::vector<Type>& have, const std::vector<Type>& expected) {
    if (have.size() != expected.size())
      return fail(fmt::format("{}: {}, expected {}", what, have.size(), expected.size()));
    for (std::size_t i = 0; i < have.size(); ++i)
      if (have[i] != expected[i])
        fail(fmt::format("{} {} is {}, expected {}", what, i, text(have[i]), text(expected[i])));
  }
  void is_one(const std::string& what, const std::vector<Type>& types, std::size_t i, DType dtype) {
    if (i >= types.size()) return fail(fmt::format("{} is missing", what));
    if (types[i].dtype != dtype || element_count(types[i].shape) != 1)
      fail(fmt::format("{} is {}, expected one {}", what, text(types[i]), name(dtype)));
  }

  void choice() {
    is_one("the condition", arguments_, 0, DType::boolean);
    std::vector<Type> expected;
    if (!arguments_.empty()) expected.push_back(arguments_.front());
    for (const Bundle& program : step_.programs) {
      for (Type& type : types(program, program.inputs)) expected.push_back(std::move(type));
      equal("results of program " + program.name, types(program, program.outputs), results_);
    }
    equal("arguments", arguments_, expected);
  }

  void loop(const FlowLoop& loop) {
    const Bundle& body = step_.programs.front();
    const std::vector<Type> inputs = types(body, body.inputs), outputs = types(body, body.outputs);
    std::vector<Type> expected_inputs{{DType::int64, {}}};
    std::size_t own = 0;
    if (loop.trips) is_one("the trip count", arguments_, own++, DType::int64);
    if (loop.condition) is_one("the condition", arguments_, own++, DType::boolean);
    const std::size_t given = arguments_.size() - std::min(own, arguments_.size());
    if (loop.carried > given || loop.carried + 1 > outputs.size())
      return fail(fmt::format("the loop carries {} values, but has {} arguments, and its program {} outputs",
                              loop.carried, given, outputs.size()));
    expected_inputs.insert(expected_inputs.end(), arguments_.begin() + static_cast<std::ptrdiff_t>(own),
                           arguments_.end());
    equal("inputs of program " + body.name, inputs, expected_inputs);
    is_one("the condition of program " + body.name, outputs, 0, DType::boolean);
    std::vector<Type> expected;
    for (std::size_t i = 1; i < outputs.size(); ++i) {
      expected.push_back(outputs[i]);
      if (i <= loop.carried) {
        if (own + i - 1 < arguments_.size() && outputs[i] != arguments_[own + i - 1])
          fail(fmt::format("carried value {} is {} before an iteration and {} after it", i - 1,
                           text(arguments_[own + i - 1]), text(outputs[i])));
      } else {
        expected.back().shape.insert(expected.back().shape.begin(), loop.limit);
      }
    }
    if (outputs.size() > loop.carried + 1) expected.push_back({DType::int64, {1}});
    equal("results", results_, expected);
  }

  const Step& step_;
  std::vector<Type> arguments_, results_;
  std::vector<std::string> problems_;
};

}  // namespace

void encode(const FlowCode& code, Step& step) {
  step.target = kFlowTarget;
  Json json{{"kind", code.loop ? "loop" : "if"}};
  if (code.loop)
    json.update({{"carried", code.loop->carried},
                 {"limit", code.loop->limit},
                 {"trips", code.loop->trips},
                 {"condition", code.loop->condition}});
  step.code = json_bytes(json);
}

Result<FlowCode> decode_flow(const Step& step) {
  const std::string place = code_place(step);
  DOVETAIL_ASSIGN(const Json json, parse_json(code_text(step), place));
  Diagnostics errors;
  const CheckedJson code(json, {place, "code"}, errors);
  FlowCode result;
  const std::string kind = code.at("kind").text();
  if (kind == "loop") {
    result.loop =
        FlowLoop{static_cast<std::size_t>(code.at("carried").integer(0, kMostCarried)),
                 code.at("limit").integer(0, kMostIterations), code.at("trips").flag(), code.at("condition").flag()};
  } else if (kind != "if") {
    code.at("kind").fail(fmt::format("unknown kind \"{}\"", kind));
  }
  if (!errors.empty()) return errors;
  return result;
}

Result<std::vector<CodedStep<FlowCode>>> flow_steps(const Bundle& bundle) {
  return decode_steps(bundle, kFlowTarget, decode_flow,
                      [&](const Step& step, const FlowCode& code) { return Check(bundle, step).run(code); });
}

constinit const TargetFacts kFlowFacts{.name = kFlowTarget,
                                       .device = TargetDevice::interpreter,
                                       .has_clock = false,
                                       .takes_leftovers = true,
                                       .floats_only = false,
                                       .rounds_freely = never,
                                       .operations = nullptr,
                                       .describe = [](const Bundle&, const Step& step) {
                                         return StepDescription{.json = {{"origins", step.origins}}};
                                       }};

}  // namespace dovetail::bundle
