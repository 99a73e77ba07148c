#include "isa/semantics/gemm.h"

#include <array>
#include <cstdint>

#include "isa/semantics/load.h"
#include "isa/semantics/store.h"
#include "tests/catch.h"

namespace dovetail::isa::semantics {

TEST_CASE("gemm multiplies input rows by weight rows") {
  const std::array<std::int8_t, 6> inp{1, 2, 3, -1, -2, -3};      // [2][3]
  const std::array<std::int8_t, 6> wgt{1, 0, 0, 100, 100, -128};  // [2][3]
  const TensorBlock block{.batch = 2, .block_in = 3, .block_out = 2};
  std::array<std::int32_t, 4> acc{10, 20, 30, INT32_MIN};
  gemm(acc, inp, wgt, block, GemmMode::accumulate);
  CHECK(acc == std::array<std::int32_t, 4>{11, 20 - 84, 29, INT32_MIN + 84});
  gemm(acc, inp, wgt, block, GemmMode::overwrite);
  CHECK(acc == std::array<std::int32_t, 4>{1, -84, -1, 84});
  gemm(acc, inp, wgt, block, GemmMode::reset);
  CHECK(acc == std::array<std::int32_t, 4>{});
}

TEST_CASE("gemm wraps in int32") {
  std::array<std::int32_t, 1> acc{INT32_MAX};
  gemm(acc, std::array<std::int8_t, 1>{1}, std::array<std::int8_t, 1>{1}, {1, 1, 1}, GemmMode::accumulate);
  CHECK(acc[0] == INT32_MIN);
}

TEST_CASE("reset wins over overwrite") {
  Gemm both;
  both.reset = both.overwrite = true;
  CHECK(gemm_mode(both) == GemmMode::reset);
}

TEST_CASE("a load's extent counts pads, and is empty for x_size 0") {
  Load load;
  load.y_size = 2, load.x_size = 3, load.y_pad_0 = 1, load.y_pad_1 = 2, load.x_pad_0 = 4, load.x_pad_1 = 5;
  CHECK(loaded_elements(load) == 5 * 12);
  load.y_size = 0;
  CHECK(loaded_elements(load) == 3 * 12);
  load.x_size = 0;
  CHECK(loaded_elements(load) == 0);
}

TEST_CASE("narrowing wraps or saturates") {
  CHECK(narrow(128, false) == -128);
  CHECK(narrow(-129, false) == 127);
  CHECK(narrow(0x12345680, false) == -128);
  CHECK(narrow(128, true) == 127);
  CHECK(narrow(INT32_MIN, true) == -128);
  CHECK(narrow(-5, true) == -5);
}

}  // namespace dovetail::isa::semantics
