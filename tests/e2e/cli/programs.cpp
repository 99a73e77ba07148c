// Commands on a raw program: asm, disasm, check, simulate, inspect.
#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

// Two launches of 4 and 2 instructions. As one launch it races: the second addition does not wait for the first store.
constexpr const char* kProgram = R"(.config 1x16x16
.uop 0, 0, 0
load.uop sram=0 dram=0x400 size=1x1
load.acc8 sram=0 dram=0x104 size=1x1
alu.add uop=0:1 imm=3 push_next
store.out sram=0 dram=0x108 size=1x1 pop_prev
alu.add uop=0:1 imm=100 push_next
store.out sram=0 dram=0x108 size=1x1 pop_prev
)";

// A folder with p.bin assembled from `text`, u.bin, and an image at 0x1000: micro-ops, then bytes 0..15 at 0x1040, then
// zeros.
class Workshop {
 public:
  explicit Workshop(const std::string& text = kProgram) {
    REQUIRE(write_text_file(folder_ / "p.s", text).ok());
    const Finished assembled = test::dovetail({"asm", path("p.s"), "-o", path("p.bin"), "--uops", path("u.bin")});
    REQUIRE(assembled.error == "");
    REQUIRE(assembled.exit == 0);
    std::vector<std::byte> image = read_file(folder_ / "u.bin").value();
    image.resize(0x1000);
    for (unsigned i = 0; i < 16; ++i) image[0x40 + i] = static_cast<std::byte>(i);
    REQUIRE(write_file(folder_ / "in.bin", image).ok());
  }
  std::string path(const char* name) const { return folder_ / name; }
  std::vector<std::byte> bytes(const char* name) const { return read_file(folder_ / name).value(); }

  Finished simulate(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"simulate",   path("p.bin"),   "--hw",        "1x16x16",
                                   "--dram",     path("in.bin"),  "--dram-base", "0x1000",
                                   "--dram-out", path("out.bin"), "--engine",    "functional"};
    words.insert(words.end(), more.begin(), more.end());
    return test::dovetail(words);
  }
  Finished check(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"check",  path("p.bin"),  "--hw",        "1x16x16",
                                   "--dram", path("in.bin"), "--dram-base", "4096"};
    words.insert(words.end(), more.begin(), more.end());
    return test::dovetail(words);
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("simulate runs launches in order over one state and writes the image") {
  const Workshop shop;
  const Finished first = shop.simulate({"--launch", "0:4", "--report", shop.path("r.json")});
  CHECK(first.error == "");
  REQUIRE(first.exit == 0);
  auto out = shop.bytes("out.bin");
  REQUIRE(out.size() == 0x1000);
  for (unsigned i = 0; i < 16; ++i) CHECK(out[0x80 + i] == static_cast<std::byte>(i + 3));
  const Json report = read_json_file(shop.path("r.json")).value();
  CHECK(report["kind"] == "simulate");
  CHECK(report["launches"].size() == 1);

  REQUIRE(shop.simulate({"--launch", "0:4", "--launch", "4:2"}).exit == 0);
  out = shop.bytes("out.bin");
  for (unsigned i = 0; i < 16; ++i) CHECK(out[0x80 + i] == static_cast<std::byte>(i + 103));
}

