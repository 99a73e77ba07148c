#include "isa/semantics/window.h"

#include <array>
#include <cstdint>
#include <vector>

#include "tests/catch.h"

namespace dovetail::isa::semantics {

TEST_CASE("a window holds the last elements, and multiplies them lane by lane") {
  const TensorBlock block{.batch = 1, .block_in = 2, .block_out = 2};
  std::vector<std::int8_t> last(4);  // [t][lane]
  push(last, std::array<std::int8_t, 2>{1, 2});
  push(last, std::array<std::int8_t, 2>{3, 4});
  push(last, std::array<std::int8_t, 2>{-5, 6});
  CHECK(last == std::vector<std::int8_t>{-5, 6, 3, 4});
  const std::array<std::int8_t, 4> wgt{1, 10, 100, -128};  // [lane][t]
  std::array<std::int32_t, 2> acc{7, INT32_MIN};
  window(acc, last, wgt, block, false);
  CHECK(acc == std::array<std::int32_t, 2>{7 - 5 + 30, INT32_MIN + 600 - 512});
  window(acc, last, wgt, block, true);
  CHECK(acc == std::array<std::int32_t, 2>{25, 88});
}

TEST_CASE("each row of the batch has its own window") {
  const TensorBlock block{.batch = 2, .block_in = 2, .block_out = 2};
  std::vector<std::int8_t> last(8);  // [t][row][lane]
  push(last, std::array<std::int8_t, 4>{1, 2, 3, 4});
  push(last, std::array<std::int8_t, 4>{5, 6, 7, 8});
  const std::array<std::int8_t, 4> wgt{1, 10, 1, 10};
  std::array<std::int32_t, 4> acc{};
  window(acc, last, wgt, block, false);
  CHECK(acc == std::array<std::int32_t, 4>{15, 26, 37, 48});
}

// The order of pushes that the header describes, against the definition of a convolution.
TEST_CASE("a stripe of rows by pushes from the last pixel to the first") {
  constexpr int kKernel = 3, kPushes = 5, kRows = 3, kColumns = 4, kBlock = 16;
  const TensorBlock block{.batch = 1, .block_in = kBlock, .block_out = kBlock};
  const auto pixel = [](int row, int column, int lane) {
    return static_cast<std::int8_t>((row * 31 + column * 17 + lane * 7) % 256 - 128);
  };
  const auto weight = [](int row, int column, int lane) {
    return static_cast<std::int8_t>((row * 57 + column * 91 + lane * 13) % 256 - 128);
  };
  std::array<std::int8_t, kBlock * kBlock> wgt{};
  for (int lane = 0; lane < kBlock; ++lane)
    for (int row = 0; row < kKernel; ++row)
      for (int column = 0; column < kKernel; ++column)
        wgt[static_cast<std::size_t>(lane * kBlock + column * kPushes + row)] = weight(row, column, lane);
  std::vector<std::int8_t> last(kBlock * kBlock);
  for (int column = kColumns + kKernel - 1; column-- > 0;)
    for (int row = kPushes; row-- > 0;) {
      std::array<std::int8_t, kBlock> element{};
      for (int lane = 0; lane < kBlock; ++lane) element[static_cast<std::size_t>(lane)] = pixel(row, column, lane);
      push(last, element);
      if (row >= kRows || column >= kColumns) continue;
      std::array<std::int32_t, kBlock> acc{};
      window(acc, last, wgt, block, false);
      for (int lane = 0; lane < kBlock; ++lane) {
        int sum = 0;
        for (int r = 0; r < kKernel; ++r)
          for (int c = 0; c < kKernel; ++c) sum += pixel(row + r, column + c, lane) * weight(r, c, lane);
        CHECK(acc[static_cast<std::size_t>(lane)] == sum);
      }
    }
}

TEST_CASE("the micro-op that only pushes has a wgt of all ones") {
  HardwareConfig config;
  CHECK(push_only(config, Encoding::compact) == 1023);  // 1024 WGT elements
  CHECK(push_only(config, Encoding::wide) == (1u << 21) - 1);
}

}  // namespace dovetail::isa::semantics
