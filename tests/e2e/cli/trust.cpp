// Machine code in files: which code runs, and how other code is kept from running (docs/reference/trust-and-limits.md).
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/sha256.h"
#include "bundle/code/cpu.h"
#include "bundle/format.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/environment.h"
#include "tests/process.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Environment;
using test::Finished;
using test::kDigits;
using test::kFloatDigits;
namespace fs = std::filesystem;

namespace {

// A bundle with machine code, and a user with a separate record.
struct Shelf {
  test::TemporaryFolder folder;
  Environment state{"XDG_STATE_HOME", folder / "state"};
  std::string bundle = folder / "d.dvt";

  Shelf() {
    const Finished compiled = test::dovetail({"compile", kFloatDigits, "--target", "cpu", "-o", bundle});
    CHECK(compiled.error == "");
    REQUIRE(compiled.exit == 0);
  }
  // Another file with the same bundle, changed.
  std::string changed(const std::function<void(bundle::Bundle&)>& change) const {
    bundle::Bundle copy = bundle::read_bundle(bundle, bundle::MachineCode::untrusted).value();
    change(copy);
    REQUIRE(write_file(folder / "changed.dvt", bundle::serialize(copy)).ok());
    return folder / "changed.dvt";
  }
};

Finished run(const std::string& bundle, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"run", bundle, "--threads", "1"});
  return test::dovetail(more);
}

void check_untrusted(const Finished& refused) {
  INFO(refused.error);
  CHECK(refused.exit == 2);
  CHECK_THAT(refused.error, ContainsSubstring("the bundle has machine code in the steps of cpu") &&
                                ContainsSubstring("add --trust if you know who made the file"));
}

// The shared objects that a command loads, as the loader reports them.
bool loads_code(const std::vector<std::string>& line) {
  const Environment debug("LD_DEBUG", "files");
  return test::dovetail(line).error.find("/proc/self/fd/") != std::string::npos;
}

}  // namespace

TEST_CASE("code that compile has written for a user runs, and no other machine code without --trust") {
  const Shelf shelf;
  CHECK(run(shelf.bundle).exit == 0);
  CHECK(test::dovetail({"profile", shelf.bundle, "--repeat", "1"}).exit == 0);
  const auto bytes = read_file(shelf.bundle).value();
  CHECK_THAT(read_text_file(shelf.folder / "state/dovetail/compiled-bundles").value(),
             ContainsSubstring(sha256(bytes) + "  " + shelf.bundle));
  fs::copy(shelf.bundle, shelf.folder / "moved.dvt");  // the content counts, not the name
  CHECK(run(shelf.folder / "moved.dvt").exit == 0);

  // One weight is changed, and the checksum is correct.
  const std::string other = shelf.changed([](bundle::Bundle& bundle) {
    for (bundle::Tensor& tensor : bundle.tensors)
      if (tensor.constant && tensor.dtype == DType::float32) {
        NdArray values = *tensor.constant;
        values.set_double(0, 4711);
        tensor.constant = values;
        return;
      }
  });
  check_untrusted(run(other));
  check_untrusted(test::dovetail({"profile", other, "--repeat", "1"}));
  CHECK(run(other, {"--trust"}).exit == 0);
  CHECK(test::dovetail({"profile", other, "--repeat", "1", "--trust"}).exit == 0);
  CHECK(test::dovetail({"inspect", other}).exit == 0);

  {
    const Environment state("XDG_STATE_HOME", shelf.folder / "another user's");
    check_untrusted(run(shelf.bundle));
    CHECK(run(shelf.bundle, {"--trust"}).exit == 0);
    check_untrusted(run(shelf.bundle));  // trusting it once does not trust it permanently
  }
  // A record that others may write to is not proof of anything.
  fs::permissions(shelf.folder / "state/dovetail", fs::perms::others_write, fs::perm_options::add);
  const Finished shared = run(shelf.bundle);
  check_untrusted(shared);
  CHECK_THAT(shared.error, ContainsSubstring("everyone can write to"));

  // Without a place for the record the bundle is still written, and compile explains the consequence.
  const Environment state("XDG_STATE_HOME", ""), home("HOME", "");
  const Finished compiled = test::dovetail({"compile", kFloatDigits, "--target", "cpu", "-o", shelf.bundle});
  CHECK(compiled.exit == 0);
  CHECK_THAT(compiled.out, ContainsSubstring("running it needs --trust, since it is not recorded"));
  check_untrusted(run(shelf.bundle));
}

