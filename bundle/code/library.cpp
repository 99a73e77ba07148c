#include "bundle/code/library.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "bundle/checked_json.h"
#include "bundle/code/text.h"

namespace dovetail::bundle {

namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 31, kMostElements = std::int64_t{1} << 40;
constexpr std::size_t kMostRank = 12;  // DNNL_MAX_NDIMS

struct KindRow {
  LibraryKind kind;
  std::string_view name;
  std::size_t least_operands, most_operands;
  bool windows, pools;
};
// clang-format off
constexpr std::array<KindRow, 9> kKinds{{
    {LibraryKind::convolution,     "convolution",     2, 4,    true,  false},
    {LibraryKind::product,         "product",         2, 4,    false, false},
    {LibraryKind::maximum,         "maximum",         1, 1,    true,  true},
    {LibraryKind::average,         "average",         1, 1,    true,  true},
    {LibraryKind::average_of_pads, "average_of_pads", 1, 1,    true,  true},
    {LibraryKind::sum,             "sum",             2, 2,    false, false},
    {LibraryKind::concatenation,   "concatenation",   1, 4096, false, false},
    {LibraryKind::softmax,         "softmax",         1, 1,    false, false},
    {LibraryKind::log_softmax,     "log_softmax",     1, 1,    false, false},
}};
// clang-format on

const KindRow& row_of(LibraryKind kind) { return *std::ranges::find(kKinds, kind, &KindRow::kind); }

bool has_axis(LibraryKind kind) {
  return kind == LibraryKind::concatenation || kind == LibraryKind::softmax || kind == LibraryKind::log_softmax;
}

Json to_json(const LibraryOperation& operation) {
  Json json{{"kind", row_of(operation.kind).name}, {"operands", operation.operands}, {"result", operation.result}};
  if (row_of(operation.kind).windows)
    json["windows"] = {{"strides", operation.strides},
                       {"dilations", operation.dilations},
                       {"pad_begin", operation.pad_begin},
                       {"pad_end", operation.pad_end}};
  if (row_of(operation.kind).pools) json["windows"]["kernel"] = operation.kernel;
  if (operation.kind == LibraryKind::convolution) json["groups"] = operation.groups;
  if (has_axis(operation.kind)) json["axis"] = operation.axis;
  if (operation.transposed_a) json["transposed_a"] = true;
  if (operation.transposed_b) json["transposed_b"] = true;
  if (operation.scale != 1) json["scale"] = operation.scale;
  if (operation.addend_scale != 1) json["addend_scale"] = operation.addend_scale;
  if (operation.gelu) json["gelu"] = true;
  if (operation.least) json["least"] = *operation.least;
  if (operation.most) json["most"] = *operation.most;
  if (operation.tf32) json["tf32"] = true;
  return json;
}

Shape extents(const CheckedJson& json, std::int64_t least) {
  Shape shape;
  for (const CheckedJson& extent : json.items()) shape.push_back(extent.integer(least, kMostExtent));
  if (shape.size() > kMostRank)
    json.fail(fmt::format("a shape has {} extents, but at most {} are possible", shape.size(), kMostRank));
  return shape;
}

std::optional<double> number(const CheckedJson& operation, std::string_view key) {
  const auto found = operation.find(key);
  if (!found) return std::nullopt;
  if (!found->json().is_number()) {
    found->fail("expected a number");
    return std::nullopt;
  }
  return found->json().get<double>();
}

LibraryOperation read_operation(const CheckedJson& json) {
  LibraryOperation operation;
  const std::string name = json.at("kind").text();
  const auto row = std::ranges::find(kKinds, name, &KindRow::name);
  if (row == kKinds.end()) {
    json.fail(fmt::format("there is no operation \"{}\"", name));
    return operation;
  }
  operation.kind = row->kind;
  operation.operands = json.at("operands").naturals();
  operation.result = json.at("result").natural();
  if (row->windows) {
    const CheckedJson windows = json.at("windows");
    operation.strides = extents(windows.at("strides"), 1);
    operation.dilations = extents(windows.at("dilations"), 1);
    operation.pad_begin = extents(windows.at("pad_begin"), 0);
    operation.pad_end = extents(windows.at("pad_end"), 0);
    if (row->pools) operation.kernel = extents(windows.at("kernel"), 1);
  }
  if (operation.kind == LibraryKind::convolution) operation.groups = json.at("groups").integer(1, kMostExtent);
  if (has_axis(operation.kind)) operation.axis = json.at("axis").natural(kMostRank - 1);
  if (const auto flag = json.find("transposed_a")) operation.transposed_a = flag->flag();
  if (const auto flag = json.find("transposed_b")) operation.transposed_b = flag->flag();
  operation.scale = number(json, "scale").value_or(1);
  operation.addend_scale = number(json, "addend_scale").value_or(1);
  if (const auto flag = json.find("gelu")) operation.gelu = flag->flag();
  operation.least = number(json, "least");
  operation.most = number(json, "most");
  if (const auto flag = json.find("tf32")) operation.tf32 = flag->flag();
  return operation;
}

// Whether all extents and the element count are within the limits of a tensor.
bool is_sane(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    if (extent < 1 || __builtin_mul_overflow(count, extent, &count) || count > kMostElements) return false;
  return shape.size() <= kMostRank;
}

std::string expected_result(const Shape& made, const Shape& result) {
  if (made == result) return {};
  return fmt::format("the result has shape {}, but the operands yield {}", to_string(result), to_string(made));
}

std::string window_problem(const LibraryOperation& operation, const Shape& x, const Shape& kernel,
                           std::int64_t channels, const Shape& result) {
  Shape made{x[0], channels};
  for (std::size_t axis = 0; axis < kernel.size(); ++axis)
    made.push_back(positions(x[axis + 2], kernel[axis], operation.strides[axis], operation.dilations[axis],
                             operation.pad_begin[axis] + operation.pad_end[axis]));
  return expected_result(made, result);
}

// An operand of a product after the transposition of its last two axes.
Shape seen(Shape shape, bool transposed) {
  if (transposed) std::swap(shape[shape.size() - 2], shape[shape.size() - 1]);
  return shape;
}

std::string product_problem(const LibraryFacts& facts, const LibraryOperation& operation,
                            const std::vector<Shape>& shapes) {
  const Shape &stored_a = shapes[operation.operands[0]], &stored_b = shapes[operation.operands[1]];
  if (stored_a.size() < 2 || stored_b.size() < 2) return "an operand of the product has fewer than 2 dimensions";
  const Shape a = seen(stored_a, operation.transposed_a), b = seen(stored_b, operation.transposed_b);
  const std::size_t rank = std::max(a.size(), b.size());
  if (a.back() != b[b.size() - 2])
    return fmt::format("the operands have different depths, {} and {}", a.back(), b[b.size() - 2]);
  Shape made(rank);
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    const auto extent = [&](const Shape& shape) {
      return axis + shape.size() < rank ? 1 : shape[axis + shape.size() - rank];
    };
    if (extent(a) != extent(b) && extent(a) != 1 && extent(b) != 1)
      return fmt::format("the leading axes of {} and {} do not match", extent(a), extent(b));
    made[axis] = std::max(extent(a), extent(b));
  }
  made[rank - 2] = a[a.size() - 2];
  made[rank - 1] = b.back();
  if (std::string why = expected_result(made, shapes[operation.result]); !why.empty()) return why;
  if (operation.operands.size() < 3) return {};
  const Shape& addend = shapes[operation.operands[2]];
  if (element_count(addend) != made.back() && (addend != made || !facts.scales))
    return fmt::format("the bias does not have one element per column: {} for {}", to_string(addend), to_string(made));
  if (operation.operands.size() < 4) return {};
  if (!facts.scales) return fmt::format("target {} can add only one tensor to a product", facts.target);
  if (element_count(addend) != made.back())
    return fmt::format("of the two added tensors, the first does not have one element per column: {} for {}",
                       to_string(addend), to_string(made));
  if (const Shape& matrix = shapes[operation.operands[3]]; matrix != made)
    return fmt::format("the added matrix has shape {}, but the result {}", to_string(matrix), to_string(made));
  return {};
}

