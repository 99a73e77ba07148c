// The loop program of LSTM, GRU and RNN: in each step, the gates are sums that start with the input's part and add one
// row of R after another; then the state is updated elementwise. State and gates are small buffers, in float32 for
// 16-bit floats. The dynamic form quantizes the state in each step, for an exact product with a matrix R of bytes.
#include <fmt/format.h>

#include "compiler/ops/recurrent.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Buffer;
using loops::Expr;
using tensor::index;

class Recurrence {
 public:
  Recurrence(const Operands& operands, const RecurrentNode& node)
      : operands_(operands),
        node_(node),
        at_(recurrent_places(node.form)),
        dtype_(operands.type(0).dtype),
        wide_(accumulator(dtype_)),
        program_(operands) {}

  loops::Program define() {
    if (!node_.form.projected) project();
    std::vector<Buffer> outputs;
    for (std::size_t i = 0; i < operands_.node.outputs.size(); ++i)
      outputs.push_back(program_.declare(kOutputs[i], dtype_, operands_.output(i).shape));
    for (std::int64_t d = 0; d < node_.directions; ++d) run(d, outputs);
    return program_.finish(outputs);
  }

 private:
  static constexpr const char* kOutputs[] = {"y", "y_hidden", "y_cell"};

  // One direction: the names of its blocks, its state, and the current step.
  struct Direction {
    std::int64_t number;
    std::string prefix;
    Buffer hidden = {}, cell = {}, candidate = {}, reset = {};  // [batch, hidden] each
    Buffer gates = {};                                          // [batch, gates * hidden]
    // For the dynamic form: the state's range, scale, zero point, steps and the sum of the steps; and the products.
    Buffer least = {}, greatest = {}, scale = {}, zero_point = {}, steps = {}, step_sum = {}, sums = {};
    Expr step = {};
  };

  // X·Wᵀ of all steps and directions, [X's first two axes, direction, column].
  void project() {
    const Shape& x = operands_.type(0).shape;
    Axes axes{{node_.batch_first ? "n" : "t", x[0]}, {node_.batch_first ? "t" : "n", x[1]}};
    axes.push_back({"d", node_.directions});
    axes.push_back({"j", node_.columns()});
    projection_ =
        program_.reduce("projection", wide_, axes, {{"k", x[2]}}, tensor::product_sum_reducer(),
                        [&](const Indices& i, const Indices& r) {
                          return loops::cast(wide_, loops::load(program_.in(0), {i[0], i[1], r[0]})) *
                                 loops::cast(wide_, loops::load(program_.in(at_.weights), {i[2], i[3], r[0]}));
                        });
  }

  Axes axes(std::int64_t columns, std::string_view last) const {
    return {{"n", node_.batch}, {std::string(last), columns}};
  }
  Axes state_axes() const { return axes(node_.hidden, "h"); }

  void set(const Direction& d, std::string_view name, const Buffer& buffer, std::int64_t columns,
           const std::function<Expr(const Indices&)>& value) {
    program_.update(d.prefix + std::string(name), {{"n", node_.batch}, {"h", columns}},
                    [&](const Indices& i) { return loops::store(buffer, i, value(i)); });
  }

  // The time index of the step: reversed from the end of each sequence, whose lengths may differ.
  Expr length(const Expr& n) const { return loops::cast(DType::int64, loops::load(program_.in(at_.lengths), {n})); }
  Expr valid(const Direction& d, const Expr& n) const { return tensor::less(d.step, length(n)); }
  Expr time(const Direction& d, const Expr& n) const {
    if (!node_.reverse(d.number)) return d.step;
    if (!operands_.has(at_.lengths)) return index(node_.steps - 1) - d.step;
    return loops::select(valid(d, n), length(n) - 1 - d.step, d.step);
  }
  // `value` within the sequence, `otherwise` after its end.
  Expr within(const Direction& d, const Expr& n, const Expr& value, const Expr& otherwise) const {
    return operands_.has(at_.lengths) ? loops::select(valid(d, n), value, otherwise) : value;
  }

  Expr optional(std::size_t position, const Indices& place) const {
    return operands_.has(position) ? loops::cast(wide_, loops::load(program_.in(position), place))
                                   : loops::constant(0, wide_);
  }
  Expr initial(std::size_t position, std::int64_t d, const Indices& i) const {
    return optional(position, node_.batch_first ? Indices{i[0], index(d), i[1]} : Indices{index(d), i[0], i[1]});
  }