TEST_CASE("simulate --engine cycle writes the functional engine's image, and the time of each launch") {
  const Workshop shop;
  const auto simulate = [&](const std::string& engine, const std::string& memory, const char* out) {
    std::vector<std::string> words{"simulate",    shop.path("p.bin"),
                                   "--hw",        "1x16x16",
                                   "--dram",      shop.path("in.bin"),
                                   "--dram-base", "0x1000",
                                   "--dram-out",  shop.path(out),
                                   "--launch",    "0:4",
                                   "--launch",    "4:2",
                                   "--engine",    engine,
                                   "--report",    shop.path("r.json")};
    if (!memory.empty()) words.insert(words.end(), {"--memory", memory, "--trace", shop.path("t.json")});
    const Finished run = test::dovetail(words);
    CHECK(run.error == "");
    REQUIRE(run.exit == 0);
    return read_json_file(shop.path("r.json")).value();
  };
  simulate("functional", "", "functional.bin");
  const Json slow = simulate("cycle", "ideal:latency=64", "slow.bin"),
             fast = simulate("cycle", "ideal:latency=1", "fast.bin");
  CHECK(shop.bytes("slow.bin") == shop.bytes("functional.bin"));
  CHECK(shop.bytes("fast.bin") == shop.bytes("functional.bin"));
  CHECK(slow["timing"]["launches"].size() == 2);
  CHECK(slow["timing"]["launches"][0].get<int>() > fast["timing"]["launches"][0].get<int>());
  CHECK(slow["timing"]["memory"] == "ideal:latency=64,bytes=0,outstanding=16");
  CHECK_THAT(test::dovetail({"trace", shop.path("t.json")}).out, ContainsSubstring("2 launches, 6 instructions"));
}

TEST_CASE("VTA's own configuration file is accepted") {
  const Workshop shop;
  REQUIRE(
      write_text_file(
          shop.path("vta_config.json"),
          R"({"TARGET": "sim", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5, "LOG_BATCH": 0,
                              "LOG_BLOCK": 4, "LOG_UOP_BUFF_SIZE": 15, "LOG_INP_BUFF_SIZE": 15, "LOG_WGT_BUFF_SIZE": 18, "LOG_ACC_BUFF_SIZE": 17})")
          .ok());
  const Finished run = test::dovetail({"simulate", shop.path("p.bin"), "--hw", shop.path("vta_config.json"), "--dram",
                                       shop.path("in.bin"), "--dram-base", "4096", "--launch", "0:4", "--dram-out",
                                       shop.path("out.bin"), "--engine", "functional"});
  CHECK(run.error == "");
  CHECK(run.exit == 0);
}

TEST_CASE("check: clean, a race, a lost token, and an unreadable program") {
  const Workshop two_launches;
  CHECK(two_launches.check({"--launch", "0:4", "--launch", "4:2"}).exit == 0);
  const Finished race = two_launches.check();
  CHECK(race.exit == 1);
  CHECK_THAT(race.out, ContainsSubstring("race") && ContainsSubstring("store.out") && ContainsSubstring("alu.add"));

  std::string lost = kProgram;
  lost.erase(lost.find(" push_next"), 10);
  const Workshop shop(lost);
  const Finished found = shop.check();
  CHECK(found.exit == 1);
  CHECK_THAT(found.out, ContainsSubstring("deadlock"));
  CHECK_THAT(found.error, ContainsSubstring("error: "));
  // On the text itself: the same finding with its line.
  const Finished in_text = test::dovetail({"check", shop.path("p.s")});
  CHECK(in_text.exit == 1);
  CHECK_THAT(in_text.out, ContainsSubstring("deadlock") && ContainsSubstring("#3 (" + shop.path("p.s") + ":6)"));
  const Json json = parse_json(shop.check({"--json"}).out, "stdout").value();
  CHECK(json["clean"] == false);
  CHECK(json["findings"].size() >= 1);

  const Finished hung = shop.simulate();
  CHECK(hung.exit == 1);
  CHECK_THAT(hung.error, ContainsSubstring("deadlock"));
  CHECK_FALSE(std::filesystem::exists(shop.path("out.bin")));
}

TEST_CASE("disasm and asm give the same bytes") {
  const Workshop shop;
  REQUIRE(test::dovetail({"disasm", shop.path("p.bin"), "-o", shop.path("q.s")}).exit == 0);
  REQUIRE(test::dovetail({"asm", shop.path("q.s"), "-o", shop.path("q.bin")}).exit == 0);
  CHECK(shop.bytes("q.bin") == shop.bytes("p.bin"));
  CHECK_THAT(test::dovetail({"disasm", shop.path("p.bin")}).out, ContainsSubstring("alu.add"));
}

