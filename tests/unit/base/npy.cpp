#include "base/npy.h"

#include <random>
#include <string>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;

namespace {

const std::filesystem::path kData = std::filesystem::path(DOVETAIL_SOURCE_DIR) / "tests/unit/base/data";

NdArray ramp(DType dtype) {
  NdArray array(dtype, {2, 3, 4});
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, i);
  return array;
}

// A format 1.0 file with this header text and that many zero bytes of data.
std::vector<std::byte> file_with(std::string header, std::size_t data_bytes) {
  std::string text = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 0xff) +
                     static_cast<char>(header.size() >> 8) + header + std::string(data_bytes, '\0');
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string npy_problem(const std::string& header, std::size_t data_bytes = 0) {
  const Result<NdArray> result = parse_npy(file_with(header, data_bytes), "f.npy");
  return result.ok() ? "no problem" : to_string(result.errors());
}

}  // namespace

TEST_CASE("npy files of numpy are read: formats, orders, element types") {
  CHECK(*read_npy(kData / "row_major.npy") == ramp(DType::float32));
  CHECK(*read_npy(kData / "version_2.npy") == ramp(DType::float32));
  CHECK(*read_npy(kData / "version_3.npy") == ramp(DType::float32));
  CHECK(*read_npy(kData / "fortran.npy") == ramp(DType::float32));
  CHECK(*read_npy(kData / "big_endian.npy") == ramp(DType::int32));
  CHECK(*read_npy(kData / "big_endian_fortran.npy") == ramp(DType::float64));
  CHECK(*read_npy(kData / "scalar.npy") == NdArray::scalar<std::int64_t>(-7));
  CHECK(*read_npy(kData / "vector.npy") == NdArray::from<bool>({3}, {true, false, true}));
  CHECK(*read_npy(kData / "empty.npy") == NdArray(DType::uint16, {3, 0, 2}));
}

TEST_CASE("npy files are written byte for byte as numpy writes them") {
  for (const char* name : {"row_major.npy", "scalar.npy", "vector.npy", "empty.npy"}) {
    INFO(name);
    const std::vector<std::byte> bytes = *read_file(kData / name);
    CHECK(format_npy(*parse_npy(bytes, name)) == bytes);
  }
}

TEST_CASE("every dtype round-trips through npy; bfloat16 becomes its bits") {
  for (const DTypeInfo& row : kDTypes) {
    INFO(row.name);
    const NdArray array = ramp(row.dtype);
    const NdArray back = *parse_npy(format_npy(array), "f.npy");
    if (row.dtype == DType::bfloat16) CHECK(back == NdArray(DType::uint16, array.shape(), array.bytes()));
    else CHECK(back == array);
  }
}

TEST_CASE("write_npy and read_npy are inverse") {
  const test::TemporaryFolder folder;
  REQUIRE(write_npy(folder / "a.npy", ramp(DType::int8)).ok());
  CHECK(*read_npy(folder / "a.npy") == ramp(DType::int8));
}

TEST_CASE("an npy file cut off anywhere is an error") {
  const std::vector<std::byte> whole = format_npy(ramp(DType::int16));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    REQUIRE(!parse_npy(std::span(whole).first(size), "f.npy").ok());
  }
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{0});
  CHECK_THAT(to_string(parse_npy(longer, "f.npy").errors()),
             ContainsSubstring("int16 [2, 3, 4] does not match the 49 bytes of data"));
}

TEST_CASE("a changed byte of an npy file gives an array or an error, never a crash") {
  const std::vector<std::byte> whole = format_npy(ramp(DType::int16));
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      std::vector<std::byte> bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      (void)parse_npy(bytes, "f.npy").ok();
    }
}

TEST_CASE("random bytes after the npy magic give an array or an error, never a crash") {
  std::mt19937 random(20240607);
  const std::string_view alphabet = "{}()[]'\":,<>|=fiubLTrueFalsdc0123456789 \n-ortnhp";
  for (int round = 0; round < 20000; ++round) {
    std::string header(random() % 80, ' ');
    for (char& c : header) c = random() % 16 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    (void)parse_npy(file_with(header, random() % 32), "f.npy").ok();
  }
}

