// `compile --emit`: a region as files, and every use of them: simulate, check, asm, a driver in C.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

namespace {

std::vector<std::string> emitted(const std::string& folder, const std::string& hardware) {
  const Finished compiled =
      test::dovetail({"compile", kDigits, "--target", "accel,cpu", "--hw", hardware, "--emit", folder});
  CHECK(compiled.error == "");
  REQUIRE(compiled.exit == 0);
  CHECK_THAT(compiled.out, ContainsSubstring("region        " + folder + "/00_"));
  std::vector<std::string> regions;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) regions.push_back(entry.path());
  std::sort(regions.begin(), regions.end());
  REQUIRE_FALSE(regions.empty());
  return regions;
}

std::vector<std::string> simulate_words(const std::string& region, const std::string& engine, const std::string& out) {
  std::vector<std::string> words{"simulate", region + "/program.bin", "--map",    region + "/map.json",
                                 "--dram",   region + "/image.bin",   "--engine", engine};
  const Json map = read_json_file(region + "/map.json").value();
  for (const std::string name : map["inputs"])
    words.insert(words.end(), {"--place", region + "/input_" + name + ".npy@" + name});
  for (const std::string name : map["outputs"])
    words.insert(words.end(), {"--output", out + "/" + name + ".npy@" + name});
  return words;
}

}  // namespace

TEST_CASE("emit: a region has the values and cycles that it has in a run of the model") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "out", report = folder / "run.json";
  std::filesystem::create_directory(out);
  REQUIRE(test::dovetail(
              {"run", kDigits, "--target", "accel,cpu", "--hw", "1x16x16-ext", "--engine", "cycle", "--report", report})
              .exit == 0);
  std::int64_t total = 0;
  for (const std::string& region : emitted(folder / "regions", "1x16x16-ext")) {
    INFO(region);
    CHECK(test::dovetail(
              {"check", region + "/program.bin", "--map", region + "/map.json", "--dram", region + "/image.bin"})
              .exit == 0);
    const Json map = read_json_file(region + "/map.json").value();
    for (const std::string engine : {"functional", "cycle"}) {
      auto words = simulate_words(region, engine, out);
      words.insert(words.end(), {"--report", folder / "simulate.json"});
      const Finished run = test::dovetail(words);
      CHECK(run.error == "");
      REQUIRE(run.exit == 0);
      for (const std::string name : map["outputs"]) {
        const NdArray array = read_npy(out + "/" + name + ".npy").value();
        CHECK(array == read_npy(region + "/expected_" + name + ".npy").value());
        CHECK(std::any_of(array.bytes().begin(), array.bytes().end(), [](std::byte b) { return b != std::byte{0}; }));
      }
    }
    const Json simulated = read_json_file(folder / "simulate.json").value();
    for (const Json& launch : simulated["timing"]["launches"]) total += launch.get<std::int64_t>();
    // Assembling the text gives the program.
    REQUIRE(test::dovetail({"asm", region + "/program.s", "-o", folder / "again.bin"}).exit == 0);
    CHECK(read_file(folder / "again.bin").value() == read_file(region + "/program.bin").value());
    // The image contains it too, at the address in the map.
    const auto image = read_file(region + "/image.bin").value(), program = read_file(region + "/program.bin").value();
    const std::uint64_t at = map["program_base"].get<std::uint64_t>() - map["image"]["base"].get<std::uint64_t>();
    REQUIRE(at + program.size() <= image.size());
    CHECK(std::equal(program.begin(), program.end(), image.begin() + static_cast<std::ptrdiff_t>(at)));
    CHECK(test::dovetail({"hw", "show", region + "/hardware.json"}).exit == 0);
  }
  CHECK(total > 0);
  CHECK(read_json_file(report).value()["cycles"] == total);
}

