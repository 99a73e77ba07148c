// Tests in the format of the ONNX backend tests: a folder with model.onnx and test_data_set_*/{input,output}_*.pb, and
// with data.json if it has its own tolerances.
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
  refused,  // import or compilation failed, with a reason
  wrong,    // it ran, and an output differs from the expected one
  failed,   // anything else: a file that cannot be read, an error of running, a crash
};
std::string_view name(OnnxVerdict verdict);

struct OnnxTestResult {
  std::string test;  // the name of the test's folder
  OnnxVerdict verdict = OnnxVerdict::failed;
  std::string reason;               // empty if the test passed
  std::set<std::string> operators;  // operators of its model, as far as it can be read
  std::set<std::string> ran_on;     // targets of the program's steps
  std::size_t kernels = 0;          // GPU kernels that its steps launch, each counted once
};
enum class OnnxRun { on_each_data_set, not_at_all };

// The folders among and below `folders` that contain a model.onnx, sorted. Error: a folder without such a folder.
Result<std::vector<std::filesystem::path>> find_onnx_tests(const std::vector<std::string>& folders);

// The names in a text: words, except comments after # and names of groups, which are followed by "(N)" or "(N):".
std::set<std::string> parse_test_names(std::string_view text);
// Whether `names` contains the test, with or without the prefix "test_".
bool holds_test(const std::set<std::string>& names, const std::string& test);

// Compiles the model for the options' targets and runs it on each data set. The inputs determine open extents; inputs
// whose value must be known at compile time are constants. With `not_at_all` a test passes if it compiles for each data
// set.
OnnxTestResult run_onnx_test(const std::filesystem::path& folder, const ModelOptions& options, OnnxRun how);
// The same in a child process: a crash is a failure, and so is a test that takes longer than `seconds`.
// One child runs many tests, so that devices such as a GPU are opened once; a new child replaces it after a test that
// did not pass. This process must not have used anything that its children cannot share, such as a GPU's driver.
class OnnxTestProcess {
 public:
  // `options` outlives this object. `before_fork`: flushes what this process has printed, which a child would write a
  // second time.
  OnnxTestProcess(const ModelOptions& options, OnnxRun how, int seconds, std::function<void()> before_fork = nullptr);
  ~OnnxTestProcess();
  OnnxTestProcess(const OnnxTestProcess&) = delete;
  OnnxTestProcess& operator=(const OnnxTestProcess&) = delete;

  // Throws ResourceError if no process can be started.
  OnnxTestResult run(const std::filesystem::path& folder);

 private:
  void start();
  void end();  // waits for the child, and stores its end in status_
  std::string ask(const std::filesystem::path& folder);

  const ModelOptions& options_;
  OnnxRun how_;
  int seconds_;
  std::function<void()> before_fork_;
  pid_t child_ = 0;  // 0: none
  int to_ = -1, from_ = -1, status_ = 0, served_ = 0;
};

}  // namespace dovetail::driver