// What is inconsistent in the shapes of an operation's tensors; empty: nothing.
std::string problem_of(const LibraryFacts& facts, const LibraryOperation& operation, const std::vector<Shape>& shapes) {
  const KindRow& row = row_of(operation.kind);
  const Shape &x = shapes[operation.operands[0]], &result = shapes[operation.result];
  if (row.windows) {
    if (x.size() < 3 || x.size() > 5) return fmt::format("the input has {} axes, but windows need 3 to 5", x.size());
    for (const Shape* list :
         {&operation.strides, &operation.dilations, &operation.pad_begin, &operation.pad_end, &operation.kernel})
      if (list->size() != x.size() - 2 && !(list == &operation.kernel && !row.pools))
        return fmt::format("the windows have {} entries for {} spatial axes", list->size(), x.size() - 2);
  }
  switch (operation.kind) {
    case LibraryKind::convolution: {
      const Shape& weights = shapes[operation.operands[1]];
      if (weights.size() != x.size() || weights[0] % operation.groups != 0 || x[1] % operation.groups != 0 ||
          weights[1] != x[1] / operation.groups)
        return fmt::format("weights of shape {} do not match {} groups of {}", to_string(weights), operation.groups,
                           to_string(x));
      if (operation.operands.size() > 2 && element_count(shapes[operation.operands[2]]) != weights[0])
        return fmt::format("the bias must have one element for each of {} outputs", weights[0]);
      if (operation.operands.size() > 3) {
        if (!facts.convolution_sums) return fmt::format("target {} cannot add a tensor to a convolution", facts.target);
        if (operation.least != 0.0 || operation.most)
          return "the convolution with an added tensor must clamp its results only from below, at 0";
        if (const Shape& added = shapes[operation.operands[3]]; added != result)
          return fmt::format("the added tensor has shape {}, but the result {}", to_string(added), to_string(result));
      }
      return window_problem(operation, x, Shape(weights.begin() + 2, weights.end()), weights[0], result);
    }
    case LibraryKind::product: return product_problem(facts, operation, shapes);
    case LibraryKind::maximum:
    case LibraryKind::average:
    case LibraryKind::average_of_pads: return window_problem(operation, x, operation.kernel, x[1], result);
    case LibraryKind::sum:
      if (shapes[operation.operands[1]] != x) return "the operands have different shapes";
      return expected_result(x, result);
    case LibraryKind::concatenation: {
      if (operation.axis >= x.size())
        return fmt::format("the concatenation is along axis {}, but there are {}", operation.axis, x.size());
      Shape made = x;
      made[operation.axis] = 0;
      for (const std::uint64_t operand : operation.operands) {
        Shape other = shapes[operand];
        if (other.size() != x.size()) return "the operands have different ranks";
        made[operation.axis] += std::exchange(other[operation.axis], x[operation.axis]);
        if (other != x) return "the operands differ in other axes than the concatenated one";
      }
      return expected_result(made, result);
    }
    case LibraryKind::softmax:
    case LibraryKind::log_softmax:
      if (operation.axis >= x.size())
        return fmt::format("the operation is along axis {}, but there are {}", operation.axis, x.size());
      return expected_result(x, result);
  }
  return {};
}

