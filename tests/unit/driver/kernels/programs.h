// Small loop programs for the tests of kernels by hand.
#pragma once

#include <string>

#include "driver/loop_program.h"
#include "tests/catch.h"

namespace dovetail::test {

inline const std::string kProduct = R"(program p {
  size m = 32, n = 32, k = 32
  input x: float32[m, k]
  input w: float32[n, k]
  output y: float32[m, n]
  y[i in m, j in n] = dot[r in k] x[i, r] * w[j, r]
}
)";

// An int8 product as the accelerator computes it.
inline const std::string kInt8Product = R"(program product {
  size rows = 32, columns = 32, depth = 32
  input x: int8[rows, depth]
  input w: int8[columns, depth]
  output y: int8[rows, columns]
  acc[i in rows, j in columns]: int32 = sum[k in depth] int32(x[i, k]) * int32(w[j, k])
  high[i in rows, j in columns]: int32 = acc[i, j] >> 8
  y[i in rows, j in columns] = int8(min(max(high[i, j], -128), 127))
}
)";

inline driver::LoopProgram program_of(const std::string& text, const std::string& steps = "",
                                      const driver::LoopMachines& machines = {}) {
  auto program = driver::LoopProgram::parse(text, "test", machines);
  INFO((program.ok() ? std::string() : to_string(program.errors())));
  REQUIRE(program.ok());
  const auto applied = program->apply(steps);
  INFO(to_string(applied.errors()));
  REQUIRE(applied.ok());
  return *std::move(program);
}

}  // namespace dovetail::test
