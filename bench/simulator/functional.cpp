// Speed of the functional simulator: MACs and instructions per second of processor time, medians of many runs. Usage:
// functional [RUNS [WORKLOAD]], WORKLOAD being a substring of the names to measure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "isa/codec.h"
#include "simulator/functional/functional.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {
namespace {

constexpr std::uint64_t kUops = 0, kData = 1 << 16, kOutput = 24 << 20;
constexpr std::size_t kImageBytes = 32 << 20;

struct Workload {
  std::string name;
  isa::HardwareConfig config;
  std::vector<isa::Uop> uops;
  std::vector<isa::Instruction> program;
};

double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median_seconds(int runs, const std::function<void()>& run) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const double start = processor_seconds();
    run();
    seconds.push_back(processor_seconds() - start);
  }
  std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
  return seconds[static_cast<std::size_t>(runs / 2)];
}

template <typename Body>
isa::Instruction make(Body body, isa::DependencyFlags flags = {}) {
  return {flags, body};
}

isa::Load load(isa::Memory memory, std::uint32_t sram, std::uint64_t dram, std::uint32_t y, std::uint32_t x,
               std::uint32_t stride) {
  isa::Load load;
  load.memory = memory, load.sram_base = sram, load.dram_base = dram;
  load.y_size = y, load.x_size = x, load.x_stride = stride;
  return load;
}

// `uops` from the start, enough to fill the micro-op memory's first `count` entries, and `elements` of INP, WGT and
// ACC.
void load_operands(Workload& workload, std::uint32_t elements) {
  const auto at = [&](isa::Memory memory) {
    return kData / static_cast<std::uint64_t>(workload.config.element_bytes(memory));
  };
  workload.program.push_back(
      make(load(isa::Memory::uop, 0, kUops, 1, static_cast<std::uint32_t>(workload.uops.size()), 1)));
  for (isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt})
    workload.program.push_back(make(load(memory, 0, at(memory), 1, elements, elements), {.push_next = true}));
  workload.program.push_back(
      make(load(isa::Memory::acc, 0, at(isa::Memory::acc), 1, elements, elements), {.pop_prev = true}));
  workload.program.push_back(make(load(isa::Memory::uop, 0, 0, 0, 0, 0), {.pop_prev = true}));
}

// C = A B^T, 512 x 512 x 512: rows of A in tiles of INP, all of B on chip, the accumulators of a tile stored after a
// shift and clip.
Workload matrix_multiply(const isa::HardwareConfig& config) {
  Workload workload{.name = "gemm_512x512x512", .config = config, .uops = {}, .program = {}};
  const auto batch = static_cast<std::uint32_t>(config.batch), in = static_cast<std::uint32_t>(512 / config.block_in),
             out = static_cast<std::uint32_t>(512 / config.block_out);
  const std::uint32_t rows =
      static_cast<std::uint32_t>(std::min(config.depth(isa::Memory::inp) / in, config.depth(isa::Memory::acc) / out)) /
      2;
  // One micro-op per output block; the outer loop runs over inputs, the inner one over rows.
  for (std::uint32_t o = 0; o < out; ++o) workload.uops.push_back({.dst = o, .src = 0, .wgt = o * in});
  workload.program.push_back(make(load(isa::Memory::uop, 0, kUops, 1, out, out)));
  workload.program.push_back(
      make(load(isa::Memory::wgt, 0, (1 << 20) / static_cast<std::uint64_t>(config.element_bytes(isa::Memory::wgt)), 1,
                out * in, out * in),
           {.push_next = true}));
  workload.program.push_back(make(load(isa::Memory::uop, 0, 0, 0, 0, 0), {.pop_prev = true}));
  isa::Gemm gemm;
  gemm.uop_end = out;
  gemm.dst_factor_in = out, gemm.src_factor_in = in;
  isa::Gemm reset = gemm;
  reset.reset = true;
  gemm.src_factor_out = gemm.wgt_factor_out = 1;
  gemm.iter_out = in, reset.iter_out = 1;
  isa::Alu shift;
  shift.uop_end = out, shift.iter_out = 1, shift.dst_factor_in = out, shift.use_imm = true, shift.op = isa::AluOp::shr,
  shift.imm = 8;
  isa::Alu low = shift, high = shift;
  low.op = isa::AluOp::max, low.imm = -128, high.op = isa::AluOp::min, high.imm = 127;
  for (std::uint32_t row = 0; row < 512 / batch; row += rows) {
    const std::uint32_t count = std::min(rows, 512 / batch - row);
    gemm.iter_in = reset.iter_in = shift.iter_in = low.iter_in = high.iter_in = count;
    workload.program.push_back(make(
        load(isa::Memory::inp, 0, kData / static_cast<std::uint64_t>(config.element_bytes(isa::Memory::inp)) + row * in,
             1, count * in, count * in),
        {.pop_next = row != 0, .push_next = true}));
    workload.program.push_back(make(reset, {.pop_next = row != 0}));
    workload.program.push_back(make(gemm, {.pop_prev = true, .push_prev = row + count < 512 / batch}));
    for (const isa::Alu& alu : {shift, low}) workload.program.push_back(make(alu));
    workload.program.push_back(make(high, {.push_next = true}));
    isa::Store store;
    store.memory = isa::Memory::out;
    store.dram_base = kOutput / static_cast<std::uint64_t>(config.element_bytes(isa::Memory::out)) + row * out;
    store.y_size = 1, store.x_size = store.x_stride = count * out;
    workload.program.push_back(make(store, {.pop_prev = true, .push_prev = row + count < 512 / batch}));
  }
  return workload;
}

