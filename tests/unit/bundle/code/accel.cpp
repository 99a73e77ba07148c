// The code of an accelerator step: written, read, and each rule violated once.
#include "bundle/code/accel.h"

#include <functional>

#include "bundle/code/text.h"
#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

// The findings of one step's checks, for the sample's code with a change.
std::string accel_errors(const std::function<void(bundle::AccelCode&, bundle::Bundle&)>& change) {
  bundle::Bundle bundle = test::sample_bundle();
  bundle::AccelCode code = test::sample_accel_code();
  change(code, bundle);
  std::string text;
  for (const std::string& why : bundle::verify_accel(bundle, bundle.steps[1], code)) text += why + "\n";
  return text;
}
// The diagnostic of reading the sample's code, with one change to its head.
std::string read(const std::function<void(Json&)>& change) {
  bundle::Bundle bundle = test::sample_bundle();
  Json head = Json::parse(bundle::code_text(bundle.steps[1]));
  change(head);
  bundle.steps[1].code = bundle::json_bytes(head);
  const auto steps = bundle::accel_steps(bundle);
  return steps.ok() ? "" : to_string(steps.errors());
}
std::string errors(const bundle::Bundle& bundle) {
  const auto steps = bundle::accel_steps(bundle);
  return steps.ok() ? "" : to_string(steps.errors());
}
bundle::Blob flipped(const bundle::Blob& blob, std::byte bits) {
  std::vector<std::byte> bytes(blob.bytes().begin(), blob.bytes().end());
  bytes[0] ^= bits;
  return bytes;
}

// Two launches that begin together: the sample's on accelerator 0, and on accelerator 1, which differs, one whose STORE
// clamps.
bundle::AccelCode unequal_code() {
  bundle::AccelCode code = test::sample_accel_code();
  code.others = {isa::load_config("1x16x16-ext").value()};
  code.program.insert(code.program.end(), code.program.begin(), code.program.end());
  isa::Store& store = std::get<isa::Store>(code.program[8].body);
  store.dram_base += 4;
  store.saturate = true;
  code.launches = {{0, 5, 0, false}, {5, 5, 1, true}};
  code.ranges = {{0, 5, "add", {"Add_1"}, 12, bundle::RangePart{"rows", 0, 5, 8}},
                 {5, 10, "add", {"Add_1"}, {}, bundle::RangePart{"rows", 5, 8, 8}}};
  code.segments[1].bytes = isa::encode_program(code.configs(), code.program, code.launches).value();
  return code;
}

}  // namespace

TEST_CASE("accel code: the code of a step is read back as it was written") {
  const bundle::Bundle bundle = test::sample_bundle();
  const auto steps = bundle::accel_steps(bundle);
  REQUIRE((steps.ok() ? "" : to_string(steps.errors())) == "");
  REQUIRE(steps->size() == 1);
  CHECK(steps->front().index == 1);
  const bundle::AccelCode &code = steps->front().code, expected = test::sample_accel_code();
  CHECK(code.config == expected.config);
  CHECK(code.space == test::kSampleSpace);
  CHECK(code.program == expected.program);
  REQUIRE(code.segments.size() == 2);
  CHECK(code.segments[1].bytes == expected.segments[1].bytes);
  CHECK(code.argument_addresses == expected.argument_addresses);
  CHECK(code.result_addresses == expected.result_addresses);
  REQUIRE(code.ranges.size() == 2);
  CHECK(code.ranges[0].origins == std::vector<std::string>{"Add_1"});
  CHECK(code.ranges[0].macs == 12);
  CHECK_FALSE(code.ranges[1].macs);
  CHECK_FALSE(code.ranges[0].part);
  CHECK(code.uops == 1);
  // The program and the segment that contains it are one piece.
  CHECK(bundle.steps[1].data.size() == 2);
  bundle::Step again;
  bundle::encode(code, again);
  CHECK(again.code == bundle.steps[1].code);
}