TEST_CASE("emit: the header and the driver of a region compile as C99") {
  const test::TemporaryFolder folder;
  const std::string region = emitted(folder / "regions", "1x16x16-ext").front();
  const std::string main = folder / "main.c";
  // Stub devices: one that is not an accelerator, then one that completes at once; they log the driver's register
  // accesses.
  REQUIRE(write_text_file(main,
                          "#include \"dovetail_driver.h\"\n#include \"region.h\"\n"
                          R"(static uint32_t registers[1024];
static uint32_t get(void* context, uint32_t offset) { (void)context; return registers[offset / 4]; }
static void put(void* context, uint32_t offset, uint32_t value) {
  (void)context;
  if (offset == DOVETAIL_REG_CONTROL && (value & DOVETAIL_REG_CONTROL_START_MASK))
    registers[DOVETAIL_REG_STATUS / 4] = registers[DOVETAIL_REG_INSTRUCTION_COUNT / 4] == 7
        ? DOVETAIL_REG_STATUS_ERROR_MASK | (uint32_t)DOVETAIL_ERROR_ILLEGAL << DOVETAIL_REG_STATUS_ERROR_CODE_SHIFT
        : DOVETAIL_REG_STATUS_DONE_MASK;
  else registers[offset / 4] = value;
}
int main(void) {
  static const struct dovetail_launch launches[] = REGION_LAUNCHES, bad = {0, 7};
  const struct dovetail_device device = {0, get, put, 0};
  struct dovetail_error error = {0, 0};
  if (dovetail_probe(&device, REGION_CONFIG) != DOVETAIL_NO_DEVICE) return 1;
  registers[DOVETAIL_REG_ID / 4] = DOVETAIL_REG_ID_RESET;
  registers[DOVETAIL_REG_VERSION / 4] = 0x20000;
  if (dovetail_probe(&device, REGION_CONFIG) != DOVETAIL_OTHER_VERSION) return 2;
  registers[DOVETAIL_REG_VERSION / 4] = DOVETAIL_REG_VERSION_RESET;
  if (dovetail_probe(&device, REGION_CONFIG) != DOVETAIL_OTHER_CONFIG) return 3;
  registers[DOVETAIL_REG_CONFIG / 4] = DOVETAIL_REG_CONFIG_RESET;
  if (dovetail_probe(&device, REGION_CONFIG) != DOVETAIL_OK) return 4;
  if (dovetail_run(&device, REGION_PROGRAM_BASE, launches, REGION_LAUNCH_COUNT, 1, &error) != DOVETAIL_OK) return 5;
  if (registers[DOVETAIL_REG_PROGRAM_BASE_LO / 4] != (uint32_t)REGION_PROGRAM_BASE) return 6;
  if (registers[DOVETAIL_REG_INSTRUCTION_COUNT / 4] != launches[REGION_LAUNCH_COUNT - 1].count) return 7;
  registers[DOVETAIL_REG_ERROR_INSTRUCTION / 4] = 3;
  registers[DOVETAIL_REG_STATUS / 4] = 0;
  if (dovetail_run(&device, 0, &bad, 1, 1, &error) != DOVETAIL_LAUNCH_FAILED) return 8;
  if (error.code != DOVETAIL_ERROR_ILLEGAL || error.instruction != 3) return 9;
  registers[DOVETAIL_REG_STATUS / 4] = DOVETAIL_REG_STATUS_BUSY_MASK;
  if (dovetail_start(&device, 0, bad) != DOVETAIL_BUSY) return 10;
  if (dovetail_wait(&device, 5, &error) != DOVETAIL_TIMED_OUT) return 11;
  registers[DOVETAIL_REG_CYCLES_LO / 4] = 5;
  registers[DOVETAIL_REG_CYCLES_HI / 4] = 1;
  return dovetail_cycles(&device) == 0x100000005ull ? 0 : 12;
}
)")
              .ok());
  const std::string driver = DOVETAIL_SOURCE_DIR "/examples/driver";
  const Finished compiled =
      test::run_process({"/usr/bin/cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", region, "-I",
                         driver, main, driver + "/dovetail_driver.c", "-o", folder / "driver"});
  CHECK(compiled.error == "");
  REQUIRE(compiled.exit == 0);
  CHECK(test::run_process({folder / "driver"}).exit == 0);
}

#ifdef DOVETAIL_SYSTEMC_REGION
TEST_CASE("emit: the SystemC platform runs a region through the driver in C") {
  const test::TemporaryFolder folder;
  for (const std::string& region : emitted(folder / "regions", "tiny")) {
    const Finished run = test::run_process({DOVETAIL_SYSTEMC_REGION, region});
    INFO(region);
    CHECK_THAT(run.out, ContainsSubstring("outputs as expected"));
    CHECK(run.exit == 0);
    // With another number in the image the driver reports an error.
    auto image = read_file(region + "/image.bin").value();
    std::fill(image.begin(), image.end(), std::byte{0});
    REQUIRE(write_file(region + "/image.bin", image).ok());
    CHECK(test::run_process({DOVETAIL_SYSTEMC_REGION, region}).exit == 1);
  }
}
#endif

TEST_CASE("emit: a region that cannot be emitted is named") {
  const test::TemporaryFolder folder;
  const Finished none = test::dovetail({"compile", kDigits, "--target", "cpu", "--emit", folder / "regions"});
  CHECK(none.exit == 2);
  CHECK_THAT(none.error,
             ContainsSubstring("no step of the bundle runs on the accelerator") && ContainsSubstring("Hint: "));
  CHECK_FALSE(std::filesystem::exists(folder / "regions"));
  CHECK_THAT(
      test::dovetail({"compile", kDigits, "--target", "accel", "--emit", folder / "r", "--stop-after", "graph"}).error,
      ContainsSubstring("there is no bundle before the last stage"));
}