// ResNet-18's C2 at 1x16x16: 56 x 56 x 64, 3 x 3, padded, 64 outputs. Weights stay on chip; four output rows at a time.
Workload convolution(const isa::HardwareConfig& config) {
  Workload workload{.name = "resnet18_c2", .config = config, .uops = {}, .program = {}};
  constexpr std::uint32_t size = 56, padded = 58, blocks = 4, rows = 4;
  constexpr std::uint32_t tile_in = (rows + 2) * padded, tile_out = rows * size;
  // INP [block][rows + 2][58], WGT [out block][in block][9], ACC [block][rows][56]; micro-ops over input blocks and
  // taps.
  for (std::uint32_t o = 0; o < blocks; ++o)
    for (std::uint32_t i = 0; i < blocks; ++i)
      for (std::uint32_t y = 0; y < 3; ++y)
        for (std::uint32_t x = 0; x < 3; ++x)
          workload.uops.push_back(
              {.dst = o * tile_out, .src = i * tile_in + y * padded + x, .wgt = (o * blocks + i) * 9 + y * 3 + x});
  const auto taps = static_cast<std::uint32_t>(workload.uops.size()) / blocks;
  workload.program.push_back(make(load(isa::Memory::uop, 0, kUops, 1, blocks * taps, 1)));
  workload.program.push_back(
      make(load(isa::Memory::wgt, 0, (1 << 20) / 256, 1, blocks * taps, 1), {.push_next = true}));
  workload.program.push_back(make(load(isa::Memory::uop, 0, 0, 0, 0, 0), {.pop_prev = true}));
  for (std::uint32_t row = 0; row < size; row += rows) {
    const bool first = row == 0, last = row + rows == size;
    for (std::uint32_t i = 0; i < blocks; ++i) {
      isa::Load tile = load(isa::Memory::inp, i * tile_in, kData / 16 + i * size * size + (first ? 0 : row - 1) * size,
                            rows + 2 - (first ? 1 : 0) - (last ? 1 : 0), size, size);
      tile.y_pad_0 = first ? 1 : 0, tile.y_pad_1 = last ? 1 : 0, tile.x_pad_0 = tile.x_pad_1 = 1;
      workload.program.push_back(make(tile, {.pop_next = i == 0 && !first, .push_next = i + 1 == blocks}));
    }
    isa::Gemm gemm;
    gemm.iter_out = rows, gemm.iter_in = size;
    gemm.dst_factor_out = size, gemm.dst_factor_in = 1;
    isa::Gemm reset = gemm;
    reset.reset = true;
    gemm.src_factor_out = padded, gemm.src_factor_in = 1;
    for (std::uint32_t o = 0; o < blocks; ++o) {
      reset.uop_begin = o * taps, reset.uop_end = o * taps + 1;
      workload.program.push_back(make(reset, {.pop_next = o == 0 && !first}));
      gemm.uop_begin = o * taps, gemm.uop_end = (o + 1) * taps;
      workload.program.push_back(make(gemm, {.pop_prev = o == 0, .push_prev = o + 1 == blocks && !last}));
      isa::Alu alu;
      alu.uop_begin = o * taps, alu.uop_end = o * taps + 1;
      alu.iter_out = rows, alu.iter_in = size, alu.dst_factor_out = size, alu.dst_factor_in = 1;
      alu.use_imm = true;
      for (auto [op, imm] : {std::pair{isa::AluOp::shr, 8}, {isa::AluOp::max, 0}, {isa::AluOp::min, 127}}) {
        alu.op = op, alu.imm = imm;
        workload.program.push_back(make(alu, {.push_next = o + 1 == blocks && op == isa::AluOp::min}));
      }
    }
    for (std::uint32_t o = 0; o < blocks; ++o) {
      isa::Store store;
      store.memory = isa::Memory::out;
      store.sram_base = o * tile_out;
      store.dram_base = kOutput / 16 + o * size * size + row * size;
      store.y_size = 1, store.x_size = store.x_stride = tile_out;
      workload.program.push_back(make(store, {.pop_prev = o == 0, .push_prev = o + 1 == blocks && !last}));
    }
  }
  return workload;
}

