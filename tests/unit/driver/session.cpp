// A session without a command line: a model and a bundle, run and checked, twice in one process; errors as values.
#include "driver/session.h"

#include "driver/evaluation.h"
#include "driver/metrics/metric.h"
#include "driver/run.h"
#include "driver/sample_files.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kDigits = DOVETAIL_SOURCE_DIR "/examples/digits/";

SessionOptions digits(std::vector<std::string> targets, std::string engine = "functional") {
  SessionOptions options{.engine = std::move(engine)};
  options.model.path = kDigits + "digits_int8.onnx";
  options.model.targets = std::move(targets);
  options.model.hardware = "1x16x16-ext";
  options.model.threads = 1;
  return options;
}

Session compiled(SessionOptions options, bool expose_all = false) {
  auto session = Session::open(std::move(options));
  if (!session.ok()) FAIL(to_string(session.errors()));
  CompileOptions compile;
  compile.expose_all = expose_all;
  const auto done = session->compile(std::move(compile));
  if (!done.ok()) FAIL(to_string(done.errors()));
  return *std::move(session);
}

template <typename T>
Diagnostic error_of(const Result<T>& result) {
  return result.ok() ? Diagnostic{} : result.errors().front();
}

}  // namespace

TEST_CASE("session: a model is compiled, run and checked against the reference, repeatedly in one process") {
  std::map<std::string, NdArray> outputs;
  for (int time = 0; time < 2; ++time) {
    Session session = compiled(digits({"accel", "cpu"}, "cycle"), true);
    REQUIRE(session.model() != nullptr);
    const RunInputs inputs = session.inputs().value();
    auto run = session.run(inputs.tensors, {.keep_tensors = true});
    REQUIRE(run.ok());
    if (time == 0) outputs = run->outputs;
    CHECK(run->outputs == outputs);
    const auto timed = session.timed_programs(*run, false);
    REQUIRE(timed.ok());
    CHECK_FALSE(timed->empty());
    const auto check = session.check(inputs.tensors, *run);
    REQUIRE(check.ok());
    CHECK(check->compared > 1);
    CHECK(check->different == 0);
    // Compiling with other options in the same session starts anew.
    REQUIRE(session.compile({}).ok());
    CHECK(session.run(inputs.tensors)->outputs == outputs);
  }
}

TEST_CASE("session: samples one by one and on several threads give the same results, most of them correct") {
  Session session = compiled(digits({"accel", "cpu"}));
  auto tensors = read_samples("the test", kDigits + "test_images.npy", session.bundle(), std::nullopt);
  REQUIRE(tensors.ok());
  const Samples samples = Samples::make(session.bundle(), *std::move(tensors)).value();
  const auto runs = run_samples(session, samples, {});
  REQUIRE(runs.ok());
  std::atomic<std::int64_t> done{0};
  const auto evaluated = evaluate(session, samples, 2, done);
  REQUIRE(evaluated.ok());
  CHECK(done == samples.runs());
  CHECK(runs->outputs == evaluated->outputs);
  const NdArray labels = read_tensor(kDigits + "test_labels.npy").value();
  const auto accuracy = measure({"accuracy", {}}, {evaluated->outputs, labels, {}});
  REQUIRE(accuracy.ok());
  CHECK(accuracy->front().value > 0.9);
}

TEST_CASE("session: a bundle runs as its model does, and cannot be checked without a graph") {
  test::TemporaryFolder folder;
  const Session model = compiled(digits({"accel", "host"}));
  const std::string path = (folder.path() / "digits.dvt").string();
  REQUIRE(bundle::write_bundle(path, model.bundle()).ok());
  SessionOptions options{.model = {.path = path}};
  CHECK_THAT(error_of(Session::open(options)).why, ContainsSubstring("the bundle has machine code"));
  options.trusted = true;
  Session session = compiled(options);
  CHECK(session.is_bundle());
  CHECK(session.model() == nullptr);
  CHECK(session.system().clock_mhz == model.system().clock_mhz);
  const RunInputs inputs = session.inputs().value();
  auto run = session.run(inputs.tensors, {.keep_tensors = true});
  REQUIRE(run.ok());
  CHECK_THAT(to_string(session.check(inputs.tensors, *run).errors()),
             ContainsSubstring("a bundle has no graph to evaluate. Hint: compile the .onnx file"));
}

TEST_CASE("session: repeated runs have latencies, and kept tensors names") {
  Session session = compiled(digits({"accel", "cpu"}, "cycle"), true);
  const Samples samples = Samples::make(session.bundle(), session.inputs()->tensors).value();
  std::atomic<std::int64_t> done{0};
  const auto runs = run_samples(session, samples, {.repeat = 3, .list_tensors = true, .done = &done});
  REQUIRE(runs.ok());
  CHECK(done == 2);
  CHECK(runs->latencies.size() == 3);
  CHECK(runs->kept.size() > runs->outputs.size());
}

TEST_CASE("session: errors of input or of work are diagnostics") {
  SessionOptions options = digits({});
  auto session = Session::open(options);
  REQUIRE(session.ok());
  CHECK_THAT(error_of(session->compile()).why, ContainsSubstring("no target is given"));

  options = digits({"tpu"});
  CHECK_THAT(error_of(Session::open(options)->compile()).why, ContainsSubstring("there is no target \"tpu\""));
  options = digits({"host"}, "abacus");
  CHECK_FALSE(Session::open(options).ok());
  options = digits({"host"});
  options.model.system.clock_mhz = -1;
  CHECK_THAT(error_of(Session::open(options)).why, ContainsSubstring("the clock must be a number from 1"));
  options.model.system = {};
  options.model.path = "nowhere.onnx";
  CHECK(error_of(Session::open(options)->compile()).cause == Cause::input);

  // The accelerator does not take floats, and no other target may.
  options = digits({"accel"});
  options.model.path = kDigits + "digits_float.onnx";
  options.model.strict = true;
  CHECK(error_of(Session::open(options)->compile()).cause == Cause::work);

  Session host = compiled(digits({"host"}));
  CHECK(error_of(host.run({})).cause == Cause::work);
}
