// LSTM, GRU and RNN: rows, attributes, types.
#include "compiler/ops/recurrent.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ops/list.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;
using tensor::like;

// The activation functions of the standard; an absent constant is the default of the operator of that name (for Affine
// and ScaledTanh, of older standards).
struct ActivationRow {
  std::string_view name;
  bool alpha = false, beta = false;
  std::optional<double> default_alpha = {}, default_beta = {};
  Expr (*value)(const Expr& x, const Expr& alpha, const Expr& beta);
};

Expr logistic(const Expr& x) {
  return tensor::divide(like(1, x), like(1, x) + tensor::exponential(tensor::negative(x)));
}

const std::vector<ActivationRow>& activation_rows() {
  static const std::vector<ActivationRow> rows{
      {"affine", true, true, 1, 0, [](const Expr& x, const Expr& a, const Expr& b) { return a * x + b; }},
      {"elu",
       true,
       false,
       1,
       {},
       [](const Expr& x, const Expr& a, const Expr&) {
         return loops::select(tensor::less(x, like(0, x)), a * (tensor::exponential(x) - like(1, x)), x);
       }},
      {"hardsigmoid", true, true, 0.2, 0.5,
       [](const Expr& x, const Expr& a, const Expr& b) { return tensor::clamp(a * x + b, like(0, x), like(1, x)); }},
      {"leakyrelu",
       true,
       false,
       0.01,
       {},
       [](const Expr& x, const Expr& a, const Expr&) { return loops::select(tensor::less(x, like(0, x)), a * x, x); }},
      {"relu",
       false,
       false,
       {},
       {},
       [](const Expr& x, const Expr&, const Expr&) { return tensor::maximum(x, like(0, x)); }},
      {"scaledtanh",
       true,
       true,
       {},
       {},
       [](const Expr& x, const Expr& a, const Expr& b) { return a * loops::unary(loops::UnaryOp::tanh, b * x); }},
      {"sigmoid", false, false, {}, {}, [](const Expr& x, const Expr&, const Expr&) { return logistic(x); }},
      {"softplus",
       false,
       false,
       {},
       {},
       [](const Expr& x, const Expr&, const Expr&) {
         return tensor::maximum(x, like(0, x)) +
                tensor::logarithm(like(1, x) + tensor::exponential(tensor::negative(tensor::absolute(x))));
       }},
      {"softsign",
       false,
       false,
       {},
       {},
       [](const Expr& x, const Expr&, const Expr&) { return tensor::divide(x, like(1, x) + tensor::absolute(x)); }},
      {"tanh",
       false,
       false,
       {},
       {},
       [](const Expr& x, const Expr&, const Expr&) { return loops::unary(loops::UnaryOp::tanh, x); }},
      {"thresholdedrelu",
       true,
       false,
       1,
       {},
       [](const Expr& x, const Expr& a, const Expr&) { return loops::select(tensor::less(x, a), like(0, x), x); }},
  };
  return rows;
}

const ActivationRow* find_activation(std::string_view name) {
  const auto found = std::ranges::find(activation_rows(), name, &ActivationRow::name);
  return found == activation_rows().end() ? nullptr : &*found;
}

std::vector<std::string> default_activations(const RecurrentForm& form) {
  switch (form.cell) {
    case Cell::rnn: return {"Tanh"};
    case Cell::gru: return {"Sigmoid", "Tanh"};
    case Cell::lstm: return {"Sigmoid", "Tanh", "Tanh"};
  }
  return {};
}

template <typename List>
List list_attribute(const Operands& operands, std::string_view name) {
  const auto found = operands.node.attributes.find(std::string(name));
  return found == operands.node.attributes.end() ? List{} : std::get<List>(found->second);
}