TEST_CASE("bundles of accelerator and interpreter steps need no trust") {
  const test::TemporaryFolder folder;
  const Environment state("XDG_STATE_HOME", folder / "state");
  REQUIRE(bundle::write_bundle(folder / "s.dvt", test::sample_bundle()).ok());
  CHECK(run(folder / "s.dvt").exit == 0);
  const std::string interpreted = folder / "i.dvt";
  REQUIRE(
      test::dovetail({"compile", kFloatDigits, "--target", "cpu", "--cpu", "interpreter", "-o", interpreted}).exit ==
      0);
  CHECK_FALSE(fs::exists(folder / "state"));  // nothing to record
  CHECK(run(interpreted).exit == 0);
  CHECK_FALSE(loads_code({"run", interpreted}));
}

TEST_CASE("code is loaded only from files named .dvt") {
  const Shelf shelf;
  const std::string named = shelf.folder / "model.onnx";
  fs::copy(shelf.bundle, named);
  for (const std::vector<std::string>& line : {std::vector<std::string>{"run", named, "--target", "cpu"},
                                               {"run", named, "--target", "cpu", "--trust"},
                                               {"run", named},
                                               {"profile", named, "--target", "cpu"}}) {
    const Finished refused = test::dovetail(line);
    INFO(refused.error);
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("the file is a bundle, but its name does not end in .dvt"));
  }
  fs::copy(kFloatDigits, shelf.folder / "model.dvt");
  const Finished model = run(shelf.folder / "model.dvt");
  CHECK(model.exit == 2);
  CHECK_THAT(model.error, ContainsSubstring("the file does not begin with \"DOVETAIL\""));
  const Finished misnamed = test::dovetail({"compile", kFloatDigits, "--target", "cpu", "-o", shelf.folder / "d.bin"});
  CHECK(misnamed.exit == 2);
  CHECK_THAT(misnamed.error, ContainsSubstring("d.bin does not end in .dvt"));
  CHECK_FALSE(fs::exists(shelf.folder / "d.bin"));

  // Inspecting a bundle and compiling load no code; running does, which shows that this test can detect it.
  CHECK(loads_code({"run", shelf.bundle, "--threads", "1"}));
  CHECK_FALSE(loads_code({"inspect", shelf.bundle}));
  CHECK_FALSE(loads_code({"compile", kFloatDigits, "--target", "cpu", "-o", shelf.bundle}));
  CHECK_FALSE(loads_code({"run", kFloatDigits, "--target", "cpu", "--cpu", "interpreter"}));
  const Environment state("XDG_STATE_HOME", shelf.folder / "another user's");
  CHECK_FALSE(loads_code({"run", shelf.bundle, "--threads", "1"}));
}

