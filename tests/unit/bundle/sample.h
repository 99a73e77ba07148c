// A hand-made bundle: x -> host (x + 1) -> accelerator (+ 3, one element of 16 lanes) -> host (* 2 with a constant) ->
// y. The accelerator's operands and results are in its memory.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "bundle/bundle.h"
#include "bundle/code/accel.h"
#include "bundle/code/host.h"
#include "isa/codec.h"
#include "loops/parse.h"

namespace dovetail::test {

inline constexpr bundle::SpaceIndex kSampleSpace = 1;
inline constexpr std::uint64_t kSampleBase = 0x1000, kSampleUops = 0x1000, kSampleInput = 0x1040,
                               kSampleOutput = 0x1080, kSampleProgram = 0x2000, kSampleBytes = 0x2000;

inline loops::Program sample_program(const std::string& text) {
  auto program = loops::parse_program(text, "sample");
  DOVETAIL_CHECK(program.ok(), to_string(program.errors()));
  return *std::move(program);
}

inline bundle::Step host_step(std::string name, std::vector<std::string> origins, const std::string& text,
                              std::vector<bundle::TensorIndex> arguments, std::vector<bundle::TensorIndex> results) {
  bundle::Step step{std::move(name), {}, std::move(origins), std::move(arguments), std::move(results)};
  bundle::encode(bundle::HostCode{sample_program(text)}, step);
  return step;
}

inline bundle::AccelCode sample_accel_code() {
  using namespace isa;
  const auto load = [](Memory memory, std::uint64_t address, std::uint64_t element_bytes) {
    Load load;
    load.memory = memory;
    load.dram_base = address / element_bytes;
    load.y_size = load.x_size = load.x_stride = 1;
    return load;
  };
  bundle::AccelCode code;
  code.space = kSampleSpace;
  Alu add;
  add.op = AluOp::add;
  add.uop_end = add.iter_out = add.iter_in = 1;
  add.use_imm = true;
  add.imm = 3;
  Store store;
  store.memory = Memory::out;
  store.dram_base = kSampleOutput / 16;
  store.y_size = store.x_size = store.x_stride = 1;
  code.program = {{{}, load(Memory::uop, kSampleUops, 4)},
                  {{}, load(Memory::acc8, kSampleInput, 16)},
                  {{.push_next = true}, add},
                  {{.pop_prev = true}, store},
                  {{}, Finish{}}};
  const Codec codec(code.config);
  std::vector<std::byte> uops;
  DOVETAIL_CHECK(codec.encode(Uop{}, uops).ok(), "");
  code.segments = {{"uops", kSampleUops, uops},
                   {"program", kSampleProgram, codec.encode_program(code.program).value()}};
  code.program_base = kSampleProgram;
  code.launches = {{0, 5}};
  code.argument_addresses = {kSampleInput};
  code.result_addresses = {kSampleOutput};
  code.ranges = {{0, 3, "add", {"Add_1"}, 12}, {3, 5, "store", {}}};
  code.uops = 1;
  return code;
}

inline bundle::Step accel_step(std::string name, const bundle::AccelCode& code,
                               std::vector<bundle::TensorIndex> arguments, std::vector<bundle::TensorIndex> results) {
  bundle::Step step{std::move(name), {}, {"Add_1"}, std::move(arguments), std::move(results)};
  bundle::encode(code, step);
  return step;
}

// Changes the code of a bundle's step.
template <typename Change>
void change_accel(bundle::Step& step, const Change& change) {
  bundle::AccelCode code = bundle::decode_accel(step).value();
  change(code);
  bundle::encode(code, step);
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
  bundle.spaces.push_back({std::string(bundle::kAccelTarget), "DRAM", kSampleBase, kSampleBytes});
  bundle.tensors[1].space = bundle.tensors[2].space = kSampleSpace;
  bundle.tensors[1].offset = kSampleInput - kSampleBase;
  bundle.tensors[2].offset = kSampleOutput - kSampleBase;
  bundle.steps.push_back(host_step("plus_one", {"Add_0"},
                                   "program plus_one {\n input x: int8[1, 16]\n output h: int8[1, 16]\n for a in 16 "
                                   "{ block b { spatial i in 16 = a\n"
                                   " reads x[0, i]\n writes h[0, i]\n h[0, i] = x[0, i] + 1\n } } }",
                                   {0}, {1}));
  bundle.steps.push_back(accel_step("region", sample_accel_code(), {1}, {2}));
  bundle.steps.push_back(host_step(
      "twice", {"Mul_2"},
      "program twice {\n input a: int8[1, 16]\n constant two: int8[1]\n output y: int8[1, 16]\n for k in 16 { "
      "block b {"
      " spatial i in 16 = k\n reads a[0, i], two[0]\n writes y[0, i]\n y[0, i] = a[0, i] * two[0]\n } } }",
      {2, 3}, {4}));
  bundle.report = {{"nodes", 3}};
  return bundle;
}

}  // namespace dovetail::test