// The constants are assigned, in order, to the functions that have parameters.
Result<std::vector<Activation>> activations_of(const Operands& operands, const RecurrentForm& form,
                                               std::int64_t directions) {
  const std::size_t needed = form.activations() * static_cast<std::size_t>(directions);
  auto names = list_attribute<std::vector<std::string>>(operands, "activations");
  if (names.empty())
    for (std::int64_t d = 0; d < directions; ++d)
      std::ranges::copy(default_activations(form), std::back_inserter(names));
  // The default of RNN lists two functions, whatever the direction.
  if (form.cell == Cell::rnn && names.size() == 2) names.resize(needed);
  if (names.size() != needed)
    return refuse(operands,
                  fmt::format("{} activations for {} direction{}, expected {}", names.size(), directions,
                              directions == 1 ? "" : "s", needed),
                  "name the functions of the first direction, then those of the second");
  const auto alphas = list_attribute<std::vector<double>>(operands, "activation_alpha"),
             betas = list_attribute<std::vector<double>>(operands, "activation_beta");
  std::size_t next_alpha = 0, next_beta = 0;
  const auto next = [](const std::vector<double>& values, std::size_t& position, std::optional<double> otherwise) {
    return position < values.size() ? std::optional(values[position++]) : otherwise;
  };
  std::vector<Activation> result;
  for (const std::string& given : names) {
    Activation activation{given};
    std::ranges::transform(given, activation.name.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    const ActivationRow* row = find_activation(activation.name);
    if (row == nullptr)
      return refuse(operands, fmt::format("activation {} is unknown", given),
                    "use Sigmoid, Tanh, Relu or another activation of the standard");
    const std::optional<double> alpha = row->alpha ? next(alphas, next_alpha, row->default_alpha) : 0,
                                beta = row->beta ? next(betas, next_beta, row->default_beta) : 0;
    if (!alpha || !beta)
      return refuse(operands, fmt::format("activation {} lacks its activation_{}", given, alpha ? "beta" : "alpha"),
                    "give the attribute; it has no default");
    activation.alpha = *alpha;
    activation.beta = *beta;
    result.push_back(std::move(activation));
  }
  return result;
}

const RecurrentForm& form_of(const Operands& operands) {
  const auto found = std::ranges::find(kRecurrentForms, operands.node.op, &RecurrentForm::op);
  DOVETAIL_CHECK(found != kRecurrentForms.end(), operands.node.op);
  return *found;
}

// Checks the given shapes against those that follow from `node` and the input's extent.
Result<void> check_shapes(const Operands& operands, const RecurrentNode& node, std::int64_t input) {
  const RecurrentPlaces at = recurrent_places(node.form);
  const std::int64_t d = node.directions, h = node.hidden, columns = node.columns();
  const Shape state = node.batch_first ? Shape{node.batch, d, h} : Shape{d, node.batch, h};
  const std::pair<std::size_t, Shape> expected[] = {
      {at.weights, {d, columns, input}},
      {at.recurrence, node.form.projected ? Shape{d, h, columns} : Shape{d, columns, h}},
      {at.bias, {d, 2 * columns}},
      {at.inner_bias, {d, h}},
      {at.column_sums, {d, columns}},
      {at.lengths, {node.batch}},
      {at.hidden, state},
      {at.cell, state},
      {at.peepholes, {d, 3 * h}}};
  Diagnostics errors;
  for (const auto& [position, shape] : expected)
    if (operands.has(position) && operands.type(position).shape != shape)
      errors.push_back(refuse(operands,
                              fmt::format("input {} has shape {}, expected {}", position,
                                          to_string(operands.type(position).shape), to_string(shape)),
                              "the shapes follow from X, hidden_size, direction and layout"));
  for (const std::size_t position : {at.scale, at.zero_point})
    if (operands.has(position) && operands.type(position).shape != Shape{d} &&
        operands.type(position).shape != Shape{d, columns})
      errors.push_back(refuse(operands,
                              fmt::format("input {} has shape {}", position, to_string(operands.type(position).shape)),
                              fmt::format("expected one per direction, [{}], or per column, [{}, {}]", d, d, columns)));
  if (node.form.projected && input != d * columns)
    errors.push_back(refuse(operands, fmt::format("input 0 has {} columns, expected {}", input, d * columns),
                            "give one column per gate of each direction"));
  return errors;
}

Result<Types> infer_recurrent(const Operands& operands) {
  DOVETAIL_ASSIGN(const RecurrentNode node, recurrent_of(operands));
  const DType dtype = operands.type(0).dtype;
  const std::int64_t t = node.steps, n = node.batch, d = node.directions, h = node.hidden;
  const graph::TensorType state{dtype, node.batch_first ? Shape{n, d, h} : Shape{d, n, h}};
  Types types{{dtype, node.batch_first ? Shape{n, t, d, h} : Shape{t, d, n, h}}, state, state};
  types.resize(operands.node.outputs.size());
  return types;
}

OpDef recurrent(const RecurrentForm& form) {
  constexpr auto integer = AttributeKind::integer, text = AttributeKind::text;
  constexpr auto optional = Presence::optional;
  const bool lstm = form.cell == Cell::lstm;
  Signature signature;
  if (form.dynamic) {
    signature.inputs = {{"XW", kFloat32, 'T'},
                        {"R", kInt8, 'R'},
                        {"R_sums", kInt32},
                        {"R_scale", kFloat32},
                        {"R_zero_point", kInt8, 'R', optional}};
  } else if (form.projected) {
    signature.inputs = {{"XW", kFloat, 'T'}, {"R", kFloat, 'T'}, {"Rbh", kFloat, 'T', optional}};
  } else {
    signature.inputs = {{"X", kFloat, 'T'}, {"W", kFloat, 'T'}, {"R", kFloat, 'T'}, {"B", kFloat, 'T', optional}};
  }
  signature.inputs.push_back({"sequence_lens", kInt32, 0, optional});
  signature.inputs.push_back({"initial_h", kFloat, 'T', optional});
  if (lstm) {
    signature.inputs.push_back({"initial_c", kFloat, 'T', optional});
    signature.inputs.push_back({"P", kFloat, 'T', optional});
  }
  signature.attributes = {{"activation_alpha", AttributeKind::reals},
                          {"activation_beta", AttributeKind::reals},
                          {"activations", AttributeKind::texts},
                          {"clip", AttributeKind::real},
                          {"direction", text},
                          {"hidden_size", integer},
                          {"layout", integer}};
  if (lstm) signature.attributes.push_back({"input_forget", integer});
  if (form.cell == Cell::gru) signature.attributes.push_back({"linear_before_reset", integer});
  signature.max_outputs = lstm ? 3 : 2;
  return {form.op, Category::opaque, infer_recurrent, define_recurrent, {}, std::move(signature)};
}

}  // namespace

