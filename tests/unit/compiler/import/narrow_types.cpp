// Elements of less than a byte: their packing, and QuantizeLinear and Cast to their types.
#include <cmath>
#include <fstream>

#include "compiler/reference/reference.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {
namespace {

using namespace test::onnx;
using Catch::Matchers::ContainsSubstring;

struct Narrow {
  int onnx, bits, low, high;
  DType held;
};
constexpr Narrow kNarrow[] = {{21, 4, 0, 15, DType::uint8},
                              {22, 4, -8, 7, DType::int8},
                              {25, 2, 0, 3, DType::uint8},
                              {26, 2, -2, 1, DType::int8}};

std::vector<int> drawn_elements(const Narrow& type, int count) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(type.low + (i * 7 + i / 3) % (type.high - type.low + 1));
  return values;
}

std::string packed_bytes(const Narrow& type, const std::vector<int>& values) {
  const std::size_t per_byte = static_cast<std::size_t>(8 / type.bits);
  std::string bytes((values.size() + per_byte - 1) / per_byte, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned bits = static_cast<unsigned>(values[i]) & ((1U << type.bits) - 1);
    auto& byte = bytes[i / per_byte];
    byte = static_cast<char>(static_cast<unsigned char>(byte) |
                             (bits << (i % per_byte * static_cast<std::size_t>(type.bits))));
  }
  return bytes;
}

enum class Held { raw, field, outside };

Message narrow_tensor(const Narrow& type, const Shape& shape, const std::string& bytes, Held held) {
  Message message;
  for (const std::int64_t extent : shape) message.number(1, extent);
  message.number(2, type.onnx).text(8, "w");
  if (held == Held::raw) message.text(9, bytes);
  if (held == Held::field)
    for (const char byte : bytes) message.number(5, static_cast<unsigned char>(byte));
  if (held == Held::outside)
    message.message(13, Message().text(1, "location").text(2, "w.bin"))
        .message(13, Message().text(1, "length").text(2, std::to_string(bytes.size())))
        .number(14, 1);
  return message;
}

Result<import::Imported> import_constant(const Message& tensor, const std::filesystem::path& folder = {}) {
  Model model;
  model.opset = 25;
  model.initializers = {tensor};
  model.nodes = {node("Identity", {"w"}, {"y"})};
  model.outputs = {Message().text(1, "y")};
  import::ImportOptions options;
  options.external_data_folder = folder;
  return model.import(options);
}

TEST_CASE("Elements of less than a byte are unpacked, the first from the lowest bits") {
  const test::TemporaryFolder folder;
  for (const Narrow& type : kNarrow)
    for (const int count : {0, 1, 5, 8, 11})
      for (const Held held : {Held::raw, Held::field, Held::outside}) {
        INFO(type.onnx << " " << count << " " << static_cast<int>(held));
        if (count == 0 && held == Held::outside) continue;
        const std::vector<int> values = drawn_elements(type, count);
        const std::string bytes = packed_bytes(type, values);
        std::ofstream(folder.path() / "w.bin", std::ios::binary) << bytes;
        const auto imported = import_constant(narrow_tensor(type, {count}, bytes, held), folder.path());
        REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
        const auto reference = Reference::make(imported->graph);
        REQUIRE(reference.ok());
        const auto result = reference->run({});
        REQUIRE(result.ok());
        const NdArray& y = result->at("y");
        REQUIRE(y.dtype() == type.held);
        REQUIRE(y.shape() == Shape{count});
        for (int i = 0; i < count; ++i) CHECK(y.as_int64(i) == values[static_cast<std::size_t>(i)]);
      }
  // Too few bytes and too many.
  for (const char* bytes : {"ab", "abcd"}) {
    const auto imported = import_constant(narrow_tensor(kNarrow[1], {5}, bytes, Held::raw));
    REQUIRE_FALSE(imported.ok());
    CHECK_THAT(to_string(imported.errors()),
               ContainsSubstring("5 elements of int4 (22) need 3 bytes, but the file has"));
  }
}

NdArray run_on(Model model, const NdArray& x) {
  model.opset = 25;
  model.inputs = {value_info("x", x.dtype(), {static_cast<int>(x.count())})};
  const auto imported = model.import();
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  const auto reference = Reference::make(imported->graph);
  REQUIRE(reference.ok());
  const auto result = reference->run({{"x", x}});
  REQUIRE(result.ok());
  return result->at("y");
}

TEST_CASE("QuantizeLinear and Cast to less than a byte keep to its range") {
  NdArray x(DType::float32, {41});
  for (std::int64_t i = 0; i < 41; ++i) x.set_double(i, (static_cast<double>(i) - 20) * 0.75);
  for (const Narrow& type : kNarrow) {
    INFO(type.onnx);
    const auto in_range = [&](double v) {
      return std::min(std::max(v, static_cast<double>(type.low)), static_cast<double>(type.high));
    };
    const std::string one = packed_bytes(type, {1});
    Message zero_point = narrow_tensor(type, {}, one, Held::raw), shaped = narrow_tensor(type, {1}, one, Held::raw);
    // The type comes from the zero point, directly or through an operator that keeps its type, or from the attribute.
    Model by_input, by_moved, by_attribute, by_cast, by_like;
    const Message scale = tensor("s", NdArray::scalar(1.0f)), scalar_shape = tensor("n", int64s({}));
    by_input.initializers = {zero_point, scale};
    by_input.nodes = {node("QuantizeLinear", {"x", "s", "w"}, {"y"})};
    by_moved.initializers = {shaped, scale, scalar_shape};
    by_moved.nodes = {node("Reshape", {"w", "n"}, {"z"}), node("QuantizeLinear", {"x", "s", "z"}, {"y"})};
    by_attribute.initializers = {scale};
    by_attribute.nodes = {node("QuantizeLinear", {"x", "s"}, {"y"}, {attribute("output_dtype", type.onnx)})};
    by_cast.nodes = {node("Cast", {"x"}, {"y"}, {attribute("to", type.onnx)})};
    by_like.initializers = {shaped};
    by_like.nodes = {node("CastLike", {"x", "w"}, {"y"})};
    for (Model* model : {&by_input, &by_moved, &by_attribute, &by_cast, &by_like}) {
      const bool casts = model == &by_cast || model == &by_like;
      const int zero = model == &by_attribute || casts ? 0 : 1;
      model->outputs = {value_info("y", type.held, {41})};
      const NdArray y = run_on(*model, x);
      REQUIRE(y.dtype() == type.held);
      for (std::int64_t i = 0; i < 41; ++i) {
        const double real = x.as_double(i);
        CHECK(y.as_double(i) == in_range(casts ? std::trunc(real) : std::nearbyint(real) + zero));
      }
    }
  }
  Model integer;
  integer.opset = 25;
  integer.inputs = {value_info("x", DType::int32, {4})};
  integer.outputs = {Message().text(1, "y")};
  integer.nodes = {node("Cast", {"x"}, {"y"}, {attribute("to", 22)})};
  const auto refused = integer.import();
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("an integer cannot be converted to int4 (22)") &&
                                              ContainsSubstring("quantize it by QuantizeLinear"));
}

}  // namespace
}  // namespace dovetail
