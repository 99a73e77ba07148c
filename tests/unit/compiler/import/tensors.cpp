// Tensors of the file: all element types, both kinds of storage, external files, and damaged ones.
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using namespace test::onnx;

namespace {

Result<NdArray> parse(const Message& message) { return import::parse_tensor_proto(message.bytes(), "t.pb"); }
std::string error(const Message& message) {
  const auto array = parse(message);
  return array ? "" : to_string(array.errors());
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  REQUIRE(write_file(path, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}).ok());
}

Model external(const std::string& location, const std::string& offset, const std::string& length) {
  Message entries = Message().number(1, 2).number(2, 1).text(8, "w").number(14, 1);
  for (const auto& [key, value] : {std::pair{"location", location}, {"offset", offset}, {"length", length}})
    entries.message(13, Message().text(1, key).text(2, value));
  Model model;
  model.inputs = {value_info("x", DType::float32, {2})};
  model.initializers = {entries};
  model.nodes = {node("Add", {"x", "w"}, {"y"})};
  model.outputs = {value_info("y", DType::float32, {2})};
  return model;
}

}  // namespace

TEST_CASE("tensors: raw data of every element type") {
  for (const DTypeInfo& row : kDTypes) {
    NdArray array(row.dtype, {2, 3});
    for (std::int64_t i = 0; i < 6; ++i) array.set_int64(i, i % 2);
    const auto parsed = parse(tensor("t", array));
    INFO(row.name);
    REQUIRE(parsed.ok());
    CHECK(*parsed == array);
  }
}

