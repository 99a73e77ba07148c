// The limit of memory of quantizing, and the sums that outlive an interrupted command.
#include "driver/quantize_work.h"

#include <map>
#include <string>

#include "base/file.h"
#include "compiler/export/onnx.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::driver {
namespace {

using Catch::Matchers::ContainsSubstring;

graph::Graph relu() {
  test::GraphMaker make;
  make.output(make.node("Relu", "relu", {make.input("x", DType::float32, {1, 4})}));
  return make.graph;
}

}  // namespace

TEST_CASE("quantize_work: kept sums are found for the same model, samples and options alone") {
  const test::TemporaryFolder folder;
  const test::Environment cache("XDG_CACHE_HOME", folder / "cache");
  const std::string path = folder / "model.onnx";
  REQUIRE(write_file(path, export_onnx(relu(), "model").value()).ok());
  const import::Imported model = import::import_onnx_file(path).value();
  std::map<std::string, NdArray> samples{{"x", NdArray(DType::float32, {2, 4})}};
  quantize::Options options;
  const auto open = [&] {
    return QuantizeSums::of({model, path, samples, options, Json::array()}, [] { return true; }).value();
  };
  const Json sums{{"x", {{"samples", 1}, {"sum", 0.1}}}};
  {
    QuantizeSums first = open();
    CHECK_FALSE(first.found());
    CHECK(first.keeper().find("ranges").is_null());
    REQUIRE(first.keeper().keep("ranges", [&] { return sums; }).ok());
    CHECK(first.problem().empty());
  }
  CHECK(open().found());
  {
    QuantizeSums again = open();
    CHECK(again.keeper().find("ranges") == sums);
    CHECK(again.keeper().find("layers").is_null());
    again.forget();
    CHECK_FALSE(again.found());
  }
  options.equalize = true;
  CHECK_FALSE(open().found());
  options.equalize = false;
  samples.at("x").set_double(3, 1);
  CHECK_FALSE(open().found());
  samples.at("x").set_double(3, 0);
  CHECK(open().found());
  open().remove();
  CHECK_FALSE(open().found());
  // A file that was cut off.
  REQUIRE(open().keeper().keep("ranges", [&] { return sums; }).ok());
  for (const auto& file : std::filesystem::directory_iterator(folder / "cache/dovetail/quantize"))
    std::filesystem::resize_file(file.path(), 5);
  CHECK_FALSE(open().found());
}

TEST_CASE("quantize_work: the limit of memory") {
  const graph::Graph model = relu();
  const auto budget = quantize_budget("1GiB", model);
  REQUIRE(budget.ok());
  CHECK(budget->limit == std::uint64_t{1} << 30);
  CHECK(budget->used > std::uint64_t{96} << 20);
  CHECK_THAT(to_string(quantize_budget("much", model).errors()), ContainsSubstring("write it as 512MiB"));
  const test::Environment limit("DOVETAIL_MEMORY_LIMIT", "3GiB");
  CHECK(quantize_budget({}, model)->limit == std::uint64_t{3} << 30);
}

}  // namespace dovetail::driver
