#include "isa/config.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "isa/nearest.h"
#include "isa/spec/config.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::isa;

namespace {

Result<HardwareConfig> read(std::string_view text, std::string_view where = "hw.json") {
  return config_from_json(*parse_json(text, where), where);
}

std::vector<std::string> whys(const Diagnostics& errors) {
  std::vector<std::string> texts;
  for (const Diagnostic& error : errors) texts.push_back(error.where + ": " + error.why);
  return texts;
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the default is VTA's hardware") {
  const HardwareConfig config;
  CHECK(validate(config).ok());
  CHECK(config == *load_config("1x16x16"));
  CHECK(config.encoding() == Encoding::compact);
  CHECK(config.instruction_bytes() == 16);
  CHECK(config.uop_bytes() == 4);
  CHECK(config.element_bytes(Memory::uop) == 4);
  CHECK(config.element_bytes(Memory::inp) == 16);
  CHECK(config.element_bytes(Memory::wgt) == 256);
  CHECK(config.element_bytes(Memory::acc) == 64);
  CHECK(config.element_bytes(Memory::out) == 16);
  CHECK(config.element_bytes(Memory::acc8) == 16);
  CHECK(config.depth(Memory::uop) == 8192);
  CHECK(config.depth(Memory::inp) == 2048);
  CHECK(config.depth(Memory::wgt) == 1024);
  CHECK(config.depth(Memory::acc) == 2048);
  CHECK(config.depth(Memory::out) == 2048);
  CHECK(config.depth(Memory::acc8) == 2048);
  CHECK(config.element_bytes(Memory::wgt4) == 128);
  CHECK(config.depth(Memory::wgt4) == 0);  // off
  CHECK(config.macs_per_uop() == 256);
}

TEST_CASE("named configurations are valid, unique, and survive JSON") {
  Texts names;
  for (const HardwareConfig& config : named_configs()) {
    INFO(config.name);
    CHECK(validate(config).ok());
    CHECK(*load_config(config.name) == config);
    CHECK(*config_from_json(config_to_json(config), "x.json") == config);
    CHECK(std::count(names.begin(), names.end(), config.name) == 0);
    names.push_back(config.name);
    const std::string path = std::string(DOVETAIL_SOURCE_DIR) + "/isa/configs/" + config.name + ".json";
    CHECK(*load_config(path) == config);
  }
  CHECK(names == Texts{"1x16x16", "1x8x8", "4x8x8", "2x16x16", "1x32x16", "1x32x32", "1x16x16-ext", "1x16x16-wide",
                       "1x16x16-g2", "1x16x16-g3", "tiny"});
  CHECK(load_config("1x16x16-wide")->encoding() == Encoding::wide);
  CHECK(load_config("1x32x16")->block_in == 32);
  CHECK(load_config("1x32x16")->block_out == 16);
}

TEST_CASE("VTA's configuration files are read") {
  const auto config = read(
      R"({"TARGET":"sim","HW_VER":"0.0.2","LOG_INP_WIDTH":3,"LOG_WGT_WIDTH":3,"LOG_ACC_WIDTH":5,"LOG_BATCH":0,"LOG_BLOCK":4,
    "LOG_UOP_BUFF_SIZE":15,"LOG_INP_BUFF_SIZE":15,"LOG_WGT_BUFF_SIZE":18,"LOG_ACC_BUFF_SIZE":17})",
      "configs/sim_sample.json");
  REQUIRE(config.ok());
  HardwareConfig expected;
  expected.name = "sim_sample";
  CHECK(*config == expected);

  const auto other = read(
      R"({"LOG_BATCH":2,"LOG_BLOCK_IN":3,"LOG_BLOCK_OUT":3,"LOG_INP_BUFF_SIZE":16,"LOG_WGT_BUFF_SIZE":16,"LOG_ACC_BUFF_SIZE":18,
    "LOG_BUS_WIDTH":7,"name":"vta"})");
  REQUIRE(other.ok());
  expected = *load_config("4x8x8");
  expected.name = "vta";
  expected.bus_bytes = 16;
  CHECK(*other == expected);
}

TEST_CASE("all errors of a configuration file are diagnosed at once") {
  CHECK(to_string(read(R"({"LOG_INP_WIDTH": 2})").errors()) ==
        "error: cannot read the hardware configuration (hw.json, \"LOG_INP_WIDTH\"): 2^2 bits are not supported; input "
        "operands have 8 bits: 2^3. Hint: set LOG_INP_WIDTH to 3");
  CHECK(to_string(read(R"({"blok_in": 16})").errors()) ==
        "error: cannot read the hardware configuration (hw.json, \"blok_in\"): no parameter has this name. Hint: did "
        "you mean `block_in`?");
  CHECK(
      whys(
          read(
              R"({"batch": "1", "requant": 1, "name": 3, "block_in": 1.5, "LOG_BATCH": 70, "bus_bytes": 18446744073709551615})")
              .errors()) ==
      Texts{"hw.json, \"batch\": \"1\" is not an integer", "hw.json, \"requant\": 1 is neither true nor false",
            "hw.json, \"name\": 3 is not a string", "hw.json, \"block_in\": 1.5 is not an integer",
            "hw.json, \"LOG_BATCH\": 70 is not from 0 to 40",
            "hw.json, \"bus_bytes\": 18446744073709551615 is not an integer"});
  CHECK(whys(read(R"({"name": "x\nmodule y;"})").errors()) == Texts{"hw.json, \"name\": it has a control character"});
  CHECK(whys(read(R"({"batch": 2, "LOG_BATCH": 0})").errors()) ==
        Texts{"hw.json, \"LOG_BATCH\": the key sets 1, but \"batch\" sets 2"});
  CHECK(read(R"({"batch": 2, "LOG_BATCH": 1, "LOG_BLOCK": 4, "LOG_BLOCK_IN": 4})").ok());
  CHECK(whys(read("[1]").errors()) == Texts{"hw.json: expected a JSON object, found a JSON array"});
  CHECK(whys(read(R"({"block_in": 24})").errors()) == Texts{"block_in: 24 is not a power of two"});
}

