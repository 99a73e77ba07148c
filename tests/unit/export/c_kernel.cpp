#include "export/c_kernel.h"

#include "loops/parse.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::exporting;

namespace {

struct Printed {
  CKernel kernel;
  FailureSites sites;
  Needs needs;
  std::string text;
};

Printed print(std::string_view source) {
  const auto program = loops::parse_program(source, "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  std::vector<std::string> names;
  for (const loops::Parameter& parameter : program->parameters) names.push_back(parameter.buffer->name);
  Printed result;
  auto kernel = print_kernel(*program, names, result.sites, result.needs);
  REQUIRE((kernel.ok() ? "" : to_string(kernel.errors())) == "");
  result.kernel = *std::move(kernel);
  result.text = result.kernel.signature("net_k", *program) + " {\n" + result.kernel.body + "}\n";
  return result;
}

}  // namespace

TEST_CASE("a sum of products is two loops, a variable and 32-bit indices") {
  const Printed printed = print(R"(program dense {
  input x: int8[1, 8]
  constant w: int8[4, 8]
  output y: int32[1, 4]
  for o in 4 {
    for k in 8 {
      block dense {
        spatial i in 4 = o
        reduce j in 8 = k
        reads y[0, i], x[0, j], w[i, j]
        writes y[0, i]
        init {
          y[0, i] = 0
        }
        y[0, i] = y[0, i] + (int32(x[0, j]) - -128) * int32(w[i, j])
      }
    }
  }
}
)");
  CHECK(printed.text == R"(DOVETAIL_KERNEL net_k(const int8_t* x, const int8_t* w, int32_t* restrict y) {
  for (int32_t o = 0; o < 4; ++o) {
    y[o] = 0;
    for (int32_t k = 0; k < 8; ++k) {
      y[o] = dovetail_add_i32(y[o], ((int32_t)x[k] + 128) * (int32_t)w[o * 8 + k]);
    }
  }
}
)");
  CHECK(printed.sites.texts.empty());
  CHECK_FALSE(printed.needs.floats);
}

TEST_CASE("ranges decide where arithmetic is C's own") {
  const Printed printed = print(R"(program mixed {
  input a: int32[6]
  output b: int32[6]
  for l in 6 {
    block mixed {
      spatial i in 6 = l
      reads a[i]
      writes b[i]
      b[i] = max(min(a[i], 100), -100) * 7 + a[i] // 3 + int32(i % 4)
    }
  }
}
)");
  CHECK_THAT(printed.text,
             Catch::Matchers::ContainsSubstring("dovetail_max_i32(dovetail_min_i32(a[l], 100), -100) * 7") &&
                 Catch::Matchers::ContainsSubstring("dovetail_floor_div_i32(a[l], 3)") &&
                 Catch::Matchers::ContainsSubstring("(int32_t)(l % 4)"));
}

TEST_CASE("an operation of the mathematical library, and an index of data, are recorded") {
  const Printed printed = print(R"(program look_up {
  input x: float32[5]
  input at: int32[5]
  output y: float32[5]
  for l in 5 {
    block look_up {
      spatial i in 5 = l
      reads x[0 +: 5], at[i]
      writes y[i]
      y[i] = exp(x[int64(at[i])])
    }
  }
}
)");
  CHECK(printed.needs.libm == std::set<std::string>{"expf"});
  CHECK(printed.sites.texts == std::vector<std::string>{"an index of x is outside 0 <= index < 5 (dimension 0)"});
  CHECK(printed.kernel.fails);
  CHECK_THAT(printed.text,
             Catch::Matchers::ContainsSubstring("y[l] = expf(x[dovetail_index_i32(at[l], 5, 1, failure)]);"));
}

TEST_CASE("an index without data that is not in bounds is refused") {
  const auto program = loops::parse_program(R"(program outside {
  input x: float32[5]
  output y: float32[5]
  for l in 5 {
    block outside {
      spatial i in 5 = l
      reads x[i + 1]
      writes y[i]
      y[i] = x[i + 1]
    }
  }
}
)",
                                            "test");
  REQUIRE(program.ok());
  FailureSites sites;
  Needs needs;
  CHECK_FALSE(print_kernel(*program, {"x", "y"}, sites, needs).ok());
}
