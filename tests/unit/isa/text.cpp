#include "isa/text.h"

#include "isa/codec.h"
#include "tests/catch.h"
#include "tests/unit/isa/random_instruction.h"

using namespace dovetail;
using namespace dovetail::isa;

namespace {

std::vector<std::string> errors_of(std::string_view text,
                                   const std::optional<HardwareConfig>& expected = std::nullopt) {
  std::vector<std::string> texts;
  const Result<Assembly> assembly = parse_assembly(text, "k.s", expected);
  REQUIRE_FALSE(assembly.ok());
  for (const Diagnostic& error : assembly.errors()) {
    CHECK(error.what == "cannot assemble");
    texts.push_back(error.where + ": " + error.why + ". " + error.hint);
  }
  return texts;
}
using Texts = std::vector<std::string>;

Instruction one(std::string_view line, const HardwareConfig& config = {}) {
  const Result<Assembly> assembly = parse_assembly(line, "k.s", config);
  INFO((assembly.ok() ? std::string() : to_string(assembly.errors())));
  REQUIRE(assembly.ok());
  REQUIRE(assembly->program.size() == 1);
  return assembly->program[0];
}

}  // namespace

TEST_CASE("instructions are printed in their shortest form") {
  Load load;
  load.memory = Memory::inp;
  load.dram_base = 64;
  load.y_size = 4;
  load.x_size = load.x_stride = 8;
  CHECK(format_instruction({{}, load}) == "load.inp sram=0 dram=0x40 size=4x8 stride=8");
  load.y_pad_0 = load.y_pad_1 = load.x_pad_0 = load.x_pad_1 = 1;
  CHECK(format_instruction({{.pop_next = true, .push_next = true}, load}) ==
        "load.inp sram=0 dram=0x40 size=4x8 stride=8 pad=1,1,1,1 pop_next push_next");
  CHECK(format_instruction({{.push_next = true}, Load{{.memory = Memory::wgt}}}) == "nop.wgt push_next");
  CHECK(format_instruction({{.pop_prev = true}, Store{{.memory = Memory::out}}}) == "nop.out pop_prev");
  CHECK(format_instruction(
            {{},
             Store{{.memory = Memory::out, .sram_base = 5, .dram_base = 16, .y_size = 1, .x_size = 2, .x_stride = 3},
                   true}}) == "store.out sram=5 dram=0x10 size=1x2 stride=3 saturate");
  CHECK(format_instruction({{}, Gemm{{{0, 4, 2, 3, 16, 1, 8, 1}, true, 7, 0}, false}}) ==
        "gemm uop=0:4 iter=2x3 dst=16,1 src=8,1 wgt=7,0 overwrite");
  CHECK(format_instruction({{}, Gemm{{{0, 1, 1, 1}}, true}}) == "gemm uop=0:1 iter=1x1 reset");
  CHECK(format_instruction({{}, Window{{{0, 4, 2, 3, 16, 1, 8, 1}, true, 7, 0}}}) ==
        "window uop=0:4 iter=2x3 dst=16,1 src=8,1 wgt=7,0 overwrite");
  CHECK(format_instruction({{}, Alu{{0, 1, 1, 16, 0, 1}, false, AluOp::shr, true, -5}}) ==
        "alu.shr uop=0:1 iter=1x16 dst=0,1 imm=-5");
  CHECK(format_instruction({{}, Alu{{0, 1, 1, 1}, false, AluOp::requant, false, 3}}) ==
        "alu.requant uop=0:1 iter=1x1 zero_point=3");
  CHECK(format_instruction({{}, Alu{{0, 1, 1, 1}, true, AluOp::min, false, -1}}) ==
        "alu.min uop=0:1 iter=1x1 unused_imm=-1 reset");
  CHECK(format_instruction({{}, Finish{}}) == "finish");
}

