#include "driver/onnx_test.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/printable.h"
#include "base/resource_error.h"
#include "bundle/code/cuda.h"
#include "bundle/code/target_facts.h"
#include "compiler/import/onnx.h"
#include "driver/session.h"
#include "driver/tensor_files.h"
#include "runtime/device/cuda/context.h"
#include "runtime/executor.h"

namespace dovetail::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kVerdicts{"passed", "refused", "wrong", "failed"};

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;  // tolerances of ONNX's own test runner
};

Result<Tolerance> read_tolerance(const fs::path& folder) {
  Tolerance tolerance;
  const fs::path file = folder / "data.json";
  if (!fs::exists(file)) return tolerance;
  DOVETAIL_ASSIGN(const std::string text, read_text_file(file));
  const Json json = Json::parse(text, nullptr, false);
  for (const auto& [key, value] : {std::pair{"rtol", &tolerance.relative}, std::pair{"atol", &tolerance.absolute}})
    if (json.is_object() && json.contains(key) && json.at(key).is_number()) *value = json.at(key).get<double>();
  return tolerance;
}

// The difference as text; empty: equal within the tolerance.
std::string difference(const NdArray& actual, const NdArray& expected, const Tolerance& tolerance) {
  const auto type = [](const NdArray& array) {
    return fmt::format("{}{}", name(array.dtype()), to_string(array.shape()));
  };
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape())
    return fmt::format("{}, expected {}", type(actual), type(expected));
  std::int64_t different = 0, first = 0;
  for (std::int64_t i = actual.count(); i-- > 0;) {
    const double a = actual.as_double(i), e = expected.as_double(i);
    if (a == e || (std::isnan(a) && std::isnan(e)) ||
        std::abs(a - e) <= tolerance.absolute + tolerance.relative * std::abs(e))
      continue;
    ++different;
    first = i;
  }
  if (different == 0) return {};
  return fmt::format("{} of {} elements; element {} is {}, expected {}", different, actual.count(), first,
                     actual.as_double(first), expected.as_double(first));
}

std::string text_of(const Diagnostics& diagnostics) {
  const Diagnostic& first = diagnostics.front();
  std::string text = fmt::format("{}: {}", first.what, first.why);
  if (diagnostics.size() > 1) text += fmt::format(" (and {} more)", diagnostics.size() - 1);
  return printable(text);
}

fs::path tensor_file(const fs::path& data_set, const char* kind, std::size_t position) {
  return data_set / fmt::format("{}_{}.pb", kind, position);
}

class Test {
 public:
  Test(fs::path folder, const ModelOptions& options, OnnxRun how)
      : folder_(std::move(folder)), options_(options), how_(how) {
    options_.path = (folder_ / "model.onnx").string();
    result_.test = folder_.filename().string();
  }

  OnnxTestResult run() {
    const auto names = import::onnx_names(options_.path);
    if (!names) return end(OnnxVerdict::refused, text_of(names.errors()));
    names_ = *names;
    result_.operators = names_.operators;
    const auto tolerance = read_tolerance(folder_);
    if (!tolerance) return end(OnnxVerdict::failed, text_of(tolerance.errors()));
    tolerance_ = *tolerance;
    std::vector<fs::path> data_sets;
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
        data_sets.push_back(entry.path());
    std::ranges::sort(data_sets);
    if (data_sets.empty()) return end(OnnxVerdict::failed, "it has no test_data_set_*");
    for (const fs::path& data_set : data_sets)
      if (OnnxTestResult result = run(data_set); result.verdict != OnnxVerdict::passed) return result;
    return end(OnnxVerdict::passed, "");
  }

 private:
  OnnxTestResult end(OnnxVerdict verdict, std::string reason) {
    result_.verdict = verdict;
    result_.reason = std::move(reason);
    return result_;
  }

  OnnxTestResult run(const fs::path& data_set) {
    // Unreadable files are reported after the importer's errors, which often describe the same problem better.
    Diagnostics unread;
    options_.values.clear();
    for (std::size_t i = 0; i < names_.inputs.size(); ++i) {
      const fs::path file = tensor_file(data_set, "input", i);
      if (!fs::exists(file)) continue;
      if (auto value = read_tensor(file)) options_.values[names_.inputs[i]] = *std::move(value);
      else unread.insert(unread.end(), value.errors().begin(), value.errors().end());
    }
    auto session = Session::open({.model = options_});
    if (!session) return end(OnnxVerdict::refused, text_of(session.errors()));
    if (const auto compiled = session->compile(); !compiled)
      return end(OnnxVerdict::refused, text_of(compiled.errors()));
    if (!unread.empty()) return end(OnnxVerdict::failed, text_of(unread));
    const bundle::Bundle& bundle = session->bundle();
    if (auto problem = count_kernels(bundle)) return end(OnnxVerdict::failed, *problem);
    if (how_ == OnnxRun::not_at_all) {
      for (const bundle::Bundle* program : bundle::all_programs(bundle))
        for (const bundle::Step& step : program->steps) result_.ran_on.insert(step.target);
      return end(OnnxVerdict::passed, "");
    }
    std::map<std::string, NdArray> inputs;
    for (const bundle::TensorIndex index : bundle.inputs) {
      const std::string& input = bundle.tensors[static_cast<std::size_t>(index)].name;
      if (const auto value = options_.values.find(input); value != options_.values.end()) inputs.insert(*value);
    }
    const auto results = session->run(inputs);
    if (!results) return end(OnnxVerdict::failed, text_of(results.errors()));
    for (const runtime::StepProfile& step : results->steps) result_.ran_on.insert(step.target);
    return compare(data_set, results->outputs);
  }

