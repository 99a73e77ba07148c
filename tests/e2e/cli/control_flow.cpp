// Models with If and Loop that depend on data, through the command line.
#include <filesystem>
#include <fstream>

#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {
namespace {

namespace fs = std::filesystem;
namespace onnx = test::onnx;
using Catch::Matchers::ContainsSubstring;

onnx::Message plain(std::string_view name) { return onnx::Message().text(1, name); }
onnx::Message subgraph(std::string_view attribute, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs, const std::vector<onnx::Message>& nodes) {
  onnx::Message graph;
  for (const onnx::Message& each : nodes) graph.message(1, each);
  graph.text(2, "inner");
  for (const std::string& input : inputs) graph.message(11, plain(input));
  for (const std::string& output : outputs) graph.message(12, plain(output));
  return onnx::Message().text(1, attribute).message(6, graph).number(20, 5);
}
std::string write(const fs::path& path, const onnx::Model& model) {
  std::ofstream(path, std::ios::binary) << model.message().str();
  return path.string();
}

// while (last > i) v = v + x; outputs: the intermediate values too, and which elements of x are not zero.
onnx::Model walking() {
  onnx::Model model;
  model.inputs = {onnx::value_info("x", DType::float32, {3}), onnx::value_info("last", DType::int64, {})};
  model.outputs = {plain("y"), plain("all"), plain("where")};
  model.nodes = {onnx::node("Loop", {"", "", "x"}, {"y", "all"},
                            {subgraph("body", {"i", "c", "v"}, {"again", "next", "seen"},
                                      {onnx::node("Add", {"v", "x"}, {"next"}), onnx::node("Identity", {"v"}, {"seen"}),
                                       onnx::node("Less", {"i", "last"}, {"again"})})},
                            "walk"),
                 onnx::node("NonZero", {"x"}, {"where"}, {}, "find")};
  return model;
}

}  // namespace

TEST_CASE("run: a Loop on data and NonZero give outputs of their real shapes, from a model and from its bundle") {
  const test::TemporaryFolder folder;
  const std::string model = write(folder.path() / "m.onnx", walking()), bundle = (folder.path() / "m.dvt").string();
  REQUIRE(write_npy(folder.path() / "x.npy", NdArray::from<float>({3}, {1, 0, 2})).ok());
  REQUIRE(write_npy(folder.path() / "n.npy", NdArray::scalar(std::int64_t{2})).ok());
  const std::vector<std::string> inputs{"--input", "x=" + (folder.path() / "x.npy").string(), "--input",
                                        "last=" + (folder.path() / "n.npy").string()};
  const auto run = [&](std::vector<std::string> command, const std::string& out) {
    command.insert(command.end(), inputs.begin(), inputs.end());
    if (!out.empty()) command.insert(command.end(), {"--output-dir", (folder.path() / out).string()});
    return test::dovetail(command);
  };
  const auto compiled = test::dovetail({"compile", model, "--target", "host", "-o", bundle});
  REQUIRE(compiled.exit == 0);
  for (const auto& [what, out] : {std::pair{model, "from_model"}, std::pair{bundle, "from_bundle"}}) {
    const auto ran = what == model ? run({"run", what, "--target", "host", "--check", "--details"}, out)
                                   : run({"run", what, "--details"}, out);
    CHECK(ran.error == "");
    REQUIRE(ran.exit == 0);
    CHECK_THAT(ran.out, ContainsSubstring("walk") && ContainsSubstring("flow"));
    CHECK(read_npy(folder.path() / out / "y.npy").value() == NdArray::from<float>({3}, {4, 0, 8}));
    CHECK(read_npy(folder.path() / out / "all.npy").value() ==
          NdArray::from<float>({3, 3}, {1, 0, 2, 2, 0, 4, 3, 0, 6}));
    CHECK(read_npy(folder.path() / out / "where.npy").value() == NdArray::from<std::int64_t>({1, 2}, {0, 2}));
  }
  const auto expected =
      run({"run", model, "--target", "host", "--expect", (folder.path() / "from_model").string()}, "");
  CHECK(expected.exit == 0);
  const auto endless = run({"run", model, "--target", "host", "--loop-limit", "2"}, "");
  CHECK(endless.exit == 1);
  CHECK_THAT(endless.error, ContainsSubstring("the loop does not end") && ContainsSubstring("after 2 iterations"));
  const auto none = run({"run", model, "--target", "host", "--loop-limit", "0"}, "");
  CHECK(none.exit == 2);
  const auto profiled = run({"profile", bundle, "--repeat", "2", "--details"}, "");
  CHECK(profiled.exit == 0);
  CHECK_THAT(profiled.out, ContainsSubstring("walk/body/Add (3 times)"));
  const auto inspected = test::dovetail({"inspect", bundle});
  CHECK_THAT(inspected.out, ContainsSubstring("walk/body/Add"));
}

TEST_CASE("run: a node whose element count depends on data is refused by name, with a hint on the export") {
  const test::TemporaryFolder folder;
  onnx::Model model = walking();
  model.outputs = {plain("n")};
  model.nodes = {onnx::node("NonZero", {"x"}, {"where"}, {}, "find"),
                 onnx::node("Shape", {"where"}, {"n"}, {}, "count")};
  model.inputs.pop_back();
  const auto run = test::dovetail({"run", write(folder.path() / "m.onnx", model), "--target", "host"});
  CHECK(run.exit == 2);
  CHECK_THAT(run.error, ContainsSubstring("cannot import count (Shape)") && ContainsSubstring("depends on data") &&
                            ContainsSubstring("export the model with a result of fixed size"));
}

TEST_CASE("run: a while loop of another exporter gives the values of another runtime") {
  const fs::path folder = DOVETAIL_SOURCE_DIR "/../shared/cases/27_while_loop_data_dependent";
  if (!fs::exists(folder)) return test::skip(folder.string() + " is not there");
  for (const char* target : {"host", "cpu"}) {
    const auto run = test::dovetail({"run", (folder / "model.onnx").string(), "--target", target, "--check", "--input",
                                     "it=" + (folder / "inputs/it.npy").string(), "--input",
                                     "x=" + (folder / "inputs/x.npy").string(), "--expect",
                                     (folder / "expected").string(), "--tolerance", "0"});
    CHECK(run.error == "");
    CHECK(run.exit == 0);
  }
}

}  // namespace dovetail
