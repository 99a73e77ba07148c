// A device with a memory that the host cannot reach, such as a GPU: tensors between its own steps stay there.
#include "runtime/device.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int64_t kElements = 100;

// Counts that the tests inspect afterwards.
struct Log {
  int begun = 0, copied_in = 0, copied_out = 0, own = 0, foreign = 0;  // the last two: operands
};

class Vram : public runtime::DeviceMemory {
 public:
  Vram(std::size_t bytes, Log& log) : content(bytes, std::byte{0xee}), log_(log) {}

  Result<void> begin() override {
    ++log_.begun;
    return {};
  }
  Result<void> copy_in(std::uint64_t offset, std::span<const std::byte> bytes) override {
    ++log_.copied_in;
    std::ranges::copy(bytes, content.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  Result<void> copy_out(std::uint64_t offset, std::span<std::byte> bytes) override {
    if (broken) return Diagnostic{"the bus broke", "", "", ""};
    ++log_.copied_out;
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    return {};
  }

  std::vector<std::byte> content;
  bool broken = false;

 private:
  Log& log_;
};

// Adds code[0] to every element.
class AddKernel : public runtime::DeviceKernel {
 public:
  AddKernel(std::byte addend, std::shared_ptr<Vram> memory, Log& log)
      : addend_(addend), memory_(std::move(memory)), log_(log) {}

  Result<void> run(std::span<const runtime::Operand> arguments, std::span<const runtime::Operand> results) override {
    const std::byte* from = place(arguments[0]);
    std::byte* to = place(results[0]);
    for (std::int64_t i = 0; i < kElements; ++i)
      to[i] = static_cast<std::byte>(static_cast<int>(from[i]) + static_cast<int>(addend_));
    return {};
  }

 private:
  std::byte* place(const runtime::Operand& operand) {
    if (operand.memory != nullptr) {
      CHECK(operand.memory == memory_.get());
      CHECK(operand.bytes.empty());
      ++log_.own;
      return memory_->content.data() + operand.offset;
    }
    CHECK(operand.bytes.size() == kElements);
    ++log_.foreign;
    return operand.bytes.data();
  }

  std::byte addend_;
  std::shared_ptr<Vram> memory_;
  Log& log_;
};

class Gpu : public runtime::Device {
 public:
  std::string_view name() const override { return "gpu"; }
  Result<runtime::DeviceProgram> load(const bundle::Bundle& bundle) override {
    memory = std::make_shared<Vram>(bundle.spaces[1].bytes, log);
    runtime::DeviceProgram program;
    program.memories[1] = memory;
    for (const bundle::Step& step : bundle.steps)
      if (step.target == name()) program.kernels.push_back(std::make_unique<AddKernel>(step.code[0], memory, log));
    return program;
  }

  Log log;
  std::shared_ptr<Vram> memory;
};

// x -> host (+ 1) -> gpu (+ 2) -> gpu (+ 3) -> host (+ 1) -> y, and the result of the gpu's second step, z, in another
// shape. Tensors that the gpu reads or writes are in its memory.
bundle::Bundle chain() {
  bundle::Bundle bundle;
  bundle.name = "chain";
  for (const char* name : {"x", "a", "b", "c", "y"}) bundle.tensors.push_back({name, DType::int8, {kElements}});
  bundle.tensors.push_back({"z", DType::int8, {10, 10}, {}, {}, {}, {}, 3, 1});
  bundle.inputs = {0};
  bundle.outputs = {4, 5};
  bundle.spaces.push_back({"gpu", "vram", 0, 384});
  for (std::size_t i = 1; i <= 3; ++i) {
    bundle.tensors[i].space = 1;
    bundle.tensors[i].offset = 128 * (i - 1);
  }
  const std::string increment =
      "program increment {\n input a: int8[100]\n output b: int8[100]\n for i in 100 { block c { spatial k in 100 = "
      "i\n reads a[k]\n writes b[k]\n b[k] = a[k] + 1\n } } }";
  bundle.steps.push_back(test::host_step("before", {}, increment, {0}, {1}));
  bundle.steps.push_back({"first", "gpu", {}, {1}, {2}, {std::byte{2}}});
  bundle.steps.push_back({"second", "gpu", {}, {2}, {3}, {std::byte{3}}});
  bundle.steps.push_back(test::host_step("after", {}, increment, {3}, {4}));
  return bundle;
}

runtime::Executor made_on(const bundle::Bundle& bundle, const std::shared_ptr<Gpu>& gpu) {
  auto executor = runtime::Executor::make(bundle, runtime::simulator_factory("functional").value(),
                                          {.threads = 1, .devices = {gpu}});
  REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
  return *std::move(executor);
}
NdArray ramp_of_8() {
  NdArray x(DType::int8, {kElements});
  for (std::int64_t i = 0; i < kElements; ++i) x.set_int64(i, i);
  return x;
}

}  // namespace

TEST_CASE("between steps of the device that owns the memory nothing is copied") {
  const auto gpu = std::make_shared<Gpu>();
  runtime::Executor executor = made_on(chain(), gpu);
  for (int round = 1; round <= 2; ++round) {
    const auto result = executor.run({{"x", ramp_of_8()}});
    REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
    for (std::int64_t i = 0; i < kElements; ++i) {
      CHECK(result->outputs.at("y").as_int64(i) == i + 7);
      CHECK(result->outputs.at("z").as_int64(i) == i + 6);
    }
    CHECK(result->outputs.at("z").shape() == Shape{10, 10});
    CHECK(executor.output("z").size() == kElements);
    CHECK(executor.output("z")[3] == std::byte{9});
    CHECK(gpu->log.begun == round);
    CHECK(gpu->log.own == 4 * round);
    CHECK(gpu->log.foreign == 0);
    CHECK(gpu->log.copied_in == round);   // a
    CHECK(gpu->log.copied_out == round);  // c, once for the host's step and for the output
  }
}

TEST_CASE("tensors are kept from a memory that the host cannot reach") {
  const auto gpu = std::make_shared<Gpu>();
  const auto result = made_on(chain(), gpu).run({{"x", ramp_of_8()}}, {.keep_tensors = true, .copy_outputs = false});
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  CHECK(result->tensors.at("a").as_int64(5) == 6);
  CHECK(result->tensors.at("b").as_int64(5) == 8);
  CHECK(result->tensors.at("c").as_int64(5) == 11);
}

TEST_CASE("tensors of a device's step outside its memory are in the host's memory") {
  const auto gpu = std::make_shared<Gpu>();
  bundle::Bundle bundle = chain();
  for (const std::size_t outside : {1u, 3u, 5u}) {
    bundle.tensors[outside].space = bundle::kHostSpace;
    bundle.tensors[outside].offset.reset();
  }
  const auto result = made_on(bundle, gpu).run({{"x", ramp_of_8()}});
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  CHECK(result->outputs.at("y").as_int64(5) == 12);
  CHECK(gpu->log.own == 2);
  CHECK(gpu->log.foreign == 2);
  CHECK(gpu->log.copied_in + gpu->log.copied_out == 0);
}

TEST_CASE("reused places in a device's memory are copied again") {
  const auto gpu = std::make_shared<Gpu>();
  bundle::Bundle bundle = chain();
  bundle.tensors[3].offset = 0;  // where a was
  bundle.spaces[1].bytes = 256;
  const auto result = made_on(bundle, gpu).run({{"x", ramp_of_8()}}, {.keep_tensors = true});
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  CHECK(result->tensors.at("a").as_int64(5) == 6);
  CHECK(result->tensors.at("c").as_int64(5) == 11);
  CHECK(result->outputs.at("y").as_int64(5) == 12);
}

TEST_CASE("a copy that fails names its step") {
  const auto gpu = std::make_shared<Gpu>();
  runtime::Executor executor = made_on(chain(), gpu);
  gpu->memory->broken = true;
  const auto result = executor.run({{"x", ramp_of_8()}});
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(to_string(result.errors()), ContainsSubstring("the bus broke (step after)"));
}
