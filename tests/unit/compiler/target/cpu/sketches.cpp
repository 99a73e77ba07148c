// The CPU's sketches accept every decision that they sample.
#include "compiler/target/cpu/sketches/sketches.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/target/cpu/intrinsics.h"
#include "loops/print.h"
#include "tests/cpu_task.h"

using namespace dovetail;
using namespace dovetail::test;

TEST_CASE("cpu sketches: a tile may be one result") {
  const schedule::Decisions one{{"tile_columns", "1"}, {"tile_rows", "1"}};
  for (const cpu::Cpu& cpu : cpu::cpus())
    for (const CpuTaskText* text : {&kConvolutionTask, &kMatmulTask}) {
      const schedule::Scheduled scheduled = scheduled_as(cpu_task(text->text, text->kind, cpu), cpu, one);
      CHECK(scheduled.decisions[0].value == "1");
      CHECK(scheduled.decisions[1].value == "1");
    }
}

TEST_CASE("cpu sketches: sums, a row of weights and the broadcast element of a default tile are in registers") {
  for (const cpu::Cpu& cpu : cpu::cpus())
    for (const std::int64_t outputs : {16, 64, 128, 256, 512})
      for (const std::int64_t width : {7, 13, 14, 27, 56}) {
        const std::string image = fmt::format("float32[1, {}, {}, {}]", outputs, width, width);
        const std::string text = fmt::format(R"(graph g(%x: float32[1, 64, {0}, {0}]) -> (%z)
  constant %w: float32[{1}, 64, 1, 1]
  %y: {2} = Conv(%x, %w)
  %z: {2} = Relu(%y)
)",
                                             width, outputs, image);
        CAPTURE(cpu.name, text);
        const auto decisions = scheduled_as(cpu_task(text, "convolution", cpu), cpu).decisions;
        const std::int64_t vectors = std::max<std::int64_t>(1, std::stoll(decisions[0].value) / cpu.lanes(4));
        CHECK((std::stoll(decisions[1].value) + 1) * vectors + 1 <= cpu.vector_registers);
      }
}

TEST_CASE("cpu sketches: blocks of a prime number of rows keep their size") {
  CHECK(cpu::block_size(13, 4) == 4);
  CHECK(cpu::block_size(12, 5) == 4);  // divides the extent, and is not much smaller
  CHECK(cpu::block_size(7, 7) == 7);
  CHECK(cpu::block_size(7, 1) == 1);
  for (std::int64_t extent = 1; extent <= 60; ++extent)
    for (const std::int64_t size : cpu::block_sizes(extent)) {
      const std::int64_t blocks = (extent + size - 1) / size;
      CHECK((blocks - 1) * size < extent);
      CHECK(blocks * (size - 1) < extent);  // no smaller size has as few blocks
    }
}

TEST_CASE("cpu sketches: columns that are not whole vectors are extended where a tile cannot be as wide") {
  const auto columns = [](std::int64_t number, const char* processor) {
    return cpu::tileable_columns({64, number, 256}, *cpu::find_cpu(processor));
  };
  CHECK(columns(1000, "avx512") == 1008);
  CHECK(columns(1024, "avx512") == 1024);
  CHECK(columns(100, "avx512") == 100);
  // 8216 = 8 * 13 * 79 only has tiles of one vector.
  CHECK(columns(8210, "avx2") == 8224);
  CHECK(columns(8192, "avx2") == 8192);
}

TEST_CASE("cpu sketches: a product whose sums are the result is extended too, and its columns are copied") {
  const cpu::Cpu cpu = *cpu::find_cpu("avx2");
  const schedule::Task task = cpu_task(
      "graph g(%x: float32[20, 64]) -> (%y)\n  constant %w: float32[64, 8210]\n"
      "  %y: float32[20, 8210] = MatMul(%x, %w)\n",
      "matmul", cpu);
  CHECK(task.prepared == std::vector<std::string>{"extend_product gemm 1:8232"});
  CHECK(to_string(scheduled_as(task, cpu).trace).find("reverse_compute_at result") != std::string::npos);
}

