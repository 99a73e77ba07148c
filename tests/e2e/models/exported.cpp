// Real models as C: the MLPerf Tiny networks of the zoo, and the models of ../shared/models, compiled by gcc with all
// warnings as errors, equal to the interpreter in every bit. Small ones in every run; with DOVETAIL_TEST_SCALE=2 all
// int8 models, some float ones, and sanitizers.
#include <fmt/format.h>

#include "driver/compile_model.h"
#include "tests/catch.h"
#include "tests/e2e/models/sample.h"
#include "tests/exported_program.h"

using namespace dovetail;

namespace {

void check_exported(const std::string& path, const std::string& compiler) {
  INFO(path);
  const auto compiled = driver::compile_model(driver::portable_model({.path = path}), {});
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  CHECK(test::run_exported(compiled->compiled.bundle, compiler, {"-O1"}) == "");
  if (test::test_scale() > 1)
    CHECK(test::run_exported(compiled->compiled.bundle, compiler,
                             {"-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"}) == "");
}

}  // namespace

TEST_CASE("exported: MLPerf Tiny networks of the zoo, in int8 and in float") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const test::TemporaryFolder folder;
  for (const std::string& network : {"resnet8", "ds_cnn"})
    for (const bool quantized : {true, false}) {
      const std::string model = folder / fmt::format("{}{}.onnx", network, quantized ? "_int8" : "");
      std::vector<std::string> words{"zoo", network, "-o", model};
      if (quantized) words.insert(words.end(), {"--int8", "--samples", "2"});
      REQUIRE(test::dovetail(words).exit == 0);
      check_exported(model, compiler);
    }
}

TEST_CASE("exported: int8 models that other tools wrote") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  std::vector<std::string> models{"kws_dscnn_int8", "ad_autoencoder_int8", "resnet8_int8"};
  if (test::test_scale() > 1)
    for (const std::string more :
         {"kws_dscnn_int8_qoperator", "kws_dscnn_w8", "mobilenetv2_035_160_int8", "vww96_int8", "vww96_int8_qoperator",
          "mnist_cnn", "resnet8_f32", "vww96_f32", "ad_autoencoder_f32", "cct_2_32_opset20"})
      models.push_back(more);
  for (const std::string& model : models)
    if (const test::fs::path file = test::model_file(model); !file.empty()) check_exported(file, compiler);
}
