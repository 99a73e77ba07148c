// A bundle made by hand: x -> host (x + 1) -> accelerator (+ 3, one element of 16 lanes) -> host (* 2 with a constant)
// -> y.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "bundle/bundle.h"
#include "isa/codec.h"
#include "loops/parse.h"

namespace dovetail::test {

inline constexpr std::uint64_t kSampleBase = 0x1000, kSampleUops = 0x1000, kSampleInput = 0x1040,
                               kSampleOutput = 0x1080, kSampleProgram = 0x2000;

inline loops::Program sample_program(const std::string& text) {
  auto program = loops::parse_program(text, "sample");
  DOVETAIL_CHECK(program.ok(), to_string(program.errors()));
  return *std::move(program);
}

inline bundle::AccelStep sample_accel_step() {
  using namespace isa;
  const auto load = [](Memory memory, std::uint64_t address, std::uint64_t element_bytes) {
    Load load;
    load.memory = memory;
    load.dram_base = address / element_bytes;
    load.y_size = load.x_size = load.x_stride = 1;
    return load;
  };
  bundle::AccelStep step;
  step.name = "region";
  step.dram_base = kSampleBase;
  step.dram_bytes = 0x2000;
  Alu add;
  add.op = AluOp::add;
  add.uop_end = add.iter_out = add.iter_in = 1;
  add.use_imm = true;
  add.imm = 3;
  Store store;
  store.memory = Memory::out;
  store.dram_base = kSampleOutput / 16;
  store.y_size = store.x_size = store.x_stride = 1;
  step.program = {{{}, load(Memory::uop, kSampleUops, 4)},
                  {{}, load(Memory::acc8, kSampleInput, 16)},
                  {{.push_next = true}, add},
                  {{.pop_prev = true}, store},
                  {{}, Finish{}}};
  const Codec codec(step.config);
  std::vector<std::byte> uops;
  DOVETAIL_CHECK(codec.encode(Uop{}, uops).ok(), "");
  step.segments = {{"uops", kSampleUops, uops},
                   {"program", kSampleProgram, codec.encode_program(step.program).value()}};
  step.program_base = kSampleProgram;
  step.launches = {{0, 5}};
  step.inputs = {{1, kSampleInput}};
  step.outputs = {{2, kSampleOutput}};
  step.ranges = {{0, 3, "add", {"Add_1"}}, {3, 5, "store", {}}};
  step.uops = 1;
  return step;
}

inline bundle::Bundle sample_bundle() {
  bundle::Bundle bundle;
  bundle.name = "sample";
  bundle.tensors = {{"x", DType::int8, {1, 16}, {}},
                    {"h", DType::int8, {1, 16}, {}},
                    {"a", DType::int8, {1, 16}, {}},
                    {"two", DType::int8, {1}, NdArray::from<std::int8_t>({1}, {2})},
                    {"y", DType::int8, {1, 16}, {}}};
  bundle.inputs = {0};
  bundle.outputs = {4};
  bundle.steps.emplace_back(
      bundle::HostStep{"plus_one",
                       {"Add_0"},
                       sample_program("program plus_one {\n input x: int8[1, 16]\n output h: int8[1, 16]\n for a in 16 "
                                      "{ block b { spatial i in 16 = a\n"
                                      " reads x[0, i]\n writes h[0, i]\n h[0, i] = x[0, i] + 1\n } } }"),
                       {0},
                       {1}});
  bundle.steps.emplace_back(sample_accel_step());
  bundle.steps.emplace_back(bundle::HostStep{
      "twice",
      {"Mul_2"},
      sample_program(
          "program twice {\n input a: int8[1, 16]\n constant two: int8[1]\n output y: int8[1, 16]\n for k in 16 { "
          "block b {"
          " spatial i in 16 = k\n reads a[0, i], two[0]\n writes y[0, i]\n y[0, i] = a[0, i] * two[0]\n } } }"),
      {2, 3},
      {4}});
  bundle.report = {{"nodes", 3}};
  return bundle;
}

}  // namespace dovetail::test
