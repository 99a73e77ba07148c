// Stores before a border in small streams. That cutting them changes no value, the random operators show, whose regions
// go through it.
#include "compiler/target/accel/split_stores.h"

#include "tests/catch.h"

namespace dovetail::accel {

namespace {

isa::Transfer rows_of(isa::Memory memory, std::uint64_t dram, std::uint32_t rows, std::uint32_t elements,
                      std::uint32_t stride) {
  isa::Transfer t;
  t.memory = memory;
  t.dram_base = dram;
  t.y_size = rows;
  t.x_size = elements;
  t.x_stride = stride;
  return t;
}
StreamInstruction stored(const isa::Transfer& transfer) {
  isa::Store store{transfer};
  store.sram_base = 7;
  return {{{}, store}};
}
StreamInstruction loaded(const isa::Transfer& transfer) { return {{{}, isa::Load{transfer}}}; }
StreamInstruction steps_of_gemm(Stream& stream, std::uint32_t steps) {
  isa::Gemm gemm;
  gemm.iter_out = steps;
  gemm.iter_in = 1;
  return {{{}, gemm}, stream.kernel({isa::Uop{}})};
}

// Units of each piece; they are what was stored, in order.
std::vector<std::uint32_t> pieces(const Stream& stream, const isa::Store& whole) {
  std::vector<std::uint32_t> units;
  std::uint32_t at = 0;
  for (const StreamInstruction& item : stream.instructions) {
    const auto* piece = std::get_if<isa::Store>(&item.instruction.body);
    if (piece == nullptr) continue;
    const bool rows = whole.y_size > 1;
    CHECK(piece->sram_base == whole.sram_base + (rows ? at * whole.x_size : at));
    CHECK(piece->dram_base == whole.dram_base + (rows ? at * whole.x_stride : at));
    CHECK((rows ? piece->x_size == whole.x_size : piece->y_size == 1));
    CHECK(piece->x_stride == whole.x_stride);
    units.push_back(rows ? piece->y_size : piece->x_size);
    at += units.back();
  }
  CHECK(at == (whole.y_size > 1 ? whole.y_size : whole.x_size));
  return units;
}

std::vector<std::uint32_t> cut(const isa::Transfer& store, const isa::Transfer& load, std::uint32_t steps_between) {
  Stream stream;
  stream.instructions.push_back(stored(store));
  if (steps_between > 0) stream.instructions.push_back(steps_of_gemm(stream, steps_between));
  stream.instructions.push_back(loaded(load));
  const isa::Store whole = std::get<isa::Store>(stream.instructions.front().instruction.body);
  const std::size_t more = split_stores(stream, isa::HardwareConfig{});
  const std::vector<std::uint32_t> units = pieces(stream, whole);
  CHECK(units.size() == more + 1);
  return units;
}

}  // namespace

TEST_CASE("split_stores: what is loaded first is a piece of its own, the others double") {
  const isa::Transfer row = rows_of(isa::Memory::out, 1000, 1, 1176, 1176);
  CHECK(cut(row, rows_of(isa::Memory::inp, 1000, 1, 98, 98), 0) == std::vector<std::uint32_t>{98, 98, 196, 392, 392});
  CHECK(cut(row, rows_of(isa::Memory::inp, 1100, 2, 50, 100), 0) == std::vector<std::uint32_t>{250, 250, 500, 176});
  const isa::Transfer rows = rows_of(isa::Memory::out, 1000, 10, 98, 200);
  CHECK(cut(rows, rows_of(isa::Memory::inp, 1000, 1, 98, 98), 0) == std::vector<std::uint32_t>{1, 1, 2, 4, 2});
  CHECK(cut(rows, rows_of(isa::Memory::inp, 1000, 3, 98, 200), 0) == std::vector<std::uint32_t>{3, 3, 4});
}

TEST_CASE("split_stores: stores stay whole where cutting them gains nothing") {
  const isa::Transfer row = rows_of(isa::Memory::out, 1000, 1, 1000, 1000),
                      rows = rows_of(isa::Memory::out, 0, 4, 98, 200);
  CHECK(cut(row, rows_of(isa::Memory::inp, 1000, 1, 501, 501), 0) ==
        std::vector<std::uint32_t>{1000});  // most of it is needed at once
  CHECK(cut(row, rows_of(isa::Memory::inp, 2000, 1, 98, 98), 0) == std::vector<std::uint32_t>{1000});  // another one
  CHECK(cut(rows, rows_of(isa::Memory::inp, 98, 2, 102, 200), 0) == std::vector<std::uint32_t>{4});  // between its rows
  CHECK(cut(row, rows_of(isa::Memory::inp, 1000, 1, 98, 98), 4000) ==
        std::vector<std::uint32_t>{1000});  // there is time enough
  CHECK(cut(rows_of(isa::Memory::out, 1000, 1, 120, 120), rows_of(isa::Memory::inp, 1000, 1, 10, 10), 0) ==
        std::vector<std::uint32_t>{120});  // short
}

}  // namespace dovetail::accel
