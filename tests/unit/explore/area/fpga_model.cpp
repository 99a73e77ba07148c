// The models of FPGA resources: memories and DSPs exactly as Yosys maps them, the error of LUTs on held-back runs.
#include "explore/area/fpga_model.h"

#include <filesystem>

#include "explore/area/area_model.h"
#include "tests/catch.h"

namespace dovetail::explore {

namespace {

const FpgaFamily &kSeries7 = kFpgaFamilies[0], &kUltraScale = kFpgaFamilies[1];

const AreaModel& kit_model() {
  static const AreaModel made = *AreaModel::of_kit();
  return made;
}

}  // namespace

TEST_CASE("fpga model: memories are mapped to the cheapest primitives") {
  // 2048 words: a RAMB18 holds 2048 x 9 bits, so 128 bits need 15. RAMB36 of 2048 x 18 would be 8, which cost more.
  CHECK(map_memory(2048, 128, true, kSeries7) == FpgaMemory{.ramb18 = 15});
  // 1024 words of 2048 bits: 57 RAMB36 of 1024 x 36 cost 57 * 257 = 14,649, 114 RAMB18 of 1024 x 18 14,706.
  CHECK(map_memory(1024, 2048, true, kUltraScale) == FpgaMemory{.ramb36 = 57});
  // A queue of 128 x 160 bits is read in the same cycle, so LUTs hold it: in 7 series 3 bits of 64 words in 4 LUTs, so
  // 2 * 54 * 4; in UltraScale 7 bits of 64 words in 8 LUTs, so 2 * 23 * 8.
  CHECK(map_memory(128, 160, false, kSeries7) == FpgaMemory{.luts = 432});
  CHECK(map_memory(128, 160, false, kUltraScale) == FpgaMemory{.luts = 368});
  // 16 words of 32 bits: 6 bits of 32 words in 4 LUTs, so 6 * 4, cost 48; a block RAM costs 129.
  CHECK(map_memory(16, 32, true, kSeries7) == FpgaMemory{.luts = 24});
}

TEST_CASE("fpga model: DSPs and block RAMs are those of every result that the kit keeps") {
  const std::filesystem::path folder = std::filesystem::path(DOVETAIL_SOURCE_DIR) / "hw" / "syn" / "results";
  int compared = 0;
  for (const FpgaModel& fpga : kit_model().fpgas())
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      const std::string suffix = fmt::format(".{}.json", fpga.family().flow);
      if (!file.ends_with(suffix)) continue;
      CAPTURE(file);
      const auto kept = read_json_file(entry.path().string());
      const auto hardware = isa::load_config(file.substr(0, file.size() - suffix.size()));
      REQUIRE((kept.ok() && hardware.ok()));
      const Json& whole = kept->at("blocks").at(0);
      const FpgaEstimate estimated = fpga.estimate(*hardware);
      CHECK(estimated.dsp == whole.at("dsp").get<double>());
      CHECK(estimated.bram == whole.at("ramb36").get<double>() + whole.at("ramb18").get<double>() / 2);
      ++compared;
    }
  CHECK(compared >= 22);
}

// Yosys does not use UltraRAM unless it is asked to, and the kit's flow does not ask.
TEST_CASE("fpga model: no kept result has UltraRAM, which the estimate does not have") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(DOVETAIL_SOURCE_DIR) / "hw" / "syn" / "results"))
    if (entry.path().string().ends_with(".xcup.json")) {
      const auto kept = read_json_file(entry.path().string());
      REQUIRE(kept.ok());
      CHECK(kept->at("blocks").at(0).at("uram") == 0);
    }
}

TEST_CASE("fpga model: the error on held-back runs is less than a tenth") {
  for (const FpgaModel& fpga : kit_model().fpgas()) {
    CAPTURE(std::string(fpga.family().title));
    REQUIRE(fpga.logic().logic_error(true).runs >= 9);
    CHECK(fpga.logic().logic_error(true).mean < 0.05);
    CHECK(fpga.logic().logic_error(true).most < 0.08);
    CHECK(fpga.logic().flip_flop_error(true).most < 0.10);
    CHECK(fpga.logic().level_error(true).mean < 0.15);
  }
}

}  // namespace dovetail::explore
