// Engine rtl from the command line: the design, found or built, with waveforms, and with a fault planted into a copy of
// it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/file.h"
#include "isa/codec.h"
#include "tests/catch.h"
#include "tests/e2e/cli/fake_verilator.h"
#include "tests/environment.h"
#include "tests/process.h"
#include "tests/skip.h"
#include "tests/torture/models.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Environment;
using test::Finished;
namespace fs = std::filesystem;

namespace {

// A program and an image for `tiny`: loads, a GEMM, an addition, a store.
struct Files {
  std::string program, image, output, hardware = "tiny";
};
Files write_program(const test::TemporaryFolder& folder) {
  const auto config = isa::load_config("tiny").value();
  const isa::Codec codec(config);
  const auto transfer = [](auto body, isa::Memory memory, std::uint64_t address, std::uint32_t size) {
    body.memory = memory, body.dram_base = address, body.y_size = 1, body.x_size = body.x_stride = size;
    return body;
  };
  isa::Gemm gemm;
  gemm.uop_end = 1, gemm.iter_out = gemm.iter_in = 2;
  isa::Alu add;
  add.op = isa::AluOp::add, add.use_imm = true, add.imm = 5, add.uop_end = 1, add.iter_out = add.iter_in = 1;
  const std::vector<isa::Instruction> program{{{}, transfer(isa::Load{}, isa::Memory::uop, 0, 1)},
                                              {{}, transfer(isa::Load{}, isa::Memory::acc, 4, 4)},
                                              {{}, transfer(isa::Load{}, isa::Memory::inp, 16, 4)},
                                              {{.push_next = true}, transfer(isa::Load{}, isa::Memory::wgt, 4, 4)},
                                              {{.pop_prev = true}, gemm},
                                              {{.push_next = true}, add},
                                              {{.pop_prev = true}, transfer(isa::Store{}, isa::Memory::out, 100, 4)}};
  std::vector<std::byte> image(1024);
  for (std::size_t i = 4; i < image.size(); ++i) image[i] = static_cast<std::byte>(i * 37 >> 2);
  Files files{folder / "p.bin", folder / "in.bin", folder / "out.bin"};
  REQUIRE(write_file(files.program, codec.encode_program(program).value()).ok());
  REQUIRE(write_file(files.image, image).ok());
  return files;
}

Finished simulate(const Files& files, const char* engine, std::vector<std::string> more = {}) {
  std::vector<std::string> command{"simulate",  files.program, "--hw",       files.hardware, "--dram",
                                   files.image, "--dram-out",  files.output, "--engine",     engine};
  command.insert(command.end(), more.begin(), more.end());
  return test::dovetail(command);
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Simulates with a copy of the design in which one line is replaced.
Finished simulate_with_fault(const Files& files, const fs::path& folder, const char* file, const std::string& before,
                             const std::string& after) {
  fs::create_directories(folder);
  fs::copy(DOVETAIL_SOURCE_DIR "/hw", folder / "hw", fs::copy_options::recursive);
  const fs::path path = folder / "hw" / "rtl" / file;
  std::string text = content(path);
  REQUIRE(text.find(before) != text.npos);
  text.replace(text.find(before), before.size(), after);
  REQUIRE(write_text_file(path, text).ok());
  const Environment design("DOVETAIL_HW", folder / "hw"), cache("XDG_CACHE_HOME", folder);
  const Finished built = test::dovetail({"rtl", "build", "--hw", "tiny", "--fast-build"});
  INFO(built.error);
  REQUIRE(built.exit == 0);
  return simulate(files, "rtl");
}

}  // namespace

TEST_CASE("engine rtl is the design: what it computes, and what it does with a fault planted into a copy of it") {
  const auto config = isa::load_config("tiny").value();
  if (!test::rtl_model(config)) return;
  if (std::system("command -v verilator >/dev/null 2>&1") != 0) return test::skip("Verilator is not installed");
  const test::TemporaryFolder folder;
  const Files files = write_program(folder);
  REQUIRE(simulate(files, "functional").exit == 0);
  const std::string expected = content(files.output);
  fs::remove(files.output);
  const Finished sound = simulate(files, "rtl");
  CHECK(sound.error == "");
  REQUIRE(sound.exit == 0);
  CHECK_THAT(sound.out, ContainsSubstring("engine rtl") && ContainsSubstring("cycles"));
  CHECK(content(files.output) == expected);

  // Additions subtract.
  const Finished faulty =
      simulate_with_fault(files, folder / "sum", "dovetail_alu.sv", "value + operand", "value - operand");
  REQUIRE(faulty.exit == 0);
  CHECK(content(files.output) != expected);

  // A rule of the read port is broken from the reset: an assertion fails before there is a launch.
  const Finished broken = simulate_with_fault(files, folder / "ready", "dovetail_axi_read.sv", "r_ready_o    = 1'b1",
                                              "r_ready_o    = 1'b0");
  CHECK(broken.exit == 1);
  CHECK_THAT(broken.error, ContainsSubstring("the design violated one of its assertions"));
}

TEST_CASE("engine rtl builds the model that it needs, with progress, unless building is switched off") {
  const auto config = isa::load_config("tiny").value();
  const auto model = test::rtl_model(config);
  if (!model) return;
  const test::TemporaryFolder folder;
  Files files = write_program(folder);
  REQUIRE(simulate(files, "functional").exit == 0);
  const std::string expected = content(files.output);
  fs::remove(files.output);
  const Environment cache("XDG_CACHE_HOME", folder / "cache");
  const test::FakeVerilator tools("9.1", "0", *model);

  const Finished refused = simulate(files, "rtl", {"--no-build"});
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.error, ContainsSubstring("there is no RTL model of this configuration (tiny)") &&
                                ContainsSubstring("dovetail rtl build --hw tiny"));
  // A file may give its configuration a name that --hw does not accept.
  Json mine = isa::config_to_json(config);
  mine["name"] = "mine";
  REQUIRE(write_text_file(folder / "mine.json", mine.dump()).ok());
  files.hardware = folder / "mine.json";
  const Finished unnamed = simulate(files, "rtl", {"--no-build"});
  CHECK(unnamed.exit == 2);
  CHECK_THAT(unnamed.error, ContainsSubstring("dovetail rtl build --hw FILE`, with the file that this configuration "
                                              "came from"));
  CHECK(tools.verilations() == 0);