// `count` small instructions of one kind, after their operands.
Workload repeated(std::string name, std::size_t count, const std::vector<isa::Instruction>& body) {
  Workload workload{.name = std::move(name), .config = {}, .uops = {{0, 0, 0}}, .program = {}};
  load_operands(workload, 1);
  for (std::size_t i = 0; i < count; ++i) workload.program.push_back(body[i % body.size()]);
  return workload;
}

template <typename Loop>
Loop loop(std::uint32_t uop_end, std::uint32_t iter_out, std::uint32_t iter_in) {
  Loop body;
  body.uop_end = uop_end, body.iter_out = iter_out, body.iter_in = iter_in;
  return body;
}

// 64 micro-ops over operands that stay on chip.
Workload resident_gemm() {
  Workload workload{.name = "gemm_resident", .config = {}, .uops = {}, .program = {}};
  for (std::uint32_t k = 0; k < 64; ++k) workload.uops.push_back({.dst = k, .src = k, .wgt = k});
  load_operands(workload, 256);
  auto gemm = loop<isa::Gemm>(64, 100, 8);
  gemm.dst_factor_in = 16, gemm.src_factor_in = 1, gemm.wgt_factor_in = 4;
  for (int i = 0; i < 10; ++i) workload.program.push_back(make(gemm));
  return workload;
}

// Every step adds to the same element.
Workload one_destination_gemm() {
  Workload workload{.name = "gemm_one_destination", .config = {}, .uops = {{0, 0, 0}}, .program = {}};
  load_operands(workload, 100);
  auto gemm = loop<isa::Gemm>(1, 1000, 100);
  gemm.src_factor_in = gemm.wgt_factor_in = 1;
  workload.program.push_back(make(gemm));
  return workload;
}

Workload requant() {
  Workload workload{.name = "alu_requant", .config = {}, .uops = {{.dst = 2, .src = 0}}, .program = {}};
  workload.config.requant = true;
  load_operands(workload, 1002);
  auto alu = loop<isa::Alu>(1, 100, 1000);
  alu.op = isa::AluOp::requant, alu.dst_factor_in = 1;
  workload.program.push_back(make(alu));
  return workload;
}

