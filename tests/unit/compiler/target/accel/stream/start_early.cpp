// Splitting first products into parts, in small streams. The tests with random operators, whose regions pass through
// it, show that it changes no value.
#include "compiler/target/accel/stream/start_early.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tests/catch.h"

namespace dovetail::accel {

namespace {

const isa::HardwareConfig kMachine;

constexpr std::uint32_t kRows = 64, kChannels = 8;

isa::Transfer rows_of(isa::Memory memory, std::uint64_t dram, std::uint32_t y, std::uint32_t x, std::uint32_t stride) {
  isa::Transfer t;
  t.memory = memory;
  t.dram_base = dram;
  t.y_size = y;
  t.x_size = x;
  t.x_stride = stride;
  return t;
}

// kRows results of kChannels blocks of channels each, whose operands come in two loads.
Stream layer(isa::Load image) {
  Stream stream;
  stream.instructions.push_back({{{}, image}});
  stream.instructions.push_back({{{}, isa::Load{rows_of(isa::Memory::wgt, 5000, 1, kChannels, kChannels)}}});
  isa::Gemm gemm;
  gemm.iter_out = kRows;
  gemm.iter_in = 1;
  gemm.dst_factor_out = gemm.src_factor_out = 1;
  std::vector<isa::Uop> uops;
  for (std::uint32_t c = 0; c < kChannels; ++c) uops.push_back({.dst = 0, .src = c * kRows, .wgt = c});
  stream.instructions.push_back({{{}, gemm}, stream.kernel(std::move(uops))});
  return stream;
}
isa::Load image() { return {rows_of(isa::Memory::inp, 0, kChannels, kRows, 100)}; }

// For each element of ACC how often it accumulates which product.
std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, int> products_of(const Stream& stream) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, int> products;
  for (const StreamInstruction& item : stream.instructions)
    if (const auto* gemm = std::get_if<isa::Gemm>(&item.instruction.body))
      for (std::uint32_t o = 0; o < gemm->iter_out; ++o)
        for (std::uint32_t i = 0; i < gemm->iter_in; ++i)
          for (const isa::Uop& uop : stream.kernels[static_cast<std::size_t>(item.kernel)])
            ++products[{uop.dst + o * gemm->dst_factor_out + i * gemm->dst_factor_in,
                        uop.src + o * gemm->src_factor_out + i * gemm->src_factor_in,
                        uop.wgt + o * gemm->wgt_factor_out + i * gemm->wgt_factor_in}];
  return products;
}

// The source of each element of a memory. Each is loaded once.
std::map<std::uint32_t, std::uint64_t> loaded(const Stream& stream, isa::Memory memory) {
  std::map<std::uint32_t, std::uint64_t> elements;
  for (const StreamInstruction& item : stream.instructions) {
    const auto* load = std::get_if<isa::Load>(&item.instruction.body);
    if (load == nullptr || load->memory != memory) continue;
    for (std::uint32_t y = 0; y < load->y_size; ++y)
      for (std::uint32_t x = 0; x < load->x_size; ++x)
        CHECK(
            elements.emplace(load->sram_base + y * load->x_size + x, load->dram_base + y * load->x_stride + x).second);
  }
  return elements;
}

}  // namespace

TEST_CASE("start_early: the first products read the first loads, with the same products and data as before") {
  Stream stream = layer(image());
  const Stream before = stream;
  start_early(stream, kMachine);
  CHECK(products_of(stream) == products_of(before));
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt})
    CHECK(loaded(stream, memory) == loaded(before, memory));

  const auto is_product = [](const StreamInstruction& item) {
    return std::holds_alternative<isa::Gemm>(item.instruction.body);
  };
  const auto first = std::ranges::find_if(stream.instructions, is_product);
  REQUIRE(first != stream.instructions.end());
  CHECK(std::ranges::count_if(stream.instructions, is_product) > 2);
  // The first loads, which contain the operands of the first product.
  Stream part = stream;
  part.instructions = {*first};
  std::vector<std::uint32_t> read;
  for (const auto& [product, times] : products_of(part)) read.push_back(std::get<1>(product));
  std::uint32_t elements = 0;
  for (auto item = stream.instructions.begin(); item != first && !read.empty(); ++item) {
    const auto& load = std::get<isa::Load>(item->instruction.body);
    if (load.memory != isa::Memory::inp) continue;
    const std::uint32_t count = load.y_size * load.x_size;
    elements += count;
    std::erase_if(read, [&](std::uint32_t e) { return load.sram_base <= e && e < load.sram_base + count; });
  }
  CHECK(read.empty());
  CHECK(elements <= kRows * kChannels / 4);
}

