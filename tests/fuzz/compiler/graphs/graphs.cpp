// Random graphs at every level and on several targets, compared with the reference; and, for ./dev fuzz graphs, any
// number of them, written for ONNX Runtime (tools/fuzz_graphs.py).
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/zip.h"
#include "compiler/export/onnx.h"
#include "compiler/import/onnx.h"
#include "tests/catch.h"
#include "tests/fuzz/compiler/graphs/hold_graph.h"

using namespace dovetail;
using test::Arrays;
using test::FuzzGraph;
using test::Held;

namespace {

std::string lines(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& line : list) text += line + "\n";
  return text;
}

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

}  // namespace

TEST_CASE("random graphs of all operators, files of all operator sets, evil values: every level keeps its promise") {
  const std::uint64_t count = 60 * number_from("DOVETAIL_TEST_SCALE", 1);
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const FuzzGraph made = test::random_graph(seed);
    INFO("seed " << seed << ", opset " << made.opset << "\n" << to_string(made.graph, graph::Elements::all));
    const Held held = test::hold_graph(made);
    CHECK(lines(held.broken) == "");
    refused += !held.refused.empty();
  }
  INFO(refused << " of " << count << " were refused by the reference");
  CHECK(4 * refused < count);
}

// Graphs that were once computed wrong: NAME.onnx and its inputs, NAME.npz.
TEST_CASE("graphs that fuzzing has found") {
  const std::string path = DOVETAIL_SOURCE_DIR "/tests/fuzz/compiler/graphs/corpus.zip";
  const auto bytes = read_file(path);
  REQUIRE((bytes.ok() ? "" : to_string(bytes.errors())) == "");
  const auto members = parse_zip(*bytes, path);
  REQUIRE((members.ok() ? "" : to_string(members.errors())) == "");
  REQUIRE(members->size() % 2 == 0);
  for (std::size_t i = 0; i < members->size(); i += 2) {
    const ZipMember &values = (*members)[i], &model = (*members)[i + 1];
    INFO(model.name);
    const auto imported = import::import_onnx(model.content, model.name);
    REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
    const auto inputs = parse_npz(values.content, values.name);
    REQUIRE((inputs.ok() ? "" : to_string(inputs.errors())) == "");
    CHECK(lines(test::hold_graph({imported->graph, *inputs, imported->report.opset, model.content, 0}).broken) == "");
  }
}

// Writes graph, newest form of the graph and arrays of each seed, and "SEED.broken" with the smallest failing part for
// a graph that broke a promise. "current" names the seed in progress, for a caller that finds this process dead.
TEST_CASE("hold random graphs and write them", "[.]") {
  const char* variable = std::getenv("DOVETAIL_FUZZ_FOLDER");
  REQUIRE(variable != nullptr);
  const std::filesystem::path folder = variable;
  const std::uint64_t first = number_from("DOVETAIL_FUZZ_FIRST", 0), count = number_from("DOVETAIL_FUZZ_COUNT", 100);
  const auto write = [&](const std::string& name, const auto& content) {
    REQUIRE(write_file(folder / name, std::as_bytes(std::span(content))).ok());
  };
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    write("current", std::to_string(seed));
    const FuzzGraph made = test::random_graph(seed);
    write(fmt::format("{}.onnx", seed), made.file);
    const Held held = test::hold_graph(made);
    if (!held.broken.empty()) {
      const FuzzGraph part = test::smallest_broken(made);
      const std::string text =
          fmt::format("seed {}, opset {}\n{}{}\nsmallest part:\n{}{}\n", seed, made.opset, lines(held.broken),
                      to_string(made.graph, graph::Elements::all), to_string(part.graph, graph::Elements::all),
                      lines(test::hold_graph(part).broken));
      write(fmt::format("{}.broken", seed), text);
      write(fmt::format("{}.part.onnx", seed), part.file);
      REQUIRE(write_npz(folder / fmt::format("{}.part.npz", seed), part.inputs).ok());
    }
    if (!held.refused.empty()) {
      write(fmt::format("{}.refused", seed), held.refused);
      continue;
    }
    const auto newest = export_onnx(made.graph, "a random graph");
    REQUIRE((newest.ok() ? "" : to_string(newest.errors())) == "");
    write(fmt::format("{}.newest.onnx", seed), *newest);
    Arrays arrays;
    const auto add = [&](const std::string& group, const Arrays& members) {
      for (const auto& [name, array] : members) arrays.insert_or_assign(group + "/" + name, array);
    };
    add("input", made.inputs);
    add("reference", held.reference);
    add("sure", held.sure);
    for (const auto& [way, outputs] : held.runs) add(way, outputs);
    arrays.insert_or_assign("step", NdArray::scalar(made.step));
    REQUIRE(write_npz(folder / fmt::format("{}.npz", seed), arrays).ok());
  }
}
