// Models on the CUDA back end without a GPU: compiled and run by tests/emulated_gpu, which runs the generated text. And
// the diagnostics where a part of CUDA is missing.
#include <string>

#include "base/json.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/e2e/cli/emulated_gpu.h"
#include "tests/environment.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::emulated;
using test::EmulatedGpu;
using test::Environment;
using test::Finished;
using test::kDigits;

TEST_CASE("cuda: an int8 network gives the reference's bits in any order of threads") {
  const EmulatedGpu gpu;
  for (const char* seed : {"1", "2"}) {
    const Environment order("EMULATED_GPU_SEED", seed);
    const Finished checked = test::dovetail({"run", kDigits, "--target", "cuda", "--check"});
    INFO(checked.out << checked.error);
    CHECK(checked.exit == 0);
    CHECK_THAT(checked.out, ContainsSubstring("100.00 % cuda") && ContainsSubstring("all equal"));
  }
}

TEST_CASE(
    "cuda: a transformer's attention is one kernel, where the level lets sums be rounded anew and no other target runs "
    "it") {
  const EmulatedGpu gpu;
  const test::TemporaryFolder folder;
  const std::string model = folder / "g.onnx";
  REQUIRE(test::dovetail({"zoo", "gpt_block", "--sequence", "24", "-o", model}).exit == 0);
  const Finished checked = test::dovetail({"run", model, "--target", "cuda", "--check"});
  INFO(checked.out << checked.error);
  CHECK(checked.exit == 0);
  CHECK_THAT(checked.out, ContainsSubstring("100.00 % cuda") && ContainsSubstring("all equal"));
  const Finished tf32 = test::dovetail({"run", model, "--target", "cuda", "--tf32", "--check"});
  INFO(tf32.out << tf32.error);
  CHECK(tf32.exit == 0);
  CHECK_THAT(tf32.out, ContainsSubstring("all equal (floats to 0.004 of a tensor's largest)"));
  const auto groups = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", model, "-o", folder / "g.dvt", "--dump", "groups"});
    return test::dovetail(more).out;
  };
  CHECK_THAT(groups({"--target", "cuda"}), ContainsSubstring("attention.context (attention)"));
  CHECK_THAT(groups({"--target", "cuda"}), !ContainsSubstring("(tensor_product)"));
  CHECK_THAT(groups({"--target", "cuda", "--tf32"}), ContainsSubstring("inner.matmul (tensor_product)"));
  CHECK_THAT(groups({"--target", "cuda", "-O", "1"}), !ContainsSubstring("(attention)"));
  CHECK_THAT(groups({"--target", "cuda", "--no-pass", "recognize_attention"}), !ContainsSubstring("(attention)"));
  CHECK_THAT(groups({"--target", "cuda,cpu", "--dump", "graph"}), !ContainsSubstring("dovetail.attention"));
}

TEST_CASE(
    "cuda: --check compares float kernels bit for bit where they keep the order of sums, else with the tolerance") {
  const EmulatedGpu gpu;
  const std::string model = std::string(DOVETAIL_SOURCE_DIR) + "/examples/digits/digits_float.onnx";
  const auto check = [&](const char* level) {
    const Finished checked = test::dovetail({"run", model, "--target", "cuda", "-O", level, "--check"});
    INFO(checked.out << checked.error);
    CHECK(checked.exit == 0);
    return checked.out;
  };
  CHECK_THAT(check("2"), ContainsSubstring("all equal (floats to 0.0001 of a tensor's largest)"));
  CHECK_THAT(check("1"), ContainsSubstring("all equal\n"));
}

