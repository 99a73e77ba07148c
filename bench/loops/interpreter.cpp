// Scalar operations per second of the loop-program interpreter on one core. An operation is an arithmetic operation,
// conversion, comparison, load or store of the innermost statements; index arithmetic and loop control are not counted.
// Time is the process's CPU time.
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/json.h"
#include "loops/interpreter.h"
#include "loops/parse.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

struct Case {
  std::string name;
  double operations;  // per run
  std::string text;
};

std::vector<Case> cases() {
  return {
      {"conv2d_int8", 64.0 * 28 * 28 * 64 * 9 * 8, R"(program conv2d_int8 {
  input x: int8[1, 64, 30, 30]
  constant w: int8[64, 64, 3, 3]
  output y: int32[1, 64, 28, 28]
  for conv.o in 64 { for conv.i in 28 { for conv.j in 28 { for conv.c in 64 { for conv.a in 3 { for conv.b in 3 {
    block conv {
      spatial o in 64 = conv.o
      spatial i in 28 = conv.i
      spatial j in 28 = conv.j
      reduce c in 64 = conv.c
      reduce a in 3 = conv.a
      reduce b in 3 = conv.b
      reads y[0, o, i, j], x[0, c, i + a, j + b], w[o, c, a, b]
      writes y[0, o, i, j]
      init { y[0, o, i, j] = 0 }
      y[0, o, i, j] = y[0, o, i, j] + int32(x[0, c, i + a, j + b]) * int32(w[o, c, a, b])
    }
  } } } } } }
})"},
      {"conv2d_int8_padded", 16.0 * 32 * 32 * 16 * 9 * 15, R"(program conv2d_int8_padded {
  input x: int8[16, 32, 32]
  constant w: int8[16, 16, 3, 3]
  output y: int32[16, 32, 32]
  for conv.o in 16 { for conv.i in 32 { for conv.j in 32 { for conv.c in 16 { for conv.a in 3 { for conv.b in 3 {
    block conv {
      spatial o in 16 = conv.o
      spatial i in 32 = conv.i
      spatial j in 32 = conv.j
      reduce c in 16 = conv.c
      reduce a in 3 = conv.a
      reduce b in 3 = conv.b
      reads y[o, i, j], x[c, i + a - 1, j + b - 1], w[o, c, a, b]
      writes y[o, i, j]
      init { y[o, i, j] = 0 }
      y[o, i, j] = y[o, i, j] + int32(select(i + a >= 1 && i + a <= 32 && j + b >= 1 && j + b <= 32, x[c, i + a - 1, j + b - 1], 0)) * int32(w[o, c, a, b])
    }
  } } } } } }
})"},
      {"matmul_float32", 256.0 * 256 * 256 * 6, R"(program matmul_float32 {
  input a: float32[256, 256]
  input b: float32[256, 256]
  output c: float32[256, 256]
  for mm.i in 256 { for mm.j in 256 { for mm.k in 256 {
    block mm {
      spatial i in 256 = mm.i
      spatial j in 256 = mm.j
      reduce k in 256 = mm.k
      reads c[i, j], a[i, k], b[k, j]
      writes c[i, j]
      init { c[i, j] = 0 }
      c[i, j] = c[i, j] + a[i, k] * b[k, j]
    }
  } } }
})"},
      {"depthwise_float32", 64.0 * 56 * 56 * 9 * 6, R"(program depthwise_float32 {
  input x: float32[64, 58, 58]
  constant w: float32[64, 3, 3]
  output y: float32[64, 56, 56]
  for dw.c in 64 { for dw.i in 56 { for dw.j in 56 { for dw.a in 3 { for dw.b in 3 {
    block dw {
      spatial c in 64 = dw.c
      spatial i in 56 = dw.i
      spatial j in 56 = dw.j
      reduce a in 3 = dw.a
      reduce b in 3 = dw.b
      reads y[c, i, j], x[c, i + a, j + b], w[c, a, b]
      writes y[c, i, j]
      init { y[c, i, j] = 0 }
      y[c, i, j] = y[c, i, j] + x[c, i + a, j + b] * w[c, a, b]
    }
  } } } } }
})"},
      {"elementwise_chain", 1048576.0 * 8, R"(program elementwise_chain {
  input x: float32[1024, 1024]
  input s: float32[1024]
  output y: float32[1024, 1024]
  for e.i in 1024 { for e.j in 1024 {
    block e {
      spatial i in 1024 = e.i
      spatial j in 1024 = e.j
      reads x[i, j], s[j]
      writes y[i, j]
      y[i, j] = min(max(x[i, j] * s[j] + 0.5, 0.0), 6.0) - s[j]
    }
  } }
})"},
      {"argmax_scalar", 262144.0 * 9, R"(program argmax_scalar {
  input x: float32[256, 1024]
  output v: float32[256]
  output k: int64[256]
  for m.i in 256 { for m.j in 1024 {
    block m {
      spatial i in 256 = m.i
      reduce j in 1024 = m.j
      reads x[i, j], v[i], k[i]
      writes v[i], k[i]
      init { v[i], k[i] = -inf, 0 }
      v[i], k[i] = select(x[i, j] > v[i], x[i, j], v[i]), select(x[i, j] > v[i], j, k[i])
    }
  } }
})"},
  };
}

}  // namespace

int main() {
  Json report = Json::object();
  report["benchmark"] = "loops/interpreter";
  report["unit"] = "million scalar operations per second";
  for (const Case& c : cases()) {
    const auto program = parse_program(c.text, c.name);
    const auto compiled =
        program.ok() ? compile(*program) : Result<std::shared_ptr<const CompiledProgram>>(program.errors());
    if (!compiled.ok()) {
      std::fprintf(stderr, "%s\n", to_string(compiled.errors()).c_str());
      return 1;
    }
    std::vector<NdArray> arguments;
    for (const Parameter& parameter : program->parameters) {
      if (parameter.role == ParameterRole::output) continue;
      arguments.emplace_back(parameter.buffer->dtype, parameter.buffer->shape);
      for (std::int64_t i = 0; i < arguments.back().count(); ++i)
        arguments.back().set_double(i, static_cast<double>(i * 7 % 23 - 11));
    }
    const std::clock_t begin = std::clock();
    double seconds = 0;
    int runs = 0;
    for (; runs < 2 || seconds < 0.3; ++runs) {
      const auto outputs = run(**compiled, arguments);
      if (!outputs.ok()) {
        std::fprintf(stderr, "%s\n", to_string(outputs.errors()).c_str());
        return 1;
      }
      seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    report["results"][c.name] = c.operations * runs / seconds / 1e6;
  }
  std::puts(report.dump(2).c_str());
}