  // The input's contribution to a column of the gates, with its biases; the second bias may be added elsewhere.
  enum class Biases : std::uint8_t { both, first };
  Expr from_input(const Direction& d, const Expr& n, const Expr& column, Biases biases = Biases::both) const {
    const Expr t = time(d, n);
    Indices place{node_.batch_first ? n : t, node_.batch_first ? t : n};
    if (node_.form.projected) {
      place.push_back(column + d.number * node_.columns());
      return loops::cast(wide_, loops::load(program_.in(0), place));
    }
    place.push_back(index(d.number));
    place.push_back(column);
    const Expr sum = loops::load(projection_, place);
    if (!operands_.has(at_.bias)) return sum;
    const auto bias = [&](const Expr& at) {
      return loops::cast(wide_, loops::load(program_.in(at_.bias), {index(d.number), at}));
    };
    return sum + (biases == Biases::first ? bias(column) : bias(column) + bias(column + node_.columns()));
  }

  Expr weight(const Direction& d, const Expr& row, const Expr& column) const {
    const Indices place =
        node_.form.projected ? Indices{index(d.number), row, column} : Indices{index(d.number), column, row};
    return loops::cast(wide_, loops::load(program_.in(at_.recurrence), place));
  }
  void add_product(const Direction& d, std::string_view name, const Buffer& sums, const Buffer& state,
                   std::int64_t first_column) {
    program_.accumulate(
        d.prefix + std::string(name), sums, axes(sums->shape[1], "j"), {"k", node_.hidden},
        [&](const Indices& i, const Expr& k) {
          return loops::load(state, {i[0], k}) * weight(d, k, first_column == 0 ? i[1] : i[1] + first_column);
        });
  }

  // The product with R in the dynamic form: exact in integers, then scaled and added. With the zero points z of the
  // state's steps s and w of R, sum (s - z) (R - w) = sum s R - z sum R - w sum (s - z): the first sum consists of
  // products of bytes.
  void add_dynamic_product(const Direction& d) {
    const std::int64_t h = node_.hidden, columns = node_.columns();
    const auto one = [&](std::string_view name, const Buffer& buffer, const Expr& value) {
      program_.update(d.prefix + std::string(name), {{"one", 1}},
                      [&](const Indices& i) { return loops::store(buffer, i, value); });
    };
    const auto at_0 = [](const Buffer& buffer) { return loops::load(buffer, {index(0)}); };
    const auto real = [](double value) { return loops::constant(value, DType::float32); };
    const auto integer = [](std::int64_t value) { return loops::int_imm(value, DType::int32); };
    const auto extreme = [&](std::string_view name, const Buffer& buffer, loops::BinaryOp combine) {
      one(fmt::format("{}_start", name), buffer, real(0));
      program_.update(d.prefix + std::string(name),
                      {{"n", node_.batch, loops::IterKind::reduce}, {"h", h, loops::IterKind::reduce}},
                      [&](const Indices& i) {
                        const Expr value = loops::binary(combine, at_0(buffer), loops::load(d.hidden, i));
                        return loops::store(buffer, {index(0)}, value);
                      });
    };
    extreme("least", d.least, loops::BinaryOp::min);
    extreme("greatest", d.greatest, loops::BinaryOp::max);
    const auto steps = [](const Expr& value) {
      return loops::cast(DType::int32, loops::unary(loops::UnaryOp::round_even, value));
    };
    const Expr range = at_0(d.greatest) - at_0(d.least);
    one("scale", d.scale, loops::select(tensor::equal(range, real(0)), real(1), tensor::divide(range, real(255))));
    one("zero_point", d.zero_point,
        tensor::clamp(steps(tensor::divide(real(0) - at_0(d.least), at_0(d.scale))), integer(0), integer(255)));
    set(d, "steps", d.steps, h, [&](const Indices& i) {
      const Expr step = steps(tensor::divide(loops::load(d.hidden, i), at_0(d.scale))) + at_0(d.zero_point);
      return loops::cast(DType::uint8, tensor::clamp(step, integer(0), integer(255)));
    });
    const auto wide = [](const Expr& value) { return loops::cast(DType::int32, value); };
    // One value per direction, or one per column.
    const auto of_column = [&](std::size_t position, const Expr& column) {
      const Buffer& buffer = program_.in(position);
      return buffer->shape.size() == 1 ? loops::load(buffer, {index(d.number)})
                                       : loops::load(buffer, {index(d.number), column});
    };
    if (operands_.has(at_.zero_point)) {
      program_.update(d.prefix + "step_sum_start", {{"n", node_.batch}},
                      [&](const Indices& i) { return loops::store(d.step_sum, i, integer(-h) * at_0(d.zero_point)); });
      program_.update(d.prefix + "step_sum", {{"n", node_.batch}, {"h", h, loops::IterKind::reduce}},
                      [&](const Indices& i) {
                        const Expr sum = loops::load(d.step_sum, {i[0]});
                        return loops::store(d.step_sum, {i[0]}, sum + wide(loops::load(d.steps, i)));
                      });
    }
    set(d, "sums_start", d.sums, columns, [&](const Indices& i) {
      const Expr column = loops::load(program_.in(at_.column_sums), {index(d.number), i[1]});
      const Expr start = integer(0) - at_0(d.zero_point) * column;
      if (!operands_.has(at_.zero_point)) return start;
      return start - wide(of_column(at_.zero_point, i[1])) * loops::load(d.step_sum, {i[0]});
    });
    program_.accumulate(d.prefix + "sums", d.sums, axes(columns, "j"), {"k", h}, [&](const Indices& i, const Expr& k) {
      return wide(loops::load(d.steps, {i[0], k})) *
             wide(loops::load(program_.in(at_.recurrence), {index(d.number), k, i[1]}));
    });
    set(d, "gates_sum", d.gates, columns, [&](const Indices& i) {
      const Expr scale = at_0(d.scale) * of_column(at_.scale, i[1]);
      return loops::load(d.gates, i) + loops::cast(DType::float32, loops::load(d.sums, i)) * scale;
    });
  }

