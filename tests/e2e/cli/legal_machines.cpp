// Machines at the borders of what is legal: they compile and are right, or the reason names what they lack.
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
