// Assembly text that defines its memory layout, from text to arrays: asm, check, simulate, trace diff.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

const std::string kExample = DOVETAIL_SOURCE_DIR "/examples/assembly/matmul.s";
constexpr int kRows = 4, kBlocks = 3, kLanes = 16;

// The result that examples/assembly/matmul.s documents, for these inputs and its weights and bias.
std::vector<std::int8_t> expected(const std::vector<std::int8_t>& x) {
  const int weights[] = {5, 4, -3, 2, 1, -6}, bias[] = {100, -100};
  std::vector<std::int8_t> y;
  for (int row = 0; row < kRows; ++row)
    for (int out = 0; out < kLanes; ++out) {
      int sum = bias[out % 2];
      for (int block = 0; block < kBlocks; ++block)
        for (int in = 0; in < kLanes; ++in)
          sum += x[static_cast<std::size_t>((row * kBlocks + block) * kLanes + in)] *
                 weights[((block * kLanes + out) * kLanes + in) % 6];
      y.push_back(static_cast<std::int8_t>(std::clamp(sum >> 4, -128, 127)));
    }
  return y;
}

std::vector<std::int8_t> pattern() {
  std::vector<std::int8_t> x(kRows * kBlocks * kLanes);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int8_t>(i % 3 == 0 ? 1 : i % 3 == 1 ? -2 : 3);
  return x;
}

std::vector<std::int8_t> values_of(const std::string& path) {
  const NdArray array = read_npy(path).value();
  CHECK(array.dtype() == DType::int8);
  CHECK(array.shape() == Shape{kRows, kLanes});
  return {array.data<std::int8_t>().begin(), array.data<std::int8_t>().end()};
}

}  // namespace

TEST_CASE("assembly: text is checked and simulated directly, and its names accept and return arrays") {
  const test::TemporaryFolder folder;
  const std::string y = folder / "y.npy", x = folder / "x.npy";
  CHECK(test::dovetail({"check", kExample}).exit == 0);
  for (const std::string engine : {"functional", "cycle"}) {
    const Finished run = test::dovetail({"simulate", kExample, "--engine", engine, "--output", y + "@y"});
    CHECK(run.error == "");
    REQUIRE(run.exit == 0);
    CHECK_THAT(run.out, ContainsSubstring("races         not checked") && ContainsSubstring("int8[4, 16] at 0x1600"));
    CHECK(values_of(y) == expected(pattern()));
  }
  std::vector<std::int8_t> other(kRows * kBlocks * kLanes);
  for (std::size_t i = 0; i < other.size(); ++i) other[i] = static_cast<std::int8_t>(i * 37 % 256);
  REQUIRE(write_npy(x, NdArray::from<std::int8_t>({kRows, kBlocks * kLanes}, other)).ok());
  const Finished run = test::dovetail(
      {"simulate", kExample, "--engine", "functional", "--place", x + "@x", "--output", y + "@y", "--check"});
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("races         none"));
  CHECK(values_of(y) == expected(other));
}

TEST_CASE("assembly: program, image and map of asm give the same results as the text") {
  const test::TemporaryFolder folder;
  const std::string p = folder / "p.bin", image = folder / "i.bin", map = folder / "m.json", y = folder / "y.npy";
  const Finished assembled = test::dovetail({"asm", kExample, "-o", p, "--image", image, "--map", map});
  CHECK(assembled.error == "");
  REQUIRE(assembled.exit == 0);
  const Json json = read_json_file(map).value();
  CHECK(json["kind"] == "program map");
  CHECK(json["image"]["base"] == 0x1000);
  CHECK(json["image"]["bytes"] == read_file(image).value().size());
  CHECK(json["symbols"].size() == 7);
  const std::vector<std::string> words{"simulate", p,          "--map",      map,        "--dram",
                                       image,      "--engine", "functional", "--output", y + "@y"};
  REQUIRE(test::dovetail(words).exit == 0);
  CHECK(values_of(y) == expected(pattern()));
  CHECK(test::dovetail({"check", p, "--map", map, "--dram", image}).exit == 0);

  // A map of another program, of other hardware, and a wrong map file.
  CHECK_THAT(test::dovetail({"check", p, "--map", map, "--hw", "1x8x8"}).error,
             ContainsSubstring("the map is for configuration") && ContainsSubstring("Hint: "));
  Json wrong = json;
  wrong["instructions"] = 3;
  wrong["launches"] = Json::array();
  wrong.erase("source");
  REQUIRE(write_text_file(map, wrong.dump()).ok());
  CHECK_THAT(test::dovetail({"check", p, "--map", map}).error, ContainsSubstring("the map is for 3 instructions"));
  for (const char* change : {R"({"kind": 1})", R"({"launches": [{"begin": 0, "count": 99}]})", R"({"image": 5})",
                             R"({"symbols": [{"name": "q"}]})", R"({"instructions": -1})", R"({"hardware": null})",
                             R"({"symbols": [{"name": "q", "kind": "address", "line": 1, "value": 99999, "bytes": 4,
                                 "type": "int8", "shape": [4]}]})",
                             R"({"source": {"file": "k.s", "lines": [[1, 0, 18446744073709551615]]}})"}) {
    Json broken = json;
    broken.merge_patch(Json::parse(change));
    REQUIRE(write_text_file(map, broken.dump()).ok());
    const Finished refused = test::dovetail({"check", p, "--map", map});
    INFO(change);
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("error: ") && ContainsSubstring("Hint: "));
  }
}

