#include <cstdlib>
#include <random>
#include <string>

#include "base/file.h"
#include "base/npy.h"
#include "base/zip.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;

namespace {

const std::filesystem::path kArchives = std::filesystem::path(DOVETAIL_SOURCE_DIR) / "tests/unit/base/data";

std::map<std::string, NdArray> expected_members() {
  NdArray ramp(DType::float32, {2, 3, 4});
  for (std::int64_t i = 0; i < ramp.count(); ++i) ramp.set_int64(i, i);
  NdArray half(DType::float16, {3});
  half.set_double(0, 1.0);
  half.set_double(1, -2.5);
  half.set_double(2, 65504.0);
  NdArray labels(DType::uint8, {1000});
  for (std::int64_t i = 0; i < 1000; ++i) labels.set_int64(i, i % 10);
  return {{"ramp", ramp}, {"half", half}, {"labels", labels}, {"empty", NdArray(DType::int32, {0})}};
}

ZipMember text_member(std::string name, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {std::move(name), {bytes.begin(), bytes.end()}};
}

std::string npz_problem(std::span<const std::byte> bytes) {
  const auto result = parse_npz(bytes, "f.npz");
  return result.ok() ? "no problem" : to_string(result.errors());
}

}  // namespace

TEST_CASE("npz files of numpy are read, stored and deflated") {
  CHECK(*read_npz(kArchives / "stored.npz") == expected_members());
  CHECK(*read_npz(kArchives / "deflated.npz") == expected_members());
}

TEST_CASE("write_npz and read_npz are inverse") {
  const test::TemporaryFolder folder;
  REQUIRE(write_npz(folder / "a.npz", expected_members()).ok());
  CHECK(*read_npz(folder / "a.npz") == expected_members());
  REQUIRE(write_npz(folder / "none.npz", {}).ok());
  CHECK(read_npz(folder / "none.npz")->empty());
}

TEST_CASE("equal arrays give equal npz bytes") {
  const std::vector<ZipMember> members{text_member("a", "1"), text_member("b", "")};
  CHECK(*format_zip(members, "f") == *format_zip(members, "f"));
}

TEST_CASE("an npz file cut off anywhere is an error") {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::vector<std::byte> whole = *read_file(kArchives / name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(name, size);
      REQUIRE(!parse_npz(std::span(whole).first(size), name).ok());
    }
  }
}

TEST_CASE("a changed byte of an npz file gives the same arrays or an error") {
  // Bytes without meaning (dates, versions, local copies) may change; the arrays must not.
  const auto expected = expected_members();
  std::mt19937 random(7);
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::vector<std::byte> whole = *read_file(kArchives / name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::vector<std::byte> bytes = whole;
      bytes[at] ^= static_cast<std::byte>(1 + random() % 255);
      const auto result = parse_npz(bytes, name);
      if (!result.ok()) continue;
      for (const auto& [member, array] : *result) {
        CAPTURE(name, at, member);
        // The name itself has no checksum.
        const auto original = expected.find(member);
        if (original != expected.end()) REQUIRE(array == original->second);
      }
    }
  }
}

TEST_CASE("random bytes before an end record give an error, never a crash") {
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    const std::vector<ZipMember> members{text_member("a.npy", "some content")};
    std::vector<std::byte> bytes = *format_zip(members, "f");
    for (int change = 0; change < 8; ++change) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    (void)parse_npz(bytes, "f.npz").ok();
  }
}

TEST_CASE("npz errors name the member and the rule") {
  CHECK_THAT(npz_problem({}), ContainsSubstring("there is no end record in its 0 bytes"));
  CHECK_THAT(npz_problem(*format_zip(std::vector{text_member("readme.txt", "x")}, "f")),
             ContainsSubstring("f.npz, member readme.txt") && ContainsSubstring("does not end in .npy"));
  CHECK_THAT(npz_problem(*format_zip(std::vector{text_member("a.npy", "x")}, "f")),
             ContainsSubstring("f.npz, member a.npy") && ContainsSubstring("does not start with"));
  CHECK_THAT(npz_problem(*format_zip(std::vector{text_member("a.npy", "x"), text_member("a.npy", "y")}, "f")),
             ContainsSubstring("the name occurs twice"));
}

TEST_CASE("an npz member with a wrong checksum is refused") {
  std::vector<std::byte> bytes = *format_zip(std::vector{text_member("a.npy", "content")}, "f");
  bytes[30 + 5] = std::byte{'C'};  // the first byte of the content, after header and name
  CHECK_THAT(npz_problem(bytes), ContainsSubstring("member a.npy") && ContainsSubstring("checksum"));
}

TEST_CASE("encrypted npz members and unknown methods are refused") {
  const std::vector<std::byte> good = *format_zip(std::vector{text_member("a.npy", "content")}, "f");
  const std::size_t directory = 30 + 5 + 7;
  std::vector<std::byte> bytes = good;
  bytes[directory + 8] = std::byte{1};
  CHECK_THAT(npz_problem(bytes), ContainsSubstring("encrypted"));
  bytes = good;
  bytes[directory + 10] = std::byte{12};
  CHECK_THAT(npz_problem(bytes), ContainsSubstring("compression method 12"));
}

TEST_CASE("an npz member that claims gigabytes is refused without allocating them") {
  std::vector<std::byte> bytes = *format_zip(std::vector{text_member("a.npy", "content")}, "f");
  const std::size_t directory = 30 + 5 + 7;
  bytes[directory + 10] = std::byte{8};     // deflated
  bytes[directory + 27] = std::byte{0xf0};  // 3.75 GiB
  CHECK_THAT(npz_problem(bytes), ContainsSubstring("does not inflate to 4026531847 bytes"));
}

TEST_CASE("npz members may not share their bytes") {
  const std::vector<std::byte> one = *format_zip(std::vector{text_member("a.npy", std::string(100, 'x'))}, "f");
  std::vector<std::byte> bytes =
      *format_zip(std::vector{text_member("a.npy", std::string(100, 'x')), text_member("b.npy", "")}, "f");
  const std::size_t second_entry = 135 + 35 + 51;
  for (const std::size_t field : {20, 24}) bytes[second_entry + field] = std::byte{100};
  for (std::size_t i = 0; i < 4; ++i) bytes[second_entry + 42 + i] = std::byte{0};
  CHECK_THAT(npz_problem(bytes), ContainsSubstring("the members have 200 bytes > 170 bytes before the directory"));
}

// tests/tools/test_npz_numpy.py runs this test and reads the result with numpy.
TEST_CASE("write an npz file for numpy", "[.][numpy]") {
  const char* path = std::getenv("DOVETAIL_NPZ_PATH");
  REQUIRE(path != nullptr);
  REQUIRE(write_npz(path, expected_members()).ok());
}

}  // namespace dovetail