TEST_CASE("cpu sketches: long windows, as of a Fourier transform, are not unrolled") {
  const cpu::Cpu cpu = *cpu::find_cpu("avx2");
  for (const char* pads : {"[0, 0]", "[256, 256]"}) {  // tiles at the end of the row have fewer pixels; skipped padding
    CAPTURE(pads);
    const std::int64_t pixels = pads[1] == '0' ? 75 : 78;
    const schedule::Task task = cpu_task(fmt::format(R"(graph g(%x: float32[1, 1, 12400]) -> (%y)
  constant %w: float32[257, 1, 512]
  %y: float32[1, 257, {}] = Conv(%x, %w) {{strides=[160], pads={}}}
)",
                                                     pixels, pads),
                                         "convolution", cpu);
    CHECK(to_string(scheduled_as(task, cpu).trace).find("unroll conv.kx") == std::string::npos);
  }
}

TEST_CASE("cpu sketches: lines conflict in the first level's sets where they fill most of the ways") {
  const cpu::Cpu eight = *cpu::find_cpu("avx512"), twelve = *cpu::find_cpu("avx512-amx");
  CHECK(cpu::crowds_sets(2048, 14, eight));
  CHECK(!cpu::crowds_sets(2048, 14, twelve));
  CHECK(cpu::crowds_sets(4096, 14, twelve));
  CHECK(!cpu::crowds_sets(4096, 7, twelve));
  CHECK(!cpu::crowds_sets(3072, 14, twelve));
}

TEST_CASE("cpu sketches: averages of whole images run in lanes of channels, over several sums at once") {
  const std::string bytes = R"(graph g(%x: int8[1, 128, 5, 5]) -> (%y)
  constant %w: int8[128, 1, 5, 5]
  constant %b: int32[128]
  constant %s: float32[128]
  %y: int8[1, 128, 1, 1] = dovetail.qconv(%x, %w, %b, %s) {group=128}
)";
  const std::string floats = R"(graph g(%x: float32[1, 128, 5, 5]) -> (%y)
  %y: float32[1, 128, 1, 1] = GlobalAveragePool(%x)
)";
  const cpu::Cpu cpu = *cpu::find_cpu("avx512-vnni");
  for (const auto& [text, lane_loop] : {std::pair(bytes, "conv.o"), std::pair(floats, "")}) {
    CAPTURE(text);
    const schedule::Scheduled scheduled = scheduled_as(cpu_task(text, "generic", cpu), cpu);
    const auto decision = [&](const std::string& name) {
      const auto at = std::ranges::find(scheduled.decisions, name, &schedule::Decision::name);
      return at == scheduled.decisions.end() ? std::string() : at->value;
    };
    CHECK(decision("lanes0") != "none");
    CHECK(decision("lanes0").starts_with(lane_loop));
    CHECK(decision("vectors0") == "4");
  }
  // Weights are stored as lanes of channels read them.
  CHECK(scheduled_as(cpu_task(bytes, "generic", cpu), cpu).layouts.at("in1") == cpu::weights_by_channel(4));
}

TEST_CASE("cpu sketches: lanes divide a row where they can") {
  const cpu::Cpu cpu = *cpu::find_cpu("avx512-vnni");
  const std::string text = R"(graph g(%x: float32[3, 96]) -> (%y)
  constant %s: float32[]
  constant %z: int8[]
  %y: int8[3, 96] = QuantizeLinear(%x, %s, %z)
)";
  CHECK(to_string(scheduled_as(cpu_task(text, "generic", cpu), cpu).trace).find(" 32 ->") != std::string::npos);
}

TEST_CASE("cpu sketches: a movement across the order of its operand handles a line of it at a time") {
  const cpu::Cpu cpu = *cpu::find_cpu("avx512-vnni");
  const auto line = [&](const std::string& text) {
    const schedule::Scheduled scheduled = scheduled_as(cpu_task(text, "generic", cpu), cpu);
    const auto at = std::ranges::find(scheduled.decisions, "line0", &schedule::Decision::name);
    return at == scheduled.decisions.end() ? std::string() : at->value;
  };
  CHECK(line("graph g(%x: float32[48, 100]) -> (%y)\n  %y: float32[100, 48] = Transpose(%x)\n") == "4");
  CHECK(line("graph g(%x: int8[48, 100]) -> (%y)\n  %y: int8[100, 48] = Transpose(%x)\n") == "16");
  CHECK(line("graph g(%x: float32[48, 3]) -> (%y)\n  %y: float32[3, 48] = Transpose(%x)\n") == "");  // too few
  CHECK(
      line("graph g(%x: float32[9, 48, 100]) -> (%y)\n  %y: float32[48, 9, 100] = Transpose(%x) {perm=[1, 0, 2]}\n") ==
      "");
}