std::vector<Workload> workloads() {
  std::vector<Workload> all;
  all.push_back(resident_gemm());
  all.push_back(one_destination_gemm());
  all.push_back(matrix_multiply({}));
  all.push_back(convolution({}));
  for (auto [batch, in, out] : {std::tuple{2, 16, 16}, {1, 32, 32}, {1, 8, 8}, {4, 8, 8}, {1, 32, 16}}) {
    isa::HardwareConfig config;
    config.batch = batch, config.block_in = in, config.block_out = out;
    config.acc_buffer_bytes *= std::max(1, batch * out / 16);
    config.inp_buffer_bytes *= std::max(1, batch * in / 16);
    all.push_back(matrix_multiply(config));
    all.back().name += fmt::format("_at_{}x{}x{}", batch, in, out);
  }
  all.push_back(requant());
  const auto gemm = loop<isa::Gemm>(1, 1, 1);
  auto add = loop<isa::Alu>(1, 1, 1);
  add.use_imm = true, add.imm = 1;
  all.push_back(repeated("one_uop_gemm", 500'000, {make(gemm)}));
  all.push_back(repeated("one_uop_alu", 500'000, {make(add)}));
  all.push_back(repeated("nop", 500'000, {make(load(isa::Memory::uop, 0, 0, 0, 0, 0))}));
  all.push_back(repeated(
      "load_gemm_pairs", 200'000,
      {make(load(isa::Memory::inp, 0, kData / 16, 1, 1, 1), {.push_next = true}), make(gemm, {.pop_prev = true})}));
  return all;
}

Json measure(const Workload& workload, KernelLevel level, int runs) {
  const isa::Codec codec(workload.config);
  Dram dram{.base = 0, .bytes = std::vector<std::byte>(kImageBytes)};
  std::mt19937 random(1);
  for (std::size_t i = kData; i < kOutput; ++i) dram.bytes[i] = static_cast<std::byte>(random());
  std::vector<std::byte> uops;
  for (const isa::Uop& uop : workload.uops) DOVETAIL_CHECK(codec.encode(uop, uops).ok(), "a micro-op does not encode");
  std::copy(uops.begin(), uops.end(), dram.bytes.begin());

  const auto simulator = make_functional(workload.config, {.kernel_level = level});
  const Counters counters = simulator->launch(workload.program, dram).value();
  const double launch = median_seconds(runs, [&] { (void)simulator->launch(workload.program, dram).value(); });
  const std::vector<std::byte> raw = codec.encode_program(workload.program).value();
  const double total =
      median_seconds(runs, [&] { (void)run_program(*simulator, codec, raw, workload.name, {}, dram).value(); });
  const auto rate = [](double count, double seconds) { return std::round(count / seconds * 1e3) / 1e3; };
  const double instructions = static_cast<double>(workload.program.size());
  Json result{
      {"workload", workload.name}, {"instructions", workload.program.size()}, {"launch_ms", rate(launch, 1e-3)}};
  if (counters.macs > 100 * 256 * workload.program.size()) {
    result["gmac_per_s"] = rate(static_cast<double>(counters.macs) * 1e-9, launch);
  } else if (workload.program.size() > 1000) {
    result["minsn_per_s"] = rate(instructions * 1e-6, launch);
    result["minsn_per_s_with_decode"] = rate(instructions * 1e-6, total);
  } else {
    result["muop_per_s"] = rate(static_cast<double>(counters.alu_uops) * 1e-6, launch);
  }
  return result;
}

}  // namespace
}  // namespace dovetail::simulator

int main(int argc, char** argv) {
  using namespace dovetail;
  using namespace dovetail::simulator;
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 21;
  const std::string only = argc > 2 ? argv[2] : "";
  Json results = Json::array();
  for (KernelLevel level : {KernelLevel::avx512vnni, KernelLevel::avx2, KernelLevel::baseline}) {
    if (!is_supported(level)) continue;
    Json rows = Json::array();
    for (const Workload& workload : workloads())
      if (workload.name.find(only) != std::string::npos) rows.push_back(measure(workload, level, runs));
    results.push_back(Json{{"kernel_level", name(level)}, {"workloads", rows}});
  }
  std::puts(Json{{"benchmark", "functional simulator"},
                 {"time", "processor time of one thread, median"},
                 {"runs", runs},
                 {"levels", results}}
                .dump(2)
                .c_str());
}
