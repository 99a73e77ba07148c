#include "driver/tensor_files.h"

#include <algorithm>

#include "base/file.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

bundle::Bundle inputs_of(std::vector<bundle::Tensor> tensors) {
  bundle::Bundle bundle;
  bundle.name = "m";
  for (auto& tensor : tensors) {
    bundle.inputs.push_back(static_cast<bundle::TensorIndex>(bundle.tensors.size()));
    bundle.tensors.push_back(std::move(tensor));
  }
  return bundle;
}

}  // namespace

TEST_CASE("random inputs depend only on seed and name, and keep to their range") {
  std::vector<bundle::Tensor> tensors;
  for (const DTypeInfo& row : kDTypes) tensors.push_back({std::string(row.name), row.dtype, {500}, {}});
  const auto a = gather_inputs(inputs_of(tensors), {}, 1),
             b = gather_inputs(inputs_of({tensors[3], tensors[0]}), {}, 1);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(a->tensors.at("int8") == b->tensors.at("int8"));
  CHECK_FALSE(a->tensors.at("int8") == gather_inputs(inputs_of(tensors), {}, 2)->tensors.at("int8"));
  CHECK(a->announcements.size() == kDTypes.size());
  for (const auto& [name, array] : a->tensors) {
    double low = 1e9, high = -1e9;
    for (std::int64_t i = 0; i < array.count(); ++i) {
      low = std::min(low, array.as_double(i));
      high = std::max(high, array.as_double(i));
    }
    INFO(name << " " << low << " " << high);
    CHECK(low < high);
    if (is_floating(array.dtype())) CHECK((low >= -1 && high <= 1));
    else CHECK((low >= -128 && high <= 255));
  }
}

TEST_CASE("inputs come from files by plain name, and every problem is reported") {
  const test::TemporaryFolder folder;
  const NdArray x = NdArray::from<std::int32_t>({2}, {5, 6});
  REQUIRE(write_npy(folder / "x.npy", x).ok());
  const std::string file = folder / "x.npy";
  const bundle::Bundle bundle = inputs_of({{"a:0", DType::int32, {2}, {}}, {"b", DType::int32, {2}, {}}});
  const auto inputs = gather_inputs(bundle, {{"a_0", file}}, 1);
  REQUIRE(inputs.ok());
  CHECK(inputs->tensors.at("a:0") == x);
  const auto wrong = gather_inputs(bundle, {{"c", file}, {"b", "/nowhere.npy"}, {"a:0", file}, {"a_0", file}}, 1);
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.errors().size() == 3);
  CHECK_THAT(to_string(wrong.errors()), ContainsSubstring("no input of that name") &&
                                            ContainsSubstring("no such file") && ContainsSubstring("given twice"));
  CHECK_THAT(to_string(gather_inputs(inputs_of({{"a", DType::float32, {2}, {}}}), {{"a", file}}, 1).errors()),
             ContainsSubstring("the given tensor is int32[2], the model expects float32[2]"));
}

TEST_CASE("outputs have plain file names, and never share a file") {
  const test::TemporaryFolder folder;
  const auto paths =
      write_outputs(folder / "o", {{"out:0", NdArray::scalar<float>(1)}, {"y", NdArray::scalar<float>(2)}});
  REQUIRE(paths.ok());
  CHECK(read_npy(folder / "o/out_0.npy").value().as_double(0) == 1);
  CHECK_THAT(to_string(write_outputs(folder / "p", {{"a:0", NdArray()}, {"a/0", NdArray()}}).errors()),
             ContainsSubstring("would both be") && ContainsSubstring("a_0.npy"));
  CHECK_FALSE(std::filesystem::exists(folder / "p"));
}
