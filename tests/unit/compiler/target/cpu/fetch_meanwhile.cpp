// Prefetches of kernels in the course of long sums (codegen/fetch_meanwhile.cpp), counted in the emitted code. The
// second-level cache of the class avx512 has 1 MiB.
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/unit/compiler/target/cpu/emitted_code.h"

using namespace dovetail;

namespace {

struct Shapes {
  std::int64_t rows = 4;        // of a tile
  std::int64_t columns = 1024;  // of the result and of the residual
  std::int64_t panels = 1;      // of weights, 32 columns each, all for the same rows
  std::int64_t tiles = 16;      // in these rows
};

// y = x * w + r, in tiles of the given number of rows times two vectors.
std::string product(const Shapes& shapes) {
  return fmt::format(R"(program product {{
    input x: float32[96, 256]
    constant w: float32[{2}, 256, 32]
    input r: float32[96, {1}]
    output y: float32[96, {1}]
    alloc s: float32[{0}, 32] in register
    for n in {2} {{
      for t in {3} {{
        for i in {0} unrolled {{
          for j in 32 vectorized {{
            block start {{
              spatial a in {0} = i
              spatial b in 32 = j
              writes s[a, b]
              s[a, b] = 0.0
            }}
          }}
        }}
        for k in 256 {{
          for i in {0} unrolled {{
            for v in 2 unrolled {{
              for j in 16 vectorized {{
                block sum @sum("products") {{
                  spatial a in {0} = i
                  spatial b in 32 = v * 16 + j
                  spatial m in 96 = t * {0} + i
                  spatial p in {2} = n
                  spatial d in 256 = k
                  reads s[a, b], x[m, d], w[p, d, b]
                  writes s[a, b]
                  s[a, b] = s[a, b] + x[m, d] * w[p, d, b]
                }}
              }}
            }}
          }}
        }}
        for i in {0} unrolled {{
          for v in 2 unrolled {{
            for j in 16 vectorized {{
              block result {{
                spatial a in {0} = i
                spatial b in 32 = v * 16 + j
                spatial p in {2} = n
                spatial m in 96 = t * {0} + i
                reads s[a, b], r[m, b + p * 32]
                writes y[m, b + p * 32]
                y[m, b + p * 32] = s[a, b] + r[m, b + p * 32]
              }}
            }}
          }}
        }}
      }}
    }}
  }})",
                     shapes.rows, shapes.columns, shapes.panels, shapes.tiles);
}

// y = x * w, each block of 64 rows copied before it is multiplied, in tiles of four rows.
std::string copied_product(std::int64_t blocks) {
  return fmt::format(R"(program copied {{
    input x: float32[{1}, 256]
    constant w: float32[256, 16]
    output y: float32[{1}, 16]
    alloc p: float32[{1}, 256]
    alloc s: float32[4, 16] in register
    for b in {0} {{
      for i in 64 {{
        for k in 16 {{
          for j in 16 vectorized {{
            block copy {{
              spatial m in {1} = b * 64 + i
              spatial d in 256 = k * 16 + j
              reads x[m, d]
              writes p[m, d]
              p[m, d] = x[m, d]
            }}
          }}
        }}
      }}
      for t in 16 {{
        for i in 4 unrolled {{
          for j in 16 vectorized {{
            block start {{
              spatial a in 4 = i
              spatial c in 16 = j
              writes s[a, c]
              s[a, c] = 0.0
            }}
          }}
        }}
        for k in 256 {{
          for i in 4 unrolled {{
            for j in 16 vectorized {{
              block sum @sum("products") {{
                spatial a in 4 = i
                spatial c in 16 = j
                spatial m in {1} = b * 64 + t * 4 + i
                spatial d in 256 = k
                reads s[a, c], p[m, d], w[d, c]
                writes s[a, c]
                s[a, c] = s[a, c] + p[m, d] * w[d, c]
              }}
            }}
          }}
        }}
        for i in 4 unrolled {{
          for j in 16 vectorized {{
            block result {{
              spatial a in 4 = i
              spatial c in 16 = j
              spatial m in {1} = b * 64 + t * 4 + i
              reads s[a, c]
              writes y[m, c]
              y[m, c] = s[a, c]
            }}
          }}
        }}
      }}
    }}
  }})",
                     blocks, blocks * 64);
}

struct Fetches {
  int read = 0, written = 0;
  bool operator==(const Fetches&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Fetches& fetches) {
  return out << fetches.read << " to read, " << fetches.written << " to write";
}

Fetches fetches(const std::string& text, std::string_view processor = "avx512") {
  const std::string emitted = test::emitted_code(text, *cpu::find_cpu(processor));
  Fetches result;
  for (std::size_t at = 0; (at = emitted.find("call void @llvm.prefetch", at)) != std::string::npos; ++at)
    ++(emitted.substr(at, emitted.find('\n', at) - at).find("i32 1, i32 3, i32 1)") != std::string::npos
           ? result.written
           : result.read);
  return result;
}

}  // namespace

TEST_CASE("cpu: few lines of residuals are fetched when a sum begins, rows of more lines with its steps") {
  CHECK(fetches(product({.rows = 4})) == Fetches{8, 0});
  CHECK(fetches(product({.rows = 6})) == Fetches{2, 0});
}

TEST_CASE("cpu: results that exceed the second level are fetched before they are written") {
  CHECK(fetches(product({.rows = 4, .columns = 3072})) == Fetches{8, 8});
  CHECK(fetches(product({.rows = 6, .columns = 3072})) == Fetches{2, 2});
}

TEST_CASE("cpu: large weights of the next iteration are fetched during this one") {
  constexpr int kLines = 2, kNext = 1, kResidual = 8;
  CHECK(fetches(product({.rows = 4, .panels = 32})) == Fetches{kResidual + kLines, 0});
  CHECK(fetches(product({.rows = 4, .columns = 1056, .panels = 33})) == Fetches{kResidual + kLines + kNext, 0});
}

TEST_CASE("cpu: weights of which an iteration reads a line with every step are not fetched before it") {
  constexpr int kLines = 2, kNext = 1, kResidual = 8;
  const auto panels = [](std::int64_t tiles) {
    return fetches(product({.rows = 4, .columns = 1056, .panels = 33, .tiles = tiles}));
  };
  CHECK(panels(1) == Fetches{kResidual + kLines, 0});
  CHECK(panels(2) == Fetches{kResidual + kLines + kNext, 0});
}

TEST_CASE("cpu: large input that is copied is fetched during the products of the previous block") {
  CHECK(fetches(copied_product(16)) == Fetches{0, 0});
  CHECK(fetches(copied_product(17)) == Fetches{1, 0});
}

TEST_CASE("cpu: narrower vectors fetch nothing during sums") {
  CHECK(fetches(product({.rows = 6, .columns = 3072}), "avx2") == Fetches{0, 0});
  CHECK(fetches(copied_product(17), "avx2") == Fetches{0, 0});
}
