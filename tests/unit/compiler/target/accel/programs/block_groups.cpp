// How groups of channels are combined into block groups, and where their weights are stored.
#include "compiler/target/accel/programs/block_groups.h"

#include "tests/catch.h"

namespace dovetail::accel {

namespace {

const isa::HardwareConfig kBlocksOf16;  // blocks of 16

std::int64_t merged(std::int64_t groups, std::int64_t inputs, std::int64_t outputs,
                    const isa::HardwareConfig& config = kBlocksOf16) {
  return block_groups(groups, make_layout(config, 1, groups * inputs, 1, 1),
                      make_layout(config, 1, groups * outputs, 1, 1));
}

}  // namespace

TEST_CASE("block groups have whole channel blocks on both sides") {
  CHECK(merged(1, 64, 64) == 1);
  CHECK(merged(64, 1, 1) == 4);
  CHECK(merged(40, 1, 1) == 3);  // the last one is half empty
  CHECK(merged(32, 1, 2) == 2);  // one block in, two out
  CHECK(merged(8, 4, 4) == 2);
  CHECK(merged(6, 8, 8) == 3);
  CHECK(merged(4, 24, 24) == 2);  // pairs of groups have three blocks
  CHECK(merged(3, 24, 24) == 1);  // a pair and a half
  CHECK(merged(3, 32, 64) == 3);
  CHECK(merged(4, 12, 20) == 1);  // all four groups together have whole blocks: the dense product
  CHECK(merged(24, 1, 2) == 1);   // two blocks in, three out
}

TEST_CASE("block groups count the larger of two blocks") {
  isa::HardwareConfig config = kBlocksOf16;
  config.block_in = 32;
  CHECK(merged(64, 1, 1, config) == 2);
  CHECK(merged(64, 1, 2, config) == 2);
}

TEST_CASE("weights of a block group are zero off the diagonal of its groups") {
  ConvSpec spec;
  spec.x = make_layout(kBlocksOf16, 1, 32, 1, 1);
  spec.y = make_layout(kBlocksOf16, 1, 64, 1, 1);
  spec.kernel_w = 2;
  spec.groups = block_groups(8, spec.x, spec.y);  // 4 inputs and 8 outputs each
  REQUIRE(spec.groups == 2);
  NdArray weight(DType::int8, {64, 4, 1, 2});
  for (std::int64_t i = 0; i < weight.count(); ++i) weight.set_int64(i, 1 + i % 100);
  const NdArray blocks = block_weights(spec, weight);
  REQUIRE(blocks.shape() == Shape{64, 16, 1, 2});
  int wrong = 0;
  for (std::int64_t o = 0; o < 64; ++o)
    for (std::int64_t c = 0; c < 16; ++c)
      for (std::int64_t k = 0; k < 2; ++k) {
        const std::int64_t input = o / 32 * 16 + c;  // input of the model
        const std::int64_t expected = input / 4 == o / 8 ? weight.as_int64((o * 4 + input % 4) * 2 + k) : 0;
        wrong += blocks.as_int64((o * 16 + c) * 2 + k) != expected;
      }
  CHECK(wrong == 0);
}

TEST_CASE("an average has one weight element") {
  NdArray ones(DType::int8, {40, 1, 7, 7});
  for (auto& value : ones.data<std::int8_t>()) value = 1;
  CHECK(is_uniform(ones, 40));
  CHECK_FALSE(is_uniform(ones, 1));
  ConvSpec spec;
  spec.x = spec.y = make_layout(kBlocksOf16, 1, 40, 7, 7);
  spec.kernel_h = spec.kernel_w = 7;
  spec.groups = block_groups(40, spec.x, spec.y);
  spec.uniform_weights = true;
  const NdArray blocks = block_weights(spec, ones);
  REQUIRE(blocks.shape() == Shape{16, 16, 1, 1});
  int wrong = 0;
  for (std::int64_t i = 0; i < blocks.count(); ++i) wrong += blocks.as_int64(i) != (i / 16 == i % 16 ? 1 : 0);
  CHECK(wrong == 0);
  ones.set_int64(5, 2);
  CHECK_FALSE(is_uniform(ones, 40));
}

}  // namespace dovetail::accel