TEST_CASE("cuda: a bundle compiled with one compiler runs later, and its CPU steps share tensors with the GPU's") {
  const EmulatedGpu gpu;
  const test::TemporaryFolder folder;
  const Environment state("XDG_STATE_HOME", folder / "state");
  const Finished made = test::dovetail({"compile", kDigits, "--target", "cuda,cpu", "--place", "pool1=cpu", "--offload",
                                        "always", "-o", folder / "d.dvt"});
  INFO(made.out << made.error);
  REQUIRE(made.exit == 0);
  CHECK_THAT(made.out, ContainsSubstring("sm_80") && ContainsSubstring("sm_90a") && ContainsSubstring("(PTX)"));
  const Finished checked = test::dovetail(
      {"run", kDigits, "--target", "cuda,cpu", "--place", "pool1=cpu", "--offload", "always", "--check"});
  INFO(checked.out << checked.error);
  CHECK(checked.exit == 0);
  CHECK_THAT(checked.out, ContainsSubstring("all equal"));
  const Environment no_compiler("DOVETAIL_NVRTC", folder / "none.so");

  CHECK(test::dovetail({"run", folder / "d.dvt"}).exit == 0);
  CHECK(test::dovetail({"run", folder / "d.dvt", "--target", "cuda"}).exit == 0);
  const Finished elsewhere = test::dovetail({"run", folder / "d.dvt", "--target", "cpu"});
  CHECK(elsewhere.exit == 2);
  CHECK_THAT(elsewhere.error, ContainsSubstring("the bundle was compiled for cuda, but --target is cpu"));
  {
    // A device that the machine code is not for uses the PTX; one that is older still is refused.
    const Environment device("EMULATED_GPU_CAPABILITY", "120");
    CHECK(test::dovetail({"run", folder / "d.dvt"}).exit == 0);
    const Environment old("EMULATED_GPU_CAPABILITY", "75");
    CHECK_THAT(test::dovetail({"run", folder / "d.dvt"}).error,
               ContainsSubstring("compiled for sm_80, sm_80 and later, sm_90a, but the device is sm_75") &&
                   ContainsSubstring("compile with --gpu sm_75"));
  }
  {
    const Environment memory("EMULATED_GPU_MEMORY", "1000");
    const Finished refused = test::dovetail({"run", folder / "d.dvt"});
    CHECK(refused.exit == 1);
    CHECK_THAT(refused.error, ContainsSubstring("CUDA_ERROR_OUT_OF_MEMORY") && ContainsSubstring("of whose 1000 ") &&
                                  ContainsSubstring(" are free, for ") &&
                                  ContainsSubstring("run fewer samples at once"));
  }
  {
    const Environment stub("EMULATED_GPU_INIT", "34");
    CHECK_THAT(test::dovetail({"run", folder / "d.dvt"}).error, ContainsSubstring("CUDA_ERROR_STUB_LIBRARY (34)") &&
                                                                    ContainsSubstring("a stub for linking") &&
                                                                    ContainsSubstring("LD_LIBRARY_PATH"));
    const Environment mismatch("EMULATED_GPU_INIT", "803");
    CHECK_THAT(test::dovetail({"run", folder / "d.dvt"}).error,
               ContainsSubstring("of different versions") && ContainsSubstring("restart the machine"));
    const Environment old("DOVETAIL_LIBCUDA", emulated("nvml"));
    const Finished refused = test::dovetail({"run", folder / "d.dvt"});
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("has no function cuInit: the driver is older than CUDA 11.4"));
  }
  {
    const Environment none("EMULATED_GPU_DEVICES", "0");
    CHECK_THAT(test::dovetail({"run", folder / "d.dvt"}).error, ContainsSubstring("the driver sees no device"));
  }
  {
    const Environment fault("EMULATED_GPU_FAULT", "700");
    const Finished broken = test::dovetail({"run", folder / "d.dvt"});
    CHECK(broken.exit == 1);
    CHECK_THAT(broken.error,
               ContainsSubstring("CUDA_ERROR_ILLEGAL_ADDRESS") && ContainsSubstring("CUDA_LAUNCH_BLOCKING=1"));
  }
  const Environment no_driver("DOVETAIL_LIBCUDA", folder / "none.so");
  CHECK_THAT(test::dovetail({"run", folder / "d.dvt"}).error,
             ContainsSubstring("there is no NVIDIA driver on this machine") && ContainsSubstring("--target cpu"));
}

TEST_CASE("cuda: compare asks NVML for the GPU's energy, and says why there is none") {
  const EmulatedGpu gpu;
  const auto row = [] {
    const Finished run = test::dovetail({"compare", kDigits, "--target", "cuda", "--repeat", "5", "--json"});
    INFO(run.out << run.error);
    REQUIRE(run.exit == 0);
    return Json::parse(run.out)["models"][0]["rows"][0];
  };
  const Environment nvml("DOVETAIL_NVML", emulated("nvml"));
  const Json measured = row();
  CHECK(measured["machine"] == "emulated GPU");
  CHECK(measured["joules"].get<double>() == Approx(0.5 / 5));  // one reading before the runs, one after them
  CHECK_THAT(measured["energy_from"].get<std::string>(),
             ContainsSubstring("NVML of emulated GPU") && ContainsSubstring("5 runs"));
  const auto missing = [&] {
    const Json without = row();
    CHECK(without["joules"].is_null());
    return without["energy_from"].get<std::string>();
  };
  {
    const Environment status("EMULATED_NVML_STATUS", "3");
    CHECK_THAT(missing(), ContainsSubstring("NVML: reading the counter: Not Supported (3)"));
  }
  {
    const Environment still("EMULATED_NVML_STEP", "0");
    CHECK_THAT(missing(), ContainsSubstring("it did not change during 5 runs"));
  }
  const Environment none("DOVETAIL_NVML", "/nowhere/nvml.so");
  CHECK_THAT(missing(), ContainsSubstring("NVML: ") && ContainsSubstring("/nowhere/nvml.so"));
}

TEST_CASE("cuda: without NVRTC compiling is refused, with the command that installs it") {
  const test::TemporaryFolder folder;
  const Environment none("DOVETAIL_NVRTC", folder / "none.so");
  const Finished refused = test::dovetail({"compile", kDigits, "--target", "cuda", "-o", folder / "d.dvt"});
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.error, ContainsSubstring("libnvrtc") && ContainsSubstring("`./dev deps --cuda` installs it"));
  {
    const EmulatedGpu gpu;
    const Environment version("EMULATED_NVRTC_MAJOR", "11");
    const Finished old = test::dovetail({"compile", kDigits, "--target", "cuda", "-o", folder / "d.dvt"});
    CHECK(old.exit == 2);
    CHECK_THAT(old.error, ContainsSubstring("is NVRTC 11.0, but C++20 needs 12.0 or later") &&
                              ContainsSubstring("`./dev deps --cuda` installs it"));
  }
  CHECK_THAT(test::dovetail({"compile", kDigits, "--target", "cuda", "--gpu", "sm_80a"}).error,
             ContainsSubstring("invalid value for --gpu (sm_80a): sm_80 has no architecture-specific instructions"));
  CHECK_THAT(test::dovetail({"compile", kDigits, "--target", "cuda", "--gpu", "90"}).error,
             ContainsSubstring("\"90\" is not the name of an architecture"));
  CHECK_THAT(test::dovetail({"doctor"}).out,
             ContainsSubstring("NVIDIA's run-time compiler (libnvrtc) is not on this machine"));
}
