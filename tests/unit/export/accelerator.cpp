// The accelerator's part of an exported program: what its memory has before all runs, and what a run changes.
#include "export/accelerator.h"

#include <algorithm>

#include "export/plan.h"
#include "export/project.h"
#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using exporting::PlannedAccelerator;

namespace {

PlannedAccelerator planned(const bundle::Bundle& bundle) {
  std::set<std::string> taken;
  const auto steps = bundle::accel_steps(bundle);
  REQUIRE((steps.ok() ? "" : to_string(steps.errors())) == "");
  return exporting::plan_accelerator(bundle, *steps, "net", taken).value().value();
}

// The sample whose region reads its result's place before it writes it.
bundle::Bundle sample_with_border(std::vector<std::byte> border) {
  bundle::Bundle bundle = test::sample_bundle();
  test::change_accel(bundle.steps[1], [&](bundle::AccelCode& code) {
    std::get<isa::Load>(code.program[1].body).dram_base = test::kSampleOutput / 16;
    code.segments[1].bytes = isa::Codec(code.config).encode_program(code.program).value();
    if (!border.empty()) code.segments.push_back({"border", test::kSampleOutput, std::move(border)});
  });
  return bundle;
}

}  // namespace

TEST_CASE("exported accelerator: memory, launches and configuration are those of the steps") {
  const PlannedAccelerator plan = planned(test::sample_bundle());
  CHECK(plan.base == test::kSampleBase);
  CHECK(plan.bytes == test::kSampleBytes);
  REQUIRE(plan.configs.size() == 1);
  REQUIRE(plan.regions.size() == 1);
  CHECK(plan.regions[0].name == "net_region");
  CHECK(plan.regions[0].program == test::kSampleProgram - test::kSampleBase);
  CHECK(plan.regions[0].launches.size() == 1);
  CHECK(plan.reset.empty());
  // All zeros, then the program; the micro-op is zero.
  REQUIRE(plan.image.size() == 2);
  CHECK((plan.image[0].range.at == 0 && plan.image[0].range.bytes == plan.bytes && !plan.image[0].blob));
  CHECK(plan.image[1].range.at == test::kSampleProgram - test::kSampleBase);
  CHECK(plan.blob_bytes() == 5 * 16);
}

TEST_CASE("exported accelerator: what a run reads and then writes is written again before the next run") {
  const std::uint64_t at = test::kSampleOutput - test::kSampleBase;
  SECTION("zeros") {
    const PlannedAccelerator plan = planned(sample_with_border({}));
    REQUIRE(plan.reset.size() == 1);
    CHECK((plan.reset[0].range.at == at && plan.reset[0].range.bytes == 16));
    CHECK((plan.reset[0].fill == 0 && !plan.reset[0].blob));
  }
  SECTION("one value, which is not stored") {
    const PlannedAccelerator plan = planned(sample_with_border(std::vector<std::byte>(16, std::byte{7})));
    REQUIRE(plan.reset.size() == 1);
    CHECK((plan.reset[0].range.at == at && plan.reset[0].fill == 7 && !plan.reset[0].blob));
    CHECK(plan.reset_bytes() == 16);
    CHECK(plan.blob_bytes() == 5 * 16);
  }
  SECTION("several values") {
    std::vector<std::byte> border(16, std::byte{7});
    border[3] = std::byte{8};
    const PlannedAccelerator plan = planned(sample_with_border(border));
    REQUIRE(plan.reset.size() == 1);
    REQUIRE(plan.reset[0].blob);
    CHECK(plan.blobs[*plan.reset[0].blob].name == "net_border");
  }
}

TEST_CASE("exported accelerator: the processor cleans what it wrote and invalidates what it reads") {
  const auto plan = exporting::plan_project(test::sample_bundle(), {});
  REQUIRE((plan.ok() ? "" : to_string(plan.errors())) == "");
  CHECK(plan->steps() == 3);
  const auto region = std::ranges::find_if(
      plan->calls, [](const auto& call) { return std::holds_alternative<exporting::RegionCall>(call); });
  REQUIRE(region != plan->calls.end());
  const auto& call = std::get<exporting::RegionCall>(*region);
  REQUIRE(call.clean.size() == 1);
  CHECK((call.clean[0].at == test::kSampleInput - test::kSampleBase && call.clean[0].bytes == 16));
  REQUIRE(call.invalidate.size() == 1);
  CHECK((call.invalidate[0].at == test::kSampleOutput - test::kSampleBase && call.invalidate[0].bytes == 16));
  // The kernels use the accelerator's memory in place.
  const auto& first = std::get<exporting::KernelCall>(plan->calls.front());
  CHECK(first.arguments.back().of == exporting::Place::Of::device);
}

TEST_CASE("exported accelerator: an operand of the host is copied to and from the accelerator's memory") {
  bundle::Bundle bundle = test::sample_bundle();
  for (const std::size_t i : {1, 2}) {
    bundle.tensors[i].space = bundle::kHostSpace;
    bundle.tensors[i].offset.reset();
  }
  const auto plan = exporting::plan_project(bundle, {});
  REQUIRE((plan.ok() ? "" : to_string(plan.errors())) == "");
  using Of = exporting::Place::Of;
  std::vector<std::pair<Of, Of>> copies;  // from, to
  for (const auto& call : plan->calls)
    if (const auto* copy = std::get_if<exporting::Copy>(&call)) copies.emplace_back(copy->from.of, copy->to.of);
  CHECK(copies == std::vector<std::pair<Of, Of>>{{Of::arena, Of::device}, {Of::device, Of::arena}});
}

TEST_CASE("exported accelerator: names of a bundle do not end comments of the headers") {
  bundle::Bundle bundle = test::sample_bundle();
  test::change_accel(bundle.steps[1], [](bundle::AccelCode& code) { code.config.name = "a */ int b; /*"; });
  const auto plan = exporting::plan_project(bundle, {});
  REQUIRE((plan.ok() ? "" : to_string(plan.errors())) == "");
  exporting::GoldenVector golden;
  for (const char* name : {"x", "y"})
    (name[0] == 'x' ? golden.inputs : golden.outputs).emplace(name, NdArray(DType::int8, {1, 16}));
  for (const exporting::ProjectFile& file : exporting::project_files(*plan, golden))
    if (file.name.ends_with(".h") || file.name.ends_with(".c")) {
      INFO(file.name);
      CHECK(file.text.find("*/ int b") == file.text.npos);
    }
}

TEST_CASE("exported accelerator: steps with several memories are refused") {
  bundle::Bundle bundle = test::sample_bundle();
  bundle.spaces.push_back({std::string(bundle::kAccelTarget), "other", test::kSampleBase, test::kSampleBytes});
  bundle.steps.push_back(bundle.steps[1]);
  bundle.steps.back().name = "again";
  test::change_accel(bundle.steps.back(), [](bundle::AccelCode& code) { code.space = 2; });
  const auto steps = bundle::decode_accel(bundle.steps.back());
  REQUIRE(steps.ok());
  std::set<std::string> taken;
  const std::vector<bundle::CodedStep<bundle::AccelCode>> all{
      {1, &bundle.steps[1], bundle::decode_accel(bundle.steps[1]).value()}, {3, &bundle.steps[3], *steps}};
  CHECK_THAT(
      to_string(exporting::plan_accelerator(bundle, all, "net", taken).errors()),
      ContainsSubstring("its memory is another than that of region") && ContainsSubstring("compile the model again"));
}