TEST_CASE("assembly: nothing of the image is dropped without a diagnostic") {
  const test::TemporaryFolder folder;
  const Finished lost = test::dovetail({"asm", kExample, "-o", folder / "p.bin"});
  CHECK(lost.exit == 2);
  CHECK_THAT(lost.error, ContainsSubstring("the .data and .space lines would be lost. Hint: add --image IMG.bin"));
  CHECK_FALSE(std::filesystem::exists(folder / "p.bin"));
}

TEST_CASE("assembly: findings and failures name the lines of the text") {
  const test::TemporaryFolder folder;
  const std::string text = folder / "race.s";
  REQUIRE(write_text_file(text, R"(.config 1x16x16
kernel: .uop 0, 0, 0
.space x 64
        load.uop dram=kernel size=1x1
        load.inp dram=x size=1x1
.macro tile
        gemm uop=0:1 reset
        gemm uop=0:1
.endm
        tile
        finish
)")
              .ok());
  const Finished found = test::dovetail({"check", text});
  CHECK(found.exit == 1);
  CHECK_THAT(found.out, ContainsSubstring("race on inp[0]") && ContainsSubstring("#1 (" + text + ":5) `load.inp") &&
                            ContainsSubstring("#3 (" + text + ":8, used in line 10) `gemm"));
  const Json json = parse_json(test::dovetail({"check", text, "--json"}).out, "check").value();
  CHECK(json["findings"][0]["other_source"] == text + ":5");
  const Finished refused = test::dovetail({"simulate", text, "--engine", "functional", "--check"});
  CHECK(refused.exit == 1);
  CHECK_THAT(refused.error, ContainsSubstring(text + ":5"));
  const Finished undefined = test::dovetail({"simulate", text, "--engine", "functional"});
  CHECK(undefined.exit == 1);
  CHECK_THAT(undefined.error, ContainsSubstring("instruction 3 (" + text + ":8, used in line 10)"));

  REQUIRE(write_text_file(text, ".config 1x16x16\nload.inp dram=nowhere size=1x1\n").ok());
  for (const std::vector<std::string>& words : {std::vector<std::string>{"check", text},
                                                {"simulate", text, "--engine", "cycle"},
                                                {"asm", text, "-o", folder / "p"}}) {
    const Finished wrong = test::dovetail(words);
    CHECK(wrong.exit == 2);
    CHECK_THAT(wrong.error, ContainsSubstring(text + ":2:15") && ContainsSubstring("`nowhere` is not defined"));
  }
}

TEST_CASE("assembly: a .npy file is never read as raw bytes with its header") {
  const test::TemporaryFolder folder;
  const std::string npy = folder / "image.npy", raw = folder / "image.bin", out = folder / "out.npy",
                    wide = folder / "wide.npy", p = folder / "p.bin", i = folder / "i.bin", m = folder / "m.json";
  REQUIRE(test::dovetail({"asm", kExample, "-o", p, "--image", i, "--map", m}).exit == 0);
  const auto bytes = read_file(i).value();
  REQUIRE(write_npy(npy, NdArray(DType::uint8, {static_cast<std::int64_t>(bytes.size())}, bytes)).ok());
  const auto simulate = [&](const std::string& dram, const std::string& to) {
    return test::dovetail({"simulate", p, "--map", m, "--dram", dram, "--engine", "functional", "--dram-out", to});
  };
  REQUIRE(simulate(i, raw).exit == 0);
  REQUIRE(simulate(npy, out).exit == 0);
  const NdArray written = read_npy(out).value();
  CHECK(std::ranges::equal(written.bytes(), read_file(raw).value()));

  REQUIRE(write_npy(wide, NdArray::from<std::int64_t>({2}, {1, 2})).ok());
  const Finished refused = simulate(wide, out);
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.error, ContainsSubstring("the array has type int64") && ContainsSubstring("astype"));
  for (const char* command : {"check", "disasm"}) {
    const Finished wrong = test::dovetail({command, npy, "--hw", "1x16x16"});
    CHECK(wrong.exit == 2);
    CHECK_THAT(wrong.error, ContainsSubstring("the file is a NumPy array, not raw instructions"));
  }
  CHECK_THAT(test::dovetail({"disasm", kExample, "--hw", "1x16x16"}).error, ContainsSubstring("the file is text"));
}

