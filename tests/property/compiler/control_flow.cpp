// Random graphs with nested ifs and loops, on the interpreter and on the CPU, compared with their evaluation node by
// node: bit for bit, as all operators in them are exact.
#include <fmt/format.h>

#include "compiler/graph/parse.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/generator_graphs/draw.h"
#include "tests/targets.h"

using namespace dovetail;

namespace {

constexpr const char* kType = "float32[4]";

// The text of a graph whose values all have one type.
class RandomText {
 public:
  explicit RandomText(std::uint64_t seed) : draw_(seed) {}

  std::string graph() {
    std::string body;
    std::vector<std::string> values{"x", "z"};
    nodes(values, draw_.between(2, 6), 0, body);
    return fmt::format("graph g(%x: {0}, %z: {0}) -> (%{1}, %{2})\n{3}", kType, values.back(),
                       values[values.size() - 2], body);
  }

 private:
  std::string fresh() { return fmt::format("v{}", ++count_); }
  std::string one_of(const std::vector<std::string>& values) { return draw_.one_of(values); }

  std::string add(const std::string& op, const std::string& operands, std::string& text,
                  const std::string& type = kType, const std::string& more = "") {
    std::string name = fresh();
    text += fmt::format("%{}: {} = {}({}){}\n", name, type, op, operands, more);
    return name;
  }
  std::string constant(const std::string& type, const std::string& elements, std::string& text) {
    std::string name = fresh();
    text += fmt::format("constant %{}: {} = {}\n", name, type, elements);
    return name;
  }
  // A sum over a value's elements, on which branches and iterations of loops depend.
  std::string sum(const std::string& value, std::string& text) {
    const std::string axes = constant("int64[1]", "[0]", text);
    return add("ReduceSum", fmt::format("%{}, %{}", value, axes), text, "float32[]", " {keepdims=0}");
  }
  std::string condition(const std::vector<std::string>& values, std::string& text) {
    const std::string bound = constant("float32[]", fmt::format("{}.0", draw_.between(-6, 6)), text);
    return add("Greater", fmt::format("%{}, %{}", sum(one_of(values), text), bound), text, "bool[]");
  }
  std::string bounded(const std::string& value, int low, int high, std::string& text, const std::string& type = kType) {
    const std::string least = constant("float32[]", fmt::format("{}.0", low), text),
                      most = constant("float32[]", fmt::format("{}.0", high), text);
    return add("Clip", fmt::format("%{}, %{}, %{}", value, least, most), text, type);
  }

