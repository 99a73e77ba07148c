// Tests in the form of the ONNX backend's: a folder with model.onnx and test_data_set_*/{input,output}_*.pb, and where
// it has other tolerances, data.json.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "driver/compile_model.h"

namespace dovetail::driver {

enum class OnnxVerdict {
  passed,
  refused,  // by import or compilation, with their reason
  wrong,    // it ran, and an output is not what the test expects
  failed,   // anything else: a file that cannot be read, an error of running, a crash
};
std::string_view name(OnnxVerdict verdict);

struct OnnxTestResult {
  std::string test;  // its folder's name
  OnnxVerdict verdict = OnnxVerdict::failed;
  std::string reason;               // empty where it passed
  std::set<std::string> operators;  // of its model, as far as it can be read
  std::set<std::string> ran_on;     // targets of the program's steps
  std::size_t kernels = 0;          // of GPUs that its steps launch, each counted once
};
enum class OnnxRun { on_each_data_set, not_at_all };

// The folders below these, they themselves among them, that hold a model.onnx; sorted. Error: a folder without any.
Result<std::vector<std::filesystem::path>> find_onnx_tests(const std::vector<std::string>& folders);

// Names in a text: words, what follows # left out, and what precedes "(N)" or "(N):" on its line, which names a group.
std::set<std::string> parse_test_names(std::string_view text);
// The name is there, with or without the backend's prefix "test_".
bool holds_test(const std::set<std::string>& names, const std::string& test);

// Compiles the model for the options' targets and runs it on each data set. Inputs fix open extents, and those whose
// value must be known at compile time are constants. `not_at_all`: it passes where it compiles for each data set.
OnnxTestResult run_onnx_test(const std::filesystem::path& folder, const ModelOptions& options, OnnxRun how);
// The same in a process alongside this one: a crash is a failure, and so is a test that takes longer than `seconds`.
// The process serves test after test, so that what it opens (for example a GPU) is opened once; a new one follows where
// a test did not pass. This process must not have used what its children open and cannot share, as a GPU's driver.
class OnnxTestProcess {
 public:
  // `options` outlives this object. `before_fork`: flushes what this process has printed, which a child would write a
  // second time.
  OnnxTestProcess(const ModelOptions& options, OnnxRun how, int seconds, std::function<void()> before_fork = nullptr);
  ~OnnxTestProcess();
  OnnxTestProcess(const OnnxTestProcess&) = delete;
  OnnxTestProcess& operator=(const OnnxTestProcess&) = delete;

  // Throws ResourceError: there is no process to be had.
  OnnxTestResult run(const std::filesystem::path& folder);

 private:
  void start();
  void end();  // and how, in status_
  std::string ask(const std::filesystem::path& folder);

  const ModelOptions& options_;
  OnnxRun how_;
  int seconds_;
  std::function<void()> before_fork_;
  pid_t child_ = 0;  // 0: none
  int to_ = -1, from_ = -1, status_ = 0, served_ = 0;
};

}  // namespace dovetail::driver