TEST_CASE("accel code: wrong stored code is reported with its place") {
  CHECK(read([](Json&) {}) == "");
  CHECK_THAT(read([](Json& m) { m.erase("segments"); }), ContainsSubstring("\"segments\" is missing"));
  CHECK_THAT(read([](Json& m) { m["segments"][0]["data"] = 2; }),
             ContainsSubstring("(code of step region): in its head, segments[0].data: 2 > 1"));
  CHECK_THAT(read([](Json& m) { m["config"]["block_in"] = 15; }), ContainsSubstring("block_in"));
  CHECK_THAT(read([](Json& m) { m["ranges"][0]["macs"] = -1; }), ContainsSubstring("ranges[0].macs"));
  CHECK_THAT(read([](Json& m) { m["program"] = 0; }), ContainsSubstring("code of step region, program"));
  CHECK_THAT(read([](Json& m) { m["space"] = 0; }),
             ContainsSubstring("memory space 0, of 2 spaces, does not belong to the accelerator"));
  CHECK_THAT(read([](Json& m) { m["space"] = 2; }), ContainsSubstring("memory space 2, of 2"));
  CHECK_THAT(read([](Json& m) { m["arguments"] = Json::array(); }),
             ContainsSubstring("has 0 arguments and 1 results, but the step has 1 and 1"));
  CHECK_THAT(read([](Json& m) { m = 3; }), ContainsSubstring("expected an object"));
}

TEST_CASE("accelerator steps: memory") {
  CHECK(accel_errors([](auto&, auto&) {}) == "");
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.argument_addresses[0] = 0x3000 - 15; }),
             ContainsSubstring("exceeds the memory of 8192 bytes at 0x1000"));
  CHECK(accel_errors([](auto& c, auto&) { c.result_addresses[0] = 0x3000 - 16; }) == "");
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.argument_addresses[0] = test::kSampleBase - 1; }),
             ContainsSubstring("exceeds the memory"));
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.argument_addresses[0] = test::kSampleUops + 3; }),
             ContainsSubstring("overlaps segment \"uops\""));
  CHECK(accel_errors([](auto& c, auto&) { c.argument_addresses[0] = test::kSampleUops + 4; }) == "");
  CHECK(accel_errors([](auto& c, auto&) { c.result_addresses[0] = test::kSampleInput; }) == "");
  CHECK_THAT(accel_errors([](auto&, auto& b) { b.spaces[1].base = std::uint64_t{1} << 32; }),
             ContainsSubstring("32 address bits"));
  CHECK_THAT(accel_errors([](auto&, auto& b) { b.spaces[1].target = "gpu"; }),
             ContainsSubstring("does not belong to the accelerator"));
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.config.batch = 3; }), ContainsSubstring("batch"));
}

TEST_CASE("accelerator steps: program, launches and ranges") {
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.program.pop_back(); }),
             ContainsSubstring("launch 0:5 exceeds the program's 4 instructions"));
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.segments[1].bytes = flipped(c.segments[1].bytes, std::byte{8}); }),
             ContainsSubstring("does not contain the program at 0x2000"));
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.segments.pop_back(); }),
             ContainsSubstring("no segment contains the program at 0x2000"));
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.ranges.pop_back(); }), ContainsSubstring("cover 3 of 5 instructions"));
  CHECK_THAT(accel_errors([](auto& c, auto&) { c.ranges[1].begin = 2; }),
             ContainsSubstring("does not continue at 3 of 5"));
}

TEST_CASE("accelerator steps: launches that begin together") {
  const auto with = [](std::vector<isa::Launch> launches) {
    return accel_errors([&](auto& c, auto&) { c.launches = std::move(launches); });
  };
  CHECK(with({{0, 5, 1, false}}) == "");
  CHECK(with({{0, 5, 0, false}, {0, 5, 1, false}}) == "");
  CHECK_THAT(with({{0, 5, 0, true}}), ContainsSubstring("the first launch begins together with one before it"));
  CHECK_THAT(with({{0, 5, 1, false}, {0, 5, 1, true}}),
             ContainsSubstring("two launches begin together on accelerator 1"));
  CHECK_THAT(with({{0, 5, 0, false}, {0, 5, 1, true}}),
             ContainsSubstring("race on DRAM bytes") && ContainsSubstring("begin together on two accelerators"));
}