std::string type_problem(const LibraryFacts& facts, const LibraryOperation& operation,
                         const std::vector<DType>& types) {
  if (std::ranges::find(facts.kinds, operation.kind) == facts.kinds.end())
    return fmt::format("target {} does not have this operation", facts.target);
  const bool clamps = operation.least || operation.most;
  if (clamps && facts.clamping != Clamping::any &&
      (operation.least.value_or(-1) != 0 || (operation.most && facts.clamping == Clamping::relu)))
    return fmt::format("target {} cannot clamp to these bounds", facts.target);
  if (!facts.scales && (operation.scale != 1 || operation.addend_scale != 1))
    return fmt::format("target {} cannot scale products", facts.target);
  if (operation.gelu && (!facts.gelu || operation.kind != LibraryKind::product || clamps))
    return fmt::format("target {} has no GELU after this operation", facts.target);
  const DType type = types[operation.operands[0]];
  const bool multiplies = operation.kind == LibraryKind::product || operation.kind == LibraryKind::convolution;
  if (operation.tf32 && (!facts.tf32 || !multiplies || type != DType::float32))
    return fmt::format("target {} cannot round factors of {} to TF32 in this operation", facts.target, name(type));
  const auto all_are = [&](DType expected) {
    return std::ranges::all_of(operation.operands, [&](std::uint64_t operand) { return types[operand] == expected; });
  };
  if (facts.integer_products && operation.kind == LibraryKind::product && operation.operands.size() == 2 &&
      all_are(DType::int8) && types[operation.result] == DType::int32)
    return clamps || operation.gelu || operation.scale != 1
               ? "products of integers are neither clamped nor scaled, and have no GELU after them"
               : "";
  if (std::ranges::find(facts.floats, type) == facts.floats.end() || !all_are(type) || types[operation.result] != type)
    return fmt::format("target {} does not support the operation for {}", facts.target, name(type));
  return {};
}

