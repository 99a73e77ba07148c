// The code of a step that the host interprets: written, read, checked.
#include "bundle/code/host.h"

#include <functional>

#include "loops/print.h"
#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string host_errors(const std::function<void(bundle::Bundle&)>& change) {
  bundle::Bundle bundle = test::sample_bundle();
  change(bundle);
  const auto steps = bundle::host_steps(bundle);
  return steps.ok() ? "" : to_string(steps.errors());
}

}  // namespace

TEST_CASE("a host step's program is read back as it was written") {
  const bundle::Bundle bundle = test::sample_bundle();
  const auto steps = bundle::host_steps(bundle);
  REQUIRE((steps.ok() ? "" : to_string(steps.errors())) == "");
  REQUIRE(steps->size() == 2);
  CHECK(steps->at(1).index == 2);
  CHECK(steps->at(1).step == &bundle.steps[2]);
  bundle::Step again;
  bundle::encode(steps->at(1).code, again);
  CHECK(again.target == "host");
  CHECK(again.code == bundle.steps[2].code);
}

TEST_CASE("host steps: arguments and results fit the program") {
  CHECK_THAT(host_errors([](auto& b) { b.tensors[0].shape = {16}; }),
             ContainsSubstring("(step plus_one): parameter x is int8[1, 16], tensor \"x\" is int8[16]"));
  CHECK_THAT(host_errors([](auto& b) { b.steps[0].arguments = {}; }),
             ContainsSubstring("has 1 arguments and 1 results, but the step has 0 and 1"));
  CHECK_THAT(host_errors([](auto& b) { b.steps[0].code.resize(30); }), ContainsSubstring("code of step plus_one"));
  // The findings of all steps together.
  const std::string both = host_errors([](auto& b) { b.steps[0].arguments = {}, b.steps[2].results = {}; });
  CHECK_THAT(both, ContainsSubstring("step plus_one") && ContainsSubstring("step twice"));
}
