// LSTM, GRU and RNN, and their forms whose input was already multiplied by W (dovetail.lstm, dovetail.gru,
// dovetail.rnn; dovetail.dynamic_lstm with weights of bytes): the description of a node shared by rows, definition and
// the pass that splits them. Names follow the ONNX operator reference (LSTM).
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ops/naive.h"

namespace dovetail::ops {

enum class Cell : std::uint8_t { rnn, gru, lstm };

struct RecurrentForm {
  std::string_view op;
  Cell cell;
  // Input 0 is X·Wᵀ plus all biases except `inner_bias`, as [.., .., directions * gates * hidden]; R is stored as
  // [directions, hidden, gates * hidden].
  bool projected;
  // R consists of signed bytes, and each step quantizes the state to uint8 by the range of its values, like
  // DynamicQuantizeLinear: their product is exact.
  bool dynamic = false;

  std::int64_t gates() const { return cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4; }
  std::size_t activations() const { return cell == Cell::rnn ? 1 : cell == Cell::gru ? 2 : 3; }
};
inline constexpr std::array<RecurrentForm, 7> kRecurrentForms{{{"LSTM", Cell::lstm, false},
                                                               {"GRU", Cell::gru, false},
                                                               {"RNN", Cell::rnn, false},
                                                               {"dovetail.lstm", Cell::lstm, true},
                                                               {"dovetail.gru", Cell::gru, true},
                                                               {"dovetail.rnn", Cell::rnn, true},
                                                               {"dovetail.dynamic_lstm", Cell::lstm, true, true}}};

// Whether nodes of this operator round floats to integers between their steps.
constexpr bool quantizes_state(std::string_view op) {
  for (const RecurrentForm& form : kRecurrentForms)
    if (form.op == op) return form.dynamic;
  return false;
}

constexpr std::size_t kNoOperand = 99;
// Positions of the operands.
struct RecurrentPlaces {
  std::size_t input = 0, weights, recurrence, bias, lengths, hidden, cell, peepholes;
  // Projected forms: the bias of a GRU's candidate, inside the product with the reset gate.
  std::size_t inner_bias;
  // Dynamic form: the sums of R's columns; scale and zero point of R, one per direction, or one per direction and
  // column.
  std::size_t column_sums = kNoOperand, scale = kNoOperand, zero_point = kNoOperand;
};
constexpr RecurrentPlaces recurrent_places(const RecurrentForm& form) {
  if (form.dynamic) return {0, kNoOperand, 1, kNoOperand, 5, 6, 7, 8, kNoOperand, 2, 3, 4};
  return form.projected ? RecurrentPlaces{0, kNoOperand, 1, kNoOperand, 3, 4, 5, 6, 2}
                        : RecurrentPlaces{0, 1, 2, 3, 4, 5, 6, 7, kNoOperand};
}

// An activation function by its ONNX name, with its constants.
struct Activation {
  std::string name;  // in lower case
  double alpha = 0, beta = 0;

  loops::Expr operator()(const loops::Expr& x) const;
};

struct RecurrentNode {
  RecurrentForm form;
  std::int64_t steps = 0, batch = 0, hidden = 0, directions = 1;
  bool batch_first = false;  // layout 1
  bool backwards = false;    // direction "reverse", or the second of two directions
  bool reset_after = false;  // GRU: linear_before_reset
  bool coupled = false;      // LSTM: input_forget
  std::optional<double> clip = {};
  std::vector<Activation> activations = {};  // one direction after the other

  bool reverse(std::int64_t direction) const { return backwards || direction == 1; }
  std::int64_t columns() const { return form.gates() * hidden; }  // per direction
};

// The node's attributes and shapes, or everything wrong with them. Precondition: its op is one of the forms.
Result<RecurrentNode> recurrent_of(const Operands& operands);

// The loop program: the recurrence over time, with the state in separate buffers.
Result<loops::Program> define_recurrent(const Operands& operands);

}  // namespace dovetail::ops
