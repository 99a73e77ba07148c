// A device of the caller runs the steps that name it.
#include "runtime/device.h"

#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/unit/bundle/sample_extern.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

class ScaleKernel : public runtime::DeviceKernel {
 public:
  explicit ScaleKernel(int factor) : factor_(factor) {}
  Result<void> run(std::span<const std::span<const std::byte>> arguments,
                   std::span<const std::span<std::byte>> results) override {
    REQUIRE(arguments.size() == 1);
    REQUIRE(results.size() == 1);
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      if (arguments[0][i] == std::byte{99})
        return Diagnostic{"the scaler broke", "", "99 is too much for it", "use less"};
      results[0][i] = static_cast<std::byte>(static_cast<int>(arguments[0][i]) * factor_);
    }
    return {};
  }

 private:
  int factor_;
};

class Scaler : public runtime::Device {
 public:
  std::string_view name() const override { return "scaler"; }
  Result<std::unique_ptr<runtime::DeviceKernel>> load(const bundle::Bundle&, const bundle::ExternStep& step) override {
    if (step.payload.size() != 1)
      return Diagnostic{"cannot load", "step " + step.name, "the payload is no factor", "make it again"};
    return std::unique_ptr<runtime::DeviceKernel>(std::make_unique<ScaleKernel>(static_cast<int>(step.payload[0])));
  }
};
class Other : public Scaler {
 public:
  std::string_view name() const override { return "other"; }
};

Result<runtime::Executor> make(bundle::Bundle bundle, std::vector<std::shared_ptr<runtime::Device>> devices) {
  return runtime::Executor::make(std::move(bundle), runtime::simulator_factory("functional").value(),
                                 {.threads = 1, .devices = std::move(devices)});
}
NdArray filled(int value) {
  NdArray x(DType::int8, {1, 16});
  for (std::int64_t i = 0; i < 16; ++i) x.set_int64(i, value);
  return x;
}

}  // namespace

TEST_CASE("an extern step runs on the device of its name") {
  auto executor = make(test::sample_bundle_with_extern(), {std::make_shared<Other>(), std::make_shared<Scaler>()});
  REQUIRE(executor.ok());
  for (const int value : {1, 5}) {
    const auto result = executor->run({{"x", filled(value)}});
    REQUIRE(result.ok());
    for (std::int64_t i = 0; i < 16; ++i) CHECK(result->outputs.at("y").as_int64(i) == (value + 4) * 2);
    CHECK(result->steps[2].name == "scale");
    CHECK(result->steps[2].target == "scaler");
  }
  const auto broken = executor->run({{"x", filled(95)}});
  REQUIRE_FALSE(broken.ok());
  CHECK_THAT(to_string(broken.errors()), ContainsSubstring("the scaler broke (step scale): 99 is too much for it"));
}

TEST_CASE("a device that nobody gave, and a payload that it refuses") {
  const auto none = make(test::sample_bundle_with_extern(), {}),
             other = make(test::sample_bundle_with_extern(), {std::make_shared<Other>()});
  REQUIRE_FALSE(none.ok());
  REQUIRE_FALSE(other.ok());
  CHECK_THAT(
      to_string(none.errors()),
      ContainsSubstring(
          "no device \"scaler\" (step scale): its code is for a device that is no part of the kit, and none was given. "
          "Hint: run the bundle with a program that hands its device to the executor"));
  CHECK_THAT(to_string(other.errors()), ContainsSubstring("the devices given are other"));
  bundle::Bundle empty = test::sample_bundle_with_extern();
  std::get<bundle::ExternStep>(empty.steps[2]).payload.clear();
  const auto refused = make(empty, {std::make_shared<Scaler>()});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("the payload is no factor"));
}