TEST_CASE("a configuration outside the rules is refused with both numbers") {
  HardwareConfig config;
  config.name = "x";
  SECTION("a range") {
    config.batch = 0;
    config.token_queue_depth = 65537;
    CHECK(to_string(validate(config).errors()) ==
          "error: the hardware configuration x is invalid (batch): 0 < 1 rows, the least. Hint: choose batch from 1 to "
          "1024\n"
          "error: the hardware configuration x is invalid (token_queue_depth): 65537 > 65536 tokens, the most. Hint: "
          "choose token_queue_depth from 1 "
          "to 65536");
  }
  SECTION("a power of two") {
    config.block_in = 24;
    CHECK(to_string(validate(config).errors()) ==
          "error: the hardware configuration x is invalid (block_in): 24 is not a power of two. Hint: use 16 or 32");
  }
  SECTION("an element of more than a page") {
    config.block_in = 256;
    config.block_out = 32;
    CHECK(whys(validate(config).errors()) ==
          Texts{"wgt: an element has block_out * block_in = 8192 bytes > 4096, one page"});
    config.block_out = 16;
    CHECK(validate(config).ok());
  }
  SECTION("a buffer without elements") {
    config.wgt_buffer_bytes = 512;
    CHECK(to_string(validate(config).errors()) ==
          "error: the hardware configuration x is invalid (wgt_buffer_bytes): 512 bytes contain 2 wgt elements of 256 "
          "bytes < 4, the least. Hint: raise wgt_buffer_bytes to 1024 or more");
    config.wgt_buffer_bytes = 1024;
    CHECK(validate(config).ok());
  }
  SECTION("a buffer beyond the wide encoding") {
    config.inp_buffer_bytes = std::int64_t{1} << 26;
    CHECK(whys(validate(config).errors()) == Texts{"inp_buffer_bytes: 67108864 bytes contain 4194304 inp elements of "
                                                   "16 bytes > 2097152, the most that the wide encoding can index"});
    config.inp_buffer_bytes /= 2;
    CHECK(validate(config).ok());
  }
  SECTION("a burst that never fits its buffer") {
    config.outstanding_beats = 31;
    CHECK(whys(validate(config).errors()) == Texts{"outstanding_beats: 31 < burst_beats = 32: a burst is requested "
                                                   "only when the beat buffer has room for all of it"});
    config.outstanding_beats = 32;
    CHECK(validate(config).ok());
  }
  SECTION("every parameter just inside and just outside its range") {
    for (const spec::Parameter& row : spec::kParameters)
      for (const std::int64_t value : {row.minimum - 1, row.maximum + 1, INT64_MIN, INT64_MAX}) {
        HardwareConfig wrong;
        wrong.*row.member = value;
        INFO(row.key << " = " << value);
        REQUIRE(validate(wrong).errors().size() == 1);
        CHECK(validate(wrong).errors()[0].where == row.key);
        static_cast<void>(wrong.encoding());  // total, though meaningless
      }
  }
}

TEST_CASE("load_config takes a name or a file") {
  CHECK(to_string(load_config("1x16x61").errors()) ==
        "error: cannot load the hardware configuration (1x16x61): this is neither a named configuration nor a file. "
        "Hint: did you mean `1x16x16`? (`dovetail hw list` shows all)");
  CHECK_FALSE(load_config("missing/hw.json").ok());
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "dovetail_isa_config_test" / "mine.json";
  REQUIRE(write_text_file(path, R"({"block_in": 32})").ok());
  const auto config = load_config(path.string());
  REQUIRE(config.ok());
  CHECK(config->name == "mine");
  CHECK(config->block_in == 32);
  std::filesystem::remove_all(path.parent_path());
}

TEST_CASE("suggestions follow the edit distance") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("same", "same") == 0);
  const std::string_view names[] = {"load", "store"};
  CHECK(suggestion("lod", names) == "did you mean `load`?");
  CHECK(suggestion("entirely", names) == "use one of load, store");
  const std::string_view units[] = {"inp_buffer_bytes", "wgt_buffer_bytes"};
  CHECK(suggestion("inp_buffer", units) == "did you mean `inp_buffer_bytes`?");
}