TEST_CASE("printed instructions parse back, for every configuration") {
  test::Random random(61);
  for (const HardwareConfig& config : test::named_and_random_configs(62, 20)) {
    Assembly assembly;
    assembly.config = config;
    for (int i = 0; i < 200; ++i) assembly.program.push_back(test::random_instruction(random, config));
    assembly.uops = {{0, 0, 0}, {1, 2, 3}};
    const std::string text = format_assembly(assembly);
    const Result<Assembly> parsed = parse_assembly(text, "k.s");
    INFO((parsed.ok() ? std::string() : to_string(parsed.errors())));
    REQUIRE(parsed.ok());
    CHECK(parsed->program == assembly.program);
    CHECK(parsed->uops == assembly.uops);
    CHECK(format_assembly(*parsed) == text);
    HardwareConfig same = parsed->config;
    if (config.name == "random") {
      CHECK(same.name == "custom");
      same.name = "random";
    }
    CHECK(same == config);
    CHECK(format_assembly(config, assembly.program) == format_assembly({config, assembly.program, {}}));
  }
}

TEST_CASE("a .config line holds the differences from the default") {
  CHECK(format_config_line(HardwareConfig{}) == ".config");
  CHECK(format_config_line(*load_config("1x32x16")) == ".config block_in=32");
  CHECK(format_config_line(*load_config("1x16x16-ext")) == ".config requant=true saturate=true overwrite=true");
}

TEST_CASE("labels, comments, blanks and defaults") {
  const Result<Assembly> assembly =
      parse_assembly("# nothing\n\n  .config 1x16x16-ext  block_in=16 ; same\nstart:\r\n\tload.inp size=1x0x\n", "k.s");
  CHECK_FALSE(assembly.ok());
  const Result<Assembly> right = parse_assembly(
      "# nothing\n\n  .config 1x16x16-ext  block_in=16 ; same\nstart:\r\nk1: .uop 1,2 , 0x3 // three\n\tload.inp "
      "dram=1_000 size=2x3 push_next\nend: ",
      "k.s");
  INFO((right.ok() ? std::string() : to_string(right.errors())));
  REQUIRE(right.ok());
  CHECK(right->config.name == "1x16x16-ext");
  CHECK(right->uops == std::vector<Uop>{{1, 2, 3}});
  Load load;
  load.dram_base = 1000;
  load.y_size = 2;
  load.x_size = load.x_stride = 3;
  CHECK(right->program == std::vector<Instruction>{{{.push_next = true}, load}});
  CHECK(one("gemm uop=0:2") == Instruction{{}, Gemm{{{0, 2, 1, 1}}}});
  CHECK(one("nop.out") == Instruction{{}, Store{{.memory = Memory::out}}});
  CHECK(one("alu.add uop=0x0:0x1 imm=-32768") == Instruction{{}, Alu{{0, 1, 1, 1}, false, AluOp::add, true, -32768}});
  CHECK(parse_assembly("", "k.s")->config == HardwareConfig{});
  CHECK(parse_assembly("", "k.s", *load_config("tiny"))->config == *load_config("tiny"));
}

TEST_CASE("all errors are reported with line and column") {
  CHECK(errors_of("gem uop=0:1\n  load.input size=1x1\nalu.sub uop=0:1\nfinish now") ==
        Texts{"k.s:1:1: there is no instruction, directive or macro `gem`. did you mean `gemm`?",
              "k.s:2:3: there is no instruction, directive or macro `load.input`. did you mean `load.inp`?",
              "k.s:3:1: there is no instruction, directive or macro `alu.sub`. did you mean `alu.shr`?",
              "k.s:4:8: finish has no operand `now`. use one of pop_prev, pop_next, push_prev, push_next"});
  CHECK(errors_of("load.inp sram=0") == Texts{"k.s:1:1: `size` is missing. add size=YxX"});
  CHECK(errors_of("gemm") == Texts{"k.s:1:1: `uop` is missing. add uop=B:E"});
  CHECK(errors_of("gemm uop=1") == Texts{"k.s:1:10: `1` is not of the form B:E. write uop=B:E"});
  CHECK(errors_of("gemm uop") == Texts{"k.s:1:6: `uop` has no value. write uop=..."});
  CHECK(
      errors_of("gemm uop=0:x1") ==
      Texts{"k.s:1:12: `x1` is not defined. define it: .equ NAME VALUE, .data, .space, or a label before .uop lines"});
  CHECK(errors_of("gemm uop=0:1 reset=1") == Texts{"k.s:1:20: `reset` accepts no value. write reset alone"});
  CHECK(errors_of("gemm uop=0:1 uop=0:1") == Texts{"k.s:1:14: `uop` occurs twice. remove one of the two"});
  CHECK(errors_of("gemm uop=0:1 dts=1,1") == Texts{"k.s:1:14: gemm has no operand `dts`. did you mean `dst`?"});
  CHECK(errors_of("gemm uop=-1:1") == Texts{"k.s:1:10: uop = -1 < 0, the least. write a number from 0 to 4294967295"});
  CHECK(errors_of("gemm uop=0:4294967296") ==
        Texts{"k.s:1:12: uop = 4294967296 > 4294967295, the most. write a number from 0 to 4294967295"});
  CHECK(errors_of("alu.add uop=0:1 imm=-2147483649") ==
        Texts{"k.s:1:21: imm = -2147483649 < -2147483648, the least. write a number from -2147483648 to 2147483647"});
  CHECK(errors_of(".uop 1, 2\n.uop 1 2 z") ==
        Texts{"k.s:1:1: 2 indices are given, but a micro-op has 3. write .uop DST, SRC, WGT",
              "k.s:2:10: `z` is not defined before this line. define it: .equ NAME VALUE, .data, .space, or a label "
              "before .uop lines"});
  CHECK(errors_of("a: finish\na: finish") == Texts{"k.s:2:1: the label `a` is already in line 1. choose another name; "
                                                   "in a macro, `\\@` is another number at each use"});
}