TEST_CASE("cpu sketches: sums of floats along rows, whose steps depend on each other, process several rows at once") {
  const cpu::Cpu cpu = *cpu::find_cpu("avx512-vnni");
  const auto rows = [&](const std::string& shape, const std::string& sum) {
    const std::string text = fmt::format(
        "graph g(%x: {}) -> (%y)\n  constant %axis: int64[1] = [1]\n  %y: {} = "
        "ReduceSum(%x, %axis) {{keepdims=0}}\n",
        shape, sum);
    const schedule::Scheduled scheduled = scheduled_as(cpu_task(text, "generic", cpu), cpu);
    const auto at = std::ranges::find(scheduled.decisions, "rows0", &schedule::Decision::name);
    return at == scheduled.decisions.end() ? std::string() : at->value;
  };
  CHECK(rows("float32[100, 64]", "float32[100]") == "8");
  CHECK(rows("float32[5, 64]", "float32[5]") == "4");
  CHECK(rows("float32[1, 64]", "float32[1]") == "");
  CHECK(rows("int32[100, 64]", "int32[100]") == "1");  // added up in lanes along the row
}

TEST_CASE("cpu sketches: depthwise convolutions and pools of lines and volumes are windows, channels in lanes") {
  const cpu::Cpu cpu = *cpu::find_cpu("avx512-vnni");
  const auto layout = [&](const std::string& text) {
    const schedule::Scheduled scheduled = scheduled_as(cpu_task(text, "window", cpu), cpu);
    CHECK(to_string(scheduled.trace).find("vectorize") != std::string::npos);
    return scheduled.layouts.at("in0");
  };
  CHECK(layout("graph g(%x: float32[1, 32, 50]) -> (%y)\n  constant %w: float32[32, 1, 5]\n  %y: float32[1, 32, 50] = "
               "Conv(%x, %w) {pads=[2, 2], group=32}\n") == "i0,i2,i1");
  CHECK(layout("graph g(%x: float32[1, 32, 6, 7, 8]) -> (%y)\n  constant %w: float32[32, 1, 3, 3, 3]\n  %y: float32[1, "
               "32, 6, 7, 8] = Conv(%x, %w) {pads=[1, 1, 1, 1, 1, 1], group=32}\n") == "i0,i2,i3,i4,i1");
  CHECK(layout("graph g(%x: float32[1, 32, 6, 8, 8]) -> (%y)\n  %y: float32[1, 32, 3, 4, 4] = MaxPool(%x) "
               "{kernel_shape=[2, 2, 2], strides=[2, 2, 2]}\n") == "i0,i2,i3,i4,i1");
}

TEST_CASE("cpu sketches: output channels of bytes are extended to whole vectors of dot products") {
  const std::string text = R"(graph g(%x: int8[1, 3, 14, 14]) -> (%y)
  constant %w: int8[8, 3, 3, 3]
  constant %b: int32[8]
  constant %s: float32[8]
  %y: int8[1, 8, 14, 14] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=3, y_zero_point=-5}
)";
  const cpu::Cpu cpu = *cpu::find_cpu("avx512-vnni");
  const schedule::Task task = cpu_task(text, "convolution", cpu);
  CHECK(std::ranges::find(task.prepared, "extend_product conv 1:16") != task.prepared.end());
  CHECK(to_string(scheduled_as(task, cpu).trace).find("x86.vpdpbusd") != std::string::npos);
}

TEST_CASE("cpu sketches: without VNNI, products of bytes are dot products of words") {
  for (const auto& [processor, name] :
       {std::pair("baseline", "x86.pmaddwd.4"), {"avx2", "x86.pmaddwd.8"}, {"avx512", "x86.pmaddwd.16"}}) {
    CAPTURE(processor);
    const cpu::Cpu cpu = *cpu::find_cpu(processor);
    for (const auto& [kind, text] : {test::kInt8ConvolutionTask, test::kInt8MatmulTask}) {
      const schedule::Task task = cpu_task(text, kind, cpu);
      const std::string main = kind == "matmul" ? "gemm" : "conv";
      CHECK(std::ranges::find(task.prepared, "widen_activations " + main) != task.prepared.end());
      CHECK(to_string(scheduled_as(task, cpu).trace).find(name) != std::string::npos);
    }
  }
}