TEST_CASE("asm never drops micro-ops, and compares configurations") {
  const Workshop shop;
  const Finished lost = test::dovetail({"asm", shop.path("p.s"), "-o", shop.path("q.bin")});
  CHECK(lost.exit == 2);
  CHECK_THAT(lost.error, ContainsSubstring("the 1 .uop lines would be lost"));
  CHECK_FALSE(std::filesystem::exists(shop.path("q.bin")));
  CHECK(
      test::dovetail({"asm", shop.path("p.s"), "-o", shop.path("q.bin"), "--uops", shop.path("u.bin"), "--hw", "1x8x8"})
          .exit == 2);
}

TEST_CASE("simulate refuses data that it cannot place") {
  const Workshop shop;
  CHECK_THAT(shop.simulate({"--launch", "0:7"}).error, ContainsSubstring("exceeds the program's 6 instructions"));
  CHECK_THAT(shop.simulate({"--program-base", "0x1008"}).error,
             ContainsSubstring("not a multiple of an instruction's 16 bytes"));
  CHECK_THAT(shop.simulate({"--program-base", "0x1040"}).error, ContainsSubstring("the image has other bytes"));
  const Finished outside = shop.simulate({"--program-base", "0x2000"});
  CHECK(outside.exit == 0);
  CHECK_THAT(outside.out, ContainsSubstring("does not fetch"));
  const Finished waves = shop.simulate({"--waves", "x"});
  CHECK(waves.exit == 2);
  CHECK_THAT(waves.error, ContainsSubstring("--waves") && ContainsSubstring("engine functional has no waveforms"));
  for (const char* option : {"--trace", "--memory", "--html"}) {
    const Finished refused = shop.simulate({option, "x"});
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("engine functional has no clock"));
  }
}

TEST_CASE("inspect shows a program according to its configuration") {
  const Workshop shop;
  CHECK_THAT(test::dovetail({"inspect", shop.path("p.bin"), "--hw", "1x16x16"}).out,
             ContainsSubstring("6 instructions"));
  CHECK_THAT(test::dovetail({"inspect", shop.path("p.s")}).out, ContainsSubstring("6 instructions"));
  CHECK(test::dovetail({"inspect", shop.path("p.bin")}).exit == 2);
}

TEST_CASE("simulate: one program appends at every value of OFFSET") {
  const test::TemporaryFolder folder;
  const std::string program = folder / "p.s", out = folder / "out.bin";
  REQUIRE(write_text_file(program, R"(.config 1x16x16 offset=true
kernel: .uop 0, 0, 0
.data x int8[1,16] 1 2 3 4
.space cache int8[4,16]
load.uop sram=0 dram=kernel size=1x1
load.acc8 sram=0 dram=x size=1x1
alu.add uop=0:1 imm=3 push_next
store.out sram=0 dram=cache size=1x1 offset pop_prev
)")
              .ok());
  for (const char* engine : {"functional", "cycle"})
    for (const std::size_t row : {0, 2, 3}) {
      CAPTURE(engine, row);
      // Not a multiple of an element: rounded down.
      const std::string offset = std::to_string(16 * row + 5);
      const Finished ran = test::dovetail({"simulate", program, "--output", out + "@cache:int8[4,16]", "--engine",
                                           engine, "--offset", offset, "--check"});
      REQUIRE(ran.error == "");
      REQUIRE(ran.exit == 0);
      const std::vector<std::byte> cache = read_file(out).value();
      for (std::size_t i = 0; i < 64; ++i)
        CHECK(std::to_integer<int>(cache[i]) == (i / 16 != row ? 0 : static_cast<int>(i % 4) + 4));
    }
  const Finished beyond = test::dovetail({"check", program, "--offset", "4096"});
  CHECK(beyond.exit == 1);
  CHECK_THAT(beyond.out, ContainsSubstring("writes DRAM bytes"));
  const Finished refused = test::dovetail({"check", program, "--offset", "0x100000000"});
  CHECK_THAT(refused.error, ContainsSubstring("0x100000000 >= 2^32, the first address that the design cannot reach"));
}