std::vector<std::string> check_code(const Bundle& bundle, const Step& step, const LibraryCode& code) {
  std::vector<std::string> problems;
  const LibraryFacts& facts = library_facts(step.target);
  for (const auto& list : {step.arguments, step.results})
    for (const TensorIndex index : list)
      if (const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
          facts.floats == std::vector{DType::float32} && tensor.dtype != DType::float32)
        problems.push_back(fmt::format("tensor {} is {}, not float32", tensor.name, name(tensor.dtype)));
  if (!code.inner.empty() && !facts.inner)
    problems.push_back(
        fmt::format("the step keeps tensors between operations, which target {} does not support", facts.target));
  const std::vector<Shape> shapes = tensor_shapes(bundle, step, code);
  const std::vector<DType> types = tensor_types(bundle, step, code);
  for (const Shape& shape : shapes)
    if (!is_sane(shape)) problems.push_back(fmt::format("a tensor has the invalid shape {}", to_string(shape)));
  std::vector<bool> known(shapes.size(), false);
  std::fill_n(known.begin(), step.arguments.size(), true);
  for (std::size_t i = 0; i < code.operations.size() && problems.empty(); ++i) {
    const LibraryOperation& operation = code.operations[i];
    const KindRow& row = row_of(operation.kind);
    const auto bad = [&](const std::string& why) {
      problems.push_back(fmt::format("operation {} ({}): {}", i, row.name, why));
    };
    if (operation.operands.size() < row.least_operands || operation.operands.size() > row.most_operands) {
      bad(fmt::format("{} operands", operation.operands.size()));
      continue;
    }
    for (const std::uint64_t operand : operation.operands)
      if (operand >= shapes.size() || !known[operand])
        bad(fmt::format("an operation reads tensor {} before it is computed", operand));
    if (operation.result >= shapes.size() || known[operation.result])
      bad(fmt::format("an operation computes tensor {}, which is not a result", operation.result));
    if (!problems.empty()) continue;
    if (const std::string why = type_problem(facts, operation, types); !why.empty()) bad(why);
    else if (const std::string why_not = problem_of(facts, operation, shapes); !why_not.empty()) bad(why_not);
    known[operation.result] = true;
  }
  for (std::size_t i = 0; i < step.results.size() && problems.empty(); ++i)
    if (!known[step.arguments.size() + i])
      problems.push_back(fmt::format("no operation computes result {} of the step", i));
  return problems;
}

}  // namespace