  // Counts the bundle's kernels. Returns what is wrong with the bundle.
  std::optional<std::string> count_kernels(const bundle::Bundle& bundle) {
    const auto steps = bundle::cuda_steps(bundle);
    if (!steps) return text_of(steps.errors());
    for (const auto& step : *steps)
      for (const bundle::CudaKernels& kernels : step.code.kernels)
        for (const bundle::CudaLaunch& launch : kernels.launches) kernels_.insert(launch.symbol);
    result_.kernels = kernels_.size();
    return std::nullopt;
  }

  OnnxTestResult compare(const fs::path& data_set, const std::map<std::string, NdArray>& outputs) {
    for (std::size_t i = 0; i < names_.outputs.size(); ++i) {
      const std::string where = fmt::format("output {} ({})", i, printable(names_.outputs[i]));
      const auto expected = read_tensor(tensor_file(data_set, "output", i));
      if (!expected) return end(OnnxVerdict::failed, text_of(expected.errors()));
      const auto actual = outputs.find(names_.outputs[i]);
      if (actual == outputs.end()) return end(OnnxVerdict::wrong, where + " was not computed");
      if (const std::string text = difference(actual->second, *expected, tolerance_); !text.empty())
        return end(OnnxVerdict::wrong, fmt::format("{}: {}", where, text));
    }
    return end(OnnxVerdict::passed, "");
  }

  fs::path folder_;
  ModelOptions options_;
  import::OnnxNames names_;
  Tolerance tolerance_;
  OnnxRun how_;
  std::set<std::string> kernels_;
  OnnxTestResult result_;
};

Json to_json(const OnnxTestResult& result) {
  return {{"verdict", static_cast<int>(result.verdict)},
          {"reason", result.reason},
          {"operators", result.operators},
          {"ran_on", result.ran_on},
          {"kernels", result.kernels}};
}

// Reads a text up to a zero byte, which neither paths nor JSON contain; nullopt: the other process has ended.
std::optional<std::string> read_text(int descriptor) {
  std::string text;
  for (char c = 0;;) {
    const ssize_t got = ::read(descriptor, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (c == '\0') return text;
    text += c;
  }
}
bool write_text(int descriptor, std::string text) {
  text += '\0';
  for (std::size_t begin = 0; begin < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + begin, text.size() - begin);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    begin += static_cast<std::size_t>(written);
  }
  return true;
}

bool is_clean(OnnxVerdict verdict) { return verdict == OnnxVerdict::passed || verdict == OnnxVerdict::refused; }

// The child: reads folders of tests, and writes results.
[[noreturn]] void serve_tests(const ModelOptions& options, OnnxRun how, int seconds, int from, int to, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // this process ends with its parent, however the parent ends
  if (::getppid() != parent) ::_exit(1);
  // While this handle exists, the GPU keeps the state that every program needs.
  std::shared_ptr<runtime::cuda::Context> held;
  for (;;) {
    ::alarm(0);
    const auto folder = read_text(from);
    if (!folder) ::_exit(0);
    ::alarm(static_cast<unsigned>(seconds));
    const OnnxTestResult result = run_onnx_test(*folder, options, how);
    const bool used_gpu = std::ranges::any_of(
        result.ran_on, [](const std::string& target) { return bundle::runs_on(bundle::TargetDevice::gpu, target); });
    if (held == nullptr && used_gpu)
      if (auto context = runtime::cuda::Context::open(); context.ok()) held = *std::move(context);
    if (!write_text(to, to_json(result).dump(-1, ' ', false, Json::error_handler_t::replace))) ::_exit(1);
  }
}

}  // namespace

