// The order of loads in small streams. The tests with random operators, whose regions pass through it, show that it
// changes no value.
#include "compiler/target/accel/stream/order_loads.h"

#include <algorithm>
#include <vector>

#include "tests/catch.h"
#include "tests/unit/compiler/target/accel/stream/row_transfer.h"

namespace dovetail::accel {

namespace {

const isa::HardwareConfig kDefault;

StreamInstruction bring(isa::Memory memory, std::uint32_t sram, std::uint64_t dram, std::uint32_t elements) {
  return {{{}, isa::Load{row_of(memory, sram, dram, elements)}}};
}
StreamInstruction multiply(Stream& stream, isa::Uop uop, std::uint32_t steps) {
  isa::Gemm gemm;
  gemm.iter_out = steps;
  gemm.iter_in = 1;
  return {{{}, gemm}, stream.kernel({uop})};
}

// Two layers: the second one reads the results that the first has stored, and 64 elements of weights at `weights`.
Stream two_layers(std::uint32_t weights) {
  Stream stream;
  stream.instructions.push_back(bring(isa::Memory::inp, 0, 0, 1));
  stream.instructions.push_back(bring(isa::Memory::wgt, 0, 100, 1));
  stream.instructions.push_back(multiply(stream, {.dst = 0, .src = 0, .wgt = 0}, 8000));
  stream.instructions.push_back({{{}, isa::Store{row_of(isa::Memory::out, 0, 50, 1)}}});
  stream.instructions.push_back(bring(isa::Memory::inp, 1, 50, 1));
  stream.instructions.push_back(bring(isa::Memory::wgt, weights, 200, 64));
  stream.instructions.push_back(multiply(stream, {.dst = 1, .src = 1, .wgt = weights + 63}, 100));
  return stream;
}

// For each weight of the second layer, whether it is loaded before the first GEMM. Each is loaded once.
std::vector<bool> early_weights(const Stream& stream, std::uint32_t weights) {
  std::vector<bool> loaded(64), early(64);
  bool computed = false;
  for (const StreamInstruction& item : stream.instructions) {
    if (std::holds_alternative<isa::Gemm>(item.instruction.body)) computed = true;
    const auto* load = std::get_if<isa::Load>(&item.instruction.body);
    if (load == nullptr || load->memory != isa::Memory::wgt || load->dram_base < 200) continue;
    for (std::uint32_t i = 0; i < load->x_size; ++i) {
      const std::uint64_t element = load->dram_base - 200 + i;
      CHECK(load->sram_base + i == weights + element);
      CHECK_FALSE(loaded[element]);
      loaded[element] = true;
      early[element] = !computed;
    }
  }
  CHECK(std::ranges::all_of(loaded, [](bool is) { return is; }));
  return early;
}

}  // namespace

TEST_CASE("order_loads: weights are loaded while a load waits for a store") {
  Stream stream = two_layers(10);
  CHECK(order_loads(stream, kDefault) > 1);
  // In pieces, all of them before the load that waits.
  const auto waiting = std::ranges::find_if(stream.instructions, [](const StreamInstruction& item) {
    const auto* load = std::get_if<isa::Load>(&item.instruction.body);
    return load != nullptr && load->memory == isa::Memory::inp && load->dram_base == 50;
  });
  std::uint32_t after = 0;
  for (auto item = waiting; item != stream.instructions.end(); ++item)
    if (const auto* load = std::get_if<isa::Load>(&item->instruction.body); load && load->memory == isa::Memory::wgt)
      after += load->x_size;
  CHECK(after == 0);
  early_weights(stream, 10);
}

TEST_CASE("order_loads: no load passes an instruction that reads its destination") {
  Stream stream = two_layers(0);  // the first layer's weight is there
  order_loads(stream, kDefault);
  CHECK_FALSE(early_weights(stream, 0)[0]);
}

TEST_CASE("order_loads: early loads do not delay loads that are then needed first") {
  // Weights of the second layer are loaded during the first one, so its second half may start at once, and then waits
  // for a load of stored data: the weights of the third layer, which were as late before, must not pass that load.
  Stream stream = two_layers(10);
  stream.instructions.push_back(bring(isa::Memory::wgt, 100, 300, 64));
  stream.instructions.push_back(bring(isa::Memory::inp, 2, 50, 1));
  stream.instructions.push_back(multiply(stream, {.dst = 2, .src = 2, .wgt = 163}, 4000));
  stream.instructions.push_back(bring(isa::Memory::wgt, 10, 400, 64));
  stream.instructions.push_back(multiply(stream, {.dst = 3, .src = 2, .wgt = 73}, 100));
  CHECK(order_loads(stream, kDefault) > 1);
  const auto at = [&](isa::Memory memory, std::uint32_t sram, std::uint64_t dram) {
    return std::ranges::find_if(stream.instructions,
                                [&](const StreamInstruction& item) {
                                  const auto* load = std::get_if<isa::Load>(&item.instruction.body);
                                  return load && load->memory == memory && load->sram_base == sram &&
                                         load->dram_base == dram;
                                }) -
           stream.instructions.begin();
  };
  const auto second_half = at(isa::Memory::inp, 2, 50);
  CHECK(at(isa::Memory::wgt, 100, 300) < at(isa::Memory::inp, 1, 50));
  CHECK(second_half < at(isa::Memory::wgt, 10, 400));
}

TEST_CASE("order_loads: a stream without waits stays as it is") {
  Stream stream;
  stream.instructions.push_back(bring(isa::Memory::inp, 0, 0, 1));
  stream.instructions.push_back(bring(isa::Memory::wgt, 0, 100, 1));
  stream.instructions.push_back(multiply(stream, {.dst = 0, .src = 0, .wgt = 0}, 100));
  CHECK(order_loads(stream, kDefault) == 0);
  CHECK(stream.instructions.size() == 3);
}

}  // namespace dovetail::accel
