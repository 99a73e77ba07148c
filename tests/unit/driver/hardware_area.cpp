// Areas from the output of Yosys, of hierarchical and of flat netlists.
#include "driver/hardware_area.h"

#include "driver/hardware_pnr.h"
#include "isa/config.h"
#include "tests/catch.h"

namespace dovetail::driver {

namespace {

constexpr const char* kTree = R"(module \dovetail_top
  cell \dovetail_dot \gen_lane[0].u_dot
  end
  cell \dovetail_dot \gen_lane[1].u_dot
  end
end
)";
constexpr const char* kDepth =
    "Longest topological path in dovetail_top (length=7):\n    0: \\a_q [0]\n    7: \\gen_lane[1].u_dot.s_CCU2C_COUT "
    "[1]\n";

// A flat netlist of two dot products: four LUTs, two carry cells, a DSP each, and a LUT of the top.
AreaTexts flat_texts() {
  return {
      kTree,
      "=== dovetail_top ===\n\n   Number of cells:   9\n     CCU2C   2\n     LUT4   5\n     MULT18X18D   2\n",
      kDepth,
      {{"CCU2C", "dovetail_top/gen_lane[0].u_dot.s_CCU2C_COUT\ndovetail_top/gen_lane[1].u_dot.s_CCU2C_COUT\n"},
       {"LUT4",
        "dovetail_top/gen_lane[0].u_dot.a_LUT4_Z\ndovetail_top/gen_lane[0].u_dot.b_LUT4_Z\n"
        "dovetail_top/gen_lane[1].u_dot.a_LUT4_Z\ndovetail_top/gen_lane[1].u_dot.b_LUT4_Z\ndovetail_top/c_LUT4_Z\n"},
       {"MULT18X18D", "dovetail_top/gen_lane[0].u_dot.p\ndovetail_top/gen_lane[1].u_dot.p\n"},
       {"TRELLIS_FF", ""}}};
}

}  // namespace

TEST_CASE("the area of a flat netlist: blocks by the names of cells") {
  const Area area = parse_area("ecp5", flat_texts()).value();
  REQUIRE(area.rows.size() == 2);
  CHECK(area.rows[0].module == "dovetail_top");
  CHECK(area.rows[0].used == std::vector<std::int64_t>{5, 0, 0, 2, 0, 2, 0});
  CHECK(area.rows[1].path == "gen_lane.u_dot");
  CHECK(area.rows[1].instances == 2);
  CHECK(area.rows[1].used == std::vector<std::int64_t>{4, 0, 0, 2, 0, 2, 0});
  CHECK(area.logic_levels == 7);
  CHECK(area.longest_from == "a_q");
  CHECK(area.longest_to == "gen_lane.u_dot/s");
}

TEST_CASE("the area of a flat netlist: names and counts must agree") {
  AreaTexts texts = flat_texts();
  texts.names["LUT4"] = "dovetail_top/c_LUT4_Z\n";
  CHECK(parse_area("ecp5", texts).errors().front().why == "the names of cells are not as many as the cells");
  texts = flat_texts();
  texts.cells += "     OTHER   1\n";
  CHECK(parse_area("ecp5", texts).errors().front().why == "cell OTHER of dovetail_top is of an unknown kind");
  CHECK(parse_area("ecp5", flat_texts(), "dovetail_chip").errors().front().why ==
        "there is no module dovetail_chip among the cells");
}

TEST_CASE("the area of a netlist with hierarchy: each instance has its module's cells") {
  const AreaTexts texts{kTree,
                        "=== dovetail_top ===\n   Number of cells:   3\n     LUT2   1\n     dovetail_dot   2\n"
                        "=== dovetail_dot ===\n   Number of cells:   3\n     LUT6   2\n     DSP48E1   1\n",
                        kDepth};
  const Area area = parse_area("xc7", texts).value();
  REQUIRE(area.rows.size() == 2);
  CHECK(area.rows[0].used[0] == 5);
  CHECK(area.rows[1].instances == 2);
  CHECK(area.rows[1].used[0] == 4);
  CHECK(area.rows[1].used[3] == 2);
}

TEST_CASE("what a device has too little of") {
  Area area = parse_area("ecp5", flat_texts()).value();
  CHECK(beyond_device(area).empty());
  area.rows[0].used = {83000, 400, 100, 157, 300, 200, 0};
  CHECK(
      beyond_device(area) ==
      "it needs 83800 LUT, and LFE5U-85F has 83640; it needs 157 DSP (MULT18X18D), and LFE5U-85F has 156; it needs 300 "
      "block RAM (DP16KD), and LFE5U-85F has 208");
  CHECK(beyond_device(isa::load_config("1x8x8").value()).empty());
  CHECK(beyond_device(isa::load_config("1x16x16").value()) == "it needs 304 DSP (MULT18X18D), and LFE5U-85F has 156");
}

}  // namespace dovetail::driver
