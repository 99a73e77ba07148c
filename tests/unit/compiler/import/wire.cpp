// The wire format of protobuf (compiler/import/wire.h): what is read, what is skipped, what is refused.
#include "compiler/import/wire.h"

#include <string>

#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {
namespace {

using test::onnx::Message;
namespace wire = dovetail::onnx;

std::optional<wire::Tensor> tensor_of(const std::string& bytes) {
  wire::Tensor tensor;
  if (!wire::read(std::as_bytes(std::span(bytes)), tensor)) return std::nullopt;
  tensor.raw_data.reset();  // it refers to `bytes`
  return tensor;
}
bool refused(const std::string& bytes) { return !tensor_of(bytes); }

std::string times(int count, std::string_view text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// A model whose messages nest `depth` deep: graph, node, attribute, graph, ...
std::string nested(int depth) {
  Message message;
  const int numbers[] = {6, 1, 5};  // Attribute.g, Graph.node, Node.attribute
  for (int i = depth - 1; i > 0; --i) message = Message().message(numbers[i % 3], message);
  return Message().message(7, message).str();
}

TEST_CASE("wire: numbers are read one by one and packed, from either wire type") {
  const std::string packed("\x0a\x03\x01\x80\x01", 5);  // dims: 1, 128
  CHECK(tensor_of(packed)->dims == std::vector<std::int64_t>{1, 128});
  CHECK(tensor_of(packed + Message().number(1, -1).str())->dims == std::vector<std::int64_t>{1, 128, -1});
  const Message reals = Message().real(4, 0.5f).text(4, std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
  CHECK(tensor_of(reals.str())->float_data == std::vector<float>{0.5f, 1, -2});
  CHECK(tensor_of(Message().text(10, std::string("\0\0\0\0\0\0\xf0\x3f", 8)).str())->double_data ==
        std::vector<double>{1});
  CHECK(tensor_of(Message().number(2, (std::int64_t{1} << 32) + 7).str())->data_type == 7);  // the low half
}

TEST_CASE("wire: unknown fields and other wire types are skipped") {
  const std::string name = Message().text(8, "w").str();
  for (const std::string& other : {
           Message().number(100, 5).str(), Message().real(100, 5).str(), Message().text(100, "text").str(),
           Message().text(2, "a number").str(), Message().number(8, 3).str(), Message().real(1, 3).str(),
           std::string("\xa1\x06", 2) + "12345678",  // fixed64
       }) {
    const auto read = tensor_of(other + name);
    REQUIRE(read);
    CHECK(read->name == "w");
  }
}

TEST_CASE("wire: a message that occurs again is merged, a number or text is replaced") {
  wire::Model model;
  const std::string bytes = Message()
                                .text(2, "a")
                                .text(2, "b")
                                .message(7, Message().text(2, "g").message(1, Message().text(3, "n")))
                                .message(7, Message().message(1, Message().text(3, "m")))
                                .str();
  REQUIRE(wire::read(std::as_bytes(std::span(bytes)), model));
  CHECK(model.producer_name == "b");
  CHECK(model.graph->name == "g");
  REQUIRE(model.graph->nodes.size() == 2);
  CHECK(model.graph->nodes[1].name == "m");
}

TEST_CASE("wire: damaged bytes are refused") {
  CHECK(refused(std::string("\x08", 1)));      // no value
  CHECK(refused("\x08" + times(10, "\xff")));  // a number of more than ten bytes
  CHECK_FALSE(refused("\x08" + times(9, "\xff") + "\x01"));
  CHECK(refused(std::string("\x00\x01", 2)));                 // field 0
  CHECK(refused(times(5, "\x80") + std::string("\x00", 1)));  // likewise, in six bytes
  CHECK(refused(std::string("\x42\x05", 2) + "abc"));         // a name of five bytes
  CHECK(refused("\x42" + times(9, "\xff") + "\x01"));         // of 2^64 - 1 bytes
  CHECK(refused(std::string("\x22\x03\x00\x00\x00", 5)));     // three bytes of float32
  CHECK(refused(std::string("\x0a\x01\x80", 3)));             // packed numbers end inside of one
  CHECK(refused(std::string("\xa1\x06", 2) + "1234567"));     // seven bytes of fixed64
  CHECK(refused(std::string("\xa5\x06", 2) + "123"));
  CHECK(refused(std::string("\xa3\x06\x08\x01\xa4\x06", 6)));  // a group: ONNX has none
  CHECK(refused(std::string("\xa4\x06", 2)));                  // the end of one
  CHECK(refused(std::string("\x0e\x00", 2)));                  // wire types 6 and 7
  CHECK(refused(std::string("\x0f\x00", 2)));
}

TEST_CASE("wire: messages nest 64 deep, not 65") {
  wire::Model model;
  for (const int depth : {1, 2, 64, 65}) {
    const std::string bytes = nested(depth);
    CHECK(wire::read(std::as_bytes(std::span(bytes)), model) == (depth <= 64));
  }
}

TEST_CASE("wire: what is written is read again, and has the size that was announced") {
  wire::Model model;
  model.ir_version = 8;
  model.opset_imports.push_back({"", 21});
  wire::Graph& graph = model.graph.emplace();
  graph.name = "g";
  wire::Node& node = graph.nodes.emplace_back();
  node.inputs = {"x", "", "y"};
  wire::Attribute& attribute = node.attributes.emplace_back();
  attribute.i = 0;  // optional: written although it is 0
  attribute.f = -0.0f;
  attribute.ints = {-1, 0, 1 << 20};
  attribute.g.ensure().name = "inner";
  attribute.t.ensure();  // present, and empty
  wire::Tensor& tensor = graph.initializers.emplace_back();
  tensor.dims = {2, 0};
  tensor.raw_data = std::string_view("\0\1", 2);
  const std::vector<std::byte> bytes = wire::write(model);
  CHECK(bytes.size() == wire::written_bytes(model));
  wire::Model back;
  REQUIRE(wire::read(bytes, back));
  CHECK(wire::write(back) == bytes);
  CHECK(back.graph->nodes[0].inputs == node.inputs);
  CHECK(back.graph->nodes[0].attributes[0].i == 0);
  CHECK(back.graph->nodes[0].attributes[0].ints == attribute.ints);
  CHECK(back.graph->nodes[0].attributes[0].g->name == "inner");
  CHECK(back.graph->nodes[0].attributes[0].t);
  CHECK_FALSE(back.graph->nodes[0].attributes[0].s);
  CHECK(back.graph->initializers[0].raw_data == tensor.raw_data);
}

TEST_CASE("wire: the beginning of a message, which may be cut anywhere") {
  const std::string model = Message().number(1, 8).text(2, "producer").message(7, Message().number(1, 300)).str();
  const auto may_begin = [](std::string_view text) { return wire::may_begin_message(std::as_bytes(std::span(text))); };
  for (std::size_t size = 0; size <= model.size(); ++size) CHECK(may_begin(std::string_view(model).substr(0, size)));
  CHECK(!may_begin(std::string(100, '\0')));                                     // a field with number 0
  CHECK(!may_begin(model + "\x0f"));                                             // no wire type has number 7
  CHECK(!may_begin(model + "\x08" + std::string(11, static_cast<char>(0x80))));  // a number of 77 bits
}

}  // namespace
}  // namespace dovetail
