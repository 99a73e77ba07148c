// A layer, y = activation(a * b + c) in float or the int8 equivalent, whose schedule is decided by hand.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/ops/op.h"
#include "loops/parse.h"
#include "tests/property/compiler/cuda/kernel_case.h"

namespace dovetail::cuda::test {

inline const Gpu& gpu() {
  static const Gpu made = parse_gpu("", kDefaultArchitectures).value();
  return made;
}

// Types int8, float32, float16 or bfloat16; the narrow ones accumulate in int32 or float32. `transposed`: b is [n, k].
// `products`: floats may be added in any order, like MatMul's. `left_turned`: a is [k, m]. `before`: rows of a and b
// begin with this many unused elements.
inline loops::Program layer(std::int64_t m, std::int64_t n, std::int64_t k, DType type, bool transposed,
                            bool products = false, bool left_turned = false, std::int64_t before = 0) {
  const bool integer = type == DType::int8;
  const std::string_view of = name(type), wide = integer ? "int32" : "float32";
  const std::string more = before == 0 ? "" : fmt::format(" + {}", before);
  const std::string b = (transposed ? "b[j, l" : "b[l, j") + more + "]", shape = transposed ? "{1}, {4}" : "{2}, {5}";
  const std::string a = (left_turned ? "a[l, i" : "a[i, l") + more + "]";
  const std::string product = of == wide ? a + " * " + b : fmt::format("{0}({2}) * {0}({1})", wide, b, a);
  const std::string sum = integer      ? "int8(min(max(requantize(s[i, j], c[j], 3), -128), 127))"
                          : of == wide ? "max(s[i, j] + c[j], 0.0)"
                                       : fmt::format("{}(max(s[i, j] + c[j], 0.0))", of);
  const std::string text =
      fmt::format(
          "program layer {{{{ input a: {0}[{3}] input b: {0}[{1}] input c: float32[{{1}}] output y: "
          "{0}[{{0}}, {{1}}] alloc s: {2}[{{0}}, {{1}}] ",
          of, shape, wide, left_turned ? "{2}, {3}" : "{0}, {4}") +
      "for i0 in {0} {{ for j0 in {1} {{ for l0 in {2} {{ block gemm " +
      std::string(products ? "@sum(\"products\") " : "") +
      "{{ spatial i in {0} = i0 spatial j in {1} = j0 "
      "reduce l in {2} = l0 reads s[i, j], " +
      a + ", " + b + " writes s[i, j] init {{ s[i, j] = " + (integer ? "0" : "0.0") + " }} s[i, j] = s[i, j] + " +
      product +
      " }} }} }} }} for i1 in {0} {{ for j1 in {1} {{ block end {{ spatial i in {0} = i1 spatial j in {1} = j1 reads "
      "s[i, j], c[j] writes y[i, j] y[i, j] = " +
      sum + " }} }} }} }}";
  auto program =
      loops::parse_program(fmt::format(fmt::runtime(text), m, n, k, m + before, k + before, n + before), "layer");
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

// The group of a program that does not come from a graph.
inline FusedGroup group_of(loops::Program program) {
  FusedGroup group;
  group.program = std::move(program);
  return group;
}

// `whole_numbers`: small integers, whose sums are all exact.
inline Case layer_case(const loops::Program& program, const schedule::FindRecorded& recorded, std::uint64_t seed,
                       const Gpu& of = gpu(), bool whole_numbers = false) {
  std::vector<NdArray> arguments;
  SplitMix64 random(seed);
  for (const loops::Parameter& parameter : program.parameters)
    if (parameter.role != loops::ParameterRole::output)
      arguments.push_back(random_values({parameter.buffer->dtype, parameter.buffer->shape}, random));
  for (NdArray& array : arguments)
    for (std::int64_t i = 0; whole_numbers && i < array.count(); ++i)
      array.set_double(i, static_cast<double>(static_cast<std::int64_t>(random.next() % 9) - 4));
  auto scheduled = schedule_group(group_of(program), of, recorded);
  if (!scheduled) FAIL(to_string(scheduled.errors()));
  auto expected = loops::evaluate(program, arguments);
  return {program.name, std::move(arguments), std::move(expected), *std::move(scheduled)};
}

// These decisions, for whichever kind accepts them; open decisions are made analytically.
inline schedule::FindRecorded decided(const schedule::Decisions& decisions) {
  return [decisions](const schedule::Task&, const schedule::Sketch&) {
    schedule::Recorded recorded;
    recorded.decisions = decisions;
    recorded.origin = "by hand";
    return recorded;
  };
}

}  // namespace dovetail::cuda::test
