// cuBLAS and cuDNN without a GPU: whole models on tests/emulated_gpu, and the diagnostics where a library is missing,
// too old, or refuses.
#include <map>
#include <string>

#include "base/json.h"
#include "bundle/bundle.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/e2e/cli/emulated_gpu.h"
#include "tests/environment.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::EmulatedGpu;
using test::Environment;
using test::Finished;
using test::kFloatDigits;

namespace {

std::string error_of(std::vector<std::string> arguments, int exit) {
  const Finished finished = test::dovetail(arguments);
  INFO(finished.out << finished.error);
  CHECK(finished.exit == exit);
  return finished.error;
}

}  // namespace

TEST_CASE(
    "vendor: a network runs on cuDNN, cuBLAS and our kernels, and no tensor between them passes through the host") {
  const EmulatedGpu gpu;
  for (const bool ours : {true, false}) {
    std::vector<std::string> run{"run", kFloatDigits, "--target", "cudnn,cublas,cuda", "--check", "--json"};
    if (ours) run.insert(run.end(), {"--place", "res1_add=cuda"});  // otherwise it is part of a convolution's call
    const Finished checked = test::dovetail(run);
    INFO(checked.out << checked.error);
    REQUIRE(checked.exit == 0);
    const Json report = Json::parse(checked.out);
    std::map<std::string, int> steps;
    for (const Json& step : report["steps"]) ++steps[step["target"]];
    CHECK(steps["cudnn"] == 6);
    CHECK(steps["cublas"] == 2);
    CHECK(steps["cuda"] == (ours ? 1 : 0));
  }
  // Results are in one memory; the host's memory is not used.
  const test::TemporaryFolder folder;
  const Finished made = test::dovetail({"compile", kFloatDigits, "--target", "cudnn,cublas,cuda", "--place",
                                        "res1_add=cuda", "-o", folder / "d.dvt", "--report", folder / "r.json"});
  REQUIRE(made.exit == 0);
  CHECK_THAT(made.out, ContainsSubstring("operations of the library: convolution"));
  const auto bundle = bundle::read_bundle(std::string(folder / "d.dvt"), bundle::MachineCode::trusted).value();
  REQUIRE(bundle.spaces.size() == 2);
  CHECK(bundle.spaces[0].bytes == 0);
  for (const bundle::Step& step : bundle.steps)
    for (const bundle::TensorIndex result : step.results)
      CHECK(bundle.tensors[static_cast<std::size_t>(result)].space == 1);
  const Environment no_compiler("DOVETAIL_NVRTC", folder / "none.so");
  CHECK(test::dovetail({"run", folder / "d.dvt", "--trust"}).exit == 0);
}

TEST_CASE("vendor: steps of libraries alone are not machine code") {
  const EmulatedGpu gpu;
  const test::TemporaryFolder folder;
  const Environment state("XDG_STATE_HOME", folder / "state");
  REQUIRE(test::dovetail({"compile", kFloatDigits, "--target", "cudnn,cublas,host", "--cpu", "interpreter", "--offload",
                          "always", "-o", folder / "d.dvt"})
              .exit == 0);
  const Environment elsewhere("XDG_STATE_HOME", folder / "other");
  CHECK(error_of({"run", folder / "d.dvt"}, 0) == "");
}

TEST_CASE("vendor: a library that is missing, too old or refuses is named") {
  const EmulatedGpu gpu;
  const test::TemporaryFolder folder;
  const std::vector<std::string> run{"run", kFloatDigits, "--target", "cudnn,cublas,cuda"};
  {
    const Environment none("DOVETAIL_CUDNN", folder / "none.so");
    CHECK_THAT(error_of(run, 2), ContainsSubstring("cannot run with cuDNN") && ContainsSubstring("nvidia-cudnn-cu13") &&
                                     ContainsSubstring("remove cudnn from --target"));
    CHECK_THAT(test::dovetail({"doctor"}).out, ContainsSubstring("cuDNN     no: the library is not on this machine"));
  }
  {
    const Environment other("DOVETAIL_CUBLAS", test::emulated("nvml"));
    CHECK_THAT(error_of(run, 2),
               ContainsSubstring("cannot run with cuBLAS") && ContainsSubstring("has no function cublasLtCreate"));
  }
  {
    const Environment old("EMULATED_CUBLAS_VERSION", "111103");
    CHECK_THAT(error_of(run, 2), ContainsSubstring("is version 11.11, but 12.0 or later is required"));
  }
  {
    const Environment old("EMULATED_CUDNN_VERSION", "7605");
    CHECK_THAT(error_of(run, 2), ContainsSubstring("is version 7.6.5, but 8.1 or later is required"));
  }
  {
    const Environment refuses("EMULATED_CUBLAS_STATUS", "15");
    CHECK_THAT(error_of(run, 1), ContainsSubstring("cuBLAS reports an error") &&
                                     ContainsSubstring("a product of 1 x") &&
                                     ContainsSubstring("the functionality requested is not supported (15)"));
  }
  {
    const Environment refuses("EMULATED_CUDNN_STATUS", "3000");
    CHECK_THAT(error_of(run, 1),
               ContainsSubstring("cuDNN reports an error") && ContainsSubstring("CUDNN_STATUS_NOT_SUPPORTED (3000)"));
  }
  {
    const Environment devices("EMULATED_GPU_DEVICES", "0");
    CHECK_THAT(error_of(run, 2), ContainsSubstring("the driver sees no device"));
  }
  CHECK_THAT(test::dovetail({"doctor"}).out,
             ContainsSubstring("cuBLAS    13.0 (") && ContainsSubstring("cuDNN     9.19.0 ("));
}

TEST_CASE("vendor: compare has rows for the libraries, with our kernels for the remaining nodes") {
  const EmulatedGpu gpu;
  const Finished run =
      test::dovetail({"compare", kFloatDigits, "--target", "cuda,cudnn,cublas", "--repeat", "3", "--json"});
  INFO(run.out << run.error);
  REQUIRE(run.exit == 0);
  const Json rows = Json::parse(run.out)["models"][0]["rows"];
  REQUIRE(rows.size() == 3);
  for (const Json& row : rows) {
    CHECK(row["available"] == true);
    CHECK(row["machine"] == "emulated GPU");
  }
  CHECK(rows[1]["shares"]["cudnn"].get<double>() > 0.9);
  CHECK(rows[1]["shares"].contains("cublas"));
  CHECK(rows[2]["shares"].contains("cuda"));
}
