#include "base/dtype.h"

#include <set>
#include <string>

#include "tests/catch.h"

namespace dovetail {

TEST_CASE("names, ONNX numbers and .npy descriptors of the dtype table are unique, and look-ups find them") {
  std::set<std::string_view> names;
  std::set<int> numbers;
  for (const DTypeInfo& row : kDTypes) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(numbers.insert(row.onnx).second);
    CHECK(dtype_from_name(row.name) == row.dtype);
    CHECK(dtype_from_onnx(row.onnx) == row.dtype);
    if (row.npy_descr.empty()) continue;
    CHECK(dtype_from_npy(row.npy_descr) == row.dtype);
    CHECK(row.npy_descr.back() - '0' == row.bytes);
  }
}

TEST_CASE("the dtype table agrees with the C++ types") {
  CHECK(size_bytes(dtype_of<bool>) == sizeof(bool));
  CHECK(size_bytes(dtype_of<std::int16_t>) == 2);
  CHECK(size_bytes(dtype_of<std::uint64_t>) == 8);
  CHECK(size_bytes(dtype_of<float>) == sizeof(float));
  CHECK(is_floating(dtype_of<double>));
  CHECK(is_signed_integer(dtype_of<std::int8_t>));
  CHECK(is_integer(dtype_of<std::uint8_t>));
  CHECK(!is_integer(DType::boolean));
  CHECK(!is_floating(DType::boolean));
  CHECK(is_floating(DType::bfloat16));
}

TEST_CASE("looking up an unknown dtype finds nothing") {
  CHECK(!dtype_from_name("float128"));
  CHECK(!dtype_from_name(""));
  CHECK(!dtype_from_onnx(8));  // string
  CHECK(!dtype_from_npy(""));  // bfloat16 has no descriptor
  CHECK(!dtype_from_npy(">f4"));
}

}  // namespace dovetail
