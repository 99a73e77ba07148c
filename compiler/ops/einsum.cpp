// Einsum: the sum of products given by an equation such as "bij,bjk->bik". Letters are axes; axes absent from the
// result are summed over; an ellipsis stands for the axes without letters, which broadcast.
#include "compiler/ops/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

std::string ellipsis_label(std::size_t from_last) { return fmt::format("dots{}", from_last); }

// The labels of one term; an ellipsis stands for `dots` axes. Nothing if the term is malformed.
std::optional<Labels> labels_of(std::string_view term, std::size_t dots) {
  Labels labels;
  bool seen = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (is_letter(term[i])) {
      labels.emplace_back(1, term[i]);
    } else if (term.substr(i, 3) == "..." && !seen) {
      for (std::size_t k = dots; k-- > 0;) labels.push_back(ellipsis_label(k));
      seen = true;
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == at) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

class Parser {
 public:
  explicit Parser(const Operands& operands) : operands_(operands) {
    for (const char c : graph::string_attribute(operands.node, "equation", ""))
      if (c != ' ') text_ += c;
  }

  Result<Equation> run() {
    const std::size_t arrow = text_.find("->");
    const std::vector<std::string> terms = split(text_.substr(0, arrow), ',');
    if (terms.size() != operands_.count())
      return refused(fmt::format("the equation has {} terms, but the node {} inputs", terms.size(), operands_.count()));
    for (std::size_t i = 0; i < terms.size(); ++i) DOVETAIL_TRY(read_term(terms[i], i));
    if (arrow == std::string::npos) {
      implicit_output(terms);
    } else {
      const auto labels = labels_of(text_.substr(arrow + 2), most_dots_);
      if (!labels) return refused("the output term must consist of letters and at most one ellipsis");
      equation_.output = *labels;
    }
    Labels seen = equation_.output;
    std::ranges::sort(seen);
    if (std::ranges::adjacent_find(seen) != seen.end()) return refused("a letter occurs twice in the output term");
    for (const std::string& label : seen)
      if (!equation_.extents.contains(label)) return refused(fmt::format("{} is only in the output term", label));
    return std::move(equation_);
  }

 private:
  Diagnostic refused(const std::string& why) const {
    return refuse(operands_, fmt::format("equation \"{}\": {}", text_, why), "fix the exporter");
  }

  Result<void> read_term(const std::string& term, std::size_t input) {
    const Shape& shape = operands_.type(input).shape;
    const auto letters = static_cast<std::size_t>(std::ranges::count_if(term, is_letter));
    const bool has_dots = term.find("...") != std::string::npos;
    if (letters > shape.size() || (!has_dots && letters != shape.size()))
      return refused(
          fmt::format("term {} names {} axes, but input {} has shape {}", term, letters, input, to_string(shape)));
    const std::size_t dots = shape.size() - letters;
    most_dots_ = std::max(most_dots_, dots);
    const auto labels = labels_of(term, dots);
    if (!labels) return refused(fmt::format("term {} must consist of letters and at most one ellipsis", term));
    for (std::size_t axis = 0; axis < labels->size(); ++axis) {
      std::int64_t& extent = equation_.extents.try_emplace((*labels)[axis], 1).first->second;
      if (extent != shape[axis] && extent != 1 && shape[axis] != 1)
        return refused(fmt::format("{} has two extents, {} and {}", (*labels)[axis], extent, shape[axis]));
      if (extent == 1) extent = shape[axis];
    }
    equation_.inputs.push_back(*labels);
    return {};
  }

  // The ellipsis, then the letters that occur once, in alphabetical order.
  void implicit_output(const std::vector<std::string>& terms) {
    for (std::size_t k = most_dots_; k-- > 0;) equation_.output.push_back(ellipsis_label(k));
    std::map<char, int> uses;
    for (const std::string& term : terms)
      for (const char c : term)
        if (is_letter(c)) ++uses[c];
    for (const auto& [letter, count] : uses)
      if (count == 1) equation_.output.emplace_back(1, letter);
  }

  const Operands& operands_;
  std::string text_;
  Equation equation_;
  std::size_t most_dots_ = 0;
};

}  // namespace

Labels Equation::summed() const {
  Labels labels;
  for (const auto& [label, extent] : extents)
    if (std::ranges::find(output, label) == output.end()) labels.push_back(label);
  return labels;
}

Result<Equation> equation_of(const Operands& operands) { return Parser(operands).run(); }

namespace {

Axes axes_of(const Equation& equation, const Labels& labels) {
  Axes axes;
  for (const std::string& label : labels) axes.push_back({label, equation.extents.at(label)});
  return axes;
}

Result<Types> infer_einsum(const Operands& operands) {
  DOVETAIL_ASSIGN(const Equation equation, equation_of(operands));
  Shape shape;
  for (const std::string& label : equation.output) shape.push_back(equation.extents.at(label));
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

Result<loops::Program> define_einsum(const Operands& operands) {
  DOVETAIL_ASSIGN(const Equation equation, equation_of(operands));
  const Labels summed = equation.summed();
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  Naive program(operands);
  const auto product = [&](const Indices& i, const Indices& r) {
    const auto index_of = [&](const std::string& label) {
      const auto at = std::ranges::find(equation.output, label);
      if (at != equation.output.end()) return i[static_cast<std::size_t>(at - equation.output.begin())];
      return r[static_cast<std::size_t>(std::ranges::find(summed, label) - summed.begin())];
    };
    Expr value;
    for (std::size_t input = 0; input < equation.inputs.size(); ++input) {
      Indices indices;
      for (std::size_t axis = 0; axis < equation.inputs[input].size(); ++axis)
        indices.push_back(operands.type(input).shape[axis] == 1 ? tensor::index(0)
                                                                : index_of(equation.inputs[input][axis]));
      const Expr factor = loops::cast(wide, loops::load(program.in(input), indices));
      value = value ? value * factor : factor;
    }
    return value;
  };
  const Axes axes = axes_of(equation, equation.output);
  if (summed.empty())
    return program.finish({program.compute(program.block(), dtype, axes,
                                           [&](const Indices& i) { return loops::cast(dtype, product(i, {})); })});
  const tensor::Reducer& reducer = operands.count() > 1 ? tensor::product_sum_reducer() : tensor::sum_reducer();
  const loops::Buffer sum = program.reduce(program.block(), wide, axes, axes_of(equation, summed), reducer, product);
  if (wide == dtype) return program.finish({sum});
  return program.finish({program.compute("narrow", dtype, axes,
                                         [&](const Indices& i) { return loops::cast(dtype, loops::load(sum, i)); })});
}

}  // namespace

std::vector<OpDef> einsum_ops() {
  return {{"Einsum",
           Category::opaque,
           infer_einsum,
           define_einsum,
           {},
           {{{"Inputs", kNumber, 'T', Presence::variadic}}, {{"equation", AttributeKind::text, Presence::required}}}}};
}

}  // namespace dovetail::ops
