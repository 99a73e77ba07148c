// The code of a kernel's step: written, read, checked.
#include "bundle/code/cpu.h"

#include <functional>

#include "bundle/code/text.h"
#include "tests/catch.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

bundle::Bundle cpu_sample() {
  bundle::Bundle bundle;
  bundle::Step step{"conv1", {}, {}, {}, {}};
  bundle::encode(bundle::CpuCode{"k0_conv", 64, 128, 1000, true, 77, {"an index leaves x"}, 1200}, step);
  bundle.steps = {step};
  bundle.modules = {{"cpu", "avx2", {}}};
  return bundle;
}
std::string cpu_errors(const std::function<void(Json&, bundle::Bundle&)>& change) {
  bundle::Bundle bundle = cpu_sample();
  Json head = Json::parse(bundle::code_text(bundle.steps[0]));
  change(head, bundle);
  bundle.steps[0].code = bundle::json_bytes(head);
  const auto steps = bundle::cpu_steps(bundle);
  return steps.ok() ? "" : to_string(steps.errors());
}

}  // namespace

TEST_CASE("the code of a kernel's step is read back as it was written") {
  const bundle::Bundle bundle = cpu_sample();
  const auto steps = bundle::cpu_steps(bundle);
  REQUIRE((steps.ok() ? "" : to_string(steps.errors())) == "");
  REQUIRE(steps->size() == 1);
  const bundle::CpuCode& code = steps->front().code;
  CHECK(code.symbol == "k0_conv");
  CHECK(code.shared_bytes == 64);
  CHECK(code.local_bytes == 128);
  CHECK(code.operations == 1000);
  CHECK(code.integer);
  CHECK(code.code_bytes == 77);
  CHECK(code.failures == std::vector<std::string>{"an index leaves x"});
  CHECK(code.steps == 1200);
}

TEST_CASE("cpu code: a kernel of an older kit, which did not count steps, has one step for each operation") {
  bundle::Bundle bundle = cpu_sample();
  Json head = Json::parse(bundle::code_text(bundle.steps[0]));
  head.erase("steps");
  bundle.steps[0].code = bundle::json_bytes(head);
  CHECK(bundle::cpu_steps(bundle).value()[0].code.steps == 1000);
}

TEST_CASE("cpu steps: a kernel of the module, a workspace that fits") {
  CHECK(cpu_errors([](Json&, auto&) {}) == "");
  CHECK_THAT(cpu_errors([](Json& head, auto&) { head["symbol"] = ""; }),
             ContainsSubstring("(step conv1): it names no kernel"));
  CHECK_THAT(cpu_errors([](Json&, auto& b) { b.modules.clear(); }),
             ContainsSubstring("it is a kernel, but the bundle has no shared object"));
  CHECK_THAT(cpu_errors([](Json& head, auto&) { head["shared_bytes"] = UINT64_MAX; }),
             ContainsSubstring("(code of step conv1): in its head, shared_bytes: 18446744073709551615 > "));
  CHECK_THAT(cpu_errors([](Json& head, auto&) { head.erase("failures"); }),
             ContainsSubstring("\"failures\" is missing"));
  CHECK_THAT(cpu_errors([](Json& head, auto&) { head = "k0"; }), ContainsSubstring("expected an object, found string"));
}
