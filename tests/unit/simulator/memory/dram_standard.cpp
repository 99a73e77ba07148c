// DRAM files: the presets by hand, times in ns and clocks, refusals, hashes, and the paths of --memory.
#include "simulator/memory/dram_standard.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "simulator/memory/dram_presets.h"
#include "simulator/memory/memory.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::simulator::testing {

namespace {

using Catch::Matchers::ContainsSubstring;

const DramStandard& preset(std::string_view name) {
  const auto found = std::ranges::find(dram_standards(), name, &DramStandard::name);
  REQUIRE(found != dram_standards().end());
  return *found;
}

// Organization, then times in the order of docs/reference/memory-models.md.
std::vector<std::int64_t> numbers(const DramStandard& d) {
  return {d.clock_ps,  d.access_bytes, d.access_clocks, d.channels, d.ranks, d.bank_groups, d.banks_per_group,
          d.row_bytes, d.cl,           d.cwl,           d.rcd,      d.rp,    d.ras,         d.ccd_s,
          d.ccd_l,     d.rrd_s,        d.rrd_l,         d.faw,      d.wr,    d.rtp,         d.wtr_s,
          d.wtr_l,     d.rtrs,         d.rfc,           d.refi};
}

Json valid() { return parse_json(dram_presets()[1].text, "lpddr4").value(); }

std::string error_of(const Json& json) {
  const auto dram = parse_dram(json.dump(), "mine.json");
  REQUIRE_FALSE(dram.ok());
  return dovetail::to_string(dram.errors());
}

}  // namespace

TEST_CASE("the presets have the numbers of their sources") {
  using Numbers = std::vector<std::int64_t>;
  CHECK(numbers(preset("ddr4-2400")) ==
        Numbers{833, 64, 4, 1, 1, 4, 4, 8192, 17, 12, 17, 17, 39, 4, 6, 4, 6, 26, 18, 9, 3, 9, 2, 420, 9360});
  CHECK(numbers(preset("lpddr4")) ==
        Numbers{833, 32, 8, 2, 1, 1, 8, 2048, 24, 12, 22, 22, 51, 8, 8, 12, 12, 48, 22, 9, 12, 12, 2, 336, 4680});
  CHECK(numbers(preset("hbm2")) ==
        Numbers{1000, 64, 2, 8, 1, 4, 4, 2048, 14, 4, 14, 14, 34, 1, 2, 4, 6, 30, 16, 6, 6, 8, 2, 260, 3900});
  CHECK(numbers(preset("ddr4-3200")) ==
        Numbers{625, 64, 4, 1, 1, 4, 4, 8192, 22, 16, 22, 22, 52, 4, 8, 4, 8, 34, 24, 12, 4, 12, 2, 560, 12480});
  // JESD79-5 at 2400 MHz: tRAS 32 ns = 76.8, tCCD_L and tRRD_L 5 ns = 12, tWR 30 ns = 72, tRTP 7.5 ns = 18, tWTR 2.5
  // ns = 6 and 10 ns = 24, tRFC 295 ns = 708, tREFI 3.9 us = 9360.
  CHECK(numbers(preset("ddr5-4800")) ==
        Numbers{417, 64, 8, 2, 1, 8, 4, 4096, 40, 38, 39, 39, 77, 8, 12, 8, 12, 32, 72, 18, 6, 24, 2, 708, 9360});
  // JESD209-5 at 800 MHz: 18 ns = 14.4, 42 ns = 33.6, 5 ns = 4, 20 ns = 16, 34 ns = 27.2, 6.25 ns = 5, 12 ns = 9.6,
  // 210 ns = 168, 3906 ns = 3124.8.
  CHECK(numbers(preset("lpddr5-6400")) ==
        Numbers{1250, 32, 2, 2, 1, 4, 4, 2048, 17, 11, 15, 15, 34, 2, 4, 4, 4, 16, 28, 4, 5, 10, 2, 168, 3125});
  // 350 ns at 1600 MHz = 560.
  CHECK(numbers(preset("hbm3")) ==
        Numbers{625, 32, 2, 32, 1, 4, 4, 1024, 23, 7, 23, 23, 55, 2, 4, 2, 4, 48, 26, 10, 10, 13, 2, 560, 6240});
  CHECK(dram_standards().size() == 7);
}

TEST_CASE("the presets have the bandwidth of their names") {
  const auto gigabytes = [](std::string_view name) {
    const DramStandard& d = preset(name);
    return static_cast<double>(d.channels * d.access_bytes) / static_cast<double>(d.access_clocks * d.clock_ps) * 1e3;
  };
  CHECK(gigabytes("ddr4-3200") == Approx(25.6));                // 3200 MT/s, 8 bytes
  CHECK(gigabytes("ddr5-4800") == Approx(38.4).epsilon(2e-3));  // twice 4 bytes; the clock is rounded to 417 ps
  CHECK(gigabytes("lpddr5-6400") == Approx(25.6));              // two channels of 2 bytes
  CHECK(gigabytes("hbm3") == Approx(819.2));                    // 1024 bits
}