TEST_CASE("cpu sketches: depth and columns of integer products are extended to those of dot products") {
  const std::string text = R"(graph g(%x: int8[5, 33]) -> (%y)
  constant %w: int8[10, 33]
  constant %b: int32[10]
  constant %s: float32[10]
  %y: int8[5, 10] = dovetail.qgemm(%x, %w, %b, %s) {x_zero_point=3, y_zero_point=-5}
)";
  const auto prepared = [&](const char* processor) {
    return cpu_task(text, "matmul", *cpu::find_cpu(processor)).prepared;
  };
  CHECK(prepared("avx2").back() == "extend_product gemm 1:16 2:34");
  CHECK(prepared("avx512-vnni").back() == "extend_product gemm 1:16 2:36");
}

TEST_CASE("cpu sketches: depthwise sums of bytes are words with VNNI, including the bias, and floats elsewhere") {
  const auto task = [](std::int64_t channels, const char* processor) {
    const std::string text = fmt::format(R"(graph g(%x: int8[1, {0}, 14, 14]) -> (%y)
  constant %w: int8[{0}, 1, 3, 3]
  constant %b: int32[{0}]
  constant %s: float32[{0}]
  %y: int8[1, {0}, 14, 14] = dovetail.qconv(%x, %w, %b, %s) {{pads=[1, 1, 1, 1], group={0}, x_zero_point=3, y_zero_point=-5}}
)",
                                         channels);
    return cpu_task(text, "window", *cpu::find_cpu(processor));
  };
  using Steps = std::vector<std::string>;
  const Steps words{"bound_accumulator conv in1", "drop_zero_point conv", "start_with_bias conv"},
      floats{"bound_accumulator conv in1", "sum_in_floats conv in1"};
  CHECK(task(32, "avx512-vnni").prepared == words);
  CHECK(task(8, "avx2-vnni").prepared == words);
  CHECK(task(12, "avx512-vnni").prepared == floats);  // no vector of that processor
  CHECK(task(32, "avx512").prepared == floats);
  // The types bound the sum: a requantized sum needs no clamp.
  CHECK(loops::to_string(task(32, "avx512-vnni").program).find("requantize(conv[") != std::string::npos);
}

TEST_CASE("cpu sketches: products with padding are skipped where the padding is zero and frequent enough") {
  const auto skips = [](std::int64_t image, const std::string& product) {
    const std::string text = fmt::format(R"(graph g(%x: {1}[1, 16, {0}, {0}]) -> (%y)
  constant %w: {1}[16, 16, 3, 3]
  constant %b: {2}[16]
  constant %s: float32[16]
  %y: {1}[1, 16, {0}, {0}] = {3}
)",
                                         image, product.starts_with("Conv") ? "float32" : "int8",
                                         product.starts_with("Conv") ? "float32" : "int32", product);
    CAPTURE(text);
    const cpu::Cpu cpu = *cpu::find_cpu("avx512-vnni");
    const schedule::Task task = cpu_task(text, "convolution", cpu);
    const bool skips = std::ranges::find(task.prepared, "skip_padding conv in1") != task.prepared.end();
    // The sum's predicate compares rows and columns with the borders.
    const std::string scheduled = loops::to_string(scheduled_as(task, cpu).program);
    CHECK((scheduled.find("kx < ") != std::string::npos) == skips);
    return skips;
  };
  CHECK(skips(7, "Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}"));
  CHECK(skips(14, "dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=-128}"));
  CHECK(!skips(7, "dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=3}"));  // its padding is 131
  CHECK(!skips(224, "Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}"));  // less than 1 % of the products
}

