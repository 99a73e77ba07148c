// The positions of an image that windows need, by their place in the window; and the maxima of accumulators give the
// results of pooling the results.
#include "compiler/target/accel/programs/window_maximum.h"

#include <bit>
#include <random>

#include "compiler/target/accel/schedule/sketches.h"
#include "loops/interpreter.h"
#include "tests/catch.h"

namespace dovetail::accel {

namespace {

bool is(const Positions& positions, std::int64_t first, std::int64_t step, std::int64_t count) {
  return positions.first == first && positions.step == step && positions.count == count;
}

// A convolution of 2x2 of an image of 7x9, followed by a pooling of windows of `kernel` with stride 2.
struct Pair {
  isa::HardwareConfig config;
  ConvSpec conv;
  MaxPoolSpec pool;

  Pair(std::int64_t kernel, std::int64_t pad) {
    config.requant = config.saturate = true;
    conv.name = "conv", pool.name = "pool";
    conv.x = make_layout(config, 1, 16, 7, 9);
    conv.y = pool.x = make_layout(config, 1, 16, 6, 8);
    conv.kernel_h = conv.kernel_w = 2;
    conv.epilogue.saturate = true;
    pool.kernel_h = pool.kernel_w = kernel;
    pool.stride_h = pool.stride_w = 2;
    pool.pad_top = pool.pad_left = pad;
    pool.y = make_layout(config, 1, 16, (6 + 2 * pad - kernel) / 2 + 1, (8 + 2 * pad - kernel) / 2 + 1);
  }
  loops::Program together() const {
    ConvSpec pooled = conv;
    pooled.y = pool.y;
    return conv_program(pooled, config, nullptr, &pool);
  }
};

}  // namespace

TEST_CASE("window maximum: positions of the image by their place in windows") {
  const WindowAxis inside{.kernel = 3, .stride = 2, .results = 4, .pad = 0, .image = 9};
  CHECK(inside.single() == 1);
  CHECK(is(inside.positions(0), 0, 2, 5));
  CHECK(is(inside.positions(1), 1, 2, 4));
  CHECK((inside.first(0) == 0 && inside.first(1) == 0 && inside.first(2) == 1));
  CHECK(inside.extent() == 9);

  const WindowAxis padded{.kernel = 3, .stride = 2, .results = 56, .pad = 1, .image = 112};
  CHECK(is(padded.positions(0), 1, 2, 56));
  CHECK(is(padded.positions(1), 0, 2, 56));
  CHECK((padded.first(0) == -1 && padded.first(1) == 0 && padded.first(2) == 0));
  CHECK((!padded.is_inside(0) && padded.is_inside(1) && padded.is_inside(2)));
  CHECK(padded.extent() == 112);

  // The end of the image is not read, and the last window ends after another image.
  CHECK(is(WindowAxis{.kernel = 2, .stride = 3, .results = 2, .pad = 0, .image = 7}.positions(1), 1, 3, 2));
  CHECK(!WindowAxis{.kernel = 3, .stride = 2, .results = 3, .pad = 0, .image = 6}.is_inside(2));
}

TEST_CASE("window maximum: windows without a separate element in the image are not reduced in place") {
  CHECK(reduces_in_place(Pair(3, 1).pool));
  CHECK(reduces_in_place(Pair(2, 0).pool));
  CHECK(!reduces_in_place(Pair(2, 1).pool));
}

TEST_CASE("window maximum: the largest accumulator of a window has its largest result") {
  std::mt19937 random(3);
  const auto fill = [&](NdArray array) {
    for (std::int64_t i = 0; i < array.count(); ++i)
      array.set_int64(i, static_cast<std::int64_t>(random() % 255) - 127);
    return array;
  };
  for (const auto& [kernel, pad] : {std::pair(2, 0), std::pair(3, 0), std::pair(3, 1)}) {
    const Pair pair(kernel, pad);
    const NdArray x = fill(NdArray(DType::int8, pair.conv.x.program_shape())),
                  w = fill(NdArray(DType::int8, {16, 16, 2, 2}));
    NdArray k(DType::int32, {1, 16, 2});
    for (std::int64_t o = 0; o < 16; ++o) {
      k.set_int64(2 * o, std::bit_cast<std::int32_t>(0.0001f * static_cast<float>(o + 1)));
      k.set_int64(2 * o + 1, static_cast<std::int64_t>(random() % 2000) - 1000);
    }
    const auto results = loops::evaluate(conv_program(pair.conv, pair.config), std::vector{x, w, k}),
               together = loops::evaluate(pair.together(), std::vector{x, w, k});
    REQUIRE((results.ok() && together.ok()));
    const auto apart = loops::evaluate(max_pool_program(pair.pool, pair.config), std::vector{results->front()});
    REQUIRE(apart.ok());
    CHECK((together->front() == apart->front()));
  }
}

TEST_CASE("expected cycles: windows that share no elements take fewer cycles together, with and without extensions") {
  for (const bool extended : {false, true}) {
    Pair pair(2, 0);
    pair.config.overwrite = extended;
    const auto together = expected_cycles(kConvolution, pair.together(), pair.config),
               first = expected_cycles(kConvolution, conv_program(pair.conv, pair.config), pair.config),
               second = expected_cycles(kMaxPooling, max_pool_program(pair.pool, pair.config), pair.config);
    REQUIRE((together.ok() && first.ok() && second.ok()));
    CHECK(*together < *first + *second);
  }
}

}  // namespace dovetail::accel