Expr Activation::operator()(const Expr& x) const {
  const ActivationRow* row = find_activation(name);
  DOVETAIL_CHECK(row != nullptr, name);
  return row->value(x, like(alpha, x), like(beta, x));
}

Result<RecurrentNode> recurrent_of(const Operands& operands) {
  const RecurrentForm& form = form_of(operands);
  const RecurrentPlaces at = recurrent_places(form);
  const Shape &x = operands.type(0).shape, &r = operands.type(at.recurrence).shape;
  if (x.size() != 3 || r.size() != 3)
    return refuse(operands, fmt::format("X has shape {} and R {}, but both need rank 3", to_string(x), to_string(r)),
                  "X must be [steps, batch, inputs], R [directions, gates * hidden, hidden]");
  RecurrentNode node{form};
  const std::int64_t layout = graph::int_attribute(operands.node, "layout", 0);
  if (layout != 0 && layout != 1)
    return refuse(operands, fmt::format("layout is {}, but must be 0 or 1", layout), "fix the exporter");
  node.batch_first = layout == 1;
  node.steps = x[node.batch_first ? 1 : 0];
  node.batch = x[node.batch_first ? 0 : 1];
  node.hidden = graph::int_attribute(operands.node, "hidden_size", form.projected ? r[1] : r[2]);
  if (node.hidden < 1 || node.hidden != (form.projected ? r[1] : r[2]))
    return refuse(operands, fmt::format("hidden_size is {}, but R has shape {}", node.hidden, to_string(r)),
                  "hidden_size must match R and be at least 1");
  const std::string direction = graph::string_attribute(operands.node, "direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return refuse(operands,
                  fmt::format("direction is \"{}\", but must be forward, reverse or bidirectional", direction),
                  "fix the exporter");
  node.directions = direction == "bidirectional" ? 2 : 1;
  node.backwards = direction == "reverse";
  node.reset_after = graph::int_attribute(operands.node, "linear_before_reset", 0) != 0;
  node.coupled = graph::int_attribute(operands.node, "input_forget", 0) != 0;
  if (operands.node.attributes.contains("clip")) {
    node.clip = graph::float_attribute(operands.node, "clip", 0);
    if (!(*node.clip >= 0))
      return refuse(operands, fmt::format("clip is {}, but must not be negative", *node.clip), "fix the exporter");
  }
  DOVETAIL_ASSIGN(node.activations, activations_of(operands, form, node.directions));
  DOVETAIL_TRY(check_shapes(operands, node, x[2]));
  return node;
}

std::vector<OpDef> recurrent_ops() {
  std::vector<OpDef> rows;
  for (const RecurrentForm& form : kRecurrentForms) rows.push_back(recurrent(form));
  return rows;
}

}  // namespace dovetail::ops