TEST_CASE("start_early: loads that only later parts read follow the first products") {
  Stream stream = layer(image());
  start_early(stream, kMachine);
  const auto is_load = [](const StreamInstruction& item) {
    return std::holds_alternative<isa::Load>(item.instruction.body);
  };
  const auto last = std::find_if_not(stream.instructions.rbegin(), stream.instructions.rend(), is_load).base();
  const auto first = std::ranges::find_if_not(stream.instructions, is_load);
  CHECK(last == stream.instructions.end());
  CHECK(std::count_if(first, last, is_load) > 2);
}

TEST_CASE("start_early: products that read every second element get no loads of single ones") {
  Stream stream = layer(image());
  isa::Gemm gemm = std::get<isa::Gemm>(stream.instructions.back().instruction.body);
  gemm.iter_out = kRows / 2;
  gemm.src_factor_out = 2;
  std::vector<isa::Uop> even = stream.kernels[static_cast<std::size_t>(stream.instructions.back().kernel)], odd = even;
  for (isa::Uop& uop : odd) ++uop.src;
  stream.instructions.back() = {{{}, gemm}, stream.kernel(std::move(even))};
  stream.instructions.push_back({{{}, gemm}, stream.kernel(std::move(odd))});
  const Stream before = stream;
  start_early(stream, kMachine);
  CHECK(products_of(stream) == products_of(before));
  CHECK(loaded(stream, isa::Memory::inp) == loaded(before, isa::Memory::inp));
  CHECK(stream.instructions.size() > before.instructions.size());
  for (const StreamInstruction& item : stream.instructions)
    if (const auto* load = std::get_if<isa::Load>(&item.instruction.body); load && load->memory == isa::Memory::inp)
      CHECK(load->y_size * load->x_size >= 8);
}

TEST_CASE("start_early: a load with pads is not split") {
  isa::Load padded = image();
  padded.x_size -= 2;
  padded.x_pad_0 = padded.x_pad_1 = 1;
  Stream stream = layer(padded);
  const Stream before = stream;
  start_early(stream, kMachine);
  CHECK(products_of(stream) == products_of(before));
  CHECK(std::ranges::count_if(stream.instructions, [&](const StreamInstruction& item) {
          const auto* load = std::get_if<isa::Load>(&item.instruction.body);
          return load != nullptr && *load == padded;
        }) == 1);
}

TEST_CASE("start_early: no load passes a store") {
  Stream stream = layer(image());
  isa::Store store{rows_of(isa::Memory::out, 0, 1, 1, 1)};  // the data that the first load has read
  stream.instructions.insert(stream.instructions.begin() + 1, {{{}, store}});
  start_early(stream, kMachine);
  bool stored = false;
  for (const StreamInstruction& item : stream.instructions) {
    stored |= std::holds_alternative<isa::Store>(item.instruction.body);
    if (const auto* load = std::get_if<isa::Load>(&item.instruction.body); load && load->memory == isa::Memory::inp)
      CHECK_FALSE(stored);
  }
}

TEST_CASE("start_early: products that hardly wait stay as they are") {
  isa::Load little{rows_of(isa::Memory::inp, 0, 1, 1, 1)};
  Stream stream = layer(little);
  auto& gemm = std::get<isa::Gemm>(stream.instructions.back().instruction.body);
  gemm.src_factor_out = 0;
  std::get<isa::Load>(stream.instructions[1].instruction.body).x_size = 1;
  stream.instructions.back().kernel = stream.kernel({{}});
  start_early(stream, kMachine);
  CHECK(stream.instructions.size() == 3);
}

}  // namespace dovetail::accel
