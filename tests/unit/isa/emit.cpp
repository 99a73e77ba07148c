#include "isa/emit/emit.h"

#include <cctype>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "isa/config.h"
#include "isa/spec/config.h"
#include "isa/spec/instructions.h"
#include "isa/spec/registers.h"
#include "isa/spec/timing.h"
#include "isa/text.h"
#include "isa/text/grammar.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::isa;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("docs/gen/isa.md is fresh") {
  const Result<std::string> committed = read_text_file(std::string(DOVETAIL_SOURCE_DIR) + "/docs/gen/isa.md");
  REQUIRE(committed.ok());
  INFO("to accept: dovetail isa --format markdown > docs/gen/isa.md");
  CHECK(*committed == emit_markdown(HardwareConfig{}));
}

TEST_CASE("the schema of the hardware has every parameter with its range, and a configuration keeps to it") {
  const auto schema = parse_json(emit_schema(HardwareConfig{}), "hardware.json");
  REQUIRE(schema.ok());
  const Json values = config_to_json(HardwareConfig{});
  CHECK((*schema)["required"].size() == values.size());
  for (const Json& key : (*schema)["required"]) CHECK(values.contains(key));
  for (const spec::Parameter& row : spec::kParameters) {
    const Json& property = (*schema)["properties"][std::string(row.key)];
    CHECK(property["minimum"] == row.minimum);
    CHECK(property["maximum"] == row.maximum);
    CHECK(property["default"] == values[std::string(row.key)]);
  }
}

TEST_CASE("every format names every field, for every configuration") {
  for (const HardwareConfig& config : named_configs()) {
    const std::string markdown = emit_markdown(config), sv = emit_sv_package(config), c = emit_c_header(config),
                      json = emit_json(config);
    CHECK(parse_json(json, "isa.json").ok());
    for (const spec::InstructionSpec& instruction : spec::kInstructions)
      for (const spec::FieldSpec& field : instruction.fields) {
        const std::string name(field.name);
        CHECK_THAT(markdown, ContainsSubstring("`" + name + "`"));
        std::string constant = std::string(instruction.name) + "_" + name;
        for (char& letter : constant) letter = static_cast<char>(std::toupper(letter));
        CHECK_THAT(sv, ContainsSubstring(" " + constant + "_LSB = "));
        if (field.enabled_by == nullptr || config.*field.enabled_by) {
          CHECK_THAT(json, ContainsSubstring("\"" + name + "\""));
          CHECK_THAT(c, ContainsSubstring("#define DOVETAIL_" + constant + "_BIT "));
        }
      }
  }
}

TEST_CASE("the SystemVerilog package states the design point") {
  const std::string text = emit_sv_package(HardwareConfig{});
  for (const char* line :
       {"localparam int unsigned BATCH = 1;", "localparam int unsigned INP_DEPTH_LOG2 = 11;",
        "localparam int unsigned INSTRUCTION_BITS = 128;", "localparam int unsigned GEMM_WGT_FACTOR_IN_LSB = 118;",
        "localparam int unsigned GEMM_OVERWRITE_PRESENT = 0;",
        "localparam logic [127:0] GEMM_RESERVED = 128'h0000000000000000_8000000000000000;", "logic signed [15:0] imm;",
        "localparam int unsigned TIMING_GEMM_CYCLES_PER_UOP = 1;",
        "localparam logic [11:0] REG_STATUS_OFFSET = 12'h004;"})
    CHECK_THAT(text, ContainsSubstring(line));
}

TEST_CASE("registers are aligned, distinct, and their fields disjoint") {
  std::set<std::uint32_t> offsets;
  std::set<std::string_view> names;
  for (const spec::Register& row : spec::kRegisters) {
    INFO(row.name);
    CHECK(row.offset % 4 == 0);
    CHECK(row.offset < spec::kRegisterWindowBytes);
    CHECK(offsets.insert(row.offset).second);
    CHECK(names.insert(row.name).second);
    std::uint64_t used = 0;
    for (const spec::RegisterField& field : row.fields) {
      const std::uint64_t bits = ((std::uint64_t{1} << field.width) - 1) << field.bit;
      CHECK((used & bits) == 0);
      CHECK(bits <= UINT32_MAX);
      used |= bits;
    }
    for (const HardwareConfig& config : named_configs()) CHECK((row.reset(config) & ~used) == 0);
  }
}

TEST_CASE("timing constants have distinct names") {
  std::set<std::string_view> names;
  for (const spec::TimingConstant& row : spec::kTimingConstants) CHECK(names.insert(row.name).second);
}

TEST_CASE("the reference's example assembles") {
  const Result<Assembly> assembly = parse_assembly(text::kExample, "isa.md");
  INFO((assembly.ok() ? std::string() : to_string(assembly.errors())));
  REQUIRE(assembly.ok());
  CHECK(assembly->program.size() == 10);
  CHECK(assembly->uops.size() == 1);
}
