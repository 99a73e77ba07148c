// The partition: graph in, placement out. Targets here are only tables; no code is generated.
#include "compiler/partition/partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {

using graph::ValueId;
using test::GraphMaker;

namespace {

// A match costs `seconds`, a tensor across a border costs `border`.
class TableTarget : public Target {
 public:
  TableTarget(std::string name, std::vector<PatternRow> rows, double seconds, double border, std::string memory)
      : name_(std::move(name)),
        rows_(std::move(rows)),
        seconds_(seconds),
        border_(border),
        memory_(memory.empty() ? name_ : std::move(memory)) {}
  std::string_view memory() const override { return memory_; }
  Cost cost(const graph::Graph&, const Match&) const override { return {seconds_, 1, 1, 0}; }
  double border_seconds(const graph::TensorType&) const override { return border_; }
  std::string_view name() const override { return name_; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  Result<RegionPlanPointer> plan(const graph::Graph&, const GraphRegion&, const PlanOptions&) const override {
    return Diagnostic{"no plan", "", "it is a table alone", ""};
  }

 private:
  std::string name_;
  std::vector<PatternRow> rows_;
  double seconds_, border_;
  std::string memory_;
};
TargetPointer target(std::string name, std::vector<PatternRow> rows, double seconds = 1e-6, double border = 0,
                     std::string memory = {}) {
  return std::make_shared<TableTarget>(std::move(name), std::move(rows), seconds, border, std::move(memory));
}

// "dsp": products followed by Relu, with at most 4 columns; "vec": elementwise operators; "host": everything.
std::vector<TargetPointer> targets() {
  const auto narrow = [](const graph::Graph& graph, const pattern::Found& found) -> Result<TakenPointer> {
    const Shape& shape = graph.value(found.values.at("w")).type.shape;
    if (shape[1] > 4) return Diagnostic{"too wide", "", fmt::format("{} columns > 4", shape[1]), "split it"};
    return TakenPointer();
  };
  return {target("dsp", {pattern_row("product", "Relu?(MatMul(_, w=#))", narrow)}),
          target("vec", {pattern_row("elementwise", "Add|Mul|Relu|Neg")}), target("host", {pattern_row("any", "*")})};
}

struct Maker : GraphMaker {
  ValueId product(const std::string& name, ValueId x, std::int64_t columns) {
    return node("MatMul", name,
                {x, constant(name + "_w", NdArray(DType::float32, {graph.value(x).type.shape[1], columns}))});
  }
};

// One line for each region: "dsp: a_node+r_node, b_node | reads x | gives b", then refusals "node not on dsp: why".
std::string placed(const GraphMaker& make, PartitionOptions options) {
  if (options.available.empty()) options.available = targets();
  if (options.fallback.empty()) options.fallback = {"host"};
  REQUIRE(graph::verify(make.graph).ok());
  const auto parts = partition(make.graph, options);
  if (!parts) return to_string(parts.errors());
  const auto names = [&](const std::vector<ValueId>& values) {
    std::vector<std::string> list;
    for (const ValueId value : values) list.push_back(make.graph.value(value).name);
    return fmt::format("{}", fmt::join(list, " "));
  };
  std::string text;
  for (const PartitionRegion& part : parts->regions) {
    std::vector<std::string> matches;
    for (const Match& match : part.region.matches) {
      std::vector<std::string> nodes;
      for (const graph::NodeId node : match.nodes) nodes.push_back(make.graph.node(node).name);
      matches.push_back(
          fmt::format("{}{}", fmt::join(nodes, "+"), parts->fallback.count(match.nodes.back()) ? "!" : ""));
    }
    text += fmt::format("{}: {} | reads {} | gives {}\n", part.target->name(), fmt::join(matches, ", "),
                        names(part.region.inputs), names(part.region.outputs));
  }
  for (const auto& [node, refusals] : parts->refused)
    for (const Refusal& refusal : refusals)
      text += fmt::format("{} not on {}: {}\n", make.graph.node(node).name, refusal.target, refusal.why);
  return text;
}

// x -> a (4 columns) -> r = Relu -> b (8 columns) -> s = Add(b, b) -> n = Neg
struct Chain : Maker {
  Chain() {
    const ValueId x = input("x", DType::float32, {2, 4}), r = node("Relu", "r", {product("a", x, 4)}),
                  b = product("b", r, 8);
    output(node("Neg", "n", {node("Add", "s", {b, b})}));
  }
};

}  // namespace

TEST_CASE("partition: targets in order of preference, with the reasons of those that refused") {
  CHECK(placed(Chain(), {.targets = {"dsp", "vec", "host"}}) ==
        "dsp: a_node+r_node | reads x | gives r\n"
        "host: b_node | reads r | gives b\n"
        "vec: s_node, n_node | reads b | gives n\n"
        "b_node not on dsp: 8 columns > 4\n"
        "b_node not on vec: no pattern of vec ends in MatMul\n"
        "s_node not on dsp: no pattern of dsp ends in Add\n"
        "n_node not on dsp: no pattern of dsp ends in Neg\n");
  CHECK(placed(Chain(), {.targets = {"vec", "dsp"}}) ==
        "dsp: a_node | reads x | gives a\n"
        "vec: r_node | reads a | gives r\n"
        "host: b_node! | reads r | gives b\n"
        "vec: s_node, n_node | reads b | gives n\n"
        "a_node not on vec: no pattern of vec ends in MatMul\n"
        "b_node not on vec: no pattern of vec ends in MatMul\n"
        "b_node not on dsp: 8 columns > 4\n");
  CHECK(placed(Chain(), {.targets = {"host", "dsp"}}) ==
        "host: a_node, r_node, b_node, s_node, n_node | reads x | gives n\n");
}

TEST_CASE("partition: a reason comes from the pattern where no predicate was evaluated") {
  Maker make;
  const ValueId x = make.input("x", DType::float32, {2, 2}), y = make.input("y", DType::float32, {2, 2});
  make.output(make.node("MatMul", "z", {x, y}));
  CHECK(placed(make, {.targets = {"dsp"}}) ==
        "host: z_node! | reads x y | gives z\nz_node not on dsp: the operand `w` of z_node is not a constant\n");
  CHECK(placed(make, {.targets = {"dsp"}, .strict = true}) ==
        "error: dsp does not support z_node (z_node): the operand `w` of z_node is not a constant. Hint: add host to "
        "--target, omit --strict, or change the model");
}

TEST_CASE("partition: nodes placed by hand") {
  CHECK(placed(Chain(), {.targets = {"host"}, .place = {{"a_node", "dsp"}, {"n_node", "vec"}}}) ==
        "dsp: a_node | reads x | gives a\n"
        "host: r_node, b_node, s_node | reads a | gives s\n"
        "vec: n_node | reads s | gives n\n");
  // A pattern does not include nodes that are placed elsewhere.
  CHECK(placed(Chain(), {.targets = {"dsp", "host"}, .place = {{"a_node", "host"}}}) ==
        "host: a_node, r_node, b_node, s_node, n_node | reads x | gives n\n"
        "r_node not on dsp: the pattern \"product\" would cover a_node, which is placed on host\n"
        "b_node not on dsp: 8 columns > 4\n"
        "s_node not on dsp: no pattern of dsp ends in Add\n"
        "n_node not on dsp: no pattern of dsp ends in Neg\n");
  CHECK(placed(Chain(), {.targets = {"host"}, .place = {{"b_node", "dsp"}}}) ==
        "error: dsp does not support b_node (b_node): 8 columns > 4. Hint: split it");
}

TEST_CASE("partition: unknown and duplicate names are errors") {
  CHECK(placed(Chain(), {.targets = {"gpu"}, .place = {{"c", "host"}, {"a_node", "fpga"}}}) ==
        "error: unknown target \"gpu\" (--target): the targets are dsp, vec, host. Hint: choose one of these "
        "targets\nerror: unknown target \"fpga\" (--place): the targets are dsp, vec, host. Hint: choose one of these "
        "targets\nerror: cannot place \"c\" (--place): the graph has no node of this name. Hint: `dovetail compile "
        "--dump integer` lists the nodes");
  PartitionOptions twice{.available = targets(), .targets = {"host"}};
  twice.available.push_back(target("dsp", {}));
  CHECK(placed(Chain(), twice) ==
        "error: two targets have the name dsp (CompileOptions::available): --target could not distinguish them. Hint: "
        "give each back end a unique name");
}

TEST_CASE("partition: branches of one target are one region where nothing between depends on them") {
  Maker make;
  const ValueId x = make.input("x", DType::float32, {2, 4}), y = make.input("y", DType::float32, {2, 4});
  // The product of y must not split the elementwise region: it does not depend on it.
  const ValueId a = make.node("Neg", "a", {x}), p = make.product("p", y, 4);
  make.output(make.node("Add", "s", {a, p}));
  CHECK(placed(make, {.targets = {"dsp", "vec"}}) ==
        "dsp: p_node | reads y | gives p\n"
        "vec: a_node, s_node | reads x p | gives s\n"
        "a_node not on dsp: no pattern of dsp ends in Neg\n"
        "s_node not on dsp: no pattern of dsp ends in Add\n");
  // Here the product does.
  Maker through;
  const ValueId z = through.input("x", DType::float32, {2, 4}), b = through.node("Neg", "b", {z});
  through.output(through.node("Add", "s", {b, through.product("p", b, 4)}));
  CHECK(placed(through, {.targets = {"vec", "dsp"}}) ==
        "vec: b_node | reads x | gives b\n"
        "dsp: p_node | reads b | gives p\n"
        "vec: s_node | reads b p | gives s\n"
        "p_node not on vec: no pattern of vec ends in MatMul\n");
}

TEST_CASE("partition: a region that cannot pay off, or does not, goes to the next listed target") {
  // The chain's product and Relu are a region with two borders; on the host they are two matches.
  const auto placed_with = [](double dsp, double border, double host, Offload offload,
                              std::vector<std::string> listed = {"dsp", "host"},
                              std::map<std::string, std::string> place = {}) {
    Maker make;
    const ValueId x = make.input("x", DType::float32, {2, 4});
    make.output(make.node("Relu", "r", {make.product("a", x, 4)}));
    return placed(make, {.available = {target("dsp", {pattern_row("product", "Relu?(MatMul(_, #))")}, dsp, border),
                                       target("host", {pattern_row("any", "*")}, host)},
                         .targets = std::move(listed),
                         .place = std::move(place),
                         .offload = offload});
  };
  const std::string on_dsp = "dsp: a_node+r_node | reads x | gives r\n",
                    on_host = "host: a_node, r_node | reads x | gives r\n";
  const auto both = [&](const std::string& why) {
    return on_host + "a_node not on dsp: " + why + "\nr_node not on dsp: " + why + "\n";
  };
  // It saves 10 - 1 = 9 us; there are two borders.
  CHECK(placed_with(1e-6, 4.4e-6, 5e-6, Offload::cost) == on_dsp);
  CHECK(placed_with(1e-6, 4.6e-6, 5e-6, Offload::cost) ==
        both("its region of 1 operation saves 9 us, the transfers cost 9.2 us"));
  CHECK(placed_with(1e-6, 4.6e-6, 5e-6, Offload::possible) == on_dsp);
  CHECK(placed_with(1e-6, 5.1e-6, 5e-6, Offload::possible) ==
        both("the transfers of its region of 1 operation cost 10.2 us, all of it on host costs 10 us"));
  CHECK(placed_with(1e-6, 5.1e-6, 5e-6, Offload::always) == on_dsp);
  CHECK(placed_with(20e-6, 0, 5e-6, Offload::cost) ==
        both("its region of 1 operation saves -10 us, the transfers cost 0 us"));
  CHECK(placed_with(20e-6, 0, 5e-6, Offload::possible) == on_dsp);
  // No other target is listed, or the user has decided.
  CHECK(placed_with(20e-6, 100e-6, 5e-6, Offload::cost, {"dsp"}) == on_dsp);
  CHECK(placed_with(20e-6, 100e-6, 5e-6, Offload::cost, {"dsp", "host"}, {{"r_node", "dsp"}}) == on_dsp);
}

TEST_CASE("partition: after a region is given up, its neighbors are formed again") {
  Maker make;
  const ValueId x = make.input("x", DType::float32, {2, 4});
  const ValueId a = make.node("Neg", "a", {x}), m = make.node("Abs", "m", {a});
  make.output(make.node("Add", "s", {a, m}));
  const std::vector<TargetPointer> available{target("abs", {pattern_row("abs", "Abs")}, 1e-6, 5e-6),
                                             target("vec", {pattern_row("elementwise", "Abs|Add|Neg")})};
  CHECK(placed(make,
               {.available = available, .targets = {"abs", "vec"}, .fallback = {"vec"}, .offload = Offload::always}) ==
        "vec: a_node | reads x | gives a\n"
        "abs: m_node | reads a | gives m\n"
        "vec: s_node | reads a m | gives s\n"
        "a_node not on abs: no pattern of abs ends in Neg\n"
        "s_node not on abs: no pattern of abs ends in Add\n");
  CHECK(placed(make, {.available = available, .targets = {"abs", "vec"}, .fallback = {"vec"}}) ==
        "vec: a_node, m_node, s_node | reads x | gives s\n"
        "a_node not on abs: no pattern of abs ends in Neg\n"
        "m_node not on abs: the transfers of its region of 1 operation cost 10 us, all of it on vec costs 1 us\n"
        "s_node not on abs: no pattern of abs ends in Add\n");
}

TEST_CASE("partition: the rules have names") {
  for (const Offload offload : {Offload::always, Offload::possible, Offload::cost})
    CHECK(offload_from_name(name(offload)) == offload);
  CHECK_FALSE(offload_from_name("never").has_value());
}

TEST_CASE("partition: a border between targets that share a memory costs nothing") {
  const auto border_of_product = [](std::string memory) {
    // A product between elementwise nodes of another target.
    Maker make;
    const ValueId x = make.input("x", DType::float32, {2, 4});
    make.output(make.node("Neg", "n", {make.product("a", make.node("Relu", "r", {x}), 4)}));
    const auto parts =
        partition(make.graph, {.available = {target("lib", {pattern_row("product", "MatMul(_, #)")}, 1e-6, 3e-6, "gpu"),
                                             target("own", {pattern_row("any", "*")}, 1e-6, 3e-6, std::move(memory))},
                               .targets = {"lib", "own"},
                               .offload = Offload::always});
    REQUIRE(parts.ok());
    double own = 0, lib = 0;
    for (const PartitionRegion& part : parts->regions)
      (part.target->name() == "lib" ? lib : own) += part.border_seconds;
    return std::pair(lib, own);
  };
  CHECK(border_of_product("own").first == Approx(6e-6));
  CHECK(border_of_product("gpu").first == 0);
  // The model's input and output pass between the memory and the host.
  CHECK(border_of_product("own").second == Approx(12e-6));
  CHECK(border_of_product("gpu").second == Approx(6e-6));
  // They would in either case, whichever target has the region: the border does not count for or against it.
  const auto place_of_product = [](std::string memory, double lib) {
    Maker make;
    make.output(make.product("a", make.input("x", DType::float32, {2, 4}), 4));
    return placed(make, {.available = {target("lib", {pattern_row("product", "MatMul(_, #)")}, lib, 30e-6, "gpu"),
                                       target("own", {pattern_row("any", "*")}, 5e-6, 30e-6, std::move(memory)),
                                       target("host", {pattern_row("any", "*")})},
                         .targets = {"lib", "own"},
                         .offload = Offload::cost});
  };
  CHECK(place_of_product("gpu", 1e-6) == "lib: a_node | reads x | gives a\n");
  CHECK(place_of_product("own", 1e-6) ==
        "own: a_node | reads x | gives a\n"
        "a_node not on lib: its region of 1 operation saves 4 us, the transfers cost 60 us\n");
  CHECK(place_of_product("gpu", 9e-6) ==
        "own: a_node | reads x | gives a\n"
        "a_node not on lib: its region of 1 operation saves -4 us, the transfers cost 0 us\n");
}

}  // namespace dovetail