  Expr activate(const Direction& d, std::size_t which, const Expr& x) const {
    const Expr clipped = node_.clip ? tensor::clamp(x, tensor::like(-*node_.clip, x), tensor::like(*node_.clip, x)) : x;
    return node_.activations[static_cast<std::size_t>(d.number) * node_.form.activations() + which](clipped);
  }
  Expr gate(const Direction& d, const Indices& i, std::int64_t number) const {
    return loops::load(d.gates, {i[0], number == 0 ? i[1] : i[1] + number * node_.hidden});
  }

  void rnn_step(const Direction& d) {
    set(d, "gates_start", d.gates, node_.hidden, [&](const Indices& i) { return from_input(d, i[0], i[1]); });
    add_product(d, "gates_sum", d.gates, d.hidden, 0);
    set(d, "state", d.hidden, node_.hidden,
        [&](const Indices& i) { return within(d, i[0], activate(d, 0, gate(d, i, 0)), loops::load(d.hidden, i)); });
  }

  // Columns: update, reset, candidate.
  void gru_step(const Direction& d) {
    const std::int64_t h = node_.hidden;
    const auto candidate_input = [&](const Indices& i) {
      return from_input(d, i[0], i[1] + 2 * h, node_.reset_after ? Biases::first : Biases::both);
    };
    set(d, "gates_start", d.gates, 2 * h, [&](const Indices& i) { return from_input(d, i[0], i[1]); });
    add_product(d, "gates_sum", d.gates, d.hidden, 0);
    const auto reset = [&](const Indices& i) { return activate(d, 0, gate(d, i, 1)); };
    if (node_.reset_after) {
      set(d, "candidate_start", d.candidate, h, [&](const Indices& i) {
        return node_.form.projected ? optional(at_.inner_bias, {index(d.number), i[1]})
                                    : optional(at_.bias, {index(d.number), i[1] + (node_.columns() + 2 * h)});
      });
      add_product(d, "candidate_sum", d.candidate, d.hidden, 2 * h);
    } else {
      set(d, "reset", d.reset, h, [&](const Indices& i) { return reset(i) * loops::load(d.hidden, i); });
      set(d, "candidate_start", d.candidate, h, candidate_input);
      add_product(d, "candidate_sum", d.candidate, d.reset, 2 * h);
    }
    set(d, "state", d.hidden, h, [&](const Indices& i) {
      const Expr sum = loops::load(d.candidate, i);
      const Expr candidate = activate(d, 1, node_.reset_after ? candidate_input(i) + reset(i) * sum : sum);
      const Expr update = activate(d, 0, gate(d, i, 0)), before = loops::load(d.hidden, i);
      return within(d, i[0], (tensor::like(1, update) - update) * candidate + update * before, before);
    });
  }