TEST_CASE("kernels are called with their own parameters, whatever a trusted bundle says") {
  const Shelf shelf;
  const auto forged = [&](const std::function<void(bundle::Bundle&, bundle::Step&, bundle::CpuCode&)>& change) {
    const std::string file = shelf.changed([&](bundle::Bundle& bundle) {
      bundle::Step* chosen = nullptr;
      for (bundle::Step& step : bundle.steps)
        if (step.target == "cpu" && step.arguments.size() >= 3) chosen = &step;
      REQUIRE(chosen != nullptr);
      bundle::CpuCode code = bundle::decode_cpu(*chosen).value();
      change(bundle, *chosen, code);
      bundle::encode(code, *chosen);
    });
    const Finished refused = run(file, {"--trust"});
    CHECK(refused.exit == 2);
    return refused.error;
  };
  CHECK_THAT(forged([](auto&, auto& step, auto&) { step.arguments.pop_back(); }),
             ContainsSubstring("but its kernel 4 operands"));
  CHECK_THAT(forged([](auto&, auto& step, auto&) { step.arguments.push_back(step.arguments[0]); }),
             ContainsSubstring("but its kernel 4 operands"));
  CHECK_THAT(forged([](auto&, auto& step, auto&) { std::swap(step.arguments[0], step.arguments[1]); }),
             ContainsSubstring("operand 0 of the kernel is"));
  CHECK_THAT(forged([](auto&, auto& step, auto&) { step.arguments[1] = step.arguments[2]; }),
             ContainsSubstring("operand 1 of the kernel is"));
  CHECK_THAT(forged([](auto& bundle, auto& step, auto&) {
               bundle::Tensor tensor = bundle.tensors[static_cast<std::size_t>(step.arguments[2])];
               tensor.name = "forged";
               tensor.constant = NdArray(DType::int32, tensor.shape);
               tensor.dtype = DType::int32;
               bundle.tensors.push_back(tensor);
               step.arguments[2] = static_cast<bundle::TensorIndex>(bundle.tensors.size() - 1);
             }),
             ContainsSubstring("bytes of int32, read, but operand 2 of the kernel is"));
  const auto another = [](const bundle::Bundle& bundle, const bundle::CpuCode& code) {
    for (const bundle::Step& step : bundle.steps)
      if (step.target == "cpu")
        if (const std::string symbol = bundle::decode_cpu(step).value().symbol; symbol != code.symbol) return symbol;
    return std::string();
  };
  CHECK_THAT(forged([&](auto& bundle, auto&, auto& code) { code.symbol = another(bundle, code); }),
             ContainsSubstring("of the kernel is"));
  CHECK_THAT(forged([](auto&, auto&, auto& code) { code.symbol += "_signature"; }),
             ContainsSubstring("has no signature"));
  CHECK_THAT(forged([](auto&, auto&, auto& code) { code.symbol = "system"; }),
             ContainsSubstring("no kernel \"system\""));
  CHECK_THAT(forged([](auto&, auto&, auto& code) { code.shared_bytes += 64; }), ContainsSubstring("of workspace"));
  CHECK_THAT(forged([](auto&, auto&, auto& code) { code.local_bytes = std::uint64_t{1} << 39; }),
             ContainsSubstring("of workspace"));
  CHECK_THAT(forged([](auto& bundle, auto&, auto&) {
               std::string& made_for = bundle.modules[0].made_for;
               made_for = made_for == "baseline" ? "avx2" : "baseline";
             }),
             ContainsSubstring("processor class"));
}

TEST_CASE("without permission for machine code, the accelerator and the interpreter run, and no other code is loaded") {
  const Shelf shelf;
  const std::string records = shelf.folder / "records.db";
  const Environment permission("DOVETAIL_MACHINE_CODE", "forbidden");
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--target", "accel", "--cpu", "interpreter", "--engine", "cycle"},
        {"--target", "accel", "--cpu", "interpreter", "--engine", "functional"},
        {"--target", "cpu", "--cpu", "interpreter"}}) {
    std::vector<std::string> line{"run", kDigits, "--check"};
    line.insert(line.end(), options.begin(), options.end());
    const Finished ran = test::dovetail(line);
    CHECK(ran.error == "");
    CHECK(ran.exit == 0);
    CHECK_FALSE(loads_code(line));
  }
  const std::string on_accel = shelf.folder / "accel.dvt";
  CHECK(test::dovetail({"compile", kDigits, "--target", "accel", "--cpu", "interpreter", "-o", on_accel}).exit == 0);
  CHECK(run(on_accel).exit == 0);

  for (const auto& [line, where] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"run", kFloatDigits, "--target", "cpu"}, "target cpu"},
           {{"profile", kFloatDigits, "--target", "cpu"}, "target cpu"},
           {{"evaluate", kFloatDigits, "--inputs", test::kDigitsFolder + "data/images.npy", "--labels",
             test::kDigitsFolder + "data/labels.npy", "--target", "cpu"},
            "target cpu"},
           {{"compare", kFloatDigits, "--target", "cpu"}, "target cpu"},
           {{"run", kFloatDigits, "--target", "accel"}, "target cpu"},  // what the accelerator does not support
           {{"run", kDigits, "--target", "accel", "--cpu", "interpreter", "--engine", "rtl"}, "engine rtl"},
           {{"tune", kFloatDigits, "--target", "cpu", "--records", records}, "target cpu"},
           {{"run", shelf.bundle, "--trust"}, "target cpu"},
           {{"profile", shelf.bundle, "--trust"}, "target cpu"}}) {
    const Finished refused = test::dovetail(line);
    INFO(line[0] << " " << line[1] << " " << line.back() << "\n" << refused.error);
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("(" + where + "): it needs machine code") &&
                                  ContainsSubstring("the client's certificate lacks the role run-code"));
    CHECK_FALSE(loads_code(line));
  }
}
