// Steps for devices that the kit does not know: written, read, verified.
#include <functional>

#include "tests/catch.h"
#include "tests/unit/bundle/sample_extern.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string errors_of(const std::function<void(bundle::ExternStep&)>& change) {
  bundle::Bundle bundle = test::sample_bundle_with_extern();
  change(std::get<bundle::ExternStep>(bundle.steps[2]));
  const auto verified = bundle::verify(bundle);
  return verified.ok() ? "" : to_string(verified.errors());
}

}  // namespace

TEST_CASE("an extern step is read back as it was written") {
  const bundle::Bundle original = test::sample_bundle_with_extern();
  const auto bytes = bundle::serialize(original);
  const auto parsed = bundle::parse(bytes, "test");
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(bundle::serialize(*parsed) == bytes);
  const auto& step = std::get<bundle::ExternStep>(parsed->steps[2]);
  CHECK(step.name == "scale");
  CHECK(step.origins == std::vector<std::string>{"Mul_2"});
  CHECK(step.device == "scaler");
  CHECK(step.payload == std::vector<std::byte>{std::byte{2}});
  CHECK(step.arguments == std::vector<bundle::TensorIndex>{2});
  CHECK(step.results == std::vector<bundle::TensorIndex>{4});
}

TEST_CASE("extern steps: a device, arguments that exist, results of their own") {
  CHECK(errors_of([](auto&) {}) == "");
  CHECK(errors_of([](auto& step) { step.payload.clear(); }) == "");
  CHECK_THAT(errors_of([](auto& step) { step.device = ""; }),
             ContainsSubstring("steps[2] \"scale\"): it names no device"));
  CHECK_THAT(errors_of([](auto& step) { step.arguments = {4}; }),
             ContainsSubstring("an argument uses tensor \"y\", which nothing has computed yet"));
  CHECK_THAT(errors_of([](auto& step) { step.arguments = {17}; }), ContainsSubstring("names tensor 17, of 5"));
  CHECK_THAT(errors_of([](auto& step) { step.results = {1}; }),
             ContainsSubstring("a result defines tensor \"h\", which is defined already"));
}
