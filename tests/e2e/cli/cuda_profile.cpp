// `profile` and `tune` with a GPU, on the emulated one: its times are meaningless, but the reports must show that they
// are the device's and what they are compared with.
#include <string>

#include "base/json.h"
#include "compiler/tune/records.h"
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

namespace {
const std::string kDigitsForProfile = DOVETAIL_SOURCE_DIR "/examples/digits/digits_float.onnx";
}

TEST_CASE("cuda: profile shows rates with measured ceilings, and the time of each kernel") {
  const EmulatedGpu gpu;
  const Finished run = test::dovetail({"profile", kDigitsForProfile, "--target", "cudnn,cublas,cuda", "--place",
                                       "res1_add=cuda", "--repeat", "3", "--details"});
  INFO(run.out << run.error);
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("TFLOP/s float32 outside of tensor cores") &&
                          ContainsSubstring("tensor cores  ") && ContainsSubstring("occupancy") &&
                          ContainsSubstring("launched      a graph of 9 steps"));
  // The processor's table leaves these steps to the GPU's.
  CHECK_THAT(run.out, ContainsSubstring("see below") && !ContainsSubstring("moves"));
  const Finished json = test::dovetail({"profile", kDigitsForProfile, "--target", "cudnn,cublas,cuda", "--place",
                                        "res1_add=cuda", "--repeat", "3", "--json"});
  REQUIRE(json.exit == 0);
  const Json report = Json::parse(json.out);
  CHECK(report["gpu"]["float32_flop_per_s"].get<double>() > 0);
  CHECK(report["gpu"]["bytes_per_s"].get<double>() > 0);
  REQUIRE(report["gpu"]["tensor_cores_flop_per_s"].size() == 4);
  for (const char* kind : {"float16", "bfloat16", "tf32", "int8"})
    CHECK(report["gpu"]["tensor_cores_flop_per_s"][kind].get<double>() > 0);
  for (const Json& step : report["steps"]) {
    INFO(step.dump());
    CHECK(step["seconds"].get<double>() == Approx(0.25e-3));  // by the device's events, also within a graph
    CHECK(step["gpu"]["bytes"].get<std::uint64_t>() > 0);
    CHECK(step["gpu"]["flop_per_s"].get<double>() == Approx(step["gpu"]["operations"].get<double>() / 0.25e-3));
    CHECK(step["gpu"]["kernels"].empty() == (step["target"] != "cuda"));
    for (const Json& kernel : step["gpu"]["kernels"]) {
      CHECK(kernel["registers"] == 32);
      CHECK(kernel["spilled_bytes"] == 0);
      CHECK(kernel["occupancy"].get<double>() > 0.9);
    }
  }
  // Where nothing compiles, the ceilings are missing with their reason; everything else is present.
  const test::TemporaryFolder folder;
  REQUIRE(test::dovetail({"compile", kDigitsForProfile, "--target", "cudnn,cublas,cuda", "--place", "res1_add=cuda",
                          "-o", folder / "d.dvt"})
              .exit == 0);
  const Environment none("DOVETAIL_NVRTC", folder / "none.so");
  const Finished without = test::dovetail({"profile", folder / "d.dvt", "--repeat", "2", "--trust", "--details"});
  INFO(without.out << without.error);
  CHECK(without.exit == 0);
  CHECK_THAT(without.out, ContainsSubstring("its ceilings were not measured") && ContainsSubstring("none.so"));
}

TEST_CASE("cuda: a run that keeps tensors, or cannot be captured, runs step by step, and a note says so") {
  const EmulatedGpu gpu;
  const Environment refused("EMULATED_GPU_NO_CAPTURE", "900");
  const Finished run = test::dovetail({"profile", kDigitsForProfile, "--target", "cudnn,cublas,cuda", "--place",
                                       "res1_add=cuda", "--repeat", "3", "--details"});
  INFO(run.out << run.error);
  CHECK(run.exit == 0);
  CHECK_THAT(run.out,
             ContainsSubstring("launched      step by step: a graph cannot be made: ") && ContainsSubstring("(900)"));
}

TEST_CASE("cuda: tune measures in a child process, records by the device's name, and compile uses the records") {
  const EmulatedGpu gpu;
  const test::TemporaryFolder folder;
  const Environment state("XDG_STATE_HOME", folder / "state");
  const std::string records = folder / "r.db";
  const std::vector<std::string> tune{"tune",      kDigitsForProfile, "--target", "cuda",     "--task",
                                      "dense2",    "--trials",        "4",        "--search", "random",
                                      "--records", records,           "--json"};
  const Finished tuned = test::dovetail(tune);
  INFO(tuned.out << tuned.error);
  REQUIRE(tuned.exit == 0);
  const Json report = Json::parse(tuned.out);
  INFO(report.dump(1));
  auto database = tune::Records::open(records, tune::Records::Open::read);
  REQUIRE(database.ok());
  const auto all = database->all().value();
  REQUIRE(all.size() >= 3);
  for (const tune::Record& record : all) {
    CHECK(record.machine == "emulated GPU, sm_90");
    CHECK(record.target == "cuda");
    CHECK(record.outcome == tune::Outcome::measured);
    CHECK(record.unit == "ns");
  }
  {
    const Environment device("EMULATED_GPU_CAPABILITY", "80");
    std::vector<std::string> of_another = tune;
    of_another.insert(of_another.end(), {"--gpu", "sm_90a"});
    const Finished refused = test::dovetail(of_another);
    CHECK(refused.exit == 1);
    CHECK_THAT(refused.error, ContainsSubstring("the GPU is sm_80, but the kernels are for sm_90a") &&
                                  ContainsSubstring("add sm_80 to --gpu"));
  }
  // Also on a machine without a GPU.
  const Environment none("DOVETAIL_LIBCUDA", folder / "none.so");
  const Finished compiled = test::dovetail({"compile", kDigitsForProfile, "--target", "cuda", "--records", records,
                                            "--report", folder / "report.json", "-o", folder / "d.dvt"});
  INFO(compiled.out << compiled.error);
  CHECK(compiled.exit == 0);
  CHECK_THAT(compiled.out, ContainsSubstring("record"));
  // Without a device there is nothing to measure on.
  const Finished refused = test::dovetail(tune);
  CHECK(refused.exit == 1);
  CHECK_THAT(refused.error, ContainsSubstring("there is no NVIDIA driver on this machine"));
}