TEST_CASE("tensors: typed fields") {
  CHECK(parse(Message().number(1, 2).number(2, 3).number(5, -5).number(5, 127)).value() ==
        NdArray::from<std::int8_t>({2}, {-5, 127}));
  CHECK(parse(Message().number(2, 7).number(7, std::int64_t{1} << 40)).value() ==
        NdArray::scalar(std::int64_t{1} << 40));
  CHECK(parse(Message().number(1, 1).number(2, 12).number(11, 4'000'000'000)).value() ==
        NdArray::from<std::uint32_t>({1}, {4'000'000'000u}));
  CHECK(parse(Message().number(2, 1).real(4, 1.5f)).value() == NdArray::scalar(1.5f));
  CHECK(parse(Message().number(2, 10).number(5, 0x3C00)).value().as_double(0) == 1.0);
  CHECK(parse(Message().number(2, 16).number(5, 0x3F80)).value().as_double(0) == 1.0);
  CHECK(parse(Message().number(2, 9).number(5, 1)).value().as_int64(0) == 1);
  CHECK(parse(Message().number(1, 0).number(2, 1)).value().count() == 0);
}

TEST_CASE("tensors: a wrong size is refused before anything is allocated") {
  CHECK_THAT(error(Message().number(1, 3).number(2, 1).text(9, "12345678")),
             ContainsSubstring("float32[3] needs 12 bytes, but raw_data has 8"));
  CHECK_THAT(error(Message().number(1, 3).number(2, 1).real(4, 1)),
             ContainsSubstring("float32[3] needs 3 elements, but the file has 1"));
  CHECK_THAT(error(Message().number(1, 3).number(2, 1).number(7, 1).number(7, 1).number(7, 1)),
             ContainsSubstring("float_data has 0"));
  CHECK_THAT(error(Message().number(1, std::int64_t{1} << 33).number(2, 2)), ContainsSubstring("the file has 0"));
  CHECK_THAT(error(Message().number(1, -1).number(2, 2)), ContainsSubstring("extent -1 of shape [-1] is negative"));
  CHECK_THAT(error(Message().number(1, std::int64_t{1} << 62).number(1, 8).number(2, 1)),
             ContainsSubstring("has more than 16 GiB"));
  CHECK_THAT(error(Message().number(2, 8)), ContainsSubstring("string (8) is not supported"));
  CHECK_THAT(error(Message().number(2, 22)),
             ContainsSubstring("1 elements of int4 (22) need 1 bytes, but the file has 0"));
  const Message whole = Message().number(2, 1).text(8, "name");
  const auto cut = import::parse_tensor_proto(whole.bytes().first(5), "t.pb");
  REQUIRE_FALSE(cut.ok());
  CHECK_THAT(to_string(cut.errors()), ContainsSubstring("5 bytes that are not a serialized TensorProto"));
}

TEST_CASE("tensors: external data must be next to the model") {
  test::TemporaryFolder folder;
  const float values[] = {1, 2, 3};
  std::string bytes(sizeof values, '\0');
  std::memcpy(bytes.data(), values, sizeof values);
  std::filesystem::create_directories(folder / "model");
  write_bytes(folder / "model" / "w.bin", bytes);
  write_bytes(folder / "secret.bin", bytes);
  const import::ImportOptions options{.shapes = {}, .external_data_folder = folder / "model"};
  const auto outcome = [&](const std::string& location, const std::string& offset = "4",
                           const std::string& length = "8") {
    const auto imported = external(location, offset, length).import(options);
    return imported ? "" : to_string(imported.errors());
  };
  const auto imported = external("w.bin", "4", "8").import(options);
  if (!imported) FAIL(to_string(imported.errors()));
  CHECK(*imported->graph.value(imported->graph.find_value("w").value()).constant == NdArray::from<float>({2}, {2, 3}));
  CHECK(imported->report.data_files == std::set{std::filesystem::weakly_canonical(folder / "model" / "w.bin")});

  CHECK_THAT(outcome("../secret.bin"), ContainsSubstring("is outside the model's folder"));
  CHECK_THAT(outcome((folder / "secret.bin").string()), ContainsSubstring("is outside the model's folder"));
  std::filesystem::create_symlink(folder / "secret.bin", folder / "model" / "link.bin");
  CHECK_THAT(outcome("link.bin"), ContainsSubstring("is outside the model's folder"));
  CHECK_THAT(outcome("none.bin"), ContainsSubstring("none.bin is missing"));
  CHECK_THAT(outcome("w.bin", "8"),
             ContainsSubstring("8 bytes from offset 8") && ContainsSubstring("which has 12 bytes"));
  CHECK_THAT(outcome("w.bin", "9223372036854775807"), ContainsSubstring("which has 12 bytes"));
  CHECK_THAT(outcome("w.bin", "0", "12"), ContainsSubstring("the tensor needs 8 bytes, length says 12"));
  CHECK_THAT(outcome("w.bin", "-4"), ContainsSubstring("offset \"-4\" is not a byte count"));
  const auto detached = external("w.bin", "4", "8").import();
  REQUIRE_FALSE(detached.ok());
  CHECK_THAT(to_string(detached.errors()), ContainsSubstring("not read from a folder"));
}

// y = x + w0 + w1 + ..., each w in 40,000 bytes of one file, `step` bytes apart.
Model sum_of_references(int references, int step) {
  Model model;
  model.inputs = {value_info("x", DType::float32, {10000})};
  std::string sum = "x";
  for (int i = 0; i < references; ++i) {
    const std::string name = "w" + std::to_string(i);
    Message entries = Message().number(1, 10000).number(2, 1).text(8, name).number(14, 1);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", "w.bin"},
                                     {"offset", std::to_string(i * step)},
                                     {"length", "40000"}})
      entries.message(13, Message().text(1, key).text(2, value));
    model.initializers.push_back(entries);
    const std::string next = i + 1 == references ? "y" : "s" + std::to_string(i);
    model.nodes.push_back(node("Add", {sum, name}, {next}));
    sum = next;
  }
  model.outputs = {value_info("y", DType::float32, {10000})};
  return model;
}

TEST_CASE("tensors: a model file beyond the format's limit is refused without being read") {
  test::TemporaryFolder folder;
  write_bytes(folder / "m.onnx", "");
  std::filesystem::resize_file(folder / "m.onnx", std::uintmax_t{3} << 30);  // sparse: it takes no space
  const test::Environment limit("DOVETAIL_MEMORY_LIMIT", "1GiB");  // otherwise the limit would refuse it first
  const auto imported = import::import_onnx_file(folder / "m.onnx");
  REQUIRE_FALSE(imported.ok());
  CHECK_THAT(to_string(imported.errors()),
             ContainsSubstring("the file has 3221225472 bytes > 2147483647, the limit of a protobuf file"));
}

TEST_CASE("tensors: a data file that a hundred initializers name is held once, or refused by file and tensor") {
  test::TemporaryFolder folder;
  write_bytes(folder / "w.bin", std::string(50000, '\1'));
  const import::ImportOptions options{.shapes = {}, .external_data_folder = folder / ""};
  const test::Environment limit("DOVETAIL_MEMORY_LIMIT", "100000");

  const auto same = sum_of_references(100, 0).import(options);
  if (!same) FAIL(to_string(same.errors()));
  int constants = 0;
  for (const graph::Value& value : same->graph.values) constants += value.constant.has_value();
  CHECK(constants == 1);

  // Different ranges are separate arrays.
  const auto different = sum_of_references(100, 4).import(options);
  REQUIRE_FALSE(different.ok());
  CHECK_THAT(
      to_string(different.errors()),
      ContainsSubstring("cannot read external tensor data (test.onnx, initializer w2, with all tensors before it, "
                        "from ") &&
          ContainsSubstring("w.bin): 120000 bytes of memory > limit 100000"));
}

TEST_CASE("tensors: an initializer that is also an output keeps its name, even if another one is equal") {
  test::TemporaryFolder folder;
  write_bytes(folder / "w.bin", std::string(50000, '\1'));
  Model model = sum_of_references(2, 0);
  model.outputs.push_back(value_info("w1", DType::float32, {10000}));
  const auto imported = model.import({.shapes = {}, .external_data_folder = folder / ""});
  if (!imported) FAIL(to_string(imported.errors()));
  CHECK(imported->graph.value(imported->graph.outputs[1]).name == "w1");
}

}  // namespace dovetail
