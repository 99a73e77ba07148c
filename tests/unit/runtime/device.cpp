// A user's device runs the steps that name it.
#include "runtime/device.h"

#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/unit/runtime/sample_scaler.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

class ScaleKernel : public runtime::DeviceKernel {
 public:
  explicit ScaleKernel(int factor) : factor_(factor) {}
  Result<void> run(std::span<const runtime::Operand> arguments, std::span<const runtime::Operand> results) override {
    REQUIRE(arguments.size() == 1);
    REQUIRE(results.size() == 1);
    for (std::size_t i = 0; i < results[0].bytes.size(); ++i) {
      if (arguments[0].bytes[i] == std::byte{99})
        return Diagnostic{"the scaler broke", "", "99 is too much for it", "use less"};
      results[0].bytes[i] = static_cast<std::byte>(static_cast<int>(arguments[0].bytes[i]) * factor_);
    }
    return {};
  }

 private:
  int factor_;
};

class Scaler : public runtime::Device {
 public:
  std::string_view name() const override { return "scaler"; }
  Result<runtime::DeviceProgram> load(const bundle::Bundle& bundle) override {
    runtime::DeviceProgram program;
    for (const bundle::Step& step : bundle.steps) {
      if (step.target != name()) continue;
      if (step.code.size() != 1)
        return Diagnostic{"cannot load", "step " + step.name, "the code is not a factor", "make the bundle again"};
      program.kernels.push_back(std::make_unique<ScaleKernel>(static_cast<int>(step.code[0])));
    }
    return program;
  }
};
class Other : public Scaler {
 public:
  std::string_view name() const override { return "other"; }
};
// Runs the steps of the kit's interpreter: a user's devices come first.
class OwnHost : public Scaler {
 public:
  std::string_view name() const override { return "host"; }
  Result<runtime::DeviceProgram> load(const bundle::Bundle&) override { return Diagnostic{"it was asked", "", "", ""}; }
};

Result<runtime::Executor> made_with(bundle::Bundle bundle, std::vector<std::shared_ptr<runtime::Device>> devices) {
  return runtime::Executor::make(std::move(bundle), runtime::simulator_factory("functional").value(),
                                 {.threads = 1, .devices = std::move(devices)});
}
NdArray filled(int value) {
  NdArray x(DType::int8, {1, 16});
  for (std::int64_t i = 0; i < 16; ++i) x.set_int64(i, value);
  return x;
}

}  // namespace

TEST_CASE("a step runs on the device of its target's name") {
  auto executor = made_with(test::sample_bundle_with_scaler(), {std::make_shared<Other>(), std::make_shared<Scaler>()});
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

TEST_CASE("a missing device, and code that a device refuses, are errors") {
  const auto none = made_with(test::sample_bundle_with_scaler(), {}),
             other = made_with(test::sample_bundle_with_scaler(), {std::make_shared<Other>()});
  REQUIRE_FALSE(none.ok());
  REQUIRE_FALSE(other.ok());
  CHECK_THAT(to_string(none.errors()),
             ContainsSubstring(
                 "no device \"scaler\" (step scale): the step's code is for a device that is not part of the kit, and "
                 "no device was given. Hint: pass the target's device to the session"));
  CHECK_THAT(to_string(other.errors()), ContainsSubstring("the devices given are other"));
  bundle::Bundle empty = test::sample_bundle_with_scaler();
  empty.steps[2].code.clear();
  const auto refused = made_with(empty, {std::make_shared<Scaler>()});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("the code is not a factor"));
}

TEST_CASE("a user's device precedes one of the kit with the same name") {
  const auto made = made_with(test::sample_bundle(), {std::make_shared<OwnHost>()});
  REQUIRE_FALSE(made.ok());
  CHECK_THAT(to_string(made.errors()), ContainsSubstring("it was asked"));
}
