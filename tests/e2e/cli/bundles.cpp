// `run` and `inspect` on a hand-made bundle, which needs no compiler.
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

class BundleShelf {
 public:
  BundleShelf() {
    bundle::Bundle bundle = test::sample_bundle();
    bundle.tensors[0].name = "data:0";
    bundle.tensors[4].name = "out/y";
    REQUIRE(bundle::write_bundle(folder_ / "s.dvt", bundle).ok());
    NdArray x(DType::int8, {1, 16});
    for (std::int64_t i = 0; i < 16; ++i) x.set_int64(i, i);
    REQUIRE(write_npy(folder_ / "x.npy", x).ok());
  }
  std::string path(const char* name) const { return folder_ / name; }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a bundle runs on named inputs and writes named outputs") {
  const BundleShelf shelf;
  const Finished run =
      test::dovetail({"run", shelf.path("s.dvt"), "--input", "data_0=" + shelf.path("x.npy"), "--output-dir",
                      shelf.path("out"), "--report", shelf.path("r.json"), "--target", "accel", "--hw", "1x16x16"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  const NdArray y = read_npy(shelf.path("out/out_y.npy")).value();
  for (std::int64_t i = 0; i < 16; ++i) CHECK(y.as_int64(i) == (i + 4) * 2);
  const Json report = read_json_file(shelf.path("r.json")).value();
  CHECK(report["kind"] == "run");
  CHECK(report["steps"].size() == 3);
  CHECK(report["check"].is_null());
}

TEST_CASE("a model gives the same bundle every time, byte for byte") {
  const test::TemporaryFolder folder;
  const auto compiled = [&](const char* model, const char* name) {
    const std::string path = folder / name;
    const Finished made = test::dovetail(
        {"compile", std::string(DOVETAIL_SOURCE_DIR "/examples/digits/") + model, "--target", "accel,cpu", "-o", path});
    INFO(made.error);
    REQUIRE(made.exit == 0);
    return read_text_file(path).value();
  };
  for (const char* model : {"digits_int8.onnx", "digits_float.onnx"}) {
    CAPTURE(model);
    CHECK(compiled(model, "a.dvt") == compiled(model, "b.dvt"));
  }
}

TEST_CASE("random inputs are announced, and the same in each run") {
  const BundleShelf shelf;
  const Finished first = test::dovetail({"run", shelf.path("s.dvt"), "--output-dir", shelf.path("a")});
  REQUIRE(first.exit == 0);
  CHECK_THAT(first.out, ContainsSubstring("data:0: int8[1, 16] of random values, seed 1"));
  REQUIRE(test::dovetail({"run", shelf.path("s.dvt"), "--output-dir", shelf.path("b")}).exit == 0);
  REQUIRE(test::dovetail({"run", shelf.path("s.dvt"), "--output-dir", shelf.path("c"), "--seed", "2"}).exit == 0);
  CHECK(read_npy(shelf.path("a/out_y.npy")).value() == read_npy(shelf.path("b/out_y.npy")).value());
  CHECK_FALSE(read_npy(shelf.path("a/out_y.npy")).value() == read_npy(shelf.path("c/out_y.npy")).value());
}

TEST_CASE("options that a bundle has fixed must agree with it, or the command is refused") {
  const BundleShelf shelf;
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", shelf.path("s.dvt")});
    const Finished refused = test::dovetail(more);
    CHECK(refused.exit == 2);
    return refused.error;
  };
  CHECK_THAT(error({"--check"}), ContainsSubstring("--check needs a model, but this is a bundle"));
  CHECK_THAT(error({"--place", "a=cpu", "--strict"}), ContainsSubstring("--place, --strict needs a model"));
  CHECK_THAT(error({"--target", "cpu"}), ContainsSubstring("the bundle was compiled for accel, but --target is cpu"));
  CHECK_THAT(error({"--hw", "1x8x8"}), ContainsSubstring("the bundle was compiled for 1x16x16"));
  CHECK_THAT(error({"--input", "z=" + shelf.path("x.npy")}), ContainsSubstring("the model has no input of that name"));
  CHECK_THAT(error({"--input", "data_0=" + shelf.path("s.dvt")}), ContainsSubstring("cannot read tensor"));
  CHECK_THAT(error({"--waves", "w.fst"}), ContainsSubstring("engine functional has no waveforms"));
  // Nodes that no listed target takes run on the CPU.
  const std::string floats = DOVETAIL_SOURCE_DIR "/examples/digits/digits_float.onnx";
  REQUIRE(test::dovetail({"compile", floats, "--target", "accel", "-o", shelf.path("f.dvt")}).exit == 0);
  CHECK(test::dovetail({"run", shelf.path("f.dvt"), "--target", "accel"}).exit == 0);
}

TEST_CASE("inspect describes the bundle that was written") {
  const BundleShelf shelf;
  const Finished text = test::dovetail({"inspect", shelf.path("s.dvt")});
  CHECK(text.exit == 0);
  CHECK_THAT(text.out, ContainsSubstring("plus_one") && ContainsSubstring("region") && ContainsSubstring("alu.add 1"));
  CHECK_THAT(test::dovetail({"inspect", shelf.path("x.npy")}).out, ContainsSubstring("int8[1, 16]"));
  REQUIRE(test::dovetail({"run", shelf.path("s.dvt"), "--report", shelf.path("r.json")}).exit == 0);
  CHECK_THAT(test::dovetail({"inspect", shelf.path("r.json")}).out, ContainsSubstring("report        run"));
}
