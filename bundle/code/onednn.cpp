#include "bundle/code/onednn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "bundle/checked_json.h"
#include "bundle/code/text.h"

namespace dovetail::bundle {

namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 31, kMostElements = std::int64_t{1} << 40;
constexpr std::size_t kMostRank = 12;  // DNNL_MAX_NDIMS

struct KindRow {
  OnednnKind kind;
  std::string_view name;
  std::size_t least_operands, most_operands;
  bool windows, pools;
};
// clang-format off
constexpr std::array<KindRow, 7> kKinds{{
    {OnednnKind::convolution,     "convolution",     2, 3,    true,  false},
    {OnednnKind::product,         "product",         2, 3,    false, false},
    {OnednnKind::maximum,         "maximum",         1, 1,    true,  true},
    {OnednnKind::average,         "average",         1, 1,    true,  true},
    {OnednnKind::average_of_pads, "average_of_pads", 1, 1,    true,  true},
    {OnednnKind::sum,             "sum",             2, 2,    false, false},
    {OnednnKind::concatenation,   "concatenation",   1, 4096, false, false},
}};
// clang-format on

const KindRow& row_of(OnednnKind kind) { return *std::ranges::find(kKinds, kind, &KindRow::kind); }

Json to_json(const OnednnOperation& operation) {
  Json json{{"kind", row_of(operation.kind).name}, {"operands", operation.operands}, {"result", operation.result}};
  if (row_of(operation.kind).windows)
    json["windows"] = {{"strides", operation.strides},
                       {"dilations", operation.dilations},
                       {"pad_begin", operation.pad_begin},
                       {"pad_end", operation.pad_end}};
  if (row_of(operation.kind).pools) json["windows"]["kernel"] = operation.kernel;
  if (operation.kind == OnednnKind::convolution) json["groups"] = operation.groups;
  if (operation.kind == OnednnKind::concatenation) json["axis"] = operation.axis;
  if (operation.transposed_a) json["transposed_a"] = true;
  if (operation.transposed_b) json["transposed_b"] = true;
  if (operation.least) json["least"] = *operation.least;
  if (operation.most) json["most"] = *operation.most;
  return json;
}

Shape extents(const CheckedJson& json, std::int64_t least) {
  Shape shape;
  for (const CheckedJson& extent : json.items()) shape.push_back(extent.integer(least, kMostExtent));
  if (shape.size() > kMostRank) json.fail(fmt::format("{} extents, the most is {}", shape.size(), kMostRank));
  return shape;
}

std::optional<double> bound(const CheckedJson& operation, std::string_view key) {
  const auto found = operation.find(key);
  if (!found) return std::nullopt;
  if (!found->json().is_number()) {
    found->fail("it is no number");
    return std::nullopt;
  }
  return found->json().get<double>();
}

OnednnOperation read_operation(const CheckedJson& json) {
  OnednnOperation operation;
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
  if (operation.kind == OnednnKind::convolution) operation.groups = json.at("groups").integer(1, kMostExtent);
  if (operation.kind == OnednnKind::concatenation) operation.axis = json.at("axis").natural(kMostRank - 1);
  if (const auto flag = json.find("transposed_a")) operation.transposed_a = flag->flag();
  if (const auto flag = json.find("transposed_b")) operation.transposed_b = flag->flag();
  operation.least = bound(json, "least");
  operation.most = bound(json, "most");
  return operation;
}

// Whether the element count is one that a tensor can have.
bool is_sane(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    if (extent < 1 || __builtin_mul_overflow(count, extent, &count) || count > kMostElements) return false;
  return shape.size() <= kMostRank;
}

// What the shapes of its tensors say against an operation; empty: nothing.
std::string problem_of(const OnednnOperation& operation, const std::vector<Shape>& shapes) {
  const KindRow& row = row_of(operation.kind);
  const Shape& x = shapes[operation.operands[0]];
  if (row.windows) {
    if (x.size() < 3 || x.size() > 5) return fmt::format("its input has {} axes, windows take 3 to 5", x.size());
    for (const Shape* list :
         {&operation.strides, &operation.dilations, &operation.pad_begin, &operation.pad_end, &operation.kernel})
      if (list->size() != x.size() - 2 && !(list == &operation.kernel && !row.pools))
        return fmt::format("its windows have {} entries for {} spatial axes", list->size(), x.size() - 2);
  }
  const auto bias_is = [&](std::int64_t channels) {
    return operation.operands.size() < 3 || element_count(shapes[operation.operands[2]]) == channels;
  };
  if (operation.kind == OnednnKind::convolution) {
    const Shape& weights = shapes[operation.operands[1]];
    if (weights.size() != x.size() || weights[0] % operation.groups != 0 || x[1] % operation.groups != 0)
      return fmt::format("weights of shape {} do not fit {} groups of {}", to_string(weights), operation.groups,
                         to_string(x));
    if (!bias_is(weights[0])) return fmt::format("its bias is not one of {} outputs", weights[0]);
  }
  if (operation.kind == OnednnKind::product) {
    const Shape& b = shapes[operation.operands[1]];
    if (x.size() < 2 || b.size() < 2) return "an operand of its product has fewer than 2 axes";
    if (!bias_is(b[b.size() - (operation.transposed_b ? 2 : 1)])) return "its bias is not one of its columns";
  }
  if (operation.kind == OnednnKind::concatenation && operation.axis >= x.size())
    return fmt::format("it joins along axis {} of {}", operation.axis, x.size());
  return {};
}

std::vector<std::string> check_code(const Bundle& bundle, const Step& step, const OnednnCode& code) {
  std::vector<std::string> problems;
  for (const auto& list : {step.arguments, step.results})
    for (const TensorIndex index : list)
      if (const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)]; tensor.dtype != DType::float32)
        problems.push_back(fmt::format("tensor {} is {}, not float32", tensor.name, name(tensor.dtype)));
  const std::vector<Shape> shapes = tensor_shapes(bundle, step, code);
  for (const Shape& shape : shapes)
    if (!is_sane(shape)) problems.push_back(fmt::format("a tensor has the shape {}", to_string(shape)));
  std::vector<bool> known(shapes.size(), false);
  std::fill_n(known.begin(), step.arguments.size(), true);
  for (std::size_t i = 0; i < code.operations.size() && problems.empty(); ++i) {
    const OnednnOperation& operation = code.operations[i];
    const KindRow& row = row_of(operation.kind);
    const auto bad = [&](const std::string& why) {
      problems.push_back(fmt::format("operation {} ({}): {}", i, row.name, why));
    };
    if (operation.operands.size() < row.least_operands || operation.operands.size() > row.most_operands) {
      bad(fmt::format("{} operands", operation.operands.size()));
      continue;
    }
    for (const std::uint64_t operand : operation.operands)
      if (operand >= shapes.size() || !known[operand]) bad(fmt::format("it reads tensor {} too early", operand));
    if (operation.result >= shapes.size() || known[operation.result])
      bad(fmt::format("it computes tensor {}, which is no result of its own", operation.result));
    if (!problems.empty()) continue;
    if (const std::string why = problem_of(operation, shapes); !why.empty()) bad(why);
    known[operation.result] = true;
  }
  for (std::size_t i = 0; i < step.results.size() && problems.empty(); ++i)
    if (!known[step.arguments.size() + i]) problems.push_back(fmt::format("nothing computes its result {}", i));
  return problems;
}

}  // namespace