const LibraryFacts& library_facts(std::string_view target) {
  using enum LibraryKind;
  static const std::array<LibraryFacts, 3> kFacts{{
      {kOnednnTarget,
       {convolution, product, maximum, average, average_of_pads, sum, concatenation},
       {DType::float32},
       Clamping::any,
       false,
       false,
       false,
       false,
       true,
       false},
      {kCublasTarget,
       {product},
       {DType::float32, DType::float16, DType::bfloat16},
       Clamping::relu,
       true,
       true,
       true,
       false,
       false,
       true},
      {kCudnnTarget,
       {convolution, maximum, average, average_of_pads, softmax, log_softmax},
       {DType::float32, DType::float16, DType::bfloat16},
       Clamping::from_zero,
       false,
       false,
       false,
       true,
       false,
       true},
  }};
  const auto* const found = std::ranges::find(kFacts, target, &LibraryFacts::target);
  DOVETAIL_CHECK(found != kFacts.end(), "the target must be a library");
  return *found;
}

std::int64_t positions(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       std::int64_t pads) {
  const std::int64_t room = extent + pads - ((kernel - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

void encode(const LibraryCode& code, std::string_view target, Step& step) {
  step.target = target;
  Json operations = Json::array();
  for (const LibraryOperation& operation : code.operations) operations.push_back(to_json(operation));
  step.code = json_bytes({{"inner", code.inner}, {"operations", operations}, {"arithmetic", code.arithmetic}});
}

Result<LibraryCode> decode_library(const Step& step) {
  const std::string place = code_place(step);
  DOVETAIL_ASSIGN(const Json json, parse_json(code_text(step), place));
  Diagnostics errors;
  const CheckedJson head(json, {place, "code"}, errors);
  LibraryCode code;
  for (const CheckedJson& shape : head.at("inner").items()) code.inner.push_back(extents(shape, 1));
  for (const CheckedJson& operation : head.at("operations").items())
    code.operations.push_back(read_operation(operation));
  code.arithmetic = head.at("arithmetic").natural();
  if (!errors.empty()) return errors;
  return code;
}

std::vector<Shape> tensor_shapes(const Bundle& bundle, const Step& step, const LibraryCode& code) {
  std::vector<Shape> shapes;
  for (const auto& list : {step.arguments, step.results})
    for (const TensorIndex index : list) shapes.push_back(bundle.tensors[static_cast<std::size_t>(index)].shape);
  shapes.insert(shapes.end(), code.inner.begin(), code.inner.end());
  return shapes;
}

std::vector<DType> tensor_types(const Bundle& bundle, const Step& step, const LibraryCode& code) {
  std::vector<DType> types;
  for (const auto& list : {step.arguments, step.results})
    for (const TensorIndex index : list) types.push_back(bundle.tensors[static_cast<std::size_t>(index)].dtype);
  types.insert(types.end(), code.inner.size(), DType::float32);
  return types;
}

Result<std::vector<CodedStep<LibraryCode>>> library_steps(const Bundle& bundle, std::string_view target) {
  return decode_steps(bundle, target, decode_library,
                      [&](const Step& step, const LibraryCode& code) { return check_code(bundle, step, code); });
}

namespace {

constexpr TargetFacts library_target(std::string_view name, TargetDevice device) {
  return {.name = name,
          .device = device,
          .has_clock = false,
          .takes_leftovers = false,
          .floats_only = true,
          .rounds_freely = always,
          .operations = [](const Step& step) { return decode_library(step).value().arithmetic; },
          .describe = describe_by_size};
}

}  // namespace

constinit const TargetFacts kOnednnFacts = library_target(kOnednnTarget, TargetDevice::processor);
constinit const TargetFacts kCublasFacts = library_target(kCublasTarget, TargetDevice::gpu);
constinit const TargetFacts kCudnnFacts = library_target(kCudnnTarget, TargetDevice::gpu);

}  // namespace dovetail::bundle