  const Finished first = simulate(files, "rtl");
  CHECK_THAT(first.error, ContainsSubstring("mine: there is no RTL model yet") &&
                              ContainsSubstring("mine: verilating") && ContainsSubstring("mine: compiling the model"));
  REQUIRE(first.exit == 0);
  CHECK(content(files.output) == expected);
  const Finished second = simulate(files, "rtl", {"--no-build"});
  CHECK(second.error == "");
  CHECK(second.exit == 0);
  CHECK(tools.verilations() == 1);

  const Finished cycle = simulate(files, "cycle", {"--no-build"});
  CHECK(cycle.exit == 2);
  CHECK_THAT(cycle.error, ContainsSubstring("engine cycle needs no Verilated model"));
  CHECK(simulate(files, "rtl", {"--assertions"}).exit == 0);
  const Finished nothing_to_assert = simulate(files, "cycle", {"--assertions"});
  CHECK(nothing_to_assert.exit == 2);
  CHECK_THAT(nothing_to_assert.error, ContainsSubstring("engine cycle has no assertions"));
}

TEST_CASE("the design writes its signals with --waves, one file for each region, and prints the paths") {
  const auto config = isa::load_config("tiny").value();
  if (!test::rtl_model(config, true)) return;
  const test::TemporaryFolder folder;
  const Files files = write_program(folder);
  const std::string waves = folder / "w.fst";
  const Finished run = simulate(files, "rtl", {"--waves", waves, "--launch", "0:3", "--launch", "3:4"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("waves         " + waves + "\n"));
  // FST: a header block (type 0) of 329 bytes, and signals after it.
  const std::string bytes = content(waves);
  REQUIRE(bytes.size() > 1000);
  CHECK(bytes.substr(0, 9) == std::string("\0\0\0\0\0\0\0\x01\x49", 9));
  if (std::system("command -v fst2vcd >/dev/null 2>&1") == 0) {
    REQUIRE(std::system(("fst2vcd -f " + waves + " -o " + std::string(folder / "w.vcd")).c_str()) == 0);
    const std::string signals = content(folder / "w.vcd");
    CHECK_THAT(signals, ContainsSubstring("$scope module dovetail_top") && ContainsSubstring("u_compute") &&
                            ContainsSubstring("mem_araddr_o"));
  }
  // The file cannot be written; the engine has no waveforms.
  const Finished nowhere = simulate(files, "rtl", {"--waves", folder / "no" / "w.fst"});
  CHECK(nowhere.exit == 2);
  CHECK_THAT(nowhere.error, ContainsSubstring("there is no folder"));
  const Finished cycle = simulate(files, "cycle", {"--waves", waves});
  CHECK(cycle.exit == 2);
  CHECK_THAT(cycle.error, ContainsSubstring("engine cycle has no waveforms"));
}