std::string_view name(OnnxVerdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

Result<std::vector<fs::path>> find_onnx_tests(const std::vector<std::string>& folders) {
  std::vector<fs::path> tests;
  for (const std::string& folder : folders) {
    const std::size_t before = tests.size();
    std::error_code error;
    if (fs::exists(fs::path(folder) / "model.onnx", error)) tests.emplace_back(folder);
    for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (entry->is_directory() && fs::exists(entry->path() / "model.onnx")) tests.push_back(entry->path());
    if (error)
      return Diagnostic{"cannot read the folder", folder, error.message(), "give a folder of ONNX backend tests"};
    if (tests.size() == before)
      return Diagnostic{"cannot find tests", folder, "no subfolder contains a model.onnx",
                        "give a folder of ONNX backend tests, such as node of the onnx package's backend/test/data"};
  }
  std::ranges::sort(tests);
  tests.erase(std::unique(tests.begin(), tests.end()), tests.end());
  return tests;
}

std::set<std::string> parse_test_names(std::string_view text) {
  std::set<std::string> names;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (const std::size_t group = line.find(')'); group != std::string_view::npos) line.remove_prefix(group + 1);
    if (line.starts_with(':')) line.remove_prefix(1);
    constexpr std::string_view kSpaces = " \t\r";
    for (std::size_t begin = 0; (begin = line.find_first_not_of(kSpaces)) != std::string_view::npos;) {
      line.remove_prefix(begin);
      const std::size_t end = std::min(line.find_first_of(kSpaces), line.size());
      names.emplace(line.substr(0, end));
      line.remove_prefix(end);
    }
  }
  return names;
}

bool holds_test(const std::set<std::string>& names, const std::string& test) {
  constexpr std::string_view kPrefix = "test_";
  return names.contains(test) || (test.starts_with(kPrefix) && names.contains(test.substr(kPrefix.size())));
}

OnnxTestResult run_onnx_test(const fs::path& folder, const ModelOptions& options, OnnxRun how) {
  try {
    return Test(folder, options, how).run();
  } catch (const ResourceError& error) {
    OnnxTestResult result;
    result.test = folder.filename().string();
    result.reason = printable(to_string(error.diagnostic()));
    return result;
  } catch (const std::exception& error) {
    OnnxTestResult result;
    result.test = folder.filename().string();
    const std::string_view text = error.what();
    result.reason = printable(fmt::format("internal error: {}", text.substr(0, text.find('\n'))));
    return result;
  }
}

OnnxTestProcess::OnnxTestProcess(const ModelOptions& options, OnnxRun how, int seconds,
                                 std::function<void()> before_fork)
    : options_(options), how_(how), seconds_(seconds), before_fork_(std::move(before_fork)) {}

OnnxTestProcess::~OnnxTestProcess() { end(); }

void OnnxTestProcess::start() {
  std::array<int, 2> requests{-1, -1}, answers{-1, -1};
  if (before_fork_) before_fork_();
  const auto no_more = [&](const char* what) {
    ResourceError error(
        {what, "", std::strerror(errno), "end some processes, or raise the limits (`ulimit -a`)", Cause::resource});
    for (const int one : {requests[0], requests[1], answers[0], answers[1]})
      if (one >= 0) ::close(one);
    return error;
  };
  if (::pipe2(requests.data(), O_CLOEXEC) != 0 || ::pipe2(answers.data(), O_CLOEXEC) != 0)
    throw no_more("cannot make a pipe");
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) throw no_more("cannot start a process");
  if (child == 0) {
    ::close(requests[1]), ::close(answers[0]);
    serve_tests(options_, how_, seconds_, requests[0], answers[1], parent);
  }
  ::close(requests[0]), ::close(answers[1]);
  child_ = child, to_ = requests[1], from_ = answers[0], served_ = 0;
}

void OnnxTestProcess::end() {
  if (child_ == 0) return;
  ::close(to_), ::close(from_);
  if (::waitpid(child_, &status_, 0) != child_) status_ = 0;
  child_ = 0;
}

// Returns the child's answer; empty: the child has ended.
std::string OnnxTestProcess::ask(const fs::path& folder) {
  if (child_ == 0) start();
  ++served_;
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const bool asked = write_text(to_, fs::absolute(folder).string());
  std::signal(SIGPIPE, before);
  return asked ? read_text(from_).value_or("") : "";
}

OnnxTestResult OnnxTestProcess::run(const fs::path& folder) {
  constexpr int kMostServed = 100;  // tests for each child, so that memory that tests leak does not accumulate
  OnnxTestResult result;
  result.test = folder.filename().string();
  const std::string text = ask(folder);
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    end();
    if (WIFSIGNALED(status_))
      result.reason = WTERMSIG(status_) == SIGALRM
                          ? fmt::format("no result within {} s", seconds_)
                          : fmt::format("the process crashed with signal {}", WTERMSIG(status_));
    else result.reason = fmt::format("the process ended with status {}", WEXITSTATUS(status_));
    return result;
  }
  result.verdict = static_cast<OnnxVerdict>(json.at("verdict").get<int>());
  result.reason = json.at("reason").get<std::string>();
  result.operators = json.at("operators").get<std::set<std::string>>();
  result.ran_on = json.at("ran_on").get<std::set<std::string>>();
  result.kernels = json.at("kernels").get<std::size_t>();
  if (!is_clean(result.verdict) || served_ == kMostServed) end();
  return result;
}

}  // namespace dovetail::driver