TEST_CASE("npy headers may vary as Python's literals may") {
  CHECK(npy_problem("{'descr':'<i2','fortran_order':False,'shape':(3,)}", 6) == "no problem");
  CHECK(npy_problem("{ \"shape\" : ( 3L , 1 ), \"descr\": \"=i2\", 'fortran_order': True } \n", 6) == "no problem");
  CHECK(npy_problem("{'descr': '>i1', 'fortran_order': False, 'shape': ()}", 1) == "no problem");
}

TEST_CASE("npy errors name the violated rule") {
  CHECK_THAT(to_string(parse_npy({}, "f.npy").errors()), ContainsSubstring("does not start with"));
  CHECK_THAT(npy_problem("{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }", 5),
             ContainsSubstring("f.npy") && ContainsSubstring("int16 [3] does not match the 5 bytes"));
  CHECK_THAT(npy_problem("{'descr': '<c8', 'fortran_order': False, 'shape': (), }", 8),
             ContainsSubstring("element type '<c8'"));
  CHECK_THAT(npy_problem("{'descr': '|i2', 'fortran_order': False, 'shape': (), }", 2),
             ContainsSubstring("element type '|i2'"));
  CHECK_THAT(npy_problem("{'descr': '<i2', 'fortran_order': Maybe, 'shape': (), }"),
             ContainsSubstring("neither True nor False"));
  CHECK_THAT(npy_problem("{'descr': '<i2', 'shape': (), }"), ContainsSubstring("is missing"));
  CHECK_THAT(npy_problem("{'descr': '<i2', 'descr': '<i2', 'shape': (), }"),
             ContainsSubstring("'descr' is unknown or occurs twice"));
  CHECK_THAT(npy_problem("{'descr': '<i2', 'fortran_order': False, 'shape': (-1,), }"),
             ContainsSubstring("extents must be integers"));
  CHECK_THAT(npy_problem("{'descr': '<i2', 'fortran_order': False, 'shape': (), } x"),
             ContainsSubstring("text follows"));
  CHECK_THAT(to_string(read_npy(kData / "structured.npy").errors()), ContainsSubstring("structured element types"));
  CHECK_THAT(to_string(read_npy(kData / "complex.npy").errors()), ContainsSubstring("'<c8' is not supported"));
  std::vector<std::byte> future = format_npy(ramp(DType::int8));
  future[6] = std::byte{4};
  CHECK_THAT(to_string(parse_npy(future, "f.npy").errors()),
             ContainsSubstring("version 4 of the format is not supported; versions 1 to 3 are"));
}

TEST_CASE("npy shapes that overflow or claim terabytes are refused without allocating") {
  CHECK_THAT(npy_problem("{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 4294967296), }", 16),
             ContainsSubstring("does not match the 16 bytes"));
  CHECK_THAT(npy_problem("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,), }", 16),
             ContainsSubstring("does not match the 16 bytes"));
  CHECK(npy_problem(
            "{'descr': '<f8', 'fortran_order': True, 'shape': (9223372036854775807, 9223372036854775807, 0), }") ==
        "no problem");
  CHECK_THAT(npy_problem("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,), }"),
             ContainsSubstring("extents must be integers"));
  std::string ones;
  for (int i = 0; i < 65; ++i) ones += "1,";
  CHECK_THAT(npy_problem("{'descr': '|i1', 'fortran_order': False, 'shape': (" + ones + "), }", 1),
             ContainsSubstring("more than 64 dimensions"));
}

TEST_CASE("bytes of a boolean npy array become 0 or 1") {
  std::vector<std::byte> bytes = format_npy(NdArray::from<bool>({2}, {true, false}));
  bytes[bytes.size() - 2] = std::byte{7};
  CHECK(*parse_npy(bytes, "f.npy") == NdArray::from<bool>({2}, {true, false}));
}

}  // namespace dovetail