TEST_CASE("an instruction that does not fit the configuration is reported at its line") {
  CHECK(errors_of("finish\n gemm uop=0:1 iter=1x16384") ==
        Texts{"k.s:2:2: iter_in: the value 16384 > 16383, the largest value of 14 bits. split the instruction, or "
              "choose a configuration with wider fields"});
  CHECK(errors_of("gemm uop=0:1 overwrite") ==
        Texts{"k.s:1:1: overwrite: the field belongs to the extension `overwrite`, which is off. set \"overwrite\": "
              "true in the configuration, or avoid `overwrite`"});
  CHECK(errors_of(".uop 2048, 0, 0") ==
        Texts{"k.s:1:1: dst: the index 2048 > 2047, the largest value of 11 bits. use an index within the buffer, or "
              "choose a configuration with a larger buffer"});
  CHECK(errors_of("load.out size=1x1").size() == 1);
  CHECK(errors_of("load.mem7 size=1x1").size() == 1);
}

TEST_CASE(".config is checked, and compared with the command line") {
  CHECK(errors_of(".config block_in=32\nfinish", HardwareConfig{}) ==
        Texts{"k.s:1:1: made for block_in = 32, but 1x16x16 is requested, where block_in = 16. assemble for the "
              "configuration of the file, or "
              "adapt the file"});
  CHECK(errors_of(".config", *load_config("1x16x16-ext")).size() == 3);
  CHECK(parse_assembly(".config 4x8x8", "k.s", *load_config("4x8x8")).ok());
  CHECK(errors_of(".config 4x8x9") == Texts{"k.s:1:9: no configuration `4x8x9`. did you mean `4x8x8`?"});
  CHECK(errors_of(".config bloc_in=4 requant=yes batch=two batch") ==
        Texts{"k.s:1:9: no parameter `bloc_in`. did you mean `block_in`?",
              "k.s:1:27: `yes` is neither true nor false. write requant=true",
              "k.s:1:37: `two` is not a number. write batch=N",
              "k.s:1:41: `batch` is not a setting. write parameter=value",
              "k.s:1:41: `batch` occurs twice. remove one of the two"});
  CHECK(errors_of(".config block_in=24") == Texts{"k.s:1:1: block_in: 24 is not a power of two. use 16 or 32"});
  CHECK(errors_of("finish\n.config") ==
        Texts{"k.s:2:1: `.config` follows a line that depends on it. move it to the beginning of the file"});
  CHECK(errors_of(".config\n.config") ==
        Texts{"k.s:2:1: a second `.config`; the first is in line 1. keep one of the two"});
}

TEST_CASE("errors beyond a hundred are only counted") {
  std::string text;
  for (int i = 0; i < 150; ++i) text += "nonsense\n";
  const Texts errors = errors_of(text);
  REQUIRE(errors.size() == 101);
  CHECK(errors.back() == "k.s: 50 more errors follow the 100 above. fix these first");
}