void encode(const OnednnCode& code, Step& step) {
  step.target = kOnednnTarget;
  Json operations = Json::array();
  for (const OnednnOperation& operation : code.operations) operations.push_back(to_json(operation));
  step.code = json_bytes({{"inner", code.inner}, {"operations", operations}, {"arithmetic", code.arithmetic}});
}

Result<OnednnCode> decode_onednn(const Step& step) {
  const std::string place = code_place(step);
  DOVETAIL_ASSIGN(const Json json, parse_json(code_text(step), place));
  Diagnostics errors;
  const CheckedJson head(json, {place, "code"}, errors);
  OnednnCode code;
  for (const CheckedJson& shape : head.at("inner").items()) code.inner.push_back(extents(shape, 1));
  for (const CheckedJson& operation : head.at("operations").items())
    code.operations.push_back(read_operation(operation));
  code.arithmetic = head.at("arithmetic").natural();
  if (!errors.empty()) return errors;
  return code;
}

std::vector<Shape> tensor_shapes(const Bundle& bundle, const Step& step, const OnednnCode& code) {
  std::vector<Shape> shapes;
  for (const auto& list : {step.arguments, step.results})
    for (const TensorIndex index : list) shapes.push_back(bundle.tensors[static_cast<std::size_t>(index)].shape);
  shapes.insert(shapes.end(), code.inner.begin(), code.inner.end());
  return shapes;
}

Result<std::vector<CodedStep<OnednnCode>>> onednn_steps(const Bundle& bundle) {
  return decode_steps(bundle, kOnednnTarget, decode_onednn,
                      [&](const Step& step, const OnednnCode& code) { return check_code(bundle, step, code); });
}

}  // namespace dovetail::bundle
