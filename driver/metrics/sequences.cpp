// Sequences from networks trained with connectionist temporal classification (Graves et al., ICML 2006): the best class
// of each step, with repetitions merged and blanks removed. The output has the scores of each step's classes, or the
// classes themselves. Labels: integers [samples, length], the shorter ones filled up with negatives. A step with a
// score that is NaN is a symbol that no label has.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "driver/metrics/kinds.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

using Sequence = std::vector<std::int64_t>;
constexpr std::int64_t kNoSymbol = -1;

// Extents of 1 after the first axis do not count: outputs [steps, 1, classes] are stacked to [samples, steps, 1,
// classes].
Shape without_units(const Shape& shape) {
  Shape kept;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i == 0 || shape[i] != 1) kept.push_back(shape[i]);
  return kept;
}

Sequence decode(const NdArray& output, std::int64_t sample, std::int64_t steps, std::int64_t classes,
                std::int64_t blank) {
  Sequence symbols;
  std::int64_t previous = blank;
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::int64_t at = (sample * steps + t) * classes;
    std::int64_t best = 0;
    if (!is_floating(output.dtype())) best = output.as_int64(at);
    for (std::int64_t c = 0; is_floating(output.dtype()) && c < classes && best != kNoSymbol; ++c) {
      const double score = output.as_double(at + c);
      if (std::isnan(score)) best = kNoSymbol;
      else if (score > output.as_double(at + best)) best = c;
    }
    if (best != blank && best != previous) symbols.push_back(best);
    previous = best;
  }
  return symbols;
}

// The fewest symbols that are inserted, removed or replaced to turn one sequence into the other (Levenshtein).
std::int64_t edits(const Sequence& from, const Sequence& to) {
  std::vector<std::int64_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t diagonal = row[0];
    row[0] = static_cast<std::int64_t>(i) + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::int64_t replaced = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Result<std::vector<Figure>> measure_sequences(const Metric& metric, const MetricInputs& inputs) {
  DOVETAIL_ASSIGN(const NdArray* const output, measured_output(inputs));
  DOVETAIL_ASSIGN(const std::int64_t blank, integer_option(metric, "blank", 0));
  const NdArray& labels = inputs.labels;
  if (is_floating(labels.dtype()) || labels.rank() != 2)
    return bad_labels(metric, fmt::format("they are {}", type_text(labels.dtype(), labels.shape())),
                      "give integers [samples, length], the shorter ones filled up with -1");
  const bool scores = is_floating(output->dtype());
  const Shape shape = output->shape().size() == (scores ? 3U : 2U) ? output->shape() : without_units(output->shape());
  if (shape.size() != (scores ? 3 : 2) || shape[0] != labels.shape()[0])
    return bad_labels(metric,
                      fmt::format("they are {}, and the output is {}", type_text(labels.dtype(), labels.shape()),
                                  type_text(output->dtype(), output->shape())),
                      "the output needs [samples, steps, classes], or integers [samples, steps]; choose another "
                      "one with --output");
  const std::int64_t samples = shape[0], steps = shape[1], classes = scores ? shape[2] : 1, length = labels.shape()[1];
  if (scores && (blank < 0 || blank >= classes))
    return bad_labels(metric, fmt::format("the blank is {}, and there are {} classes", blank, classes),
                      "give the class that separates symbols: ctc:blank=CLASS");
  std::int64_t equal = 0, wrong = 0, symbols = 0;
  for (std::int64_t n = 0; n < samples; ++n) {
    Sequence expected;
    for (std::int64_t i = 0; i < length; ++i)
      if (const std::int64_t symbol = labels.as_int64(n * length + i); symbol >= 0) expected.push_back(symbol);
    const std::int64_t apart = edits(decode(*output, n, steps, classes, blank), expected);
    equal += apart == 0;
    wrong += apart;
    symbols += static_cast<std::int64_t>(expected.size());
  }
  return std::vector{share_figure("equal", "equal", equal, samples),
                     share_figure("symbol_error_rate", "symbol errors", wrong, symbols)};
}

}  // namespace dovetail::driver
