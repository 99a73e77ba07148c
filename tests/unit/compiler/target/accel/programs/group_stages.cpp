// Reordering of stages: fewer changes of kind, the same values.
#include "compiler/target/accel/programs/group_stages.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/programs/stages.h"
#include "loops/interpreter.h"
#include "loops/verify.h"
#include "tests/catch.h"

namespace dovetail::accel {

namespace {

using loops::BinaryOp;
using loops::Buffer;

const tensor::Axes kAxes{{"n", 1}, {"o", 4}, {"y", 2}, {"x", 3}};

std::vector<const loops::Block*> blocks_of(const loops::Program& program) {
  std::vector<const loops::Block*> blocks;
  for (const schedule::Path& path : schedule::blocks_below(program.body))
    blocks.push_back(schedule::as_block(path.back()));
  return blocks;
}

std::size_t changes(const loops::Program& program) {
  std::vector<StageKind> kinds;
  for (const loops::Block* block : blocks_of(program))
    if (stage_kind(*block) != StageKind::transfer) kinds.push_back(stage_kind(*block));
  std::size_t count = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) count += kinds[i] == kinds[(i + 1) % kinds.size()] ? 0 : 1;
  return count;
}

// For each buffer its readers, in order.
std::map<std::string, std::vector<std::string>> readers(const loops::Program& program) {
  std::map<std::string, std::vector<std::string>> all;
  for (const loops::Block* block : blocks_of(program))
    for (const loops::Region& region : block->reads) all[region.buffer->name].push_back(block->name);
  return all;
}

// A chain of stages on `live` values: each works in place on one of them, or on a copy, and may read another.
loops::Program random_stages(std::mt19937& random) {
  tensor::Definition d("stages");
  const Buffer x = d.input("X", DType::int32, {1, 4, 2, 3}), k = d.constant("K", DType::int32, {1, 4, 3});
  const Buffer constants = on_chip(d, "constants", k);
  Stages stages(d, kAxes, "");
  std::vector<Buffer> live{
      stages.stage("first", [&](const tensor::Indices& i) { return loops::load(x, i) + int32(1); })};
  const auto pick = [&] { return random() % live.size(); };
  for (int step = 0; step < 14; ++step) {
    const std::string name = "s" + std::to_string(step);
    const std::size_t at = pick(), other = pick();
    switch (random() % 5) {
      case 0: live.push_back(stages.copy(name, live[at])); break;
      case 1: live[at] = stages.with_constant(name, BinaryOp::mul, live[at], constants, random() % 3); break;
      case 2: live[at] = stages.with_immediate(name, BinaryOp::max, live[at], -5); break;
      case 3: live[at] = stages.shift_right(name, live[at], constants, random() % 3); break;
      default:
        if (at == other) break;
        live[at] = stages.combine(name, BinaryOp::add, live[at], live[other]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(other));
    }
  }
  Buffer sum = live[0];
  for (std::size_t i = 1; i < live.size(); ++i)
    sum = stages.combine("sum" + std::to_string(i), BinaryOp::add, sum, live[i]);
  return d.build({sum});
}

}  // namespace

TEST_CASE("group stages: values, and the order of stages that work in place, stay") {
  std::mt19937 random(11);
  NdArray x(DType::int32, {1, 4, 2, 3}), k(DType::int32, {1, 4, 3});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set_int64(i, static_cast<std::int32_t>(random()));
  for (std::int64_t i = 0; i < k.count(); ++i) k.set_int64(i, static_cast<std::int64_t>(random() % 64) - 32);
  std::size_t before = 0, after = 0;
  for (int round = 0; round < 200; ++round) {
    const loops::Program given = random_stages(random), grouped = group_stages(given);
    REQUIRE(loops::verify(grouped).ok());
    CHECK(blocks_of(grouped).size() == blocks_of(given).size());
    auto order = readers(grouped);
    for (auto& [buffer, blocks] : readers(given))
      if (buffer != "constants") CHECK(order[buffer] == blocks);
    const auto expected = loops::evaluate(given, std::vector{x, k}), got = loops::evaluate(grouped, std::vector{x, k});
    REQUIRE((expected.ok() && got.ok()));
    CHECK(std::ranges::equal(expected->front().data<std::int32_t>(), got->front().data<std::int32_t>()));
    before += changes(given), after += changes(grouped);
  }
  CHECK(after * 3 < before * 2);
}

TEST_CASE("group stages: a convolution's epilogue of two limbs changes its kind four times") {
  isa::HardwareConfig config;
  ConvSpec spec;
  spec.name = "conv";
  spec.x = make_layout(config, 1, 32, 4, 4);
  spec.y = make_layout(config, 1, 32, 4, 4);
  spec.epilogue.form = Epilogue::Form::fixed_point;
  spec.epilogue.fixed_point = *plan_fixed_point(std::array{0.0123f, 0.0457f}, spec.epilogue.range, 1 << 22);
  REQUIRE(spec.epilogue.fixed_point.limbs == 2);
  // Products and fills; center, bounds and the copy; both products; the other stages.
  CHECK(changes(conv_program(spec, config)) == 4);
}

}  // namespace dovetail::accel