TEST_CASE("accelerator steps in one memory must not overlap, neither each other nor a tensor") {
  bundle::Bundle bundle = test::sample_bundle();
  bundle::AccelCode code = test::sample_accel_code();
  code.argument_addresses = {test::kSampleOutput};
  code.result_addresses = {test::kSampleOutput + 64};
  bundle.steps[2] = test::accel_step("second", code, {2}, {4});
  CHECK_THAT(errors(bundle),
             ContainsSubstring("segment \"uops\" of second at 0x1000 overlaps segment \"uops\" of region"));
  bundle::Bundle other = bundle;
  test::change_accel(other.steps[2], [](bundle::AccelCode& c) { c.config.name = "another"; });
  CHECK_THAT(errors(other),
             ContainsSubstring("region and second share the memory \"DRAM\", but have different configurations"));
  // In a separate memory any address is allowed.
  bundle.spaces.push_back({"accel", "DRAM 2", test::kSampleBase, test::kSampleBytes});
  test::change_accel(bundle.steps[2], [](bundle::AccelCode& c) { c.space = 2; });
  CHECK(errors(bundle) == "");

  bundle::Bundle placed = test::sample_bundle();
  placed.tensors[4].space = test::kSampleSpace;
  placed.tensors[4].offset = 0xfc0;  // no step binds it there
  CHECK(errors(placed) == "");
  placed.tensors[4].offset = test::kSampleProgram - test::kSampleBase;
  CHECK_THAT(errors(placed), ContainsSubstring("tensor \"y\"") && ContainsSubstring("segment \"program\" of region"));
}

TEST_CASE("accel code: a program of accelerators that differ is read back as it was written") {
  bundle::Bundle bundle = test::sample_bundle();
  const bundle::AccelCode expected = unequal_code();
  bundle::encode(expected, bundle.steps[1]);
  CHECK(errors(bundle) == "");
  const bundle::AccelCode code = bundle::decode_accel(bundle.steps[1]).value();
  CHECK(code.configs() == expected.configs());
  CHECK(code.program == expected.program);
  REQUIRE(code.ranges.size() == 2);
  CHECK(code.ranges[1].part == expected.ranges[1].part);
}

TEST_CASE("accel code: launches and configurations of accelerators must agree") {
  const auto problem = [](const std::function<void(Json&)>& change) {
    bundle::Bundle bundle = test::sample_bundle();
    bundle::encode(unequal_code(), bundle.steps[1]);
    Json head = Json::parse(bundle::code_text(bundle.steps[1]));
    change(head);
    bundle.steps[1].code = bundle::json_bytes(head);
    return errors(bundle);
  };
  CHECK(problem([](Json&) {}) == "");
  CHECK_THAT(problem([](Json& m) { m["launches"][1]["accelerator"] = 2; }),
             ContainsSubstring("it runs on accelerator 2, and the program is for 2, numbered from 0"));
  CHECK_THAT(problem([](Json& m) { m["others"][0]["batch"] = 2; }), ContainsSubstring("`batch` are 1 and 2"));
  CHECK_THAT(problem([](Json& m) { m["others"][0]["block_in"] = 15; }), ContainsSubstring("block_in"));
  // Without its own configuration, the second accelerator cannot clamp.
  CHECK_THAT(problem([](Json& m) { m.erase("others"); }), ContainsSubstring("code of step region, program"));
  CHECK_THAT(problem([](Json& m) {
               m["launches"][1]["begin"] = 4;
               m["launches"][1]["count"] = 6;
             }),
             ContainsSubstring("launches 0:5 and 4:6 have the same instructions"));
  CHECK_THAT(problem([](Json& m) { m["others"] = 3; }), ContainsSubstring("others"));
}
