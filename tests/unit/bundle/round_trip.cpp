#include <cstring>

#include "base/file.h"
#include "bundle/summary.h"
#include "loops/print.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;

TEST_CASE("a bundle is read back as it was written") {
  const bundle::Bundle original = test::sample_bundle();
  REQUIRE(bundle::verify(original).ok());
  const auto bytes = bundle::serialize(original);
  const auto parsed = bundle::parse(bytes, "test");
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(bundle::serialize(*parsed) == bytes);

  CHECK(parsed->name == "sample");
  CHECK(parsed->report == original.report);
  REQUIRE(parsed->tensors.size() == 5);
  CHECK(parsed->tensors[3].constant == original.tensors[3].constant);
  const auto& host = std::get<bundle::HostStep>(parsed->steps[0]);
  CHECK(loops::to_string(host.program) == loops::to_string(std::get<bundle::HostStep>(original.steps[0]).program));
  CHECK(host.origins == std::vector<std::string>{"Add_0"});
  const auto& accel = std::get<bundle::AccelStep>(parsed->steps[1]);
  const auto& expected = std::get<bundle::AccelStep>(original.steps[1]);
  CHECK(accel.config == expected.config);
  CHECK(accel.program == expected.program);
  REQUIRE(accel.segments.size() == 2);
  CHECK(accel.segments[1].bytes == expected.segments[1].bytes);
  REQUIRE(accel.ranges.size() == 2);
  CHECK(accel.ranges[0].origins == std::vector<std::string>{"Add_1"});
  CHECK(accel.uops == 1);
}

TEST_CASE("constants of every type survive, scalars and empty ones too") {
  bundle::Bundle original;
  original.name = "constants";
  for (const DTypeInfo& row : kDTypes)
    for (const Shape& shape : {Shape{}, Shape{3, 2}, Shape{2, 0}}) {
      NdArray array(row.dtype, shape);
      for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, row.dtype == DType::boolean ? i % 2 : i + 1);
      original.tensors.push_back({std::string(row.name) + to_string(shape), row.dtype, shape, array});
    }
  const auto parsed = bundle::parse(bundle::serialize(original), "test");
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  for (std::size_t i = 0; i < original.tensors.size(); ++i)
    CHECK(parsed->tensors[i].constant == original.tensors[i].constant);
}

TEST_CASE("a file is written whole, and a wrong bundle not at all") {
  const test::TemporaryFolder folder;
  REQUIRE(bundle::write_bundle(folder / "s.dvt", test::sample_bundle()).ok());
  CHECK(bundle::read_bundle(folder / "s.dvt").ok());
  bundle::Bundle wrong = test::sample_bundle();
  wrong.outputs = {9};
  CHECK_FALSE(bundle::write_bundle(folder / "wrong.dvt", wrong).ok());
  CHECK_FALSE(std::filesystem::exists(folder / "wrong.dvt"));
}

TEST_CASE("a summary counts kinds, tokens and micro-ops") {
  const bundle::ProgramSummary summary = bundle::summarize(test::sample_bundle());
  CHECK(summary.instructions == 5);
  CHECK(summary.tokens == 1);
  CHECK(summary.uops == 1);
  CHECK(summary.kinds == std::map<std::string, std::uint64_t>{
                             {"alu.add", 1}, {"finish", 1}, {"load.acc8", 1}, {"load.uop", 1}, {"store.out", 1}});
}