TEST_CASE("assembly: data that cannot be placed or written is named, with a remedy") {
  const test::TemporaryFolder folder;
  const std::string x = folder / "x.npy", y = folder / "y.npy", raw = folder / "raw.bin";
  REQUIRE(write_npy(x, NdArray(DType::int8, {kRows * kBlocks * kLanes + 1})).ok());
  REQUIRE(write_file(raw, std::vector<std::byte>(64, std::byte{7})).ok());
  const auto error = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"simulate", kExample, "--engine", "functional"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished refused = test::dovetail(words);
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("error: ") && ContainsSubstring("Hint: "));
    return refused.error;
  };
  CHECK_THAT(error({"--place", x + "@x"}), ContainsSubstring("the array has 193 bytes, but `x` has 192"));
  CHECK_THAT(error({"--place", x}), ContainsSubstring("it is not FILE@PLACE"));
  CHECK_THAT(error({"--place", x + "@xx"}),
             ContainsSubstring("no place of that name") && ContainsSubstring("did you mean `x`?"));
  CHECK_THAT(error({"--place", x + "@rows"}), ContainsSubstring("no place of that name"));
  CHECK_THAT(error({"--place", x + "@0x1000", "--place", raw + "@0x1010"}), ContainsSubstring("overlap"));
  CHECK_THAT(error({"--place", x + "@0xffffffff"}), ContainsSubstring("end after the 32 address bits"));
  CHECK_THAT(error({"--place", x + "@x+193"}), ContainsSubstring("`x` has 192 bytes"));
  CHECK_THAT(error({"--place", x + "@x:int8[4]"}), ContainsSubstring("the file has its own type"));
  CHECK_THAT(error({"--output", y + "@0x2000"}), ContainsSubstring("an address needs a type"));
  CHECK_THAT(error({"--output", y + "@y:int8"}), ContainsSubstring("the type is not of the form TYPE[EXTENT,...]"));
  CHECK_THAT(error({"--output", y + "@y:int4[4]"}), ContainsSubstring("the type must be int8"));
  CHECK_THAT(error({"--output", y + "@y:int8[18446744073709551615,2]"}), ContainsSubstring("exceeds 8 GiB"));
  CHECK_THAT(error({"--output", y + "@y", "--place", y + "@x"}), ContainsSubstring("would overwrite"));
  CHECK_THAT(error({"--dram", raw, "--dram-base", "0x1000"}), ContainsSubstring("differs from that of"));
  CHECK_THAT(error({"--dram-base", "0x1000"}), ContainsSubstring("the option needs --dram"));
  CHECK_THAT(error({"--map", raw}), ContainsSubstring("needs no --map"));
  // Raw bytes at an address, an address in the result, and a user-defined type.
  const Finished run = test::dovetail({"simulate", kExample, "--engine", "functional", "--place", raw + "@0x3000",
                                       "--output", folder / "z.npy@0x3000:uint8[8,8]", "--output", folder / "z.bin@y"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  CHECK(read_npy(folder / "z.npy").value() == NdArray(DType::uint8, {8, 8}, read_file(raw).value()));
  CHECK(read_file(folder / "z.bin").value().size() == 64);
}

TEST_CASE("trace diff reports a different address where all times agree") {
  const test::TemporaryFolder folder;
  std::string text = read_text_file(kExample).value();
  const std::string moved = folder / "moved.s", a = folder / "a.json", b = folder / "b.json";
  // The bias of the other columns: the same transfers at the same times.
  text.replace(text.find("sram=0 dram=bias"), 16, "sram=0 dram=x+64");
  REQUIRE(write_text_file(moved, text).ok());
  REQUIRE(test::dovetail({"simulate", kExample, "--engine", "cycle", "--trace", a}).exit == 0);
  REQUIRE(test::dovetail({"simulate", moved, "--engine", "cycle", "--trace", b}).exit == 0);
  const Finished equal = test::dovetail({"trace", "diff", a, a});
  CHECK(equal.exit == 0);
  CHECK_THAT(equal.out, ContainsSubstring("instructions  equal in all fields, addresses included"));
  const Finished different = test::dovetail({"trace", "diff", a, b});
  CHECK(different.exit == 1);
  CHECK_THAT(different.out, ContainsSubstring("instructions  launch 0, instruction 1: `load.acc sram=0 dram=0x"));
  Json bare = read_json_file(b).value();
  bare.erase("programs");
  REQUIRE(write_text_file(b, bare.dump()).ok());
  CHECK_THAT(test::dovetail({"trace", "diff", a, b}).out,
             ContainsSubstring("not compared, addresses and sizes included"));
}