TEST_CASE("each number of a preset has a source") {
  for (const DramPreset& each : dram_presets()) {
    const Json json = parse_json(each.text, each.path).value();
    const auto check = [&](const std::string& key, const Json& value) {
      CAPTURE(each.path, key);
      REQUIRE(value.is_object());
      CHECK(value.at("source").get<std::string>().size() > 5);
    };
    for (const auto& [key, value] : json.items()) {
      if (key == "name" || key == "about" || key == "source") continue;
      if (key == "timing" || key == "energy")
        for (const auto& [inner, number] : value.items()) check(key + "." + inner, number);
      else check(key, value);
    }
  }
}

TEST_CASE("times are clocks, nanoseconds, or the longer of both") {
  const auto rcd = [](const Json& time) {
    Json json = valid();
    json["timing"]["tRCD"] = time;
    return parse_dram(json.dump(), "x").value().rcd;
  };
  CHECK(rcd(22) == 22);
  CHECK(rcd(Json{{"clocks", 22}}) == 22);
  CHECK(rcd(Json{{"ns", 18}}) == 22);      // 21.6 clocks of 1200 MHz
  CHECK(rcd(Json{{"ns", 17.5}}) == 21);    // exactly 21
  CHECK(rcd(Json{{"ns", 17.501}}) == 22);  // 21.0012
  CHECK(rcd(Json{{"ns", 18}, {"clocks", 30}}) == 30);
  CHECK(rcd(Json{{"ns", 18}, {"clocks", 4}, {"source", "JESD209-4"}}) == 22);
}

TEST_CASE("a DRAM file's mistakes are errors with the key and the rule") {
  const auto with = [](const std::string& key, const Json& value) {
    Json json = valid();
    json[key] = value;
    return error_of(json);
  };
  const auto time = [](const std::string& key, const Json& value) {
    Json json = valid();
    json["timing"][key] = value;
    return error_of(json);
  };
  CHECK_THAT(with("channels", 0), ContainsSubstring("\"channels\"") && ContainsSubstring("0 is not an integer from 1"));
  CHECK_THAT(with("channels", -2), ContainsSubstring("-2 is not an integer"));
  CHECK_THAT(with("channels", 3), ContainsSubstring("3 is not a power of two") && ContainsSubstring("choose 2 or 4"));
  CHECK_THAT(with("ranks", 1.5), ContainsSubstring("1.5 is not an integer"));
  CHECK_THAT(with("row_bytes", 1e300), ContainsSubstring("1e+300 is not an integer"));
  CHECK_THAT(with("row_bytes", 16), ContainsSubstring("16 bytes are less than the 32 of an access"));
  CHECK_THAT(with("access_bytes", "64"), ContainsSubstring("\"64\" is not a number"));
  CHECK_THAT(with("access_clocks", Json::array()), ContainsSubstring("[] is not a number"));
  CHECK_THAT(with("channels", nullptr), ContainsSubstring("\"channels\"") && ContainsSubstring("not a number"));
  CHECK_THAT(with("timing", nullptr), ContainsSubstring("expected a JSON object"));
  CHECK_THAT(with("clock_mhz", 0), ContainsSubstring("0 MHz is not from 1 to 100000"));
  CHECK_THAT(with("banks", 8), ContainsSubstring("the key is unknown") && ContainsSubstring("bank"));
  CHECK_THAT(with("name", "a b"), ContainsSubstring("other characters than letters"));
  CHECK_THAT(with("name", 1), ContainsSubstring("\"name\"") && ContainsSubstring("not text"));
  CHECK_THAT(with("timing", 1), ContainsSubstring("expected a JSON object"));
  CHECK_THAT(time("tRCD", 0), ContainsSubstring("\"timing.tRCD\"") && ContainsSubstring("0 is not an integer from 1"));
  CHECK_THAT(time("tRAS", 21), ContainsSubstring("21 clocks are less than the 22 of tRCD"));
  CHECK_THAT(time("tFAW", 11), ContainsSubstring("11 clocks are less than the 12 of tRRD_S"));
  CHECK_THAT(time("tCCD_L", 7), ContainsSubstring("7 clocks are less than the 8 of tCCD_S"));
  CHECK_THAT(time("tREFI", 358), ContainsSubstring("358 clocks are not more than the 358 of tRFC and tRP"));
  CHECK_THAT(time("tRP", 2'000'000), ContainsSubstring("2e+06 is not an integer from 1 to 1000000"));
  CHECK_THAT(time("tRP", Json{{"ns", -1}}), ContainsSubstring("-1 ns is below 0"));
  CHECK_THAT(time("tRP", Json{{"us", 1}}), ContainsSubstring("the key is unknown"));
  CHECK_THAT(time("tRP", Json::object()), ContainsSubstring("neither \"ns\" nor \"clocks\""));
  CHECK_THAT(time("tXP", 1), ContainsSubstring("\"timing.tXP\"") && ContainsSubstring("the key is unknown"));
  for (const char* key : {"name", "source", "clock_mhz", "channels", "access_clocks", "timing"}) {
    Json json = valid();
    json.erase(key);
    CHECK_THAT(error_of(json), ContainsSubstring(std::string("\"") + key + "\"") && ContainsSubstring("missing"));
  }
  Json json = valid();
  json["timing"].erase("tWTR_L");
  CHECK_THAT(error_of(json), ContainsSubstring("\"timing.tWTR_L\"") && ContainsSubstring("missing"));
  json = valid();
  json["channels"] = json["ranks"] = 64;
  json["banks_per_group"] = 64;
  CHECK_THAT(error_of(json), ContainsSubstring("all channels have 262144 banks, more than 65536"));
  json = valid();
  json["energy"]["read"]["unit"] = "pJ";
  CHECK_THAT(error_of(json), ContainsSubstring("the unit is \"pJ\", but must be \"pJ/bit\""));
  json["energy"]["read"] = {{"value", 5000}, {"unit", "pJ/bit"}, {"source", "x"}};
  CHECK_THAT(error_of(json), ContainsSubstring("5000 pJ/bit is outside 0.05 to 100"));
  json["energy"]["read"] = {{"value", 5}, {"unit", "pJ/bit"}};
  CHECK_THAT(error_of(json), ContainsSubstring("\"energy.read.source\"") && ContainsSubstring("not text"));
  json["energy"] = {{"reads", 1}};
  CHECK_THAT(error_of(json), ContainsSubstring("\"energy.reads\"") && ContainsSubstring("the key is unknown"));
  // All mistakes at once.
  json = valid();
  json["channels"] = 3, json["timing"]["tRP"] = 0;
  CHECK_THAT(error_of(json), ContainsSubstring("channels") && ContainsSubstring("tRP"));
  for (const char* text : {"", "[]", "{", "1", "null", "{\"name\": \"a\", \"name\": \"b\"}"})
    CHECK_FALSE(parse_dram(text, "mine.json").ok());
}