  void nodes(std::vector<std::string>& values, std::int64_t count, int depth, std::string& text) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t kind = draw_.between(0, depth < 3 ? 9 : 5);
      static const std::vector<std::string> kBinary{"Add", "Sub", "Min", "Max", "Mul"}, kUnary{"Relu", "Neg", "Abs"};
      if (kind < 3) {
        const std::string made =
            add(draw_.one_of(kBinary), fmt::format("%{}, %{}", one_of(values), one_of(values)), text);
        values.push_back(bounded(made, -64, 64, text));
      } else if (kind < 5) {
        values.push_back(add(draw_.one_of(kUnary), "%" + one_of(values), text));
      } else if (kind == 5) {
        values.push_back(constant(kType, fmt::format("fill({}.0)", draw_.between(-3, 3)), text));
      } else if (kind < 8) {
        choice(values, depth, text);
      } else {
        loop(values, depth, text);
      }
    }
  }

  // A graph with these inputs, and with separate names for its values; returns the names.
  std::string subgraph(const std::string& name, const std::vector<std::string>& first, std::size_t inputs, int depth,
                       std::size_t results, std::vector<std::string> outputs_before, std::string before) {
    std::vector<std::string> values;
    std::string header, body = std::move(before);
    for (const std::string& input : first) header += fmt::format("{}{}", header.empty() ? "" : ", ", input);
    for (std::size_t i = 0; i < inputs; ++i) {
      values.push_back(fresh());
      header += fmt::format("{}%{}: {}", header.empty() ? "" : ", ", values.back(), kType);
    }
    nodes(values, draw_.between(1, 3), depth, body);
    std::string outputs;
    for (const std::string& output : outputs_before)
      outputs += fmt::format("{}%{}", outputs.empty() ? "" : ", ", output);
    for (std::size_t i = 0; i < results; ++i)
      outputs += fmt::format("{}%{}", outputs.empty() ? "" : ", ", add("Identity", "%" + one_of(values), body));
    return fmt::format("graph {}({}) -> ({})\n{}end\n", name, header, outputs, body);
  }

  void choice(std::vector<std::string>& values, int depth, std::string& text) {
    const std::string on = condition(values, text);
    const auto of_then = static_cast<std::size_t>(draw_.between(1, 3)),
               of_else = static_cast<std::size_t>(draw_.between(1, 3));
    const auto results = static_cast<std::size_t>(draw_.between(1, 2));
    std::string operands = "%" + on;
    for (std::size_t i = 0; i < of_then + of_else; ++i) operands += ", %" + one_of(values);
    std::string types;
    for (std::size_t i = 0; i < results; ++i) {
      values.push_back(fresh());
      types += fmt::format("{}%{}: {}", i ? ", " : "", values.back(), kType);
    }
    text += fmt::format("{} = dovetail.if({})\n", types, operands);
    text += subgraph("then", {}, of_then, depth + 1, results, {}, "");
    text += subgraph("else", {}, of_else, depth + 1, results, {}, "");
  }

  void loop(std::vector<std::string>& values, int depth, std::string& text) {
    const auto carried = static_cast<std::size_t>(draw_.between(1, 2)),
               captured = static_cast<std::size_t>(draw_.between(0, 2));
    const bool counted = draw_.coin(), scanned = draw_.coin();
    std::string operands = "_";
    if (counted) {
      const std::string real = bounded(sum(one_of(values), text), -1, 4, text, "float32[]");
      operands = "%" + add("Cast", "%" + real, text, "int64[]", " {to=7}");
    }
    operands += ", " + (draw_.coin() ? "%" + condition(values, text) : std::string("_"));
    for (std::size_t i = 0; i < carried + captured; ++i) operands += ", %" + one_of(values);
    std::string types;
    for (std::size_t i = 0; i < carried; ++i) {
      values.push_back(fresh());
      types += fmt::format("{}%{}: {}", i ? ", " : "", values.back(), kType);
    }
    if (scanned) types += fmt::format(", %{}: float32[5, 4], %{}: int64[1]", fresh(), fresh());
    text += fmt::format("{} = dovetail.loop({}) {{carried={}, limit=5}}\n", types, operands, carried);
    // The loop continues while the iteration is below a number, so that it ends before the limit.
    std::string before;
    const std::string iteration = fresh(), last = constant("int64[]", fmt::format("{}", draw_.between(0, 3)), before),
                      again = add("Less", fmt::format("%{}, %{}", iteration, last), before, "bool[]");
    text += subgraph("body", {fmt::format("%{}: int64[]", iteration)}, carried + captured, depth + 1,
                     carried + (scanned ? 1 : 0), {again}, before);
  }

  test::Draw draw_;
  int count_ = 0;
};

void check_graph(std::uint64_t seed) {
  const std::string text = RandomText(seed).graph();
  INFO("seed " << seed << "\n" << text);
  auto graph = graph::parse(text, "random");
  REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
  // Parsed again, it gives the same text.
  const std::string printed = graph::to_string(*graph, graph::Elements::all);
  const auto again = graph::parse(printed, "printed");
  REQUIRE((again.ok() ? "" : to_string(again.errors())) == "");
  REQUIRE(graph::to_string(*again, graph::Elements::all) == printed);

  const auto reference = Reference::make(*graph);
  REQUIRE((reference.ok() ? "" : to_string(reference.errors())) == "");
  test::Draw draw(seed);
  for (const char* target : {"host", "cpu"}) {
    INFO(target);
    CompileOptions options;
    options.available = test::kit_targets();
    options.targets = {target};
    options.context.level = passes::Level::exact;
    auto compiled = compile({*graph, {}}, options);
    REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
    const auto bytes = bundle::serialize(compiled->bundle);
    auto read = bundle::parse(bytes, "file", bundle::MachineCode::trusted);
    REQUIRE((read.ok() ? "" : to_string(read.errors())) == "");
    auto executor = runtime::Executor::make(*std::move(read), {});
    REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
    for (int run = 0; run < 4; ++run) {
      std::map<std::string, NdArray> inputs;
      for (const char* name : {"x", "z"}) {
        NdArray array(DType::float32, {4});
        for (std::int64_t i = 0; i < 4; ++i) array.set_double(i, static_cast<double>(draw.between(-8, 8)) / 2);
        inputs.emplace(name, std::move(array));
      }
      const auto expected = reference->run(inputs);
      REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
      const auto result = executor->run(inputs);
      REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
      for (const auto& [name, array] : result->outputs) CHECK(expected->at(name) == array);
    }
  }
}

}  // namespace

TEST_CASE("property: ifs and loops on interpreter and CPU agree with the evaluation node by node") {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) check_graph(seed);
}