TEST_CASE("cpu sketches: with few output channels the lanes are pixels") {
  const cpu::Cpu cpu = *cpu::find_cpu("avx512-vnni");
  const auto by_pixel = [&](std::int64_t outputs, const std::string& attributes) {
    const std::string text = fmt::format(
        "graph g(%x: float32[1, 32, 64, 224]) -> (%y)\n  constant %w: float32[{0}, 32, 3, 3]\n"
        "  %y: float32[1, {0}, {1}] = Conv(%x, %w) {{{2}}}\n",
        outputs, attributes.find("strides") == std::string::npos ? "64, 224" : "32, 112", attributes);
    const auto scheduled = schedule::try_run(cpu::sketch_of(*cpu::find_kind("pixel_convolution"), cpu),
                                             cpu_task(text, "pixel_convolution", cpu), {});
    REQUIRE(scheduled.ok());
    return scheduled->has_value();
  };
  CHECK(by_pixel(1, "pads=[1, 1, 1, 1]"));
  CHECK(by_pixel(9, "pads=[1, 1, 1, 1]"));
  CHECK(!by_pixel(16, "pads=[1, 1, 1, 1]"));
  CHECK(!by_pixel(9, "pads=[1, 1, 1, 1], strides=[2, 2]"));  // lanes would be two pixels apart
  // The input keeps its layout, the result is plain.
  const schedule::Scheduled scheduled =
      scheduled_as(cpu_task(kPixelConvolutionTask.text, "pixel_convolution", cpu), cpu);
  CHECK(scheduled.layouts.at("in0") == "i0,i2,i3,i1");
  CHECK(!scheduled.layouts.contains("out0"));
}

TEST_CASE("cpu sketches: every draw is a schedule, or is refused") {
  SplitMix64 random(1);
  const schedule::Deciding deciding{.draw = [&](std::size_t below) { return random.next() % below; }};
  for (const cpu::Cpu& cpu : cpu::cpus())
    for (const CpuTaskText* text : {&kConvolutionTask, &kPixelConvolutionTask, &kInt8ConvolutionTask, &kWindowTask,
                                    &kMatmulTask, &kInt8MatmulTask, &kGatherTask, &kSoftmaxTask}) {
      CAPTURE(cpu.name, text->text);
      const schedule::Task task = cpu_task(text->text, text->kind, cpu);
      int schedules = 0;
      for (int i = 0; i < 10; ++i) {
        const auto drawn = schedule::try_run(cpu::sketch_of(*cpu::find_kind(task.kind), cpu), task, deciding);
        schedules += drawn.ok() && drawn->has_value();
      }
      CHECK(schedules > 0);
    }
}

TEST_CASE("cpu sketches: the products of an LSTM with weights of bytes are dot products on all classes") {
  for (const cpu::Cpu& cpu : cpu::cpus()) {
    CAPTURE(cpu.name);
    const schedule::Task task = cpu_task(R"(graph g(%x: float32[3, 2, 256]) -> (%y)
  constant %r: int8[2, 32, 128]
  constant %sums: int32[2, 128]
  constant %scale: float32[2]
  %y: float32[3, 2, 2, 32] = dovetail.dynamic_lstm(%x, %r, %sums, %scale) {direction="bidirectional", hidden_size=32}
)",
                                         "generic", cpu);
    const std::string scheduled = loops::to_string(scheduled_as(task, cpu).program);
    for (const char* direction : {"forward", "backward"}) {
      const std::size_t start = scheduled.find(fmt::format("block {}_sums_start ", direction)),
                        end = scheduled.find(fmt::format("block {}_gates_sum ", direction));
      REQUIRE(start < end);
      CHECK_THAT(scheduled.substr(start, end - start), Catch::Matchers::ContainsSubstring(cpu::dot_product_name(cpu)));
    }
  }
}

TEST_CASE("cpu sketches: the matrix of a recurrence is packed, in tiles that its gates share") {
  for (const cpu::Cpu& cpu : cpu::cpus()) {
    CAPTURE(cpu.name);
    const schedule::Task task = cpu_task(R"(graph g(%x: float32[3, 1, 192]) -> (%y)
  constant %r: float32[1, 64, 192]
  %y: float32[3, 1, 1, 64] = dovetail.gru(%x, %r) {hidden_size=64}
)",
                                         "generic", cpu);
    const schedule::Scheduled scheduled = scheduled_as(task, cpu);
    const auto columns = std::ranges::find(scheduled.decisions, "tile_columns", &schedule::Decision::name);
    REQUIRE(columns != scheduled.decisions.end());
    CHECK(64 % std::stoll(columns->value) == 0);
    CHECK_THAT(loops::to_string(scheduled.program),
               Catch::Matchers::ContainsSubstring(
                   fmt::format(": float32[1, {0}, 64, {1}]", 192 / std::stoll(columns->value), columns->value)));
  }
}
