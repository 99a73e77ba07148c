// Energy of an on-chip memory by its size and word width: a formula fitted to data points for memories with one read
// and one write port.
#pragma once

#include <array>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace dovetail::explore {

struct SramPoint {
  double bytes = 0, word_bits = 0;
  double read_pj = 0, write_pj = 0, leakage_mw = 0;
  bool operator==(const SramPoint&) const = default;
};

// c0 * w + c1 * sqrt(n) + c2 * w * sqrt(n) + c3 * n for n bits in words of w: the cells of a word, decoders and wires
// along one edge, the wires of a word across the array, and a share for each cell. No coefficient is negative, so that
// more bits and wider words never cost less.
struct SramFit {
  std::array<double, 4> coefficients{};
  double mean_error = 0, worst_error = 0;  // relative errors of the points
  bool operator==(const SramFit&) const = default;

  double at(double bits, double word_bits) const;
};

struct SramModel {
  std::vector<SramPoint> points;
  // Wider words are divided over several macros next to each other. A single array with few rows of thousands of bits
  // is not realistic, and costs several times as much.
  double macro_bits = 256;
  SramFit read{}, write{}, leakage{};
  bool operator==(const SramModel&) const = default;

  double read_pj(double bits, double word_bits) const { return split(read, bits, word_bits); }
  double write_pj(double bits, double word_bits) const { return split(write, bits, word_bits); }
  double leakage_mw(double bits, double word_bits) const { return split(leakage, bits, word_bits); }

 private:
  double split(const SramFit& fit, double bits, double word_bits) const;
};

// Least squares of the relative errors. Precondition: the points are positive, and at least four.
void fit(SramModel& model);

}  // namespace dovetail::explore
