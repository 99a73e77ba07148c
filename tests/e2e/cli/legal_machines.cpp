// Machines at the borders of what is legal: they compile and are right, or the reason names what they lack.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

TEST_CASE("legal machines: blocks of one channel compute all layers of digits") {
  const Finished run = test::dovetail({"run", test::kDigits, "--target", "accel,cpu", "--hw",
                                       "1x16x16-ext,block_in=1,block_out=1,table=true", "--check"});
  INFO(run.error);
  CHECK(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("all equal") && !ContainsSubstring("not on accel"));
}

TEST_CASE("legal machines: a transposition that INP cannot hold is refused with both numbers") {
  const test::TemporaryFolder folder;
  const std::string model = folder / "gpt.onnx";
  REQUIRE(test::dovetail({"zoo", "gpt_block", "--int8", "--sequence", "16", "-o", model}).exit == 0);
  // Its identity has a row for each of 64 channels; INP of 1024 bytes has 1024 / 64 = 16 elements.
  const std::string hardware =
      "1x16x16,block_in=64,block_out=64,inp_buffer_bytes=1024,acc_buffer_bytes=32768,overwrite=true";
  const Finished run = test::dovetail({"run", model, "--target", "accel,cpu", "--hw", hardware, "--check"});
  INFO(run.error);
  CHECK(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("all equal"));
  const Finished compiled =
      test::dovetail({"compile", model, "--target", "accel,cpu", "--hw", hardware, "-o", folder / "m.dvt"});
  CHECK_THAT(compiled.out, ContainsSubstring("its transposition needs 64 elements, and inp_buffer_bytes has 16"));
}

TEST_CASE("legal machines: a depthwise convolution whose kernel of WINDOW exceeds the micro-ops uses GEMM") {
  const test::TemporaryFolder folder;
  const std::string model = folder / "ds_cnn.onnx";
  REQUIRE(test::dovetail({"zoo", "ds_cnn", "--int8", "--samples", "1", "-o", model}).exit == 0);
  // Half of 4 micro-ops, and of 32, are fewer than 9 taps and more: GEMM, and stripes of fewer rows.
  for (const char* bytes : {"16", "128"}) {
    const Finished run = test::dovetail({"run", model, "--target", "accel,cpu", "--hw",
                                         fmt::format("1x16x16,window=true,uop_buffer_bytes={}", bytes), "--check"});
    INFO(run.error);
    CHECK(run.exit == 0);
    CHECK_THAT(run.out, ContainsSubstring("all equal"));
  }
}

TEST_CASE("legal machines: weights of WINDOW in slots of a WGT of four elements") {
  const test::TemporaryFolder folder;
  const std::string model = folder / "mobilenet.onnx";
  REQUIRE(test::dovetail({"zoo", "mobilenet_v2", "--int8", "--samples", "1", "--image", "32", "-o", model}).exit == 0);
  const Finished run = test::dovetail({"run", model, "--target", "accel,cpu", "--hw",
                                       "2x16x16,inp_buffer_bytes=4096,wgt_buffer_bytes=1024,acc_buffer_bytes=4096,"
                                       "saturate=true,overwrite=true,window=true",
                                       "--check"});
  INFO(run.error);
  CHECK(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("all equal"));
}

TEST_CASE("legal machines: an operation of too many tiles is refused with both numbers") {
  const test::TemporaryFolder folder;
  const std::string model = folder / "gpt.onnx";
  REQUIRE(test::dovetail({"zoo", "gpt_block", "--int8", "--sequence", "16", "-o", model}).exit == 0);
  const Finished compiled = test::dovetail(
      {"compile", model, "--target", "accel,cpu", "--hw",
       "1x16x16,block_in=1,block_out=1,inp_buffer_bytes=4,wgt_buffer_bytes=4,acc_buffer_bytes=64,requant=true", "-o",
       folder / "m.dvt"});
  INFO(compiled.error);
  CHECK(compiled.exit == 0);
  CHECK_THAT(compiled.out, ContainsSubstring("tiles, because they are small, and the most is 65536"));
}