  // Columns: input, output, forget, cell.
  void lstm_step(const Direction& d) {
    const std::int64_t h = node_.hidden;
    const auto peep = [&](const Expr& sum, std::int64_t number, const Indices& i) {
      if (!operands_.has(at_.peepholes)) return sum;
      return sum + optional(at_.peepholes, {index(d.number), i[1] + number * h}) * loops::load(d.cell, i);
    };
    set(d, "gates_start", d.gates, 4 * h, [&](const Indices& i) { return from_input(d, i[0], i[1]); });
    node_.form.dynamic ? add_dynamic_product(d) : add_product(d, "gates_sum", d.gates, d.hidden, 0);
    set(d, "cell_state", d.cell, h, [&](const Indices& i) {
      const Expr in = activate(d, 0, peep(gate(d, i, 0), 0, i)), before = loops::load(d.cell, i);
      const Expr forget = node_.coupled ? tensor::like(1, in) - in : activate(d, 0, peep(gate(d, i, 2), 2, i));
      return within(d, i[0], forget * before + in * activate(d, 1, gate(d, i, 3)), before);
    });
    set(d, "state", d.hidden, h, [&](const Indices& i) {
      const Expr out = activate(d, 0, peep(gate(d, i, 1), 1, i));
      return within(d, i[0], out * activate(d, 2, loops::load(d.cell, i)), loops::load(d.hidden, i));
    });
  }

  void run(std::int64_t number, const std::vector<Buffer>& outputs) {
    Direction d{number, node_.directions == 1 ? "" : number == 0 ? "forward_" : "backward_"};
    const Shape state{node_.batch, node_.hidden};
    const auto declare = [&](const char* name, std::int64_t columns) {
      return program_.declare(d.prefix + name, wide_, {node_.batch, columns});
    };
    d.hidden = declare("hidden", node_.hidden);
    if (node_.form.cell == Cell::lstm) d.cell = declare("cell", node_.hidden);
    d.gates = declare("gates", (node_.form.cell == Cell::gru ? 2 : node_.form.gates()) * node_.hidden);
    if (node_.form.cell == Cell::gru) d.candidate = declare("candidate", node_.hidden);
    if (node_.form.cell == Cell::gru && !node_.reset_after) d.reset = declare("reset_state", node_.hidden);

    if (node_.form.dynamic) {
      for (const auto& [buffer, name] :
           {std::pair{&d.least, "least"}, {&d.greatest, "greatest"}, {&d.scale, "state_scale"}})
        *buffer = program_.declare(d.prefix + name, DType::float32, {1});
      d.zero_point = program_.declare(d.prefix + "state_zero_point", DType::int32, {1});
      d.steps = program_.declare(d.prefix + "state_steps", DType::uint8, {node_.batch, node_.hidden});
      if (operands_.has(at_.zero_point))
        d.step_sum = program_.declare(d.prefix + "step_sum", DType::int32, {node_.batch});
      d.sums = program_.declare(d.prefix + "sums", DType::int32, {node_.batch, node_.columns()});
    }

    set(d, "hidden_start", d.hidden, node_.hidden, [&](const Indices& i) { return initial(at_.hidden, number, i); });
    if (d.cell)
      set(d, "cell_start", d.cell, node_.hidden, [&](const Indices& i) { return initial(at_.cell, number, i); });
    program_.in_order({d.prefix + "steps.t", node_.steps}, [&](const Expr& step) {
      d.step = step;
      switch (node_.form.cell) {
        case Cell::rnn: rnn_step(d); break;
        case Cell::gru: gru_step(d); break;
        case Cell::lstm: lstm_step(d); break;
      }
      program_.update(d.prefix + "result", {{"n", node_.batch}, {"h", node_.hidden}}, [&](const Indices& i) {
        const Expr t = time(d, i[0]), value = loops::cast(dtype_, loops::load(d.hidden, i));
        const Indices place =
            node_.batch_first ? Indices{i[0], t, index(number), i[1]} : Indices{t, index(number), i[0], i[1]};
        return loops::store(outputs[0], place, within(d, i[0], value, tensor::like(0, value)));
      });
    });
    const Buffer* states[] = {&d.hidden, &d.cell};
    for (std::size_t i = 1; i < outputs.size(); ++i)
      program_.update(
          d.prefix + kOutputs[i] + "_end", {{"n", node_.batch}, {"h", node_.hidden}}, [&](const Indices& at) {
            const Indices place =
                node_.batch_first ? Indices{at[0], index(number), at[1]} : Indices{index(number), at[0], at[1]};
            return loops::store(outputs[i], place, loops::cast(dtype_, loops::load(*states[i - 1], at)));
          });
  }

  const Operands& operands_;
  const RecurrentNode& node_;
  const RecurrentPlaces at_;
  const DType dtype_, wide_;
  Naive program_;
  Buffer projection_;
};

}  // namespace

Result<loops::Program> define_recurrent(const Operands& operands) {
  DOVETAIL_ASSIGN(const RecurrentNode node, recurrent_of(operands));
  return Recurrence(operands, node).define();
}

}  // namespace dovetail::ops
