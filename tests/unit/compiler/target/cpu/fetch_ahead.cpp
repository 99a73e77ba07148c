// Prefetches of kernels before use (codegen/fetch_ahead.cpp), counted in the emitted code.
#include <string>

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/unit/compiler/target/cpu/emitted_code.h"

using namespace dovetail;

namespace {

// Four rows of x times two vectors of columns of w, and a residual r. `depth` * 32 weights; rows of `depth` elements.
std::string product(std::int64_t depth, std::int64_t row, const char* rows = "unrolled") {
  return fmt::format(R"(program product {{
    input x: float32[64, {1}]
    constant w: float32[{0}, 32]
    input r: float32[64, 1024]
    output y: float32[64, 1024]
    alloc s: float32[4, 32] in register
    for t in 16 {{
      for i in 4 unrolled {{
        for j in 32 vectorized {{
          block start {{
            spatial a in 4 = i
            spatial b in 32 = j
            writes s[a, b]
            s[a, b] = 0.0
          }}
        }}
      }}
      for k in {0} {{
        for i in 4 {2} {{
          for v in 2 unrolled {{
            for j in 16 vectorized {{
              block sum {{
                spatial a in 4 = i
                spatial b in 32 = v * 16 + j
                spatial m in 64 = t * 4 + i
                spatial d in {0} = k
                reads s[a, b], x[m, d], w[d, b]
                writes s[a, b]
                s[a, b] = s[a, b] + x[m, d] * w[d, b]
              }}
            }}
          }}
        }}
      }}
      for i in 4 unrolled {{
        for v in 2 unrolled {{
          for j in 16 vectorized {{
            block result {{
              spatial a in 4 = i
              spatial b in 32 = v * 16 + j
              spatial m in 64 = t * 4 + i
              reads s[a, b], r[m, b]
              writes y[m, b]
              y[m, b] = s[a, b] + r[m, b]
            }}
          }}
        }}
      }}
    }}
  }})",
                     depth, row, rows);
}

int fetches(const std::string& text, const cpu::Cpu& processor) {
  const std::string emitted = test::emitted_code(text, processor);
  int count = 0;
  for (std::size_t at = 0; (at = emitted.find("call void @llvm.prefetch", at)) != std::string::npos; ++at) ++count;
  return count;
}

cpu::Cpu avx512() { return *cpu::find_cpu("avx512"); }

}  // namespace

TEST_CASE("cpu: two lines of large weights, the following rows, and addends of the sums are fetched before use") {
  constexpr int kWeights = 2, kRows = 1, kResidual = 8;
  CHECK(fetches(product(1024, 1024), avx512()) == kWeights + kRows + kResidual);
}

TEST_CASE("cpu: weights and rows that fit the first level are not fetched ahead") {
  constexpr int kResidual = 8;
  CHECK(fetches(product(128, 128), avx512()) == kResidual);
}

TEST_CASE("cpu: rows that are not adjacent have no following rows") {
  constexpr int kWeights = 2, kResidual = 8;
  CHECK(fetches(product(1024, 1040), avx512()) == kWeights + kResidual);
}

TEST_CASE("cpu: narrower vectors, and kernels that check their bounds, fetch nothing ahead") {
  CHECK(fetches(product(1024, 1024), *cpu::find_cpu("avx2")) == 0);
  CHECK(fetches(product(1024, 1024), cpu::with_checked_bounds(avx512())) == 0);
}
