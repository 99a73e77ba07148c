// Graph text before and after a pass. Both graphs are evaluated on the same random inputs, so that a test also shows
// that the texts mean the same.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include <fmt/format.h>

#include "compiler/graph/parse.h"
#include "compiler/ops/op.h"
#include "compiler/passes/pass.h"
#include "compiler/reference/reference.h"
#include "tests/catch.h"

namespace dovetail::test {

struct Agreement {
  double tolerance = 0;       // relative to the largest value, or with specials to each; 0: equal, NaN equals NaN
  bool signs_of_zero = true;  // -0 is not 0
  bool specials = false;      // inputs hold infinities, NaN, zeros of both signs, huge and tiny numbers
};
inline constexpr Agreement kEqual{}, kClose{1e-5, false, false}, kEqualOnSpecials{0, true, true};

class RewriteCase {
 public:
  explicit RewriteCase(const std::string& text, std::uint64_t seed = 1) : random_(seed) {
    // "float32[2,3]" may omit blanks and the elements of constants, which are then random.
    auto parsed = graph::parse(text, "before",
                               [&](std::string_view, const graph::TensorType& type) { return random(type, -1, 1); });
    if (!parsed) FAIL(to_string(parsed.errors()));
    before_ = *std::move(parsed);
    check_types(before_);
  }

  // Runs the pass once; it must report changes unless none is expected.
  template <typename Pass>
  RewriteCase& apply(const Pass& pass, const passes::PassContext& context = {}) {
    graph::Graph graph = changed_.value_or(before_);
    auto outcome = pass(graph, context);
    if (!outcome) FAIL(to_string(outcome.errors()));
    changes_ += outcome->changes;
    if (const auto status = graph::verify(graph); !status) FAIL(to_string(status.errors()) << graph::to_string(graph));
    check_types(graph);
    changed_ = std::move(graph);
    return *this;
  }
  int changes() const { return changes_; }
  const graph::Graph& graph() const { return changed_ ? *changed_ : before_; }

  // The graph's nodes, one line each, without the names after "//"; checks that both graphs agree.
  std::string nodes(const Agreement& agreement = kClose) {
    compare(agreement);
    std::string kept;
    const std::string text = graph::to_string(graph());
    for (std::size_t begin = text.find('\n') + 1, end; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      std::string line = text.substr(begin, end - begin);
      if (line.starts_with("  constant ")) continue;
      kept += line.substr(2, line.find("  //") - 2) + "\n";
    }
    return kept;
  }

  void compare(const Agreement& agreement) {
    auto before = Reference::make(before_), after = Reference::make(graph());
    if (!before) FAIL(to_string(before.errors()));
    if (!after) FAIL(to_string(after.errors()));
    for (int round = 0; round < 3; ++round) {
      std::map<std::string, NdArray> inputs;
      for (const graph::ValueId id : before_.inputs)
        inputs.emplace(before_.value(id).name,
                       agreement.specials ? special(before_.value(id).type) : random(before_.value(id).type, -4, 4));
      const auto expected = before->run(inputs), actual = after->run(inputs);
      if (!expected) FAIL(to_string(expected.errors()));
      if (!actual) FAIL(to_string(actual.errors()));
      for (const graph::ValueId id : before_.outputs) {
        const std::string& name = before_.value(id).name;
        const NdArray &expected_array = expected->at(name), &actual_array = actual->at(name);
        REQUIRE(graph::TensorType{expected_array.dtype(), expected_array.shape()} ==
                graph::TensorType{actual_array.dtype(), actual_array.shape()});
        double largest = 1;
        for (std::int64_t i = 0; i < expected_array.count(); ++i)
          if (std::isfinite(expected_array.as_double(i)))
            largest = std::max(largest, std::abs(expected_array.as_double(i)));
        for (std::int64_t i = 0; i < expected_array.count(); ++i)
          if (!agree(expected_array.as_double(i), actual_array.as_double(i), agreement,
                     agreement.specials ? std::abs(expected_array.as_double(i)) : largest))
            FAIL(name << " differs at " << i << ": " << actual_array.as_double(i) << ", before "
                      << expected_array.as_double(i) << "\n"
                      << graph::to_string(graph()));
      }
    }
  }

  static bool agree(double expected, double actual, const Agreement& agreement, double scale) {
    if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
    if (expected == actual)
      return expected != 0 || !agreement.signs_of_zero || std::signbit(expected) == std::signbit(actual);
    return std::abs(expected - actual) <= agreement.tolerance * scale;
  }

 private:
  NdArray random(const graph::TensorType& type, double low, double high) {
    NdArray array(type.dtype, type.shape);
    std::uniform_real_distribution<double> real(low, high);
    for (std::int64_t i = 0; i < array.count(); ++i) {
      if (is_floating(type.dtype)) array.set_double(i, real(random_));
      else array.set_int64(i, static_cast<std::int64_t>(random_() % 201) - 100);
    }
    return array;
  }
  NdArray special(const graph::TensorType& type) {
    static constexpr double kSpecials[] = {INFINITY, -INFINITY, NAN,  0.0, -0.0, 1e30, -1e30, 1e-40,
                                           -1e-40,   3.0,       -3.0, 6.0, 1.0,  -1.0, 2.5};
    NdArray array = random(type, -8, 8);
    if (is_floating(type.dtype))
      for (std::int64_t i = 0; i < array.count(); ++i)
        if (random_() % 2) array.set_double(i, kSpecials[random_() % std::size(kSpecials)]);
    return array;
  }
  // The types in the text are those that the operators infer.
  static void check_types(const graph::Graph& graph) {
    graph::Graph copy = graph;
    for (const graph::NodeId id : graph.topological_order()) {
      if (const auto inferred = ops::infer(copy, id); !inferred) FAIL(to_string(inferred.errors()));
      for (const graph::ValueId output : graph.node(id).outputs) {
        INFO(graph.node(id).name);
        REQUIRE(to_string(copy.value(output).type) == to_string(graph.value(output).type));
      }
    }
  }

  std::mt19937_64 random_;
  graph::Graph before_;
  std::optional<graph::Graph> changed_;
  int changes_ = 0;
};

}  // namespace dovetail::test