TEST_CASE("memory: the option names a DRAM file, and its text has the hash of the numbers") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "mine.json";
  Json json = valid();
  json["name"] = "mine";
  REQUIRE(write_text_file(path, json.dump()).ok());
  const MemorySpec spec = parse_memory("bank:" + path + ",clock-ps=1000,outstanding=4").value();
  const DramStandard& dram = std::get<BankMemory>(spec).standard;
  CHECK(dram.name == "mine");
  CHECK(dram.hash.size() == 16);
  const std::string text = "bank:" + path + ",hash=" + dram.hash + ",clock-ps=1000,controller=8,outstanding=4";
  CHECK(to_string(spec) == text);
  CHECK(parse_memory(text).value() == spec);
  const MemorySpec slower = parse_memory("bank:" + path + ",dram-ps=1250").value();
  CHECK(to_string(slower) ==
        "bank:" + path + ",hash=" + dram.hash + ",clock-ps=2000,dram-ps=1250,controller=8,outstanding=16");
  // Another source is the same DRAM; another number is not.
  json["source"] = "another";
  REQUIRE(write_text_file(path, json.dump(2)).ok());
  CHECK(parse_memory(text).value() == spec);
  json["timing"]["tRP"] = 23;
  REQUIRE(write_text_file(path, json.dump()).ok());
  const auto changed = parse_memory(text);
  REQUIRE_FALSE(changed.ok());
  CHECK_THAT(dovetail::to_string(changed.errors()),
             ContainsSubstring("the numbers of the file have changed") && ContainsSubstring("not " + dram.hash));
  CHECK(parse_memory("bank:" + path).ok());
  // Its numbers are those of a preset, where they are equal: so are its times.
  CHECK(numbers(std::get<BankMemory>(spec).standard) == numbers(preset("lpddr4")));
  for (const std::string& wrong :
       std::vector<std::string>{folder / "none.json", folder.path().string() + "/", "parts/none"}) {
    const auto missing = parse_memory("bank:" + wrong);
    REQUIRE_FALSE(missing.ok());
    CHECK_THAT(dovetail::to_string(missing.errors()), ContainsSubstring(wrong));
  }
  CHECK_FALSE(parse_memory("bank:ddr4-2400,hash=1").ok());  // a preset has no hash
}

}  // namespace dovetail::simulator::testing
